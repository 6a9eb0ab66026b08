"""``Problem(at_once=k)``: arms on several nodes; those that do the same are listed once, and too many are refused."""

from __future__ import annotations

import itertools
import pickle
from typing import TYPE_CHECKING

import numpy as np
import pytest

import whichdo as wd
from tests.estimate.oracle import semi_markovian
from whichdo.errors import ProblemError, TooLargeError
from whichdo.identification.pruning import minimal_sets
from whichdo.problem import Problem, do
from whichdo.problem_file import problem_from_json, problem_to_json, read_problem, write_problem
from whichdo.report.inspection import inspect_file

if TYPE_CHECKING:
    from pathlib import Path

GRAPH = "Z -> X -> Y; W -> Y; X <-> Y"


def test_pairs_are_made_and_one_with_an_idle_member_is_not() -> None:
    """Z acts through X alone: do(X=x, Z=z) is do(X=x)."""
    problem = Problem(GRAPH, "Y", at_once=2)
    assert problem.target_sets == (("Z",), ("X",), ("W",), ("W", "Z"), ("W", "X"))
    assert len(problem.arms) == 1 + 3 * 2 + 2 * 4
    assert dict(problem.merged) == {("X", "Z"): ("X",)}
    assert problem.at_once == 2


def test_values_that_can_be_set_are_those_of_intervene() -> None:
    problem = Problem(GRAPH, "Y", {"X": [1], "W": [0, 1]}, at_once=2)
    assert [str(arm) for arm in problem.arms] == [
        "do()", "do(X=1)", "do(W=0)", "do(W=1)", "do(W=0, X=1)", "do(W=1, X=1)",
    ]  # fmt: skip


def test_the_sets_are_the_minimal_ones_on_random_graphs() -> None:
    """Besides single nodes that do nothing, which stay listed as ever."""
    rng = np.random.default_rng(6)
    for _ in range(40):
        network = semi_markovian(rng, observed=(3, 6))
        reward = str(rng.choice(network.graph.nodes))
        for at_once in (1, 2, 3):
            problem = Problem(network.graph, reward, at_once=at_once)
            wanted = {each for each in minimal_sets(network.graph, reward) if 0 < len(each) <= at_once}
            assert {each for each in problem.target_sets if len(each) > 1 or each in wanted} == wanted
            every = [
                each
                for size in range(1, at_once + 1)
                for each in itertools.combinations(sorted(problem.intervene), size)
            ]
            assert set(every) == {*problem.target_sets, *problem.merged}


def test_an_arm_that_is_not_listed_says_which_one_it_is() -> None:
    problem = Problem(GRAPH, "Y", at_once=2)
    for ask in (lambda: problem.index(do(X=1, Z=0)), lambda: problem.arm("do(Z=0, X=1)")):
        with pytest.raises(ProblemError, match=r"do\(X=1, Z=0\) is not listed: it is the same as do\(X=1\)"):
            ask()


def test_the_problem_is_the_same_listed_pickled_and_written(tmp_path: Path) -> None:
    problem = Problem(GRAPH, "Y", at_once=2, costs={"do(W=1, X=1)": 5})
    copies = [pickle.loads(pickle.dumps(problem)), problem_from_json(problem_to_json(problem)), problem.but()]
    write_problem(problem, tmp_path / "problem.toml")
    copies += [read_problem(tmp_path / "problem.toml"), Problem(GRAPH, "Y", arms=problem.arms, costs=problem.costs)]
    for copy in copies:
        assert copy == problem
        assert copy.merged == problem.merged


def test_a_problem_file_may_say_at_once(tmp_path: Path) -> None:
    path = tmp_path / "problem.toml"
    path.write_text(f'graph = "{GRAPH}"\nreward = "Y"\nat_once = 2\n')
    assert read_problem(path) == Problem(GRAPH, "Y", at_once=2)
    path.write_text(f'graph = "{GRAPH}"\nreward = "Y"\nat_once = "two"\n')
    with pytest.raises(ProblemError, match="`at_once` is 'two'; it must be a whole number"):
        read_problem(path)


@pytest.mark.parametrize("at_once", [0, -1, 1.5, True, "2"])
def test_a_number_of_nodes_is_a_whole_number_from_1(at_once: int) -> None:
    with pytest.raises(ProblemError, match="it must be a whole number of nodes, at least 1"):
        Problem(GRAPH, "Y", at_once=at_once)


def test_arms_that_are_listed_need_no_limit() -> None:
    with pytest.raises(ProblemError, match="`at_once` and `arms` were both given"):
        Problem(GRAPH, "Y", arms=[do(X=1)], at_once=2)
    assert Problem(GRAPH, "Y", arms=[do(X=1), do(W=1, X=1)]).merged == {}


@pytest.mark.parametrize(
    ("nodes", "at_once", "words"), [(60, 4, "523,685 sets of up to 4 nodes"), (60, 3, "280,961 arms on up to 3 nodes")]
)
def test_more_arms_than_can_be_told_apart_are_refused(nodes: int, at_once: int, words: str) -> None:
    with pytest.raises(TooLargeError, match=words) as caught:
        Problem("; ".join(f"A{number} -> Y" for number in range(nodes)), "Y", at_once=at_once)
    assert "`at_once`" in str(caught.value)


def test_inspect_lists_what_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "problem.toml"
    path.write_text(f'graph = "{GRAPH}"\nreward = "Y"\nat_once = 2\n')
    found = inspect_file(path)
    assert "The same as arms on fewer nodes, and not listed: X with Z as X" in found.facts
    assert found.to_dict()["merged"] == [[["X", "Z"], ["X"]]]


def test_rank_estimates_them() -> None:
    rng = np.random.default_rng(1)
    data = {name: rng.integers(0, 2, 300) for name in "XWZY"}
    found = wd.rank(Problem("Z -> X -> Y; W -> Y", "Y", at_once=2), data)
    both = data["Y"][(data["X"] == 1) & (data["W"] == 1)]
    assert found[do(X=1, W=1)].estimate == pytest.approx(both.mean(), abs=2 / both.size)
