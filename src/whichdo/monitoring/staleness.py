"""Whether the logs are out of date: fresh looks, made in the campaign, against the logged ones.

Logs of another season describe another world.  No graph helps there: everything that looking says of any arm is wrong
together, do() included.  Two questions are asked.

*At all times* (`outdated`): do fresh looks differ from the logs at all?  The mean reward, the shares of each node's
values and the cells of the tables that estimates rest on are compared, as direct pulls are compared with looking
(`whichdo.monitoring.wealth`): most of the stake on the reward, a fifth each on nodes and cells.  So logs that
are right are set aside by mistake in one campaign of a hundred at most; see `whichdo.monitoring.alarm`.

*Once pulls contradict looking* (`to_blame`): is it the graph, or the logs?  Something is wrong for sure then, and the
only question is what.  So a plain test of homogeneity decides, at one time and at 1%.  The same test, less strict, says
whether it is worth while to look on (`is_suspicious`).

The test of homogeneity takes each table that estimates rest on: looks made now with the logs, and for a recommendation
also pulls of different arms with each other.  Rare cells, in which less than five are expected on a side, are taken
together.  The level, 0.001, is divided by the number of tables; the test is made again at every recommendation, so over
a whole campaign a false warning is likelier than that.  Laws that several experiments tell by the graph are compared
likewise (`whichdo.estimate.overdetermined`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log
from typing import TYPE_CHECKING

import numpy as np

from whichdo.estimate.arm_rank import decimals
from whichdo.estimate.overdetermined import compare_factors
from whichdo.estimate.shrinkage import reward_scale, unit_scale
from whichdo.evidence import Tally
from whichdo.formulas import counted_scopes
from whichdo.monitoring.wealth import log_evidence, mean_of_levels
from whichdo.tails import chi_square_tail
from whichdo.text import counted, listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whichdo.arrays import FloatArray, IntArray
    from whichdo.monitoring.conflict import Conflict
    from whichdo.problem import Problem
    from whichdo.tables import Scope, Table

    Tables = Mapping[Scope, Table]


FOR_LOGS = 0.2
"""The share of the chance of a mistake that is staked on logs being out of date."""
STAKES = (0.6, 0.2, 0.2)
"""How that is divided: the reward, single nodes, cells of the tables that estimates rest on."""
MOST_CELLS = 256
BLAME = 0.01
"""The level at which fresh looks differ from the logs, once pulls have contradicted looking."""
SUSPICION = 0.1
"""The level at which more fresh looks are worth their cost."""
FEWEST = 20
"""With fewer fresh looks than these the logs are not blamed: nothing much could be seen."""


@dataclass(frozen=True)
class Difference:
    """What differs between logs and fresh looks."""

    what: str
    then: str
    now: str
    logged: int
    fresh: int
    chance: float
    """In how many campaigns with up-to-date logs so much would come up, at most."""

    @property
    def text(self) -> str:
        """In a clause."""
        return (
            f"{self.what} is {self.now} in {counted(self.fresh, 'fresh look')}, where "
            f"{counted(self.logged, 'logged look')} have {self.then}"
        )


def outdated(problem: Problem, logs: Tables, fresh: Tables, level: float = 0.05) -> Difference | None:
    """The clearest difference between the logs and fresh looks, once all together are enough to set the logs aside."""
    groups = [
        _reward(problem, logs, fresh),
        _cells(problem, logs, fresh, alone=True),
        _cells(problem, logs, fresh, alone=False),
    ]
    evidence = [
        group.evidence + log(FOR_LOGS * stake / max(len(group.counts), 1))
        for group, stake in zip(groups, STAKES, strict=True)
    ]
    together = float(np.logaddexp.reduce(np.concatenate([[-np.inf], *evidence])))
    if together < -log(level):
        return None
    clearest = max(range(len(groups)), key=lambda place: evidence[place].max(initial=-np.inf))
    return groups[clearest].difference(int(evidence[clearest].argmax()), exp(-together))


@dataclass(frozen=True)
class _Group:
    """Tests of one kind: what each compares, how often each level came in the logs and in fresh looks, their worth."""

    problem: Problem
    names: Sequence[str]
    logged: FloatArray
    counts: FloatArray
    worth: FloatArray
    is_mean: bool = False

    @property
    def evidence(self) -> FloatArray:
        """The logarithm of the wealth of each test; minus infinity below 1."""
        if not len(self.counts):
            return np.zeros(0)
        return log_evidence(mean_of_levels(self.logged, self.worth), self.counts, self.worth)

    def difference(self, row: int, chance: float) -> Difference:
        """One of the tests in words."""
        sizes = [int(side[row].sum()) for side in (self.logged, self.counts)]
        shares = [float(side[row] @ self.worth / side[row].sum()) for side in (self.logged, self.counts)]
        if self.is_mean:
            worth = np.array(list(self.problem.utility.values()))
            _, least, reach = unit_scale(worth)
            digits = decimals(self.problem.unit / (sizes[1] + 1) ** 0.5)
            then, now = (f"{self.problem.own_scale(least + reach * share):.{digits}f}" for share in shares)
        else:
            then, now = (f"{share:.1%}" for share in shares)
        return Difference(self.names[row], then, now, sizes[0], sizes[1], chance)


def _reward(problem: Problem, logs: Tables, fresh: Tables) -> _Group:
    worth, _, _ = unit_scale(np.array(list(problem.utility.values())))
    pair = _both(logs, fresh, (problem.reward,))
    sides = (np.zeros((0, len(worth))),) * 2 if pair is None else tuple(side[None, :] for side in pair)
    return _Group(problem, [f"mean {problem.reward}"], sides[0], sides[1], worth, is_mean=True)


def _cells(problem: Problem, logs: Tables, fresh: Tables, *, alone: bool) -> _Group:
    """The shares of single nodes' values, or of the cells of the tables that estimates rest on."""
    nodes = [(name,) for name in problem.graph.nodes if name != problem.reward]
    scopes = nodes if alone else [scope for scope in counted_scopes(problem) if len(scope) > 1]
    names, logged, now = [], [], []
    for scope in scopes:
        pair = _both(logs, fresh, scope) if problem.cells(scope) <= MOST_CELLS else None
        if pair is None:
            continue
        levels = [problem.domains[name] for name in scope]
        for place in range(len(pair[0])) if len(pair[0]) > 2 else (1,):
            codes = np.unravel_index(place, [len(each) for each in levels])
            setting = zip(scope, levels, codes, strict=True)
            names.append(", ".join(f"{name}={values[code]}" for name, values, code in setting))
            logged.append([pair[0].sum() - pair[0][place], pair[0][place]])
            now.append([pair[1].sum() - pair[1][place], pair[1][place]])
    share = np.array([0.0, 1.0])
    return _Group(problem, names, np.reshape(logged, (-1, 2)), np.reshape(now, (-1, 2)), share)


