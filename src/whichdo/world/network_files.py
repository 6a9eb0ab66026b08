"""Networks in BIF, the interchange format of bnlearn and its relatives."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo.errors import GraphSyntaxError, NetworkError, Place, TooLargeError
from whichdo.files import write_file
from whichdo.graph.formats.bif import parse_bif
from whichdo.graph.formats.bif import write_bif as bif_text
from whichdo.graph.formats.bif_tables import BifFile, BifVariable
from whichdo.graph.formats.scan import read_file
from whichdo.text import quoted
from whichdo.world.mechanism import MAX_TABLE

if TYPE_CHECKING:
    import os

    from whichdo.arrays import FloatArray
    from whichdo.problem import Value
    from whichdo.world.mechanism import Network


class NetworkParts(NamedTuple):
    """A network as it stands in a file: inputs and table of each node, the hidden nodes, and all domains."""

    mechanisms: dict[str, tuple[tuple[str, ...], FloatArray]]
    hidden: set[str]
    domains: dict[str, tuple[Value, ...]]


def read_bif(path: str | os.PathLike[str]) -> NetworkParts:
    """Read a network, plain or gzipped.  Values that are 0, 1, 2, ... in order become numbers; others stay strings."""
    path = Path(path)
    try:
        file = parse_bif(read_file(path))
    except GraphSyntaxError as error:
        raise error.within(path.name) from None
    mechanisms = {}
    for variable in file.variables:
        if variable.table is None:
            name = quoted(variable.name)
            raise NetworkError(f"{path.name} gives no probabilities for {name}; it can be read as a graph only.")
        mechanisms[variable.name] = variable.parents, variable.table
    return NetworkParts(
        mechanisms,
        {variable.name for variable in file.variables if variable.hidden},
        {variable.name: _values(variable.values) for variable in file.variables},
    )


def write_bif(network: Network, path: str | os.PathLike[str]) -> None:
    """Write a network; a mechanism with fewer inputs than parents is spread over all of them."""
    variables = []
    for name in network.full.nodes:
        mechanism = network.mechanisms[name]
        variables.append(
            BifVariable(
                name,
                tuple(map(str, network.domains[name])),
                mechanism.parents,
                _spread(network, name),
                name in network.hidden,
                Place(1, 1),
            )
        )
    write_file(Path(path), bif_text(BifFile("whichdo", tuple(variables))))


def _values(texts: tuple[str, ...]) -> tuple[Value, ...]:
    numbers = tuple(range(len(texts)))
    return numbers if texts == tuple(map(str, numbers)) else texts


def _spread(network: Network, name: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """The table with an axis for each parent, in the order of the parents."""
    mechanism = network.mechanisms[name]
    sizes = [network.sizes[parent] for parent in mechanism.parents]
    cells = prod(sizes) * mechanism.size
    if cells > MAX_TABLE:
        raise TooLargeError(
            f"BIF writes a table over all {len(sizes)} parents of {quoted(name)}: {cells:,} cells; "
            f"{MAX_TABLE:,} are allowed."
        )
    order = sorted(range(len(mechanism.inputs)), key=lambda j: mechanism.parents.index(mechanism.inputs[j]))
    table = np.transpose(mechanism.table, [*order, len(order)])
    shape = [size if parent in mechanism.inputs else 1 for parent, size in zip(mechanism.parents, sizes, strict=True)]
    return np.array(np.broadcast_to(table.reshape([*shape, mechanism.size]), [*sizes, mechanism.size]))
