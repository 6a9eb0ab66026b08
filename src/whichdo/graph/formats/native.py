"""whichdo's own JSON: what `CausalGraph` holds, by name.

``{"nodes": ["X", "Y"], "directed": [["X", "Y"]], "bidirected": [], "hidden": [], "exposures": [], "outcomes": []}``.
One of ``nodes`` and ``directed`` must be there; the rest is optional.  Where ``nodes`` is given, every name elsewhere
must be in it or in ``hidden``.  The reader is strict: an unknown or repeated key, or a name that is not a string, is an
error.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from whichdo.errors import GraphSyntaxError, Place
from whichdo.graph.draft import Draft, checked_name
from whichdo.graph.formats.scan import show
from whichdo.text import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NoReturn

    from whichdo.graph.mixed import MixedGraph


KEYS = ("nodes", "directed", "bidirected", "hidden", "exposures", "outcomes")
SHAPE = 'such as {"nodes": ["X", "Y"], "directed": [["X", "Y"]]}'


def read_json(text: str) -> MixedGraph:
    """A graph from JSON."""
    data = _load(text)
    if not isinstance(data, dict):
        raise GraphSyntaxError(f"the JSON holds {_kind(data)}: expected an object {SHAPE}.")
    for key in data:
        if key not in KEYS:
            raise GraphSyntaxError(f"unknown key {show(key)}.{nearest(key, KEYS)} Known: {', '.join(KEYS)}.")
    if "nodes" not in data and "directed" not in data:
        raise GraphSyntaxError(f'neither "nodes" nor "directed" is given: expected an object {SHAPE}.')
    return _draft(data).finish()


def write_json(graph: MixedGraph) -> str:
    """The graph as JSON, the same text for equal graphs."""
    names = graph.nodes
    data = {
        "nodes": list(names),
        "directed": [[names[tail], names[head]] for head, row in enumerate(graph.parent_ids) for tail in row],
        "bidirected": [
            [names[first], names[second]]
            for first, row in enumerate(graph.sibling_ids)
            for second in row
            if first < second
        ],
        "hidden": sorted(graph.hidden),
        "exposures": sorted(graph.exposures),
        "outcomes": sorted(graph.outcomes),
    }
    return json.dumps(data, ensure_ascii=False, sort_keys=True) + "\n"


def _draft(data: dict[str, object]) -> Draft:
    draft = Draft()
    closed = "nodes" in data
    seen = _declare(data, draft)
    for key, add in (("directed", draft.arrow), ("bidirected", draft.confounded)):
        for path, first, second in _pairs(data, key):
            for end, name in enumerate((first, second)):
                if name not in seen:
                    _mention(f"{path}[{end}]", name, seen, closed=closed)
            if first == second:
                raise GraphSyntaxError(f"{path}: {show(first)} is joined to itself. Remove this edge.")
            add(first, second)
    for key in ("exposures", "outcomes"):
        for path, name in _names(data, key):
            _mention(path, name, seen, closed=closed)
            draft.node(name, exposure=key == "exposures", outcome=key == "outcomes")
    return draft


def _declare(data: dict[str, object], draft: Draft) -> set[str]:
    """Declare what ``nodes`` and ``hidden`` list."""
    seen: set[str] = set()
    for path, name in _names(data, "nodes"):
        name = _check_name(path, name)
        if name in seen:
            raise GraphSyntaxError(f"{path}: the node {show(name)} is listed twice. Remove one.")
        seen.add(name)
        draft.node(name)
    for path, name in _names(data, "hidden"):
        name = _check_name(path, name)
        seen.add(name)
        draft.node(name, hidden=True)
    return seen


def _mention(path: str, name: str, seen: set[str], *, closed: bool) -> None:
    """A name outside ``nodes``: it must be listed there, if anything is."""
    checked = _check_name(path, name)
    if closed and checked not in seen:
        raise GraphSyntaxError(f'{path}: {show(name)} is not in "nodes".{nearest(name, seen)}')
    seen.add(checked)


def _check_name(path: str, name: str) -> str:
    try:
        return checked_name(name)
    except GraphSyntaxError as error:
        error.add(before=f"{path}: ")
        raise


# --------------------------------------------------------------------------------------------------------------- shapes


def _names(data: dict[str, object], key: str) -> Iterator[tuple[str, str]]:
    for position, name in enumerate(_rows(data, key)):
        if not isinstance(name, str):
            raise GraphSyntaxError(f"{key}[{position}]: expected a name in quotes, found {_kind(name)}.")
        yield f"{key}[{position}]", name


def _pairs(data: dict[str, object], key: str) -> Iterator[tuple[str, str, str]]:
    for position, pair in enumerate(_rows(data, key)):
        if not isinstance(pair, list) or len(pair) != 2:
            found = f"{len(pair)} of them" if isinstance(pair, list) else _kind(pair)
            raise GraphSyntaxError(f'{key}[{position}]: expected two names, as in ["X", "Y"], found {found}.')
        first, second = pair
        if not isinstance(first, str) or not isinstance(second, str):
            end = 1 if isinstance(first, str) else 0
            raise GraphSyntaxError(f"{key}[{position}][{end}]: expected a name in quotes, found {_kind(pair[end])}.")
        yield f"{key}[{position}]", first, second


def _rows(data: dict[str, object], key: str) -> list[object]:
    rows = data.get(key, [])
    if not isinstance(rows, list):
        raise GraphSyntaxError(f"{key}: expected a list, found {_kind(rows)}.")
    return rows


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return "a number"
    if isinstance(value, str):
        return f"the text {show(value)}"
    return "a list" if isinstance(value, list) else "an object"


# --------------------------------------------------------------------------------------------------------------- syntax


def _load(text: str) -> object:
    try:
        # A number is nowhere allowed; as a float one of any length is read without harm, to be refused by its path.
        loaded: object = json.loads(
            text, object_pairs_hook=_object, parse_constant=_constant, parse_int=float, parse_float=float
        )
    except json.JSONDecodeError as error:
        place = Place(error.lineno, error.colno)
        near = text[max(0, error.pos - 20) : error.pos + 20].split("\n")
        raise GraphSyntaxError(
            f"{place}: this is not JSON: {error.msg}, near {show(near[0].strip())}.", place
        ) from None
    except RecursionError:
        raise GraphSyntaxError(f"the JSON is nested too deeply to be a graph: expected an object {SHAPE}.") from None
    return loaded


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise GraphSyntaxError(f"the key {show(key)} is given twice in one object. Remove one.")
        found[key] = value
    return found


def _constant(word: str) -> NoReturn:
    raise GraphSyntaxError(f"{word} is neither JSON nor a name. Remove it.")
