"""For tests of sessions: a policy that asks what it is told to ask, and ways to tell a session the same rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.evidence import Batch, Detail, Tally
from whichdo.policies.base import Objective, Play, Policy, Recommendation
from whichdo.world.sampler import World

if TYPE_CHECKING:
    from whichdo.problem import Arm, Problem
    from whichdo.world.network import CausalNetwork


@dataclass(frozen=True)
class Scripted(Policy):
    """Asks for the given batches, whatever comes, and keeps the answers."""

    batches: tuple[Any, ...]
    final: Any = None
    answers: list[Tally] = field(default_factory=list, compare=False)
    objective = Objective.SIMPLE
    name = "scripted"

    def play(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Play:
        for batch in self.batches:
            self.answers.append((yield batch))
        if self.final is not None:
            return self.final  # type: ignore[no-any-return]
        return Recommendation(problem.arms[0], np.full(len(problem.arms), np.nan))


class RowSource:
    """The k-th pull of an arm is the same row, whoever asks and in whatever portions."""

    def __init__(self, network: CausalNetwork, problem: Problem, seed: int) -> None:
        self._world = World(network, problem, seed)
        self._problem = problem

    def tally(self, arm: Arm, count: int) -> Tally:
        return self._world.pull(Batch((arm,), (count,), Detail.ROWS))

    def rows(self, arm: Arm, count: int) -> list[dict[str, Any]]:
        return rows_of(self.tally(arm, count))


def rows_of(tally: Tally) -> list[dict[str, Any]]:
    """The rows of a tally as a user would write them."""
    domains = tally.problem.domains
    assert tally.rows is not None
    return [
        {name: domain[code] for (name, domain), code in zip(domains.items(), codes, strict=True)}
        for codes in tally.rows.codes.tolist()
    ]


def as_plain(tally: Tally) -> dict[str, Any]:
    """All of a tally as plain lists, with the kind of every table, to be compared."""
    tables = {
        str(arm): {
            scope: ("sparse", table.cells.tolist(), table.count.tolist())
            if table.cells is not None
            else ("laid out", table.count.shape, table.count.ravel().tolist(), str(table.count.dtype))
            for scope, table in tables.items()
        }
        for arm, tables in tally.tables.items()
    }
    rows = None if tally.rows is None else (tally.rows.arms.tolist(), tally.rows.codes.tolist())
    return {"counts": tally.counts.tolist(), "tables": tables, "rows": rows}
