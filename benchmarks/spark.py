"""Spark on this machine: does it count as other counters do, and how fast; written into docs/scale.md by `make spark`.

First the conformance tests run with Spark among the engines, 200 random problems included; if one fails, nothing is
measured.  Then a ranking is timed against hand-written statements, and a union of GROUP BYs against GROUPING
SETS.  Processor time is that of Spark's Java process and of this one.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest.mock import patch
from xml.etree import ElementTree as ET

import whichdo as wd
from benchmarks.scale import MADE, arithmetic, hand_written, problem, scopes, write

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TESTED, BEGIN = "<!-- tested: make spark -->\n", "<!-- measured: make spark -->\n"
TURNS = 3
WIDE, LEVELS = 12, 6
"""Columns, and values of each, of the table on which two ways of grouping are compared."""


class Spent(NamedTuple):
    """Seconds by the clock, and of processors."""

    clock: float
    processor: float


def conformance() -> str:
    """Run the tests that concern Spark, and say how they went; an error if one fails."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        words = ["-q", "-n", "2", "--dist", "worksteal", "-p", "no:cacheprovider", "-k", "spark"]
        words += [f"--junitxml={report}", "tests/counting/test_warehouse.py", "tests/counting/test_spark.py"]
        settings = os.environ | {"WHICHDO_SPARK": "1", "WHICHDO_SOAK": "1"}
        subprocess.run([sys.executable, "-m", "pytest", *words], check=True, env=settings)
        return result(report)


def result(report: Path) -> str:
    """What a report of tests says."""
    suite = next(ET.parse(report).iter("testsuite"))
    names = [case.get("name", "") for case in suite.iter("testcase")]
    drawn = sum(name.startswith("test_any_log_is_counted_as_its_rows_are") for name in names)
    failed = sum(int(suite.get(kind, "0")) for kind in ("failures", "errors", "skipped"))
    day, minutes = suite.get("timestamp", "")[:10], float(suite.get("time", "0")) / 60
    passed = f"{len(names) - failed} of {len(names)} passed, {drawn} of them random problems, in {minutes:.0f} minutes"
    return f"Tests, {day}: {passed}.\n"


class Spark:
    """A session on this machine, with its Java process."""

    def __init__(self) -> None:
        import psutil
        from pyspark.sql import SparkSession

        settings = {"master": "local[2]", "driver.memory": "1g", "sql.shuffle.partitions": "2", "log.level": "OFF"}
        settings |= {"ui.enabled": "false", "ui.showConsoleProgress": "false", "driver.bindAddress": "127.0.0.1"}
        builder = SparkSession.builder
        for name, value in settings.items():
            builder = builder.config(f"spark.{name}", value)
        self.session: Any = builder.getOrCreate()
        self._java = psutil.Process(self.session.sparkContext._gateway.proc.pid)
        self.versions = f"Spark {self.session.version}, Java {self._property('java.version')}"

    def _property(self, name: str) -> str:
        return str(self.session.sparkContext._jvm.System.getProperty(name))

    def table(self, folder: Path, name: str, made: str) -> Any:
        """A table of Parquet files, made by a statement."""
        from whichdo.counting.warehouse import ibis

        path = str(folder / name)
        self.session.sql(made).write.parquet(path)
        self.session.read.parquet(path).createOrReplaceTempView(name)
        return ibis().pyspark.connect(self.session).table(name)

    def fetch(self, sql: str) -> int:
        """Run a statement; the number of rows that came back."""
        return int(self.session.sql(sql).toArrow().num_rows)

    def spent(self, work: Callable[[], object]) -> Spent:
        """What some work took."""
        began, busy = time.perf_counter(), self._busy()
        work()
        return Spent(time.perf_counter() - began, self._busy() - busy)

    def _busy(self) -> float:
        times = self._java.cpu_times()
        return float(times.user + times.system) + time.process_time()

    def megabytes(self) -> float:
        """The most memory that the Java process has had."""
        status = Path(f"/proc/{self._java.pid}/status").read_text(encoding="utf-8")
        return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def least(spark: Spark, ways: dict[str, Callable[[], object]]) -> dict[str, Spent]:
    """The least of some turns of each way, taken in turns."""
    found: dict[str, list[Spent]] = {name: [] for name in ways}
    for _ in range(TURNS):
        for name, work in ways.items():
            found[name].append(spark.spent(work))
    return {name: Spent(*map(min, zip(*each, strict=True))) for name, each in found.items()}


def united() -> str:
    """The scopes of the ranking grouped by hand, each by itself."""
    parts = [
        f"SELECT {place} AS place, CONCAT_WS(',', {', '.join(scope)}) AS cell, COUNT(*) AS n FROM visits GROUP BY "
        f"{', '.join(scope)}"
        for place, scope in enumerate(scopes())
    ]
    return " UNION ALL ".join(parts)


