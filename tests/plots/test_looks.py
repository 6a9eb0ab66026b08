"""One look a policy: the same in every figure, and never that of another one beside it."""

from __future__ import annotations

from itertools import combinations

import pytest

import whichdo as wd
from whichdo.plots.regret import LOOKS, policy_label, policy_looks


def test_every_policy_that_can_be_named_has_a_look() -> None:
    assert set(wd.available_policies()) <= set(LOOKS)


@pytest.mark.parametrize("kind", ["simple", "cumulative"])
def test_policies_of_one_kind_of_regret_look_different(kind: str) -> None:
    names = [name for name, made in wd.available_policies().items() if str(made.objective) == kind]
    assert all(LOOKS[one][1:4] != LOOKS[other][1:4] for one, other in combinations(names, 2))
    assert len({LOOKS[name].label for name in names}) == len(names)


def test_a_look_does_not_depend_on_who_else_is_drawn() -> None:
    alone = policy_looks(["warm-halving(doubt=0)"])["warm-halving(doubt=0)"]
    beside = policy_looks(["ue", "mine", "warm-halving", "warm-halving(doubt=0)"])
    assert beside["warm-halving(doubt=0)"] == alone
    assert beside["ue"] == LOOKS["ue"]
    assert alone.colour == LOOKS["warm-halving"].colour
    assert alone[1:4] != LOOKS["warm-halving"][1:4]


def test_two_strangers_never_look_the_same() -> None:
    names = [f"warm-halving(doubt=0.{number})" for number in range(20)] + [f"mine-{number}" for number in range(30)]
    looks = policy_looks(names)
    assert list(looks) == names
    assert len({look[1:4] for look in looks.values()}) == len(names)


def test_what_a_policy_is_called() -> None:
    assert policy_label("srm") == "SRM-ALG"
    assert policy_label("mine(a=1)") == "mine(a=1)"
    assert len(policy_label("x" * 80)) == 34