def _both(logs: Tables, fresh: Tables, scope: Scope) -> tuple[FloatArray, FloatArray] | None:
    """The counts of a table in the logs and in fresh looks; None where one side has none."""
    if scope not in logs or scope not in fresh:
        return None
    then, now = (side[scope].dense().count.ravel().astype(np.float64) for side in (logs, fresh))
    return (then, now) if then.sum() and now.sum() else None


def to_blame(problem: Problem, logs: Tables, fresh: Tables) -> str | None:
    """Why the logs and not the graph are to blame for a contradiction, as a clause; None where it is the graph."""
    scope, chance, number = _homogeneity(problem, logs, fresh, FEWEST)
    if chance * number >= BLAME:
        return None
    times = 1 / max(chance, 1e-12)
    return f"fresh looks differ from the logs in {listed(scope, most=12)} (by chance once in {times:,.0f} times)"


def is_suspicious(problem: Problem, logs: Tables, fresh: Tables) -> bool:
    """Whether fresh looks differ from the logs by enough to make more of them."""
    _, chance, number = _homogeneity(problem, logs, fresh, 1)
    return chance * number < SUSPICION


def _homogeneity(problem: Problem, logs: Tables, fresh: Tables, least: int) -> tuple[Scope, float, int]:
    """The table with at least so many fresh looks that differs most, the chance of that, and of how many it is."""
    chances: dict[Scope, float] = {}
    for scope in dict.fromkeys([(problem.reward,), *counted_scopes(problem)]):
        pair = _both(logs, fresh, scope) if problem.cells(scope) <= MOST_CELLS else None
        if pair is not None and pair[1].sum() >= least:
            chances[scope] = homogeneous(*pair)
    if not chances:
        return (), 1.0, 1
    scope = min(chances, key=chances.__getitem__)
    return scope, chances[scope], len(chances)


