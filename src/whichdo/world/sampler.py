"""Samples from a network: `World` answers batches as the world would.

Each arm has a random stream of its own, so what one arm yields does not depend on how often others are pulled, and
two policies that are compared on one seed share their luck.  Rewards are drawn from the exact law of the reward under
the arm; the graph is sampled only where tables or rows are asked for, and then only the nodes that those depend on.
"""

from __future__ import annotations

from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.errors import TooLargeError
from whichdo.evidence import Detail, Rows, Tally, all_prices, whole_number
from whichdo.formulas import counted_scopes
from whichdo.kernels.binary import BinaryPlan, rows_binary
from whichdo.kernels.codes import rows_codes
from whichdo.kernels.compiling import always_of_types
from whichdo.kernels.random import BLOCK, ROWS, TABLES, keyed_streams, seed_streams
from whichdo.kernels.rewards import pull_all, reward_streams
from whichdo.problem import per_problem
from whichdo.tables import Table, Tables
from whichdo.world.exact import reward_laws

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whichdo.arrays import CodeArray, FloatArray, IntArray, WordArray
    from whichdo.evidence import Batch
    from whichdo.kernels.rewards import RewardStreams
    from whichdo.problem import Arm, Problem
    from whichdo.tables import Scope
    from whichdo.world.mechanism import Network
    from whichdo.world.sampling_plans import LookPlan


SPARSE_BLOCK = 1 << 18
MOST_GROUNDS = 200
NEVER: IntArray = np.zeros(0, np.int64)

Forced = tuple[tuple[str, int], ...]


def sample_rows(network: Network, n: int, forced: Mapping[str, int], seed: int | np.random.SeedSequence) -> CodeArray:
    """Codes of the observed nodes: shape (nodes, n).  The first rows do not depend on ``n``."""
    nodes = tuple((name,) for name in network.graph.nodes)
    state = seed_streams(_sequence(seed))
    plan = _look_plan(network, nodes, tuple(sorted(forced.items())))
    return Stream(network, plan, state).rows(whole_number(n, "number of rows"))


