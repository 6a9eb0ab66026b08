"""The recipe is true: the format of docs/add-a-format.md, registered as it says, holds what every format holds."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

import whichdo as wd
from tests.graph.formats import test_files, test_round_trips
from tests.graph.formats.strategies import NASTY
from whichdo.graph import formats

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = (Path(__file__).parents[3] / "docs" / "add-a-format.md").read_text(encoding="utf-8")
NAME = "adjacency"
LIST = 'adjacency\nX = exposure\n"face mask" =\nX : "face mask"\n"face mask" : Y\nX ~ Y\n'


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The module of the page, in its place and registered as the page says, as long as a test runs."""
    code, line = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    module = ModuleType(f"{formats.__name__}.{NAME}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(code, "add-a-format.md", "exec"), module.__dict__)
    exec(line, {"FORMATS": formats.FORMATS, "Format": formats.Format})
    yield
    del formats.FORMATS[NAME]


@pytest.mark.usefixtures("added")
def test_it_is_read_and_written_everywhere(tmp_path: Path) -> None:
    graph = wd.CausalGraph.parse('X [exposure]; X -> "face mask" -> Y; X <-> Y')
    assert wd.CausalGraph.parse(LIST) == graph
    wd.write_graph(graph, tmp_path / "graph.adj")
    assert wd.read_graph(tmp_path / "graph.adj") == graph
    (tmp_path / "problem.toml").write_text('graph_file = "graph.adj"\nreward = "Y"\n', encoding="utf-8")
    assert wd.read_problem(tmp_path / "problem.toml").graph == graph


@pytest.mark.usefixtures("added")
def test_it_passes_the_tests_of_all_formats(tmp_path: Path) -> None:
    for name in NASTY:
        test_round_trips.test_a_nasty_name_survives_anywhere(NAME, name)
    test_round_trips.test_equal_graphs_are_written_alike(NAME)
    test_round_trips.test_writing_then_reading_is_the_identity(NAME)
    test_files.test_content_decides_not_the_suffix(tmp_path, NAME)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("adjacency\nX Y", r'line 2, column 3: expected ":", "~" or "=", found "Y"'),
        ("adjacency\nX : , Y", r'line 2, column 5: expected a name, found ","'),
        ("adjacency\nX = hiden", 'line 2, column 5: expected hidden, exposure or outcome, found "hiden"'),
        ("adjacency\nX : Y\nY : X", "cycle"),
    ],
)
@pytest.mark.usefixtures("added")
def test_an_error_has_its_place(text: str, message: str) -> None:
    with pytest.raises(wd.WhichdoError, match=message):
        wd.CausalGraph.parse(text)
