"""Networks in BIF: the published ones load, and writing then reading changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.wheels import pgmpy_models
from tests.world.enumeration import random_network
from whichdo.errors import GraphSyntaxError, NetworkError, TooLargeError
from whichdo.world.mechanism import bernoulli
from whichdo.world.network import CausalNetwork

if TYPE_CHECKING:
    from pathlib import Path

#: Nodes, edges and values in all, as the bnlearn repository lists the first two.
PUBLISHED = {
    "alarm": (37, 46), "andes": (223, 338), "asia": (8, 8), "barley": (48, 84), "cancer": (5, 4), "child": (20, 25),
    "diabetes": (413, 602), "earthquake": (5, 4), "hailfinder": (56, 66), "hepar2": (70, 123), "insurance": (27, 52),
    "link": (724, 1125), "mildew": (35, 46), "munin": (1041, 1397), "munin1": (186, 273), "munin2": (1003, 1244),
    "munin3": (1041, 1306), "munin4": (1038, 1388), "pathfinder": (109, 195), "pigs": (441, 592), "sachs": (11, 17),
    "survey": (6, 6), "water": (32, 66), "win95pts": (76, 112),
}  # fmt: skip


@pytest.mark.slow("3 s: all 24 published networks; finds one whose tables are read wrongly")
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_networks_load(name: str) -> None:
    network = CausalNetwork.read_bif(pgmpy_models() / f"{name}.bif.gz")
    assert (len(network.graph.nodes), len(network.graph.directed)) == PUBLISHED[name]


def same(first: CausalNetwork, second: CausalNetwork) -> bool:
    return (
        first.full == second.full
        and first.hidden == second.hidden
        and dict(first.domains) == dict(second.domains)
        and all(
            np.array_equal(np.broadcast_to(first.mechanisms[name].table, table.table.shape), table.table)
            for name, table in second.mechanisms.items()
        )
    )


def test_write_then_read_is_the_identity(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    for trial in range(50):
        network = random_network(rng)
        if any(
            len(m.inputs) < len(m.parents) or list(m.inputs) != list(m.parents) for m in network.mechanisms.values()
        ):
            continue
        path = tmp_path / f"{trial}.bif.gz"
        network.write_bif(path)
        assert same(network, CausalNetwork.read_bif(path))


def test_asia_survives_a_round_trip(tmp_path: Path) -> None:
    network = CausalNetwork.read_bif(pgmpy_models() / "asia.bif.gz", hidden={"smoke"})
    network.write_bif(tmp_path / "asia.bif")
    again = CausalNetwork.read_bif(tmp_path / "asia.bif")
    assert same(network, again)
    assert network.graph.bidirected == {frozenset({"lung", "bronc"})}


def test_parents_that_the_table_ignores_are_written_out(tmp_path: Path) -> None:
    network = CausalNetwork(
        {
            "A": bernoulli((), 0.5),
            "B": bernoulli((), 0.5),
            "Y": bernoulli(("B",), [0.1, 0.9], parents=("A", "B")),
        }
    )
    network.write_bif(tmp_path / "n.bif")
    again = CausalNetwork.read_bif(tmp_path / "n.bif")
    assert again.graph == network.graph
    assert again.mechanisms["Y"].table[:, :, 1].tolist() == [[0.1, 0.9], [0.1, 0.9]]


def test_a_hundred_parents_are_too_many_for_bif(tmp_path: Path) -> None:
    mechanisms = {f"X{j}": bernoulli((), 0.5) for j in range(100)}
    mechanisms["Y"] = bernoulli(("X1",), [0.1, 0.9], parents=tuple(mechanisms))
    with pytest.raises(TooLargeError, match='BIF writes a table over all 100 parents of "Y"'):
        CausalNetwork(mechanisms).write_bif(tmp_path / "n.bif")
    assert not (tmp_path / "n.bif").exists()


def test_structure_alone_is_no_network(tmp_path: Path) -> None:
    path = tmp_path / "bare.bif"
    path.write_text("network n { }\nvariable X { type discrete [ 2 ] { 0, 1 }; }\nprobability ( X ) { }\n")
    with pytest.raises(NetworkError, match=r'bare\.bif gives no probabilities for "X"; it can be read as a graph only'):
        CausalNetwork.read_bif(path)


def test_an_error_names_the_file_and_the_line(tmp_path: Path) -> None:
    path = tmp_path / "odd.bif"
    path.write_text("network n { }\nvariable X { type discrete [ 3 ] { 0, 1 }; }\nprobability ( X ) { table 1, 0; }\n")
    with pytest.raises(GraphSyntaxError, match=r"odd\.bif, line 2"):
        CausalNetwork.read_bif(path)
