"""SRM-ALG under true confounding, beside a policy that conditions instead of intervening: ``make confounded``.

Writes docs/confounded.md and docs/images/confounded.svg.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import whichdo as wd
from whichdo.estimate.forest import FAINT, INK, SETTINGS, TIMELESS
from whichdo.experiments.conditioning import Conditioning
from whichdo.world.instances import component, front_door, random_confounded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whichdo.world.instances import Instance

HORIZONS = (100, 200, 400, 800, 1600, 3200, 6400, 12800)
RUNS = 400
SEED = 0
DOCS = Path(__file__).parents[1] / "docs"


#: (label, policy, colour, marker, stroke); the colours are those of Okabe and Ito.
SHOWN: tuple[tuple[str, Any, str, str, Any], ...] = (
    ("conditioning", Conditioning(), "#D55E00", "s", (0, (5, 1.5))),
    ("SRM-ALG", wd.policy("srm"), "#0072B2", "o", "-"),
    ("warm halving", wd.policy("warm-halving"), "#009E73", "^", (0, (1.5, 1.2))),
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
    for label, policy, *_ in SHOWN:
        for horizon in HORIZONS:
            runs = max(1, RUNS // len(instances))
            regret = np.concatenate(
                [
                    wd.simulate(policy, each.network, each.problem, horizon=horizon, runs=runs, seed=SEED + j).regret
                    for j, each in enumerate(instances)
                ]
            )
            error = float(regret.std(ddof=1) / np.sqrt(len(regret)))
            found.setdefault(label, []).append((float(regret.mean()), error))
    return found


def drawn(results: Mapping[str, Means], hardness: Mapping[str, float], path: Path) -> None:
    """A panel a family; both scales logarithmic, so that a square root is a straight line."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS)
        figure = Figure(figsize=(9.2, 3.5), layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(1, len(results), sharey=True)
        for axes, (family, means) in zip(panels, results.items(), strict=True):
            _panel(axes, family, means, hardness[family])
        panels[0].set_ylabel("mean simple regret")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=8.5)
        figure.savefig(path, metadata=TIMELESS.get(path.suffix))


def _panel(axes: Any, family: str, means: Means, hardness: float) -> None:
    for label, _, colour, marker, stroke in SHOWN:
        middle, error = np.array(means[label]).T
        low, high = np.maximum(middle - error, 1e-4), np.maximum(middle + error, 1e-4)
        style = {"color": colour, "marker": marker, "linestyle": stroke, "markersize": 4}
        axes.plot(HORIZONS, np.maximum(middle, 1e-4), label=label, **style)
        axes.fill_between(HORIZONS, low, high, color=colour, alpha=0.18, linewidth=0)
    shape = np.sqrt(hardness / np.array(HORIZONS))
    first = means["SRM-ALG"][0][0]
    axes.plot(HORIZONS, shape * first / shape[0], color=FAINT, linewidth=1, label="falling like the root of m/T")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(1e-4, 0.5)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:,g}")
    axes.set_xlabel("pulls T")
    axes.set_title(f"{family}, m = {hardness:.3g}", loc="left", fontsize=9, color=INK)


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
        "estimates interventions, falls, in the long run at least as fast as the square root of m/T. What is below",
        ".0001 is drawn there.",
        "",
        "![Regret against the number of pulls](images/confounded.svg)",
        "",
        "| family | policy | " + " | ".join(f"T={horizon}" for horizon in HORIZONS) + " |",
        "|---|---|" + "---|" * len(HORIZONS),
    ]
    for family, means in results.items():
        for label, cells in means.items():
            figures = " | ".join(f"{mean:.4f} ({error:.4f})" for mean, error in cells)
            lines.append(f"| {family} | {label} | {figures} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run, draw and write."""
    chosen = families()
    results = {family: measured(instances) for family, instances in chosen.items()}
    hardness = {family: float(np.mean([each.hardness for each in instances])) for family, instances in chosen.items()}
    drawn(results, hardness, DOCS / "images" / "confounded.svg")
    (DOCS / "confounded.md").write_text(page(results), encoding="utf-8")


if __name__ == "__main__":
    main()
