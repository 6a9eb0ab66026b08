"""Why an arm's estimate is what it is, in plain words, and where it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whichdo.estimate.arm_rank import Source
from whichdo.estimate.limits import mean_limits
from whichdo.estimate.overlap import THIN
from whichdo.graph.identify import Route
from whichdo.remedies import Message, Option
from whichdo.text import counted, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.arrays import FloatArray
    from whichdo.blends import Blend
    from whichdo.estimate.arm_rank import ArmRank
    from whichdo.estimate.estimator import Looked
    from whichdo.estimate.pooling import Pooled
    from whichdo.formulas import Formula
    from whichdo.graph.identify import Verdict
    from whichdo.identification.estimand import Names
    from whichdo.problem import Problem


MANY_COLUMNS = 3
"""From so many columns on, cells can be thin because there are many."""


def method(problem: Problem, looked: Looked, position: int, pulls: int) -> str:
    """How an arm is estimated, in a few words."""
    arm = problem.arms[position]
    blend, parts = looked.blends.get(arm.targets), []
    if arm.is_look:
        parts += ["look"] if looked.looks else []
    elif arm.targets in looked.taken:
        parts += [str(looked.taken[arm.targets].route)] if looked.looks else []
    elif blend is not None and () in blend.sources:
        verdict = problem.verdicts[arm.targets]
        parts.append(str(verdict.route) if verdict.identified else "looks")
    experiments = [] if arm.is_look else _experiments(looked, position)
    if experiments:
        parts.append(f"experiments on {listed(experiments)}")
    if pulls:
        parts.append("direct")
    return " + ".join(parts) or "none"


def _experiments(looked: Looked, position: int) -> list[str]:
    """The target sets, in words, whose rows are part of an arm's estimate."""
    origins = looked.origins_of(position)
    return [" with ".join(each.source) for each in origins if each.source]


def weakest(looked: Looked, problem: Problem, position: int) -> tuple[str, int] | None:
    """What the arm's estimate knows least about: a setting that it conditions on, and how often that was seen."""
    arm = problem.arms[position]
    formula = looked.taken.get(arm.targets)
    if formula is None or formula.route is Route.SAME or not looked.looks:
        return None
    entry = int(looked.sources[position])
    columns, codes = looked.weakest[formula.targets]
    settings = zip(columns, codes[entry - looked.start_of(entry)].tolist(), strict=True)
    ordered = sorted(settings, key=lambda setting: problem.graph.index(setting[0]))
    text = ", ".join(f"{name}={problem.domains[name][code]}" for name, code in ordered)
    return text, int(looked.settled.weakest_sizes[entry])


def reason(
    problem: Problem, looked: Looked, position: int, cell: tuple[str, int] | None, pulls: int, shared: int = 0
) -> str:
    """One sentence on how the arm is known, or why it is not; ``shared`` of the pulls are of arms that equal it."""
    arm = problem.arms[position]
    words = _looking(problem, looked, position, cell)
    if pulls and not arm.is_look:
        words += f"; {counted(pulls, 'direct pull')}"
        if shared:
            words += f", {shared:,} of them of arms that are the same"
    return words


def _looking(problem: Problem, looked: Looked, position: int, cell: tuple[str, int] | None) -> str:
    arm = problem.arms[position]
    blend = looked.blends.get(arm.targets)
    if blend is None and (arm.is_look or not looked.looks):
        return "the mean of all looks" if looked.looks else "not looked at"
    verdict = problem.verdicts[arm.targets]
    if verdict.route is Route.SAME:
        act = "do" if arm.is_joint else "does"
        return f"{listed(arm.targets)} {act} not act on {problem.reward}: the same as do()"
    formula = looked.taken.get(arm.targets)
    same = "" if verdict.acting == arm.targets else f"the same as setting {listed(verdict.acting)} alone: "
    if blend is not None:
        settles = "" if verdict.identified else "looking does not settle it, experiments do: "
        return f"{same}{settles}{_laws(blend)}"
    if formula is None:
        return looked.why_not.get(arm.targets) or _never(verdict)
    experiments = _experiments(looked, position)
    lent = f"; rows of experiments on {listed(experiments)} count as well" if experiments else ""
    return f"{same}{_how(problem, formula)}{_seen(cell)}{lent}"


def _laws(blend: Blend) -> str:
    """Which law comes from which sources."""
    by_sources: dict[tuple[Names, ...], list[str]] = {}
    for factor in blend.factors:
        sources = tuple(source for source, _ in factor.sources)
        by_sources.setdefault(sources, []).extend(factor.nodes)
    parts = []
    for sources, nodes in by_sources.items():
        tried = listed(" with ".join(each) for each in sources if each)
        words = ["looks"] if () in sources else []
        words += [f"experiments on {tried}"] if tried else []
        parts.append(f"{listed(nodes)} from {listed(words)}")
    law = "law" if sum(map(len, by_sources.values())) == 1 else "laws"
    return f"by the {law} of {'; '.join(parts)}"


