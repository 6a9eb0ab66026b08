"""``whichdo init``: what it writes and prints, what it refuses; and hostile tables, each with a clear message."""

from __future__ import annotations

import gzip
import json
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.calling import Call
from whichdo.problem_file import read_problem

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GRAPH = "z -> {x y}; x -> y"


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    monkeypatch.chdir(tmp_path)
    return Call(monkeypatch, capsys)


def table(z: Callable[[int], Any] = lambda i: i % 3, head: str = "x,z,y", rows: int = 60) -> str:
    return f"{head}\n" + "".join(f"{i % 2},{z(i)},{i * 7 % 5 > 2:d}\n" for i in range(rows))


def test_a_commented_file_is_written_and_the_next_commands_are_printed(call: Call, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(table(lambda i: i * 7 % 41))
    (tmp_path / "g.dag").write_text("dag { x [exposure] y [outcome] z -> {x y} x -> y }")
    answer = call("init", "data.csv", "g.dag")
    assert answer.code == 0
    after = answer.out.partition("Next: edit it, then\n")[2]
    verbs = ("inspect problem.toml", "check problem.toml data.csv", "rank problem.toml data.csv")
    assert [line.strip() for line in after.splitlines()] == [f"whichdo {verb}" for verb in verbs]
    text = (tmp_path / "problem.toml").read_text()
    content = tomllib.loads(text)
    assert content["graph_file"] == "g.dag"
    assert content["reward"] == "y"
    assert content["intervene"] == ["x"]
    assert content["bins"] == {"z": [10, 20, 30]}
    assert text.count("#") >= 6
    assert len(read_problem(tmp_path / "problem.toml").arms) == 3
    assert call("rank", "problem.toml", "data.csv").code == 0


def test_nothing_is_overwritten_unless_that_is_said(call: Call, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(table())
    (tmp_path / "problem.toml").write_text("mine")
    answer = call("init", "data.csv", GRAPH, "--reward", "y")
    assert (answer.code, (tmp_path / "problem.toml").read_text()) == (2, "mine")
    assert "problem.toml already exists. Write to another file (-o), or over it (--force)." in answer.err
    assert call("init", "data.csv", GRAPH, "--reward", "y", "--force").code == 0
    for same in ("data.csv", "./data.csv"):
        answer = call("init", "data.csv", GRAPH, "--reward", "y", "-o", same, "--force")
        assert answer.code == 2
        assert "is an input; write the problem to another file" in answer.err
    assert "The folder of nowhere/p.toml does not exist." in call("init", "data.csv", GRAPH, "-o", "nowhere/p.toml").err


def test_json_for_programs(call: Call, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(table(lambda i: i if i % 10 else ""))
    found = json.loads(call("init", "data.csv", f"{GRAPH}; u -> y", "--reward", "y", "-f", "json").out)
    assert found["written"] == "problem.toml"
    assert found["missing"] == {"z": 6}
    assert found["hidden"] == {"u": "it has no column"}


def test_what_is_not_said_is_asked_for_once_with_what_there_is(call: Call, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(table())
    answer = call("init", "data.csv", GRAPH)
    assert answer.code == 3
    assert "name it with --reward. Nodes that nothing follows from: y." in answer.err


BAD = "Allowed: numbers, or under 1, 1 to under 2 and 2 or more."
PLAINLY = "Write numbers plainly, as in 1234.5"
HOSTILE: dict[str, tuple[str | bytes, str, str]] = {
    # a table, what init says, what rank says with z in bins; "" where there is nothing to say
    "empty file": ("", "is empty: expected a row of column names", "is empty"),
    "a header alone": ("x,z,y\n", "have columns but no rows", "has columns but no rows"),
    "one row": ("x,z,y\n1,2,1\n", 'The reward "y" has the same value in every row', ""),
    "no values at all": (table(lambda i: ""), "z is taken as hidden: its column has no values", "60 of 60 rows have"),
    "no reward at all": ("x,z,y\n" + "1,2,\n" * 9, 'reward "y" cannot be used: its column has no values', "y 9."),
    "a constant reward": ("x,z,y\n" + "1,2,5\n" * 9, "there is nothing to improve", '"5". Allowed: 0, 1.'),
    "a constant": (table(lambda i: 7), "always 7", ""),
    "numbers and words": (table(lambda i: i if i % 5 else "many"), 'with other values: "many" 12.', BAD),
    "question marks": (table(lambda i: i if i % 5 else "?"), '"?" 12', "If it stands for a missing value"),
    "NA as R writes it": (table(lambda i: i if i % 5 else "NA"), "Missing values: z 12 of 60 rows.", "z 12."),
    "infinite numbers": (table(lambda i: i if i % 9 else "inf"), '"inf" 7', BAD),
    "one name twice": (table(head="x,x,y"), 'has the column "x" more than once', 'the column "x" more than once'),
    "no such columns": (table(head="a,b,c"), 'The columns are "a", "b" and "c".', "no column for 3 observed nodes"),
    "no header": ("".join(table().splitlines(True)[1:]), "more than once", "more than once"),
    "blanks in names": (table(head="x , z, y"), 'called " y", with blanks around the name', 'Did you mean " z"?'),
    "capitals in names": (table(head="X,Z,Y"), "z of the drawing is the column Z.", 'z: Did you mean "Z"?'),
    "dates": (table(lambda i: f"2024-01-{i % 28 + 1:02d}"), "z is taken as hidden: its column holds dates", BAD),
    "dates as in Excel": (table(lambda i: f"{i % 12 + 1}/{i % 28 + 1}/2024"), "its column holds dates", BAD),
    "moments": (table(lambda i: f"2024-01-01 12:{i:02d}:00"), "its column holds dates", BAD),
    "thousands separators": (table(lambda i: f'"{i + 1},100"'), "numbers with thousands separators", PLAINLY),
    "percent signs": (table(lambda i: f"{i}%"), "numbers with percent signs. Write 12.5 for 12.5%.", PLAINLY),
    "currency": (table(lambda i: f"${i}"), "numbers with currency signs", PLAINLY),
    "decimal commas": (table(lambda i: f'"{i},5"'), "numbers with a decimal comma. Write 12.5.", PLAINLY),
    "brackets for minus": (table(lambda i: f"({i}.5)"), "brackets for a minus. Write -12.5.", PLAINLY),
    "blanks around numbers": (table(lambda i: f" {i}"), "numbers with blanks around", "Blanks around a value"),
    "plus signs": (table(lambda i: f"+{i}"), "another spelling than 12.5", PLAINLY),
    "free text": (table(lambda i: f"said {i}"), "tells rows apart (nearly every row has its own value)", BAD),
    "identifiers": (table(lambda i: i + 1_000), "its column tells rows apart", ""),
    "very many words": (table(lambda i: f"s{i % 300}", rows=3_000), "300 different words, most of them rare", BAD),
    "huge numbers": (table(lambda i: i * 1e300), "e+301 or more", ""),
    "Latin-1": (table(lambda i: "café").encode("latin-1"), "is not UTF-8 text: byte 11 is 0xe9", "not UTF-8"),
    "UTF-16": (table().encode("utf-16"), "is text in UTF-16. Save it as UTF-8.", "is text in UTF-16"),
    "a byte order mark": (b"\xef\xbb\xbf" + table().encode(), "0 33%, 1 33%, 2 33%", ""),
    "a spreadsheet": (b"PK\x03\x04 sheet", "is a spreadsheet or a ZIP archive. Export the sheet", "a spreadsheet"),
    "a pickle": (b"\x80\x04\x95 data", "is a Python pickle", "is a Python pickle"),
    "JSON": ('[{"x": 1}]', "is JSON, not a table", "is JSON, not a table"),
    "a web page": ("<html><table>", "is a web page or XML", "is a web page"),
    "a ragged row": ("x,z,y\n1,2,1\n1,2\n", "Row 2 has 2 fields; the header names 3 columns", "has 2 fields"),
    "an open quote": ('x,z,y\n1,"2,1\n', "a double quote is opened and not closed", "cannot be divided"),
    "a NUL": (b"x,z,y\n1,\x00,1\n", "has a NUL character, byte 8", "has a NUL character"),
    "a marker for Excel": ("sep=,\n" + table(), "a marker for Excel. The first line must name the columns", "Excel"),
    "half a gzip file": (gzip.compress(table().encode() * 50)[:80], "ends too early. Copy", "ends too early"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_table_has_a_clear_message(name: str, call: Call, tmp_path: Path) -> None:
    """Exit code 3 and what to do, or a proposal that says what it makes of the table and that rank accepts."""
    content, proposed, ranked = HOSTILE[name]
    (tmp_path / "data.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    answer = call("init", "data.csv", GRAPH, "--reward", "y")
    assert answer.code in {0, 3}
    assert proposed in " ".join((answer.out + answer.err).split())
    if answer.code == 0:
        again = call("rank", "problem.toml", "data.csv", "--missing", "drop")
        assert again.code == 0, again.err
    (tmp_path / "by-hand.toml").write_text(f'graph = "{GRAPH}"\nreward = "y"\nintervene = ["x"]\n[bins]\nz = [1, 2]\n')
    by_hand = call("rank", "by-hand.toml", "data.csv")
    assert by_hand.code == (3 if ranked else 0), by_hand.err
    assert ranked in by_hand.err


def test_numbers_where_0_and_1_are_declared_lead_to_bins(call: Call, tmp_path: Path) -> None:
    """What a newcomer's first command ended at."""
    (tmp_path / "data.csv").write_text(table(lambda i: f"{i + 40}.0"))
    (tmp_path / "p.toml").write_text(f'graph = "{GRAPH}"\nreward = "y"\n')
    answer = call("rank", "p.toml", "data.csv")
    assert 'column z: "40.0". Allowed: 0, 1. 60 such values in 1 column. Declare all its values, or cut' in answer.err
