"""The formulas of every arm under every edit of the graph.

By the robust reading most arms are estimated by adjustment, and the sets to adjust for are found for
all edited graphs at once (`whichdo.checking.many_graphs`).  Where none is valid in a graph, the
formula goes through the c-components of the targets, and depends on these, their parents and the
order of their nodes alone: an edit that touches none of this leaves it as it is.  And what looking
cannot settle in a graph it cannot settle in one with more edges, since every model of the first is a
model of the second.  The few graphs that are left are asked one by one.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from whichdo.checking.many_graphs import groups
from whichdo.formulas import FEW_CELLS, Formula, FormulaMaker, Reading
from whichdo.identification.reasons import complete_verdicts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.checking.edits import Edit
    from whichdo.checking.many_graphs import ByNode, Graphs, ManyGraphs
    from whichdo.graph.admg import CausalGraph
    from whichdo.graph.targets import Targets
    from whichdo.problem import Problem


Candidates = tuple[Formula, ...]
"""Formulas for one target set in one graph, best first."""


def candidates_under(
    problem: Problem, many: ManyGraphs, edits: Sequence[Edit], reading: Reading, *, few: float | None = FEW_CELLS
) -> list[dict[Targets, Candidates]]:
    """For each edit, and last for the graph as it is, the formulas of each target set.

    As `whichdo.formulas.formulas` lists them for the edited graph, up to the first that has ``few`` cells: it is taken
    whatever follows.  None: all of them.  Most graphs agree, and share one list then.
    """
    if reading is Reading.ROBUST:
        return _Robust(problem, many, edits, few).all()
    found = []
    for graph in (*(edit.apply(problem.graph) for edit in edits), problem.graph):
        verdicts = complete_verdicts(graph, problem.reward, problem.target_sets)
        maker = FormulaMaker(graph, problem.reward, problem.sizes, verdicts)
        found.append({targets: maker.formulas(targets, reading) for targets in problem.target_sets})
    return found


class _Robust:
    """The formulas of the robust reading."""

    def __init__(self, problem: Problem, many: ManyGraphs, edits: Sequence[Edit], few: float | None) -> None:
        self.problem, self.many, self.edits, self.few = problem, many, edits, few
        self.graph = problem.graph
        self.today = FormulaMaker(self.graph, problem.reward, problem.sizes, problem.verdicts)

    def all(self) -> list[dict[Targets, Candidates]]:
        """Every target set in every graph."""
        sets = self.problem.target_sets
        columns = [self.formulas(targets) for targets in sets]
        return [
            {targets: column[number] for targets, column in zip(sets, columns, strict=True)}
            for number in range(self.many.number)
        ]

    def formulas(self, targets: Targets) -> list[Candidates]:
        """Those of one target set, an entry for each graph; in each its arms equal those on the targets that act."""
        many = self.many
        found: list[Candidates] = [(self.today.same(),)] * many.number
        inside = [place for place in map(self.graph.index, targets) if place in many.parents]
        for acting, graphs in groups(many.all, many.acting(inside)):
            if acting:
                names = tuple(sorted(self.graph.nodes[place] for place in acting))
                for number, candidates in self.of_acting(names, graphs).items():
                    found[number] = candidates
        return found

    def of_acting(self, targets: Targets, asked: Graphs) -> dict[int, Candidates]:
        """Those of targets that all act on the reward in the graphs that are ``asked``."""
        found: dict[int, Candidates] = dict.fromkeys(_numbers(asked), ())
        still, without = asked, asked
        for candidate in self.many.adjustment(map(self.graph.index, targets), asked).candidates():
            valid, members = candidate(still)
            without &= ~valid
            for given, graphs in groups(valid, members):
                formula = self.today.adjusting(targets, [self.graph.nodes[place] for place in given])
                longer: dict[int, Candidates] = {}  # by what was there, so that graphs that agree share one list
                for number in _numbers(graphs):
                    before = found[number]
                    if id(before) not in longer:
                        longer[id(before)] = before if formula in before else (*before, formula)
                    found[number] = longer[id(before)]
                if self.few is not None and formula.cells <= self.few:
                    still &= ~graphs
            if not still:
                break
        return found | self.without_adjustment(targets, without) if without else found

    def without_adjustment(self, targets: Targets, asked: Graphs) -> dict[int, Candidates]:
        """Those where no set is valid: by the weight form, by complete identification, or none."""
        spoiled, signature = self._components(targets, asked)
        found: dict[int, Candidates] = {}
        for parts, graphs in groups(asked & ~spoiled, signature):
            by_order: dict[tuple[int, ...], Candidates] = {}
            tied = [place for place in parts if place >= 0]
            for number in _numbers(graphs):
                order = self._order(number, tied)
                if order not in by_order or not by_order[order][0].shared:  # one by every node's law is of one graph
                    by_order[order] = (self._maker(number).without_adjustment(targets),)
                found[number] = by_order[order]
        if spoiled:
            lost = not self.one(targets, self.many.number - 1)
            for number in _numbers(asked & spoiled):
                adds = number < len(self.edits) and self.edits[number].adds
                found[number] = () if lost and adds else self.one(targets, number)
        return found

    def _components(self, targets: Targets, asked: Graphs) -> tuple[Graphs, ByNode]:
        """Where the weight form is not valid, and what its formula depends on where it is.

        That is the c-components of the targets, by the nodes in them, and all edges from these and into these,
        numbered below 0.
        """
        many, spoiled = self.many, 0
        signature: ByNode = {}

        def note(key: int, graphs: Graphs) -> None:
            signature[key] = signature.get(key, 0) | graphs

        places, size = [self.graph.index(name) for name in targets], len(self.graph.nodes)
        for target in places:
            tied = many.tied([target])
            for child, graphs in many.children[target].onward(asked):
                spoiled |= graphs & tied.get(child, 0) if child not in places else 0
            for node, graphs in tied.items():
                note(node, graphs & asked)
                for parent, more in many.parents[node].onward(graphs & asked):
                    note(-1 - (node * size + parent), more)
                for sibling, more in many.siblings[node].onward(graphs & asked):
                    note(-1 - size * size - (node * size + sibling), more & many.ancestors.get(sibling, 0))
        return spoiled, signature

    def _order(self, number: int, places: Sequence[int]) -> tuple[int, ...]:
        """Some nodes in the order of one of the graphs."""
        edit = self.edits[number] if number < len(self.edits) else None
        if edit is None or edit.hidden or not edit.adds or self.graph.index(edit.tail) < self.graph.index(edit.head):
            return tuple(places)
        graph = self.edited(number)
        return tuple(sorted(places, key=lambda place: graph.index(self.graph.nodes[place])))

    def one(self, targets: Targets, number: int) -> Candidates:
        """The formulas of one target set in one graph, in which no set to adjust for is valid."""
        verdict = complete_verdicts(self.edited(number), self.problem.reward, [targets])[targets]
        return (self._maker(number).without_adjustment(targets),) if verdict.identified else ()

    def _maker(self, number: int) -> FormulaMaker:
        return FormulaMaker(self.edited(number), self.problem.reward, self.problem.sizes, {})

    def edited(self, number: int) -> CausalGraph:
        """One of the graphs, made when it is first needed."""
        if number not in self._graphs:
            self._graphs[number] = self.edits[number].apply(self.graph) if number < len(self.edits) else self.graph
        return self._graphs[number]

    @cached_property
    def _graphs(self) -> dict[int, CausalGraph]:
        return {}


def _numbers(graphs: Graphs) -> list[int]:
    """The numbers of some graphs."""
    octets = np.frombuffer(graphs.to_bytes(-(-graphs.bit_length() // 8), "little"), np.uint8)
    found: list[int] = np.flatnonzero(np.unpackbits(octets, bitorder="little")).tolist()
    return found
