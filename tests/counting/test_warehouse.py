"""Counting in databases gives what counting rows gives, and says what is wrong as clearly."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import whichdo as wd
from tests.counting.warehouses import Wire, drawn, into_duckdb, into_postgres, into_spark, spark_session
from tests.soak import repeated, scaled
from whichdo.counting import count_with_notes
from whichdo.counting.addresses import table_at
from whichdo.counting.gaps import with_missing_levels
from whichdo.counting.warehouse import recorded
from whichdo.errors import DataError, StorageError, TooLargeError, UsageError, WhichdoError
from whichdo.formulas import Reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ibis = pytest.importorskip("ibis", reason="the extra warehouse is not installed")
SPARK = ["spark"] if os.environ.get("WHICHDO_SPARK") == "1" else []
"""Asked for by `make spark`: it takes a Java runtime, half a gigabyte and some minutes."""

pytestmark = [
    # Ibis 12 asks DuckDB 2 for types by a name that will go.
    pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning"),
    # Spark leaves the sockets by which it sends rows to be closed by whoever collects them.
    *([pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")] if SPARK else []),
]

PROBLEM = wd.Problem("Z -> X; Z -> Y; X -> Y", "Y", ["X"], domains={"Z": ("a", "b", "c")})


CONNECTED = ["duckdb", "united", "postgres"]
"""Databases that have a connection; "united" is DuckDB counted as an engine of which nothing more is known."""


@pytest.fixture(params=[*CONNECTED, *SPARK])
def put(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Puts rows into a table of a database."""
    if request.param == "spark":
        backend, folder = ibis.pyspark.connect(spark_session()), request.getfixturevalue("tmp_path")
        yield lambda name, rows: into_spark(backend, folder, name, rows)
        return
    if request.param == "postgres":
        address = request.getfixturevalue("new_server_database")()
        backend = ibis.connect(address)
        yield lambda name, rows: into_postgres(backend, name, rows)
        backend.con.close()
        return
    if request.param == "united":
        monkeypatch.setattr("whichdo.counting.warehouse.SETS_TOGETHER", frozenset())
        monkeypatch.setattr("whichdo.counting.warehouse.RUNS", {})
    backend = ibis.duckdb.connect()
    yield lambda name, rows: into_duckdb(backend, name, rows)
    backend.con.close()


def visits(number: int = 300, **other: Any) -> pa.Table:
    random = np.random.default_rng(5)
    columns = {
        "X": random.integers(0, 2, number),
        "Z": random.choice(["a", "b", "c"], number),
        "Y": random.integers(0, 2, number),
    }
    return pa.table(columns | other)


def same_tables(one: wd.Tally, two: wd.Tally) -> None:
    assert one.tables.keys() == two.tables.keys()
    for arm, tables in one.tables.items():
        assert tables.keys() == two.tables[arm].keys()
        for scope, table in tables.items():
            mine, other = table.sparse(), two.tables[arm][scope].sparse()
            np.testing.assert_array_equal(mine.cells, other.cells)
            assert mine.statistics.keys() == other.statistics.keys()
            np.testing.assert_array_equal(mine.count, other.count)
            for name, values in mine.statistics.items():
                np.testing.assert_allclose(values, other.statistics[name], rtol=1e-12, atol=1e-12)


def same_notes(one: Any, two: Any) -> None:
    for name in ("rows", "dropped", "extra_columns", "weight", "weight_dropped"):
        assert getattr(one, name) == getattr(two, name), name
    for name in ("missing", "spared", "levelled"):
        assert dict(getattr(one, name)) == dict(getattr(two, name)), name
    assert (one.compared is None) == (two.compared is None)
    if one.compared is not None and one.dropped:
        assert one.compared.levels.keys() == two.compared.levels.keys()
        for name, levels in one.compared.levels.items():
            np.testing.assert_array_equal(levels, two.compared.levels[name])
        np.testing.assert_allclose(one.compared.moments, two.compared.moments, rtol=1e-12)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(repeated(scaled(200, 10), quick=1)))
def test_any_log_is_counted_as_its_rows_are(put: Any, seed: int) -> None:
    problem, rows, options = drawn(seed)
    table = put("visits", rows)
    if options["missing"] == "level":
        levelled = with_missing_levels(problem, table, Reading.ROBUST)
        assert levelled == with_missing_levels(problem, rows, Reading.ROBUST)
        problem = levelled
    for reading in (None, Reading.ROBUST):
        try:
            expected = count_with_notes(problem, rows, reading=reading, **options)
        except WhichdoError as error:
            with pytest.raises(type(error)):
                count_with_notes(problem, table, reading=reading, **options)
            continue
        found = count_with_notes(problem, table, reading=reading, **options)
        same_tables(found[0], expected[0])
        same_notes(found[1], expected[1])
    try:
        by_rows = wd.rank(problem, rows, **options)
    except WhichdoError:
        return
    by_table = wd.rank(problem, table, **options)
    assert by_table.notes == by_rows.notes
    for arm, row in by_rows.items():
        other = by_table[arm]
        found_numbers = [other.estimate, other.low, other.high, other.conditional]
        np.testing.assert_allclose(found_numbers, [row.estimate, row.low, row.high, row.conditional], rtol=1e-12)


