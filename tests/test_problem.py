"""Arms and problems: what is on offer, what is refused, and by which words."""

from __future__ import annotations

import copy
import enum
import math
import pickle
import subprocess
import sys
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from tests.twins import letters
from whichdo.errors import GraphSyntaxError, ProblemError, TooLargeError, UsageError
from whichdo.graph.admg import CausalGraph
from whichdo.graph.identify import Route
from whichdo.problem import Arm, Goal, Problem, do
from whichdo.text import nearest

FRONT_DOOR = letters("XMY", "XM MY", "XY")


class Named(enum.IntEnum):
    """Some library's numbers with names."""

    ONE = 1


def refused(graph: CausalGraph = FRONT_DOOR, reward: str | None = "Y", *rest: Any, **others: Any) -> str:
    """The words in which a problem is refused."""
    with pytest.raises(ProblemError) as caught:
        Problem(graph, reward, *rest, **others)
    return str(caught.value)


# --------------------------------------------------------------------------------------------------------------- arms


def test_an_arm_is_written_as_it_is_made() -> None:
    assert str(do()) == "do()"
    assert str(do(X=1)) == "do(X=1)"
    assert str(do({"face mask": "on"})) == "do(face mask=on)"
    assert do().is_look
    assert not do(X=0).is_look
    assert do(X=0) == do({"X": 0}) == Arm({"X": 0})
    assert do(X=0) != do(X=1)
    assert do({}) == do(None) == do()


@pytest.mark.parametrize(
    "one", [1, True, 1.0, np.int64(1), np.uint8(1), np.float64(1), np.float32(1), np.bool_(True), Named.ONE]
)
def test_equal_numbers_make_one_arm_with_one_text(one: Any) -> None:
    arm = do(X=one)
    assert arm == do(X=1)
    assert hash(arm) == hash(do(X=1))
    assert str(arm) == "do(X=1)"
    assert type(arm.settings["X"]) is int


def test_texts_and_fractions_are_kept_as_plain_values() -> None:
    assert do(X="1") != do(X=1)
    assert type(do(X=np.float64(0.5)).settings["X"]) is float
    assert type(do(X=np.str_("low")).settings["X"]) is str
    assert str(do(X=-0.0)) == "do(X=0)"
    assert repr(do(X=np.float64(0.5))) == "do(X=0.5)"


@pytest.mark.parametrize("setting", ["X=1", ["X", 1], 5, {1: 2}])
def test_an_arm_is_made_from_a_name_and_a_value(setting: Any) -> None:
    with pytest.raises(UsageError, match=r"do\(X=1\)|by its name, which is text"):
        do(setting)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.nan])
def test_an_arm_sets_a_finite_value(value: float) -> None:
    with pytest.raises(ProblemError, match=r'^-?(nan|inf) is no value of "X": it must be finite\.$'):
        do(X=value)


@pytest.mark.parametrize("value", [None, (1, 2), [1], {"a": 1}, b"1", 1j])
def test_an_arm_sets_a_number_or_a_text(value: Any) -> None:
    with pytest.raises(ProblemError, match=r'is no value of "X": a value is a number or a text\.'):
        do(X=value)


def test_an_arm_finds_its_node_however_accents_are_composed() -> None:
    problem = Problem(CausalGraph([], [("caf\u00e9", "Y")]), "Y")
    assert do({"cafe\u0301": 1}) in problem.arms
    assert problem.index(do({"cafe\u0301": 1})) == 2


# ------------------------------------------------------------------------------------------------------------ problems


def test_arms_are_do_first_then_each_node_in_order() -> None:
    problem = Problem(FRONT_DOOR, "Y")
    assert [str(arm) for arm in problem.arms] == ["do()", "do(X=0)", "do(X=1)", "do(M=0)", "do(M=1)"]
    assert problem.intervene == {"X": (0, 1), "M": (0, 1)}
    assert [problem.index(arm) for arm in problem.arms] == [0, 1, 2, 3, 4]
    assert problem.domains == {"X": (0, 1), "M": (0, 1), "Y": (0, 1)}
    assert problem.goal is Goal.MAXIMIZE
    assert set(problem.costs.values()) == {1.0}
    assert repr(problem) == "<Problem: maximize Y, 5 arms on 2 of 3 nodes>"


