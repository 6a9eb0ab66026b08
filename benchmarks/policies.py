"""Whole simulated runs, and the same run by straightforward code."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from benchmarks.measure import Line, seconds
from benchmarks.straightforward import Model, srm, successive_rejects, uniform
from whichdo.policy_names import policy
from whichdo.simulation import simulate
from whichdo.world.instances import experiment_1, experiment_4

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whichdo.world.instances import Instance

BUDGET = 2500
REPEAT = 15
TRUSTING = "warm-halving without doubt"
"""As the paper's experiments are run with it: their graph is right by construction."""


def run() -> Iterator[Line]:
    wide, narrow = experiment_1(count=1, seed=0)[0], experiment_4(count=1, seed=0)[0]
    found = {}
    for name, instance, number, asked, bound in (
        ("srm", wide, 500, "under 0.5 ms (goal 0.25 ms)", 0.5e-3),
        ("ue", wide, 500, "(no bound)", None),
        ("sr", wide, 500, "under 0.15 ms", 0.15e-3),
        ("sh", wide, 500, "under 0.15 ms", 0.15e-3),
        ("warm-halving", wide, 500, "(no bound)", None),
        (TRUSTING, wide, 500, "under 0.15 ms", 0.15e-3),
        ("cb", narrow, 100, "under 2 ms", 2e-3),
    ):
        took, busy = _per_run(name, instance, number)
        found[name] = busy
        where = "Experiment 1, N=100" if instance is wide else "Experiment 4, N=10"
        yield Line(
            f"a run of {name}, {where}, T={BUDGET:,}",
            f"{seconds(took)} ({seconds(busy)} of processor time)",
            asked,
            bound is None or busy < bound,
        )
    for name, peer, least in (("srm", srm, 5000), ("sr", successive_rejects, 0), ("ue", uniform, 0)):
        theirs = min(_busy(lambda p=peer: p(Model.of(wide.network, "Y", 1), BUDGET))[1] for _ in range(3))  # type: ignore[misc]
        yield Line(
            f"the same run of {name} in straightforward Python (rows in a frame, a call a pull)",
            f"{seconds(theirs)} of processor time: {theirs / found[name]:,.0f} times",
            f"at least {least:,} times" if least else "(no bound)",
            theirs / found[name] >= least,
        )


def _per_run(name: str, instance: Instance, number: int) -> tuple[float, float]:
    """The shortest time of a run in seconds, by the clock and by the processor; the network is laid out before."""
    tested = policy("warm-halving").trusting() if name == TRUSTING else policy(name)

    def many() -> None:
        simulate(tested, instance.network, instance.problem, horizon=BUDGET, runs=number, seed=1)

    many()
    times = [_busy(many) for _ in range(REPEAT)]
    return min(clock for clock, _ in times) / number, min(busy for _, busy in times) / number


def _busy(job: Callable[[], object]) -> tuple[float, float]:
    """How long a job takes, by the clock and by the processor (which does not mind who else uses the machine)."""
    clock, busy = time.perf_counter(), time.process_time()
    job()
    return time.perf_counter() - clock, time.process_time() - busy
