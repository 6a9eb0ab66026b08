"""The pages are true: code runs and prints what is beside it, commands and options exist, links lead somewhere."""

from __future__ import annotations

import contextlib
import doctest
import importlib.util
import io
import re
import shlex
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main

import benchmarks.pages as site
from benchmarks.wrapping import wrapped
from whichdo.cli.app import VERBS, make_app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PROSE = [*PAGES, *sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*/*.md"))]
ELSEWHERE = {"add-a-format.md", "add-a-policy.md", "README.md"}
"""Pages whose code other tests run: `test_add_a_format`, `test_add_a_policy` and `test_readme`."""


def blocks(page: Path) -> list[str]:
    """The Python code of a page that is no session."""
    found = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    return [code for code in found if ">>>" not in code]


def named(path: Path) -> str:
    return path.name


@pytest.mark.parametrize("page", [page for page in PAGES if ">>> " in page.read_text("utf-8")], ids=named)
def test_sessions_print_what_is_shown(page: Path) -> None:
    found = doctest.testfile(str(page), module_relative=False)
    assert found.attempted > 0
    assert found.failed == 0


@pytest.mark.slow("3 s: the code of all pages, two of them with real tables")
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page) and page.name not in ELSEWHERE], ids=named)
def test_code_runs_and_prints_what_its_comments_say(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "\n".join(blocks(page))
    for needed in {"causaldata", "pandas"} & set(re.findall(r"^(?:from|import) (\w+)", code, re.MULTILINE)):
        pytest.importorskip(needed)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, page.name, "exec"), {})
    shown = [line.partition("  # ")[2].strip() for line in code.splitlines() if line.startswith("print(")]
    if all(shown) and not any(line.startswith("print(*") for line in code.splitlines()):
        assert printed.getvalue().splitlines() == shown


@cache
def options() -> dict[str, set[str]]:
    """What each command knows."""
    group: Any = typer.main.get_command(make_app())
    return {
        verb: {"--help", "-h", *(name for each in command.params for name in (*each.opts, *each.secondary_opts))}
        for verb, command in group.commands.items()
    }


def commands(page: Path) -> list[str]:
    """What a reader would type: lines of code, with those that continue them, and code within a sentence."""
    text = page.read_text(encoding="utf-8")
    return re.findall(r"^ {4}(whichdo [^\n]+(?:\n {5,}[^\n]+)*)$", text, re.MULTILINE) + re.findall(
        r"`(whichdo [^`\n]+)`", text
    )


@pytest.mark.parametrize("page", [page for page in PROSE if commands(page)], ids=named)
def test_commands_and_their_options_exist(page: Path) -> None:
    for line in commands(page):
        words = shlex.split(line.replace("...", ""), comments=True)[1:]
        words = words[: words.index("|")] if "|" in words else words
        if not words or words[0].startswith("-") or words[0] == "X":
            continue
        assert words[0] in VERBS, line
        given = {re.split("=", word)[0] for word in words[1:] if re.fullmatch(r"-[a-z]|--[a-z][a-z-]+(=.*)?", word)}
        assert given <= options()[words[0]], line


@pytest.mark.parametrize("page", sorted(set(PROSE)), ids=named)
def test_lines_of_prose_fit_a_screen(page: Path) -> None:
    """`python -m benchmarks.wrapping PAGE` mends it."""
    text = page.read_text(encoding="utf-8")
    assert wrapped(text) == text


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


@pytest.mark.slow("13 s: the whole site; found links that were broken, and a page that loaded a font")
@pytest.mark.skipif(importlib.util.find_spec("sphinx") is None, reason="the site needs the extra `docs`")
def test_the_site_has_no_warning_no_broken_link_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    assert site.build(tmp_path / "source", tmp_path / "site") == []
    pages = {str(path.relative_to(tmp_path / "site")) for path in (tmp_path / "site").rglob("*.html")}
    assert {f"cli/{verb}.html" for verb in VERBS} <= pages
    assert {"api/rank.html", "api/Campaign.html", "tutorials/1-from-a-csv-to-a-decision.html"} <= pages


def test_broken_links_are_found(tmp_path: Path) -> None:
    """Seen by the test above: each of these once."""
    (tmp_path / "a.html").write_text(
        '<h1 id="top"></h1><a href="b.html">b</a><a href="#top">up</a><a href="#down">down</a>'
        '<a href="https://example.org">far</a><img src="https://example.org/a.png"><script src="c.js"></script>'
    )
    (tmp_path / "d.css").write_text("@import 'https://example.org/font.css'; a { background: url(e.png) }")
    assert site.broken_links(tmp_path) == [
        "a.html loads https://example.org/a.png",
        "a.html leads to b.html, which is not there",
        "a.html leads to #down, which has no such anchor",
        "a.html leads to c.js, which is not there",
        "d.css loads https://example.org/font.css",
    ]


@pytest.mark.parametrize(
    "text",
    [
        f"{'word ' * 30}`code that is never broken in the middle of it` {'word ' * 10}",
        f"- {'word ' * 30}\n  {'word ' * 10}",
        f"{'word ' * 19}1 + {'word ' * 10}",  # a plus that begins a line would begin a list
    ],
)
def test_wrapping_keeps_the_words_and_what_they_mean(text: str) -> None:
    from markdown_it import MarkdownIt

    def shown(page: str) -> str:
        return " ".join(MarkdownIt().render(page).split())

    assert max(map(len, wrapped(text).splitlines())) <= 100
    assert shown(wrapped(text)) == shown(text)
    assert wrapped(wrapped(text)) == wrapped(text)


@pytest.mark.parametrize(
    "text", ["| " + "cell " * 30 + "|\n", "    " + "code " * 30 + "\n", "# " + "head " * 30 + "\n"]
)
def test_wrapping_leaves_alone_what_is_no_prose(text: str) -> None:
    assert wrapped(f"Words.\n\n{text}") == f"Words.\n\n{text}"
