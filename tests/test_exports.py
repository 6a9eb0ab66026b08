"""The public names: sorted, importable, documented, typed, and cheap until used."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import whichdo


def as_ruff_sorts(name: str) -> tuple[int, str]:
    """Constants, then classes, then the rest: the order `ruff` (RUF022) keeps ``__all__`` in."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def test_the_names_are_sorted_and_each_stands_once() -> None:
    assert list(whichdo.__all__) == sorted(whichdo.__all__, key=as_ruff_sorts)
    assert len(set(whichdo.__all__)) == len(whichdo.__all__)
    assert set(whichdo.__all__) <= set(dir(whichdo))


@pytest.mark.parametrize("name", whichdo.__all__)
def test_a_name_is_importable_documented_and_typed(name: str) -> None:
    thing = getattr(whichdo, name)
    if inspect.isclass(thing) or inspect.isfunction(thing):
        assert thing.__module__.startswith("whichdo.")
        assert inspect.getdoc(thing)
        assert (thing.__doc__ or "").strip()
    if inspect.isfunction(thing):
        signature = inspect.signature(thing)
        assert signature.return_annotation is not inspect.Signature.empty
        assert all(parameter.annotation is not inspect.Parameter.empty for parameter in signature.parameters.values())


@pytest.mark.parametrize(
    "name",
    ["CausalGraph", "Problem", "confounding_path", "do", "gallery", "identify", "minimal_sets", "possibly_optimal",
     "project", "read_graph", "read_problem"],
)  # fmt: skip
def test_the_names_of_the_contract_are_there(name: str) -> None:
    assert name in whichdo.__all__


def test_names_that_the_pages_use_are_public() -> None:
    """All but records of decisions, which may name what was there then."""
    root = Path(__file__).parents[1]
    pages = [root / "README.md", *(root / "docs").glob("*.md"), *(root / "docs").rglob("*.ipynb")]
    used = {name for page in pages for name in re.findall(r"\bwd\.(\w+)", page.read_text(encoding="utf-8"))}
    assert used >= {"Problem", "rank"}
    assert used <= set(whichdo.__all__)


def test_a_name_that_is_none_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing_of_this_name"):
        _ = whichdo.nothing_of_this_name


def test_type_checkers_see_the_names_in_the_places_they_come_from() -> None:
    """The imports under TYPE_CHECKING and the names loaded on first use are the same."""
    tree = ast.parse(Path(inspect.getfile(whichdo)).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        for alias in node.names:
            assert getattr(whichdo, alias.name) is getattr(sys.modules[str(node.module)], alias.name)
    seen = {alias.name for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen | {"__version__"} == set(whichdo.__all__)


def test_the_version_is_the_same_everywhere() -> None:
    """In the code, the citation, the newest release of the changelog with its date, and the page on installing."""
    root = Path(__file__).parents[1]
    cited, changes, install = (
        (root / name).read_text(encoding="utf-8") for name in ("CITATION.cff", "CHANGELOG.md", "docs/install.md")
    )
    unreleased, (version, date) = re.findall(r"^## \[(.+?)\](?: - (.+))?$", changes, re.MULTILINE)[:2]
    assert unreleased == ("Unreleased", "")
    assert version == whichdo.__version__
    assert re.findall(r"^(?:version|date-released): (.+)$", cited, re.MULTILINE) == [version, date]
    assert f"whichdo-{version}-py3-none-any.whl" in install


def test_the_package_says_that_it_is_typed() -> None:
    assert (Path(inspect.getfile(whichdo)).parent / "py.typed").exists()


def loaded_after(code: str) -> set[str]:
    """Top-level modules that a fresh interpreter has loaded after running some code."""
    run = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules, file=sys.stderr)"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return {name.split(".")[0] for name in run.stderr.split()}


HEAVY = {"numba", "llvmlite", "numpy", "pandas", "duckdb", "sqlalchemy", "matplotlib", "networkx"}


@pytest.mark.parametrize(
    "code",
    [
        "import whichdo",
        "import whichdo.cli.app",
        "import whichdo; whichdo.Problem('X -> Y', 'Y').verdicts['X'].reason",
        "import whichdo; whichdo.gallery['bow'].graph",
    ],
)
def test_heavy_libraries_are_loaded_only_when_needed(code: str) -> None:
    assert not loaded_after(code) & HEAVY


def test_help_loads_no_heavy_library() -> None:
    code = "import sys; sys.argv = ['', '--help']\nfrom whichdo.cli import main\ntry: main()\nexcept SystemExit: pass"
    assert not loaded_after(code) & HEAVY
