"""Files that are written: what they replace, what they never touch, and what a writer that was killed leaves."""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

import whichdo as wd
from tests.cli.calling import Call
from tests.report.campaigns import begun, run
from whichdo.files import DRAWING, EXPORT, PAGE, check_target, draft_of, write_file
from whichdo.problem import Problem

if TYPE_CHECKING:
    from pathlib import Path

needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WHICHDO_DB", "campaigns.db")
    with begun(tmp_path, Problem("X -> Y", "Y"), name="spring", how="ue") as campaign:  # closed: its file rests
        run(campaign, 5)
    (tmp_path / "problem.toml").write_text('graph = "X -> Y"\nreward = "Y"\n')
    (tmp_path / "logs.csv").write_text("X,Y\n" + "0,0\n0,1\n1,1\n1,0\n1,1\n" * 5)
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE mine (a)")
        other.commit()
    return Call(monkeypatch, capsys)


WRITERS = (
    ("report", "spring", "-o"),
    ("export", "spring"),
    ("inspect", "problem.toml", "--svg"),
    ("what-if", "problem.toml", "logs.csv", "--svg"),
)


@pytest.mark.parametrize("verb", WRITERS, ids=lambda verb: verb[0])
def test_what_is_not_ours_is_kept(call: Call, tmp_path: Path, verb: tuple[str, ...]) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    answer = call(*verb, "notes.txt")
    assert (answer.code, "notes.txt already exists and is not a" in answer.err) == (4, True)
    assert "--force" in answer.err
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert call(*verb, "notes.txt", "--force").code == 0
    assert (tmp_path / "notes.txt").read_text() != "mine"
    assert call(*verb, "notes.txt").code == 0  # now it is ours


@pytest.mark.parametrize("verb", WRITERS, ids=lambda verb: verb[0])
def test_a_database_is_never_replaced(call: Call, tmp_path: Path, verb: tuple[str, ...]) -> None:
    (tmp_path / "link.html").symlink_to(tmp_path / "other.db")
    for name in ("campaigns.db", "other.db", "link.html"):
        before = (tmp_path / name).read_bytes()
        for force in ((), ("--force",)):
            answer = call(*verb, name, *force)
            assert (answer.code, "a database, which is never replaced" in answer.err) == (4, True)
        assert (tmp_path / name).read_bytes() == before
    assert call("verify", "spring").code == 0


@needs_pipes
@pytest.mark.parametrize("verb", WRITERS, ids=lambda verb: verb[0])
def test_devices_pipes_and_folders_are_never_replaced(call: Call, tmp_path: Path, verb: tuple[str, ...]) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "null").symlink_to("/dev/null")
    for name, what in (("pipe", "a pipe"), ("folder", "a folder"), ("/dev/null", "a device"), ("null", "a device")):
        answer = call(*verb, name, "--force")
        assert (answer.code, f"{name} is {what}, which is never replaced" in answer.err) == (2, True)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)  # noqa: PTH116
    assert stat.S_ISFIFO((tmp_path / "pipe").lstat().st_mode)


@pytest.mark.parametrize("verb", WRITERS, ids=lambda verb: verb[0])
def test_links_that_lead_nowhere_are_said(call: Call, tmp_path: Path, verb: tuple[str, ...]) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "far").symlink_to("missing/file")
    for name in ("loop", "far"):
        answer = call(*verb, name, "--force")
        assert (answer.code, f'"{name}" cannot be written: ' in answer.err) == (3, True)
        assert (tmp_path / name).is_symlink()