class World:
    """A network that answers the batches of one problem, as the real world would.

    Parameters
    ----------
    network
        The network.
    problem
        A problem of this network.
    seed
        The random seed; equal seeds give equal answers to equal batches.
    marks
        Rounds, ascending, up to which the pulls of each arm are recorded; the last must be the last that is played.

    Raises
    ------
    NetworkError
        If the problem has nodes or values that the network does not have.

    Examples
    --------
    >>> import whichdo as wd
    >>> network = wd.network("parallel")
    >>> world = wd.World(network, network.problem("Y"), seed=1)
    >>> world.pull(wd.observe(100)).pulls.sum()
    np.int64(100)
    """

    def __init__(
        self,
        network: Network,
        problem: Problem,
        seed: int | np.random.SeedSequence | WordArray = 0,
        marks: IntArray = NEVER,
    ) -> None:
        self._ground = ground(network, problem)
        self.network = network
        self.problem = problem
        self.key: WordArray = seed if isinstance(seed, np.ndarray) else _key(seed)
        self.marks = marks
        """Rounds up to which the pulls of each arm are recorded."""
        self.record: IntArray = np.zeros((len(marks), len(problem.arms)), np.int64) if len(marks) else marks
        self.spent = 0.0
        """The cost of all pulls so far."""
        self._round = 0
        bounds = self._ground.bounds
        self._rewards: RewardStreams | None = None if bounds is None else reward_streams(bounds, self.key)
        """The rewards of each arm; None where their law is too large to sum: rewards are then counted from samples."""
        self._arms: dict[int, ArmStream] = {}
        self._counted: list[tuple[tuple[Scope, ...], dict[int, Stream]]] = []

    @cached_property
    def scopes(self) -> tuple[Scope, ...]:
        """What is counted where a batch does not say: the scopes that settle the problem's arms."""
        return counted_scopes(self.problem)

    @property
    def rewards(self) -> RewardStreams:
        """The rewards of each arm, for compiled loops.

        Raises
        ------
        TooLargeError
            If their probabilities are too large to sum.
        """
        if self._rewards is None:
            reward_laws(self.network, self.problem)  # says why
            raise TooLargeError("The law of the reward is too large to sum.")
        return self._rewards

    def next_rows(self, position: int, count: int) -> CodeArray:
        """Draw the next pulls of an arm as rows of codes, as a batch with detail ROWS gets them.

        Parameters
        ----------
        position
            The arm's position in ``problem.arms``.
        count
            The number of pulls.

        Returns
        -------
        ndarray
            A row of codes for each pull.
        """
        return self._stream(position).rows(count)

    def run(self, batch: Batch) -> Tally:
        """Answer a batch as `pull` does; a batch that has a course, with all pulls of its course.

        Parameters
        ----------
        batch
            The arms to pull.

        Returns
        -------
        Tally
            What came of the pulls.
        """
        if batch.course is None or self._rewards is None:
            return self.pull(batch)
        counts = batch.course.run(self._rewards)
        self.spent += sum(counts.T.dot(all_prices(self.problem)).tolist())  # `@` casts first: twice the time
        told = Tally(self.problem, counts)
        if len(self.marks):
            self._record(range(len(counts)), told.pulls.tolist())
        return told

    def pull(self, batch: Batch) -> Tally:
        """Pull the arms of a batch.

        Parameters
        ----------
        batch
            The arms to pull, and how much detail to return.

        Returns
        -------
        Tally
            What came of the pulls.
        """
        positions, numbers = batch.places(self.problem), batch.numbers
        self.spent += float(all_prices(self.problem)[positions].dot(numbers))
        if len(self.marks):
            self._record(positions.tolist(), batch.counts)
        counts = np.zeros((len(self.problem.arms), len(self.problem.rewards)), np.int64)
        if batch.detail is Detail.ROWS:
            return self._rows(batch, positions, counts)
        tables: dict[Arm, Mapping[Scope, Table]] = {}
        if batch.detail is Detail.REWARDS and self._rewards is not None:
            drawn = self._rewards, positions, numbers, counts
            always_of_types(pull_all, *drawn)(*drawn)
        else:
            wanted, begun = self._wanted(batch)
            for position, count in zip(positions.tolist(), numbers.tolist(), strict=True):
                stream = begun.get(position)
                if stream is None:
                    stream = begun[position] = self._stream(position).counted(wanted)
                counts[position], found = stream.tables(count)
                if batch.detail is Detail.TABLES:
                    tables[self.problem.arms[position]] = found
        return Tally(self.problem, counts, tables)

    def _record(self, positions: Iterable[int], numbers: Iterable[int]) -> None:
        """Put pulls on record, in the order in which they are listed."""
        for position, number in zip(positions, numbers, strict=True):
            later = self.marks > self._round
            self.record[later, position] += np.minimum(number, self.marks[later] - self._round)
            self._round += number

    def _rows(self, batch: Batch, positions: IntArray, counts: IntArray) -> Tally:
        reward = self.problem.graph.index(self.problem.reward)
        rows = []
        for position, count in zip(positions.tolist(), batch.counts, strict=True):
            codes = self._stream(position).rows(count)
            rows.append(Rows(np.full(count, position, np.int64), codes))
            counts[position] = np.bincount(codes[:, reward], minlength=counts.shape[1])
        together = (
            Rows(np.concatenate([r.arms for r in rows]), np.concatenate([r.codes for r in rows])) if rows else None
        )
        return Tally(self.problem, counts, {}, together)

    def _wanted(self, batch: Batch) -> tuple[tuple[Scope, ...], dict[int, Stream]]:
        """The scopes to count by, and the streams that count by them, an arm's by its position."""
        scopes = () if batch.detail is Detail.REWARDS else self.scopes if batch.scopes is None else batch.scopes
        for known, begun in self._counted:
            if known is scopes or known == scopes:
                return known, begun
        self._ground.check_scopes(scopes)
        self._counted.append((scopes, {}))
        return self._counted[-1]

    def _stream(self, position: int) -> ArmStream:
        """The streams of an arm, by its position, so that the order in which arms are first pulled does not matter."""
        if position not in self._arms:
            self._arms[position] = ArmStream(self._ground, self.network, self.key, position)
        return self._arms[position]


def exact_laws(network: Network, problem: Problem) -> FloatArray | None:
    """The exact law of the reward under each arm, remembered with the network; None where it is too large to sum."""
    return ground(network, problem).laws


class Ground:
    """What all worlds of a network and a problem share, worked out once."""

    def __init__(self, network: Network, problem: Problem) -> None:
        network.check(problem)
        self._network, self.problem = network, problem
        self.forced = _forced(network, problem)
        self._checked: tuple[Scope, ...] = ()
        self._plans: dict[int, tuple[tuple[Scope, ...], LookPlan]] = {}

    @cached_property
    def laws(self) -> FloatArray | None:
        """The exact law of the reward under each arm; None where it is too large to sum."""
        try:
            return reward_laws(self._network, self.problem)
        except TooLargeError:
            return None

    @cached_property
    def bounds(self) -> WordArray | None:
        """The same as the kernels want it."""
        from whichdo.world.sampling_plans import reward_bounds

        return None if self.laws is None else reward_bounds(self.laws)

    def check_scopes(self, scopes: tuple[Scope, ...]) -> None:
        """Refuse hidden and unknown nodes, which cannot be counted."""
        if scopes is not self._checked:
            for name in {name for scope in scopes for name in scope}:
                self.problem.graph.index(name)
            self._checked = scopes

    def plan(self, position: int, scopes: tuple[Scope, ...]) -> LookPlan:
        """How to draw and count some scopes under an arm; the last plan of each arm is kept."""
        kept = self._plans.get(position)
        if kept is None or kept[0] is not scopes:
            plan = _look_plan(self._network, scopes, self.forced[position], self.problem.reward)
            kept = self._plans[position] = scopes, plan
        return kept[1]


def _forced(network: Network, problem: Problem) -> list[Forced]:
    """What each arm sets, by its position, as codes."""
    return [tuple(network.codes_of(arm.settings).items()) for arm in problem.arms]


