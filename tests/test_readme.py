"""The README is true: its example prints what its comments say, its links lead somewhere, its picture is current."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

from whichdo.graph.formats import parse_graph
from whichdo.problem_file import read_problem
from whichdo.report.inspection import inspect_file

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_example_prints_what_its_comments_say() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    expected = [line.split("# ", 1)[1].strip() for line in code.splitlines() if line.startswith("print(")]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue().splitlines() == expected


def test_the_example_is_short() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip()]) <= 14


def test_links_lead_to_files() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_picture_is_what_the_command_draws(tmp_path: Path) -> None:
    found = inspect_file(ROOT / "examples" / "infection" / "problem.toml")
    found.draw(tmp_path / "infection.svg")
    assert (tmp_path / "infection.svg").read_text() == (ROOT / "docs" / "images" / "infection.svg").read_text()


def test_the_example_of_the_formats_page_is_a_problem(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "problem.toml").write_text(text)
    problem = read_problem(tmp_path / "problem.toml")
    assert problem.graph == parse_graph("X -> M; M -> Y; X <-> Y")
    assert [str(arm) for arm in problem.arms][-1] == "do(M=high)"
