"""The README is true: its example prints what its comments say, its links lead somewhere, its picture is current."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import shlex
from pathlib import Path

import numpy as np
import pytest

from tests.cli.calling import Call
from whichdo.demo.story import write_problem_file
from whichdo.estimate.rank import rank
from whichdo.graph.formats import parse_graph
from whichdo.policies.registry import registered
from whichdo.problem_file import read_problem
from whichdo.report.inspection import inspect_file

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_example_prints_what_its_comments_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    expected = [line.split("# ", 1)[1].strip() for line in code.splitlines() if line.startswith("print(")]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue().splitlines() == expected


def test_the_example_is_short() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip()]) <= 10


def test_links_lead_to_files() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        if page == ROOT / "docs" / "index.md":  # leads to pages of the site, which `test_docs` follows
            continue
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_picture_is_what_the_command_draws(tmp_path: Path) -> None:
    found = inspect_file(ROOT / "examples" / "infection" / "problem.toml")
    found.draw(tmp_path / "infection.svg")
    assert (tmp_path / "infection.svg").read_text() == (ROOT / "docs" / "images" / "infection.svg").read_text()


def test_the_plot_says_what_the_command_draws(tmp_path: Path) -> None:
    """Compared by its words: the places of lines depend on the version of matplotlib."""
    pytest.importorskip("matplotlib")
    folder = ROOT / "examples" / "infection"
    rank(read_problem(folder / "problem.toml"), folder / "logs.csv").plot(tmp_path / "rank.svg")
    drawn, shown = (
        re.findall(r"<text[^>]*>([^<]*)</text>", path.read_text(encoding="utf-8"))
        for path in (tmp_path / "rank.svg", ROOT / "docs" / "images" / "infection-rank.svg")
    )
    assert "mean among those who happen to have it (naive)" in drawn
    assert drawn == shown


def test_the_page_on_edits_shows_what_the_command_prints_and_draws(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "what-if.md").read_text(encoding="utf-8")
    command = next(line.split() for line in page.splitlines() if line.startswith("    whichdo what-if"))[1:-1]
    answer = Call(monkeypatch, capsys)(*command, str(tmp_path / "edges.svg"))
    printed = [line.rstrip() for line in answer.out.splitlines() if not line.startswith("Drawn into")]
    (shown,) = re.findall(r"```text\n(.*?)\n```", page, re.DOTALL)
    assert printed == shown.splitlines()
    drawn = (tmp_path / "edges.svg").read_text(encoding="utf-8")
    assert drawn == (ROOT / "docs" / "images" / "infection-what-if.svg").read_text(encoding="utf-8")


def test_the_logs_are_what_the_population_answers(tmp_path: Path) -> None:
    script = runpy.run_path(str(ROOT / "examples" / "infection" / "population.py"))
    script["write_logs"](tmp_path / "logs.csv")
    assert (tmp_path / "logs.csv").read_bytes() == (ROOT / "examples" / "infection" / "logs.csv").read_bytes()


def test_in_the_example_conditioning_names_the_wrong_measure() -> None:
    """The truth: vaccination; by comparing those who happen to: working from home."""
    folder = ROOT / "examples" / "infection"
    problem = read_problem(folder / "problem.toml")
    network = runpy.run_path(str(folder / "population.py"))["population"]()
    assert network.graph == problem.graph
    truth = dict(zip(problem.arms, network.means(problem), strict=True))
    assert str(min(truth, key=truth.__getitem__)) == "do(vaccination=1)"
    found = rank(problem, folder / "logs.csv")
    assert found.best is not None
    assert str(found.best.arm) == "do(vaccination=1)"
    assert str(min(found.values(), key=lambda row: row.conditional).arm) == "do(work from home=1)"
    assert all(row.low <= truth[row.arm] <= row.high for row in found.values())


def test_the_example_is_that_of_the_demo(tmp_path: Path) -> None:
    """The package has its own copy, so that an installed demo needs no repository."""
    write_problem_file(tmp_path / "problem.toml")
    assert (tmp_path / "problem.toml").read_bytes() == (ROOT / "examples/infection/problem.toml").read_bytes()


def commands() -> list[str]:
    """The simulations that the pages show, in code or on lines of their own."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    return re.findall(r"(?:`|^    )(whichdo simulate [^`\n]+)", text, re.MULTILINE)


@pytest.mark.slow("2 s: every simulation that the pages show")
@pytest.mark.parametrize("command", commands())
def test_the_simulations_that_are_shown_run(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "add-a-policy.md").read_text(encoding="utf-8")
    (skeleton,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "my_policy.py").write_text(skeleton, encoding="utf-8")
    if "my_policy.py" in command:
        monkeypatch.chdir(tmp_path)
    answer = Call(monkeypatch, capsys)(*shlex.split(command)[1:])
    registered.pop("elimination", None)  # what a file adds is forgotten
    assert answer.code == 0
    assert len(answer.out.splitlines()) > 6


def test_the_example_of_the_formats_page_is_a_problem(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "problem.toml").write_text(text)
    problem = read_problem(tmp_path / "problem.toml")
    assert problem.graph == parse_graph("X -> M; M -> Y; X <-> Y; {age region} -> Y")
    assert problem.domains["age"] == ("under 35", "35 to under 45", "45 or more")
    assert [str(arm) for arm in problem.arms][-1] == "do(M=high)"


def test_the_campaign_of_the_readme_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """One after the other; a comment below a command is what the first line of its answer says."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("WHICHDO_DB", str(tmp_path / "campaigns.db"))
    section = README.partition("## Run a campaign")[2].partition("\n## ")[0]
    typed = re.findall(r"^    whichdo (.+(?:\n {5,}.+)*)(?:\n    # (.+))?", section, re.MULTILINE)
    assert [command.split()[0] for command, _ in typed] == ["start", "ask", "tell", "status", "recommend"]
    for command, first_line in typed:
        answer = Call(monkeypatch, capsys)(*shlex.split(command))
        assert answer.code == 0
        assert not first_line or answer.out.splitlines()[0] == first_line
    assert sum(bool(first_line) for _, first_line in typed) == 2


def test_the_lines_on_a_table_of_your_own_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """With a table and a drawing called as there; the rows do not contradict the drawing."""
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    age = rng.integers(20, 80, 2_000)
    x = rng.random(2_000) < 0.2 + age / 200
    y = rng.random(2_000) < 0.3 + 0.2 * x - age / 400
    rows = "\n".join(f"{a},{b:d},{c:d}" for a, b, c in zip(age.tolist(), x.tolist(), y.tolist(), strict=True))
    (tmp_path / "data.csv").write_text(f"age,X,Y\n{rows}\n")
    (tmp_path / "drawing.dag").write_text("dag { X [exposure]; age -> {X Y}; X -> Y }")
    section = README.partition("## Your own table")[2].partition("\n## ")[0]
    lines = re.findall(r"^    whichdo (.+)$", section, re.MULTILINE)
    assert [line.split()[0] for line in lines] == ["init", "check", "rank", "what-if"]
    for line in lines:
        answer = Call(monkeypatch, capsys)(*shlex.split(line, comments=True))
        assert answer.code == 0, (line, answer.err)
    assert (tmp_path / "rank.svg").exists()
