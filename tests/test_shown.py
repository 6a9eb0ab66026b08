"""What people see: print, notebooks and figures of problems, rankings, comparisons and graphs."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import whichdo as wd
from whichdo.errors import UsageError
from whichdo.frames import text_table

if TYPE_CHECKING:
    from pathlib import Path

matplotlib = pytest.importorskip("matplotlib")

PROBLEM = wd.Problem(
    "age -> {X Y}; X -> Y",
    "Y",
    ["X"],
    domains={"age": wd.bins([30, 50])},
    reward_range=(0, 60_000),
    labels={"Y": "earnings <1978> ($)", "age": "age in years"},
)


def ranking() -> wd.Ranking:
    rng = np.random.default_rng(0)
    age = rng.uniform(20, 70, 2_000)
    x = rng.integers(0, 2, 2_000)
    y = np.clip(20_000 + 5_000 * x + 100 * age + rng.normal(0, 3_000, 2_000), 0, 60_000)
    return wd.rank(PROBLEM, {"age": age, "X": x, "Y": y})


def comparison() -> wd.Comparison:
    network = wd.CausalNetwork({"X": wd.bernoulli([], 0.5), "Y": wd.bernoulli(["X"], [0.3, 0.6])})
    return wd.compare(["ue", "sr"], network, network.problem("Y"), horizons=[30, 60], runs=3)


@pytest.fixture
def campaign(tmp_path: Path) -> wd.Campaign:
    """A campaign in a numeric reward with a label, three pulls old, with names that look like tags."""
    problem = wd.Problem(
        wd.CausalGraph(directed=[("<b>X</b>", "Y")]), "Y", reward_range=(0, 60_000), labels={"Y": "earnings <1978> ($)"}
    )
    begun = wd.Campaign.create(tmp_path / "a.db", "<i>spring</i>", wd.policy("ue"), problem, horizon=9, audit=False)
    for number, ticket in enumerate(begun.ask(6)):
        row = {"<b>X</b>": ticket.arm.settings.get("<b>X</b>", 0), "Y": 20_000 + 1_000 * number}
        begun.tell(ticket, row)
    begun.forbid("do(<b>X</b>=0)", reason="<script>")
    return begun


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + " "


def read(html: str) -> str:
    """The text of a piece of HTML, whose tags must close."""
    tags = Tags()
    tags.feed(html)
    assert tags.open == []
    return tags.text


def test_print_of_a_problem_names_its_nodes_and_values() -> None:
    text = str(PROBLEM)
    assert text.splitlines()[0] == "maximize earnings <1978> ($) (numbers from 0 to 60000): 3 arms on 1 node"
    assert [line.split("  ")[-1].strip() for line in text.splitlines()[4:]] == [
        "under 30, 30 to under 50, 50 or more", "0, 1", "numbers from 0 to 60000"
    ]  # fmt: skip
    assert [line.split("  ")[0] for line in text.splitlines()[4:]] == [
        "age: age in years", "X", "Y: earnings <1978> ($)"
    ]  # fmt: skip
    assert "can be set; adjustment" in text.splitlines()[5]


def test_print_of_a_ranking_is_the_table_with_its_answer() -> None:
    text = str(ranking())
    assert "mean earnings <1978> ($)" in text.splitlines()[2]
    assert text.splitlines()[4].startswith("do(X=1)")
    assert "Best: do(X=1), mean earnings <1978> ($)" in text
    assert "against doing nothing +" in text


def test_print_of_a_comparison_has_a_line_for_each_policy_and_horizon() -> None:
    lines = str(comparison()).splitlines()
    assert lines[0].split("  ")[-3:] == ["mean simple regret", "95% interval", "best arm found"]
    assert [line.split()[:2] for line in lines[2:]] == [["ue", "30"], ["ue", "60"], ["sr", "30"], ["sr", "60"]]


@pytest.mark.parametrize("what", ["problem", "ranking", "comparison"])
def test_notebooks_show_a_table_in_which_names_are_text(what: str) -> None:
    shown: Any = {"problem": lambda: PROBLEM, "ranking": ranking, "comparison": comparison}[what]()
    html = shown._repr_html_()
    assert "<table" in html
    assert "<1978>" not in html
    if what != "comparison":
        assert "earnings <1978> ($)" in read(html)


def test_the_best_arm_stands_out_in_a_notebook() -> None:
    assert re.search(r'<tr style="font-weight:bold"><td style="[^"]*">do\(X=1\)</td>', ranking()._repr_html_())


@pytest.mark.parametrize("what", [ranking, comparison])
def test_plot_returns_its_figure_draws_into_given_axes_and_writes_files(what: Any, tmp_path: Path) -> None:
    from matplotlib.figure import Figure

    found = what()
    figure = found.plot()
    assert isinstance(figure, Figure)
    assert len(figure.axes) == 1
    mine = Figure()
    left, right = mine.subplots(1, 2)
    assert found.plot(ax=right, title="mine") is mine
    assert right.get_title(loc="left") == "mine"
    assert not left.lines
    assert right.lines
    assert isinstance(found.plot(tmp_path / "a.png"), Figure)
    assert (tmp_path / "a.png").stat().st_size > 1_000
    with pytest.raises(UsageError, match="`ax` is a int; give axes of matplotlib"):
        found.plot(ax=3)


def test_labels_stand_on_the_axis_and_in_the_title() -> None:
    axes = ranking().plot().axes[0]
    assert axes.get_xlabel() == "mean earnings <1978> ($) (higher is better)"
    assert axes.get_title(loc="left").startswith("Best for earnings <1978> ($): do(X=1)")


def test_print_of_a_status_says_how_it_stands_and_what_was_pulled(campaign: wd.Campaign) -> None:
    status = campaign.status()
    lines = str(status).splitlines()
    assert lines[0].startswith("<i>spring</i>: running; maximize earnings <1978> ($) by ue, 6 of 9 spent")
    assert "! Forbidden: do(<b>X</b>=0) (<script>)" in lines
    assert sum(int(line.split()[-1]) for line in lines if line.startswith("do(")) == 6
    assert lines[-1].startswith("Last event")
    assert repr(status) == "<Status of <i>spring</i>: running, 6 of 9 spent>"


def test_print_of_a_recommendation_is_its_sentences_in_the_rewards_own_unit(campaign: wd.Campaign) -> None:
    advice = campaign.recommend()
    assert str(advice).splitlines()[: len(advice.sentences)] == list(advice.sentences)
    assert "mean earnings <1978> ($) 2" in str(advice)
    assert repr(advice).startswith(f"<Advice: {advice.arm}, 2")


def test_a_campaign_in_a_notebook_is_text_too(campaign: wd.Campaign) -> None:
    for shown in (campaign.status(), campaign.recommend()):
        html = shown._repr_html_()
        assert not any(tag in html for tag in ("<script>", "<i>spring", "<b>X", "<1978>"))
        assert "do(<b>X</b>=" in read(html)


def test_a_campaign_before_its_first_pull_shows_that(tmp_path: Path) -> None:
    begun = wd.Campaign.create(tmp_path / "a.db", "spring", wd.policy("ue"), PROBLEM, horizon=9)
    assert "No pull counts yet." in read(begun.status()._repr_html_())
    assert "No pull counts yet." in str(begun.status())
    assert repr(begun.recommend()) == "<Advice: nothing is known yet>"
    assert "Nothing is known yet" in read(begun.recommend()._repr_html_())


def test_outcomes_are_summed_up() -> None:
    network = wd.CausalNetwork({"X": wd.bernoulli([], 0.5), "Y": wd.bernoulli(["X"], [0.3, 0.6])})
    outcomes = wd.simulate(wd.policy("ue"), network, network.problem("Y"), horizon=30, runs=3)
    assert repr(outcomes).startswith("<Outcomes of 3 runs: mean simple regret ")


def test_thousands_are_separated() -> None:
    found = ranking()
    assert found.best is not None
    assert re.fullmatch(r"\+\d,\d{3} \(\+\d,\d{3} to \+\d,\d{3}\)", found.best.effect_text)
    assert re.search(r"\b2\d,\d{3} \(2\d,\d{3} to 2\d,\d{3}\)", found.summary[0])


def test_a_figure_shows_itself_in_a_notebook() -> None:
    """Without pyplot; seen as a line of text."""
    assert ranking().plot()._repr_png_().startswith(b"\x89PNG")


def test_columns_are_aligned() -> None:
    assert text_table(("a", "number"), [("long", "1"), ("b", "22")]) == (
        "a     number\n----  ------\nlong       1\nb         22"
    )


def test_a_graph_prints_its_edges_and_is_drawn_in_a_notebook() -> None:
    graph = wd.CausalGraph.parse("X -> M; M -> Y; X <-> Y")
    assert str(graph) == "X  -> M  <-> Y\nM  -> Y\nY"
    assert graph._repr_html_() == wd.draw_svg(graph, adapts=False)
    assert repr(graph).startswith("CausalGraph.parse(")


def test_a_large_graph_is_summed_up() -> None:
    graph = wd.CausalGraph(directed=[(f"n{number}", "Y") for number in range(500)])
    assert str(graph) == "<CausalGraph of 501 nodes, 500 ->, 0 <->>"
    assert graph._repr_html_() == "<pre>&lt;CausalGraph of 501 nodes, 500 -&gt;, 0 &lt;-&gt;&gt;</pre>"


def test_frames_for_readers_have_labels_and_units() -> None:
    found = ranking()
    frame = found.to_frame("pandas", labels=True)
    assert list(frame.columns) == [
        "arm", "mean earnings <1978> ($)", "95% low ($)", "95% high ($)", "against do() ($)",
        "against do(), 95% low ($)", "against do(), 95% high ($)", "naive ($)",
    ]  # fmt: skip
    assert frame["mean earnings <1978> ($)"].tolist() == [row.estimate for row in found.ordered]
    heads = list(comparison().to_frame("polars", labels=True).columns)
    assert heads[1:3] == ["horizon (pulls)", "mean simple regret"]


def test_arms_and_tables_say_what_nodes_are_called() -> None:
    problem = wd.Problem("X -> Y", "Y", labels={"X": "dose (mg)", "Y": "days (d)"})
    assert [problem.arm_label(arm) for arm in problem.arms] == ["do()", "do(dose (mg)=0)", "do(dose (mg)=1)"]
    assert problem.in_unit("estimate") == "estimate (d)"
    assert problem.legend == "Labels: X is dose (mg); Y is days (d)."
    data = {"X": [0, 1] * 50, "Y": [0, 0, 1, 1] * 25}
    found = wd.rank(problem, data)
    assert "against do() (d)" in str(found)
    assert "Labels: X is dose (mg)." in str(found)
    assert "Labels: X is dose (mg)." in read(found._repr_html_())
    for shown in (wd.check(problem, data), wd.what_if(problem, data)):
        assert problem.legend in str(shown)
        assert problem.legend in read(shown._repr_html_())
    assert "dose (mg)" in " ".join(label.get_text() for label in found.plot().axes[0].get_yticklabels())


@pytest.mark.parametrize(
    ("label", "unit"), [("gain (kg)", "kg"), ("gain", ""), ("(kg)", ""), ("f(x) (a) b", ""), ("odd (a) (b)", "b")]
)
def test_a_unit_is_what_a_label_ends_in(label: str, unit: str) -> None:
    problem = wd.Problem("X -> Y", "Y", labels={"Y": label})
    assert problem.in_unit("mean") == (f"mean ({unit})" if unit else "mean")
