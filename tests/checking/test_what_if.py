"""What every edit of a graph does to the decision: equal to ranking again, honest about what looking cannot settle."""

from __future__ import annotations

import json
from math import isnan
from pathlib import Path

import numpy as np
import pytest

import whichdo as wd
from tests.checking.random_worlds import RandomWorld, random_graph
from tests.soak import scaled
from whichdo.checking.edits import pulls_to_tell
from whichdo.errors import DataError, TooLargeError, UsageError
from whichdo.estimate.limits import normal_quantile
from whichdo.text import rounded

EXAMPLE = Path(__file__).parents[2] / "examples" / "infection"


def infection() -> wd.WhatIf:
    return wd.what_if(wd.read_problem(EXAMPLE / "problem.toml"), EXAMPLE / "logs.csv")


# ------------------------------------------------------------------------------------------------------- as rank has it


@pytest.mark.slow("1 s: the ranking of every edited graph of random problems, one by one")
def test_every_edit_is_ranked_as_the_edited_graph_would_be() -> None:
    """Values to 1e-12 and the same best arm; short and long logs, so that tables decide between formulas."""
    rng = np.random.default_rng(4)
    for number in range(scaled(160, 8)):
        graph = random_graph(rng, int(rng.integers(3, 6)), 0.6, 0.25)
        world = RandomWorld.draw(rng, graph, most=3)
        problem = world.problem()
        if number % 3 == 0:
            pair = rng.choice([name for name in graph.nodes if name != "Y"], 2, replace=False).tolist()
            joint = [wd.do(dict.fromkeys(pair, 0)), wd.do(dict.fromkeys(pair, 1))]
            arms = [*problem.arms[1:], *joint]
            problem = wd.Problem(graph, "Y", arms=arms, domains=problem.domains, rewards=problem.rewards)
        rows = world.sample(rng, int(rng.choice([1, 40, 3000])))
        found = wd.what_if(problem, rows)
        today = wd.rank(problem, rows)
        assert found.choice == (None if today.best is None else today.best.arm)
        for each in found.edits:
            again = wd.rank(problem.but(graph=each.change.apply(graph)), rows)
            assert each.best == (None if again.best is None else again.best.arm)
            if again.best is not None:
                assert each.best_estimate == pytest.approx(again.best.estimate, abs=1e-12)
            if found.choice is None or not again[found.choice].is_ranked:
                assert each.estimate is None
                assert each.regret is None
            else:
                assert again.best is not None
                assert each.estimate == pytest.approx(again[found.choice].estimate, abs=1e-12)
                assert each.regret == pytest.approx(
                    max(again.best.estimate, again[found.choice].estimate) - again[found.choice].estimate, abs=1e-8
                )


@pytest.mark.parametrize("options", [{"weights": "w"}, {"counts": "n"}, {"reading": "graph"}, {"shrinkage": 0.0}])
def test_every_option_is_that_of_rank(options: dict[str, object]) -> None:
    rng = np.random.default_rng(5)
    graph = wd.CausalGraph.parse("A -> X; A -> Y; X -> M -> Y; X <-> Y; B -> {M Y}")
    rows: dict[str, object] = {**RandomWorld.draw(rng, graph, most=2).sample(rng, 500)}
    rows["w"], rows["n"] = rng.random(500), rng.integers(1, 4, 500)
    problem = wd.Problem(graph, "Y", goal="minimize")
    found = wd.what_if(problem, rows, **options)  # type: ignore[arg-type]
    for each in found.edits:
        again = wd.rank(problem.but(graph=each.change.apply(graph)), rows, **options)  # type: ignore[arg-type]
        assert each.best == (None if again.best is None else again.best.arm)
        if each.estimate is not None and found.choice is not None:
            assert each.estimate == pytest.approx(again[found.choice].estimate, abs=1e-12)
        assert (each.refuted is None) == ("weights" in options)


