"""One search for all edited graphs, against one search for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.checking.random_worlds import random_graph
from tests.soak import scaled
from whichdo.checking.choices import candidates_under
from whichdo.checking.edits import single_edits
from whichdo.checking.many_graphs import ManyGraphs, groups
from whichdo.formulas import FormulaMaker, Reading
from whichdo.graph.identify import Route
from whichdo.graph.targets import acting_targets
from whichdo.identification.forms import adjustment_sets
from whichdo.identification.reasons import complete_verdicts
from whichdo.problem import Problem, do

if TYPE_CHECKING:
    from whichdo.formulas import Formula
    from whichdo.graph.admg import CausalGraph


def edited_graphs(graph: CausalGraph) -> tuple[ManyGraphs, list[CausalGraph]]:
    edits = single_edits(graph, graph.ancestors(["Y"]))
    return ManyGraphs(graph, edits, "Y"), [*(edit.apply(graph) for edit in edits), graph]


def test_sets_to_adjust_for_are_those_of_each_graph() -> None:
    rng = np.random.default_rng(2)
    for _ in range(scaled(400, 12)):
        graph = random_graph(rng, int(rng.integers(2, 8)), 0.5, 0.25)
        many, graphs = edited_graphs(graph)
        names = [name for name in graph.ancestors(["Y"]) if name != "Y"]
        if not names:
            continue
        some = sorted(rng.choice(names, min(len(names), int(rng.integers(1, 3))), replace=False).tolist())
        places = [graph.index(name) for name in some]
        acting = many.acting(places)
        asked = many.all
        for place in places:
            asked &= acting[place]
        found: list[list[tuple[str, ...]]] = [[] for _ in graphs]
        for candidate in many.adjustment(places, asked).candidates():
            valid, members = candidate(asked)
            for given, having in groups(valid, members):
                for number in range(len(graphs)):
                    if having >> number & 1:
                        found[number].append(tuple(graph.nodes[place] for place in given))
        for number, each in enumerate(graphs):
            acts = acting_targets(each, tuple(some), "Y")
            assert {name for name in some if acting[graph.index(name)] >> number & 1} == set(acts)
            if acts == tuple(some):
                wanted = [set(candidate.given) for candidate in adjustment_sets(each, some, "Y")]
                unique = [set(given) for given in dict.fromkeys(map(frozenset, found[number]))]
                assert unique == wanted


def outline(formula: Formula) -> object:
    """A formula but for the order in which it names things."""
    laws = {(frozenset(each.nodes), frozenset(each.given)) for each in formula.estimand.conditionals}
    return formula.route, formula.targets, set(formula.given), formula.cells, formula.shared, laws


@pytest.mark.parametrize("reading", [Reading.ROBUST, Reading.GRAPH])
def test_formulas_are_those_of_each_graph(reading: Reading) -> None:
    """Single and joint arms; by adjustment, through c-components, by complete identification, and not at all."""
    rng = np.random.default_rng(3)
    for _ in range(scaled(300 if reading is Reading.ROBUST else 60, 3)):
        graph = random_graph(rng, int(rng.integers(3, 8)), 0.5, 0.3)
        others = [name for name in graph.nodes if name != "Y"]
        pair = rng.choice(others, 2, replace=False).tolist()
        problem = Problem(graph, "Y", arms=[*(do({name: 1}) for name in others), do(dict.fromkeys(pair, 1))])
        many, graphs = edited_graphs(graph)
        edits = single_edits(graph, graph.ancestors(["Y"]))
        found = candidates_under(problem, many, edits, reading, few=None)
        for each, formulas in zip(graphs, found, strict=True):
            verdicts = complete_verdicts(each, "Y", problem.target_sets)
            maker = FormulaMaker(each, "Y", problem.sizes, verdicts)
            for targets in problem.target_sets:
                wanted = maker.formulas(targets, reading)
                assert list(map(outline, formulas[targets])) == list(map(outline, wanted))


def test_formulas_that_are_never_taken_are_left_out() -> None:
    """Of several sets to adjust for only those up to the first with few cells."""
    problem = Problem("P -> X; P -> C; C -> Y; X -> Y", "Y", ["X"])
    many, _ = edited_graphs(problem.graph)
    edits = single_edits(problem.graph, problem.graph.nodes)
    today = candidates_under(problem, many, edits, Reading.ROBUST, few=64)[-1]["X",]
    every = candidates_under(problem, many, edits, Reading.ROBUST, few=None)[-1]["X",]
    assert [each.given for each in today] == [("C",)]
    assert [each.given for each in every] == [("C",), ("P",)]


def test_an_edge_that_is_dropped_may_leave_the_napkin() -> None:
    """No formula for X; without X <-> Y there is one by complete identification, and added edges never make one."""
    problem = Problem("W -> Z -> X -> Y; W <-> X; W <-> Y; X <-> Y", "Y", ["X"])
    edits = single_edits(problem.graph, problem.graph.nodes)
    found = candidates_under(problem, ManyGraphs(problem.graph, edits, "Y"), edits, Reading.ROBUST)
    routes = {str(edit): [each.route for each in formulas["X",]] for edit, formulas in zip(edits, found, strict=False)}
    assert routes["drop X <-> Y"] == [Route.GENERAL]
    assert not any(route for edit, route in routes.items() if edit.startswith("add"))
    assert found[-1] == {("X",): ()}
