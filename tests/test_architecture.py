"""Imports point down, and some things are not done anywhere."""

from __future__ import annotations

import ast
import keyword
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import whichdo

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SOURCE = Path(__file__).parents[1] / "src" / "whichdo"

LAYERS = {
    "_version": 0,
    "arrays": 0,
    "errors": 0,
    "files": 0,
    "graph": 0,
    "identification": 0,
    "kernels": 0,
    "tables": 0,
    "crew": 0,
    "drawing": 0,
    "frames": 0,
    "frozen": 0,
    "plots": 0,
    "progress": 0,
    "remedies": 0,
    "tails": 0,
    "text": 0,
    "arguments": 1,
    "arms": 1,
    "blends": 1,
    "candidates": 1,
    "counting": 2,
    "domains": 1,
    "evidence": 2,
    "formulas": 1,
    "open_arms": 1,
    "problem": 1,
    "problem_file": 1,
    "estimate": 3,
    "proposing": 3,
    "checking": 3,
    "policies": 4,
    "policy_names": 5,
    "session": 5,
    "world": 5,
    "simulation": 6,
    "comparison": 6,
    "campaign": 7,
    "monitoring": 6,
    "experiments": 7,
    "report": 8,
    "demo": 8,
    "cli": 9,
    "__init__": 10,
    "__main__": 10,
}
SIBLINGS = {("session", "world"), ("world", "session"), ("estimate", "checking")}

#: What may be taken from generators' modules: generators of one's own, never the global one.
OWN_GENERATORS = {
    "random": {"Random", "SystemRandom"},
    "numpy.random": {
        "PCG64", "PCG64DXSM", "SFC64", "BitGenerator", "Generator", "Philox", "SeedSequence", "default_rng",
    },
}  # fmt: skip


@cache
def modules() -> dict[str, ast.Module]:
    """Every module of the package by its dotted name below ``whichdo``, without what is not asked about here."""
    return {
        ".".join(path.relative_to(SOURCE).with_suffix("").parts): essentials(path.read_text(encoding="utf-8"))
        for path in sorted(SOURCE.rglob("*.py"))
    }


def essentials(text: str) -> ast.Module:
    """Imports and attributes alone: walking through whole trees takes long, and keeping them slows every later test."""
    body: list[Any] = [
        node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom | ast.Attribute)
    ]
    return ast.Module(body, type_ignores=[])


def imported(module: str, tree: ast.Module) -> Iterator[str]:
    """Dotted names of what a module imports, anywhere in it; ``from a import b`` gives ``a.b``."""
    package = ["whichdo", *module.split(".")[:-1]]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def upward(module: str, tree: ast.Module) -> list[str]:
    """Imports of a module that do not point down."""
    own = module.split(".", maxsplit=1)[0]
    wrong = []
    for name in imported(module, tree):
        parts = name.split(".")
        if parts[0] != "whichdo":
            continue
        other = parts[1] if len(parts) > 1 and parts[1] in LAYERS else "__init__"
        if LAYERS[other] > LAYERS[own] or (own, other) in SIBLINGS:
            wrong.append(f"{module} (layer {LAYERS[own]}) imports {name} (layer {LAYERS[other]})")
    return wrong


def test_every_module_has_a_layer() -> None:
    assert {module.split(".")[0] for module in modules()} - set(LAYERS) == set()


def test_imports_point_down() -> None:
    assert [wrong for module, tree in modules().items() for wrong in upward(module, tree)] == []


@pytest.mark.parametrize(
    ("module", "code"),
    [
        ("policies.srm", "from whichdo.world.network import CausalNetwork"),
        ("policies.srm", "def f():\n    import whichdo.world"),
        ("policies.srm", "from whichdo import Problem"),
        ("policies.srm", "import whichdo"),
        ("policies.srm", "from ..world import network"),
        ("policies.srm", "from whichdo import world"),
        ("session", "from whichdo.world import sampler"),
        ("world.sampler", "if TYPE_CHECKING:\n    from whichdo.session import Session"),
        ("graph.admg", "from whichdo.problem import Problem"),
        ("graph.formats.dagitty", "from ...problem import Problem"),
        ("drawing.listing", "from whichdo.cli.output import console"),
    ],
)
def test_an_upward_import_is_seen(module: str, code: str) -> None:
    assert upward(module, ast.parse(code))


@pytest.mark.parametrize(
    ("module", "code"),
    [
        ("policies.srm", "from whichdo.problem import Problem"),
        ("policies.srm", "from . import base"),
        ("problem_file", "from whichdo.problem import Problem"),
        ("graph.admg", "from whichdo.errors import GraphError\nimport numpy"),
        ("cli.app", "from whichdo._version import __version__"),
        ("__init__", "from whichdo.cli import main"),
    ],
)
def test_a_downward_import_is_fine(module: str, code: str) -> None:
    assert upward(module, ast.parse(code)) == []


def edges(found: Mapping[str, ast.Module]) -> dict[str, set[str]]:
    """For each module the modules it imports, late and for type checkers too; a package is its ``__init__``."""
    names = {name.removesuffix(".__init__"): name for name in found}
    made: dict[str, set[str]] = {}
    for module, tree in found.items():
        named = {name.removeprefix("whichdo.") for name in imported(module, tree) if name.startswith("whichdo.")}
        ends = {names.get(name) or names.get(name.rpartition(".")[0]) for name in named}
        made[module] = {end for end in ends if end is not None} - {module}
    return made


