"""Mechanisms, and networks of them as exact sums, samplers and files need them (`whichdo.world.network`).

A *mechanism* says how likely each value of a node is, given the values of its inputs.  Its inputs may be fewer than the
node's parents: in the paper's Experiment 1 the reward has 100 parents and depends on one.  A learner who sees only the
graph cannot know that, so the graph keeps all parents while the table, and every cost here, grows with the inputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Protocol

import numpy as np

from whichdo.errors import NetworkError, TooLargeError
from whichdo.graph.draft import checked_name
from whichdo.text import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import ArrayLike

    from whichdo.arrays import FloatArray
    from whichdo.graph.admg import CausalGraph
    from whichdo.problem import Problem, Value


ROW_ERROR = 1e-9
MAX_AXES = 32
MAX_TABLE = 50_000_000
"""The most cells of the table of a node."""


@dataclass(frozen=True, eq=False)
class Mechanism:
    """The probabilities of a node's values given its inputs.

    Parameters
    ----------
    inputs
        The nodes that the probabilities depend on.
    table
        An axis for each input, in order, and a last axis over the node's own values.  All axes of the inputs may be
        flattened into one, in C order (the last input varies fastest).
    parents
        All parents in the graph, if it has more edges into the node than the table has inputs.

    Raises
    ------
    NetworkError
        If the table contains a value that is not a probability, or an input is not among the parents.
    """

    inputs: tuple[str, ...]
    table: FloatArray
    parents: tuple[str, ...]

    def __init__(self, inputs: Iterable[str], table: ArrayLike, *, parents: Iterable[str] | None = None) -> None:
        inputs = _names(inputs, "inputs")
        array = _floats(table)
        if array.ndim == 0:
            raise NetworkError("A mechanism's table needs a probability for each value; one number was given.")
        everything = inputs if parents is None else _names(parents, "parents")
        missing = [name for name in inputs if name not in everything]
        if missing:
            raise NetworkError(f"The input {quoted(missing[0])} is not among the parents {list(everything)}.")
        object.__setattr__(self, "inputs", inputs)
        object.__setattr__(self, "table", array)
        object.__setattr__(self, "parents", everything)

    @property
    def size(self) -> int:
        """The number of values of the node."""
        return int(self.table.shape[-1])


def bernoulli(inputs: Iterable[str], probability: ArrayLike, *, parents: Iterable[str] | None = None) -> Mechanism:
    """Make the mechanism of a 0/1 node from its probability of 1.

    Parameters
    ----------
    inputs
        The nodes that the probability depends on.
    probability
        The probability of 1 for each setting of the inputs, an axis for each; a number if there are no inputs.
    parents
        All parents in the graph, if there are more than the inputs.

    Returns
    -------
    Mechanism
        For a `CausalNetwork`.

    Examples
    --------
    >>> import whichdo as wd
    >>> wd.bernoulli(("U",), [0.25, 0.75]).table.tolist()  # P(X=1 | U=0), P(X=1 | U=1)
    [[0.75, 0.25], [0.25, 0.75]]
    """
    one = _floats(probability)
    return Mechanism(inputs, np.stack([1 - one, one], axis=-1), parents=parents)


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
    def mechanisms(self) -> Mapping[str, Mechanism]:
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


def _names(names: Iterable[str], what: str) -> tuple[str, ...]:
    listed = tuple(map(checked_name, (names,) if isinstance(names, str) else names))
    if len(set(listed)) < len(listed):
        raise NetworkError(f"A mechanism lists one of its {what} twice: {list(listed)}.")
    return listed


def _floats(table: ArrayLike) -> FloatArray:
    try:
        array = np.array(table, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise NetworkError(f"A mechanism's table must be a rectangular array of numbers: {error}.") from None
    if not np.isfinite(array).all() or (array < 0).any() or (array > 1 + ROW_ERROR).any():
        raise NetworkError("A mechanism's table contains a value that is not a probability: each must lie in 0..1.")
    array.flags.writeable = False
    return array


def checked_mechanism(name: str, mechanism: Mechanism, domains: Mapping[str, tuple[Value, ...]]) -> Mechanism:
    """The mechanism with one axis an input and rows that sum to one exactly."""
    shape = (*(len(domains[parent]) for parent in mechanism.inputs), mechanism.size)
    if len(shape) > MAX_AXES:
        raise TooLargeError(f"{quoted(name)} has {len(mechanism.inputs)} inputs; {MAX_AXES - 1} are allowed.")
    if prod(shape) > MAX_TABLE:
        raise TooLargeError(f"The table of {quoted(name)} would have {prod(shape):,} cells; {MAX_TABLE:,} are allowed.")
    flat = (prod(shape[:-1]), mechanism.size)
    if mechanism.table.shape not in (shape, flat) and not (mechanism.table.shape == shape[-1:] and flat[0] == 1):
        raise NetworkError(
            f"The table of {quoted(name)} has shape {mechanism.table.shape}; its inputs {list(mechanism.inputs)} "
            f"ask for {shape} (an axis each, then its own values) or {flat}."
        )
    table = mechanism.table.reshape(shape)
    sums = table.sum(axis=-1)
    worst = np.unravel_index(np.abs(sums - 1).argmax(), sums.shape) if sums.ndim else ()
    if abs(sums[worst] - 1) > ROW_ERROR:
        row = ", ".join(
            f"{parent}={domains[parent][code]}" for parent, code in zip(mechanism.inputs, worst, strict=True)
        )
        raise NetworkError(
            f"The probabilities of {quoted(name)}{f' given {row}' if row else ''} sum to {sums[worst]:.12g}, not 1."
        )
    # Rounding alone is left as it is, so that writing a network and reading it back changes nothing.
    exact = np.abs(sums - 1) <= mechanism.size * np.finfo(np.float64).eps
    return Mechanism(mechanism.inputs, table / np.where(exact, 1.0, sums)[..., None], parents=mechanism.parents)


def essential(mechanism: Mechanism) -> tuple[tuple[str, ...], FloatArray]:
    """The inputs of a mechanism without those that its table does not change with, and the table over them."""
    inputs, table = list(mechanism.inputs), mechanism.table
    for axis in reversed(range(len(inputs))):
        first = np.take(table, [0], axis=axis)
        if (table == first).all():
            table = np.squeeze(first, axis=axis)
            del inputs[axis]
    return tuple(inputs), table
