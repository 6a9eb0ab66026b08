"""Exact truth on large networks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.measure import Line, best, seconds
from tests.wheels import pgmpy_models
from whichdo.world.network import CausalNetwork

if TYPE_CHECKING:
    from collections.abc import Iterator


def run() -> Iterator[Line]:
    for name in ("alarm", "andes", "link", "munin"):
        network = CausalNetwork.read_bif(pgmpy_models() / f"{name}.bif.gz")
        reward = max(network.graph.nodes, key=lambda node: len(network.graph.ancestors([node])))
        levels = network.domains[reward]
        problem = network.problem(reward, rewards={level: j / (len(levels) - 1) for j, level in enumerate(levels)})
        (took,) = best(lambda n=network, p=problem: n.means(p), repeat=3)  # type: ignore[misc]
        yield Line(
            f"exact means of all {len(problem.arms):,} arms of {name} ({len(network.graph.nodes):,} nodes)",
            seconds(took),
            "under 10 s",
            took < 10,
        )
