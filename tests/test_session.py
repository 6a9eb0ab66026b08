"""Sessions: the protocol of asking and telling, what is refused, and that refusing changes nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import whichdo as wd
from tests.sessions import RowSource, Scripted, as_plain, rows_of
from whichdo.evidence import Rows
from whichdo.tables import Table
from whichdo.world.instances import canonical

if TYPE_CHECKING:
    from collections.abc import Callable

    from whichdo.problem import Problem

FRONT_DOOR = canonical("frontdoor")
PROBLEM = FRONT_DOOR.problem  # X -> M -> Y, X <-> Y; arms do(), do(X=0), do(X=1)
LOOK, X0, X1 = PROBLEM.arms
XMY = ("X", "M", "Y")


def scripted(*batches: Any, budget: float = 1000, problem: Problem = PROBLEM) -> wd.Session:
    return wd.Session(Scripted(batches), problem, budget=budget)


# ----------------------------------------------------------------------------------------------------------------- ask


def test_asking_again_without_telling_gives_the_same_arms_and_more_of_them_on_demand() -> None:
    session = scripted(wd.Batch((X1, LOOK), (2, 1)))
    assert session.ask() == session.ask() == [X1]
    assert session.ask(2) == [X1, X1]
    assert session.ask(99) == [X1, X1, LOOK]
    assert session.ask(0) == []
    session.tell(LOOK, {"Y": 1})  # any that is owed, not only the first
    assert session.ask(99) == [X1, X1]
    assert (session.batch.arms, session.batch.counts) == ((X1,), (2,))


def test_the_next_batch_is_asked_for_only_when_the_last_pull_is_told() -> None:
    session = scripted(wd.pull(X1, 2), wd.pull(X0, 1))
    session.tell(X1, {"Y": 1})
    assert session.ask(9) == [X1]
    session.tell(X1, {"Y": 0})
    assert session.ask(9) == [X0]
    assert not session.finished
    session.tell(X0, {"Y": 0})
    assert session.finished
    assert session.ask(9) == []
    assert session.batch == wd.Batch((), ())
    assert session.needed == ()
    assert session.recommend().arm == LOOK


def test_a_batch_of_no_pulls_is_answered_at_once() -> None:
    policy = Scripted((wd.observe(0, scopes=[XMY]), wd.pull(X1, 0, detail=wd.ROWS), wd.pull(X0, 1)))
    session = wd.Session(policy, PROBLEM, horizon=5)
    assert session.ask(9) == [X0]
    world = wd.World(FRONT_DOOR.network, PROBLEM, 1)
    assert [as_plain(each) for each in policy.answers] == [as_plain(world.pull(each)) for each in policy.batches[:2]]


def test_what_is_spent_and_left() -> None:
    problem = wd.Problem(PROBLEM.graph, "Y", ["X"], costs={X1: 2.5, LOOK: 0.5})
    session = scripted(wd.Batch((X1, LOOK), (2, 2)), budget=7, problem=problem)
    assert (session.spent, session.left) == (0, 7)
    session.tell(X1, {"Y": 1})
    assert (session.spent, session.left) == (2.5, 4.5)
    session.tell(X1, {"Y": 1})
    session.tell(LOOK, [{"Y": 1}, {"Y": 0}])
    assert (session.spent, session.left, session.finished) == (6, 1, True)
    assert repr(session) == "<Session: scripted, finished, 6 of 7 spent>"


def test_a_row_needs_what_the_policy_reads() -> None:
    details = [wd.pull(X1), wd.observe(1, scopes=[("X", "Y")]), wd.pull(X1, detail=wd.ROWS)]
    assert [scripted(batch).needed for batch in details] == [("Y",), ("X", "Y"), XMY]


# ---------------------------------------------------------------------------------------------------------------- tell


def one_tally(session: wd.Session, arm: wd.Arm, tally: wd.Tally) -> None:
    session.tell(arm, tally)


def list_of_rows(session: wd.Session, arm: wd.Arm, tally: wd.Tally) -> None:
    session.tell(arm, rows_of(tally))


def row_by_row(session: wd.Session, arm: wd.Arm, tally: wd.Tally) -> None:
    for row in rows_of(tally):
        session.tell(arm, row)


def texts(session: wd.Session, arm: wd.Arm, tally: wd.Tally) -> None:
    for row in rows_of(tally):
        session.tell(arm, {name: str(value) for name, value in row.items()})


def booleans_and_strange_columns(session: wd.Session, arm: wd.Arm, tally: wd.Tally) -> None:
    for row in rows_of(tally):
        session.tell(arm, {"weather": object(), 5: None} | {name: bool(value) for name, value in row.items()})


def columns(session: wd.Session, arm: wd.Arm, tally: wd.Tally) -> None:
    assert tally.rows is not None
    session.tell(arm, dict(zip(XMY, tally.rows.codes.T, strict=True)))


def frames(session: wd.Session, arm: wd.Arm, tally: wd.Tally) -> None:
    frame = pd.DataFrame(rows_of(tally))
    session.tell(arm, frame[:4])
    session.tell(arm, frame[4:].astype(float))


def rows_and_tallies(session: wd.Session, arm: wd.Arm, tally: wd.Tally) -> None:
    rows = rows_of(tally)
    session.tell(arm, rows[:3])
    if session.batch.detail is wd.ROWS:
        session.tell(arm, rows[3:])
        return
    part = pd.DataFrame(rows[3:])
    part["arm"] = str(arm)
    counted = wd.count(PROBLEM, part, arm="arm", scopes=[XMY, ("M", "Y"), ()])
    session.tell(arm, counted)


@pytest.mark.parametrize("detail", list(wd.Detail))
@pytest.mark.parametrize(
    "tell",
    [one_tally, list_of_rows, row_by_row, texts, booleans_and_strange_columns, columns, frames, rows_and_tallies],
)
def test_the_policy_is_handed_the_same_however_it_was_told(tell: Callable[..., None], detail: wd.Detail) -> None:
    """Counted here by hand from the rows: levels, each table, and rows arm by arm in the order told."""
    scopes = (XMY, ("M", "Y"), ("Y",), ())
    batch = wd.Batch((X1, LOOK, X0), (10, 7, 0), detail, scopes if detail is wd.TABLES else None)
    policy = Scripted((batch,))
    session = wd.Session(policy, PROBLEM, horizon=20)
    source = RowSource(FRONT_DOOR.network, PROBLEM, 4)
    pulled = {LOOK: source.tally(LOOK, 7), X1: source.tally(X1, 10), X0: source.tally(X0, 0)}
    for arm in (LOOK, X1):
        tell(session, arm, pulled[arm])
    (answer,) = policy.answers
    rows = {arm: rows_of(tally) for arm, tally in pulled.items()}
    for arm, told in rows.items():
        assert answer.counts[PROBLEM.index(arm)].tolist() == [sum(row["Y"] == y for row in told) for y in (0, 1)]
    if detail is wd.TABLES:
        assert list(answer.tables) == [X1, LOOK, X0]
        for arm, told in rows.items():
            assert tuple(answer.tables[arm]) == scopes
            for scope, table in answer.tables[arm].items():
                assert table.count.dtype == np.int64
                for cell, count in np.ndenumerate(table.count):
                    assert count == sum(all(row[n] == v for n, v in zip(scope, cell, strict=True)) for row in told)
    if detail is wd.ROWS:
        assert answer.rows is not None
        assert answer.rows.arms.tolist() == [2] * 10 + [0] * 7
        assert answer.rows.codes.tolist() == [[row[n] for n in XMY] for arm in (X1, LOOK) for row in rows[arm]]
    assert as_plain(session.told) == as_plain(answer)


def test_extra_columns_are_ignored_and_listed() -> None:
    session = scripted(wd.pull(X1, 3))
    session.tell(X1, {"Y": 1, "weather": "fine"})
    session.tell(X1, {"Y": [1], "mood": [3], "weather": [1]})
    session.tell(X1, {"Y": 1, "M": None})  # a node that is not needed may be missing
    assert session.ignored == ("weather", "mood")


def test_declared_values_are_read_as_in_a_log() -> None:
    problem = wd.Problem("D -> Y", "Y", domains={"D": ("low", "mid", "5"), "Y": (0, 0.5, 1)})
    session = wd.Session(Scripted((wd.observe(4, detail=wd.ROWS),)), problem, horizon=4)
    session.tell(wd.do(), [{"D": "mid", "Y": "0.5"}, {"D": 5, "Y": 1.0}, {"D": np.str_("low"), "Y": np.float32(0.5)}])
    rows = session.told.rows
    assert rows is not None
    assert rows.codes.tolist() == [[1, 1], [2, 2], [0, 1]]
    with pytest.raises(wd.DataError, match=r'Row 1, column Y: "0.25". Allowed: 0, 0.5, 1.'):
        session.tell(wd.do(), {"D": "mid", "Y": 0.25})


def test_what_was_told_is_whole_in_the_middle_of_a_batch_and_over_several() -> None:
    session = scripted(wd.observe(3, scopes=[("X", "Y")]), wd.pull(X1, 1), wd.pull(X0, 2, detail=wd.ROWS))
    session.tell(LOOK, [{"X": 0, "Y": 1}, {"X": 1, "Y": 1}])
    assert session.told.tables[LOOK]["X", "Y"].tolist() == [[0, 1], [0, 1]]
    session.tell(LOOK, {"X": 0, "Y": 1})
    session.tell(X1, {"Y": 0})
    session.tell(X0, {"X": 0, "M": 1, "Y": 0})
    told = session.told
    assert told.counts.tolist() == [[0, 3], [1, 0], [1, 0]]
    assert told.tables[LOOK]["X", "Y"].tolist() == [[0, 2], [0, 1]]
    assert told.rows is not None
    assert told.rows.codes.tolist() == [[0, 1, 0]]
    assert session.spent == 5


def test_a_scope_of_too_many_cells_is_sparse_whether_told_as_rows_or_tallies() -> None:
    """21 binary columns have 2^21 cells, over the 2^20 that are laid out; a world hands them over likewise."""
    names = [f"X{j}" for j in range(20)]
    network = wd.CausalNetwork(
        {name: wd.bernoulli((), 0.3) for name in names} | {"Y": wd.bernoulli(("X0",), [0.2, 0.7])}
    )
    problem = network.problem("Y")
    wide, batch = (*names, "Y"), wd.observe(50, scopes=[(*names, "Y"), ("X0", "Y")])
    rows = RowSource(network, problem, 1).tally(wd.do(), 50)
    assert rows.rows is not None
    cells, counts = np.unique(rows.rows.codes, axis=0, return_counts=True)
    listed = np.concatenate([counts, 0 * counts]), np.concatenate([cells, cells[::-1]])
    twice = Table(wide, [2] * 21, *listed)
    pair = np.array(
        [[int(((rows.rows.codes[:, [0, 20]] == [x, y]).all(axis=1)).sum()) for y in (0, 1)] for x in (0, 1)]
    )
    both = Table(("X0", "Y"), (2, 2), pair)
    tables = wd.Tally(problem, rows.counts, {wd.do(): {wide: twice, both.scope: both}})
    found = []
    for outcome in (rows, rows_of(rows), tables):
        policy = Scripted((batch,))
        wd.Session(policy, problem, horizon=50).tell(wd.do(), outcome)
        found.append(as_plain(policy.answers[0]))
    assert found[0] == found[1] == found[2]
    assert found[0]["tables"]["do()"][wide] == ("sparse", cells.tolist(), counts.tolist())
    halves = Scripted((batch,))
    session = wd.Session(halves, problem, horizon=50)
    for part in (rows_of(rows)[:20], rows_of(rows)[20:]):
        session.tell(wd.do(), part)
    assert as_plain(halves.answers[0]) == found[0]


# ------------------------------------------------------------------------------------------------------------- refused


def tally(counts: Any, tables: Any = None, rows: Rows | None = None, problem: Problem = PROBLEM) -> wd.Tally:
    return wd.Tally(problem, np.array(counts), tables or {}, rows)


def codes(*rows: list[int], arms: list[int] | None = None) -> Rows:
    return Rows(np.array(arms or [2] * len(rows)), np.array(rows, np.uint8))


ONE = [[0, 0], [0, 0], [0, 1]]  # one pull of do(X=1), Y = 1
TABLE = np.zeros((2, 2, 2), np.int64)
TABLE[1, 0, 1] = 1
OTHER = wd.Problem("X -> M; M -> Y; X <-> Y", "Y", ["X"], goal="minimize")

REFUSED: list[tuple[Any, Any, str]] = [
    (
        X0,
        {"X": 0, "M": 0, "Y": 1},
        "do(X=0) is not among the pulls asked for. Outstanding pulls: do(X=1) (2) and do() (1).",
    ),
    (wd.do(Z=1), {"X": 1, "M": 0, "Y": 1}, "do(Z=1) is not an arm of this problem"),
    ("do(X=1)", {"X": 1, "M": 0, "Y": 1}, '"do(X=1)" is a string; problem.arm(text) finds the arm'),
    (X1, {"X": 0, "M": 0, "Y": 1}, "the arm is do(X=1), but X is 0: the intervention was not applied"),
    (X1, [{"X": 1, "M": 0, "Y": 1}] * 3, "do(X=1) has 2 pulls outstanding, and 3 were told"),
    (LOOK, [{"X": 1, "M": 0, "Y": 1}] * 2, "do() has 1 pull outstanding, and 2 were told"),
    (X1, {"X": 1, "M": 0, "Y": 2}, 'Row 1, column Y: "2". Allowed: 0, 1.'),
    (X1, {"X": 1, "M": 0, "Y": 0.5}, 'Row 1, column Y: "0.5"'),
    (X1, [{"X": 1, "M": 0, "Y": 1}, {"X": 1, "M": "no", "Y": 1}], 'Row 2, column M: "no"'),
    (X1, {"X": 1, "M": 0, "Y": [1, 0, 1]}, 'Column "X" is a int'),
    (X1, {"X": 1, "M": 0}, 'no column for the observed node "Y"'),
    (X1, {"X": 1, "m": 0, "Y": 1}, 'Did you mean "m"?'),
    (X1, [{"X": 1, "M": 0, "Y": 1}, {"X": 1, "Y": 1}], "1 of 2 rows has missing values: M 1. First: Row 2, column M."),
    (X1, {"X": 1, "M": float("nan"), "Y": 1}, "A row needs X, M and Y."),
    (X1, {}, "no column for 3 observed nodes"),
    (X1, [], "There are no rows to store"),
    (X1, {"X": [], "M": [], "Y": []}, "There are no rows to store"),
    (X1, [1], 'Row 1 is "1"; a row is a mapping'),
    (X1, 1, "Data of type int cannot be counted"),
    (X1, tally(ONE), "has no table of X, M and Y, which the policy counts together"),
    (X1, tally(ONE, {X1: {XMY: TABLE}}, problem=OTHER), "This tally belongs to another problem"),
    (X1, tally([[0, 1], [0, 0], [0, 1]]), "This tally of do(X=1) also holds pulls of do()"),
    (X1, tally([[0, 0]] * 3), "has no pull of do(X=1)"),
    (X1, tally([[0, 0], [0, 0], [0, 3]], {X1: {XMY: 3 * TABLE}}), "2 pulls outstanding, and 3 were told"),
    (X1, tally([[0, 0], [0, 0], [2, -1]]), "not below 0"),
    (X1, tally([[0, 0], [0, 0]]), "3 arms by 2 reward levels"),
    (X1, tally(np.array(ONE) / 2), "3 arms by 2 reward levels"),
    (X1, tally(ONE, {X1: {XMY: 2 * TABLE}}), "holds 2 pulls, where 1 were counted"),
    (X1, tally([[0, 0], [0, 0], [1, 0]], {X1: {XMY: TABLE}}), "has different rewards from its counts"),
    (X1, tally(ONE, {X1: {XMY: TABLE[::-1]}}), "but X is 0 in 1 pulls of this tally: the intervention was not applied"),
    (X1, tally(ONE, {X1: {XMY: TABLE[0]}}), "is not a table of counts with 2 by 2 by 2 cells"),
    (X1, tally(ONE, {X1: {("X", "Z"): TABLE[0]}}), "are not distinct nodes of this problem"),
    (
        X1,
        tally(ONE, {X1: {XMY: Table(XMY, (2, 2, 2), np.array([1]), np.array([[1, 0, 2]], np.uint8))}}),
        "is not a table of counts",
    ),
    (X1, tally(ONE, rows=codes([1, 0, 1], [1, 0, 1])), "are not those of its 1 pulls"),
    (X1, tally(ONE, rows=codes([1, 0, 1], arms=[0])), "are not those of its 1 pulls"),
    (X1, tally(ONE, rows=codes([1, 0, 0])), "The rewards in the rows of this tally are not those of its counts"),
    (X1, tally(ONE, rows=codes([1, 2, 1])), "not codes of this problem's nodes"),
    (X1, tally(ONE, rows=codes([0, 0, 1])), "the intervention was not applied"),
]


@pytest.mark.parametrize(("arm", "outcome", "said"), REFUSED)
def test_what_does_not_fit_is_refused_and_changes_nothing(arm: Any, outcome: Any, said: str) -> None:
    session = scripted(wd.Batch((X1, LOOK), (3, 1), wd.TABLES, (XMY,)), wd.pull(X0))
    session.tell(X1, {"X": 1, "M": 1, "Y": 1})
    before = (as_plain(session.told), session.batch, session.ask(9), session.spent, session.ignored)
    with pytest.raises(wd.WhichdoError, match=re.escape(said)) as refused:
        session.tell(arm, outcome)
    assert str(refused.value).endswith(" Nothing was changed.")
    assert (as_plain(session.told), session.batch, session.ask(9), session.spent, session.ignored) == before
    session.tell(X1, tally(ONE, {X1: {XMY: TABLE}}))  # and it goes on
    session.tell(X1, tally(ONE, rows=codes([1, 0, 1])))
    session.tell(LOOK, {"X": 1, "M": 1, "Y": 1})
    assert session.ask() == [X0]
    assert session.told.tables[X1][XMY].count.ravel().tolist() == [0, 0, 0, 0, 0, 2, 0, 1]


def test_a_wrong_value_is_refused_in_a_node_that_is_not_needed_too() -> None:
    session = scripted(wd.pull(X1, 2))
    for outcome in ({"M": 7, "Y": 1}, [{"Y": 1}, {"M": 7, "Y": 1}]):
        with pytest.raises(wd.DataError, match=r'column M: "7"\. Allowed: 0, 1'):
            session.tell(X1, outcome)
    with pytest.raises(wd.DataError, match="the intervention was not applied"):
        session.tell(X1, {"X": 0, "Y": 1})
    assert session.ask(9) == [X1, X1]


def test_rows_cannot_be_made_from_tables() -> None:
    session = scripted(wd.pull(X1, detail=wd.ROWS))
    with pytest.raises(wd.DataError, match="This tally has no rows, and the policy reads rows"):
        session.tell(X1, tally(ONE, {X1: {XMY: TABLE}}))


def test_nothing_can_be_told_after_the_end_and_nothing_recommended_before() -> None:
    session = scripted(wd.Batch((X1, X0), (2, 1)), budget=10)
    session.tell(X1, {"Y": 1})
    said = re.escape("scripted is not finished: it waits for 2 pulls, do(X=1) (1) and do(X=0) (1); 1 of")
    with pytest.raises(wd.UsageError, match=said):
        session.recommend()
    session.tell(X1, {"Y": 1})
    session.tell(X0, {"Y": 1})
    with pytest.raises(wd.UsageError, match=r"expects no more outcomes; the row belongs to do\(X=1\)"):
        session.tell(X1, {"Y": 1})


def test_logs_of_a_numeric_reward_and_what_is_told_add_up() -> None:
    """Tables of a log without its reward hold sums, which rows that are told do not: this ended in a KeyError.

    The policy decides as on a log that never had them.
    """
    random = np.random.default_rng(3)
    rows = {name: random.integers(0, 2, 400) for name in ("X", "W")} | {"Y": 10 * random.integers(0, 5, 400)}
    problem = wd.Problem("X -> Y; W -> Y", "Y", ["X", "W"], reward_range=(0, 40))
    seen = wd.count(problem, rows)
    assert any("sum" in table.statistics for table in seen.tables[wd.do()].values())
    bare = {scope: Table(scope, table.sizes, table.count, table.cells) for scope, table in seen.tables[wd.do()].items()}
    asked = []
    for log in (seen, replace(seen, tables={wd.do(): bare})):
        session = wd.Session("warm-halving", problem, horizon=200, seed=5, seen=log)
        arms = []
        while not session.finished:
            (arm,) = session.ask()
            arms.append(arm)
            session.tell(arm, {name: int(rows[name][len(arms)]) for name in rows} | dict(arm.settings))
        asked.append((arms, session.recommend().arm))
    assert asked[0] == asked[1]


@pytest.mark.parametrize("graph", ["X -> Y; W -> Y; I", "X -> Y; W -> Y; Y -> I"])
def test_a_log_needs_no_table_of_a_node_whose_arms_were_pruned(graph: str) -> None:
    """crm-nb refused a log that was counted by default: it lacks what nobody will pull."""
    random = np.random.default_rng(3)
    problem = wd.Problem(graph, "Y", ["X", "W", "I"], prune=True)
    seen = wd.count(problem, {name: random.integers(0, 2, 400) for name in ("X", "W", "I", "Y")})
    session = wd.Session(wd.policy("crm-nb", trust=True), problem, horizon=100, seen=seen)
    assert session.ask()[0] in problem.arms
