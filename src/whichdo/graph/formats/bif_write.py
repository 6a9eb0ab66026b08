"""Networks and graphs as BIF text (`whichdo.graph.formats.bif` says what the properties mean)."""

from __future__ import annotations

from itertools import count, product
from typing import TYPE_CHECKING

from whichdo.errors import GraphError, Place
from whichdo.graph.draft import checked_name
from whichdo.graph.formats.bif_text import BARE, PROPERTY, BifFile, BifVariable
from whichdo.text import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whichdo.graph.mixed import MixedGraph

__all__ = ["write_bif", "write_bif_graph"]


def write_bif(file: BifFile) -> str:
    """The network as text.  Numbers are written in full: reading them again gives the same tables, bit for bit."""
    domains = {variable.name: variable.values for variable in file.variables}
    lines = [f"network {_word(file.name or 'unknown')} {{", "}"]
    for variable in file.variables:
        values = ", ".join(map(_word, variable.values))
        lines += [
            f"variable {_word(variable.name)} {{",
            f"  type discrete [ {len(variable.values)} ] {{ {values} }};",
            *(f"  property {text};" for text in _properties(variable)),
            "}",
        ]
    for variable in file.variables:
        parents = ", ".join(map(_word, variable.parents))
        given = f" | {parents}" if parents else ""
        lines.append(f"probability ( {_word(variable.name)}{given} ) {{")
        lines += _rows(variable, [domains[parent] for parent in variable.parents])
        lines.append("}")
    return "\n".join([*lines, ""])


def write_bif_graph(graph: MixedGraph) -> str:
    """The graph as a network of variables with the values 0 and 1 and no numbers.

    ``X <-> Y`` becomes a variable of its own, marked as a confounder; `read_bif_graph` turns it back.
    """
    causes: dict[str, list[str]] = {name: [] for name in graph.nodes}
    confounders = []
    names = _free_names(graph)
    for first, row in enumerate(graph.sibling_ids):
        for second in row:
            if first < second:
                name = next(names)
                confounders.append(name)
                causes[graph.nodes[first]].append(name)
                causes[graph.nodes[second]].append(name)
    variables = []
    for node, row in zip(graph.nodes, graph.parent_ids, strict=True):
        roles = [
            f"{role} yes"
            for role, members in (("exposure", graph.exposures), ("outcome", graph.outcomes))
            if node in members
        ]
        variables.append(_binary(node, [*(graph.nodes[parent] for parent in row), *causes[node]], *roles))
    variables += [_binary(name, [], "latent yes") for name in sorted(graph.hidden)]
    variables += [_binary(name, [], "confounder yes") for name in confounders]
    return write_bif(BifFile("graph", tuple(variables)))


def _binary(name: str, parents: list[str], *properties: str) -> BifVariable:
    return BifVariable(name, ("0", "1"), tuple(parents), None, False, Place(1, 1), properties)


def _free_names(graph: MixedGraph) -> Iterator[str]:
    for number in count(1):
        name = f"U{number}"
        if name not in graph and name not in graph.hidden:
            yield name


def _properties(variable: BifVariable) -> Iterator[str]:
    marks = {" ".join(text.replace('"', " ").replace("=", " ").split()) for text in variable.properties}
    if variable.hidden and not marks & {"latent yes", "confounder yes"}:
        yield "latent yes"
    for text in variable.properties:
        if not PROPERTY.fullmatch(f"property {text};") or "//" in text or "/*" in text:
            raise GraphError(f"The property {quoted(text)} of {quoted(variable.name)} cannot be written as BIF.")
        yield text


def _rows(variable: BifVariable, domains: list[tuple[str, ...]]) -> Iterator[str]:
    if variable.table is None:
        return
    rows = variable.table.reshape(-1, len(variable.values)).tolist()
    if not domains:
        yield f"  table {', '.join(map(repr, rows[0]))};"
        return
    keys = product(*([_word(value) for value in domain] for domain in domains))
    for key, row in zip(keys, rows, strict=True):
        yield f"  ({', '.join(key)}) {', '.join(map(repr, row))};"


def _word(name: str) -> str:
    """A name or value, in quotes unless every reader of BIF takes it bare."""
    if '"' in name or "\\" in name or "\n" in name:
        raise GraphError(
            f"The name {quoted(name)} cannot be written as BIF, which has no way to write a double quote, a "
            f"backslash or a line break inside a name. Rename it, or choose another format."
        )
    name = checked_name(name)
    if name.isascii() and BARE.fullmatch(name) and "//" not in name and "/*" not in name:
        return name
    return f'"{name}"'