def test_sparse_scopes_come_back_sparse(put: Any) -> None:
    random = np.random.default_rng(3)
    nodes = [f"V{j}" for j in range(70)]
    problem = wd.Problem("; ".join(f"{a} -> Y" for a in nodes), "Y", ["V0"])
    rows = pa.table({name: random.integers(0, 2, 200) for name in [*nodes, "Y"]})
    scopes = [(*nodes, "Y"), ("V0", "Y")]
    found = wd.count(problem, put("wide", rows), scopes=scopes)
    same_tables(found, wd.count(problem, rows, scopes=scopes))
    assert found.tables[wd.do()][scopes[0]].cells is not None


def test_what_would_return_too_much_is_refused_before(put: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whichdo.counting.sql.MOST_RETURNED", 5)
    monkeypatch.setattr("whichdo.counting.sql.JOINED", 4)
    with recorded() as ran, pytest.raises(TooLargeError, match="would return over 5 cells"):
        wd.count(PROBLEM, put("visits", visits()))
    assert all(each.returned <= 1 for each in ran)


def test_what_comes_back_does_not_depend_on_the_number_of_rows(put: Any) -> None:
    returned = []
    for number in (200, 20_000):
        with recorded() as ran:
            wd.rank(PROBLEM, put(f"visits{number}", visits(number)))
        returned.append([(each.returned, len(each.sql) - len(str(number))) for each in ran])
    assert returned[0] == returned[1]
    assert sum(rows for rows, _ in returned[0]) <= 20


@pytest.mark.parametrize(
    "name", ['a"b', "it's", "x; DROP TABLE visits; --", "select", "größe", "日本", "a.b", "%s", "\\", "{x}", "$1", "@a"]
)
def test_names_and_values_stay_names_and_values(put: Any, name: str) -> None:
    graph = wd.CausalGraph.assemble(["X", name, "Y"], [(), (0,), (1,)], [(), (), ()])
    problem = wd.Problem(graph, "Y", [name], domains={name: (name, "other")})
    random = np.random.default_rng(1)
    rows = pa.table(
        {"X": random.integers(0, 2, 99), name: random.choice([name, "other"], 99), "Y": random.integers(0, 2, 99)}
    )
    table = put(name, rows)
    same_tables(wd.count(problem, table), wd.count(problem, rows))
    wrong = rows.set_column(1, name, pa.array([f"{name}'\";--"] * 99))
    with pytest.raises(DataError, match="99 such values in 1 column"):
        wd.count(problem, put(f"{name}2", wrong))


def test_values_outside_their_domain_are_counted_and_one_is_shown(put: Any) -> None:
    rows = visits(W=[1] * 300).to_pydict()
    rows["Z"][7], rows["Z"][9], rows["X"][11] = "q", "q", 5
    with pytest.raises(DataError) as error:
        wd.rank(PROBLEM, put("visits", pa.table(rows)))
    said = str(error.value)
    assert 'Table "visits", a row with' in said
    assert "3 such values in 2 columns" in said
    assert "Allowed: " in said
    assert " 5" in said or '"q"' in said


def test_missing_values_are_an_error_with_a_row(put: Any) -> None:
    rows = visits().to_pydict()
    rows["Z"][7], rows["X"][7], rows["X"][8] = "NA", None, None
    with pytest.raises(
        DataError, match=r"2 of 300 rows have missing values: Z 1 and X 2\. First: Table .visits., a row"
    ):
        wd.rank(PROBLEM, put("visits", pa.table(rows)))


def test_what_is_not_a_number_is_missing(put: Any) -> None:
    problem = wd.Problem("Z -> X; Z -> Y; X -> Y", "Y", ["X"], domains={"Z": wd.Bins((0, 1))}, reward_range=(0, 1))
    random = np.random.default_rng(8)
    rows = {"X": random.integers(0, 2, 90) * 1.0, "Z": random.normal(size=90), "Y": random.random(90)}
    for place, name in enumerate(rows):
        rows[name][place * 3] = np.nan
    found = count_with_notes(problem, put("visits", pa.table(rows)), missing="drop")
    expected = count_with_notes(problem, pa.table(rows), missing="drop")
    assert found[1].dropped == 3
    same_tables(found[0], expected[0])
    same_notes(found[1], expected[1])
    rows["Z"][50] = np.inf
    with pytest.raises(DataError, match="1 such value in 1 column"):
        wd.count(problem, put("endless", pa.table(rows)), missing="drop")


def test_an_arm_in_several_spellings_is_one(put: Any) -> None:
    spelled = ["do(X=1)", "do( X = 1 )", None, "", "do()"]
    rows = visits(300, done=spelled * 60).to_pydict()
    rows["X"] = [1 if text and "X" in text else x for text, x in zip(rows["done"], rows["X"], strict=True)]
    table = put("visits", pa.table(rows))
    found = wd.count(PROBLEM, table, arm="done")
    same_tables(found, wd.count(PROBLEM, pa.table(rows), arm="done"))
    assert found.pulls.sum() == 300


def test_what_was_not_applied_is_an_error(put: Any) -> None:
    rows = visits(done=["do(X=1)"] * 300)
    with pytest.raises(DataError) as expected:
        wd.rank(PROBLEM, rows, arm="done")
    with pytest.raises(DataError) as found:
        wd.rank(PROBLEM, put("visits", rows), arm="done")
    assert "the arm is do(X=1), but X is 0: the intervention was not applied" in str(found.value)
    assert str(found.value).partition("applied.")[2] == str(expected.value).partition("applied.")[2]


def test_an_unknown_arm_is_an_error(put: Any) -> None:
    with pytest.raises(DataError, match="300 such values in 1 column"):
        wd.rank(PROBLEM, put("visits", visits(done=["do(Q=1)"] * 300)), arm="done")


def test_no_rows_and_no_column(put: Any) -> None:
    with pytest.raises(DataError, match="has columns but no rows"):
        wd.rank(PROBLEM, put("empty", visits(0)))
    with pytest.raises(DataError, match='Table "half" has no column for the observed node "Z"'):
        wd.rank(PROBLEM, put("half", visits().drop_columns(["Z"])))


def test_rows_are_not_brought_here(put: Any) -> None:
    table = put("visits", visits())
    with pytest.raises(UsageError, match="A model reads rows"):
        wd.rank(PROBLEM, table, model="logistic")


def test_check_and_propose(put: Any) -> None:
    rows = visits(2000)
    table = put("visits", rows)
    problem = wd.Problem("Z -> X; X -> Y", "Y", ["X"], domains={"Z": ("a", "b", "c")})
    assert wd.check(problem, table).to_dict() == wd.check(problem, rows).to_dict()
    assert wd.propose(table, "Z -> X; X -> Y", "Y") == wd.propose(rows, "Z -> X; X -> Y", "Y")


def test_a_proposal_from_a_sample_knows_rare_values_and_the_range(put: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whichdo.counting.warehouse.SAMPLE", 500)
    random = np.random.default_rng(2)
    numbers = random.uniform(0, 1, 5000)
    numbers[17] = 9.75
    words = random.choice(["a", "b"], 5000).tolist()
    rows = pa.table({"Z": words, "Y": numbers})
    found = wd.propose(put("visits", rows), "Z -> Y", "Y")
    assert found.reward_range is not None
    assert found.reward_range.high >= 9.75


def test_a_table_that_changes_is_refused(put: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whichdo.counting.warehouse.TablePart.rows", 299)
    with pytest.raises(DataError, match="changed while it was counted: it had 299 rows, and then 300"):
        wd.rank(PROBLEM, put("visits", visits()))


@pytest.mark.parametrize("put", CONNECTED, indirect=True)
def test_a_lost_connection_says_so(put: Any) -> None:
    table = put("visits", visits())
    table.get_backend().con.close()
    with pytest.raises(StorageError, match="cannot be"):
        wd.rank(PROBLEM, table)


@pytest.mark.parametrize("put", CONNECTED, indirect=True)
def test_a_transaction_under_way_is_left_alone(put: Any) -> None:
    table = put("visits", visits())
    connection = table.get_backend().con
    connection.execute("BEGIN")
    connection.execute('DELETE FROM visits WHERE "X" = 0')
    left = int(np.sum(visits()["X"].to_numpy()))
    assert wd.count(PROBLEM, table, scopes=[("X", "Z")]).pulls.sum() == left
    connection.execute("ROLLBACK")
    assert wd.count(PROBLEM, table).pulls.sum() == 300


def test_addresses(tmp_path: Path) -> None:
    file = tmp_path / "visits.db"
    backend = ibis.duckdb.connect(file)
    into_duckdb(backend, "visits", visits(day=["2026-01-01", "2025-12-31"] * 150))
    backend.disconnect()
    table = table_at(f"duckdb:///{file}", "visits", "day >= '2026-01-01'")
    assert wd.rank(PROBLEM, table).looks == 150
    with pytest.raises(DataError, match=r'has no table "visit"\. Its tables are "visits"'):
        table_at(f"duckdb:///{file}", "visit")
    for where in ("1 = 1; DROP TABLE visits", "1 = 1)", "", "day >="):
        with pytest.raises(UsageError, match="The condition"):
            table_at(f"duckdb:///{file}", "visits", where)


def test_passwords_are_not_told() -> None:
    with pytest.raises(StorageError) as error:
        table_at("postgresql://me:hunter2@127.0.0.1:1/shop", "visits")
    assert "hunter2" not in str(error.value)


def test_an_old_pyspark_is_refused() -> None:
    from types import SimpleNamespace

    from whichdo.counting.warehouse import RUNS

    old = SimpleNamespace(raw_sql=lambda _: object(), version="3.5.6")
    with pytest.raises(UsageError, match=r"needs pyspark 4\.0 or later; this is 3\.5\.6"):
        RUNS["pyspark"](old, "SELECT 1")


class TestPostgres:
    """What only a server has: rights, time limits, connections that only read."""

    @pytest.fixture
    def address(self, new_server_database: Callable[[], str]) -> str:
        return new_server_database()

    def test_reading_is_enough_and_nothing_is_made(self, address: str) -> None:
        owner = ibis.connect(address)
        into_postgres(owner, "visits", visits())
        owner.con.execute("CREATE ROLE reader LOGIN; GRANT SELECT ON visits TO reader")
        owner.con.execute(f"REVOKE TEMPORARY ON DATABASE {owner.current_catalog} FROM PUBLIC")
        try:
            reader = address.replace("whichdo@", "reader@") + "?options=-c%20default_transaction_read_only%3Don"
            table = table_at(reader, "visits", '"X" IS NOT NULL')
            assert wd.rank(PROBLEM, table).to_dict() == wd.rank(PROBLEM, visits()).to_dict()
            owner.con.execute("REVOKE SELECT ON visits FROM reader")
            with pytest.raises(StorageError, match=r"permission denied.*ask for SELECT"):
                wd.rank(PROBLEM, table)
            table.get_backend().con.close()
        finally:
            owner.con.execute("DROP OWNED BY reader; DROP ROLE reader")
            owner.con.close()

    def test_bytes_on_the_wire_do_not_grow_with_rows(self, address: str) -> None:
        owner = ibis.connect(address)
        small, large = (into_postgres(owner, f"visits{size}", visits(size)).get_name() for size in (1_000, 30_000))
        wire = Wire(address)
        through = ibis.connect(wire.address)
        crossed = []
        for name in (small, large):
            table = through.table(name)
            before = wire.bytes
            wd.rank(PROBLEM, table)
            crossed.append(wire.bytes - before)
        through.con.close()
        wire.close()
        owner.con.close()
        # The same cells, whose counts have a digit or two more; 29,000 rows are at least 200,000 bytes.
        assert crossed[0] <= crossed[1] <= crossed[0] + 200
        assert crossed[1] < 10_000

    def test_time_limits_and_servers_that_hang_up(self, address: str) -> None:
        owner = ibis.connect(address)
        into_postgres(owner, "visits", visits())
        owner.con.execute("CREATE VIEW slow AS SELECT * FROM visits WHERE pg_sleep(0.05) IS NOT NULL")
        owner.con.execute("SET statement_timeout = '100ms'")
        with pytest.raises(StorageError, match=r"statement timeout.*Raise the time limit"):
            wd.rank(PROBLEM, owner.table("slow"))
        owner.con.execute("SET statement_timeout = 0")
        assert wd.rank(PROBLEM, owner.table("visits")).looks == 300
        table = owner.table("visits")
        other = ibis.connect(address)
        other.con.execute("SELECT pg_terminate_backend(%s)", (owner.con.info.backend_pid,))
        with pytest.raises(StorageError, match="Nothing was stored"):
            wd.rank(PROBLEM, table)
        other.con.close()

    def test_one_snapshot_while_rows_come_in(self, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
        from whichdo.counting.warehouse import Engine

        owner, writer = ibis.connect(address), ibis.connect(address)
        into_postgres(owner, "visits", visits())
        run = Engine.run

        def busy(self: Engine, sql: str) -> Any:
            found = run(self, sql)
            writer.con.execute("INSERT INTO visits SELECT * FROM visits LIMIT 10")
            return found

        monkeypatch.setattr(Engine, "run", busy)
        assert wd.rank(PROBLEM, owner.table("visits")).looks == 300
        owner.con.close()
        writer.con.close()
