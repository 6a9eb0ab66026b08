"""Samples from a network: `World` answers batches as the world would.

Each arm has a random stream of its own, so what one arm yields does not depend on how often others are pulled, and
two policies that are compared on one seed share their luck.  Rewards are drawn from the exact law of the reward under
the arm; the graph is sampled only where tables or rows are asked for, and then only the nodes that those depend on.
"""

from __future__ import annotations

from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.counting.scopes import MAX_CELLS
from whichdo.counting.scopes import scopes as problem_scopes
from whichdo.errors import TooLarge
from whichdo.evidence import Detail, Rows, Sparse, Tally, whole_number
from whichdo.world.exact import reward_laws

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whichdo.counting.scopes import Scope
    from whichdo.evidence import Batch, CodeArray, FloatArray, IntArray, Table
    from whichdo.problem import Arm, Problem
    from whichdo.world.network import CausalNetwork

__all__ = ["World", "sample_rows"]

SPARSE_BLOCK = 1 << 18

State = np.ndarray[Any, np.dtype[np.uint64]]
Int64 = np.ndarray[Any, np.dtype[np.int64]]


def sample_rows(
    network: CausalNetwork, n: int, forced: Mapping[str, int], seed: int | np.random.SeedSequence
) -> CodeArray:
    """Codes of the observed nodes: shape (nodes, n).  The first rows do not depend on ``n``."""
    from whichdo.kernels import seed_streams

    return Stream(network, network.graph.nodes, forced, seed_streams(_sequence(seed))).rows(
        whole_number(n, "number of rows")
    )


class World:
    """A network that answers the batches of one problem.  The same seed gives the same answers to the same batches."""

    def __init__(self, network: CausalNetwork, problem: Problem, seed: int | np.random.SeedSequence = 0) -> None:
        network.check(problem)
        self.network = network
        self.problem = problem
        self._seed = _sequence(seed)
        self._arms: dict[Arm, ArmStream] = {}

    @cached_property
    def scopes(self) -> tuple[Scope, ...]:
        """What is counted where a batch does not say: the scopes that settle the problem's arms."""
        return tuple(dict.fromkeys(problem_scopes(self.problem).values()))

    @cached_property
    def _laws(self) -> FloatArray | None:
        """The exact law of the reward under each arm; None where it is too large to sum: rewards are then sampled."""
        try:
            return reward_laws(self.network, self.problem)
        except TooLarge:
            return None

    def pull(self, batch: Batch) -> Tally:
        """Pull the arms of a batch and tell what came, at the detail it asks for."""
        counts = np.zeros((len(self.problem.arms), len(self.problem.rewards)), np.int64)
        tables: dict[Arm, dict[Scope, Table]] = {}
        rows = []
        wanted = self._wanted(batch)
        for arm, count in zip(batch.arms, batch.counts, strict=True):
            position = self.problem.index(arm)
            stream = self._stream(arm, position)
            if batch.detail is Detail.ROWS:
                codes = stream.rows(count)
                rows.append(Rows(np.full(count, position, np.int64), codes))
                reward = codes[:, self.problem.graph.index(self.problem.reward)]
                counts[position] = np.bincount(reward, minlength=counts.shape[1])
            elif batch.detail is Detail.TABLES:
                counts[position], tables[arm] = stream.tables(count, wanted)
            else:
                counts[position] = stream.rewards(count, None if self._laws is None else self._laws[position])
        together = (
            Rows(np.concatenate([r.arms for r in rows]), np.concatenate([r.codes for r in rows])) if rows else None
        )
        return Tally(self.problem, counts, tables, together)

    def _wanted(self, batch: Batch) -> tuple[Scope, ...]:
        if batch.detail is not Detail.TABLES:
            return ()
        if batch.scopes is None:
            return self.scopes
        for scope in batch.scopes:
            for name in scope:
                self.problem.graph.index(name)  # hidden and unknown nodes cannot be counted
        return batch.scopes

    def _stream(self, arm: Arm, position: int) -> ArmStream:
        if arm not in self._arms:
            # Spawned by the arm's position, so that the order in which arms are first pulled does not matter.
            key = (*self._seed.spawn_key, position)
            sequence = np.random.SeedSequence(self._seed.entropy, spawn_key=key)
            forced = {} if arm.node is None or arm.value is None else self.network.codes_of({arm.node: arm.value})
            self._arms[arm] = ArmStream(self.network, self.problem, forced, sequence)
        return self._arms[arm]