def test_a_reward_on_a_range_has_its_own_unit() -> None:
    rng = np.random.default_rng(6)
    x = rng.integers(0, 2, 2000)
    rows = {"X": x, "Y": np.clip(rng.normal(20_000 + 5_000 * x, 3_000), 0, 60_000)}
    found = wd.what_if(wd.Problem("X -> Y", "Y", reward_range=(0, 60_000)), rows)
    (dropped, hidden) = found.edits
    assert found.choice == wd.do(X=1)
    assert dropped.estimate == pytest.approx(22_500, abs=300)
    assert (dropped.regret, hidden.regret) == (0, None)


def test_a_tally_is_read_as_far_as_it_goes() -> None:
    """Graphs whose tables it lacks settle nothing; pulls of other arms are not read."""
    problem = wd.Problem("X -> Y; A -> Y", "Y", ["X"])
    rows = {"X": [0, 0, 1, 1] * 50, "A": [0, 1] * 100, "Y": [0, 1, 1, 1] * 50, "arm": ["do()"] * 100 + ["do()"] * 100}
    seen = wd.count(problem, rows, arm="arm", scopes=[("X", "Y")])
    whole = wd.what_if(problem, seen)
    assert "under 2 edits some arms are not estimated although" in whole.notes[-1].lower()
    found = {each.edit: each for each in whole.edits}
    assert found["add A -> X"].best is None
    assert found["drop A -> Y"].best == wd.do(X=1)


def test_a_column_that_only_an_edit_needs_may_be_missing() -> None:
    problem = wd.Problem("X -> Y; A -> Y", "Y", ["X"])
    rows = {"X": [0, 0, 1, 1] * 50, "Y": [0, 1, 1, 1] * 50}
    whole = wd.what_if(problem, rows)
    assert len(whole.notes) == 1
    found = {each.edit: each for each in whole.edits}
    assert found["add A -> X"].estimate is None
    assert found["drop A -> Y"].best == wd.do(X=1)
    with pytest.raises(DataError, match='no column for the observed node "X"'):
        wd.what_if(problem, {"A": [0, 1], "Y": [0, 1]})


# ---------------------------------------------------------------------------------------------------------- its answers


def test_the_infection_example_in_words() -> None:
    found = infection()
    assert found.summary[:2] == (
        (
            "The best arm, do(vaccination=1), is the same in 17 of 25 edits; 3 of the 8 others are contradicted by the "
            "logs; the 5 left are vaccination -> face mask, work from home <-> face mask, work from home <-> "
            "vaccination, face mask <-> infection and vaccination <-> infection."
        ),
        "Under all of them do(vaccination=1) cannot be settled by looking; it would have to be tried.",
    )
    refuted = {each.edit for each in found.edits if each.refuted}
    assert refuted == {
        "drop work from home -> social distancing", "drop social distancing -> infection",
        "drop vaccination -> infection", "drop work from home <-> infection", "drop face mask <-> vaccination",
    }  # fmt: skip
    dropped = next(each for each in found.edits if each.edit == "drop work from home <-> infection")
    assert dropped.best == wd.do({"work from home": 1})
    assert dropped.settled_by is not None
    assert dropped.settled_by.arm == wd.do({"work from home": 1})
    assert 100 < dropped.settled_by.pulls < 300


def one_left(best: float) -> dict[str, list[int]]:
    """400 rows in which a share of those at X=1 has Y, and a tenth of the others."""
    high = round(200 * best)
    return {"X": [0] * 200 + [1] * 200, "Y": [1] * 20 + [0] * 180 + [1] * high + [0] * (200 - high)}


def test_an_edit_that_forbids_looking_has_no_regret_and_says_what_trying_takes() -> None:
    """X <-> Y leaves do() alone: nothing is compared any more, and dropping X -> Y makes all arms equal."""
    found = wd.what_if(wd.Problem("X -> Y", "Y"), one_left(0.6))
    dropped, hidden = found.edits
    assert (dropped.best, dropped.regret, dropped.keeps, dropped.refuted) == (wd.do(), 0, True, True)
    assert (hidden.best, hidden.estimate, hidden.regret, hidden.refuted) == (None, None, None, False)
    assert found.summary == (
        "The best arm, do(X=1), is the same in 1 of 2 edits; the other is X <-> Y.",
        "Under it do(X=1) cannot be settled by looking; it would have to be tried.",
        "No number of pulls can be named: the means in question differ by less than the error of looking.",
    )


