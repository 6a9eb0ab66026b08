"""From counts to conditionals: rules for rows that were seen rarely, compared: ``make estimates``.

Writes docs/estimates.md.  In each world a setting with 2 to 6 values and covariates with 4, 16 or 64 strata act on a
reward of two levels; every rule estimates the mean of each setting, by adjustment for the strata, from the same counts.
Effects are normal with a standard deviation of .5 in log odds for the settings and .7 for the strata.  In half of the
worlds effects differ between strata too (.5 more), in the others they are the same in all.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import whichdo as wd
from benchmarks.wrapping import wrapped
from whichdo.estimate.shrinkage import STRENGTH, rows_of, shrink_reward

if TYPE_CHECKING:
    from collections.abc import Callable

    from whichdo.arrays import FloatArray

    Rule = Callable[[FloatArray], FloatArray]

RATES = (0.01, 0.02, 0.05, 0.1, 0.3, 0.5)
ROWS = (500, 2_000, 10_000)
STRATA = (4, 16, 64)
SETS, SEED = 600, 17
WORTH = np.array([0.0, 1.0])
PAGE = Path(__file__).parents[1] / "docs" / "estimates.md"


def towards(counts: FloatArray, expected: FloatArray | float, strength: float) -> FloatArray:
    """The share of successes in each row, leaning on what is expected of it."""
    found: FloatArray = (counts[..., 1] + strength * expected) / np.maximum(counts.sum(axis=-1) + strength, 1e-300)
    return found


def add_one(counts: FloatArray) -> FloatArray:
    """Every count plus one."""
    return towards(counts, 0.5, 2.0)


def plain(counts: FloatArray) -> FloatArray:
    """Shares as they are; a row never seen has the overall mean."""
    mean = counts[..., 1].sum() / counts.sum()
    return np.where(counts.sum(axis=-1) > 0, towards(counts, 0.0, 0.0), mean)


def overall(counts: FloatArray) -> FloatArray:
    """Towards the mean of all rows."""
    return towards(counts, float(counts[..., 1].sum() / counts.sum()), STRENGTH)


def arms(counts: FloatArray) -> FloatArray:
    """Towards the mean of all rows with the same setting, itself shrunk towards that of all rows."""
    return towards(counts, overall(counts.sum(axis=0)), STRENGTH)


def both(counts: FloatArray, strength: float = STRENGTH) -> FloatArray:
    """What whichdo does: towards what the margins of setting and stratum expect together."""
    return shrink_reward(rows_of(counts, WORTH), [1], strength).means


RULES: dict[str, Rule] = {
    "add-one": add_one,
    "plain shares": plain,
    "overall margin": overall,
    "arm's margin": arms,
    "both margins": both,
}
STRENGTHS: dict[str, Rule] = {f"s = {each:g}": partial(both, strength=each) for each in (0.5, 1.0, 2.0, 4.0)}


def worlds(rate: float, rows: int, sets: int, seed: int) -> list[tuple[FloatArray, FloatArray]]:
    """Counts by stratum, setting and level, and the true mean of each setting."""
    found = []
    for number in range(sets):
        rng = np.random.default_rng([seed, number, rows, round(rate * 1000)])
        strata, settings = STRATA[number % len(STRATA)], int(rng.integers(2, 7))
        share = rng.dirichlet(np.full(strata, 2.0))
        leaning = np.exp(rng.normal(0, 0.7, (strata, settings)) + rng.normal(0, 0.5, settings))
        chance = share[:, None] * leaning / leaning.sum(axis=1, keepdims=True)
        odds = rng.normal(0, 0.7, (strata, 1)) + rng.normal(0, 0.5, settings)
        odds = odds + rng.normal(0, 0.5, (strata, settings)) * (number % 2)
        means = 1 / (1 + np.exp(-(np.log(rate / (1 - rate)) + odds)))
        law = np.stack([chance * (1 - means), chance * means], axis=-1)
        counts = rng.multinomial(rows, law.ravel() / law.sum()).reshape(law.shape).astype(np.float64)
        found.append((counts, share @ means))
    return found


def compare(rules: dict[str, Rule], rate: float, rows: int, sets: int, seed: int) -> dict[str, tuple[float, float]]:
    """For each rule its root mean square error over the rate, and how often its best arm is not the best."""
    drawn = worlds(rate, rows, sets, seed)
    found = {}
    for name, rule in rules.items():
        squares, wrong = [], []
        for counts, truth in drawn:
            share = counts.sum(axis=(1, 2)) / rows
            means = share @ rule(counts)
            squares += list((means - truth) ** 2)
            wrong.append(means.argmax() != truth.argmax())
        found[name] = float(np.sqrt(np.mean(squares)) / rate), float(np.mean(wrong))
    return found


def table(rules: dict[str, Rule], sets: int, seed: int) -> list[str]:
    """Rates and rows, a line each."""
    lines = [f"| rate | rows | {' | '.join(rules)} |", "|---|---|" + "---|" * len(rules)]
    for rate in RATES:
        for rows in ROWS:
            found = compare(rules, rate, rows, sets, seed)
            least = min(error for error, _ in found.values())
            cells = [
                f"{f'**{error:.3f}**' if error == least else f'{error:.3f}'} / {wrong:.0%}"
                for error, wrong in found.values()
            ]
            lines.append(f"| {rate:g} | {rows:,} | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    return lines


def main() -> None:
    """Print both tables, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=SETS)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--print", action="store_true", help="do not write docs/estimates.md")
    chosen = parser.parse_args()
    page = [
        "# From counts to conditionals: rules compared",
        "",
        f"Written by `make estimates` with whichdo {wd.__version__}: {chosen.sets:,} data sets a line, each of a world",
        f"of its own, seed {chosen.seed}. Each cell has the root mean square error of an arm's mean divided by the",
        "rate, and how often the arm with the highest estimate is not the best one. All rules but add-one and plain",
        f"shares lean on a margin with the strength of {STRENGTH:g} rows. What the worlds are like stands at the top",
        "of `benchmarks/estimates.py`, and why this rule was taken in [decision 17](decisions/0017-shrinkage.md).",
        "",
        *table(RULES, chosen.sets, chosen.seed),
        "",
        "Both margins, with other strengths:",
        "",
        *table(STRENGTHS, chosen.sets, chosen.seed),
    ]
    if not chosen.print:
        PAGE.write_text(wrapped("\n".join(page)), encoding="utf-8")


if __name__ == "__main__":
    main()
