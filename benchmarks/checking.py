"""How often `whichdo.check` accuses right graphs, and how often it finds an edge that is missing; `make checking`.

Right graphs have three to seven nodes of two to four values each, every pair joined by an arrow with
a chance of .15 to .6 and by a hidden cause with one of 0, .1 or .2, and laws drawn from a Dirichlet law
with parameter .3, 1 or 3.  So are the *mixed* ones of the table by families; the others are made to be
hard on some test (`tests.checking.random_worlds.RIGHT`).  Wrong ones lack an arrow or a hidden cause
that logs can show and whose lack moves the estimate of an arm by .05 or more.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import whichdo as wd
from benchmarks.wrapping import wrapped
from tests.checking.random_worlds import RIGHT, SKEWS
from tests.checking.test_size_and_power import FEW, SIZES, accused, accused_of, right_world, wrong_world
from whichdo.estimate.disagreement import contradiction_words
from whichdo.estimate.shrinkage import reward_scale

GRAPHS, WRONG, SEED = 1_000, 400, 1_618
PAGE = Path(__file__).parents[1] / "docs" / "check-power.md"


def warned(rows: int) -> float:
    """How often `whichdo.rank` warns of a right graph."""
    rng = np.random.default_rng([SEED, rows, 1])
    number = 0
    for place in range(GRAPHS):
        world = right_world(rng, SKEWS[place % len(SKEWS)])
        problem = world.problem()
        number += bool(contradiction_words(problem, world.looks(problem, rng, rows), reward_scale(problem)[0]))
    return number / GRAPHS


def found(rows: int, worlds: int, *, hidden: bool) -> float:
    """How often a check finds that an edge is missing."""
    rng = np.random.default_rng([SEED, rows, hidden, 2])
    number = 0
    for place in range(worlds):
        world, believed = wrong_world(rng, SKEWS[place % len(SKEWS)], hidden=hidden)
        problem = world.problem(believed)
        number += not wd.check(problem, world.looks(problem, rng, rows)).ok
    return number / worlds


def main() -> None:
    """Print both tables, and write the page."""
    page = [
        "# Checks: size and power",
        "",
        f"Written by `make checking` with whichdo {wd.__version__}, seed {SEED}; what the graphs are like stands at",
        "the top of `benchmarks/checking.py`.",
        "",
        f"How often a right graph is accused, {GRAPHS:,} graphs a line. A check fails if any statement or comparison",
        "does; *significant* leaves out the question whether it is more than negligible; *rank warns* is the share of",
        "logs that `whichdo rank` warns about (promised: at most 1%).",
        "",
        "| rows | check fails | significant | rank warns |",
        "|---|---|---|---|",
    ]
    for rows in SIZES:
        fails, low = accused(np.random.default_rng([SEED, rows]), rows, GRAPHS)
        page.append(f"| {rows:,} | {fails / GRAPHS:.1%} | {low / GRAPHS:.1%} | {warned(rows):.1%} |")
        print(page[-1], flush=True)
    page += [
        "",
        "The same by families, each hard on a test in its own way: values that come once in 20 to 1,000 rows, tables",
        "of many cells, laws close to certain, hidden causes between a third of all pairs, many statements at once,",
        "networks of `random_confounded`, a reward on a numeric range, and rows of experiments beside the looks.",
        "",
        "| family | " + " | ".join(f"{rows:,} rows" for rows in FEW) + " |",
        "|---|" + "---|" * len(FEW),
    ]
    for family in RIGHT:
        shares = (f"{accused_of(family, rows, graphs, SEED)} of {graphs}" for rows, graphs in FEW.items())
        page.append(f"| {family} | {' | '.join(shares)} |")
        print(page[-1], flush=True)
    page += [
        "",
        "How often an edge is found to be missing whose lack logs can show and moves the estimate of an arm by .05 or",
        f"more, {WRONG} graphs each for arrows and for hidden causes.",
        "",
        "| rows | arrow | hidden cause |",
        "|---|---|---|",
    ]
    rows = 20_000
    page.append(f"| {rows:,} | {found(rows, WRONG, hidden=False):.0%} | {found(rows, WRONG, hidden=True):.0%} |")
    print(page[-1], flush=True)
    PAGE.write_text(wrapped("\n".join(page)), encoding="utf-8")


if __name__ == "__main__":
    main()
