"""`whichdo.check`: what it finds, what it says of it, and what hostile input gets."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import whichdo as wd
from whichdo.counting import count_with_notes
from whichdo.errors import DataError, UsageError

if TYPE_CHECKING:
    from whichdo.arrays import CodeArray

CHAIN = "age -> region; region -> mask; mask -> ill"


def survey(rows: int = 4_000, *, seed: int = 1) -> dict[str, CodeArray]:
    """Age acts on region, region on mask, mask on illness, and age on illness too."""
    rng = np.random.default_rng(seed)
    age = rng.random(rows) < 0.4
    region = rng.random(rows) < np.where(age, 0.7, 0.3)
    mask = rng.random(rows) < np.where(region, 0.6, 0.3)
    ill = rng.random(rows) < 0.2 + 0.3 * age - 0.15 * mask
    columns = {"age": age, "region": region, "mask": mask, "ill": ill}
    return {name: values.astype(np.uint8) for name, values in columns.items()}


def problem(graph: str = CHAIN, **options: Any) -> wd.Problem:
    return wd.Problem(graph, "ill", ["mask"], goal="minimize", **options)


def test_a_right_graph_stands() -> None:
    found = wd.check(problem(f"{CHAIN}; age -> ill"), survey())
    assert found.ok
    assert found.summary[0] == "2 statements tested on 4,000 rows, none fails."
    assert [(each.left, each.right, each.given) for each in found.statements] == [
        ("age", "mask", ("region",)),
        ("region", "ill", ("age", "mask")),
    ]
    assert all(0.01 < each.p < 1 and not each.fails for each in found.statements)


def test_a_missing_arrow_is_found_named_and_weighed() -> None:
    """With age -> ill, or a hidden cause of both, masks still help: the decision stays."""
    found = wd.check(problem(), survey())
    assert not found.ok
    assert {(each.left, each.right) for each in found.failing} == {("age", "ill"), ("region", "ill")}
    assert len(found.suspects) == 1
    edges = [each.edge for group in found.suspects for each in group]
    assert {"age <-> ill", "age -> ill"} <= set(edges)
    assert found.best == "do(mask=1)"
    assert not any(each.changes for group in found.suspects for each in group)
    assert "would not change" in str(found)
    assert "Likely missing: age <-> ill" in str(found)


def test_a_decision_that_the_missing_edge_turns_around_is_said() -> None:
    """Those who wear masks are the old, who fall ill: without age -> mask masks seem to harm."""
    rng = np.random.default_rng(2)
    age = rng.random(6_000) < 0.5
    mask = rng.random(6_000) < np.where(age, 0.8, 0.2)
    ill = rng.random(6_000) < 0.2 + 0.5 * age - 0.1 * mask
    rows = {"age": age.astype(int), "mask": mask.astype(int), "ill": ill.astype(int)}
    found = wd.check(problem("age -> ill; mask -> ill"), rows)
    assert found.best == "do(mask=0)"
    changing = {each.edge: each.best for group in found.suspects for each in group if each.changes}
    assert changing["age -> mask"] == "do(mask=1)"
    assert "The decision, do(mask=0), may change: with " in str(found)


def test_the_decision_is_what_rank_says_of_the_edited_graph() -> None:
    """Whether all columns were counted as one table, or the tables are counted again for the edited graphs."""
    few, many = problem(), problem(f"{CHAIN}; " + "; ".join(f"extra{j}" for j in range(14)))
    rng = np.random.default_rng(8)
    wide = survey() | {f"extra{j}": rng.integers(0, 2, 4_000) for j in range(14)}
    for asked, rows in ((few, survey()), (many, wide)):
        found = wd.check(asked, rows)
        assert found.best == str(wd.rank(asked, rows).best.arm)  # type: ignore[union-attr]
        for suspect in found.suspects[0]:
            best = wd.rank(asked.but(graph=suspect.edit.apply(asked.graph)), rows).best
            assert suspect.best == (None if best is None else str(best.arm))


def test_everything_is_in_the_dict_and_can_be_json() -> None:
    found = wd.check(problem(), survey())
    content = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert content["ok"] is False
    assert content["statements"][0].keys() >= {"left", "right", "given", "p", "strength", "fails"}
    assert content["likely_missing"][0][0].keys() == {"edge", "ranked", "best", "changes"}
    assert content["summary"] == list(found.summary)
    frame = found.to_frame("pyarrow")
    assert frame.num_rows == len(found.statements)
    assert "fails" in found._repr_html_()
    assert (
        repr(found) == f"<Check of {len(found.statements)} statements on 4,000 rows: {len(found.failing)} tests failed>"
    )


def test_a_graph_that_says_nothing_of_logs_is_called_that() -> None:
    """Complete, so nothing is independent of anything; and a hidden cause could be behind every edge."""
    found = wd.check(wd.Problem("X -> Y", "Y"), {"X": [0, 1] * 50, "Y": [0, 1] * 50})
    assert found.ok
    assert found.statements == ()
    assert found.summary == (
        "The graph implies no independence, so no log can contradict it: only experiments can.",
        "No log can show whether X <-> Y is missing: only experiments can.",
    )
    assert "<table>" not in found._repr_html_()


def test_an_instrument_makes_a_hidden_cause_visible() -> None:
    """Z -> X -> Y without X <-> Y says that Z and Y are independent given X, so X <-> Y is among what logs can show."""
    graph = wd.Problem("Z -> X; X -> Y", "Y")
    rng = np.random.default_rng(3)
    hidden = rng.random(20_000) < 0.5
    z = rng.random(20_000) < 0.5
    x = rng.random(20_000) < 0.1 + 0.4 * hidden + 0.4 * z
    y = rng.random(20_000) < 0.1 + 0.5 * hidden + 0.3 * x
    found = wd.check(graph, {"Z": z.astype(int), "X": x.astype(int), "Y": y.astype(int)})
    assert not found.ok
    assert "X <-> Y" in {each.edge for each in found.suspects[0]}
    assert "X <-> Y" not in found.unseen


# ------------------------------------------------------------------------------------------------------ hostile input


def test_one_row_tests_nothing_and_says_why() -> None:
    found = wd.check(problem(), survey(1))
    assert found.ok
    assert found.tested == ()
    assert found.summary[0] == "None of the graph's 4 statements could be tested."
    assert found.summary[1] == "The first is age and mask given region: 8 cells are too many for 1 row."


def test_no_row_is_an_error() -> None:
    with pytest.raises(DataError, match="no rows"):
        wd.check(problem(), survey(0))


def test_columns_that_never_vary_test_nothing() -> None:
    rows = survey() | {"age": np.zeros(4_000, np.uint8)}
    found = wd.check(problem(f"{CHAIN}; region -> ill"), rows)
    assert found.ok
    by_pair = {(each.left, each.right): each for each in found.statements}
    assert by_pair["age", "ill"].method == "one of the two never varies where the rest is the same"


def test_statements_whose_columns_are_not_there_are_left_out() -> None:
    rows = survey()
    del rows["region"]
    found = wd.check(problem(), rows)
    assert [str(each.statement) for each in found.tested] == ["age and ill given mask"]
    assert "its columns were not counted together" in str(found)


def test_tables_that_are_too_large_are_skipped_and_reported() -> None:
    """A in four groups, since it has twenty values, times 20 of B times 2 of Y: 160 cells want 800 rows."""
    values = list(range(20))
    asked = wd.Problem("A -> B -> Y", "Y", domains={"A": values, "B": values})
    rng = np.random.default_rng(4)
    rows = {"A": rng.integers(0, 20, 700), "B": rng.integers(0, 20, 700), "Y": rng.integers(0, 2, 700)}
    found = wd.check(asked, rows)
    assert found.statements[0].method == "160 cells are too many for 700 rows"
    assert found.summary[0] == "None of the graph's 1 statement could be tested."


def test_something_else_than_a_problem_is_refused() -> None:
    with pytest.raises(UsageError, match="check takes a Problem first"):
        wd.check("X -> Y", {})  # type: ignore[arg-type]


def test_a_stream_of_batches_is_read_once_and_kept() -> None:
    table = pa.table(survey())
    found = wd.check(problem(), pa.RecordBatchReader.from_batches(table.schema, table.to_batches(500)))
    assert found.to_dict() == wd.check(problem(), survey()).to_dict()


def test_rows_that_count_more_than_once_are_the_same_rows() -> None:
    rows = survey()
    cells, counts = np.unique(np.stack(list(rows.values())), axis=1, return_counts=True)
    short = dict(zip(rows, cells, strict=True)) | {"n": counts}
    assert wd.check(problem(), short, counts="n").statements == wd.check(problem(), rows).statements


def test_a_tally_is_checked_with_the_tables_it_has() -> None:
    scope = ("age", "region", "mask", "ill")
    tally = wd.count(problem(), survey(), scopes=[scope])
    assert wd.check(problem(), tally).statements == wd.check(problem(), survey()).statements
    bare = wd.count(problem(), survey(), scopes=[("age", "ill")])
    assert wd.check(problem(), bare).tested == ()


def test_a_numeric_reward_is_tested_in_four_groups() -> None:
    """Costs between 0 and 100 that age moves."""
    rng = np.random.default_rng(6)
    rows: dict[str, Any] = survey()
    rows["ill"] = np.clip(30 + 20 * rows["age"] - 5 * rows["mask"] + rng.normal(0, 10, 4_000), 0, 100)
    wrong = wd.check(problem(reward_range=(0, 100)), rows)
    assert ("age", "ill") in {(each.left, each.right) for each in wrong.failing}
    assert wrong.best == "do(mask=1)"
    assert wd.check(problem(f"{CHAIN}; age -> ill", reward_range=(0, 100)), rows).ok


# -------------------------------------------------------------------------------------------------------- experiments


def pulled(rows: int, *, acts: float, seed: int = 7) -> dict[str, Any]:
    """Looks, then pulls of do(X=1); the graph says that X does not act on W, which it does by ``acts``."""
    rng = np.random.default_rng(seed)
    done = np.arange(2 * rows) >= rows
    x = np.where(done, True, rng.random(2 * rows) < 0.4)
    w = rng.random(2 * rows) < 0.3 + acts * done
    y = rng.random(2 * rows) < 0.2 + 0.3 * x + 0.2 * w
    columns = {name: values.astype(int).tolist() for name, values in (("W", w), ("X", x), ("Y", y))}
    return columns | {"arm": np.where(done, "do(X=1)", "do()").tolist()}


def test_an_experiment_that_moves_what_it_should_leave_alone_is_noticed() -> None:
    asked = wd.Problem("W -> Y; X -> Y; W <-> X", "Y")
    wrong = wd.check(asked, pulled(300, acts=0.3), arm="arm")
    assert "W under do(X) and among looks" in [str(each) for each in wrong.cross_checks if each.fails]
    assert not wrong.ok
    assert "Another test fails: W under do(X) and among looks" in str(wrong)
    right = wd.check(asked, pulled(300, acts=0.0), arm="arm")
    assert right.ok
    assert ("experiments", "W") in [(each.kind, each.node) for each in right.cross_checks]


def test_few_pulls_against_many_looks_are_weighed_by_the_few() -> None:
    """60 pulls beside 60,000 looks hold less than .0005 nats a row, and a quarter of them differ."""
    looks, few = pulled(60_000, acts=0.0), pulled(60, acts=0.35, seed=9)
    rows = {name: looks[name][:60_000] + few[name][60:] for name in looks}
    found = wd.check(wd.Problem("W -> Y; X -> Y; W <-> X", "Y"), rows, arm="arm")
    assert "W" in [each.node for each in found.cross_checks if each.fails]


def test_estimates_that_contradict_each_other_are_part_of_the_check() -> None:
    """A and B are alike without an edge: what leans on that differs from what does not."""
    rng = np.random.default_rng(1)
    a = rng.random(20_000) < 0.5
    b = np.where(rng.random(20_000) < 0.9, a, ~a)
    x = rng.random(20_000) < 0.05 + 0.9 * (a & b)
    y = rng.random(20_000) < 0.1 + 0.7 * (a & b) + 0.1 * x
    rows = {name: values.astype(int) for name, values in (("A", a), ("B", b), ("X", x), ("Y", y))}
    found = wd.check(wd.Problem("A -> {X Y}; B -> {X Y}; X -> Y", "Y", ["X"]), rows)
    (estimates,) = [each for each in found.cross_checks if each.kind == "estimates"]
    assert estimates.fails
    assert estimates.size == pytest.approx(0.14, abs=0.03)
    assert {each.edge for each in found.suspects[0]} >= {"A <-> B", "A -> B", "B -> A"}


def test_looks_and_experiments_that_disagree_on_a_law_are_part_of_the_check() -> None:
    """Without X <-> Y the law of Y given X is the same by looking and by setting X; a hidden cause makes it another."""
    rng = np.random.default_rng(12)
    hidden = rng.random(4_000) < 0.5
    done = np.arange(4_000) >= 2_000
    x = np.where(done, rng.random(4_000) < 0.5, rng.random(4_000) < 0.2 + 0.6 * hidden)
    y = rng.random(4_000) < 0.2 + 0.4 * hidden + 0.1 * x
    arms = np.where(done, np.where(x, "do(X=1)", "do(X=0)"), "do()").tolist()
    rows = {"X": x.astype(int), "Y": y.astype(int), "arm": arms}
    found = wd.check(wd.Problem("X -> Y", "Y"), rows, arm="arm")
    (failing,) = [each for each in found.cross_checks if each.fails]
    assert (failing.kind, str(failing)) == ("factors", "the law of Y given X from looks and experiments on X")
    assert wd.check(wd.Problem("X -> Y; X <-> Y", "Y"), rows, arm="arm").ok


def test_a_tally_with_weights_is_refused() -> None:
    rows = {"X": [0, 1] * 50, "Y": [0, 1] * 50, "w": [1.0, 2.0] * 50}
    tally, _ = count_with_notes(wd.Problem("X -> Y", "Y"), rows, weights="w")
    with pytest.raises(UsageError, match="have weights"):
        wd.check(wd.Problem("X -> Y", "Y"), tally)


def test_the_page_prints_what_its_comments_say(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = Path(__file__).parents[2]
    monkeypatch.chdir(root)
    (code,) = re.findall(r"```python\n(.*?)```", (root / "docs" / "check.md").read_text(encoding="utf-8"), re.DOTALL)
    expected = [line.split("# ", 1)[1].strip() for line in code.splitlines() if line.startswith("print(")]
    exec(compile(code, "check.md", "exec"), {})
    assert capsys.readouterr().out.splitlines() == expected