def test_trying_takes_as_many_pulls_as_tell_the_choice_from_the_next_arm() -> None:
    rng = np.random.default_rng(7)
    rows = 20_000
    x, z = rng.integers(0, 2, rows), rng.integers(0, 2, rows)
    data = {"X": x, "Z": z, "Y": (rng.random(rows) < 0.2 + 0.5 * x + 0.2 * z).astype(int)}
    found = {each.edit: each for each in wd.what_if(wd.Problem("X -> Y; Z -> Y", "Y"), data).edits}
    lost = found["add X <-> Y"]
    assert lost.best == wd.do(Z=1)
    assert lost.settled_by is not None
    assert lost.settled_by.arm == wd.do(X=1)
    # .8 under X=1 against .65 under Z=1: 7.85 * .16 / .15 ** 2, and a little for the error of looking.
    assert 55 <= lost.settled_by.pulls <= 62


def test_arms_that_become_equal_to_doing_nothing_still_have_an_estimate() -> None:
    problem = wd.Problem("X -> Y; Z -> Y", "Y")
    rng = np.random.default_rng(8)
    x, z = rng.integers(0, 2, 4000), rng.integers(0, 2, 4000)
    rows = {"X": x, "Z": z, "Y": (rng.random(4000) < 0.2 + 0.4 * x + 0.2 * z).astype(int)}
    found = {each.edit: each for each in wd.what_if(problem, rows).edits}
    dropped = found["drop X -> Y"]
    assert dropped.best == wd.do(Z=1)
    assert dropped.regret is not None
    assert dropped.regret == pytest.approx(0.1, abs=0.02)
    assert dropped.refuted


def test_logs_that_contradict_the_graph_contradict_every_edit_that_does_not_mend_it() -> None:
    """A and X are alike, and the graph says that nothing joins them."""
    rng = np.random.default_rng(9)
    a = rng.integers(0, 2, 3000)
    x = np.where(rng.random(3000) < 0.9, a, 1 - a)
    y = (rng.random(3000) < 0.2 + 0.3 * a + 0.3 * x).astype(int)
    found = wd.what_if(wd.Problem("A -> Y; X -> Y", "Y"), {"A": a, "X": x, "Y": y})
    assert found.refuted
    assert {each.edit for each in found.edits if not each.refuted} == {"add A -> X", "add X -> A", "add A <-> X"}
    assert "The logs contradict the graph as it is (whichdo check says where); 3 edits would end that." in found.summary


# ------------------------------------------------------------------------------------------------------ how many pulls


def test_the_pulls_that_settle_an_edit_settle_it_four_times_in_five() -> None:
    """A hidden cause that is drawn and not there: the arm's mean is what one of the two graphs says.

    2,000 experiments each; the standard error of a power of .8 is .009, and normal limits are a little off.
    """
    rng = np.random.default_rng(10)
    for apart, middle, looks in [(0.1, 0.5, 3000), (0.2, 0.3, 400), (0.05, 0.1, 20_000), (0.3, 0.6, 100)]:
        first, second = middle - apart / 2, middle + apart / 2
        error = first * (1 - first) / looks
        pulls = int(pulls_to_tell(np.array(apart), np.array(second * (1 - second)), np.array(error)))
        means = rng.binomial(pulls, second, 2000) / pulls
        predicted = rng.binomial(looks, first, 2000) / looks
        noise = np.sqrt(np.maximum(means * (1 - means), 0.5 / pulls) / pulls + predicted * (1 - predicted) / looks)
        power = float(np.mean(np.abs(means - predicted) > normal_quantile(0.975) * noise))
        assert 0.74 < power < 0.88, (apart, middle, looks, pulls, power)


def test_no_number_of_pulls_finds_what_looking_itself_does_not_know() -> None:
    assert pulls_to_tell(np.array([0.1, 0.0]), np.array([0.25, 0.25]), np.array([0.01, 0.0])).tolist() == [np.inf] * 2
    assert pulls_to_tell(np.array([0.5]), np.array([0.0]), np.array([0.0])).tolist() == [1.0]


