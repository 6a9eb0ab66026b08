"""Draws through factor networks: their exact law, and look by look those of the literal twin."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.estimate.draws_twin import UNIT, tape_draws
from whichdo.estimate.splitsample import SIZE, SUM
from whichdo.estimate.tape import Tape, networks_of, tape, tape_look, unseen_on_tape, with_tape
from whichdo.evidence import utilities
from whichdo.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

Cell = tuple[int, ...]

X1 = Fraction(2, 5)
M1 = (Fraction(1, 4), Fraction(5, 7))
Y1 = ((Fraction(1, 2), Fraction(1, 9)), (Fraction(2, 3), Fraction(4, 5)))
"""P(X=1), P(M=1 | X), P(Y=1 | X, M): any such law can come from X -> M -> Y with X <-> Y."""


def of(one: Fraction, value: int) -> Fraction:
    return one if value else 1 - one


def chance(x: int, m: int, y: int) -> Fraction:
    return of(X1, x) * of(M1[x], m) * of(Y1[x][m], y)


def law_of_draws(
    problem: Problem, position: int, design: Sequence[Sequence[tuple[Cell, Fraction]]]
) -> tuple[dict[int, Fraction], dict[int, Fraction]]:
    """P(C) and E[sum of draws; C] of an arm; the design lists for each look what it may be, with probabilities."""
    weight: dict[int, Fraction] = {}
    total: dict[int, Fraction] = {}
    utility = utilities(problem)

    def on(kept: Tape, found: np.ndarray, number: int, p: Fraction) -> None:
        if number == len(design):
            draws = int(found[SIZE, position])
            weight[draws] = weight.get(draws, Fraction(0)) + p
            total[draws] = total.get(draws, Fraction(0)) + p * int(found[SUM, position])
            return
        for cell, one in design[number]:
            after, then = Tape._make(each.copy() for each in kept), found.copy()
            tape_look(after, np.array(cell, np.uint8), utility, then)
            on(after, then, number + 1, p * one)

    on(tape(problem, ("X", "M", "Y")), np.zeros((2, len(problem.arms))), 0, Fraction(1))
    return weight, total


@pytest.mark.slow("2 s: the exact law over all data sets of a size; finds draws with a bias")
@pytest.mark.parametrize("x", [0, 1])
def test_a_draw_through_the_front_door_has_the_mean_of_the_arm_exactly(x: int) -> None:
    """Twelve looks, dealt to X, M and Y in turn; the four of Y show every setting of X and M in one data set in many.

    Of looks dealt to X only X is read, and after the first draw's nothing is: those are held fixed.  mu(x) is
    sum over m of P(m | x) times sum over x' of P(x') P(Y=1 | x', m).
    """
    problem = Problem("X -> M; M -> Y; X <-> Y", "Y", ["X"])
    dealt_x = [((v, 0, 0), of(X1, v)) for v in (0, 1)]
    dealt_m = [((v, m, 0), of(X1, v) * of(M1[v], m)) for v, m in product((0, 1), repeat=2)]
    dealt_y = [((v, m, y), chance(v, m, y)) for v, m, y in product((0, 1), repeat=3)]
    idle = [((1 - x, 0, 0), Fraction(1))]
    weight, total = law_of_draws(problem, 1 + x, [dealt_x, dealt_m, dealt_y, *[idle, idle, dealt_y] * 3])
    truth = sum(of(M1[x], m) * sum(of(X1, v) * Y1[v][m] for v in (0, 1)) for m in (0, 1))
    assert sum(weight.values()) == 1
    assert set(weight) == {0, 1}
    assert total[1] == truth * weight[1]
    naive = sum(of(M1[x], m) * Y1[x][m] for m in (0, 1))
    assert truth != naive


@pytest.mark.slow("2 s: the exact law over all data sets of a size; finds draws that depend on each other")
def test_two_draws_have_twice_the_mean_exactly() -> None:
    """X <-> M and both act on Y: do(X=1) deals to M and to Y given both; over all data sets of eight looks."""
    problem = Problem("M; X; X -> Y; M -> Y; X <-> M", "Y", ["X"])
    factors = networks_of(problem)["X"].factors
    assert [(factor.nodes, set(factor.given)) for factor, _ in factors] == [(("M",), set()), (("Y",), {"X", "M"})]
    dealt_m = [((0, m, 0), sum((of(X1, v) * of(M1[v], m) for v in (0, 1)), Fraction(0))) for m in (0, 1)]
    dealt_y = [((v, m, y), chance(v, m, y)) for v, m, y in product((0, 1), repeat=3)]
    weight, total = law_of_draws(problem, 2, [dealt_m, dealt_y] * 4)
    truth = sum((p * Y1[1][cell[1]] for cell, p in dealt_m), Fraction(0))
    assert set(weight) == {0, 1, 2}
    assert [total[c] for c in range(3)] == [c * truth * weight[c] for c in range(3)]


@pytest.mark.parametrize(
    ("graph", "domains"),
    [
        ("X -> M; M -> Y; X <-> Y", {}),
        ("A -> X; X -> M; M -> Y; X <-> Y; A -> Y", {"X": (0, 1, 2), "Y": (0, 1)}),
        ("X -> Y; A -> Y; X <-> A; B -> A", {"A": (0, 1, 2), "Y": (0, 1)}),
        ("X -> M; M -> A; X <-> A; A -> Y; B <-> Y; X -> D", {}),
    ],
)
def test_look_by_look_the_draws_of_the_twin(graph: str, domains: dict[str, tuple[int, ...]]) -> None:
    problem = Problem(graph, "Y", domains=domains)
    columns = (*(name for name in problem.graph.nodes if name != "Y"), "Y")
    rng = np.random.default_rng(5)
    kept, found = tape(problem, columns), np.zeros((2, len(problem.arms)))
    looks: list[dict[str, int]] = []
    read = {problem.index(arm) for arm in problem.arms if set(arm.targets) & set(networks_of(problem))}
    for number in range(1, 501):
        looks.append({name: int(rng.integers(len(problem.domains[name]))) for name in columns})
        kept = with_tape(kept, 1)
        tape_look(kept, np.array([looks[-1][name] for name in columns], np.uint8), utilities(problem), found)
        if number % 13 == 0 or number == 500:
            for position in read:
                draws = tape_draws(problem, problem.arms[position], looks)
                assert found[SIZE, position] == len(draws)
                assert found[SUM, position] == pytest.approx(float(sum(draws)) / UNIT)
    assert read
    assert not unseen_on_tape(problem, kept)
    assert all(found[SIZE, position] > 3 for position in read)


def test_which_nodes_are_read() -> None:
    """None without hidden causes; not what looking cannot settle, nor what does not act on the reward."""
    assert networks_of(Problem("X -> Y; Z -> X", "Y")) == {}
    assert set(networks_of(Problem("X -> Y; X <-> Y; Z -> X; Y -> D", "Y"))) == {"Z"}