def set_aside_text(names: Sequence[str], found: Difference | str, conflict: Conflict | None = None) -> str:
    """What is reported when logs are set aside, after fresh looks or a contradiction that they are to blame for."""
    if isinstance(found, Difference):
        rare = f"With up-to-date logs that happens in at most 1 of {round(1 / max(found.chance, 1e-9)):,} campaigns"
        why = f"{found.text[0].upper()}{found.text[1:]}. {rare}"
    else:
        clash = "" if conflict is None else f"direct pulls of {conflict.arm} contradict what looking says, and "
        why = f"{clash}{found}"
        why = f"{why[0].upper()}{why[1:]}, so the logs and not the graph are to blame"
    return (
        f"The logs are out of date. {why}. Set aside for all arms: {listed(names, most=12)}; only what was seen in "
        f"this campaign counts."
    )


# ------------------------------------------------------------------------------------------------------- one law or two

LEVEL = 0.001
FEW = 5.0
MOST_SETS = 8
"""Target sets, those with most pulls, whose experiments are compared with each other."""


def disagreements(before: Mapping[Scope, Table], now: Mapping[Scope, Table]) -> tuple[str, ...]:
    """A warning for every table in which looks made now differ from the logs."""
    tables = [scope for scope, table in before.items() if table.cells is None]
    found = []
    for scope in tables:
        chance = homogeneous(before[scope].count.ravel(), now[scope].count.ravel())
        if chance < LEVEL / len(tables):
            found.append((len(scope), scope, chance))
    if not found:
        return ()
    _, scope, chance = min(found)
    more = f" ({len(found) - 1} more tables differ too)" if len(found) > 1 else ""
    warning = (
        f"Looks made now do not agree with the logs in {listed(scope, most=12)}{more}: by chance that happens once in "
        f"{1 / max(chance, 1e-12):,.0f} times. Were the logs taken elsewhere or at another time? Estimates pool both."
    )
    return (warning,)


def untrue_laws(seen: Tally) -> tuple[str, ...]:
    """A warning where the graph says that rows of several arms have a law in common, and they do not."""
    problem = seen.problem
    worth, _, _ = reward_scale(problem)
    pulls = {targets: int(seen.pulls[list(places)].sum()) for targets, places in problem.positions.items()}
    most = {(), *sorted(pulls, key=lambda targets: -pulls[targets])[:MOST_SETS]}
    tables = {arm: held for arm, held in seen.tables.items() if arm.targets in most}
    tests = compare_factors(Tally(problem, seen.counts, tables), worth)
    found = sorted((each for each in tests if each.p < LEVEL / len(tests)), key=lambda each: each.p)
    if not found:
        return ()
    more = f" (so do {len(found) - 1} more)" if len(found) > 1 else ""
    warning = (
        f"By the graph {found[0].words} is one and the same, but they differ{more}: by chance that happens once in "
        f"{1 / max(found[0].p, 1e-12):,.0f} times. Is an edge missing? Estimates pool these rows."
    )
    return (warning,)


def homogeneous(first: IntArray | FloatArray, second: IntArray | FloatArray) -> float:
    """The chance that two tables of counts with one law differ as much as these, by Pearson's chi-square."""
    sides = np.stack([first, second]).astype(np.float64)
    totals = sides.sum(axis=1, keepdims=True)
    if not totals.all():
        return 1.0
    expected = totals * sides.sum(axis=0) / totals.sum()
    rare = (expected < FEW).any(axis=0)
    if rare.any():
        sides = np.column_stack([sides[:, ~rare], sides[:, rare].sum(axis=1)])
        expected = np.column_stack([expected[:, ~rare], expected[:, rare].sum(axis=1)])
        if (expected[:, -1] < FEW).any():
            sides, expected = sides[:, :-1], expected[:, :-1]
    free = sides.shape[1] - 1
    if free < 1:
        return 1.0
    return chi_square_tail(float(((sides - expected) ** 2 / expected).sum()), free)
