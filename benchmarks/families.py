"""Warm halving against every rival that applies, family by family, on paired runs.

``make families`` writes docs/families.md; ``python -m benchmarks.families --families bows --runs 200`` prints some.

For each family of `whichdo.world.instances`, and for networks of the bnlearn repository as they are and with a third of
their roots hidden, some networks are drawn and every policy plays the same number of runs on each with the same seeds.
A policy that refuses a problem or a budget is left out there.  The bound is the best rival's mean plus the larger of
three standard errors of the paired difference and a tenth of that mean.
"""

from __future__ import annotations

import argparse
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import whichdo as wd
from benchmarks.wrapping import wrapped
from whichdo.errors import TooLargeError, UnsuitableError
from whichdo.world.instances import bnlearn, families

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whichdo.policies.base import Policy
    from whichdo.world.instances import Instance

OURS = "warm-halving"
RIVALS = ("ue", "sr", "sh", "srm", "parallel", "nb", "cb")
HORIZONS = (100, 400, 1600)
PUBLISHED = ("asia", "cancer", "earthquake", "survey", "sachs", "child", "insurance", "alarm")
JOINT = {"structural", "joint-confounded", "pruned-joint-confounded"}
"""Families with arms on several nodes: `benchmarks.joint`."""
ALL = (*sorted(set(families()) - JOINT), "bnlearn", "bnlearn, some roots hidden")
Regrets = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Cell:
    """The regrets of all applicable policies on the same runs, in order of networks and runs."""

    family: str
    horizon: int
    networks: int
    regrets: dict[str, Regrets]

    @property
    def best(self) -> str:
        """The best rival by its mean."""
        return min((name for name in self.regrets if name != OURS), key=lambda name: float(self.regrets[name].mean()))

    @property
    def bound(self) -> float:
        """What ours may not exceed."""
        rival = self.regrets[self.best]
        apart = self.regrets[OURS] - rival
        error = float(apart.std(ddof=1) / np.sqrt(len(apart)))
        return float(rival.mean() + max(3 * error, 0.1 * rival.mean()))

    @property
    def holds(self) -> bool:
        """Whether ours stays within the bound."""
        return float(self.regrets[OURS].mean()) <= self.bound


def networks(family: str, count: int, seed: int) -> list[Instance]:
    """Some networks of a family, drawn from as many seeds as it takes."""
    if family.startswith("bnlearn"):
        return [published(name, hide="hidden" in family) for name in PUBLISHED]
    found: list[Instance] = []
    while len(found) < count:
        found += families()[family](seed=seed)
        seed += 1
    return found[:count]


def published(name: str, *, hide: bool) -> Instance:
    """A network of the bnlearn repository; the reward is its last node, its values worth 0 to 1 in their order."""
    spec = importlib.util.find_spec("pgmpy")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("The networks of the bnlearn repository are read from pgmpy; make setup installs it.")
    path = Path(spec.submodule_search_locations[0]) / "utils" / "example_models" / f"{name}.bif.gz"
    graph = wd.CausalNetwork.read_bif(path).graph
    reward = graph.nodes[-1]
    roots = [node for node in graph.nodes if not graph.parents(node) and len(graph.children(node)) > 1]
    hidden = roots[: max(1, len(roots) // 3)] if hide else []
    return bnlearn(path, reward, hide=hidden, rewards=worths(path, reward))


def worths(path: Path, reward: str) -> dict[Any, float]:
    """The values of a node, evenly from 0 to 1."""
    network = wd.CausalNetwork.read_bif(path)
    values = network.domains[reward]
    return {value: position / (len(values) - 1) for position, value in enumerate(values)}


def cells(
    chosen: Sequence[str], horizons: Sequence[int], *, runs: int, count: int, seed: int, policies: Sequence[Policy]
) -> Iterator[Cell]:
    """All cells of some families."""
    for family in chosen:
        drawn = networks(family, count, seed)
        for horizon in horizons:
            regrets: dict[str, list[Regrets]] = {}
            for number, instance in enumerate(drawn):
                for policy in policies:
                    found = _regrets(policy, instance, horizon, runs // len(drawn), seed + number)
                    if found is not None:
                        regrets.setdefault(label(policy), []).append(found)
            whole = {name: np.concatenate(parts) for name, parts in regrets.items() if len(parts) == len(drawn)}
            yield Cell(family, horizon, len(drawn), whole)


def label(policy: Policy) -> str:
    """The policy's name, with its parameters where they are not the usual ones."""
    return policy.name if policy in (wd.policy(policy.name), wd.policy(policy.name).trusting()) else repr(policy)


def _regrets(policy: Policy, instance: Instance, horizon: int, runs: int, seed: int) -> Regrets | None:
    try:
        return wd.simulate(policy, instance.network, instance.problem, horizon=horizon, runs=runs, seed=seed).regret
    except (UnsuitableError, TooLargeError):
        return None


def report(found: Sequence[Cell], runs: int, seed: int) -> str:
    """All cells as a page of documentation."""
    names = [OURS, *RIVALS]
    worse = [cell for cell in found if not cell.holds]
    where = f" It does not in: {'; '.join(f'{cell.family}, T={cell.horizon}' for cell in worse)}." if worse else ""
    lines = [
        "# Warm halving and its rivals, family by family",
        "",
        f"Written by `make families` with whichdo {wd.__version__}: mean simple regret over {runs:,} paired runs a",
        f"row, seed {seed}. A policy that refuses a problem or a budget has no figure. The bound is the best rival's",
        "mean plus the larger of three standard errors of the paired difference and a tenth of that mean.",
        'The graphs are right by construction, so warm halving leans on them (`reading="graph"`).',
        "",
        f"Warm halving stays within the bound in {len(found) - len(worse)} of {len(found)} rows.{where}",
        "",
        "| family | T | " + " | ".join(names) + " | bound | |",
        "|---|---|" + "---|" * (len(names) + 2),
    ]
    for cell in found:
        means = [f"{cell.regrets[name].mean():.4f}" if name in cell.regrets else "" for name in names]
        means = [f"**{mean}**" if name in (OURS, cell.best) else mean for name, mean in zip(names, means, strict=True)]
        mark = "yes" if cell.holds else "**no**"
        lines.append(f"| {cell.family} | {cell.horizon} | {' | '.join(means)} | {cell.bound:.4f} | {mark} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print a line a cell, and write the page where all is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--families", nargs="*", default=list(ALL))
    parser.add_argument("--horizons", nargs="*", type=int, default=list(HORIZONS))
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--networks", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help="write docs/families.md")
    chosen = parser.parse_args()
    policies = [wd.policy(name).trusting() for name in (OURS, *RIVALS)]
    found = []
    for cell in cells(
        chosen.families, chosen.horizons, runs=chosen.runs, count=chosen.networks, seed=chosen.seed, policies=policies
    ):
        found.append(cell)
        means = "  ".join(f"{name} {regret.mean():.4f}" for name, regret in cell.regrets.items())
        mark = "holds " if cell.holds else "MISSED"
        print(f"{cell.family:26} {cell.horizon:5} {mark} bound {cell.bound:.4f}  {means}", flush=True)
    if chosen.write:
        page = Path(__file__).parents[1] / "docs" / "families.md"
        page.write_text(wrapped(report(found, chosen.runs, chosen.seed)), encoding="utf-8")


if __name__ == "__main__":
    main()
