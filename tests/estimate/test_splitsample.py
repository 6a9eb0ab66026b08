"""CRM-ALG's draws from looks: their exact law, and look by look those of the literal twin."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.estimate.draws_twin import UNIT, split_draws
from whichdo.estimate.splitsample import SIZE, SUM, Split, look, parents_of, split_sample, with_room
from whichdo.evidence import utilities
from whichdo.problem import Problem, do

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.problem import Arm

BACKDOOR = Problem("Z -> X; Z -> Y; X -> Y", "Y", ["X"])
Z1 = Fraction(1, 3)
X1 = (Fraction(1, 4), Fraction(3, 5))
Y1 = ((Fraction(1, 2), Fraction(1, 7)), (Fraction(2, 3), Fraction(4, 5)))
"""P(Z=1), P(X=1 | Z), P(Y=1 | Z, X)."""


def chance(z: int, x: int, y: int) -> Fraction:
    parts = ((Z1, z), (X1[z], x), (Y1[z][x], y))
    found = Fraction(1)
    for one, value in parts:
        found *= one if value else 1 - one
    return found


def truth(x: int) -> Fraction:
    """E[Y | do(X=x)] by adjusting for Z."""
    return (1 - Z1) * Y1[0][x] + Z1 * Y1[1][x]


def every_data_set(odd: int, even: int) -> list[tuple[Fraction, list[dict[str, int]]]]:
    """All looks with their probability; of the even ones only Z is told apart, as nothing else of them is read."""
    cells = list(product((0, 1), repeat=3))
    found = []
    for seen in product(cells, repeat=odd):
        p_odd = Fraction(1)
        for cell in seen:
            p_odd *= chance(*cell)
        for shares in product((0, 1), repeat=even):
            p = p_odd
            looks = []
            for j in range(odd + even):
                z, x, y = seen[j // 2] if j % 2 == 0 else (shares[j // 2], 0, 0)
                looks.append({"Z": z, "X": x, "Y": y})
                p *= 1 if j % 2 == 0 else (Z1 if z else 1 - Z1)
            found.append((p, looks))
    return found


def copied(split: Split) -> Split:
    return Split._make(each.copy() for each in split)


def compiled_draws(problem: Problem, looks: Sequence[dict[str, int]]) -> tuple[list[list[int]], list[list[float]]]:
    """After each look, the number of draws of every arm and their sum."""
    columns = tuple(problem.graph.nodes)
    columns = (*(name for name in columns if name != problem.reward), problem.reward)
    split, found = split_sample(problem, columns), np.zeros((2, len(problem.arms)))
    sizes, sums = [], []
    for each in looks:
        split = with_room(split, 1)
        look(split, np.array([each[name] for name in columns], np.uint8), utilities(problem), found)
        sizes.append(found[SIZE].astype(int).tolist())
        sums.append(found[SUM].tolist())
    return sizes, sums


@pytest.mark.slow("2 s: the exact law over all data sets of a size; finds draws with a bias")
@pytest.mark.parametrize("arm", [do(X=0), do(X=1)], ids=str)
def test_given_their_number_the_draws_have_the_mean_of_the_arm_exactly(arm: Arm) -> None:
    """Over all data sets of 7 looks: E[Y_1 + ... + Y_C | C] = C * E[Y | do(X=x)], in rational numbers.

    This is the paper's lemma as it holds: for a number of looks that is fixed beforehand.
    """
    position = BACKDOOR.index(arm)
    weight, total = dict.fromkeys(range(3), Fraction(0)), dict.fromkeys(range(3), Fraction(0))
    cells, columns = list(product((0, 1), repeat=3)), ("Z", "X", "Y")
    utility = utilities(BACKDOOR)

    def on(split: Split, found: np.ndarray, number: int, p: Fraction) -> None:
        if number == 7:
            draws = int(found[SIZE, position])
            weight[draws] += p
            total[draws] += p * Fraction(float(found[SUM, position])).limit_denominator(12)
            return
        for cell in cells if number % 2 == 0 else ((0, 0, 0), (1, 0, 0)):
            one = chance(*cell) if number % 2 == 0 else (Z1 if cell[0] else 1 - Z1)
            after, then = copied(split), found.copy()
            look(after, np.array(cell, np.uint8), utility, then)
            on(after, then, number + 1, p * one)

    on(split_sample(BACKDOOR, columns), np.zeros((2, 3)), 0, Fraction(1))
    assert sum(weight.values()) == 1
    assert weight[1] > 0
    assert weight[2] > 0
    for draws in range(3):
        assert total[draws] == draws * truth(int(arm.settings.get("X", 0))) * weight[draws]


@pytest.mark.slow("3 s: the exact law of every draw over all data sets of a size; finds draws with a bias")
def test_every_single_draw_has_the_mean_and_without_the_split_it_has_not() -> None:
    """The twin, over all data sets of 4 odd and 3 even looks: E[Y_c; C >= c] = mu * P(C >= c)."""
    seen = every_data_set(4, 3)
    for split in (True, False):
        weight, total = [Fraction(0)] * 2, [Fraction(0)] * 2
        for p, looks in seen:
            for c, draw in enumerate(split_draws(BACKDOOR, do(X=1), looks, split=split)):
                weight[c] += p
                total[c] += p * Fraction(draw) / UNIT
        right = [total[c] == truth(1) * weight[c] for c in range(2)]
        assert right == [split, split]


@pytest.mark.parametrize(
    ("graph", "domains"),
    [
        ("Z -> X; Z -> Y; X -> Y", {}),
        ("A -> X; B -> X; A -> Y; X -> Y", {"A": (0, 1, 2), "X": (0, 1, 2), "Y": (0, 1)}),
        ("A -> X; A -> Y; B; X -> Y", {"A": tuple(range(20))}),
    ],
)
def test_look_by_look_the_draws_of_the_twin(graph: str, domains: dict[str, tuple[int, ...]]) -> None:
    """Also where blocks are long, and where one value is so rare that their size moves at almost every look."""
    problem = Problem(graph, "Y", domains=domains)
    rng = np.random.default_rng(5)
    for rare in (0.5, 0.04):
        looks = []
        for _ in range(700):
            row = {name: int(rng.integers(len(problem.domains[name]))) for name in problem.graph.nodes}
            looks.append({name: code if rng.random() < rare else min(code, 1) for name, code in row.items()})
        sizes, sums = compiled_draws(problem, looks)
        for number in [*range(1, 200, 3), *range(201, 701, 50)]:
            for position, arm in enumerate(problem.arms[1:], start=1):
                draws = split_draws(problem, arm, looks[:number])
                if problem.verdicts[arm.targets].route != "same":
                    assert sizes[number - 1][position] == len(draws)
                    assert sums[number - 1][position] == pytest.approx(float(sum(draws) / UNIT), abs=1e-9)


def test_which_nodes_are_read() -> None:
    """All parents; not what does not act on the reward; nothing where hidden causes are."""
    assert parents_of(Problem("A -> X; B -> X; X -> Y; Y -> D", "Y")) == {"A": (), "B": (), "X": ("A", "B")}
    assert parents_of(Problem("X -> M; M -> Y; X <-> Y", "Y")) == {}


def test_a_node_with_very_many_parents_takes_no_memory() -> None:
    causes = "; ".join(f"P{j} -> X" for j in range(60))
    problem = Problem(f"{causes}; X -> Y", "Y", ["X"])
    assert parents_of(problem) == {}
