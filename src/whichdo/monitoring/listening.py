"""What the conflict alarm listens to: looks and direct pulls, counted as they come.

A campaign is listened to after every tell, and may have a hundred thousand of them, so counts are kept and only what is
new is added.  After an amended row all of it is counted again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from whichdo.evidence import Tally
from whichdo.monitoring.alarm import conflicts
from whichdo.monitoring.diagnosis import watched_scopes
from whichdo.monitoring.staleness import is_suspicious, outdated, to_blame
from whichdo.problem import LOOK
from whichdo.tables import Radix, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whichdo.arrays import Array, IntArray
    from whichdo.monitoring.conflict import Conflict, Suspect
    from whichdo.monitoring.staleness import Difference
    from whichdo.problem import Arm, Problem
    from whichdo.tables import Scope


Codes = tuple[int, ...]
Counts = dict["Scope", Table]


def worth_listening(times: int) -> bool:
    """Whether to listen now that something has come so often: every fifth time, later at every fortieth part.

    The alarm's promise holds at all times, so at these; what is given up is a few pulls before it goes off.
    """
    return times % max(5, times // 40) == 0


class Counted(Protocol):
    """A log, as far as it is listened to: counts of some columns together."""

    def table(self, scope: Scope) -> Table | None:
        """The counts of some columns; None where it cannot say."""


class Ear:
    """Counts for one problem; ``nodes`` says which node each place of a row's codes is about.

    ``logged``: how many of the looks in logs had come before the first direct pull.
    """

    def __init__(self, problem: Problem, nodes: Sequence[str], logs: Iterable[Counted], logged: int) -> None:
        self.problem = problem
        self._places = {name: place for place, name in enumerate(nodes)}
        self._sizes = {name: len(values) for name, values in problem.domains.items()}
        self._scopes = [scope for scope in watched_scopes(problem) if self._fits(scope)]
        self._base, self._base_rewards = self._counted(list(logs))
        self._logged = logged
        self._new: dict[Arm, list[Codes]] = {}
        self._tables: dict[Arm, Counts] = {}
        self._rewards: dict[Arm, IntArray] = {}

    def _fits(self, scope: Scope) -> bool:
        return Radix.of(scope, self._sizes).cells <= 1 << 16

    def hear(self, arm: Arm, codes: Codes) -> None:
        """A pull that counts."""
        self._new.setdefault(arm, []).append(codes)

    def hear_all(self, arm: Arm, codes: Array) -> None:
        """Many pulls of an arm that count; a row of codes each."""
        self._add(arm)
        self._count(arm, codes)

    def conflicts(self, arms: Iterable[Arm], known: Sequence[Suspect]) -> tuple[Conflict, ...]:
        """What the alarm says of some arms now."""
        tested = list(arms)
        looks = self._tally([LOOK], logs=True)
        return conflicts(self.problem, looks, self._tally(tested), logged=self._logged, arms=tested, known=known)

    def outdated(self) -> Difference | None:
        """How fresh looks differ from the logs, once that is enough to set the logs aside."""
        return outdated(self.problem, self._base, self._fresh())

    def to_blame(self) -> str | None:
        """Why the logs are to blame for a contradiction; None where it is the graph."""
        return to_blame(self.problem, self._base, self._fresh())

    def is_suspicious(self) -> bool:
        """Whether more fresh looks are worth their cost."""
        return is_suspicious(self.problem, self._base, self._fresh())

    def _fresh(self) -> Counts:
        self._add(LOOK)
        return self._tables.get(LOOK, {})

    def direct(self, problem: Problem) -> Tally:
        """How often each level of the reward came in pulls of each arm of a problem; of do() in fresh looks alone."""
        for arm in [*self._new]:
            self._add(arm)
        return Tally(problem, self._counts(self._rewards, problem))

    def _tally(self, arms: Sequence[Arm], *, logs: bool = False) -> Tally:
        for arm in arms:
            self._add(arm)
        rewards = {arm: self._rewards[arm] for arm in arms if arm in self._rewards}
        tables = {arm: dict(self._tables.get(arm, {})) for arm in arms}
        if logs:
            rewards, tables = self._with_logs(rewards, tables)
        return Tally(self.problem, self._counts(rewards, self.problem), tables)

    def _counted(self, logs: list[Counted]) -> tuple[Counts, Any]:
        """The tables of all logs together, each of those logs that have its columns, and the rewards."""
        found: Counts = {}
        for scope in self._scopes:
            parts = [part for log in logs if (part := log.table(scope)) is not None]
            if parts:
                found[scope] = sum(parts[1:], start=parts[0])
        own = found.get((self.problem.reward,))
        return found, np.zeros(self._sizes[self.problem.reward], np.int64) if own is None else own.count

    def _with_logs(
        self, rewards: dict[Arm, Any], tables: dict[Arm, Counts]
    ) -> tuple[dict[Arm, Any], dict[Arm, Counts]]:
        """Live looks and the logs."""
        live = tables[LOOK]
        if not self._base:
            return rewards, tables
        joined = live | {scope: table + live[scope] if scope in live else table for scope, table in self._base.items()}
        return rewards | {LOOK: rewards.get(LOOK, 0) + self._base_rewards}, {LOOK: joined}

    def _add(self, arm: Arm) -> None:
        """Count what is new of an arm; a row that does not say all columns of a scope is left out of its table."""
        rows = self._new.get(arm)
        if not rows:
            return
        self._count(arm, np.array(rows, np.int16))
        del self._new[arm]

    def _count(self, arm: Arm, codes: Array) -> None:
        reward = codes[:, self._places[self.problem.reward]]
        levels = np.bincount(reward, minlength=self._sizes[self.problem.reward]).astype(np.int64)
        self._rewards[arm] = self._rewards.get(arm, 0) + levels
        tables = self._tables.setdefault(arm, {})
        for scope in self._scopes:
            own = codes[:, [self._places[name] for name in scope]]
            whole = own[(own >= 0).all(axis=1)].astype(np.uint8)
            sizes = [self._sizes[name] for name in scope]
            table = Table.from_rows(scope, sizes, list(whole.T), np.ones(len(whole), np.int64))
            tables[scope] = table + tables[scope] if scope in tables else table

    def _counts(self, rewards: dict[Arm, Any], problem: Problem) -> IntArray:
        counts = np.zeros((len(problem.arms), self._sizes[problem.reward]), np.int64)
        for arm, levels in rewards.items():
            if arm in problem.costs:
                counts[problem.index(arm)] = levels
        return counts
