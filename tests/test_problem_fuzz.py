"""Damaged problem files: a clear error or a problem, never a traceback, never a wait."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import pytest

from tests.soak import scaled
from whichdo.errors import InputError
from whichdo.problem_file import problem_from_json, problem_to_json, read_problem, write_problem

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FILES = 5_000
SECONDS = 2.0
WHOLE = (
    """graph = "X -> M; M -> Y; X <-> Y"
reward = "Y"
intervene = ["X", "M"]
goal = "minimize"
[domains]
M = ["low", "mid", "high"]
Y = [0, 0.5, 1]
[costs]
"do(X=1)" = 5
""",
    """graph = '''
"face mask" -> Y
U [latent]; U -> {"face mask" Y}
'''
reward = "Y"
[intervene]
"face mask" = [1]
""",
    """graph_file = "g.dot"
reward = "B"
goal = "maximize"
[domains]
B = ["no", "yes"]
[rewards]
no = 0
yes = 1.0
""",
)
WORDS = (
    *('"', "'''", "=", "[", "]", "[[", "{", "}", "\n", "nan", "inf", "-1", "1e400", "1_0", "2024-01-01", "true", "X"),
    *("Y", "reward", "graph", "domains", "costs", "do(X=2)", "\\u0000", "\u202e", "<->", "->", ",", "#", "9" * 20),
)


def damaged(rng: random.Random) -> str:
    text = rng.choice(WHOLE)
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        at, span = rng.randrange(len(text) + 1), rng.randrange(8)
        how = rng.randrange(4)
        if how == 0:
            text = text[:at] + text[at + span :]
        elif how == 1:
            text = text[:at] + rng.choice(WORDS) + text[at:]
        elif how == 2:
            text = text[:at] + text[at : at + span] * 3 + text[at + span :]
        else:
            text = text[:at] + chr(rng.randrange(1, 0x250)) + text[at + 1 :]
    return text


@pytest.mark.soak
def test_damaged_problem_files(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """What still is a problem survives TOML and JSON."""
    rng = random.Random(11)
    (tmp_path / "g.dot").write_text("digraph { A -> B }")
    path, again = tmp_path / "problem.toml", tmp_path / "again.toml"
    read = 0
    for _ in range(scaled(FILES)):
        text = damaged(rng)
        path.write_text(text, encoding="utf-8")
        began = time.process_time()
        try:
            problem = read_problem(path)
        except InputError as error:
            str(error).encode()  # it can be printed
        else:
            read += 1
            write_problem(problem, again)
            assert read_problem(again) == problem, text
            assert problem_from_json(problem_to_json(problem)) == problem, text
        assert time.process_time() - began < SECONDS, text
    assert read > 0
    record_property("files", scaled(FILES))
    record_property("still problems", read)
    record_property("seed", 11)
