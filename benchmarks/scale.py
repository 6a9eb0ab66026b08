"""Counting where logs live: time, memory and rows that come back, written into docs/scale.md by `make scale`.

Each size is measured in a process of its own, so that its peak memory is known.  The hand-written statement groups the
raw columns by the same scopes in one pass (GROUPING SETS); both run in the same process on the same table, in turns.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import whichdo as wd
from benchmarks.wrapping import wrapped

PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
BEGIN, GROWN, END = "<!-- measured: make scale -->\n", "<!-- grown: make scale -->\n", "<!-- end -->\n"
TURNS = 3
WIDE, LEVELS, TARGETS = 12, 6, (1, 4, 8)
"""Of the table on which growth is measured: columns, values of each, and how many of them are intervened on."""
COLUMNS = ("site", "age", "plan", "offer", "opened", "bought")
PAIRS = ("site offer", "age offer", "plan offer", "site bought", "age bought", "plan bought", "offer opened")
GRAPH = "; ".join(pair.replace(" ", " -> ") for pair in (*PAIRS, "opened bought"))
MADE = """
    SELECT (h1 % 3)::{small} AS site, (18 + h2 % 60)::{small} AS age,
           CASE h3 % 4 WHEN 0 THEN 'free' WHEN 1 THEN 'basic' WHEN 2 THEN 'plus' ELSE 'pro' END AS plan,
           ((h1 % 3 + h4 % 4) % 2)::{small} AS offer, (h5 % 2)::{small} AS opened, (h6 % 5 / 4)::{small} AS bought
    FROM (SELECT {hashes} FROM {series}) AS drawn
