"""SRM-ALG under true confounding, beside a policy that conditions instead of intervening: ``make confounded``.

Writes docs/confounded.md and docs/images/confounded.svg.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import whichdo as wd
from benchmarks.wrapping import wrapped
from whichdo.experiments.cells import Conditioning
from whichdo.plots.canvas import write_figure
from whichdo.plots.regret import Panel, Scales, panels_plot, policy_label
from whichdo.world.instances import component, front_door, random_confounded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whichdo.world.instances import Instance

HORIZONS = (100, 200, 400, 800, 1600, 3200, 6400, 12800)
RUNS = 400
SEED = 0
DOCS = Path(__file__).parents[1] / "docs"


SHOWN: tuple[tuple[str, Any], ...] = (
    ("conditioning", Conditioning()),
    ("srm", wd.policy("srm")),
    ("warm-halving", wd.policy("warm-halving").trusting()),
)
Means = dict[str, list[tuple[float, float]]]


def families() -> dict[str, list[Instance]]:
    """Networks in which rows mislead: conditioning names an arm that is not best."""
    drawn = random_confounded(6, 3, 60, 11)
    misled = [each for each in drawn if _misled(each)]
    return {
        "front-door chains": [front_door(2), front_door(2, mediators=True)],
        "c-components of 2 and 3": [component(2, 0.02), component(3, 0.005)],
        "random, rows mislead": misled[:20],
    }


def _misled(instance: Instance) -> bool:
    seen = np.array([np.nan if value is None else value for value in instance.conditionals])
    return bool(instance.means.max() - instance.means[int(np.nanargmax(seen))] > 0.02)


def measured(instances: Sequence[Instance]) -> Means:
    """For each policy and horizon the mean regret over networks and runs, and its standard error."""
    found: Means = {}
    for name, policy in SHOWN:
        for horizon in HORIZONS:
            runs = max(1, RUNS // len(instances))
            regret = np.concatenate(
                [
                    wd.simulate(policy, each.network, each.problem, horizon=horizon, runs=runs, seed=SEED + j).regret
                    for j, each in enumerate(instances)
                ]
            )
            error = float(regret.std(ddof=1) / np.sqrt(len(regret)))
            found.setdefault(name, []).append((float(regret.mean()), error))
    return found


def drawn(results: Mapping[str, Means], hardness: Mapping[str, float], path: Path) -> None:
    """A panel a family; both scales logarithmic, so that a square root is a straight line."""
    where = np.array(HORIZONS, float)
    panels = []
    for family, means in results.items():
        curves = {name: (where, *np.array(cells).T) for name, cells in means.items()}
        shape = np.sqrt(hardness[family] / where)
        falling = {"falling like the root of m/T": (where, shape * means["srm"][0][0] / shape[0])}
        panels.append(Panel(f"{family}, m = {hardness[family]:.3g}", curves, falling))
    scales = Scales("pulls T", "mean simple regret", logarithmic=True)
    write_figure(panels_plot(panels, scales, shared=True, size=(9.6, 3.7)), path)


def page(results: Mapping[str, Means]) -> str:
    """The figure and its numbers."""
    lines = [
        "# Under true confounding",
        "",
        f"Written by `make confounded` with whichdo {wd.__version__}: mean simple regret, {RUNS} runs a point,",
        f"seed {SEED}, standard errors in brackets.",
        "",
        "Families with hidden confounders in which rows mislead: the arm of the best conditional mean is not the best.",
        "A policy that looks and conditions names it the more surely the longer it looks; the regret of SRM-ALG, which",
        "estimates interventions, falls, in the long run at least as fast as the square root of m/T. Ours believes the",
        "graph here, which is right. What is below .0001 is drawn there.",
        "",
        "![Regret against the number of pulls](images/confounded.svg)",
        "",
        "| family | policy | " + " | ".join(f"T={horizon}" for horizon in HORIZONS) + " |",
        "|---|---|" + "---|" * len(HORIZONS),
    ]
    for family, means in results.items():
        for name, cells in means.items():
            figures = " | ".join(f"{mean:.4f} ({error:.4f})" for mean, error in cells)
            lines.append(f"| {family} | {policy_label(name)} | {figures} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run, draw and write."""
    chosen = families()
    results = {family: measured(instances) for family, instances in chosen.items()}
    hardness = {family: float(np.mean([each.hardness for each in instances])) for family, instances in chosen.items()}
    drawn(results, hardness, DOCS / "images" / "confounded.svg")
    (DOCS / "confounded.md").write_text(wrapped(page(results)), encoding="utf-8")


if __name__ == "__main__":
    main()
