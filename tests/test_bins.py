"""Bins, groups and labels of a problem: their values, their files, and what is refused."""

from __future__ import annotations

import json
import pickle
from typing import TYPE_CHECKING, Any

import pytest

import whichdo as wd
from tests.cli.calling import Call
from whichdo.campaign.terms import Terms
from whichdo.errors import InputError, ProblemError
from whichdo.problem_file import problem_from_json, problem_to_json, problem_to_toml, read_problem, write_problem

if TYPE_CHECKING:
    from pathlib import Path

GRAPH = "age -> {X Y}; region -> {X Y}; X -> Y"


def problem(**more: Any) -> wd.Problem:
    given: dict[str, Any] = {
        "domains": {"age": wd.bins([35, 45.5]), "region": ["north", "south", "other"]},
        "groups": {"region": {"other": ["east", "west"]}},
        "labels": {"Y": "earnings 1978 ($)"},
    }
    return wd.Problem(GRAPH, "Y", **{**given, **more})


def test_the_values_of_bins_are_intervals_that_a_reader_understands() -> None:
    assert wd.bins([35, 45.5]).values == ("under 35", "35 to under 45.5", "45.5 or more")
    assert wd.bins([35.0]).values == ("under 35", "35 or more")
    assert wd.bins([-1, 1], missing=True).values == ("under -1", "-1 to under 1", "1 or more", "missing")
    assert wd.bins([3, "missing"]) == wd.bins([3], missing=True)


def test_arms_on_bins_have_their_names_as_values() -> None:
    arms = problem(intervene=["age"]).arms
    assert [str(arm) for arm in arms] == [
        "do()",
        "do(age=under 35)",
        "do(age=35 to under 45.5)",
        "do(age=45.5 or more)",
    ]
    assert problem(intervene=["age"]).arm("do(age=35 to under 45.5)") == arms[2]


def test_nobody_sets_a_number_to_missing() -> None:
    found = problem(domains={"age": wd.bins([35], missing=True)}, intervene=["age"], groups=None)
    assert found.domains["age"] == ("under 35", "35 or more", "missing")
    assert [str(arm) for arm in found.arms] == ["do()", "do(age=under 35)", "do(age=35 or more)"]


@pytest.mark.parametrize("numeric", [False, True])
def test_files_json_and_processes_give_the_same_problem_back(numeric: bool, tmp_path: Path) -> None:
    asked = problem(reward_range=(0, 60_000) if numeric else None)
    write_problem(asked, tmp_path / "problem.toml")
    for found in (
        read_problem(tmp_path / "problem.toml"),
        problem_from_json(problem_to_json(asked)),
        pickle.loads(pickle.dumps(asked)),
        asked.but(arms=asked.arms),
    ):
        assert found == asked
        assert (found.bins, found.groups, found.labels) == (asked.bins, asked.groups, asked.labels)
        assert found.label("Y") == "earnings 1978 ($)"
        assert found.label("X") == "X"


def test_what_is_read_into_values_tells_problems_apart_and_labels_do_not() -> None:
    assert problem(labels=None) == problem()
    assert problem(groups=None) != problem()
    assert problem(domains={"age": ["under 35", "35 or more"]}, groups=None) != problem(
        domains={"age": wd.bins([35])}, groups=None
    )


def test_a_problem_without_bins_groups_and_labels_is_written_as_before() -> None:
    plain = wd.Problem(GRAPH, "Y", domains={"age": [1, 2, 3]})
    assert set(json.loads(problem_to_json(plain))) == {
        "costs", "domains", "goal", "graph", "intervene", "reward", "rewards"
    }  # fmt: skip
    assert "bins" not in problem_to_toml(plain)


@pytest.mark.parametrize("part", ["domains", "groups", "labels"])
def test_event_0_with_any_of_these_is_of_the_second_form(part: str) -> None:
    """So that a program that does not know them refuses the campaign by name."""
    empty: dict[str, Any] = {"domains": {"region": ["north", "south", "other"]}, "groups": None, "labels": None}
    given = {**empty, part: {"domains": {"age": wd.bins([35])}, "groups": {"region": {"other": ["e"]}}}.get(part)}
    if part == "labels":
        given["labels"] = {"Y": "yes"}

    def form(asked: wd.Problem) -> Any:
        body = Terms("spring", asked, wd.policy("ue"), 10.0).as_body()
        assert Terms.from_body(body).problem == asked
        return body["format"]

    assert form(problem(**empty)) == 1
    assert form(problem(**given)) == 2