def test_intervene_keeps_the_order_given_and_values_that_of_the_domain() -> None:
    problem = Problem(FRONT_DOOR, "Y", ["M", "X"])
    assert list(problem.intervene) == ["M", "X"]
    problem = Problem(FRONT_DOOR, "Y", {"M": ["c", "a"], "X": 1}, domains={"M": ["a", "b", "c"]})
    assert [str(arm) for arm in problem.arms] == ["do()", "do(M=a)", "do(M=c)", "do(X=1)"]
    assert Problem(FRONT_DOOR, "Y", "X").intervene == {"X": (0, 1)}
    assert Problem(FRONT_DOOR, "Y", iter(["X"])).intervene == {"X": (0, 1)}
    assert Problem(FRONT_DOOR, "Y", {"M": "b"}, domains={"M": ["a", "b"]}).arms == (do(), do(M="b"))


def test_a_set_of_nodes_is_put_in_the_order_of_the_graph() -> None:
    names = [f"N{i}" for i in range(30)]
    graph = CausalGraph(names)
    assert list(Problem(graph, "N29", set(names[:29])).intervene) == names[:29]
    assert refused(FRONT_DOOR, "Y", {"X", "Mm"}) == 'The intervenable node "Mm" is not in the graph. Did you mean "M"?'


