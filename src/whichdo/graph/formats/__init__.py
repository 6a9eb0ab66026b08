"""Graphs from text and files, and back: short text, dagitty, DOT, GML, JSON and the structure of BIF.

How a string begins decides its format; a file's suffix only settles what its content leaves open.  Each
format has its own module with ``read_...(text)`` and ``write_...(graph)``, and an entry in `FORMATS`
(docs/add-a-format.md is the recipe).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whichdo.errors import GraphSyntaxError, TooLargeError, UsageError
from whichdo.files import write_file
from whichdo.graph.formats.scan import BLOCK, MAX_BYTES, read_file, show
from whichdo.text import nearest, visible

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from whichdo.graph.mixed import MixedGraph


@dataclass(frozen=True)
class Format:
    """How a format is read, written and recognized."""

    read: str
    """The reader as ``module.function``, imported when it is met; so is the writer."""
    write: str
    suffixes: tuple[str, ...]
    begins: str | None = None
    """A pattern: how it begins, behind blanks and comments; None if only a suffix shows it."""


FORMATS = {
    "text": Format("dagitty.read_text", "scan.write_text", (".txt",)),
    "dagitty": Format("dagitty.read_text", "scan.write_dagitty", (".dag", ".dagitty"), BLOCK),
    "dot": Format(
        "dot.read_dot",
        "dot.write_dot",
        (".dot", ".gv"),
        r'(?i:(?:strict\s++)?(?:di)?graph(?:\s*+"(?:[^"\\]|\\.)*+"|\s++[\w.-]++)?+\s*+\{)',
    ),
    "gml": Format(
        "gml.read_gml",
        "gml.write_gml",
        (".gml",),
        r'graph\s*+\[(?!\s*+(?:latent|unobserved|hidden|exposure|outcome)\b)|(?:Creator|Version)\s*+["\d]',
    ),
    "json": Format(
        "native.read_json",
        "native.write_json",
        (".json",),
        r'\{\s*+(?:"(?:[^"\\]|\\.)*+"\s*+:|\}\s*+\Z)|\[',
    ),
    "bif": Format(
        "bif.read_bif_graph",
        "bif.write_bif_graph",
        (".bif",),
        r'network(?:\s*+"[^"]*+"|\s++[^\s{};<>-][^\s{};]*+)?+\s*+\{|variable\s*+[^\s{};<>-][^\s{};]*+\s*+\{',
    ),
}
"""All formats by name: a new one is an entry here. The first whose beginning fits reads a text."""

PREAMBLE = r"(?:\s++|\#[^\n]*+|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)*+"
XML = r"<(?!-)"


def _function(name: str) -> Callable[..., Any]:
    """A reader or writer by its module and name."""
    module, _, function = name.partition(".")
    found: Callable[..., Any] = getattr(import_module(f"{__name__}.{module}"), function)
    return found


def parse_graph(text: str) -> MixedGraph:
    """Read a graph from text in any of the formats."""
    if not isinstance(text, str):
        raise UsageError(f"parse_graph reads a string, not {type(text).__name__}. For a file use read_graph(path).")
    return _parse(text, "The text", None)[0]


def read_graph_and_format(path: str | os.PathLike[str]) -> tuple[MixedGraph, str]:
    """Read a graph from a file, plain or gzip, with the name of the format (of `FORMATS`) that it is in."""
    file = _as_path(path)
    name = file.with_suffix("").name if file.suffix.lower() == ".gz" else file.name
    text = read_file(file)
    try:
        return _parse(text, visible(file.name), _by_suffix(Path(name)))
    except (GraphSyntaxError, TooLargeError) as error:
        raise error.within(file.name) from None


def write_graph(graph: MixedGraph, path: str | os.PathLike[str], format: str | None = None) -> None:  # noqa: A002
    """Write a graph to a file, as a whole or not at all.

    Parameters
    ----------
    graph
        The causal graph.
    path
        The file.  Its suffix chooses the format: ``.txt`` is the short form, ``.dag`` and ``.dagitty`` are dagitty's,
        ``.dot`` and ``.gv`` Graphviz's, and ``.gml``, ``.json`` and ``.bif`` the formats of these names.  A further
        ``.gz`` compresses the file.
    format
        The format, if the suffix does not say.

    Raises
    ------
    UsageError
        If neither the suffix nor ``format`` names a format.

    Examples
    --------
    >>> import whichdo as wd
    >>> wd.write_graph(graph, "infection.dot")  # doctest: +SKIP
    """
    file = _as_path(path)
    if format is None:
        inner = file.with_suffix("") if file.suffix.lower() == ".gz" else file
        format = _by_suffix(inner)  # noqa: A001
        if format is None:
            known = ", ".join(suffix for each in FORMATS.values() for suffix in each.suffixes)
            raise UsageError(f"{show(file.name)} does not show its format: end it in one of {known}, or give `format`.")
    text = format_graph(graph, format)
    write_file(file, text if text.endswith("\n") else text + "\n")


def format_graph(graph: MixedGraph, format: str) -> str:  # noqa: A002
    """The graph as text in one of `FORMATS`."""
    if format not in FORMATS:
        raise UsageError(
            f"There is no format {show(format)}.{nearest(str(format), FORMATS)} Known: {', '.join(FORMATS)}."
        )
    text: str = _function(FORMATS[format].write)(graph)
    return text


def _as_path(path: str | os.PathLike[str]) -> Path:
    try:
        return Path(path)
    except TypeError:
        raise UsageError(f"A path is a string or a Path, not {type(path).__name__}.") from None


def _parse(text: str, source: str, suffix_format: str | None) -> tuple[MixedGraph, str]:
    if len(text) > MAX_BYTES:
        raise TooLargeError(f"{source} holds more than {MAX_BYTES // 2**20} MB, the limit for a graph.")
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    start = re.match(PREAMBLE, text)
    begin = start.end() if start is not None else 0
    if suffix_format == "dagitty":
        suffix_format = "text"  # dagitty's text without its frame
    found = _by_beginning(text, begin) or suffix_format or "text"
    graph = _read(text, found) if begin < len(text) else None
    if graph is None or not (graph.nodes or graph.hidden):
        raise GraphSyntaxError(f'{source} is empty: expected a graph such as "X -> Y".')
    return graph, found


def _by_suffix(file: Path) -> str | None:
    suffix = file.suffix.lower()
    return next((name for name, each in FORMATS.items() if suffix in each.suffixes), None)


def _by_beginning(text: str, begin: int) -> str | None:
    """The format that a string begins like, if it does so like one."""
    for name, each in FORMATS.items():
        if each.begins is not None and re.compile(each.begins).match(text, begin):
            return name
    if re.compile(XML).match(text, begin):
        raise _refused_xml(text)
    return None


def _read(text: str, name: str) -> MixedGraph:
    graph: MixedGraph = _function(FORMATS[name].read)(text)
    return graph


def _refused_xml(text: str) -> GraphSyntaxError:
    kinds = [kind for kind in ("GraphML", "BIF", "html", "svg") if f"<{kind.lower()}" in text[:5_000].lower()]
    what = f" ({kinds[0]})" if kinds else ""
    return GraphSyntaxError(f"this is XML{what}, which is not read. Export the graph as DOT, GML, BIF or dagitty text.")
