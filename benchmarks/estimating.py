"""Ranking from logs in memory, and the means of one simulated run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.measure import Line, best, seconds
from benchmarks.sampling import distinct_rows
from whichdo.estimate.kernel import look
from whichdo.estimate.model import model_of
from whichdo.estimate.rank import rank
from whichdo.evidence import observe
from whichdo.formulas import Reading
from whichdo.world.instances import experiment_1
from whichdo.world.sampler import World

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = 1_000_000


def run() -> Iterator[Line]:
    network = distinct_rows()
    problem = network.problem("Y")
    data = network.sample(ROWS, seed=0)
    part = {name: column[:1000] for name, column in data.items()}
    rank(problem, part)
    (took,) = best(lambda: rank(problem, data), repeat=3)
    yield Line(
        f"rank {len(problem.arms)} arms of a 100-node problem from 1,000,000 rows in memory",
        seconds(took),
        "under 0.5 s",
        took < 0.5,
    )
    times = []
    for nodes in (50, 100, 200):
        larger = distinct_rows(nodes)
        some, asked = larger.sample(200_000, seed=0), larger.problem("Y")
        times.append(best(lambda d=some, p=asked: rank(p, d), repeat=9)[0])  # type: ignore[misc]
    yield Line(
        "time for 101, 201 and 401 arms from 200,000 rows",
        " : ".join(f"{took / times[0]:.1f}" for took in times),
        "linear: at most 1 : 2.5 : 4.6",
        times[1] < 2.5 * times[0] and times[2] < 4.6 * times[0],
    )
    yield from _command()
    instance = experiment_1(count=1, seed=0)[0]
    seen = World(instance.network, instance.problem, 1).pull(observe(1250))
    worth = np.array([0.0, 1.0])
    model = model_of(instance.problem, Reading.ROBUST, 1250, seen)
    look(model.plan, model.counts(seen), worth)
    (took,) = best(lambda: look(model.plan, model.counts(seen), worth), repeat=50)
    yield Line("all means of an Experiment 1 run (N=100, 1,250 rows)", seconds(took), "under 1 ms", took < 1e-3)


def _command() -> Iterator[Line]:
    """The whole command on the example, beside what it cannot do without; both with compiled bytecode."""
    example = Path(__file__).parents[1] / "examples" / "infection"
    command = [sys.executable, "-m", "whichdo", "rank", str(example / "problem.toml"), str(example / "logs.csv")]
    base = min(_busy([sys.executable, "-c", "import numpy, pyarrow.csv"]) for _ in range(7))
    warm = min(_busy(command) for _ in range(7))
    with TemporaryDirectory() as folder:
        cold = min(_busy(command, WHICHDO_CACHE=folder) for _ in range(7))
    for kind, took in (("", warm), (", nothing compiled yet", cold)):
        yield Line(
            f"processor time of `whichdo rank` on the infection example{kind}",
            f"{seconds(took)}: {took / base:.1f} times `import numpy, pyarrow.csv`",
            "at most 3 times",
            took <= 3 * base,
        )


def _busy(command: list[str], **environment: str) -> float:
    """The processor time of a process."""
    around = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = os.times()
    subprocess.run(command, env={**around, **environment}, stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system
