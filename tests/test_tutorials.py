"""The notebooks of docs/tutorials/ run, and show what a fresh run shows."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.tutorials import METADATA, executed, notebooks, said

if TYPE_CHECKING:
    from pathlib import Path

nbformat = pytest.importorskip("nbformat")

BOOKS = notebooks()
#: Moments and hashes differ from run to run.
MOMENT, HASH = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z"), re.compile(r"\d+:[0-9a-f]{64}")


def same_in_every_run(texts: list[str]) -> list[str]:
    return [HASH.sub("RECEIPT", MOMENT.sub("MOMENT", text)) for text in texts]


def cells(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return found


def test_there_are_five() -> None:
    assert [path.name[0] for path in BOOKS] == ["1", "2", "3", "4", "5"]


@pytest.mark.slow("8 s: a whole tutorial in a kernel of its own; finds one that a change of the package has broken")
@pytest.mark.filterwarnings("default")  # what the tools that run notebooks warn of is theirs
@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_is_stored(path: Path) -> None:
    stored = nbformat.read(path, as_version=4)
    assert same_in_every_run(said(executed(path))) == same_in_every_run(said(stored))


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_tidy(path: Path) -> None:
    """Valid, with fixed names of cells, every output there, and nothing of the machine that ran it."""
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    assert book.metadata == METADATA
    assert [cell["id"] for cell in cells(path)] == [f"cell-{number:02d}" for number in range(1, len(book.cells) + 1)]
    assert all(cell["metadata"] == {} for cell in cells(path))
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert not any(output.output_type == "error" for cell in code for output in cell.outputs)
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"/(home|root|tmp|work|usr)/", text)
    assert len(text) < 700_000


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_links_of_a_notebook_lead_to_files(path: Path) -> None:
    prose = "\n".join("".join(cell["source"]) for cell in cells(path) if cell["cell_type"] == "markdown")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", prose):
        assert (path.parent / target).exists(), target
