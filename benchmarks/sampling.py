"""Sampling and counting against numpy's bare coins, pgmpy and pyAgrum."""

from __future__ import annotations

import contextlib
import io
import logging
import subprocess
import sys
import warnings
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.measure import Line, best, seconds
from tests.wheels import pgmpy_models
from whichdo.evidence import observe
from whichdo.world.instances import experiment_1
from whichdo.world.mechanism import bernoulli
from whichdo.world.network import CausalNetwork
from whichdo.world.sampler import World

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = 200_000


def distinct_rows(nodes: int = 100, seed: int = 0) -> CausalNetwork:
    """In-degree 2, every row of every table different; the reward has all others for parents, as in Experiment 1."""
    rng = np.random.default_rng(seed)
    mechanisms = {}
    for j in range(nodes):
        inputs = [f"X{i}" for i in sorted(rng.choice(j, min(j, 2), replace=False))]
        mechanisms[f"X{j}"] = bernoulli(inputs, rng.random((2,) * len(inputs)))
    mechanisms["Y"] = bernoulli(("X3", f"X{nodes // 2}"), rng.random((2, 2)), parents=tuple(mechanisms))
    return CausalNetwork(mechanisms)


def numpy_coins(draws: int, columns: int) -> None:
    """What a vectorised simulation cannot do without: a uniform number and a comparison for each draw."""
    rng = np.random.default_rng(0)
    p = np.full(columns, 0.3)
    for _ in range(draws // 10_000):
        _ = rng.random((10_000, columns)) < p


def run() -> Iterator[Line]:
    instance = experiment_1(count=1, seed=0)[0]
    plain = distinct_rows()
    for words, network, problem in (
        ("100 nodes, in-degree 2, every row different", plain, plain.problem("Y")),
        ("Experiment 1 (equal rows)", instance.network, instance.problem),
    ):
        world = World(network, problem, 1)
        world.pull(observe(1000))
        scopes = len(world.scopes)
        ours, theirs = best(lambda w=world: w.pull(observe(ROWS)), lambda: numpy_coins(ROWS, 101))  # type: ignore[misc]
        yield Line(
            f"sample and count {scopes} tables: {words}",
            f"{ours / ROWS / 101 * 1e9:.2f} ns a draw, 1/{theirs / ours:.1f} of numpy's bare coins",
            "at most 1/5 (goal 1/8)",
            theirs / ours >= 5,
        )
    yield from _peers()
    yield _memory()


def _peers() -> Iterator[Line]:
    path = pgmpy_models() / "alarm.bif.gz"
    network = CausalNetwork.read_bif(path)
    (took,) = best(lambda: CausalNetwork.read_bif(path))
    yield Line("read alarm (BIF with tables)", seconds(took), "under 20 ms", took < 0.02)
    network.sample(10, seed=0)
    rows = 50_000
    (ours,) = best(lambda: network.sample(rows, seed=0, codes=True), repeat=15)
    (texts,) = best(lambda: network.sample(rows, seed=0))
    yield Line(f"alarm, {rows:,} rows with every value written out as text", seconds(texts), "(no bound)", holds=True)
    for name, theirs, asked in (("pgmpy", _pgmpy(rows), 100), ("pyAgrum", _pyagrum(rows), 20)):
        yield Line(
            f"forward sampling of alarm, {rows:,} rows as codes, against {name}",
            f"{seconds(ours)} against {seconds(theirs)}: {theirs / ours:.0f} times",
            f"at least {asked} times",
            theirs / ours >= asked,
        )


def _pgmpy(rows: int) -> float:
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        from pgmpy.sampling import BayesianModelSampling
        from pgmpy.utils import get_example_model

        sampler = BayesianModelSampling(get_example_model("alarm"))
        (took,) = best(lambda: sampler.forward_sample(size=rows, show_progress=False), repeat=3)
    return took


def _pyagrum(rows: int) -> float:
    import gzip
    import tempfile
    from pathlib import Path

    import pyagrum

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "alarm.bif"
        path.write_bytes(gzip.decompress((pgmpy_models() / "alarm.bif.gz").read_bytes()))
        network = pyagrum.loadBN(str(path))
    generator = pyagrum.BNDatabaseGenerator(network)
    (took,) = best(lambda: generator.drawSamples(rows), repeat=3)
    return took


MEMORY_JOB = """
import resource, sys
from benchmarks.sampling import distinct_rows
from whichdo.evidence import observe
from whichdo.world.sampler import World
network = distinct_rows()
world = World(network, network.problem("Y"), 1)
world.pull(observe(10_000))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
world.pull(observe(5_000_000))
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


def _memory() -> Line:
    done = subprocess.run([sys.executable, "-c", MEMORY_JOB], capture_output=True, text=True, check=True)
    grown = float(done.stdout)
    return Line(
        "memory that 5,000,000 samples of 101 nodes add to 10,000, tables only", f"{grown:.1f} MB", "flat", grown < 5
    )
