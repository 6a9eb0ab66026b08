"""Problems that list their arms: what is accepted, what is refused, and what is kept, equal and written."""

from __future__ import annotations

import json
import pickle
from typing import TYPE_CHECKING, Any

import pytest

from whichdo.errors import ProblemError, TooLargeError
from whichdo.graph.identify import Route
from whichdo.problem import MAX_ARMS, Problem, do
from whichdo.problem_file import problem_from_json, problem_to_json, problem_to_toml, read_problem, write_problem

if TYPE_CHECKING:
    from pathlib import Path

GRAPH = "W -> X; X -> Y; Z -> Y; X <-> Z"
DOMAINS = {"Z": ["low", "mid", "high"]}
ARMS = [do(X=1, Z="low"), do(X=1), do(Z="high", X=0), do(W=0)]


def listed(**more: Any) -> Problem:
    return Problem(GRAPH, "Y", domains=DOMAINS, **({"arms": ARMS} | more))


def refused(*arms: Any, **more: Any) -> str:
    with pytest.raises(ProblemError) as caught:
        listed(arms=arms, **more)
    return str(caught.value)


def test_do_is_always_there_and_comes_first() -> None:
    assert listed().arms == (do(), *ARMS)
    assert listed(arms=[*ARMS, do()]).arms == (do(), *ARMS)
    assert listed(arms=[{"X": 1}, {}]).arms == (do(), do(X=1))


def test_target_sets_come_in_order_and_what_can_be_set_follows_from_the_arms() -> None:
    problem = listed()
    assert problem.target_sets == (("X", "Z"), ("X",), ("W",))
    assert dict(problem.positions) == {("X", "Z"): (1, 3), ("X",): (2,), ("W",): (4,)}
    assert dict(problem.intervene) == {"X": (0, 1), "Z": ("low", "high"), "W": (0,)}
    assert problem.first_joint == do(X=1, Z="low")
    assert Problem(GRAPH, "Y", ["X", "W"]).target_sets == (("X",), ("W",))
    assert Problem(GRAPH, "Y", ["X", "W"]).first_joint is None


def test_verdicts_are_found_by_one_name_or_by_several_in_any_order() -> None:
    verdicts: Any = listed().verdicts
    assert verdicts["X"].route is verdicts["X",].route is Route.COMPONENT
    assert verdicts["X", "Z"] is verdicts["Z", "X"] is verdicts[("Z", "X", "Z")]
    assert verdicts["X", "Z"].targets == ("X", "Z")
    assert list(verdicts) == [("X", "Z"), ("X",), ("W",)]
    assert "X" in verdicts
    assert ("Z", "X") in verdicts
    assert "Z" not in verdicts
    assert 5 not in verdicts
    assert verdicts.get("Z") is None
    with pytest.raises(KeyError, match='no arm sets "Z"; arms set: X and Z; X; W'):
        verdicts["Z"]
    with pytest.raises(KeyError, match='no arm sets "W" and "X" together'):
        verdicts["W", "X"]


def test_what_cannot_be_listed_is_refused_by_name() -> None:
    assert refused(do(Q=1)) == 'In `arms`, do(Q=1) sets a node that cannot be set: "Q" is not in the graph.'
    assert refused(do(X=1, Y=0)) == (
        'In `arms`, do(X=1, Y=0) sets the reward "Y", which is what the arms are to improve. Remove this arm.'
    )
    assert refused(do(X=1, Z="lo")) == ('In `arms`, do(X=1, Z=lo) sets "Z" to "lo". Allowed: low, mid and high.')
    assert refused(do(X=1, Z="low"), do(Z="low", X=1)) == (
        "`arms` lists do(X=1, Z=low) twice (the order of names does not matter). Keep one of the two."
    )
    assert refused(do(X=1), do(), do()) == (
        "`arms` lists do() twice (the order of names does not matter). Keep one of the two."
    )
    assert refused("do(X=1)") == '`arms` lists "do(X=1)" as number 1; list arms such as do(X=1) or do(X=1, Z=0).'
    assert refused() == refused(do()) == "`arms` lists nothing to do: give at least one arm such as do(X=1)."
    assert refused(*ARMS, intervene=["X"]).startswith("`intervene` and `arms` were both given.")
    with pytest.raises(ProblemError, match='`arms` is "5"; give a list of arms'):
        listed(arms=5)


def test_two_arms_that_read_alike_are_refused() -> None:
    domains = {"A": ["1", "1,B=2"], "B": ["2", "2,C=3"], "C": ["3"]}
    arms = [do(A="1,B=2", C="3"), do(A="1", B="2,C=3")]
    with pytest.raises(ProblemError, match=r"Two arms read alike, .*Rename a node or a value"):
        Problem("A -> Y; B -> Y; C -> Y", "Y", arms=arms, domains=domains)


