"""Graphs to draw: the small ones of the literature and some that are awkward."""

from __future__ import annotations

from random import Random

from whichdo.graph.admg import CausalGraph

LONG = "the number of cigarettes smoked per day during the third trimester of the pregnancy as self-reported"
HOSTILE = ('<b>&"x"</b>', "a'b]]>", "</svg><script>", "&amp;", "--><!--")


def random_graph(nodes: int, directed: int, hidden: int, seed: int) -> CausalGraph:
    rng = Random(seed)
    names = [f"V{number}" for number in range(nodes)]

    def pairs(count: int) -> list[tuple[str, str]]:
        found: dict[tuple[str, str], None] = {}
        while len(found) < count:
            low, high = sorted(rng.sample(range(nodes), 2))
            found[names[low], names[high]] = None
        return list(found)

    return CausalGraph(names, pairs(directed), pairs(hidden))


FRONT_DOOR = CausalGraph(directed=[("X", "M"), ("M", "Y")], bidirected=[("X", "Y")])
BOW = CausalGraph(directed=[("X", "Y")], bidirected=[("X", "Y")])
EXPERIMENT_3 = CausalGraph(directed=[("X1", "X2"), ("X1", "X3"), ("X2", "Y"), ("X3", "Y")])

GRAPHS: dict[str, CausalGraph] = {
    "front-door": FRONT_DOOR,
    "bow": BOW,
    "napkin": CausalGraph(directed=[("W1", "W2"), ("W2", "X"), ("X", "Y")], bidirected=[("W1", "X"), ("W1", "Y")]),
    "m-bias": CausalGraph(directed=[("X", "Y")], bidirected=[("X", "M"), ("M", "Y")]),
    "experiment 3": EXPERIMENT_3,
    "infection": CausalGraph(
        directed=[
            ("age", "vaccination"),
            ("age", "infection"),
            ("age", "work from home"),
            ("work from home", "social distancing"),
            ("social distancing", "infection"),
            ("face mask", "infection"),
            ("vaccination", "infection"),
            ("infection", "hospital stay"),
            ("age", "hospital stay"),
        ],
        bidirected=[("face mask", "social distancing"), ("age", "face mask"), ("work from home", "infection")],
    ),
    "one node": CausalGraph(["Y"]),
    "two isolated": CausalGraph(["A", "B"]),
    "two parts": CausalGraph(["lonely"], [("X", "Y"), ("Z", "Y"), ("P", "Q")]),
    "long names": CausalGraph(directed=[(LONG, "W" * 100), ("W" * 100, "y")], bidirected=[(LONG, "y")]),
    "hostile names": CausalGraph(directed=[(name, "Y") for name in HOSTILE], bidirected=[(HOSTILE[0], HOSTILE[4])]),
    "no arrows": CausalGraph(bidirected=[("A", "B"), ("B", "C"), ("A", "C")]),
    "ten siblings": CausalGraph(bidirected=[("S", f"T{number}") for number in range(10)]),
    "random 30": random_graph(30, 45, 6, seed=1),
    "random 60": random_graph(60, 110, 12, seed=2),
}
