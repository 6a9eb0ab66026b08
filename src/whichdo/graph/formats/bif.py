"""BIF, the Bayesian network interchange format, as bnlearn and pgmpy write it.

::

    network asia { }
    variable smoke { type discrete [ 2 ] { yes, no }; }
    variable lung { type discrete [ 2 ] { yes, no }; }
    probability ( smoke ) { table 0.5, 0.5; }
    probability ( lung | smoke ) {
      (yes) 0.1, 0.9;
      default 0.01, 0.99;
    }

Names and values are bare (all but blanks and ``{}()[],;|"``) or in double quotes; ``//`` and ``/* */`` are comments.
``table`` with parents lists the child's first value for all combinations of the parents, then its second, and
so on; the last parent changes fastest.  A block without numbers gives the structure alone.

Hidden variables, which BIF does not know, are marked by its free-form properties: ``property latent yes;`` a hidden
variable, ``property confounder yes;`` an unnamed one that stands for one edge ``X <-> Y``, and
``property exposure yes;``, ``property outcome yes;`` the roles of a graph.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import count, islice, product
from typing import TYPE_CHECKING

from whichdo.errors import GraphError, GraphSyntaxError, Place, TooLargeError
from whichdo.graph.draft import MAX_EDGES, MAX_NODES, Draft, checked_name
from whichdo.graph.formats.bif_tables import (
    BARE,
    CLOSE,
    END,
    MAX_TOTAL_CELLS,
    OPEN,
    PROPERTY,
    QUOTED,
    BifFile,
    BifVariable,
    Cursor,
    Family,
    read_table,
    without_comments,
)
from whichdo.text import nearest, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whichdo.graph.mixed import MixedGraph


MAX_VALUES = 256
MAX_PARENTS = 2 * MAX_EDGES  # in all; an edge X <-> Y is a parent of both
HINTED_NAMES = 1_000  # that a misspelt one is compared with; each may take a millisecond
ROLES = ("latent", "confounder", "exposure", "outcome")

KEYWORD = re.compile(r"\s*+(?:(network|variable|probability)\b|\Z)", re.ASCII)
DISCRETE = re.compile(r"\s*+type\s++discrete\b", re.ASCII)
COUNT = re.compile(r"\s*+\[\s*+([0-9]{1,9}+)\s*+\]", re.ASCII)
LEFT = re.compile(r"\s*+\(", re.ASCII)
GIVEN = re.compile(r"\s*+([|)])", re.ASCII)
INSIDE = re.compile(rf'(?:[^{{}}"]++|{QUOTED})*+', re.ASCII)


def parse_bif(text: str) -> BifFile:
    """Read a network with its tables.

    Rows must sum to one within 1e-4, because published files are rounded, and are then divided by their sum; a row
    that sums to one but for floating-point rounding stays as it is, so that writing and reading change nothing.
    """
    network = _read(text, MAX_NODES)
    _check_acyclic(network)
    budget = MAX_TOTAL_CELLS
    variables = []
    for variable in network.variables.values():
        block = network.blocks[variable.name]
        domains = tuple(network.variables[parent].values for parent in block.parents)
        family = Family(variable.name, variable.values, block.parents, domains, block.header, block.body)
        table = read_table(network.cursor, family, budget)
        budget -= 0 if table is None else family.cells
        hidden = bool(variable.roles & {"latent", "confounder"})
        properties = tuple(variable.properties)
        variables.append(
            BifVariable(variable.name, variable.values, block.parents, table, hidden, variable.place, properties)
        )
    return BifFile(network.name, tuple(variables))


def read_bif_graph(text: str) -> MixedGraph:
    """Read the structure of a network.  The numbers are passed over, right or wrong."""
    network = _read(text, MAX_NODES + MAX_EDGES)
    draft = Draft()
    ends: dict[str, list[str]] = {}
    for variable in network.variables.values():
        if "confounder" in variable.roles:
            ends[variable.name] = []
            continue
        draft.node(
            variable.name,
            variable.place,
            hidden="latent" in variable.roles,
            exposure="exposure" in variable.roles,
            outcome="outcome" in variable.roles,
        )
        draft.values(variable.name, variable.values)
    for child, block in network.blocks.items():
        for parent, place in zip(block.parents, block.places, strict=True):
            if parent in ends:
                ends[parent].append(child)
            elif child not in ends:
                draft.arrow(parent, child, place)
    for name, children in ends.items():
        _check_confounder(network, name, children)
        draft.confounded(children[0], children[1], network.variables[name].place)
    return draft.finish()


# --------------------------------------------------------------------------------------------------------------- blocks


@dataclass
class _Variable:
    name: str
    place: Place
    values: tuple[str, ...] = ()
    roles: set[str] = field(default_factory=set)
    properties: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Block:
    """The header of a probability block, and the offset at which its rows begin."""

    parents: tuple[str, ...]
    places: tuple[Place, ...]
    header: int
    body: int


@dataclass
class _Network:
    cursor: Cursor
    most: int  # variables that may be declared
    edges: int = 0
    name: str = "unknown"
    variables: dict[str, _Variable] = field(default_factory=dict)
    blocks: dict[str, _Block] = field(default_factory=dict)


def _read(text: str, most: int) -> _Network:
    """All blocks, with the rows of probability blocks passed over."""
    cursor = Cursor(without_comments(text))
    network = _Network(cursor, most)
    expected = '"network", "variable" or "probability"'
    while (keyword := cursor.take(KEYWORD, expected)[1]) is not None:
        if keyword == "variable":
            _read_variable(network)
        elif keyword == "probability":
            _read_probability(network)
        else:
            network.name, _ = cursor.word("the network's name")
            cursor.take(OPEN, '"{"')
            while cursor.maybe(PROPERTY):
                pass
            cursor.take(CLOSE, '"property ...;" or "}"')
    if not network.variables:
        raise GraphSyntaxError(
            'The network is empty: expected a variable such as "variable X { type discrete [ 2 ] { no, yes }; }".'
        )
    _check_names(network)
    return network


def _read_variable(network: _Network) -> None:
    cursor = network.cursor
    name, offset = cursor.word("a variable's name")
    variable = _Variable(name, cursor.place(offset))
    earlier = network.variables.setdefault(name, variable)
    if earlier is not variable:
        cursor.fail(f"the variable {quoted(name)} is declared on line {earlier.place.line} already.", offset)
    if len(network.variables) > network.most:
        raise TooLargeError(f"{variable.place}: the network has more than {network.most:,} variables, the limit.")
    cursor.take(OPEN, '"{"')
    while not cursor.maybe(CLOSE):
        found = cursor.maybe(PROPERTY)
        if found is not None:
            variable.properties.append(" ".join(found[1].split()))
            _read_role(cursor, variable, found.start(1))
            continue
        if variable.values:
            cursor.expected('"property ...;" or "}"')
        cursor.take(DISCRETE, '"type discrete [ 2 ] { a, b };" or "property ...;"')
        variable.values = _read_values(cursor, name)
    if not variable.values:
        cursor.fail(f'the variable {quoted(name)} has no "type discrete {{ ... }};".', offset)


def _read_values(cursor: Cursor, name: str) -> tuple[str, ...]:
    count = cursor.maybe(COUNT)
    cursor.take(OPEN, '"[ number of values ]" or "{"' if count is None else '"{"')
    words = cursor.words("}", "a value", MAX_VALUES)
    if len(words) > MAX_VALUES:
        found = count[1] if count is not None else f"more than {MAX_VALUES}"
        place = cursor.place(words[0][1])
        raise TooLargeError(f"{place}: the variable {quoted(name)} has {found} values; at most {MAX_VALUES} are read.")
    cursor.take(END, '";"')
    if count is not None and int(count[1]) != len(words):
        cursor.fail(f"{quoted(name)} declares {int(count[1])} values and lists {len(words)}.", count.start(1))
    values: set[str] = set()
    for value, offset in words:
        if value in values:
            cursor.fail(f"the value {quoted(value)} of {quoted(name)} is listed twice.", offset)
        values.add(value)
    return tuple(value for value, _ in words)


def _read_role(cursor: Cursor, variable: _Variable, offset: int) -> None:
    """Note a property that is one of ours; any other stays text."""
    words = variable.properties[-1].replace('"', " ").replace("=", " ").split()
    if not words or words[0] not in ROLES:
        return
    if words[1:] not in (["yes"], ["no"]):
        cursor.fail(f'the property "{words[0]}" of {quoted(variable.name)} must be yes or no.', offset + 1)
    if words[1] == "yes":
        variable.roles.add(words[0])
    if "confounder" in variable.roles and variable.roles & {"exposure", "outcome"}:
        cursor.fail(f"{quoted(variable.name)} is a confounder, which has no other role.", offset + 1)


def _read_probability(network: _Network) -> None:
    cursor = network.cursor
    cursor.take(LEFT, '"("')
    child, header = cursor.word("a variable's name")
    parents: list[tuple[str, int]] = []
    if cursor.take(GIVEN, '"|" before the parents, or ")"')[1] == "|":
        parents = cursor.words(")", "a parent's name", MAX_PARENTS - network.edges)
        network.edges += len(parents)
        if network.edges > MAX_PARENTS:
            raise TooLargeError(f"{cursor.place(header)}: the network has more than {MAX_EDGES:,} edges, the limit.")
    cursor.take(OPEN, '"{"')
    places = tuple(cursor.place(offset) for _, offset in parents)
    block = _Block(tuple(name for name, _ in parents), places, header, cursor.position)
    if network.blocks.setdefault(child, block) is not block:
        earlier = cursor.place(network.blocks[child].header).line
        cursor.fail(f"the probabilities of {quoted(child)} are given on line {earlier} already.", header)
    cursor.maybe(INSIDE)
    cursor.take(CLOSE, f'"}}" to close the probabilities of {quoted(child)}')


# --------------------------------------------------------------------------------------------------------------- checks


def _check_names(network: _Network) -> None:
    """Every block belongs to a variable, every parent is one, and every variable has a block."""
    for child, block in network.blocks.items():
        if child not in network.variables:
            hint = _hint(child, network)
            network.cursor.fail(f"{quoted(child)} is not declared as a variable.{hint}", block.header)
        if len(set(block.parents)) < len(block.parents):
            twice = next(name for name in block.parents if block.parents.count(name) > 1)
            network.cursor.fail(f"{quoted(twice)} is a parent of {quoted(child)} twice.", block.header)
        for parent, place in zip(block.parents, block.places, strict=True):
            if parent not in network.variables:
                message = f"the parent {quoted(parent)} of {quoted(child)} is not declared as a variable."
                raise GraphSyntaxError(f"{place}: {message}{_hint(parent, network)}", place)
    for variable in network.variables.values():
        if variable.name not in network.blocks:
            message = (
                f"{quoted(variable.name)} has no probabilities. "
                f'Add "probability ( {variable.name} ) {{ }}", with its parents after "|" if it has any.'
            )
            raise GraphSyntaxError(f"{variable.place}: {message}", variable.place)


def _hint(name: str, network: _Network) -> str:
    return nearest(name, islice(network.variables, HINTED_NAMES))


def _check_acyclic(network: _Network) -> None:
    draft = Draft()
    for name, variable in network.variables.items():
        draft.node(name, variable.place)
    for child, block in network.blocks.items():
        for parent, place in zip(block.parents, block.places, strict=True):
            draft.arrow(parent, child, place)
    draft.finish()


def _check_confounder(network: _Network, name: str, children: list[str]) -> None:
    causes = network.blocks[name].parents
    if causes or len(children) != 2:
        place = network.variables[name].place
        found = f"has the parent {quoted(causes[0])}" if causes else f"has {len(children)} children"
        raise GraphSyntaxError(
            f"{place}: the confounder {quoted(name)} {found}; it stands for one edge X <-> Y, so it needs "
            f'two children and no parents. For any other hidden variable write "property latent yes;".',
            place,
        )


# -------------------------------------------------------------------------------------------------------------- writing


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