@needs_pipes
def test_a_problem_is_not_written_over_a_database_or_a_device(call: Call, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    before = (tmp_path / "other.db").read_bytes()
    for name, code in (("other.db", 4), ("campaigns.db", 4), ("pipe", 2), ("/dev/null", 2)):
        assert call("init", "logs.csv", "X -> Y", "--reward", "Y", "-o", name, "--force").code == code
    assert (tmp_path / "other.db").read_bytes() == before
    with pytest.raises(wd.ConflictError, match="never replaced"):
        wd.write_graph(wd.CausalGraph.parse("X -> Y"), tmp_path / "other.db", "text")


def test_a_plot_is_replaced_by_a_plot_and_nothing_else(call: Call, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for kind in ("png", "svg", "pdf"):
        target = tmp_path / f"plot.{kind}"
        target.write_bytes({"png": b"\x89PNG mine", "svg": b"<svg>mine</svg>", "pdf": b"%PDF mine"}[kind])
        answer = call("rank", "problem.toml", "logs.csv", "--plot", target.name)
        assert (answer.code, "is not a drawing of whichdo" in answer.err) == (4, True)
        assert b"mine" in target.read_bytes()
        target.unlink()
        for _ in range(2):
            assert call("rank", "problem.toml", "logs.csv", "--plot", target.name).code == 0


def test_what_a_killed_writer_left_is_cleared_and_what_another_writes_is_kept(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    left = [tmp_path / f".page.html.{'0' * 15}{number}.part" for number in range(3)]
    others = [tmp_path / ".page.html.notes.part", tmp_path / f".other.html.{'0' * 16}.part", tmp_path / "a.part"]
    for each in (*left, *others):
        each.write_text("half")
    with draft_of(target) as (draft, _):
        assert not any(each.exists() for each in left)
        write_file(target, "whole")
        assert draft.exists()
    assert not draft.exists()
    assert all(each.exists() for each in others)
    assert target.read_text() == "whole"


def test_a_writer_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    def lines() -> object:
        yield "one\n"
        raise OSError(28, "No space left on device")

    target = tmp_path / "a.jsonl"
    target.write_text("")
    with pytest.raises(wd.InputError, match="cannot be written: No space left on device"):
        write_file(target, lines(), EXPORT)  # type: ignore[arg-type]
    assert [each.name for each in tmp_path.iterdir()] == ["a.jsonl"]
    assert target.read_text() == ""


def test_a_file_that_comes_meanwhile_is_kept(tmp_path: Path) -> None:
    def lines() -> object:
        (tmp_path / "page.html").write_text("mine")
        yield "<!doctype html>"

    with pytest.raises(wd.ConflictError, match="already exists"):
        write_file(tmp_path / "page.html", lines(), PAGE)  # type: ignore[arg-type]
    assert (tmp_path / "page.html").read_text() == "mine"


def test_modes(tmp_path: Path) -> None:
    write_file(tmp_path / "private", "x", EXPORT, private=True)
    assert stat.S_IMODE((tmp_path / "private").stat().st_mode) == 0o600
    (tmp_path / "shared").write_text("")
    (tmp_path / "shared").chmod(0o664)
    write_file(tmp_path / "shared", "x", DRAWING)
    assert stat.S_IMODE((tmp_path / "shared").stat().st_mode) == 0o664
    check_target(tmp_path / "new", DRAWING)


LONG = "x" * 300
"""More than the name of a file can have."""


@pytest.mark.parametrize(
    "words",
    [
        ("status", "spring", "--db", LONG),
        ("start", "a", "problem.toml", "--horizon", "30", "--db", LONG),
        ("start", "a", "problem.toml", "--horizon", "30", "--policy", f"{LONG}.py:Mine"),
        ("start", "a", LONG, "--horizon", "30"),
        ("import", LONG),
        ("backup", LONG),
        ("tell", "spring", LONG),
        ("tell", "spring", '{"ticket": "1-ab", "row": {"Y": 1, "X": "' + LONG),
        ("observe", "spring", LONG),
        ("observe", "spring", f"{LONG}*.csv"),
        ("observe", "spring", f"{LONG}://logs.csv"),
        ("ask", "spring", "--receipts", LONG),
        ("verify", "spring", "--receipts", LONG),
        ("report", "spring", "-o", LONG),
        ("export", "spring", LONG),
        ("rank", "problem.toml", "logs.csv", "--plot", f"{LONG}/a.png"),
        ("rank", LONG, "logs.csv"),
        ("simulate", LONG),
        ("init", "logs.csv", "X -> Y", "--reward", "Y", "-o", f"{LONG}/a.toml"),
    ],
    ids=lambda words: f"{words[0]} {words[-2]}"[:24],
)
def test_a_name_that_no_file_can_have_is_said(call: Call, tmp_path: Path, words: tuple[str, ...]) -> None:
    """It was a traceback: Python asks the system whether such a file is there, which is an error of its own."""
    answer = call(*words)
    assert answer.code in {2, 3, 5}
    assert not list(tmp_path.glob("*xxx*"))
    assert call("verify", "spring").code == 0
