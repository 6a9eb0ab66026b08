"""Policies decide as is on record: how they are written may change, what they decide only with their revision."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.policies.decisions import FILE, decisions, variants, worlds

if TYPE_CHECKING:
    from whichdo.policies.base import Policy

RECORD: dict[str, dict[str, str]] = json.loads(FILE.read_text(encoding="utf-8"))
HOW = "Raise the revision of a policy that decides otherwise, and run python -m tests.policies.decisions."


@pytest.mark.slow("8 s: 24 policies on 12 worlds; finds a rewrite that decides otherwise")
@pytest.mark.parametrize(("name", "each"), [pytest.param(*given, id=given[0]) for given in variants()])
def test_decides_as_on_record(name: str, each: Policy) -> None:
    recorded = RECORD.get(f"{name}; revision {each.revision}")
    assert recorded is not None, HOW
    found = {world: decisions(each, *given) for world, given in worlds().items()}
    assert {world: hashed for world, hashed in found.items() if hashed} == recorded, HOW


def test_every_policy_is_on_record_in_some_world() -> None:
    assert all(RECORD.values())
