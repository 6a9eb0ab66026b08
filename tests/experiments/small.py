"""Runs that take a second, and what they left behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whichdo.experiments.cells import EXPERIMENTS
from whichdo.experiments.reproduce import Plan, Reproduction, chosen_policies, reproduce
from whichdo.report.reproduction import write_page

if TYPE_CHECKING:
    from pathlib import Path

    from whichdo.experiments.executors import Executor

NUMBERS = (1, 4)
POLICIES = ["ue", "sr"]
CELLS = sum(panel.quick.networks for number in NUMBERS for panel in EXPERIMENTS[number].panels)


def small_plan(seed: int = 3, policies: list[str] | None = None, numbers: tuple[int, ...] = NUMBERS) -> Plan:
    chosen = chosen_policies(policies or POLICIES, numbers)
    return Plan(chosen, seed, quick=True)


def run(plan: Plan, folder: Path, executor: Executor) -> Reproduction:
    done = reproduce(plan, folder, executor)
    write_page(done)
    return done


def kept(folder: Path) -> dict[str, bytes]:
    """All files that must not depend on how they were computed."""
    own = {"cells.jsonl", "manifest.json"}  # the journal has the order of arrival, the manifest has times
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in own
    }