def cyclic(found: Mapping[str, ast.Module]) -> set[str]:
    """The modules that import themselves by way of others."""
    steps = edges(found)

    def below(start: str) -> set[str]:
        seen, waiting = set[str](), [start]
        while waiting:
            new = steps.get(waiting.pop(), set()) - seen
            seen |= new
            waiting += new
        return seen

    return {module for module in steps if module in below(module)}


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Within a layer and a package too.  A storage migrates itself, by what knows storages."""
    assert cyclic(modules()) == {"campaign.storage.contract", "campaign.storage.migration"}


@pytest.mark.parametrize(
    "code", ["import whichdo.b", "from whichdo import b", "from whichdo.b import x", "def f():\n    from . import b",
             "if TYPE_CHECKING:\n    from whichdo.b import X"],
)  # fmt: skip
def test_a_cycle_is_seen(code: str) -> None:
    back = ast.parse("from whichdo.a import y")
    assert cyclic({"a": ast.parse(code), "b": back, "c": ast.parse("import whichdo.a")}) == {"a", "b"}
    assert cyclic({"a": ast.parse(code), "b": ast.parse("import json")}) == set()


def test_no_module_name_occurs_twice() -> None:
    """Outside the command line, whose modules are named by their verbs."""
    names = [name.rsplit(".", maxsplit=1)[-1] for name in modules() if not name.startswith("cli.")]
    assert {name for name in names if names.count(name) > 1} <= {"__init__"}


def test_no_public_function_has_the_name_of_a_module() -> None:
    """Importing the module would replace the function."""
    assert set(whichdo.__all__) & {name.split(".", maxsplit=1)[0] for name in modules()} == {"errors"}


def test_no_module_is_called_utils() -> None:
    names = {part for module in modules() for part in module.split(".")}
    assert not names & {"util", "utils", "helpers", "misc", "common"}


def test_nothing_is_pickled_and_no_yaml_or_xml_is_read() -> None:
    for module, tree in modules().items():
        roots = {name.split(".")[0] for name in imported(module, tree)}
        assert not roots & {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "yaml", "xml"}, (
            module
        )


def global_randomness(module: str, tree: ast.Module) -> list[str]:
    """Uses of a global random generator."""
    found = []
    for name in imported(module, tree):
        base, _, last = name.rpartition(".")
        if base in OWN_GENERATORS and last not in OWN_GENERATORS[base]:
            found.append(name)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
            base = ast.unparse(node.value).replace("np.random", "numpy.random")
            if base in OWN_GENERATORS and node.attr not in OWN_GENERATORS[base]:
                found.append(f"{base}.{node.attr}")
    return found


def test_no_global_random_generator_is_used() -> None:
    assert [use for module, tree in modules().items() for use in global_randomness(module, tree)] == []


@pytest.mark.parametrize(
    "code",
    [
        "import numpy as np\nnp.random.seed(1)",
        "import numpy as np\nnp.random.rand()",
        "import random\nrandom.random()",
        "from random import choice",
        "from numpy.random import seed",
    ],
)
def test_global_randomness_is_seen(code: str) -> None:
    assert global_randomness("policies.srm", ast.parse(code))


def test_own_generators_are_fine() -> None:
    code = "import random\nimport numpy as np\nrandom.Random(1)\nnp.random.default_rng(1)\nx: np.random.Generator"
    assert global_randomness("policies.srm", ast.parse(code)) == []


def test_policies_use_no_clock_and_no_files() -> None:
    for module, tree in modules().items():
        if module.split(".")[0] == "policies":
            roots = {name.split(".")[0] for name in imported(module, tree)}
            assert not roots & {"time", "datetime", "os", "pathlib", "io", "socket", "threading"}, module


def test_what_is_an_extra_is_imported_in_one_place() -> None:
    """And late: `tests/estimate/test_modelled.py` sees that ranking without a model does not import it."""
    users = {
        module
        for module, tree in modules().items()
        for name in imported(module, tree)
        if name.split(".")[0] in {"sklearn", "threadpoolctl", "statsmodels"}
    }
    assert users == {"estimate.doubly_robust"}


ROOT = SOURCE.parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
FILE = re.compile(r"`([\w/]+(?:\.py|/))`")
NAME = re.compile(r"`([A-Za-z_]\w*)(?:\.(\w+))?(?:\([^`]*\))?`")


def test_the_page_on_architecture_names_files_that_are_there() -> None:
    named = {text for text in FILE.findall(PAGE) if "/" in text or text.endswith(".py")}
    assert len(named) > 40
    assert [text for text in sorted(named) if not (SOURCE / text).exists() and not (ROOT / text).exists()] == []


def steps_of(page: str) -> list[str]:
    """The steps of a page, each in one line."""
    return [" ".join(part.split()) for part in re.split(r"\n(?=\d+\. |- |\| |\n)", page)]


def unfounded(step: str) -> list[str]:
    """The classes and functions that a step names and none of its files defines."""
    files = [path for text in FILE.findall(step) for path in [SOURCE / text] if path.exists()]
    sources = [each for path in files for each in ([path] if path.is_file() else sorted(path.rglob("*.py")))]
    defined = {
        getattr(node, "name", "")
        for path in sources
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
    }
    found = [part for match in NAME.findall(FILE.sub("", step)) for part in match if part]
    return [name for name in found if name not in defined and not keyword.issoftkeyword(name)]


def test_each_step_on_the_page_on_architecture_is_where_it_says() -> None:
    steps = [step for step in steps_of(PAGE) if re.match(r"\d+\. ", step)]
    assert len(steps) > 20
    assert [(step[:60], found) for step in steps if (found := unfounded(step))] == []


def test_a_step_that_has_moved_is_seen() -> None:
    assert unfounded("1. `campaign/ledger.py`: `Ledger.write` asks `decide(state)`.") == ["decide"]
    assert unfounded("1. `campaign/ledger.py`: `Ledger.write` and one `match`.") == []
