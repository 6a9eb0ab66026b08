"""Files: found out by content, refused by name, written whole or not at all."""

from __future__ import annotations

import gzip
import os
import pickle
import threading
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import whichdo as wd
from tests.graph.formats.strategies import FORMATS
from whichdo.errors import GraphError, GraphSyntaxError, InputError, Place, TooLargeError, UsageError
from whichdo.graph.admg import CausalGraph, read_graph
from whichdo.graph.formats import format_graph, parse_graph, scan, write_graph

if TYPE_CHECKING:
    from collections.abc import Callable

GRAPH = CausalGraph("XMY", [("X", "M"), ("M", "Y")], [("X", "Y")], hidden=["U"], exposures="X", outcomes="Y")


def refused(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        read_graph(path)
    return str(error.value)


@pytest.mark.parametrize("suffix", [".txt", ".dag", ".dagitty", ".dot", ".gv", ".gml", ".json", ".JSON", ".dot.gz"])
def test_written_and_read_by_suffix(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"graph{suffix}"
    write_graph(GRAPH, path)
    assert read_graph(str(path)) == GRAPH
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("name", FORMATS)
def test_content_decides_not_the_suffix(tmp_path: Path, name: str) -> None:
    for suffix in ("", ".txt", ".gml", ".json", ".bif", ".xyz"):
        path = tmp_path / f"graph{suffix}"
        write_graph(GRAPH, path, format=name)
        assert name == "text" or read_graph(path) == GRAPH


def test_the_suffix_decides_what_content_leaves_open(tmp_path: Path) -> None:
    assert 'expected "digraph"' in refused(tmp_path / "a.dot", b"A -> B")
    assert 'expected "graph ["' in refused(tmp_path / "a.gml", b"A -> B")
    assert "this is not JSON" in refused(tmp_path / "a.json", b"A -> B")


@pytest.mark.parametrize(
    "text", ['{"a b" C} -> D', "{A B} -> D", "graph -> network; network -> variable", "strict", "<-"]
)
def test_beginnings_that_look_like_another_format(text: str) -> None:
    if text == "<-":
        with pytest.raises(GraphSyntaxError, match="expected a name"):
            parse_graph(text)
    else:
        assert parse_graph(text).nodes


def test_gzip_and_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "graph.txt"
    path.write_bytes(b"\xef\xbb\xbfX -> Y")
    assert read_graph(path).nodes == ("X", "Y")
    path.write_bytes(gzip.compress(b"X -> ") + gzip.compress(b"Y"))
    assert read_graph(path).nodes == ("X", "Y")


@pytest.mark.parametrize(
    "content", ["", " \n\t\n", "# nothing here\n// nor here\n", "/* nor here */", "dag { }", "; ;\n"]
)
def test_an_empty_file(tmp_path: Path, content: str) -> None:
    path = tmp_path / "infection.dag"
    assert refused(path, content.encode()) == 'infection.dag is empty: expected a graph such as "X -> Y".'


def test_an_error_of_syntax_begins_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "infection.dag"
    path.write_text("A -> B\n\n\nA -> B => C")
    with pytest.raises(GraphSyntaxError) as error:
        read_graph(path)
    assert str(error.value).startswith('infection.dag, line 4, column 8: expected "->"')
    assert error.value.place == Place(4, 8)
    assert refused(tmp_path / "a.json", b'{"x": 1}').startswith('a.json: unknown key "x".')


def test_an_error_of_meaning_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "infection.dag"
    path.write_text("A -> B\nB -> A")
    with pytest.raises(GraphError, match=r"^The graph has a cycle: A -> B -> A \(lines 1, 2\)"):
        read_graph(path)


def test_an_error_of_size_begins_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "wide.txt"
    path.write_text("\n".join(f"N{i} -> Y" for i in range(10_000)))
    with pytest.raises(TooLargeError, match=r"^wide\.txt, line 10000, column 1: the graph has more than 10,000 nodes"):
        read_graph(path)
    path.write_text("U [latent]; U -> {" + " ".join(f"N{i}" for i in range(700)) + "}")
    with pytest.raises(TooLargeError, match=r"^wide\.txt: Hiding 1 node leaves 244,650 edges"):
        read_graph(path)


@pytest.mark.parametrize(
    "content", [b"", b"A -> B => C", b"%PDF", b"\xe9 -> Z", b"\x1f\x8b\x08\x00xxxx", b"x" * 200_000]
)
def test_a_file_name_cannot_command_the_terminal(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a\x1b[31m\nb.dag"
    words = refused(path, content)
    assert words.isprintable()
    assert r"a\x1b[31m\nb.dag" in words


def test_what_to_do_about_a_foreign_file_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "g.txt"
    assert refused(path, gzip.compress(gzip.compress(b"X"))) == (
        "g.txt is compressed twice. Unpack it once and read the result."
    )
    assert refused(path, b"SQLite format 3\x00") == (
        'g.txt is an SQLite database. Write its edges as text, such as "X -> Y".'
    )


def test_foreign_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "graph.txt"
    for protocol in (2, 3, 4, 5):
        assert "graph.txt is a Python pickle. Pickles are not read" in refused(path, pickle.dumps({"X": 1}, protocol))
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a", "b")
    assert "is a ZIP archive or a spreadsheet" in refused(path, (tmp_path / "a.zip").read_bytes())
    for content, message in (
        (b"%PDF-1.7", "is a PDF document. Export the graph itself, as DOT, GML or dagitty text"),
        (b"\x89PNG\r\n\x1a\n", "is a PNG picture"),
        (b"SQLite format 3\x00", "is an SQLite database"),
        ("X -> Y".encode("utf-16"), "is text in UTF-16. Save it as UTF-8"),
        (gzip.compress(gzip.compress(b"X")), "is compressed twice"),
        (b"<?xml version='1.0'?><graphml/>", "this is XML (GraphML), which is not read"),
        (b"X -> Y\n\xe9 -> Z", "is not UTF-8 text: byte 7 is 0xe9. Save it as UTF-8."),
        (b"\xef\xbb\xbfX\xe9", "byte 4 is 0xe9"),
        (gzip.compress(b"X -> Y")[:-6], "is a gzip file that ends too early"),
        (b"\x1f\x8b\x08\x00" + b"x" * 50, "is a damaged gzip file"),
        (gzip.compress(b"X -> Y") + b"rest", "is a damaged gzip file"),
    ):
        assert message in refused(path, content)


def test_a_missing_file_and_a_directory(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no file"):
        read_graph(tmp_path / "none.dag")
    with pytest.raises(InputError, match="is a directory"):
        read_graph(tmp_path)
    with pytest.raises(InputError, match="cannot be read: embedded null byte"):
        read_graph("a\0b")
    with pytest.raises(InputError, match="cannot be read"):
        read_graph(tmp_path / ("x" * 1000))


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file(tmp_path: Path) -> None:
    path = tmp_path / "graph.txt"
    path.write_text("X -> Y")
    path.chmod(0)
    with pytest.raises(InputError, match="cannot be read: Permission denied"):
        read_graph(path)


@pytest.mark.slow("0.4 s: 200 MB in a small gzip; finds a file that is unpacked whole")
def test_no_more_is_unpacked_than_allowed(tmp_path: Path) -> None:
    """200 MB of blanks in less than 1 MB of gzip."""
    path = tmp_path / "bomb.dag"
    path.write_bytes(gzip.compress(b" " * (10 * scan.MAX_BYTES), 1))
    with pytest.raises(TooLargeError, match=r"bomb\.dag holds more than 20 MB"):
        read_graph(path)
    with pytest.raises(TooLargeError, match="holds more than 20 MB"):
        parse_graph(" " * (scan.MAX_BYTES + 1))


def test_wrong_calls() -> None:
    wrong: Any = 3
    with pytest.raises(UsageError, match="parse_graph reads a string, not int"):
        parse_graph(wrong)
    with pytest.raises(UsageError, match="A path is a string or a Path, not int"):
        read_graph(wrong)
    with pytest.raises(UsageError, match=r'There is no format "dto"\. Did you mean "dot"'):
        format_graph(GRAPH, "dto")
    with pytest.raises(UsageError, match="does not show its format"):
        write_graph(GRAPH, "graph.xyz")


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "graph.txt"
    path.write_text("old")

    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(InputError, match="cannot be written: No space left on device"):
        write_graph(GRAPH, path)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["graph.txt"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("read", [read_graph, wd.read_problem, wd.CausalNetwork.read_bif])
def test_a_pipe_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[Path], object]
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    said: list[str] = []

    def refuse() -> None:
        with pytest.raises(InputError) as error:
            read(Path("pipe"))
        said.append(str(error.value))

    reader = threading.Thread(target=refuse, daemon=True)
    reader.start()
    reader.join(60)
    assert said == ['"pipe" is not a regular file. Write its content to a file first.']


@pytest.mark.skipif(not Path(os.devnull).is_char_device(), reason="this system has no such device")
def test_a_device_is_not_read() -> None:
    with pytest.raises(InputError, match="is not a regular file"):
        read_graph(os.devnull)


def test_the_database_of_an_open_campaign_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system takes a process's locks on a file away when any handle of it is closed."""
    monkeypatch.chdir(tmp_path)
    campaign = wd.Campaign.create("a.db", "spring", wd.policy("ue"), wd.Problem("X -> Y", "Y", ["X"]), horizon=9)
    monkeypatch.setattr(Path, "open", None)
    with pytest.raises(InputError, match=r'^"a\.db" is the database of a campaign'):
        read_graph("a.db")
    assert campaign.ask().id


def test_writing_where_there_is_no_directory(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written: No such file or directory"):
        write_graph(GRAPH, tmp_path / "none" / "graph.txt")
