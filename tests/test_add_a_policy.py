"""The recipe is true: its skeleton is registered, passes the conformance tests and is simulated with no other edit."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
import pytest

import whichdo as wd
from tests.policies import test_conformance as conformance
from whichdo.evidence import Tally
from whichdo.policies.registry import registered
from whichdo.world.instances import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = (Path(__file__).parents[1] / "docs" / "add-a-policy.md").read_text(encoding="utf-8")
NAME = "elimination"


@pytest.fixture
def added() -> Iterator[wd.Policy]:
    """The skeleton of the page, registered as long as a test runs."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert NAME not in registered
    module = ModuleType("whichdo_skeleton")
    sys.modules[module.__name__] = module  # where dataclasses look annotations up
    try:
        exec(compile(code, "add-a-policy.md", "exec"), module.__dict__)
        yield wd.policy(NAME)
    finally:
        registered.pop(NAME, None)
        del sys.modules[module.__name__]


def test_the_skeleton_is_about_forty_lines() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    body = code[code.index("@register") :].splitlines()
    assert len([line for line in body if line.strip()]) <= 45
    assert max(map(len, code.splitlines())) <= 120


def test_it_is_known_by_its_registration_and_then_forgotten(added: wd.Policy) -> None:
    assert NAME in wd.available_policies()
    assert added.name == NAME
    registered.pop(NAME)
    assert NAME not in wd.available_policies()


def test_it_conforms(added: wd.Policy) -> None:
    for budget in (60, 177, 997):
        conformance.test_never_over_budget_and_only_listed_arms(added, budget)
    conformance.test_the_same_seed_decides_the_same_and_global_randomness_has_no_say(added)
    conformance.test_a_hopeless_budget_is_refused_with_the_least_that_would_do(added)
    conformance.test_an_obvious_best_arm_is_found_in_95_percent_of_200_runs(added)
    conformance.test_decides_the_same_told_at_once_or_pull_by_pull_or_in_any_split(added, 177)
    conformance.test_costs_are_paid(added)
    conformance.test_run_at_once_it_decides_as_batch_by_batch(added, dear=True)


def test_it_is_simulated_and_compared_by_name(added: wd.Policy) -> None:
    instance = canonical("frontdoor")
    found = wd.compare(
        ["ue", f"{NAME}(rounds=4)"], instance.network, instance.problem, horizons=[11, 400], runs=100, seed=1
    )
    assert "at least 12" in (found[f"{NAME}(rounds=4)", 11].refusal or "")
    assert found[f"{NAME}(rounds=4)", 400].share_best > 0.95


def test_it_uses_looks_at_hand(added: wd.Policy) -> None:
    """No pull pays, but 40 looks at hand did: do() is named."""
    problem = canonical("frontdoor").problem
    seen = Tally(problem, np.array([[0, 40], [0, 0], [0, 0]]), {})
    for seed in range(10):
        play = added.play(problem, 48, np.random.default_rng(seed), seen)
        batch, named = next(play), None
        while named is None:
            pulls = dict(zip(batch.arms, batch.counts, strict=True))
            try:
                batch = play.send(Tally(problem, np.array([[pulls.get(arm, 0), 0] for arm in problem.arms]), {}))
            except StopIteration as stop:
                named = stop.value.arm
        assert named == wd.do()