"""
BAND = "CASE WHEN age < 30 THEN 0 WHEN age < 45 THEN 1 WHEN age < 60 THEN 2 ELSE 3 END"


def problem() -> wd.Problem:
    """The problem that is ranked: a binned number, a text, small integers."""
    domains: dict[str, Any] = {
        "site": (0, 1, 2),
        "age": wd.Bins((30, 45, 60)),
        "plan": ("free", "basic", "plus", "pro"),
    }
    return wd.Problem(GRAPH, "bought", ["offer"], domains=domains)


def duckdb_table(folder: Path, rows: int) -> Any:
    """A table of so many rows in a file."""
    from whichdo.counting.warehouse import ibis

    backend = ibis().duckdb.connect(folder / "visits.db")
    backend.con.execute("SET memory_limit = '600MB'")
    hashes = ", ".join(f"(hash(i * 8 + {j}) >> 20)::BIGINT AS h{j}" for j in range(1, 7))
    made = MADE.format(small="TINYINT", hashes=hashes, series=f"range({rows}) AS t(i)").replace("/ 4", "// 4")
    backend.con.execute(f"CREATE TABLE visits AS {made}")
    backend.con.execute("CHECKPOINT")
    return backend.table("visits")


def postgres_table(address: str, rows: int) -> Any:
    """A table of so many rows on a server."""
    from whichdo.counting.warehouse import ibis

    backend = ibis().connect(address)
    hashes = ", ".join(f"abs(hashint8(i * 8 + {j})::bigint) AS h{j}" for j in range(1, 7))
    made = MADE.format(small="smallint", hashes=hashes, series=f"generate_series(1, {rows}::bigint) AS t(i)")
    backend.con.execute(f"CREATE TABLE visits AS {made}")
    backend.con.execute("ANALYZE visits")
    return backend.table("visits")


def scopes() -> list[list[str]]:
    """The scopes of the ranking, with raw columns as they are grouped by hand."""
    from whichdo.counting.counting import ranking_scopes
    from whichdo.formulas import Reading

    asked = ranking_scopes(problem(), frozenset(COLUMNS), Reading.ROBUST, 10**6)
    return [[BAND if name == "age" else name for name in scope] for scope in (*asked, ("bought",))]


def hand_written() -> str:
    """The scopes of the ranking, grouped by hand in one pass over raw columns."""
    names = scopes()
    sets = ", ".join(f"({', '.join(scope)})" for scope in names)
    shown = ", ".join(dict.fromkeys(name for scope in names for name in scope))
    return f"SELECT {shown}, COUNT(*) FROM visits GROUP BY GROUPING SETS ({sets})"


def measured(table: Any) -> dict[str, Any]:
    """The least of some turns of both, and what came back."""
    from whichdo.counting.warehouse import recorded

    times: dict[str, list[float]] = {"rank": [], "hand": [], "rank_cpu": [], "hand_cpu": []}
    asked, own = problem(), hand_written()
    for _ in range(TURNS):
        for name in ("rank", "hand"):
            began, began_cpu = time.perf_counter(), time.process_time()
            if name == "rank":
                with recorded() as ran:
                    wd.rank(asked, table)
            else:
                table.get_backend().con.execute(own).fetchall()
            times[name].append(time.perf_counter() - began)
            times[f"{name}_cpu"].append(time.process_time() - began_cpu)
    best = {name: min(values) for name, values in times.items()}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return best | {"returned": sum(each.returned for each in ran), "statements": len(ran), "megabytes": peak}


def one(engine: str, rows: int, address: str) -> dict[str, Any]:
    """Measure one size, here."""
    warnings.simplefilter("ignore", DeprecationWarning)
    if engine == "postgres":
        return measured(postgres_table(address, rows))
    with tempfile.TemporaryDirectory() as folder:
        return measured(duckdb_table(Path(folder), rows))


def apart(engine: str, rows: int, address: str = "") -> dict[str, Any]:
    """Measure one size in a process of its own."""
    words = [sys.executable, "-m", "benchmarks.scale", "--one", engine, "--rows", str(rows), "--address", address]
    ran = subprocess.run(words, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    print(engine, f"{rows:,}", found, flush=True)
    return found


def growth(folder: Path, rows: int) -> dict[str, dict[str, float]]:
    """Processor time in DuckDB by the number of scopes, of cells and of arms: of each, the least of some turns."""
    from whichdo.counting.warehouse import ibis

    names = [f"V{j}" for j in range(WIDE)]
    columns = [f"(hash(i * 16 + {j}) % {LEVELS})::TINYINT AS {name}" for j, name in enumerate(names)]
    columns += [f"(hash(i * 16 + {WIDE}) % 2)::TINYINT AS Y", f"hash(i * 16 + {WIDE + 1}) AS h"]
    done = []
    for some in TARGETS:
        said = " ".join(f"WHEN {j} THEN 'do({name}=' || {name} || ')'" for j, name in enumerate(names[:some]))
        done.append(f"CASE h % {some} {said} END AS done{some}")
    backend = ibis().duckdb.connect(folder / "wide.db")
    made = f"SELECT * EXCLUDE (h), {', '.join(done)} FROM (SELECT {', '.join(columns)} FROM range({rows}) AS t(i))"
    backend.con.execute(f"CREATE TABLE wide AS {made}")
    table = backend.table("wide")
    asked = wd.Problem(
        "; ".join(f"{name} -> Y" for name in names),
        "Y",
        names[: max(TARGETS)],
        domains=dict.fromkeys(names, tuple(range(LEVELS))),
    )

    def spent(scopes: list[tuple[str, ...]], arm: str | None = None) -> float:
        times = []
        for _ in range(TURNS):
            began = time.process_time()
            wd.count(asked, table, scopes=scopes, arm=arm)
            times.append(time.process_time() - began)
        return min(times)

    rings = [tuple(names[(first + step) % WIDE] for step in range(4)) for first in range(8)]
    cells = f"scopes of {LEVELS**4:,} cells"
    return {
        cells: {f"{number}": spent(rings[:number]) for number in (1, 2, 4, 8)},
        "cells of one scope": {f"{LEVELS**width:,}": spent([tuple(names[:width])]) for width in (1, 3, 5, 7)},
        f"arms, one scope of {LEVELS**3 * 2:,} cells": {"none": spent([(*names[:3], "Y")])}
        | {f"{some * LEVELS}": spent([(*names[:3], "Y")], arm=f"done{some}") for some in TARGETS},
    }


def grown(found: dict[str, dict[str, float]], rows: int) -> str:
    """The table of what grows."""
    lines = [f"| in DuckDB, {rows:,} rows | how many | processor s |", "|---|---|---|"]
    for what, times in found.items():
        lines.append(f"| {what} | {'; '.join(times)} | {'; '.join(f'{each:.2f}' for each in times.values())} |")
    return "\n".join(lines) + "\n"


def write(begin: str, said: str) -> None:
    """Put a part of the page in place of what stood there."""
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(begin)
    PAGE.write_text(wrapped(before + begin + said + END + rest.partition(END)[2]), encoding="utf-8")


def text(duckdb: dict[int, Any], postgres: dict[int, Any]) -> str:
    """The part of the page that is measured."""
    lines = ["| engine | rows | `rank` s | by hand s | ratio | rows back | peak MB |", "|---|--:|--:|--:|--:|--:|--:|"]
    for name, sizes in (("DuckDB, in this process", duckdb), ("PostgreSQL", postgres)):
        for rows, each in sizes.items():
            memory = f"{each['megabytes']:,.0f}"
            lines.append(
                f"| {name} | {rows:,} | {each['rank']:.2f} | {each['hand']:.2f} | {each['rank'] / each['hand']:.2f} | "
                f"{each['returned']:,} | {memory} |"
            )
    lines += ["", *arithmetic("DuckDB", duckdb, "rank_cpu"), *arithmetic("PostgreSQL", postgres, "rank")]
    return "\n".join(lines) + "\n"


def arithmetic(name: str, sizes: dict[int, Any], which: str) -> list[str]:
    """What 10^12 rows would take, by the throughput of the largest table."""
    if not sizes:
        return []
    rows = max(sizes)
    speed = rows / sizes[rows][which]
    hours = 10**12 / speed / 3600
    what = "a core" if which == "rank_cpu" else "a connection"
    said = f"{name}: {speed / 1e6:,.1f} million rows a second for {what}, so 10^12 rows are {hours:,.0f} hours of one; "
    return [f"{said}shared by 1,000, {hours * 3.6:,.0f} seconds.", ""]


def main() -> None:
    """Measure, and write the page."""
    warnings.simplefilter("ignore", DeprecationWarning)
    parser = argparse.ArgumentParser()
    parser.add_argument("--one", choices=("duckdb", "postgres"))
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--address", default="")
    parser.add_argument("--duckdb", type=int, nargs="*", default=[10**6, 10**7, 10**8])
    parser.add_argument("--growth", type=int, default=10**7)
    parser.add_argument("--growth-alone", action="store_true")
    parser.add_argument("--postgres", type=int, nargs="*", default=[10**6, 10**7])
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(given.one, given.rows, given.address)))
        return
    with tempfile.TemporaryDirectory() as folder:
        said = grown(growth(Path(folder), given.growth), given.growth)
    print(said, flush=True)
    write(GROWN, said)
    if given.growth_alone:
        return
    from tests.campaign.servers import new_database, running, why_not

    duckdb = {rows: apart("duckdb", rows) for rows in given.duckdb}
    postgres = {}
    if given.postgres and why_not() is None:
        for rows in given.postgres:
            with running() as server:
                postgres[rows] = apart("postgres", rows, new_database(server, "scale", "template1"))
    write(BEGIN, text(duckdb, postgres))


if __name__ == "__main__":
    main()
