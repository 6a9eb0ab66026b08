"""A round of each sequential policy: Experiment 3's network, up to a million rounds, one core, warm cache."""

from __future__ import annotations

import tracemalloc
from time import process_time
from typing import TYPE_CHECKING

import numpy as np

import whichdo as wd
from benchmarks.measure import Line
from whichdo.simulation import log_spaced, run_rounds
from whichdo.world.instances import experiment_3, structural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whichdo.policies.base import Policy
    from whichdo.world.instances import Instance

ASKED = {"ucb": 0.15, "crm": 0.4, "ts": 1.0, "causal-ts": 1.0, "kl-ucb": 1.5, "causal-kl-ucb": 1.5}
LENGTHS = (10_000, 100_000, 1_000_000)


def run() -> Iterator[Line]:
    """The time of a round for each length, and the memory of a long run."""
    for name, most in ASKED.items():
        times = [min(_seconds(name, length, repeat) for repeat in range(3)) / length * 1e6 for length in LENGTHS]
        figure = f"{times[-1]:.2f} µs a round; {times[0]:.2f} and {times[1]:.2f} for 10^4 and 10^5"
        yield Line(f"{name}, a million rounds", figure, f"under {most:g} µs, not growing", times[-1] < most)
    yield from _shared()
    for name in ("ts", "causal-ts", "crm"):
        tracemalloc.start()
        _seconds(name, 100_000, 0)
        small = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        _seconds(name, 1_000_000, 0)
        large = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        figure = f"{small / 1e6:.1f} MB for 10^5 rounds, {large / 1e6:.1f} MB for 10^6"
        yield Line(f"memory of {name}", figure, "of the order of the looks", large < 64e6)


def _shared() -> Iterator[Line]:
    """Rounds in which every row teaches every arm it can: Lee and Bareinboim's third task, 17 arms."""
    for policy in (wd.policy("causal-ts").trusting(), wd.policy("causal-ts")):
        time = min(_timed(policy, structural(3), 100_000, repeat) for repeat in range(3)) * 10
        told = "without doubt" if policy == policy.trusting() else "as it is by default"
        yield Line(f"causal-ts over shared tables, {told}", f"{time:.1f} µs a round", "under 20 µs", time < 20)


def _seconds(name: str, length: int, repeat: int) -> float:
    """Processor time of one run on Experiment 3's network."""
    return _timed(wd.policy(name), experiment_3(), length, repeat)


def _timed(policy: Policy, instance: Instance, length: int, repeat: int) -> float:
    key, marks = np.array([repeat, 1], np.uint64), log_spaced(length)
    run_rounds(policy, instance.network, instance.problem, 100, key, np.random.default_rng(0), log_spaced(100))
    before = process_time()
    run_rounds(policy, instance.network, instance.problem, length, key, np.random.default_rng(repeat), marks)
    return process_time() - before
