"""Causal Thompson sampling against every rival that applies, family by family: ``make earning``.

Writes docs/earning.md.  As `benchmarks.families`, for cumulative regret: paired runs, and a bound that is the best
rival's mean plus the larger of three standard errors of the paired difference and a tenth of that mean.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import whichdo as wd
from benchmarks.families import ALL, networks
from benchmarks.wrapping import wrapped
from whichdo.errors import UnsuitableError
from whichdo.world.instances import experiment_3, experiment_5

OURS = "causal-ts"
NAMES = (OURS, "causal-kl-ucb", "ucb", "kl-ucb", "ts", "crm", "crm-nb")
RIVALS = ("ucb", "kl-ucb", "ts", "crm", "crm-nb")
HORIZONS = (1000, 10000)
RUNS, NETWORKS, SEED = 200, 10, 0


def family_rows() -> tuple[list[str], list[str]]:
    """The rows of the table, and the names of those beyond the bound."""
    rows, beyond = [], []
    for family in ALL:
        drawn = networks(family, NETWORKS, SEED)
        curves: dict[str, list[np.ndarray]] = {}
        for number, instance in enumerate(drawn):
            for name in NAMES:
                try:
                    found = wd.simulate(
                        wd.policy(name).trusting(),
                        instance.network,
                        instance.problem,
                        horizon=HORIZONS[-1],
                        runs=RUNS // len(drawn),
                        seed=SEED + number,
                        rounds=HORIZONS,
                    )
                except UnsuitableError:
                    continue
                if found.curve is not None:
                    curves.setdefault(name, []).append(found.curve)
        whole = {name: np.concatenate(parts) for name, parts in curves.items() if len(parts) == len(drawn)}
        for column, horizon in enumerate(HORIZONS):
            at = {name: curve[:, column] for name, curve in whole.items()}
            best = min((name for name in RIVALS if name in at), key=lambda name: float(at[name].mean()))
            apart = at[OURS] - at[best]
            bound = at[best].mean() + max(3 * apart.std(ddof=1) / np.sqrt(len(apart)), 0.1 * at[best].mean())
            holds = at[OURS].mean() <= bound
            means = [f"{at[name].mean():.1f}" if name in at else "" for name in NAMES]
            rows.append(
                f"| {family} | {horizon} | {' | '.join(means)} | {bound:.1f} | {'yes' if holds else '**no**'} |"
            )
            print(rows[-1], flush=True)
            if not holds:
                beyond.append(f"{family}, t={horizon}")
    return rows, beyond


def paper_rows() -> list[str]:
    """Experiments 3 and 5 at t = 30,000."""
    rows = []
    for label, instances, runs in (("3", [experiment_3()], 200), ("5", experiment_5(12, SEED), 15)):
        means = []
        for name in (*NAMES[:-1],):
            regret = np.concatenate(
                [
                    wd.simulate(
                        wd.policy(name).trusting(), each.network, each.problem, horizon=30000, runs=runs, seed=j
                    ).regret
                    for j, each in enumerate(instances)
                ]
            )
            means.append(f"{regret.mean():.1f} ({regret.std(ddof=1) / np.sqrt(len(regret)):.1f})")
        rows.append(f"| {label} | {' | '.join(means)} |")
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Run all and write the page."""
    paper = paper_rows()
    rows, beyond = family_rows()
    text = [
        "# Earning while learning: causal Thompson sampling and its rivals",
        "",
        f"Written by `make earning` with whichdo {wd.__version__}, seed {SEED}: mean cumulative regret.",
        "",
        "## The paper's Experiments 3 and 5 at t = 30,000",
        "",
        "Standard errors in brackets, over runs.",
        "",
        "| experiment | " + " | ".join(NAMES[:-1]) + " |",
        "|---|" + "---|" * len(NAMES[:-1]),
        *paper,
        "",
        "## Family by family",
        "",
        f"{RUNS} paired runs a row. A policy that refuses a problem has no figure. The bound is the best mean of",
        f"{', '.join(RIVALS)} plus the larger of three standard errors of the paired difference and a tenth.",
        "",
        f"Causal Thompson sampling stays within the bound in {len(rows) - len(beyond)} of {len(rows)} rows."
        + (f" It does not in: {'; '.join(beyond)}." if beyond else ""),
        "",
        "| family | t | " + " | ".join(NAMES) + " | bound | |",
        "|---|---|" + "---|" * (len(NAMES) + 2),
        *rows,
    ]
    Path(__file__).parents[1].joinpath("docs", "earning.md").write_text(wrapped("\n".join(text)), encoding="utf-8")


if __name__ == "__main__":
    main()