class ArmStream:
    """All that one arm ever yields: three streams from one seed, one for each detail."""

    def __init__(
        self, network: CausalNetwork, problem: Problem, forced: Mapping[str, int], sequence: np.random.SeedSequence
    ) -> None:
        self._network, self._problem, self._forced = network, problem, forced
        self._seeds = sequence.spawn(3)
        self._generator = np.random.Generator(np.random.PCG64(self._seeds[0]))
        self._counted: dict[tuple[Scope, ...], Stream] = {}
        self._kept: Stream | None = None

    def rewards(self, count: int, law: FloatArray | None) -> IntArray:
        """How often each reward level comes in ``count`` pulls."""
        if law is None:
            return self.tables(count, ())[0]
        if len(law) == 2:
            ones = self._generator.binomial(count, min(1.0, law[1]))
            return np.array([count - ones, ones], np.int64)
        return self._generator.multinomial(count, law / law.sum()).astype(np.int64)

    def tables(self, count: int, scopes: Sequence[Scope]) -> tuple[IntArray, dict[Scope, Table]]:
        """The reward levels and the tables of all scopes over the same ``count`` pulls."""
        from whichdo.kernels import seed_streams

        chosen = tuple(scopes)
        if chosen not in self._counted:
            columns = dict.fromkeys([self._problem.reward, *(name for scope in chosen for name in scope)])
            state = seed_streams(
                np.random.SeedSequence(self._seeds[1].generate_state(4).tolist(), spawn_key=(len(self._counted),))
            )
            self._counted[chosen] = Stream(self._network, tuple(columns), self._forced, state)
        found = self._counted[chosen].tables(count, [(self._problem.reward,), *chosen])
        levels = found[(self._problem.reward,)]
        if not isinstance(levels, np.ndarray):
            raise TypeError(levels)
        return levels, {scope: found[scope] for scope in chosen}

    def rows(self, count: int) -> CodeArray:
        """The next ``count`` rows, whatever batches they are asked in."""
        from whichdo.kernels import seed_streams

        if self._kept is None:
            self._kept = Stream(self._network, self._problem.graph.nodes, self._forced, seed_streams(self._seeds[2]))
        return np.ascontiguousarray(self._kept.rows(count).T)


class Stream:
    """An endless sequence of samples of some columns."""

    def __init__(self, network: CausalNetwork, columns: Sequence[str], forced: Mapping[str, int], state: State) -> None:
        self._network = network
        self._columns = tuple(columns)
        from whichdo.world.plans import plan

        self._plan = plan(network, columns, forced)
        self._state = state
        self._position = {name: number for number, name in enumerate(network.full.nodes)}
        self._left: CodeArray | None = None

    def rows(self, count: int) -> CodeArray:
        """The next rows as codes, shape (columns, count); drawn in whole blocks, so that no split changes them."""
        from whichdo.kernels import BLOCK, BinaryPlan, rows_binary, rows_codes

        left = self._left if self._left is not None else np.zeros((len(self._columns), 0), np.uint8)
        missing = count - left.shape[1]
        if missing > 0:
            wanted = np.array([self._position[name] for name in self._columns], np.int64)
            blocks = -(-missing // BLOCK) * BLOCK
            if isinstance(self._plan, BinaryPlan):
                drawn = rows_binary(self._state, blocks, self._plan, wanted)
            else:
                drawn = rows_codes(self._state, blocks, self._plan, wanted)
            left = np.concatenate([left, drawn], axis=1) if left.shape[1] else drawn
        self._left = left[:, count:]
        return left[:, :count]

    def tables(self, count: int, scopes: Sequence[Scope]) -> dict[Scope, Table]:
        """Joint counts of each scope over the next ``count`` samples."""
        sizes = [prod(self._network.sizes[name] for name in scope) for scope in scopes]
        if max(sizes, default=0) > MAX_CELLS:
            return self._sparse_tables(count, scopes, sizes)
        return dict(zip(scopes, self._dense_tables(count, scopes, sizes), strict=True))

    def _dense_tables(self, count: int, scopes: Sequence[Scope], cells: Sequence[int]) -> list[IntArray]:
        from whichdo.kernels import BinaryPlan, Scopes, tables_binary, tables_codes

        sizes = self._network.sizes
        strides = [prod(sizes[other] for other in scope[j + 1 :]) for scope in scopes for j in range(len(scope))]
        columns = [self._position[name] for scope in scopes for name in scope]
        layout = Scopes(
            _starts([len(scope) for scope in scopes]),
            np.array(columns, np.int64),
            np.array(strides, np.int64),
            _starts(cells),
        )
        if isinstance(self._plan, BinaryPlan):
            counts = tables_binary(self._state, count, self._plan, layout)
        else:
            counts = tables_codes(self._state, count, self._plan, layout)
        return [
            counts[layout.cell_start[j] : layout.cell_start[j + 1]].reshape([sizes[name] for name in scope])
            for j, scope in enumerate(scopes)
        ]

    def _sparse_tables(self, count: int, scopes: Sequence[Scope], cells: Sequence[int]) -> dict[Scope, Table]:
        """Count from rows where some scope is too wide to lay out; in chunks, so that memory stays bounded."""
        found: dict[Scope, Table] = {}
        place = {name: number for number, name in enumerate(self._columns)}
        done = 0
        while done < count or not found:
            now = min(SPARSE_BLOCK, count - done)
            rows = self.rows(now)
            for scope, size in zip(scopes, cells, strict=True):
                part = rows[[place[name] for name in scope]]
                table = (
                    _dense(part, [self._network.sizes[name] for name in scope]) if size <= MAX_CELLS else _sparse(part)
                )
                found[scope] = found[scope] + table if scope in found else table  # type: ignore[operator]
            done += max(now, 1)
        return found


def _sequence(seed: int | np.random.SeedSequence) -> np.random.SeedSequence:
    if isinstance(seed, np.random.SeedSequence):
        return seed
    return np.random.SeedSequence(whole_number(seed, "seed"))


def _starts(lengths: Sequence[int]) -> Int64:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _dense(part: CodeArray, sizes: Sequence[int]) -> IntArray:
    flat = np.ravel_multi_index(tuple(part.astype(np.int64)), sizes)
    return np.bincount(flat, minlength=prod(sizes)).reshape(sizes).astype(np.int64)


def _sparse(part: CodeArray) -> Sparse:
    cells, counts = np.unique(part.T, axis=0, return_counts=True)
    return Sparse(np.ascontiguousarray(cells), counts.astype(np.int64))
