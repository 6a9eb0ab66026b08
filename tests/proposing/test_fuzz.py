"""Random tables of what people put into tables: a proposal that can be written, read and ranked, or a clear refusal."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import numpy as np

import whichdo as wd
from tests.soak import repeated, scaled
from whichdo.errors import WhichdoError
from whichdo.problem_file import read_problem
from whichdo.proposing.proposal import proposal
from whichdo.proposing.writing import write_proposal

if TYPE_CHECKING:
    from pathlib import Path

WORDS = [
    "0", "1", "2", "yes", "no", "NA", "", "true", "False", "1e5", "-3.5", "1e308", "-1e308", "5e-324", "inf", "nan",
    "?", "a", "b c", " x", "caf\u00e9", "2024-01-02", "1,5", "12%", "$3", "99", "0.1", "\u200b", "'q'", "#", "=1+1",
    "(1, 2]", "other", "all other", "missing", "under 3", "x=1)",
]  # fmt: skip


def column(rng: np.random.Generator, rows: int) -> list[str]:
    kind = rng.integers(0, 6)
    if kind == 0:
        return [str(value) for value in rng.integers(0, 3, rows)]
    if kind == 1:
        return [repr(float(value)) for value in rng.normal(0, 10.0 ** rng.integers(-5, 9), rows)]
    if kind == 2:
        return [str(word) for word in rng.choice(rng.choice(WORDS, int(rng.integers(1, 6))), rows)]
    if kind == 3:
        return [str(word) for word in rng.choice(WORDS, rows)]
    if kind == 4:
        return [f"w{value}" for value in rng.integers(0, 40, rows)]
    return [str(value) if rng.random() < 0.9 else str(rng.choice(WORDS)) for value in rng.integers(0, 1_000, rows)]


def test_no_table_ends_in_a_traceback(tmp_path: Path) -> None:
    """What is proposed is the problem that its file says, and rank accepts the very data it was proposed from."""
    rng = np.random.default_rng(20)
    path, file = tmp_path / "data.csv", tmp_path / "problem.toml"
    ranked = 0
    for _ in range(repeated(scaled(2_000, 40), quick=40)):
        rows = int(rng.integers(1, 80))
        data = {name: column(rng, rows) for name in "xzy"}
        with path.open("w", newline="", encoding="utf-8") as out:
            writer = csv.writer(out)
            writer.writerow(data)
            writer.writerows(zip(*data.values(), strict=True))
        for source in (path, data):
            try:
                found = proposal(source, "z -> {x y}; x -> y", "y")
            except WhichdoError:
                continue
            write_proposal(found, file, data="data.csv")
            assert read_problem(file) == found.problem
            try:
                ranked += wd.rank(found.problem, source, missing="drop").looks > 0
            except WhichdoError as refused:
                assert "has a missing value, so none is left" in str(refused)  # noqa: PT017 - the only refusal
    assert ranked > 10
