"""The simulated town of the infection example (the paper's Figure 1), and the survey that it answers.

The well-off can work from home and are infected less often for other reasons, so working from home looks far better
than it is.  ``problem.toml`` beside this file says what a learner may know of it; ``examples/infection`` has the same
problem with the survey as files.
"""

from __future__ import annotations

import csv
import io
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from whichdo.files import Kind, write_file
from whichdo.world.network import CausalNetwork, bernoulli

if TYPE_CHECKING:
    from pathlib import Path


ROWS = 4_000
SEED = 2022


def population() -> CausalNetwork:
    """The truth: what each measure, and each hidden background, does to the risk of infection."""
    risk = np.empty((2, 2, 2, 2))
    for distancing, mask, vaccination, wealth in np.ndindex(risk.shape):
        risk[distancing, mask, vaccination, wealth] = (
            0.65 - 0.10 * distancing - 0.04 * mask - 0.16 * vaccination - 0.32 * wealth
        )
    return CausalNetwork(
        {
            "economic background": bernoulli((), 0.5),
            "social background": bernoulli((), 0.5),
            "work from home": bernoulli(("economic background",), [0.15, 0.75]),
            "social distancing": bernoulli(("work from home",), [0.3, 0.6]),
            "face mask": bernoulli(("social background",), [0.2, 0.8]),
            "vaccination": bernoulli(("social background",), [0.25, 0.75]),
            "infection": bernoulli(("social distancing", "face mask", "vaccination", "economic background"), risk),
        },
        hidden={"economic background", "social background"},
    )


def write_problem_file(path: Path) -> None:
    """Write ``problem.toml``: what a learner may know."""
    _write(path, files("whichdo.demo").joinpath("problem.toml").read_text(encoding="utf-8"))


def write_logs(path: Path) -> None:
    """Ask the population what it does by itself."""
    rows = population().sample(ROWS, seed=SEED)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(rows)
    writer.writerows(zip(*(column.tolist() for column in rows.values()), strict=True))
    _write(path, text.getvalue())


def _write(path: Path, text: str) -> None:
    """Into a folder that somebody named: what is there is replaced if it is the same, as after another demo."""
    write_file(path, text, Kind("a file of the demo", lambda head, _end: text.encode().startswith(head)))
