"""Ranking from logs in memory, and the means of one simulated run."""

from __future__ import annotations

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
        times.append(best(lambda d=some, p=asked: rank(p, d), repeat=5)[0])  # type: ignore[misc]
    yield Line(
        "time for 101, 201 and 401 arms from 200,000 rows",
        " : ".join(f"{took / times[0]:.1f}" for took in times),
        "linear: at most 1 : 2.5 : 5",
        times[1] < 2.5 * times[0] and times[2] < 5 * times[0],
    )
    instance = experiment_1(count=1, seed=0)[0]
    seen = World(instance.network, instance.problem, 1).pull(observe(1250))
    worth = np.array([0.0, 1.0])
    model = model_of(instance.problem, Reading.ROBUST, 1250, seen)
    look(model.plan, model.counts(seen), worth)
    (took,) = best(lambda: look(model.plan, model.counts(seen), worth), repeat=50)
    yield Line("all means of an Experiment 1 run (N=100, 1,250 rows)", seconds(took), "under 1 ms", took < 1e-3)
