"""A network laid out as flat arrays, as the sampling kernels want it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from whichdo.kernels.binary import BinaryPlan, tables_binary
from whichdo.kernels.codes import CodePlan, tables_codes
from whichdo.problem import per_problem
from whichdo.tables import MAX_CELLS, Layout, Radix, starts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from whichdo.arrays import FloatArray, IntArray, WordArray
    from whichdo.tables import Places, Scope
    from whichdo.world.mechanism import Network


WORD = 2.0**64
KEPT_PLANS = 2_000


class LookPlan(NamedTuple):
    """How to draw what some scopes need and, unless one is too wide to lay out, how to count them."""

    asked: tuple[Scope, ...]
    reward: str | None
    columns: tuple[str, ...]
    steps: BinaryPlan | CodePlan
    layout: Layout | None
    scopes: Places
    draw: Callable[..., IntArray]
    """The kernel that draws the samples and counts them."""
    levels: slice
    """Where the counts of the reward alone lie; after the scopes, if it is not one of them."""


def look_plan(
    network: Network, scopes: tuple[Scope, ...], forced: tuple[tuple[str, int], ...], reward: str | None = None
) -> LookPlan:
    """The plan of some scopes, and of the reward by itself where one is named, with some nodes forced.

    Remembered with the network: a simulation asks for the same few plans again and again.
    """
    key, kept = (scopes, forced, reward), _plans(network)
    if key not in kept:
        if len(kept) >= KEPT_PLANS:
            kept.clear()
        kept[key] = _look_plan(network, scopes, dict(forced), reward)
    return kept[key]


@per_problem
def _plans(network: Network) -> dict[tuple[object, ...], LookPlan]:  # noqa: ARG001 - kept with it
    return {}


def _look_plan(network: Network, scopes: tuple[Scope, ...], forced: Mapping[str, int], reward: str | None) -> LookPlan:
    counted = scopes if reward is None or (reward,) in scopes else (*scopes, (reward,))
    columns = tuple(dict.fromkeys(name for scope in counted for name in scope))
    cells = [Radix.of(scope, network.sizes).cells for scope in counted]
    asked = Layout(network.sizes, scopes) if max(cells, default=0) <= MAX_CELLS else None
    whole = Layout(network.sizes, () if asked is None else counted)
    levels = slice(0, 0) if reward is None or asked is None else whole.place((reward,))
    steps = plan(network, columns, forced)
    draw = tables_binary if isinstance(steps, BinaryPlan) else tables_codes
    return LookPlan(scopes, reward, columns, steps, asked, whole.places(network.full.nodes), draw, levels)


def plan(network: Network, wanted: Sequence[str], forced: Mapping[str, int]) -> BinaryPlan | CodePlan:
    """The steps that draw ``wanted`` with some nodes forced: only nodes and inputs that these depend on."""
    tables = network.essentials
    needed = set(wanted)
    for name in reversed(network.full.nodes):
        if name in needed and name not in forced:
            needed.update(tables[name][0])
    steps = [name for name in network.full.nodes if name in needed]
    if all(network.sizes[name] == 2 for name in steps):
        return _binary(network, steps, tables, forced)
    return _codes(network, steps, tables, forced)


def _starts(lengths: Iterable[int]) -> IntArray:
    return np.array(starts(lengths), np.int64)


def _joined(parts: Sequence[Any], kind: type) -> Any:
    return np.concatenate([np.zeros(0, kind), *parts]).astype(kind)


def _words(probability: FloatArray) -> WordArray:
    """Probabilities below one as 64-bit integers, rounded down."""
    below = np.minimum(probability, np.nextafter(1.0, 0.0))
    return np.floor(below * WORD).astype(np.uint64)


def _binary(
    network: Network,
    steps: Sequence[str],
    tables: Mapping[str, tuple[tuple[str, ...], FloatArray]],
    forced: Mapping[str, int],
) -> BinaryPlan:
    position = {name: number for number, name in enumerate(network.full.nodes)}
    free = {name: tables[name] if name not in forced else ((), np.array([1.0, 0.0])) for name in steps}
    ones = {name: table[..., 1].ravel() for name, (_, table) in free.items()}
    thresholds = {name: np.where(one < 1.0, _words(one), np.uint64(0)).astype(np.uint64) for name, one in ones.items()}
    return BinaryPlan(
        nodes=len(position),
        targets=np.array([position[name] for name in steps], dtype=np.int64),
        forced=np.array([forced.get(name, -1) for name in steps], dtype=np.int64),
        input_start=_starts(len(inputs) for inputs, _ in free.values()),
        inputs=_joined([[position[parent] for parent in inputs] for inputs, _ in free.values()], np.int64),
        row_start=_starts(len(one) for one in ones.values()),
        thresholds=_joined(list(thresholds.values()), np.uint64),
        sure=_joined([one >= 1.0 for one in ones.values()], np.uint8),
        depths=np.array([max(map(_depth, words.tolist())) for words in thresholds.values()], dtype=np.int64),
    )


def _depth(word: int) -> int:
    """How many bits, from the most significant, a threshold uses."""
    return 64 - ((word & -word).bit_length() - 1) if word else 0


def _codes(
    network: Network,
    steps: Sequence[str],
    tables: Mapping[str, tuple[tuple[str, ...], FloatArray]],
    forced: Mapping[str, int],
) -> CodePlan:
    position = {name: number for number, name in enumerate(network.full.nodes)}
    free = {name: tables[name] if name not in forced else ((), np.array([1.0, 0.0])) for name in steps}
    rows = {name: table.reshape(-1, table.shape[-1]) for name, (_, table) in free.items()}
    strides = [Radix.of(inputs, network.sizes).strides for inputs, _ in free.values()]
    return CodePlan(
        nodes=len(position),
        targets=np.array([position[name] for name in steps], dtype=np.int64),
        forced=np.array([forced.get(name, -1) for name in steps], dtype=np.int64),
        input_start=_starts(len(inputs) for inputs, _ in free.values()),
        inputs=_joined([[position[parent] for parent in inputs] for inputs, _ in free.values()], np.int64),
        strides=_joined(strides, np.int64),
        widths=np.array([table.shape[1] - 1 for table in rows.values()], dtype=np.int64),
        bound_start=_starts(table.shape[0] * (table.shape[1] - 1) for table in rows.values()),
        bounds=_joined([_bounds(table) for table in rows.values()], np.uint64),
    )


def reward_bounds(laws: FloatArray) -> WordArray:
    """The laws of the reward, a row for each arm, as `whichdo.kernels.rewards` wants them."""
    return _bounds(laws).reshape(len(laws), -1)


def _bounds(table: FloatArray) -> WordArray:
    """Cumulative probabilities as 63-bit integers; one from the last possible value on, whatever rounding says."""
    total = np.minimum(np.cumsum(table, axis=1), np.nextafter(1.0, 0.0))
    last = table.shape[1] - 1 - (table[:, ::-1] > 0).argmax(axis=1)
    total[np.arange(table.shape[1]) >= last[:, None]] = 1.0
    bounds: WordArray = np.floor(total[:, :-1] * 2.0**63).astype(np.uint64).ravel()
    return bounds
