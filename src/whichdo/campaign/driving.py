"""What runs a policy through a play: batch by batch through a session, round by round, or down a list of audits.

Each says what it wants now, is told what came of it, and can be saved: what another process needs to go on from there.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.campaign.audit import Audit
from whichdo.counting.told import Told
from whichdo.errors import UnfitStateError, WhichdoError
from whichdo.evidence import Tally
from whichdo.policies.base import check_policy
from whichdo.policies.sequential import NO_ROW
from whichdo.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from whichdo.arrays import Array
    from whichdo.policies.base import ByRound, Policy, Recommendation
    from whichdo.problem import Arm, Problem

    Saved = Mapping[str, Any]


Wanted = tuple[tuple["Arm", ...], tuple[int, ...], tuple[str, ...]]
"""Arms, how often each, and the nodes that rows must say."""


class _Batches:
    """Any policy, through a session; what it was told is kept, so that it can be told again.

    One that was saved knows what it wants now.  The policy is run again on what it was told when it has to decide.
    """

    def __init__(
        self, begin: Callable[[], Session], problem: Problem, places: dict[str, int], saved: Saved | None
    ) -> None:
        self._begin, self._places, self._problem = begin, places, problem
        self._made = begin() if saved is None else None
        self._saved = saved
        self._levels = len(problem.domains[problem.reward])
        self._reward = places[problem.reward]
        self._heard = [array("q"), array("q"), array("q"), array("q")]  # arm, rows and columns of each tell; levels
        self._codes = bytearray()

    @property
    def _session(self) -> Session:
        if self._made is None or self._saved is not None:
            self._made = self._begin()
            saved, self._saved = self._saved, None
            if saved is not None:
                self._resume(saved)
        return self._made

    def saved(self) -> Saved:
        if self._saved is not None:
            return self._saved
        names = ("arms", "rows", "columns", "levels")
        heard: dict[str, Any] = {name: np.array(each) for name, each in zip(names, self._heard, strict=True)}
        arms, counts, needed = self.wanted()
        wanted = [[self._problem.index(arm) for arm in arms], counts, needed]
        return heard | {"codes": np.frombuffer(bytes(self._codes), np.uint8), "wanted": wanted, "over": self.finished}

    def _resume(self, saved: Saved) -> None:
        """Run the policy again on what it was told; it must come to what was saved."""
        try:
            self._retell(saved)
        except (WhichdoError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
            raise UnfitStateError(f"What was saved of a play cannot be told again: {error}") from error
        places, counts, needed = saved["wanted"]
        wanted = tuple(self._problem.arms[place] for place in places), tuple(counts), tuple(needed)
        if (self.finished, self.wanted()) != (bool(saved["over"]), wanted):
            raise UnfitStateError("What was saved of a play leads to something else.")

    def _retell(self, saved: Saved) -> None:
        levels, at = saved["levels"].astype(np.int64).reshape(-1, self._levels), 0
        tells = zip(saved["arms"].tolist(), saved["rows"].tolist(), saved["columns"].tolist(), levels, strict=True)
        for place, rows, columns, came in tells:
            codes = saved["codes"][at : at + rows * columns].reshape(rows, columns).copy()
            at += rows * columns
            self._tell(self._problem.arms[place], Told(came, codes))

    def wanted(self) -> Wanted:
        if self._saved is not None:
            places, counts, needed = self._saved["wanted"]
            return tuple(self._problem.arms[place] for place in places), tuple(counts), tuple(needed)
        batch = self._session.batch
        return batch.arms, batch.counts, self._session.needed

    @property
    def finished(self) -> bool:
        return self._session.finished if self._saved is None else bool(self._saved["over"])

    def recommendation(self) -> Recommendation:
        return self._session.recommend()

    def tell(self, arm: Arm, codes: Array) -> None:
        columns = [self._places[name] for name in self._session.needed]
        levels = np.bincount(codes[:, self._reward], minlength=self._levels).astype(np.int64)
        self._tell(arm, Told(levels, codes[:, columns].astype(np.uint8)))

    def _tell(self, arm: Arm, told: Told) -> None:
        self._session.tell(arm, told)
        if told.codes is None:
            return
        for column, value in zip(self._heard, (self._problem.index(arm), *told.codes.shape), strict=False):
            column.append(value)
        self._heard[3].extend(told.levels.tolist())
        self._codes += told.codes.tobytes()


class _Turns:
    """A sequential policy, round by round: its log is long, and a session would take longer than the policy itself."""

    def __init__(self, rounds: ByRound, problem: Problem, places: dict[str, int]) -> None:
        self._rounds, self._problem = rounds, problem
        self._reward = places[problem.reward]
        nodes, reward = problem.graph.nodes, problem.graph.index(problem.reward)
        self._read = tuple(nodes[column] for column in sorted({*rounds.columns, reward}))
        self._columns = [places[nodes[column]] for column in rounds.columns]

    def saved(self) -> dict[str, Any] | None:
        return self._rounds.saved()

    def wanted(self) -> Wanted:
        rounds = self._rounds
        if rounds.over:
            return (), (), ()
        return (self._problem.arms[rounds.arm],), (1,), self._read if rounds.reads else (self._problem.reward,)

    @property
    def finished(self) -> bool:
        return self._rounds.over

    def recommendation(self) -> Recommendation:
        return self._rounds.recommendation()

    def tell(self, arm: Arm, codes: Array) -> None:  # noqa: ARG002 - as for batches
        row = codes[0]
        rounds = self._rounds
        rounds.take(int(row[self._reward]), row[self._columns].astype(np.uint8) if rounds.reads else NO_ROW)


class _Listed:
    """An audit: looks first, which must say more than their reward, then the other arms."""

    def __init__(self, audit: Audit, reward: str, saved: Saved | None) -> None:
        looks = [(arm, count) for arm, count in audit.pulls if arm.is_look]
        others = [(arm, count) for arm, count in audit.pulls if not arm.is_look]
        parts = [(looks, audit.columns), (others, (reward,))]
        self._batches: list[Wanted] = [
            (tuple(arm for arm, _ in pulls), tuple(count for _, count in pulls), needed)
            for pulls, needed in parts
            if pulls
        ]
        self._coming = -1 if saved is None else saved["coming"] - 1
        self.finished = False

    def saved(self) -> dict[str, Any]:
        return {"coming": self._coming}

    def wanted(self) -> Wanted:
        self._coming += 1
        self.finished = self._coming >= len(self._batches)
        return ((), (), ()) if self.finished else self._batches[self._coming]

    def recommendation(self) -> None:
        return None

    def tell(self, arm: Arm, codes: Array) -> None:
        """Nobody decides on it here."""


def driver_of(
    policy: Policy | Audit,
    problem: Problem,
    budget: float,
    seed: int,
    seen: Tally | None,
    places: dict[str, int],
    saved: Saved | None,
) -> _Batches | _Turns | _Listed:
    """What runs a policy on what it has ``seen``, or goes on from where it was ``saved``."""
    if isinstance(policy, Audit):
        return _Listed(policy, problem.reward, saved)
    check_policy(policy, problem, budget)
    rng = np.random.default_rng(np.random.SeedSequence(seed))  # as a session has it
    rounds = policy.play_by_round(problem, budget, rng, seen or Tally.empty(problem), saved)
    if rounds is not None:
        return _Turns(rounds, problem, places)
    return _Batches(lambda: Session(policy, problem, budget=budget, seed=seed, seen=seen), problem, places, saved)
