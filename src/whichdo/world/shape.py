"""What exact sums, samplers and files need of a network (`whichdo.world.network.CausalNetwork`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whichdo.arrays import FloatArray
    from whichdo.graph.admg import CausalGraph
    from whichdo.problem import Problem, Value


MAX_TABLE = 50_000_000
"""The most cells of the table of a node."""


class Law(Protocol):
    """The law of a node given its inputs; see `whichdo.world.network.Mechanism`."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The nodes that it depends on."""

    @property
    def table(self) -> FloatArray:
        """An axis for each input, and a last one over the node's own values."""

    @property
    def parents(self) -> tuple[str, ...]:
        """All parents in the graph."""

    @property
    def size(self) -> int:
        """How many values the node has."""


class Network(Protocol):
    """A causal network, hidden nodes included."""

    graph: CausalGraph
    """Of the observed nodes."""
    full: CausalGraph
    """Of all nodes."""
    hidden: frozenset[str]
    domains: Mapping[str, tuple[Value, ...]]

    @property
    def sizes(self) -> Mapping[str, int]:
        """How many values each node has."""

    @property
    def mechanisms(self) -> Mapping[str, Law]:
        """The law of each node."""

    @property
    def essentials(self) -> Mapping[str, tuple[tuple[str, ...], FloatArray]]:
        """The inputs that matter of each node, and its table over them."""

    @property
    def _kept(self) -> dict[object, object]: ...

    def means(self, problem: Problem) -> FloatArray:
        """The true mean reward of each arm."""

    def check(self, problem: Problem) -> None:
        """Refuse a problem that speaks of other nodes or values than this network."""

    def codes_of(self, setting: Mapping[str, Value]) -> dict[str, int]:
        """A setting of nodes by value as one by code."""