def ranking(spark: Spark, folder: Path, rows: int) -> dict[str, Any]:
    """A ranking of a table against statements by hand."""
    from whichdo.counting.warehouse import recorded

    hashes = ", ".join(f"shiftrightunsigned(xxhash64(id * 8 + {j}), 20) AS h{j}" for j in range(1, 7))
    made = MADE.format(small="TINYINT", hashes=hashes, series=f"range({rows})").replace("h6 % 5 / 4", "h6 % 5 DIV 4")
    (folder / str(rows)).mkdir()
    table = spark.table(folder / str(rows), "visits", made)
    asked, returned = problem(), 0

    def rank() -> None:
        nonlocal returned
        with recorded() as ran:
            wd.rank(asked, table)
        returned = sum(each.returned for each in ran)

    ways: dict[str, Callable[[], object]] = {
        "rank": rank,
        "sets": lambda: spark.fetch(hand_written()),
        "union": lambda: spark.fetch(united()),
    }
    found = least(spark, ways)
    return {"rows": rows, "returned": returned, "megabytes": spark.megabytes(), **found}


def grouping(spark: Spark, folder: Path, rows: int, numbers: Sequence[int]) -> dict[int, dict[str, Spent]]:
    """The same scopes counted by a union of GROUP BYs and by GROUPING SETS."""
    columns = ", ".join(f"CAST(pmod(hash(id * 16 + {j}), {LEVELS}) AS TINYINT) AS V{j}" for j in range(WIDE))
    table = spark.table(folder, "wide", f"SELECT {columns} FROM range({rows})")
    names = [f"V{j}" for j in range(WIDE)]
    graph = "; ".join(f"{name} -> {names[-1]}" for name in names[:-1])
    levels = tuple(range(LEVELS))
    wide = wd.Problem(
        graph, f"V{WIDE - 1}", ["V0"], domains=dict.fromkeys(names[:-1], levels), reward_range=(0, LEVELS - 1)
    )
    found = {}
    for number in numbers:
        asked = [tuple(names[(first + step) % (WIDE - 1)] for step in range(4)) for first in range(number)]

        def count(*engines: str, asked: list[tuple[str, ...]] = asked) -> None:
            with patch("whichdo.counting.warehouse.SETS_TOGETHER", frozenset(engines)):
                wd.count(wide, table, scopes=asked)

        found[number] = least(spark, {"union": count, "sets": partial(count, "pyspark")})
    return found


def text(spark: Spark, ranked: Sequence[dict[str, Any]], grouped: dict[int, dict[str, Spent]]) -> str:
    """The part of the page that is written here."""
    day = datetime.now(UTC).date()
    lines = [f"{spark.versions}, in local mode on two cores, {day}.", ""]
    columns = "`rank` s | GROUPING SETS by hand s | union by hand s | processor s of the three"
    lines += [f"| rows | {columns} | rows back | peak MB |"]
    lines += ["|--:|--:|--:|--:|--:|--:|--:|"]
    for each in ranked:
        clocks = " | ".join(f"{each[way].clock:.2f}" for way in ("rank", "sets", "union"))
        busy = f"{each['rank'].processor:.1f}, {each['sets'].processor:.1f}, {each['union'].processor:.1f}"
        lines.append(f"| {each['rows']:,} | {clocks} | {busy} | {each['returned']:,} | {each['megabytes']:,.0f} |")
    speeds = {each["rows"]: {"rank_cpu": each["rank"].processor} for each in ranked}
    lines += ["", *arithmetic("Spark", speeds, "rank_cpu")]
    lines += ["| scopes | union of GROUP BYs s | GROUPING SETS s | processor s of both |", "|--:|--:|--:|--:|"]
    for number, ways in grouped.items():
        one, two = ways["union"], ways["sets"]
        lines.append(f"| {number} | {one.clock:.2f} | {two.clock:.2f} | {one.processor:.1f}, {two.processor:.1f} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Test, measure, and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="*", default=[10**6, 10**7])
    parser.add_argument("--sets", type=int, nargs="*", default=[2, 4, 8])
    parser.add_argument("--speed-alone", action="store_true")
    given = parser.parse_args()
    if not given.speed_alone:
        write(TESTED, conformance())
    spark = Spark()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ranked = [ranking(spark, folder, rows) for rows in given.rows]
        grouped = grouping(spark, folder, max(given.rows) // 4, given.sets)
    said = text(spark, ranked, grouped)
    print(said)
    write(BEGIN, said)


if __name__ == "__main__":
    main()
