"""Several nodes at once: ours against every rival, those over possibly optimal arms included: ``make joint``.

Writes docs/joint.md; ``python -m benchmarks.joint --families joint-confounded --runs 40`` prints some rows.  As
`benchmarks.families` and `benchmarks.earning`: paired runs, and a bound that is the best rival's mean plus the larger
of three standard errors of the paired difference and a tenth of that mean.  A rival whose name ends in ``@pruned``
plays the arms that can be best alone; ours plays all arms of the problem, and has no such help but where the family is
pruned for all.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import whichdo as wd
from benchmarks.wrapping import wrapped
from whichdo.errors import TooLargeError, UnsuitableError
from whichdo.evidence import Tally, observe
from whichdo.formulas import Reading, counted_scopes
from whichdo.policies.base import Objective
from whichdo.simulation import TIE, Lots, run_rounds, simulate
from whichdo.world.instances import joint_confounded, structural
from whichdo.world.instances.instance import child
from whichdo.world.sampler import World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from whichdo.policies.base import Policy
    from whichdo.world.instances import Instance

Regrets = np.ndarray[Any, np.dtype[np.float64]]
NODES, CONFOUNDERS = (4, 5, 6, 7), 3
FAMILIES: dict[str, Callable[[int, int], list[Instance]]] = {
    "joint-confounded": lambda count, seed: _mixed(count, seed, pruned=False),
    "pruned-joint-confounded": lambda count, seed: _mixed(count, seed, pruned=True),
    "structural": lambda count, seed: [structural(task) for task in (1, 2, 3)],  # noqa: ARG005
}
EARNING = ("causal-ts", ("ts", "kl-ucb", "ucb", "crm"), (1_000, 10_000))
NAMING = ("warm-halving", ("ue", "sr", "sh", "srm"), (200, 800, 3_200))
LOGS = (0, 500)


def _mixed(count: int, seed: int, *, pruned: bool) -> list[Instance]:
    """Random confounded graphs of four to seven nodes in turn."""
    return [
        joint_confounded(NODES[number % len(NODES)], CONFOUNDERS, 1, child(seed, number), pruned=pruned)[0]
        for number in range(count)
    ]


@dataclass(frozen=True)
class Cell:
    """The regrets of all policies that apply, run by run; ours first."""

    family: str
    logs: int
    budget: int
    regrets: dict[str, Regrets]

    @property
    def ours(self) -> str:
        """The name of ours."""
        return next(iter(self.regrets))

    @property
    def best(self) -> str:
        """The best rival by its mean."""
        return min(list(self.regrets)[1:], key=lambda name: float(self.regrets[name].mean()))

    @property
    def bound(self) -> float:
        """What ours may not exceed."""
        rival = self.regrets[self.best]
        apart = self.regrets[self.ours] - rival
        error = float(apart.std(ddof=1) / np.sqrt(len(apart)))
        return float(rival.mean() + max(3 * error, 0.1 * rival.mean()))

    @property
    def holds(self) -> bool:
        """Whether ours stays within the bound."""
        return float(self.regrets[self.ours].mean()) <= self.bound


def cells(kind: str, families: Sequence[str], *, runs: int, networks: int, seed: int) -> Iterator[Cell]:
    """All cells of one kind of policies: those that earn, or those that name an arm at the end."""
    ours, rivals, budgets = EARNING if kind == "earning" else NAMING
    for family in families:
        drawn = FAMILIES[family](networks, seed)
        names = [ours, *rivals]
        if not all(each.problem.prune for each in drawn):
            names += [f"{name}@pruned" for name in rivals]
        for logs in LOGS if kind == "earning" else (0,):
            found: dict[str, list[Regrets]] = {}
            for number, instance in enumerate(drawn):
                for name in names:
                    each = _curves(name, instance, budgets, runs // len(drawn), seed + number, logs)
                    if each is not None:
                        found.setdefault(name, []).append(each)
            whole = {name: np.concatenate(parts) for name, parts in found.items() if len(parts) == len(drawn)}
            for place, budget in enumerate(budgets):
                at = {name: np.where(curve[:, place] > TIE, curve[:, place], 0.0) for name, curve in whole.items()}
                yield Cell(family, logs, budget, at)


def _curves(name: str, instance: Instance, budgets: Sequence[int], runs: int, seed: int, logs: int) -> Regrets | None:
    """For each run the regret at each budget; None where the policy does not apply."""
    text, _, pruned = name.partition("@")
    problem = instance.problem.but(prune=True) if pruned else instance.problem
    posed = replace(instance, problem=problem)
    policy = wd.policy(text).trusting()
    try:
        if policy.objective is Objective.SIMPLE:
            return np.stack(
                [simulate(policy, posed.network, problem, horizon=T, runs=runs, seed=seed).regret for T in budgets], 1
            )
        policy.check(problem, budgets[-1])
        return _rounds(policy, posed, budgets, runs, seed, logs)
    except (UnsuitableError, TooLargeError):
        return None


def _rounds(policy: Policy, instance: Instance, marks: Sequence[int], runs: int, seed: int, logs: int) -> Regrets:
    network, problem = instance.network, instance.problem
    gaps = instance.means.max() - instance.means
    lots, found = Lots(seed), []
    for number in range(runs):
        key, rng = lots.drawn(number)
        seen = logged(policy, instance, logs, seed * 100_003 + number) if logs else None
        pulls, *_ = run_rounds(policy, network, problem, marks[-1], key, rng, np.array(marks), seen)
        found.append(pulls @ gaps)
    return np.array(found)


def logged(policy: Policy, instance: Instance, rows: int, seed: int) -> Tally:
    """Logged looks, counted by all that any policy wants to know."""
    problem = instance.problem
    rounds = policy.play_by_round(problem, 1.0, np.random.default_rng(seed), Tally.empty(problem))
    own = None if rounds is None else rounds.scopes
    scopes = dict.fromkeys([*(own or ()), *counted_scopes(problem, Reading.GRAPH)])
    return World(instance.network, problem, child(seed, 9)).pull(observe(rows, scopes=list(scopes)))


def table(found: Sequence[Cell], digits: int, axis: str) -> list[str]:
    """Cells as rows of a page."""
    names = list(dict.fromkeys(name for cell in found for name in cell.regrets))
    head = ["family", "log rows", axis, *names, "bound", ""]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for cell in found:
        means = [f"{cell.regrets[name].mean():.{digits}f}" if name in cell.regrets else "" for name in names]
        marked = [
            f"**{mean}**" if name in (cell.ours, cell.best) else mean for name, mean in zip(names, means, strict=True)
        ]
        ends = [f"{cell.bound:.{digits}f}", "yes" if cell.holds else "**no**"]
        lines.append(f"| {' | '.join([cell.family, str(cell.logs), f'{cell.budget:,}', *marked, *ends])} |")
    return lines


def report(earning: Sequence[Cell], naming: Sequence[Cell], runs: int, networks: int, seed: int) -> str:
    """The page."""
    every = [*earning, *naming]
    worse = [f"{cell.family}, {cell.ours}, {cell.budget:,}" for cell in every if not cell.holds]
    return "\n".join(
        [
            "# Several nodes at once: ours and every rival",
            "",
            f"Written by `make joint` with whichdo {wd.__version__}: means over {runs:,} paired runs a row, seed",
            f"{seed}; {networks} random confounded graphs of {NODES[0]} to {NODES[-1]} nodes with {CONFOUNDERS}",
            "hidden causes and arms on one or two nodes, and Lee and Bareinboim's three tasks. `@pruned` plays only",
            "arms that can be best; in a pruned family all do, and in the tasks. The bound is the best rival's mean",
            "plus the larger of three standard errors of the paired difference and a tenth of that mean. The graphs",
            "are right by construction, so ours leans on them (`Policy.trusting()`).",
            "",
            f"Within the bound in {len(every) - len(worse)} of {len(every)} rows."
            + (f" Not in: {'; '.join(worse)}." if worse else ""),
            "",
            "## Cumulative regret",
            "",
            *table(earning, 1, "t"),
            "",
            "## Simple regret",
            "",
            *table(naming, 4, "T"),
            "",
        ]
    )


def main() -> None:
    """Print a line a cell, and write the page where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--families", nargs="*", default=list(FAMILIES))
    parser.add_argument("--kinds", nargs="*", default=["earning", "naming"])
    parser.add_argument("--runs", type=int, default=240)
    parser.add_argument("--networks", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help="write docs/joint.md")
    chosen = parser.parse_args()
    found: dict[str, list[Cell]] = {"earning": [], "naming": []}
    for kind in chosen.kinds:
        for cell in cells(kind, chosen.families, runs=chosen.runs, networks=chosen.networks, seed=chosen.seed):
            found[kind].append(cell)
            means = "  ".join(f"{name} {regret.mean():.4g}" for name, regret in cell.regrets.items())
            mark = "holds " if cell.holds else "MISSED"
            print(f"{cell.family:24} {cell.logs:4} {cell.budget:6} {mark} bound {cell.bound:.4g}  {means}", flush=True)
    if chosen.write:
        page = Path(__file__).parents[1] / "docs" / "joint.md"
        text = report(found["earning"], found["naming"], chosen.runs, chosen.networks, chosen.seed)
        page.write_text(wrapped(text), "utf-8")


if __name__ == "__main__":
    main()