def test_too_many_arms_are_refused_with_the_number_and_ways_out() -> None:
    domains = {f"V{j}": list(range(256)) for j in range(400)}
    text = "; ".join(f"{name} -> Y" for name in domains)
    with pytest.raises(
        TooLargeError, match=rf"There would be 102,401 arms; {MAX_ARMS:,} are allowed.*`intervene`.*`arms`"
    ):
        Problem(text, "Y", domains=domains)
    with pytest.raises(TooLargeError, match="There would be 100,001 arms"):
        Problem("X -> Y", "Y", arms=[do(X=1)] * (MAX_ARMS + 1))


def test_arms_that_intervene_would_make_are_the_same_problem() -> None:
    """Format 1 can express it, so it is written as if `intervene` had been given."""
    made = Problem(GRAPH, "Y", {"X": [1], "Z": ["low", "high"]}, domains=DOMAINS)
    by_hand = listed(arms=[do(X=1), do(Z="low"), do(Z="high")])
    assert made == by_hand
    assert hash(made) == hash(by_hand)
    assert not by_hand.has_listed_arms
    assert problem_to_json(made) == problem_to_json(by_hand)
    moved = listed(arms=[do(X=1), do(Z="high"), do(Z="low")])
    assert moved != made
    assert moved.has_listed_arms


@pytest.mark.parametrize("costs", [{}, {"do(Z=low, X=1)": 3, "do()": 0.5}])
def test_a_listed_problem_comes_back_equal(tmp_path: Path, costs: dict[str, float]) -> None:
    problem = listed(costs=costs)
    write_problem(problem, tmp_path / "problem.toml")
    for again in (
        read_problem(tmp_path / "problem.toml"),
        problem_from_json(problem_to_json(problem)),
        pickle.loads(pickle.dumps(problem)),
    ):
        assert (again, again.arms, hash(again)) == (problem, problem.arms, hash(problem))
        assert dict(again.costs) == dict(problem.costs)
    assert problem != listed(arms=ARMS[:-1])
    assert problem != listed(arms=ARMS[::-1])


def test_arms_are_inline_tables_in_a_file(tmp_path: Path) -> None:
    assert 'arms = [\n  {"X" = 1, "Z" = "low"},\n  {"X" = 1},\n' in problem_to_toml(listed())
    path = tmp_path / "problem.toml"
    head = f'graph = "{GRAPH}"\nreward = "Y"\n'
    path.write_text(head + "arms = [{X = 1, Z = 0}, {X = 1}]\n")
    assert read_problem(path).arms == (do(), do(X=1, Z=0), do(X=1))
    path.write_text(head + 'arms = ["do(X=1)"]\n')
    with pytest.raises(ProblemError, match=r"`arms` lists 'do\(X=1\)'; an arm is a table such as \{X = 1, Z = 0\}"):
        read_problem(path)
    path.write_text(head + "arms = {X = 1}\n")
    with pytest.raises(ProblemError, match=r"`arms` is .*; it must be a list of tables such as"):
        read_problem(path)
    path.write_text(head + 'arms = [{X = 1}]\nintervene = ["X"]\n')
    with pytest.raises(ProblemError, match="`intervene` and `arms` were both given"):
        read_problem(path)


def test_json_names_arms_only_where_they_are_listed() -> None:
    assert json.loads(problem_to_json(listed()))["arms"][0] == {"X": 1, "Z": "low"}
    assert "intervene" not in json.loads(problem_to_json(listed()))
    assert "arms" not in json.loads(problem_to_json(Problem(GRAPH, "Y", ["X"])))


def test_an_arm_of_another_problem_is_told_apart() -> None:
    problem = listed()
    with pytest.raises(ProblemError, match=r"do\(X=1, Z=mid\) is no arm of this problem\. Did you mean"):
        problem.index(do(X=1, Z="mid"))
    with pytest.raises(ProblemError, match=r'the value of X is the text "1", where the number 1 is declared'):
        problem.index(do(X="1", Z="low"))


def test_warnings_say_what_joint_arms_are_worth() -> None:
    problem = Problem("W -> X; X -> Y; Z -> Y; Q", "Y", arms=[do(W=1, X=0), do(Q=1, W=1), do(Q=0), do(X=1, Z=1)])
    assert problem.warnings == (
        "Q does not act on Y: these arms equal do(). They stay listed and share do()'s evidence.",
        "W no longer acts on Y once X is set: the arms on W and X equal those on X alone.",
        "Q no longer acts on Y once W is set: the arms on Q and W equal those on W alone.",
    )
