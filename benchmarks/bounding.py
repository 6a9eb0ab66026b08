"""How wide bounds are, how often they hold, and what policies save by them: ``make bounds`` writes docs/bounds.md.

A policy without bounds is the same policy on a problem that counts nothing for them; both meet the same
worlds and the same logs, so that differences are of pairs.  What bounds could save at most is shown by the same
policies with exact bounds from the start, as if endless looks had been made for nothing: natural ones, those that
policies use, and sharp ones (`benchmarks.response_types`), which nothing can beat.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import whichdo as wd
from benchmarks.response_types import sharp_bounds
from benchmarks.wrapping import wrapped
from whichdo.estimate.bands import bound_arms
from whichdo.estimate.blending import learn
from whichdo.estimate.estimator import Rule
from whichdo.estimate.shrinkage import reward_scale
from whichdo.evidence import Tally, observe, utilities
from whichdo.formulas import Reading, counted_scopes
from whichdo.open_arms import lower_law_scopes, natural_scope, open_targets
from whichdo.policies import bounding
from whichdo.policies.base import Objective
from whichdo.policies.bounding import bounding_scopes, bounds_of
from whichdo.simulation import TIE, Lots, played, run_rounds
from whichdo.world.instances import bows, half_open, random_confounded
from whichdo.world.sampler import World

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.policies.base import Policy
    from whichdo.policies.bounding import Bounds
    from whichdo.policies.sequential import Sequential
    from whichdo.problem import Problem
    from whichdo.world.instances import Instance

DOCS = Path(__file__).parents[1] / "docs"
KEPT = Path(__file__).parents[1] / ".cache" / "bounds"
"""What was played is kept here, part by part, so that a run that was cut off goes on where it was."""
SEED = 1_118
ROWS = (200, 2_000, 1_000_000)
LOGS = (0, 300, 2_000)
NAMED_AFTER, EARNED_AFTER = 200, 1_000
COLUMNS = ("family", "policy", "doubt", "logs", "without", "with", "error", "less", "pulls", "saved", "natural",
           "screens", "sharp")  # fmt: skip
MORE = 3  # times as many runs of warm-halving, whose regrets are noisy
ENDLESS = 1e9  # looks
BEFORE = np.uint64(0x9E3779B97F4A7C15)  # tells the world of the logs from that of the pulls


def families(count: int) -> dict[str, list[Instance]]:
    """Networks in which about half of the arms are not identified, and two in which fewer or more are."""
    return {
        "half open, one value common": half_open(6, 4, count, SEED),
        "half open, pairs, one value common": half_open(4, 3, count, SEED, at_once=2),
        "half open, any probabilities": half_open(6, 4, count, SEED, rarity=None),
        "random, 3 confounders": random_confounded(6, 3, count, SEED),
        "nothing identified": bows(4, count, SEED),
    }


# --------------------------------------------------------------------------------------------------------------- widths


@dataclass(frozen=True)
class Widths:
    """Of all arms of some networks that are not identified."""

    arms: int
    natural: float
    factors: float
    covered: float
    excluded: float
    """The share of them that need not be tried: worse than the best arm that looking settles."""


def scopes(problem: Problem) -> tuple[tuple[str, ...], ...]:
    """What estimates and both kinds of bounds are counted by."""
    natural = [natural_scope(problem, targets) for targets in open_targets(problem)]
    columns = frozenset(problem.graph.nodes)
    return tuple(
        dict.fromkeys(
            [
                problem.graph.nodes,
                *counted_scopes(problem),
                *natural,
                *lower_law_scopes(problem, Reading.ROBUST, columns),
            ]
        )
    )


def logged(instance: Instance, key: Any, rows: int) -> Tally:
    """Looks at the world before the first pull."""
    before = World(instance.network, instance.problem, np.array([key[0] ^ BEFORE, key[1]], np.uint64))
    return before.pull(observe(rows, scopes=scopes(instance.problem)))


def widths(instances: Sequence[Instance], rows: int, repeats: int) -> Widths:
    """Bounds of all arms that are not identified, from so many looks."""
    found: list[tuple[float, float, bool, bool]] = []
    for number, instance in enumerate(instances):
        problem, lots = instance.problem, Lots(SEED + number)
        worth, least, reach = reward_scale(problem)
        for repeat in range(repeats):
            key, _ = lots.drawn(repeat)
            seen = logged(instance, key, rows)
            looked = learn(problem, seen, worth, Rule())
            natural = bound_arms(problem, seen, worth, Rule(), looked, 0.95, natural_alone=True)
            low, high = bound_arms(problem, seen, worth, Rule(), looked, 0.95)
            table = wd.rank(problem, seen)
            truth = (instance.means - least) / reach
            for place in np.flatnonzero(~np.isnan(low)):
                inside = bool(low[place] <= truth[place] <= high[place])
                out = table[problem.arms[place]].is_worse
                found.append((natural[1][place] - natural[0][place], high[place] - low[place], inside, out))
    plain, by_factors, inside, out = np.array(found, np.float64).mean(axis=0)
    return Widths(len(found), float(plain), float(by_factors), float(inside), float(out))


# ------------------------------------------------------------------------------------------------------------ policies


def one_run(policy: Policy, instance: Instance, problem: Problem, run: int, logs: int) -> tuple[float, float]:
    """The regret of a run, and its pulls of arms that are not the best; of one that names an arm the regret alone."""
    key, rng = Lots(SEED).drawn(run)
    seen = None
    if logs:
        told = logged(instance, key, logs)
        seen = Tally(problem, told.counts, told.tables)
    gaps = instance.means.max() - instance.means
    if policy.objective is Objective.SIMPLE:
        arm, _ = played(policy, World(instance.network, problem, key), NAMED_AFTER, rng, seen)
        return float(gaps[arm]), np.nan
    record, _, _ = run_rounds(policy, instance.network, problem, EARNED_AFTER, key, rng, np.array([EARNED_AFTER]), seen)
    return float(record[-1] @ gaps), float(record[-1][gaps > TIE].sum())


def without_bounds(problem: Problem) -> Problem:
    """The same problem, for which policies count nothing for bounds."""
    plain, most = problem.but(), bounding.MOST_CELLS
    try:
        bounding.MOST_CELLS = -1
        for reading in (None, Reading.ROBUST, Reading.GRAPH):
            bounding.bounding_scopes(plain, reading)  # found now, and kept with the problem
    finally:
        bounding.MOST_CELLS = most
    return plain


def all_runs(policy: Policy, instances: Sequence[Instance], runs: int, logs: int, *, bounded: bool) -> Any:
    """A row for each network: the means over its runs."""
    found = []
    for instance in instances:
        problem = instance.problem if bounded else without_bounds(instance.problem)
        found.append(np.mean([one_run(policy, instance, problem, run, logs) for run in range(runs)], axis=0))
    return np.array(found)


def exact_bounds(instance: Instance, reading: Reading | None, *, sharp: bool = False) -> Bounds:
    """Bounds as endless looks would give them: natural ones, by screens in some reading, or sharp ones."""
    problem = instance.problem
    scopes = bounding_scopes(problem, reading)
    counts = np.concatenate([np.zeros(0), *(ENDLESS * instance.network.law(scope).ravel() for scope in scopes)])
    bounds = bounds_of(problem, scopes, counts, utilities(problem), reading)
    for place, (low, high) in sharp_ends(instance).items() if sharp else ():
        bounds.lows[place], bounds.highs[place] = low, high
        bounds.seen[:, place] = low * ENDLESS, max(1.0 - high, 1e-9) * ENDLESS, ENDLESS
        bounds.natural[:, place] = low, high, *bounds.seen[:, place]
    return bounds._replace(spans=np.zeros_like(bounds.spans))  # looks add nothing to them


def sharp_ends(instance: Instance) -> dict[int, tuple[float, float]]:
    """Of the arms that looking does not settle, where they are worked out."""
    problem, found = instance.problem, {}
    law = instance.network.law(problem.graph.nodes)
    for targets in open_targets(problem):
        for place in problem.positions[targets]:
            settings = problem.arms[place].settings
            codes = {name: problem.domains[name].index(settings[name]) for name in problem.verdicts[targets].acting}
            ends = sharp_bounds(problem.graph, law, problem.reward, codes)
            if ends is not None:
                found[place] = ends
    return found


def knowing(policy: Sequential, instance: Instance, exact: Bounds) -> Sequential:
    """A policy that has exact bounds from the start."""
    form: Any = policy.suited(instance.problem)

    class Knowing(type(form)):  # type: ignore[misc]
        def suited(self, problem: Problem) -> Any:  # noqa: ARG002
            return self

        def begin(self, *given: Any) -> Any:
            state = super().begin(*given)
            where = "looks" if hasattr(state, "looks") else "looking"
            written = {name: getattr(exact, name).copy() for name in ("lows", "highs", "seen", "natural")}
            return state._replace(**{where: getattr(state, where)._replace(bounds=exact._replace(**written))})

    return Knowing(**{each.name: getattr(form, each.name) for each in fields(form)})


def at_most(policy: Any, instances: Sequence[Instance], runs: int) -> tuple[tuple[float, float], ...]:
    """Regret, and pulls of arms that are not the best, with exact bounds from the start: of the three kinds."""
    found = []
    for reading, sharp in ((None, False), (Reading(policy.reading), False), (Reading(policy.reading), True)):
        known = [
            one_run(told, each, each.problem, run, 0)
            for each in instances
            for told in [knowing(policy, each, exact_bounds(each, reading, sharp=sharp))]
            for run in range(runs)
        ]
        regret, pulls = np.mean(known, axis=0)
        found.append((float(regret), float(pulls)))
    return tuple(found)


@dataclass(frozen=True)
class Saving:
    """One policy on one family, without bounds and with them."""

    family: str
    policy: str
    doubt: float
    logs: int
    before: float
    after: float
    error: float
    """The standard error of the difference, over networks."""
    pulls: tuple[float, float]
    """Pulls of arms that are not the best, without bounds and with them; NaN where an arm is named."""
    pulls_error: float
    most: tuple[tuple[float, float], ...]
    """Regret, and pulls of arms that are not the best, with exact bounds from the start: natural, by screens, sharp."""

    @property
    def worse(self) -> bool:
        """Whether it has more regret, beyond noise."""
        return self.after - self.before > 3 * self.error


@dataclass(frozen=True)
class Part:
    """One policy on one family: what is played, kept and not played again."""

    family: str
    policy: str
    doubt: float
    logs: int
    networks: int
    runs: int

    @property
    def file(self) -> str:
        """Where the result is kept; another revision of the policy has another."""
        numbers = f"{self.doubt:g}-{self.logs}-{self.networks}-{self.runs}-{SEED}-{wd.policy(self.policy).revision}"
        return f"{self.family.replace(',', '').replace(' ', '-')}-{self.policy}-{numbers}.json"


def saving(part: Part) -> Saving:
    """Play with bounds and without."""
    policy: Any = wd.policy(part.policy, doubt=part.doubt, reading="robust" if part.doubt else "graph")
    instances = families(part.networks)[part.family]
    off = all_runs(policy, instances, part.runs, part.logs, bounded=False)
    on = all_runs(policy, instances, part.runs, part.logs, bounded=True)
    errors = (on - off).std(axis=0, ddof=1) / np.sqrt(len(instances))
    most = () if part.logs or policy.objective is Objective.SIMPLE else at_most(policy, instances, part.runs)
    (before, first), (after, then) = off.mean(axis=0).tolist(), on.mean(axis=0).tolist()
    return Saving(
        part.family, part.policy, part.doubt, part.logs, before, after, float(errors[0]), (first, then),
        float(errors[1]), most,
    )  # fmt: skip


def kept(part: Part, folder: Path) -> Saving:
    """The result of a part, played unless it was kept; written whole or not at all."""
    path = folder / part.file
    if not path.exists():
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(asdict(saving(part))), encoding="utf-8")
        unfinished.replace(path)
    return Saving(**json.loads(path.read_text(encoding="utf-8")))


# ---------------------------------------------------------------------------------------------------------------- page


def page(wide: dict[tuple[str, int], Widths], saved: list[Saving], count: int, runs: int) -> str:
    """The page."""
    text = [
        "# Bounds where nothing settles an arm",
        "",
        f"Written by `make bounds` with whichdo {wd.__version__}: {count} networks a family, seed {SEED}.",
        "",
        "Where hidden causes tie a lever to the reward, looking does not settle what setting it would do. It still",
        "says something: rows that happen to have X = x are rows of do(X=x), and only what the other rows would",
        "have had is open. So P(x, y) <= P(y | do(x)) <= P(x, y) + 1 - P(x): the *natural* bounds, which need nothing",
        "of the graph. Others lean on missing edges. *By factors* what the graph settles is taken as settled, and of",
        "an instrument the best value counts. *By a screen*: if some set separates a lever from the reward but for",
        "what the lever does, then the rows with another value have the mean that some value of this set goes with,",
        "and not just any ([decision 46](decisions/0046-bounds-by-screens.md)). `rank` reports all three as one,",
        "`a.bounds`, with room for the noise of the rows: `not settled, between 0.31 and 0.58`. An arm whose bounds",
        "lie below the interval of the best arm need not be tried. Policies use the natural bounds and those by a",
        "screen.",
        "",
        "## How wide they are",
        "",
        "Mean width of 95% bounds over all arms that are not identified, on a reward from 0 to 1; how often the true",
        "mean lies inside; and how many of these arms need not be tried.",
        "",
        "| family | rows | arms | natural | all | inside | need not be tried |",
        "|---|---|---|---|---|---|---|",
    ]
    for (family, rows), each in wide.items():
        text.append(
            f"| {family} | {rows:,} | {each.arms:,} | {each.natural:.3f} | {each.factors:.3f} | {each.covered:.1%} "
            f"| {each.excluded:.1%} |"
        )
    worse = sum(each.worse for each in saved)
    text += [
        "",
        "## What policies save",
        "",
        f"{runs} runs on each network ({MORE * runs} of warm-halving), with bounds and without, in the same worlds.",
        f"For causal-ts and causal-kl-ucb the regret after {EARNED_AFTER:,} pulls, for warm-halving that of the arm",
        f"named after {NAMED_AFTER}, and the standard error of the difference over networks. *Less* is the",
        "share of it that bounds save. *Pulls* counts the pulls that went to an arm that is not the best, looks",
        "included, without bounds and with them, and *saved* is the share of these that bounds save, with its standard",
        "error. This is the plainest count: every pull that a policy makes in vain, whatever is known of its arm. A",
        "page before this one had the pulls that a policy needs less for the same regret, by how regret falls with",
        "pulls; that gives larger shares, and was chosen after results had been seen. Warm halving spends its budget",
        "in any case, so it has no such count. Doubt 0 goes with the reading `graph`, the other doubts, which are",
        "the defaults, with `robust`.",
        "",
        "The last three columns are what the same policy saves at most of its regret, and of these pulls, without",
        "logs: it knows the bounds exactly from the start, as if endless looks had been made for nothing. *Natural*",
        "are the natural bounds, *screens* those that policies use, and *sharp* those by linear programming over",
        "response types (`benchmarks/response_types.py`), which nothing can beat; they are worked out for targets in",
        "one c-component, and are natural for others. Where arms set two nodes, causal-ts shares tables among arms,",
        "which tell it all that a screen does: even sharp bounds save it nothing or little there.",
        "",
        f"Rows in which bounds are worse by more than three standard errors: {worse} of {len(saved)}.",
        "",
        f"| {' | '.join(COLUMNS)} |",
        "|---" * len(COLUMNS) + "|",
    ]
    for row in saved:
        digits, (first, then) = 4 if row.policy == "warm-halving" else 2, row.pulls
        named = row.policy == "warm-halving"
        pulls = "" if named else f"{first:.0f} to {then:.0f}"
        share = "" if named else f"{1 - then / first:.0%} ({row.pulls_error / first:.0%})"
        most = [f"{1 - regret / row.before:.0%}, {1 - vain / first:.0%}" for regret, vain in row.most] or [""] * 3
        text.append(
            f"| {row.family} | {row.policy} | {row.doubt:g} | {row.logs:,} | {row.before:.{digits}f} "
            f"| {row.after:.{digits}f} | {row.error:.{digits}f} | {1 - row.after / row.before:.0%} | {pulls} | {share} "
            f"| {' | '.join(most)} |"
        )
    return "\n".join(text) + "\n"


def main() -> None:
    """Measure and write."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--networks", type=int, default=20)
    given.add_argument("--runs", type=int, default=6)
    given.add_argument("--workers", type=int, default=2)
    given.add_argument("--kept", type=Path, default=KEPT, help="where finished parts are kept, and read from again")
    given.add_argument("--out", type=Path, default=DOCS / "bounds.md")
    asked = given.parse_args()
    asked.kept.mkdir(parents=True, exist_ok=True)
    chosen = families(asked.networks)
    parts = [
        Part(family, name, doubt, logs, asked.networks, asked.runs * (MORE if name == "warm-halving" else 1))
        for name, usual in (("causal-ts", 0.5), ("causal-kl-ucb", 0.5), ("warm-halving", 0.3))
        for family in chosen
        for doubt in (0.0, usual)
        for logs in LOGS
    ]
    with ProcessPoolExecutor(asked.workers, multiprocessing.get_context("spawn")) as pool:
        cells = [pool.submit(kept, part, asked.kept) for part in parts]
        wide = {
            (family, rows): pool.submit(widths, instances, rows, 1 if rows > 10_000 else 4)
            for family, instances in chosen.items()
            for rows in ROWS
        }
        for number, cell in enumerate(cells, 1):
            print(f"{number} of {len(cells)}: {cell.result()}", flush=True)
        saved = sorted((cell.result() for cell in cells), key=lambda row: [*chosen].index(row.family))
        found = {key: each.result() for key, each in wide.items()}
    asked.out.write_text(wrapped(page(found, saved, asked.networks, asked.runs)), encoding="utf-8")


if __name__ == "__main__":
    main()