def test_pulls_are_written_with_two_digits() -> None:
    assert [rounded(each) for each in (1, 9, 99, 104, 157, 31_621)] == ["1", "9", "99", "100", "160", "32,000"]


# -------------------------------------------------------------------------------------------------------------- shapes


def test_the_result_as_a_document_a_frame_and_a_page() -> None:
    found = infection()
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert document["choice"] == {"settings": {"vaccination": 1}, "text": "do(vaccination=1)"}
    assert [each["edit"] for each in document["edits"]] == [each.edit for each in found.edits]
    frame = found.to_frame("pandas")
    assert list(frame["edit"]) == [each.edit for each in found.edits]
    assert str(found).startswith("The best arm, do(vaccination=1), is the same in 17 of 25 edits")
    page = found._repr_html_()
    assert "work from home &lt;-&gt; infection" in page
    assert page.count("<tr") == 26
    assert repr(found) == "<WhatIf: do(vaccination=1) stays the choice in 17 of 25 edits>"
    assert found.ordered[0].matters
    assert not found.ordered[-1].matters


@pytest.mark.parametrize(
    ("problem", "rows", "said"),
    [
        (wd.Problem("Y; X", "Y", ["X"]), {"X": [0, 1], "Y": [0, 1]}, "Nothing can be edited: only Y itself is there."),
        (
            wd.Problem("X -> Y; X <-> Y", "Y"),
            {"X": [0, 1] * 50, "Y": [0, 1] * 50},
            (
                "The graph as it is leaves nothing to compare, so there is no choice to lose; 2 edits would name "
                "a best arm, no X -> Y for one."
            ),
        ),
        (
            wd.Problem("X -> Y", "Y"),
            {"X": [0], "Y": [1]},
            "The graph as it is leaves nothing to compare, so there is no choice to lose; no edit changes that.",
        ),
    ],
    ids=["one node", "no identified arm", "one row"],
)
def test_where_there_is_nothing_to_lose(problem: wd.Problem, rows: dict[str, list[int]], said: str) -> None:
    found = wd.what_if(problem, rows)
    assert found.summary == (said,)
    assert str(found)
    assert found._repr_html_()


def test_a_complete_graph_with_one_arm() -> None:
    names = ["A", "B", "C", "Y"]
    pairs = [(names[i], names[j]) for j in range(4) for i in range(j)]
    rng = np.random.default_rng(11)
    rows = {name: rng.integers(0, 2, 300) for name in names}
    found = wd.what_if(wd.Problem(wd.CausalGraph(names, pairs), "Y", arms=[wd.do(C=1)]), rows)
    assert len(found.edits) == 12
    assert all(each.estimate is None or not isnan(each.estimate) for each in found.edits)


def test_nodes_in_doubt_can_be_named() -> None:
    problem = wd.Problem("A -> X -> Y; A -> Y; B", "Y", ["X", "B"])
    rng = np.random.default_rng(12)
    rows = {name: rng.integers(0, 2, 300) for name in problem.graph.nodes}
    found = wd.what_if(problem, rows, among=["B", "Y"])
    assert [each.edit for each in found.edits] == ["add Y -> B", "add B -> Y", "add Y <-> B"]
    added = found.edits[1]
    again = wd.rank(problem.but(graph=added.change.apply(problem.graph)), rows)
    assert again.best is not None
    assert added.best == again.best.arm
    assert added.best_estimate == pytest.approx(again.best.estimate, abs=1e-12)


def test_what_cannot_be_asked() -> None:
    with pytest.raises(UsageError, match="what_if takes a Problem first"):
        wd.what_if({"X": [0]}, wd.Problem("X -> Y", "Y"))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="robust or graph"):
        wd.what_if(wd.Problem("X -> Y", "Y"), {"X": [0], "Y": [0]}, reading="paper")
    with pytest.raises(DataError, match="no rows to count"):
        wd.what_if(wd.Problem("X -> Y", "Y"), {"X": [], "Y": []})
    wide = wd.CausalGraph(directed=[(f"V{j}", "Y") for j in range(200)])
    with pytest.raises(TooLargeError, match=r"201 nodes can be joined in 40,200 ways"):
        wd.what_if(wd.Problem(wide, "Y"), "no such file.csv")
