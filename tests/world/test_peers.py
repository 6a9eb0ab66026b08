"""asia and alarm under do() agree with exact inference by pyAgrum, where the intervened node is cut by hand."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from tests.wheels import pgmpy_models
from whichdo.world.network import CausalNetwork

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(("name", "reward"), [("asia", "dysp"), ("alarm", "BP")])
def test_means_agree_with_pyagrum(name: str, reward: str, tmp_path: Path) -> None:
    pyagrum = pytest.importorskip("pyagrum")
    path = tmp_path / f"{name}.bif"
    path.write_bytes(gzip.decompress((pgmpy_models() / f"{name}.bif.gz").read_bytes()))
    network = CausalNetwork.read_bif(path)
    levels = network.domains[reward]
    problem = network.problem(reward, rewards={level: j / (len(levels) - 1) for j, level in enumerate(levels)})
    for arm, mean in zip(problem.arms, network.means(problem), strict=True):
        peer = pyagrum.loadBN(str(path))
        inference_evidence = {}
        for name, value in arm.settings.items():
            for parent in list(peer.parents(name)):
                peer.eraseArc(parent, peer.idFromName(name))
            # A node without parents that is observed is a node that was set; its own law must only allow the value.
            peer.cpt(name).fillWith([1 / len(network.domains[name])] * len(network.domains[name]))
            inference_evidence[name] = network.domains[name].index(value)
        inference = pyagrum.LazyPropagation(peer)
        inference.setEvidence(inference_evidence)
        inference.makeInference()
        law = inference.posterior(reward).tolist()
        assert mean == pytest.approx(sum(p * j / (len(levels) - 1) for j, p in enumerate(law)), abs=1e-6)