def test_the_arms_are_the_same_in_every_process() -> None:
    code = (
        "from whichdo.problem import Problem; from whichdo.graph.admg import CausalGraph;"
        "g = CausalGraph('ABCDY', ['AY', 'BY', 'CY', 'DY'], exposures=set('DCBA'));"
        "print(*Problem(g, 'Y').arms, *Problem(g, 'Y', set('ABCD')).arms)"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(found) == 1


def test_text_is_parsed_and_bad_text_is_a_syntax_error() -> None:
    assert Problem("X -> M; M -> Y; X <-> Y", "Y") == Problem(FRONT_DOOR, "Y")
    with pytest.raises(GraphSyntaxError):
        Problem("X -> ", "Y")


def test_roles_of_the_graph_are_the_defaults() -> None:
    graph = letters("XMZY", "XM MY ZY", exposures="MX", outcomes="Y")
    problem = Problem(graph)
    assert problem.reward == "Y"
    assert list(problem.intervene) == ["X", "M"]
    assert list(Problem(graph, "M", ["Z"]).intervene) == ["Z"]
    assert problem.graph.exposures == {"X", "M"}


def test_the_utility_is_larger_for_the_better() -> None:
    worth = {"bad": 0, "fair": 0.25, "good": 1}
    graded: dict[str, Any] = {"domains": {"Y": list(worth)}, "rewards": worth}
    up, down = (Problem(FRONT_DOOR, "Y", goal=goal, **graded) for goal in ("maximize", "minimize"))
    assert up.rewards == down.rewards == {"bad": 0.0, "fair": 0.25, "good": 1.0}
    assert up.utility == up.rewards
    assert down.utility == {"bad": 1.0, "fair": 0.75, "good": 0.0}
    assert Problem(FRONT_DOOR, "Y", goal="minimize").utility == {0: 1.0, 1: 0.0}
    assert Problem(FRONT_DOOR, "Y", goal=Goal.MINIMIZE) == Problem(FRONT_DOOR, "Y", goal="minimize")


def test_costs_are_one_unless_given() -> None:
    problem = Problem(FRONT_DOOR, "Y", costs={do(): 0.5, do(X=1): 5})
    assert problem.costs == {do(): 0.5, do(X=0): 1.0, do(X=1): 5.0, do(M=0): 1.0, do(M=1): 1.0}
    assert Problem(FRONT_DOOR, "Y", costs={"do(X=1)": 5}).costs[do(X=1)] == 5


def test_an_arm_is_found_by_its_text_with_or_without_blanks() -> None:
    problem = Problem(CausalGraph([], [("face mask", "Y")]), "Y")
    assert problem.arm("do(face mask=1)") == problem.arm(" do( facemask = 1 )") == do({"face mask": 1})
    assert problem.arm("do()") == do()
    with pytest.raises(ProblemError) as caught:
        problem.arm("do(face mask=2)")
    assert str(caught.value).startswith('"do(face mask=2)" is no arm of this problem. Did you mean "do(face mask=')
    with pytest.raises(ProblemError) as caught:
        problem.arm("Q")
    assert str(caught.value) == (
        '"Q" is no arm of this problem. The arms are do(), do(face mask=0) and do(face mask=1).'
    )
    with pytest.raises(ProblemError, match=r"^do\(Z=1\) is no arm of this problem\."):
        problem.index(do(Z=1))


# ------------------------------------------------------------------------------------------ equality and immutability


def variations() -> list[Problem]:
    """Problems of which no two are equal."""
    three: dict[str, Any] = {"domains": {"M": (0, 1, 2)}}
    return [
        Problem(FRONT_DOOR, "Y"),
        Problem(FRONT_DOOR, "Y", ["M", "X"]),
        Problem(FRONT_DOOR, "Y", ["X"]),
        Problem(FRONT_DOOR, "Y", {"X": [1]}),
        Problem(FRONT_DOOR, "M"),
        Problem(FRONT_DOOR, "Y", goal="minimize"),
        Problem(FRONT_DOOR, "Y", **three),
        Problem(FRONT_DOOR, "Y", domains={"M": (2, 1, 0)}),
        Problem(FRONT_DOOR, "Y", rewards={0: 0, 1: 0.5}),
        Problem(FRONT_DOOR, "Y", costs={do(X=1): 2}),
        Problem(letters("XMY", "XM MY"), "Y"),
        Problem(letters("XMY", "XM MY", "XY", outcomes="Y"), "Y"),
    ]


def test_problems_are_equal_when_everything_is() -> None:
    ours, theirs = variations(), variations()
    for i, mine in enumerate(ours):
        for j, yours in enumerate(theirs):
            assert (mine == yours) is (i == j), (i, j)
        assert hash(mine) == hash(theirs[i])
    assert len(set(ours + theirs)) == len(ours)
    assert ours[0] != "problem"
    assert Problem(FRONT_DOOR, "Y", costs={do(): 1}) == ours[0]
    assert Problem(FRONT_DOOR, "Y", domains={"X": (0.0, 1.0), "Y": (False, True)}) == ours[0]


@pytest.mark.parametrize("problem", variations())
def test_a_problem_survives_pickle_and_copies(problem: Problem) -> None:
    assert problem.utility
    assert problem.verdicts
    for twin in (pickle.loads(pickle.dumps(problem)), copy.copy(problem), copy.deepcopy(problem)):
        assert twin == problem
        assert hash(twin) == hash(problem)
        assert twin.arms == problem.arms
        assert twin.utility == problem.utility
        assert list(map(str, twin.arms)) == list(map(str, problem.arms))


def test_a_problem_cannot_be_changed() -> None:
    problem = Problem(FRONT_DOOR, "Y")
    with pytest.raises(AttributeError, match="a Problem cannot be changed; make a new one"):
        problem.reward = "M"
    with pytest.raises(AttributeError, match="cannot be changed"):
        del problem.reward
    for name in ("domains", "intervene", "rewards", "costs", "utility", "positions"):
        assert isinstance(getattr(problem, name), MappingProxyType)
        with pytest.raises(TypeError):
            getattr(problem, name)["X"] = 1
    with pytest.raises(TypeError):
        problem.verdicts["X"] = problem.verdicts["M"]  # type: ignore[index]


def test_what_was_handed_in_can_change_without_changing_the_problem() -> None:
    nodes, domains, costs = ["X"], {"X": [0, 1, 2]}, {do(X=1): 2.0}
    problem = Problem(FRONT_DOOR, "Y", nodes, domains=domains, costs=costs)
    before = hash(problem)
    nodes.append("M")
    domains["X"].append(3)
    costs[do(X=0)] = 9
    assert problem == Problem(FRONT_DOOR, "Y", ["X"], domains={"X": [0, 1, 2]}, costs={do(X=1): 2})
    assert hash(problem) == before


# ---------------------------------------------------------------------------------------------------- what is refused


def test_a_reward_that_does_not_fit_is_named() -> None:
    graph = CausalGraph([], [("Price", "Demand"), ("U", "Price"), ("U", "Demand")], hidden=["U"])
    assert refused(graph, "Demnd") == 'The reward "Demnd" is not in the graph. Did you mean "Demand"?'
    assert refused(graph, "Q") == 'The reward "Q" is not in the graph.'
    assert refused(graph, "U") == 'The reward "U" is hidden: it is never observed. Choose an observed node.'
    assert refused(graph, 3) == 'The reward "3" is not in the graph.'  # type: ignore[arg-type]
    assert refused(graph, "\x1b[31m") == 'The reward "\\x1b[31m" is not in the graph.'
    assert refused(graph, "Demand", ["Demand"]) == (
        'The reward "Demand" is listed as intervenable. Setting the reward is no answer; remove it from `intervene`.'
    )


def test_a_reward_is_found_however_its_accents_are_composed() -> None:
    problem = Problem(CausalGraph([], [("X", "caf\u00e9")]), "cafe\u0301", domains={"cafe\u0301": (0, 1)})
    assert problem.reward == "caf\u00e9"
    assert problem == Problem(problem.graph, "caf\u00e9")
    assert refused(problem.graph, "X", ["caf\u00e9", "cafe\u0301"]) == "`intervene` lists caf\u00e9 more than once."


def test_without_a_reward_the_graph_must_name_one() -> None:
    assert refused(reward=None) == (
        "Which node is the reward? The graph does not say (it marks no outcome); give `reward`."
    )
    assert refused(CausalGraph("AB", outcomes="AB"), None) == (
        "Which node is the reward? The graph does not say (it marks A and B); give `reward`."
    )


def test_intervenable_nodes_that_do_not_fit_are_named() -> None:
    graph = CausalGraph([], [("Price", "Demand"), ("U", "Price"), ("U", "Demand")], hidden=["U"])
    assert refused(graph, "Demand", ["Prize"]) == (
        'The intervenable node "Prize" is not in the graph. Did you mean "Price"?'
    )
    assert refused(graph, "Demand", ["U"]) == (
        'The intervenable node "U" is hidden: it is never observed. Choose an observed node.'
    )
    assert refused(graph, "Demand", ["Price", "Price"]) == "`intervene` lists Price more than once."
    assert refused(graph, "Demand", []) == (
        'There is nothing to intervene on: "Demand" is the reward and `intervene` is empty.'
    )
    assert refused(CausalGraph("Y"), "Y").startswith("There is nothing to intervene on")
    assert refused(graph, "Demand", {"Price": [2]}) == '"Price" cannot be set to "2". Allowed: 0 and 1.'
    assert refused(graph, "Demand", {"Price": []}) == '`intervene` lists "Price" with no value to set it to.'


def test_an_exposure_that_is_the_reward_is_no_arm() -> None:
    assert list(Problem(CausalGraph("XYZ", exposures="XY"), "Y").intervene) == ["X"]
    assert list(Problem("X [exposure,outcome]; X -> Y").intervene) == ["Y"]


def test_the_goal_is_one_of_two() -> None:
    assert refused(goal="max") == 'The goal is "max"; it must be maximize or minimize.'


@pytest.mark.parametrize(
    ("domains", "words"),
    [
        ({"Q": (0, 1)}, '`domains` names a node that cannot have one: "Q" is not in the graph.'),
        ({"X": ()}, 'The domain of "X" is empty; list its values.'),
        ({"X": (0, 0)}, 'The domain of "X" lists a value twice: 0 and 0.'),
        ({"X": (1, 1.0)}, 'The domain of "X" lists a value twice: 1 and 1.'),
        ({"X": (0, -0.0)}, 'The domain of "X" lists a value twice: 0 and 0.'),
        ({"X": (1, "1")}, 'The domain of "X" lists a value twice: 1 and 1.'),
        ({"X": (True, 1)}, 'The domain of "X" lists a value twice: 1 and 1.'),
        ({"X": "low"}, 'The domain of "X" is one text, "low"; give a list of values.'),
        ({"X": {0, 1}}, 'The domain of "X" is a set, which has no order; give a list of values.'),
        ({"X": (0, math.nan)}, 'nan is no value of "X": it must be finite.'),
        ({"X": (0, None)}, 'None is no value of "X": a value is a number or a text.'),
        ({"X": ("a", "")}, '"" cannot be a value of "X": empty, unprintable or too long.'),
        ({"X": ("a", " ")}, '" " cannot be a value of "X": empty, unprintable or too long.'),
        ({"X": ("a", "b\n")}, '"b\\n" cannot be a value of "X": empty, unprintable or too long.'),
        ({"X": ("a", "b\u202e")}, '"b\\u202e" cannot be a value of "X": empty, unprintable or too long.'),
        ({"X": ("a", "b" * 129)}, f'"{"b" * 57}..." cannot be a value of "X": empty, unprintable or too long.'),
    ],
)
def test_a_domain_that_is_none_is_refused(domains: Any, words: str) -> None:
    assert refused(domains=domains) == words


def test_a_node_has_256_values_at_most() -> None:
    assert len(Problem(FRONT_DOOR, "Y", domains={"X": range(256)}).arms) == 1 + 256 + 2
    assert Problem(FRONT_DOOR, "Y", domains={"X": ["x" * 128, "y"]}).domains["X"] == ("x" * 128, "y")
    with pytest.raises(TooLargeError) as caught:
        Problem(FRONT_DOOR, "Y", domains={"X": range(1_257)})
    assert str(caught.value) == '"X" has 1,257 values; 256 are allowed. Group some.'


@pytest.mark.parametrize(
    ("domain", "rewards", "words"),
    [
        (
            ("bad", "good"),
            None,
            'The reward "Y" takes the value "bad": say in `rewards` what each of its values is worth, from 0 to 1.',
        ),
        ((0, 5), None, "The reward Y=5 is worth 5; declare rewards in 0..1 (`rewards`)."),
        ((0, 1.5), None, "The reward Y=1.5 is worth 1.5; declare rewards in 0..1 (`rewards`)."),
        ((0, -1), None, "The reward Y=-1 is worth -1; declare rewards in 0..1 (`rewards`)."),
        ((0, 1), {0: 0.1, 1: 1.2}, "The reward Y=1 is worth 1.2; declare rewards in 0..1 (`rewards`)."),
        ((0, 1), {0: 0.1, 1: math.nan}, "The worth of Y=1 is nan; it must be a finite number."),
        ((0, 1), {0: 0.1, 1: "1"}, "The worth of Y=1 is '1'; it must be a finite number."),
        ((0, 1), {0: 0.1, 1: True}, "The worth of Y=1 is True; it must be a finite number."),
        ((0, 1), {0: 0.1, 1: 10**400}, "The worth of Y=1 is a number of 401 digits, which is too large."),
        (
            ("a", "b"),
            {"a": 1},
            '`rewards` must give a worth to each value of "Y" and to nothing else. Values: a and b; found: "a".',
        ),
        (
            (0, 1),
            {0: 0, 1: 1, 2: 1},
            (
                '`rewards` must give a worth to each value of "Y" and to nothing else. Values: 0 and 1; '
                'found: "0", "1" and "2".'
            ),
        ),
    ],
)
def test_rewards_that_do_not_fit_are_refused(domain: Any, rewards: Any, words: str) -> None:
    assert refused(domains={"Y": domain}, rewards=rewards) == words


@pytest.mark.parametrize(
    ("costs", "words"),
    [
        ({do(X=1): 0}, "The cost of do(X=1) is 0; a cost must be above 0."),
        ({do(X=1): -2}, "The cost of do(X=1) is -2; a cost must be above 0."),
        ({do(X=1): math.inf}, "The cost of do(X=1) is inf; it must be a finite number."),
        ({do(X=1): "5"}, "The cost of do(X=1) is '5'; it must be a finite number."),
        ({do(X=1): True}, "The cost of do(X=1) is True; it must be a finite number."),
        ({do(X=1): 10**400}, "The cost of do(X=1) is a number of 401 digits, which is too large."),
    ],
)
def test_a_cost_that_is_none_is_refused(costs: Any, words: str) -> None:
    assert refused(costs=costs) == words


def test_a_cost_of_no_arm_is_refused_with_the_nearest() -> None:
    words = refused(costs={do(X=2): 3})
    assert words.startswith("In `costs`: do(X=2) is no arm of this problem. Did you mean ")
    assert '"do(X=1)"' in words


def test_an_arm_given_two_costs_is_refused() -> None:
    costs: Any = {"do(X=1)": 2, "do( X=1)": 3}
    assert refused(costs=costs) == "`costs` names do(X=1) twice. Keep one of the two."
    assert refused(costs={do(X=1): 2, "do(X=1)": 2}) == "`costs` names do(X=1) twice. Keep one of the two."


def test_a_value_of_the_other_type_is_told_apart() -> None:
    problem = Problem(FRONT_DOOR, "Y", domains={"M": ["0", "1"]})
    for arm, words in (
        (do(X="1"), 'do(X=1) is no arm of this problem: its value is the text "1", where the number 1 is declared.'),
        (do(M=1), 'do(M=1) is no arm of this problem: its value is the number 1, where the text "1" is declared.'),
    ):
        with pytest.raises(ProblemError) as caught:
            problem.index(arm)
        assert str(caught.value) == words
    assert refused(costs={do(X="1"): 3}).startswith("In `costs`: do(X=1) is no arm of this problem: its value is")


def test_a_text_is_no_arm_and_an_arm_no_text() -> None:
    problem: Any = Problem(FRONT_DOOR, "Y")
    with pytest.raises(ProblemError, match=r'^"do\(X=1\)" is a text; problem\.arm\(text\) finds the arm'):
        problem.index("do(X=1)")
    with pytest.raises(UsageError, match="reads a text such as"):
        problem.arm(do(X=1))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"domains": {"X": 5}}, 'The domain of "X" is "5"; give a list of values.'),
        ({"domains": ["X"]}, "`domains` is \"['X']\"; give a mapping such as"),
        ({"costs": [1]}, '`costs` is "[1]"; give a mapping such as {do(X=1): 5}.'),
        ({"rewards": [0, 1]}, '`rewards` is "[0, 1]"; give a mapping such as'),
        ({"intervene": 5}, '`intervene` is "5"; give a list of nodes.'),
        ({"intervene": {"X": None}}, 'What "X" can be set to is "None"; give a list of values.'),
    ],
)
def test_arguments_of_another_shape_are_refused(arguments: dict[str, Any], words: str) -> None:
    assert refused(**arguments).startswith(words)