def ground(network: Network, problem: Problem) -> Ground:
    """What worlds of a network and a problem share; kept with the network."""
    kept = _grounds(network)
    if problem not in kept:
        if len(kept) >= MOST_GROUNDS:
            kept.clear()
        kept[problem] = Ground(network, problem)
    return kept[problem]


@per_problem
def _grounds(network: Network) -> dict[Problem, Ground]:  # noqa: ARG001 - kept with it
    return {}


class ArmStream:
    """Tables and rows of one arm, each from a stream of its own."""

    def __init__(self, world: Ground, network: Network, key: WordArray, position: int) -> None:
        self._ground, self._network = world, network
        self._key, self._position = key, position
        self._begun = 0
        self._kept: Stream | None = None

    def counted(self, scopes: tuple[Scope, ...]) -> Stream:
        """A stream of the reward levels and the tables of all scopes over the same pulls."""
        # Other scopes are other samples; in truth a policy asks for the same ones all along.
        key = self._key + np.uint64(self._begun) if self._begun else self._key
        self._begun += 1
        seeds = key, self._position, TABLES
        state = always_of_types(keyed_streams, *seeds)(*seeds)
        return Stream(self._network, self._ground.plan(self._position, scopes), state)

    def rows(self, count: int) -> CodeArray:
        """The next ``count`` rows, whatever batches they are asked in."""
        if self._kept is None:
            nodes = tuple((name,) for name in self._ground.problem.graph.nodes)
            state = keyed_streams(self._key, self._position, ROWS)
            plan = _look_plan(self._network, nodes, self._ground.forced[self._position])
            self._kept = Stream(self._network, plan, state)
        return np.ascontiguousarray(self._kept.rows(count).T)


class Stream:
    """An endless sequence of samples of the columns that some scopes, and the reward where it is named, need."""

    def __init__(self, network: Network, plan: LookPlan, state: WordArray) -> None:
        self._network = network
        self._plan = plan
        self._state = state
        self._left: CodeArray | None = None

    def rows(self, count: int) -> CodeArray:
        """The next rows as codes, shape (columns, count); drawn in whole blocks, so that no split changes them."""
        left = self._left if self._left is not None else np.zeros((len(self._plan.columns), 0), np.uint8)
        missing = count - left.shape[1]
        if missing > 0:
            position = {name: number for number, name in enumerate(self._network.full.nodes)}
            wanted = np.array([position[name] for name in self._plan.columns], np.int64)
            blocks = -(-missing // BLOCK) * BLOCK
            steps = self._plan.steps
            drawn = (
                rows_binary(self._state, blocks, steps, wanted)
                if isinstance(steps, BinaryPlan)
                else rows_codes(self._state, blocks, steps, wanted)
            )
            left = np.concatenate([left, drawn], axis=1) if left.shape[1] else drawn
        self._left = left[:, count:]
        return left[:, :count]

    def counts(self, count: int) -> IntArray:
        """Joint counts of each scope over the next ``count`` samples, one after the other."""
        plan = self._plan
        given = self._state, count, plan.steps, plan.scopes
        found: IntArray = always_of_types(plan.draw, *given)(*given)
        return found

    def tables(self, count: int) -> tuple[IntArray, Mapping[Scope, Table]]:
        """The reward's levels and joint counts of each scope over the next ``count`` samples."""
        layout = self._plan.layout
        if layout is None:
            return self._sparse_tables(count)
        counts = self.counts(count)
        return counts[self._plan.levels], Tables(layout, counts[: layout.cells])

    def _sparse_tables(self, count: int) -> tuple[IntArray, dict[Scope, Table]]:
        """Count from rows where some scope is too wide to lay out; in chunks, so that memory stays bounded."""
        found: dict[Scope, Table] = {}
        place = {name: number for number, name in enumerate(self._plan.columns)}
        reward: Scope = () if self._plan.reward is None else (self._plan.reward,)
        done = 0
        while done < count or not found:
            now = min(SPARSE_BLOCK, count - done)
            rows = self.rows(now)
            for scope in dict.fromkeys((*self._plan.asked, reward)):
                columns = [rows[place[name]] for name in scope]
                sizes = [self._network.sizes[name] for name in scope]
                table = Table.from_rows(scope, sizes, columns, np.ones(now, np.int64))
                found[scope] = found[scope] + table if scope in found else table
            done += max(now, 1)
        return found[reward].count, {scope: found[scope] for scope in self._plan.asked}


@cache
def _planner() -> Any:
    from whichdo.world.sampling_plans import look_plan

    return look_plan


def _look_plan(network: Network, scopes: tuple[Scope, ...], forced: Forced, reward: str | None = None) -> LookPlan:
    found: LookPlan = _planner()(network, scopes, forced, reward)
    return found


def _key(seed: int | np.random.SeedSequence) -> WordArray:
    return _sequence(seed).generate_state(2, np.uint64).astype(np.uint64)


def _sequence(seed: int | np.random.SeedSequence) -> np.random.SeedSequence:
    if isinstance(seed, np.random.SeedSequence):
        return seed
    return np.random.SeedSequence(whole_number(seed, "seed"))