def _never(verdict: Verdict) -> str:
    if verdict.identified:
        return "the paper's algorithms do not cover it: try it"
    return "cannot be learned by looking: " + verdict.reason.split(": ", 1)[-1]


def _how(problem: Problem, formula: Formula) -> str:
    if not formula.shared and formula.route is not Route.GENERAL:
        return f"by the laws of {listed(_spoken_of(formula))}, each given what acts on it"
    if formula.route is Route.ADJUSTMENT:
        return f"adjusting for {listed(formula.given)}" if formula.given else "nothing to adjust for"
    if formula.route is Route.GENERAL:
        return f"by complete identification, given {listed(formula.given)}"
    node = listed(formula.targets)
    within = problem.graph.subgraph(problem.graph.ancestors([problem.reward]))
    tied = {name for target in formula.targets for name in within.c_component(target)}
    others = [name for name in formula.given if name not in tied]
    if problem.reward in tied:
        return f"{node} <-> {problem.reward} is blocked by {listed(others)}"
    return f"counting {node} together with {listed(formula.given)}, to which hidden causes tie it"


def _spoken_of(formula: Formula) -> list[str]:
    """The nodes whose laws a formula reads."""
    return list(dict.fromkeys(name for each in formula.estimand.conditionals for name in each.nodes))


def _seen(cell: tuple[str, int] | None) -> str:
    if cell is None or not cell[0]:
        return ""
    text, count = cell
    rows = "no row" if count == 0 else "1 row" if count == 1 else f"{count:,} rows"
    return f": {rows} had {text}"


def thin_words(problem: Problem, rows: Sequence[ArmRank], *, modelled: bool) -> tuple[str, ...]:
    """A sentence on arms of which many looks have no counterpart, and what to do about it.

    Only where cells are thin because there are many: of several columns, or of numbers in bins.  A value of one column
    at which an arm never occurs is not a matter of models.
    """
    thin = [
        row
        for row in sorted(rows, key=lambda row: -row.unseen)
        if row.overlap is not None
        and row.unseen > THIN
        and (len(row.given) >= MANY_COLUMNS or not problem.bins.keys().isdisjoint(row.given))
    ]
    if not thin:
        return ()
    shares = listed((f"{row.arm} {row.unseen:.0%}" for row in thin), most=6)
    words: str = f"Thin cells: the weight of looks without a counterpart in theirs: {shares}."
    if not modelled:
        words = Message(
            words,
            " Where cells are this thin, ",
            Option("model", "logistic"),
            " estimates arms by models of all columns instead (doubly robust).",
        )
    return (words,)


# -------------------------------------------------------------------------------------------------------------- sources


def sources_of_arms(
    pooled: Pooled, limits: tuple[FloatArray, FloatArray], z: float, scale: tuple[float, float]
) -> list[tuple[Source, ...]]:
    """The sources of each arm's estimate.

    ``pooled``: all arms, on a scale from 0 to 1.
    ``limits``: of all arms, as ``pooled`` has them.
    ``z``: how many standard errors away the limits of a normal estimate would be.
    ``scale``: what leads back to the reward's own scale: its least value and its range.
    """
    looked, (least, reach) = pooled.looked, scale

    def source(name: str, weight: float, *numbers: float) -> Source:
        estimate, low, high = (least + reach * float(number) for number in numbers)
        return Source(name, float(weight), estimate, low, high)

    entries: dict[int, list[Source]] = {}
    for start, origins in looked.origins.items():
        for each in origins:
            name = f"do({', '.join(each.source)})" if each.source else "looks"
            unknown = np.full(each.weights.shape, np.nan)
            alone = each.settled
            numbers = (unknown,) * 3 if alone is None else (alone.means, *alone.limits(z))
            for setting, row in enumerate(zip(each.weights, *numbers, strict=True)):
                entries.setdefault(start + setting, []).append(source(name, *row))
    pulled = np.flatnonzero(pooled.pulls > 0)
    own: FloatArray = np.full((2, len(pooled.pulls)), np.nan)
    by_looks = own.copy()
    if len(pulled):
        noise, sizes = pooled.direct_variances[pulled], pooled.direct_sizes[pulled]
        own[:, pulled] = mean_limits(pooled.direct[pulled], noise, 1 / sizes, z)
        by_looks[:] = [looked.by_arm(each) for each in looked.settled.limits(z)]
    found = []
    for position, entry in enumerate(looked.sources.tolist()):
        part, direct = float(pooled.part[position]), pooled.pulls[position] > 0
        sources: list[Source] = []
        if entry >= 0 and looked.settled.most[entry] > 0:
            low, high = by_looks[:, position] if direct else (limits[0][position], limits[1][position])
            looks = [source("looks", 1.0, looked.settled.means[entry], low, high)]
            sources = [each._replace(weight=part * each.weight) for each in entries.get(entry, looks)]
        if direct:
            weight = 1 - part if sources else 1.0
            sources.append(source("direct", weight, pooled.direct[position], *own[:, position]))
        found.append(tuple(sources))
    return found