@pytest.mark.parametrize("graph", [None, 5, [("X", "Y")], object()])
def test_what_is_no_graph_is_refused_with_a_way_to_make_one(graph: Any) -> None:
    with pytest.raises(UsageError, match=r"not \w+\. whichdo\.graph_from\(\.\.\.\) makes a CausalGraph"):
        Problem(graph, "Y")


def test_capitals_do_not_hide_the_nearest_name() -> None:
    assert refused(letters("XY", "XY"), "y") == 'The reward "y" is not in the graph. Did you mean "Y"?'
    assert nearest("PRICE", ["price", "Price", "Demand"]) == ' Did you mean "price" or "Price"?'
    assert nearest("n5000", [f"N{i}" for i in range(10_000)]).startswith(' Did you mean "N5000" or ')


def test_two_arms_that_read_alike_are_refused() -> None:
    graph = CausalGraph(["X", "X=1", "Y"])
    assert refused(graph, "Y", domains={"X": ("1=2", "b"), "X=1": (2, 3)}) == (
        "Two arms read alike, do(X=1=2) and do(X=1=2). Rename a node or a value."
    )
    assert refused(CausalGraph(["a b", "ab", "Y"]), "Y").startswith("Two arms read alike, do(ab=0) and do(a b=0).")


# ------------------------------------------------------------------------------------------------------------ warnings


