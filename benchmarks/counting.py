"""Counting logs: in memory, from Parquet against DuckDB's own hand-over, the memory it takes, linear time."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measure import Line, best, seconds
from whichdo.counting import count
from whichdo.formulas import counted_scopes
from whichdo.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

MILLION = 1_000_000


def layered(nodes: int) -> Problem:
    """Every node has the two before it for parents: its scope is these, itself and the reward, four columns."""
    arrows = [f"X{j} -> X{j + step}" for j in range(nodes) for step in (1, 2) if j + step < nodes]
    return Problem("; ".join([*arrows, *(f"X{j} -> Y" for j in range(nodes))]), reward="Y")


def coins(nodes: int, rows: int, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {name: rng.integers(0, 2, rows, np.uint8) for name in [*(f"X{j}" for j in range(nodes)), "Y"]}


def write_parquet(path: Path, nodes: int, millions: int, kind: pa.DataType) -> None:
    writer = None
    for part in range(millions):
        table = pa.table({name: pa.array(values).cast(kind) for name, values in coins(nodes, MILLION, part).items()})
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def hand_over(path: Path) -> None:
    """What reading through DuckDB cannot do without: all columns as Arrow batches, with the threads that we use."""
    connection = duckdb.connect(":memory:", config={"threads": 2})
    for _ in connection.sql("SELECT * FROM read_parquet(?)", params=[str(path)]).to_arrow_reader(131_072):
        pass
    connection.close()


# Run in its own process, so that the peak of the memory is this job's alone; getrusage would show its parent's.
MEMORY_JOB = """
import sys
from pathlib import Path
from benchmarks.counting import layered
from whichdo.counting import count
count(layered(49), sys.argv[1])
print(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
"""


def run() -> Iterator[Line]:
    yield from _in_memory()
    with tempfile.TemporaryDirectory() as folder:
        for kind, name in ((pa.uint8(), "bytes"), (pa.int64(), "64-bit integers")):
            path = Path(folder) / "log.parquet"
            write_parquet(path, 49, 10, kind)
            yield from _parquet(path, name)


def _in_memory() -> Iterator[Line]:
    problem, data = layered(100), coins(100, MILLION)
    chosen = set(counted_scopes(problem))
    count(problem, data)
    (took,) = best(lambda: count(problem, data))
    yield Line(
        f"count {len(chosen)} tables of {max(map(len, chosen))} columns, 101 columns of {MILLION:,} bytes in memory",
        seconds(took),
        "under 0.4 s",
        took < 0.4,
    )
    once, twice, four = (coins(100, MILLION * times) for times in (1, 2, 4))
    times = best(*(lambda d=part: count(problem, d) for part in (once, twice, four)))
    ratios = [took / times[0] for took in times]
    yield Line(
        "time for 1, 2 and 4 million rows of the same",
        " : ".join(f"{ratio:.1f}" for ratio in ratios),
        "linear: at most 1 : 2.5 : 5",
        ratios[1] <= 2.5 and ratios[2] <= 5,
    )


def _parquet(path: Path, name: str) -> Iterator[Line]:
    problem = layered(49)
    ours, theirs = best(lambda: count(problem, path), lambda: hand_over(path), repeat=3)
    yield Line(
        f"count {len(set(counted_scopes(problem)))} tables from Parquet, 10,000,000 rows of 50 columns of {name}",
        f"{seconds(ours)} against {seconds(theirs)} for DuckDB to hand them over: {ours / theirs:.2f} times",
        "at most 2 times",
        ours <= 2 * theirs,
    )
    done = subprocess.run([sys.executable, "-c", MEMORY_JOB, str(path)], capture_output=True, text=True, check=True)
    memory = float(done.stdout) / 1024
    yield Line(f"memory that the same takes, {name}", f"{memory:.0f} MB", "under 1,500 MB", memory < 1500)
