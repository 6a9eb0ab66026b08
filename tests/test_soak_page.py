"""docs/soak.md: a run of some soak tests replaces their rows and no others."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import conftest
from tests.soak import HEAD, merged, row

ROOT = Path(__file__).parents[1]


@pytest.fixture
def tests(tmp_path: Path) -> Path:
    folder = tmp_path / "tests"
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "test_one.py").write_text("def test_kept() -> None: ...\nTestMachine = Machine.TestCase\n")
    return folder


KEPT = row("a/test_one.py::test_kept[x]", "passed", "kills 800", 12.34, "2026-01-02, 0.1, 3.11.7")
MACHINE = row("a/test_one.py::TestMachine::runTest", "passed", "", 1.0, "2026-01-02, 0.1, 3.11.7")


def test_only_the_rows_that_were_run_are_replaced(tests: Path) -> None:
    again = row("a/test_one.py::test_kept[x]", "failed", "kills 900", 1.0, "2026-02-03, 0.2, 3.12.0")
    page = merged("", [KEPT, MACHINE], tests)
    assert page == f"{HEAD}{MACHINE}\n{KEPT}\n"
    assert merged(page, [again], tests) == f"{HEAD}{MACHINE}\n{again}\n"


def test_the_row_of_a_test_that_is_gone_goes(tests: Path) -> None:
    gone = [
        row("a/test_one.py::test_renamed", "passed", "", 1.0, "2026-01-02, 0.1, 3.11.7"),
        row("a/test_two.py::test_kept", "passed", "", 1.0, "2026-01-02, 0.1, 3.11.7"),
    ]
    assert merged("", [KEPT, *gone], tests) == f"{HEAD}{KEPT}\n"


WHEN = "2026-01-02, 0.1, 3.11.7"


def test_cases_that_only_passed_share_a_row(tests: Path) -> None:
    """What failed, or says how often it did what, keeps a row of its own; so does a case that is alone."""
    cases = [row(f"a/test_one.py::test_kept[spark-{n}]", "passed", "", 0.5, WHEN) for n in range(200)]
    failed = row("a/test_one.py::test_kept[spark-7]", "failed", "", 2.0, WHEN)
    together = row("a/test_one.py::test_kept", "passed", "cases 199", 99.5, WHEN)
    page = merged("", [*cases[:7], failed, *cases[8:], KEPT], tests)
    assert page == f"{HEAD}{together}\n{failed}\n{KEPT}\n"
    assert merged(page, [], tests) == page
    alone = row("a/test_one.py::test_kept[other]", "passed", "", 0.5, WHEN)
    assert merged("", [alone], tests) == f"{HEAD}{alone}\n"


def test_cases_that_are_run_again_replace_their_row(tests: Path) -> None:
    later = WHEN.replace("2026", "2027")
    page = merged("", [row(f"a/test_one.py::test_kept[{n}]", "passed", "", 1.0, WHEN) for n in range(3)], tests)
    again = [row(f"a/test_one.py::test_kept[{n}]", "passed", "", 2.0, later) for n in range(4)]
    assert merged(page, again, tests) == f"{HEAD}{row('a/test_one.py::test_kept', 'passed', 'cases 4', 8.0, later)}\n"


def test_a_case_that_failed_and_passes_again_has_no_row_beside_the_others(tests: Path) -> None:
    failed = row("a/test_one.py::test_kept[1]", "failed", "", 2.0, WHEN)
    page = merged("", [failed], tests)
    again = [row(f"a/test_one.py::test_kept[{n}]", "passed", "", 2.0, WHEN) for n in range(4)]
    assert merged(page, again, tests) == f"{HEAD}{row('a/test_one.py::test_kept', 'passed', 'cases 4', 8.0, WHEN)}\n"


def test_what_ran_is_written_when_the_run_ends(tests: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tests.parent / "docs" / "soak.md"
    page.parent.mkdir()
    page.write_text(f"{HEAD}{KEPT}\n")
    monkeypatch.setattr(conftest, "FULL", True)
    monkeypatch.setattr(conftest, "_lines", [])
    report: Any = SimpleNamespace(
        when="call", user_properties=[("seed", 7)], outcome="passed", duration=2.0,
        nodeid="tests/a/test_one.py::TestMachine::runTest",
    )  # fmt: skip
    conftest.pytest_runtest_logreport(report)
    config: Any = SimpleNamespace(rootpath=tests.parent)
    conftest.pytest_terminal_summary(config)
    first, second = page.read_text().removeprefix(HEAD).splitlines()
    assert first.startswith("| `a/test_one.py::TestMachine::runTest` | passed | seed 7 | 2.0 s | 20")
    assert second == KEPT


def test_the_page_can_be_added_to() -> None:
    page = (ROOT / "docs" / "soak.md").read_text(encoding="utf-8")
    assert page.startswith(HEAD)
    assert len(merged(page, [], ROOT / "tests").splitlines()) > 100
