"""A problem proposed from data and a drawing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whichdo as wd
from whichdo.errors import DataError, ProblemError, UsageError
from whichdo.problem_file import read_problem
from whichdo.proposing.proposal import proposal
from whichdo.proposing.writing import proposal_to_toml, write_proposal

if TYPE_CHECKING:
    from pathlib import Path

N = 1_000
GRAPH = "{age region smokes} -> {drug earns}; drug -> earns"


def people(**more: Any) -> Any:
    rng = np.random.default_rng(0)
    data = {
        "id": np.arange(N) + 1_000,
        "age": rng.integers(18, 80, N),
        "region": rng.choice(["north", "south", "Alaska", "Hawaii"], N, p=[0.6, 0.39, 0.005, 0.005]),
        "smokes": rng.choice(["yes", "no"], N),
        "drug": rng.random(N) < 0.5,
        "earns": rng.lognormal(9, 1, N).round(2),
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(N), "D"),
    }
    return pd.DataFrame({**data, **more})


def test_what_a_careful_reader_would_propose() -> None:
    found = wd.propose(people(), GRAPH, "earns")
    assert found.bins["age"].cuts == (35, 50, 65)
    assert found.domains["region"] == ("north", "south", "other")
    assert found.groups["region"] == {"other": ("Alaska", "Hawaii")}
    assert found.domains["smokes"] == ("no", "yes")
    assert found.domains["drug"] == (0, 1)
    assert found.reward_range is not None
    assert found.reward_range.low == 0
    assert set(found.intervene) == {"age", "region", "smokes", "drug"}
    assert wd.rank(found, people()).looks == N


def test_frames_files_and_columns_propose_the_same(tmp_path: Path) -> None:
    data = people().drop(columns="day")
    expected = wd.propose(data, GRAPH, "earns")
    data.to_csv(tmp_path / "a.csv", index=False)
    pq.write_table(pa.table(data), tmp_path / "a.parquet")
    (tmp_path / "g.dag").write_text(f"dag {{ {GRAPH} }}")
    for source in (tmp_path / "a.csv", tmp_path / "a.parquet", pl.from_pandas(data), dict(data), pa.table(data)):
        assert wd.propose(source, tmp_path / "g.dag", "earns") == expected


def test_dates_identifiers_and_nodes_without_a_column_are_hidden_and_named() -> None:
    graph = f"{GRAPH}; id -> drug; day -> drug; {{day luck}} -> {{drug earns}}"
    found = proposal(people(), graph, "earns")
    assert found.hidden == {
        "id": "its column tells rows apart (nearly every row has its own value)",
        "day": "its column holds dates",
        "luck": "it has no column",
    }
    assert found.problem.graph.hidden == {"id", "day", "luck"}
    assert frozenset({"drug", "earns"}) in found.problem.graph.bidirected
    assert "luck is taken as hidden: it has no column." in found.remarks


def test_names_that_are_spelt_almost_alike_are_taken_as_the_columns_are() -> None:
    found = proposal(people(), "{Age REGION} -> {drug Earns}; drug -> Earns; smoke -> Earns", "Earns")
    assert found.renamed == {"Age": "age", "REGION": "region", "Earns": "earns"}
    assert found.problem.reward == "earns"
    assert found.hidden == {"smoke": 'it has no column; did you mean "smokes"'}
    assert found.unused == ("id", "smokes", "day")


@pytest.mark.parametrize(
    ("values", "worth"),
    [
        (["yes", "no"], {"no": 0.0, "yes": 1.0}),
        (["False", "True"], {0: 0.0, 1: 1.0}),
        ([0, 1], {0: 0.0, 1: 1.0}),
        (["Y", "N"], {"N": 0.0, "Y": 1.0}),
        ([0.0, 0.5, 1.0], {0: 0.0, 0.5: 0.5, 1: 1.0}),
    ],
)
def test_rewards_of_a_few_values(values: list[Any], worth: dict[Any, float]) -> None:
    found = wd.propose(people(earns=np.resize(np.array(values), N)), GRAPH, "earns")
    assert dict(found.rewards) == worth
    assert found.reward_range is None


def test_a_rating_is_a_number_on_its_range() -> None:
    found = wd.propose(people(earns=np.resize(np.arange(1, 6), N)), GRAPH, "earns")
    assert found.reward_range is not None
    assert (found.reward_range.low, found.reward_range.high) == (1, 5)


def test_words_are_good_or_bad_only_if_someone_says_so() -> None:
    data = people(earns=np.resize(np.array(["cured", "ill", "dead"]), N))
    with pytest.raises(ProblemError) as caught:
        wd.propose(data, GRAPH, "earns")
    assert str(caught.value) == (
        'The reward "earns" has the values cured, dead and ill; which of them are good is not stated. Name '
        "the good ones with `good`."
    )
    assert wd.propose(data, GRAPH, "earns", good=["cured"]).rewards == {"cured": 1.0, "dead": 0.0, "ill": 0.0}
    ordered = pd.Categorical(data["earns"], ["dead", "ill", "cured"], ordered=True)
    found = wd.propose(data.assign(earns=ordered), GRAPH, "earns")
    assert dict(found.rewards) == {"dead": 0.0, "ill": 0.5, "cured": 1.0}
    with pytest.raises(ProblemError, match="alive is not among them"):
        wd.propose(data, GRAPH, "earns", good="alive")


def test_ordered_categories_keep_their_order_and_intervals_their_names() -> None:
    sizes = pd.Categorical(np.resize(np.array(["S", "L", "M"]), N), ["S", "M", "L"], ordered=True)
    cut = pd.cut(people()["age"], [0, 40, 100])
    found = wd.propose(people(region=sizes, age=cut), GRAPH, "earns")
    assert found.domains["region"] == ("S", "M", "L")
    assert found.domains["age"] == ("(0, 40]", "(40, 100]")
    assert wd.rank(found, people(region=sizes, age=cut)).looks == N


def test_spellings_that_differ_in_capitals_and_blanks_are_one_value() -> None:
    data = people(smokes=np.resize(np.array(["yes", "Yes", " yes", "yes", "no"]), N))
    found = wd.propose(data, GRAPH, "earns")
    assert found.domains["smokes"] == ("no", "yes")
    assert found.groups["smokes"] == {"yes": (" yes", "Yes")}
    assert wd.rank(found, data).looks == N


def test_values_that_the_drawing_lists_come_first() -> None:
    found = wd.propose(people(), f'dag {{ smokes [values="yes, no, unknown"] {GRAPH} }}', "earns")
    assert found.domains["smokes"] == ("yes", "no", "unknown")


def test_fewer_bins_where_the_rows_could_not_fill_the_cells() -> None:
    few = people().head(100)
    found = proposal(few, GRAPH, "earns")
    assert len(found.problem.bins["age"].cuts) < 3
    assert any("bins at most, since more would leave too few rows" in remark for remark in found.remarks)


def test_exposures_can_be_set_and_named_nodes_before_them() -> None:
    marked = f"drug [exposure]; {GRAPH}"
    assert list(wd.propose(people(), marked, "earns").intervene) == ["drug"]
    assert list(wd.propose(people(), marked, "earns", intervene=["smokes"]).intervene) == ["smokes"]
    with pytest.raises(ProblemError, match='"day" cannot be set here: its column holds dates'):
        wd.propose(people(), f"{GRAPH}; day -> earns", "earns", intervene=["day"])


def test_missing_values_are_counted_and_said() -> None:
    data = people()
    data.loc[:49, "earns"] = np.nan
    data.loc[:9, "region"] = None
    found = proposal(data, GRAPH, "earns", intervene=["drug"])
    assert found.missing == {"region": 10, "earns": 50}
    assert "Missing values: region 10 and earns 50 of 1,000 rows." in found.remarks
    assert found.must_say_missing
    assert "--missing drop" in proposal_to_toml(found)
    assert wd.rank(found.problem, data, missing="drop").looks == 950
    late = people().assign(late=np.nan)
    late.loc[5:, "late"] = 1
    assert not proposal(late, f"{GRAPH}; earns -> late", "earns", intervene=["drug"]).must_say_missing


@pytest.mark.parametrize(
    ("graph", "reward", "words"),
    [
        (
            GRAPH,
            None,
            "Which node is the reward? The drawing does not say (it marks no outcome); name it with `reward`.",
        ),
        (GRAPH, "earn", 'The reward "earn" is not in the drawing. Did you mean "earns"?'),
        (GRAPH, "id", 'The reward "id" is a column, but not in the drawing. Draw what acts on it.'),
        (f"{GRAPH}; earns -> day", "day", 'The reward "day" cannot be used: its column holds dates.'),
        (
            "luck -> earns",
            "earns",
            'Beside the reward "earns" no node of the drawing has a column that can be used: luck',
        ),
    ],
)
def test_what_cannot_be_proposed(graph: str, reward: str | None, words: str) -> None:
    with pytest.raises((ProblemError, DataError)) as caught:
        wd.propose(people(), graph, reward)
    assert words in str(caught.value)


def test_a_drawing_is_a_graph_text_or_a_file() -> None:
    with pytest.raises(UsageError, match="A drawing is a CausalGraph, text such as X -> Y, or a path; found int"):
        wd.propose(people(), 3, "earns")  # type: ignore[arg-type]


@pytest.mark.parametrize("beside", [True, False])
def test_the_file_that_is_written_reads_back_as_the_proposed_problem(beside: bool, tmp_path: Path) -> None:
    """With the graph beside it or inline; every choice has a comment."""
    graph = tmp_path / ("g.dag" if beside else "elsewhere/g.dag")
    graph.parent.mkdir(exist_ok=True)
    graph.write_text(f"dag {{ {GRAPH} }}")
    out = tmp_path / "sub" / "problem.toml" if not beside else tmp_path / "problem.toml"
    out.parent.mkdir(exist_ok=True)
    data = people(smokes=np.resize(np.array(["yes", "Yes ", "no"]), N))
    found = proposal(data, graph, "earns", goal="minimize")
    text = write_proposal(found, out, data="people.csv", graph_file=graph)
    assert ('graph_file = "g.dag"' in text) == beside
    assert read_problem(out) == found.problem
    assert "2 rare values (1." in text
    assert "whichdo rank" in text
    assert max(map(len, text.splitlines())) < 500


def test_numbers_as_text_are_taken_in_without_a_step_for_each() -> None:
    """A tenth of a second here; one by one it would be minutes."""
    from time import process_time

    values = pa.array(np.random.default_rng(0).normal(size=100_000).astype(str))
    data = {"x": values, "y": pa.array(np.resize([0, 1], 100_000))}
    start = process_time()
    assert len(wd.propose(data, "x -> y", "y").bins["x"].cuts) == 3
    assert process_time() - start < 2


def test_blanks_are_not_taken_for_missing() -> None:
    """As in counting: a file leaves a missing field empty, a frame has None."""
    with pytest.raises(DataError, match="Column smokes: 500 values of nothing but blanks"):
        wd.propose(people(smokes=np.resize(np.array(["yes", " "]), N)), GRAPH, "earns")