def test_nodes_that_do_not_act_on_the_reward_are_pointed_out() -> None:
    problem = Problem(letters("XYAB", "XY XA XB"), "Y")
    assert problem.warnings == (
        "A and B do not act on Y: these arms equal do(). They stay listed and share do()'s evidence.",
    )
    assert do(A=1) in problem.arms
    assert problem.verdicts["A"].route is Route.SAME
    one = Problem(letters("XYA", "XY XA"), "Y")
    assert one.warnings[0].startswith("A does not act on Y: these arms equal do().")


def test_an_effect_that_looking_cannot_settle_is_pointed_out() -> None:
    graph = CausalGraph(
        ["Price", "A", "Demand", "Y"],
        [("Price", "Demand"), ("A", "Y"), ("Demand", "Y")],
        [("Price", "A"), ("A", "Demand")],
    )
    assert Problem(graph, "Y", ["Price"]).warnings == (
        (
            "The effect of Price cannot be computed by looking: Price <-> A <-> Demand and Price -> Demand. "
            "Its arms will be tried instead."
        ),
    )
    assert Problem(FRONT_DOOR, "Y").warnings == ()


def test_warnings_are_cut_with_their_number() -> None:
    """25 bows into Y: 20 are explained, 5 are counted."""
    names = [f"X{i}" for i in range(25)]
    edges = [(name, "Y") for name in names]
    found = Problem(CausalGraph(names, edges, edges), "Y").warnings
    assert len(found) == 21
    assert found[-1] == "... and 5 more nodes whose arms will be tried instead."