TOML = """
graph = "age -> Y; region -> Y"
reward = "Y"
[bins]
age = [35, 45, "missing"]
[domains]
region = ["north", "other"]
[groups.region]
other = ["east", "west"]
[labels]
Y = "healthy after a year"
"""


def test_a_file_says_it_as_a_reader_would(tmp_path: Path) -> None:
    path = tmp_path / "problem.toml"
    path.write_text(TOML)
    found = read_problem(path)
    assert found.bins["age"] == wd.bins([35, 45], missing=True)
    assert found.groups["region"] == {"other": ("east", "west")}
    assert found.label("Y") == "healthy after a year"


@pytest.mark.parametrize(
    ("cuts", "words"),
    [
        ([], "There is no cut; give at least one number"),
        ([1, 1], "The cuts must increase; 1 comes after 1."),
        ([2, 1], "The cuts must increase; 1 comes after 2."),
        (["a"], 'The cuts hold "a"; they must be numbers.'),
        ([float("nan")], "nan is not a value"),
        (5, 'The cuts are "5"; give a list of numbers, such as [35, 45].'),
        ("35", 'The cuts are "35"; give a list of numbers'),
    ],
)
def test_cuts_that_are_refused(cuts: Any, words: str) -> None:
    with pytest.raises(ProblemError) as caught:
        wd.bins(cuts)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("age = [35, 45", "age = [45, 35", "bins of age: The cuts must increase; 35 comes after 45."),
        ('[35, 45, "missing"]', "35", "`bins` gives \"age\" the value 35; it must be a list of values."),
        ("[bins]", "[bin]", 'unknown key "bin". Did you mean "bins"'),
        ('other = ["east", "west"]', 'others = ["east"]', 'into "others", which is not one of its values'),
        ('["east", "west"]', '["north"]', 'puts "north" of "region" into "other", but it is a value or in a group'),
        ('"healthy after a year"', "3", 'The label of "Y" is "3"; it must be a line of text'),
        ("Y = \"healthy", "Z = \"healthy", '`labels` names a node that cannot have one: "Z" is not in the graph.'),
        ("region = [\"north\"", "age = [1]\nregion = [\"north\"", '"age" is under both [domains] and [bins].'),
        ('other = ["east", "west"]', "other = {east = 1}", '`groups.region` gives "other" the value'),
        ("[groups.region]\n", "[groups]\nregion = 3\n[x]\n", 'unknown key "x"'),
        ('[groups.region]\nother = ["east", "west"]', "[groups]\nregion = 3", '`groups` gives "region" 3; it must be'),
        ("age = [35, 45", "age = [1979-05-27, 45", "bins of age: "),
        ("age = [35, 45", "age = [inf, 45", "bins of age: "),
        ("[groups.region]", "[groups.age]", 'into "other", which is not one of its values'),
    ],
)  # fmt: skip
def test_files_that_are_refused(old: str, new: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "problem.toml"
    path.write_text(TOML.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        read_problem(path)
    assert words in str(caught.value)


BIF = """
network small { }
variable M { type discrete [ 3 ] { low, mid, high }; }
variable Y { type discrete [ 2 ] { 0, 1 }; }
probability ( M ) { table 0.2, 0.3, 0.5; }
probability ( Y | M ) { (low) 0.1, 0.9; (mid) 0.2, 0.8; (high) 0.3, 0.7; }
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [("g.bif", BIF), ("g.dag", 'dag { M [values="low, mid, high"] Y [outcome] M -> Y }')],
)
def test_values_in_a_graph_file_are_the_domains_of_a_problem_file(name: str, text: str, tmp_path: Path) -> None:
    """Declared ones go before; the graph is the same graph."""
    (tmp_path / name).write_text(text)
    path = tmp_path / "problem.toml"
    path.write_text(f'graph_file = "{name}"\nreward = "Y"\n')
    found = read_problem(path)
    assert found.domains == {"M": ("low", "mid", "high"), "Y": (0, 1)}
    assert found.graph.directed == {("M", "Y")}
    path.write_text(path.read_text() + '[domains]\nM = ["a", "b"]\n')
    assert read_problem(path).domains["M"] == ("a", "b")


def test_values_that_are_listed_badly_are_an_error_with_its_place() -> None:
    with pytest.raises(InputError, match=r'line 1, column 4: values is "a,,b": expected values with commas'):
        wd.CausalGraph.parse('M [values="a,,b"]; M -> Y')


def test_inspect_tells_cuts_groups_and_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "problem.toml"
    path.write_text(TOML)
    out = Call(monkeypatch, capsys)("inspect", str(path)).out
    assert "Reward: healthy after a year (maximize)" in out
    assert "Cut into bins: age at 35, 45" in out
    assert "Put together: region: other for east and west" in out
