"""The simulated population behind the infection example, and the survey that `logs.csv` holds.

The well-off can work from home and are infected less often for other reasons, so working from home looks far better
than it is.  Run ``python examples/infection/population.py`` to write `logs.csv` again.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

import whichdo as wd

ROWS = 4_000
SEED = 2022


def population() -> wd.CausalNetwork:
    """The truth: what each measure, and each hidden background, does to the risk of infection."""
    risk = np.empty((2, 2, 2, 2))
    for distancing, mask, vaccination, wealth in np.ndindex(risk.shape):
        risk[distancing, mask, vaccination, wealth] = (
            0.65 - 0.10 * distancing - 0.04 * mask - 0.16 * vaccination - 0.32 * wealth
        )
    return wd.CausalNetwork(
        {
            "economic background": wd.bernoulli((), 0.5),
            "social background": wd.bernoulli((), 0.5),
            "work from home": wd.bernoulli(("economic background",), [0.15, 0.75]),
            "social distancing": wd.bernoulli(("work from home",), [0.3, 0.6]),
            "face mask": wd.bernoulli(("social background",), [0.2, 0.8]),
            "vaccination": wd.bernoulli(("social background",), [0.25, 0.75]),
            "infection": wd.bernoulli(("social distancing", "face mask", "vaccination", "economic background"), risk),
        },
        hidden={"economic background", "social background"},
    )


def write_logs(path: Path) -> None:
    """Ask the population what it does by itself."""
    rows = population().sample(ROWS, seed=SEED)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(rows)
        writer.writerows(zip(*(column.tolist() for column in rows.values()), strict=True))


if __name__ == "__main__":
    write_logs(Path(__file__).with_name("logs.csv"))
