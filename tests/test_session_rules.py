"""Sessions: budgets, looks at hand, and policies that break the rules."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import whichdo as wd
from tests.sessions import Scripted
from whichdo.world.instances import canonical

FRONT_DOOR = canonical("frontdoor")
PROBLEM = FRONT_DOOR.problem  # X -> M -> Y, X <-> Y; arms do(), do(X=0), do(X=1)
LOOK, X0, X1 = PROBLEM.arms
CONFOUNDED = "Z -> X; X -> Y; Z -> Y; W -> Y"
OTHER = wd.Problem("X -> M; M -> Y; X <-> Y", "Y", ["X"], goal="minimize")


def scripted(*batches: Any, final: Any = None, budget: float = 1000) -> wd.Session:
    return wd.Session(Scripted(batches, final), PROBLEM, budget=budget)


@pytest.mark.parametrize(
    ("policy", "cost", "pulls"),
    [("warm-halving", 147_738.95, 404), ("srm", 182_409.804, 374), ("ue", 54_356.12, 1813), ("ucb", 70_154.6, 1064)],
)
def test_a_budget_of_so_many_expensive_pulls_pays_for_them(policy: str, cost: float, pulls: int) -> None:
    """Costs of 100,000 and more add up to 1e-8 beside their product, which is no fault of the policy."""
    arms = wd.Problem(CONFOUNDED, "Y", ["X", "W"]).arms
    problem = wd.Problem(CONFOUNDED, "Y", ["X", "W"], costs={str(arm): cost for arm in arms})
    session = wd.Session(wd.policy(policy), problem, budget=pulls * cost)
    random, made = np.random.default_rng(1), 0
    while not session.finished:
        for arm in session.ask(10_000):
            row = dict(zip("ZXWY", random.integers(2, size=4).tolist(), strict=True))
            session.tell(arm, row | {name: int(value) for name, value in arm.settings.items()})
            made += 1
    assert pulls - 1 <= made <= pulls
    assert session.spent == pytest.approx(made * cost, rel=1e-15)
    assert Fraction(cost) * made <= Fraction(session.spent + session.left) + Fraction(cost) / 10**9


def test_a_budget_is_not_exceeded_by_more_than_rounding() -> None:
    """A part in a million of a pull too much is too much, whatever a pull costs."""
    for cost in (1.0, 1e5, 1e11):
        problem = wd.Problem("X -> Y", "Y", costs={"do()": cost, "do(X=0)": cost, "do(X=1)": cost})
        batches = (wd.pull(problem.arms[1], 1),) * 10
        with pytest.raises(wd.UsageError, match="breaks the rules: it asked for 1 pulls"):
            told_all(wd.Session(Scripted(batches), problem, budget=(10 - 1e-6) * cost))
        session = wd.Session(Scripted(batches), problem, budget=10 * cost * (1 - 1e-15))
        told_all(session)
        assert session.finished


def test_half_a_pull_too_much_is_too_much_however_large_the_budget() -> None:
    problem = wd.Problem("X -> Y", "Y")
    batches = (wd.pull(problem.arms[1], 10**12),)
    with pytest.raises(wd.UsageError, match="breaks the rules: it asked for 1,000,000,000,000 pulls"):
        wd.Session(Scripted(batches), problem, budget=1e12 - 0.5)


def told_all(session: wd.Session) -> None:
    while not session.finished:
        for arm in session.ask(100):
            session.tell(arm, {"X": 0, "Y": 1})


def test_a_horizon_is_a_number_of_pulls_and_a_budget_is_money() -> None:
    srm = wd.policy("srm")
    assert wd.Session(srm, PROBLEM, horizon=600).batch == wd.Session(srm, PROBLEM, budget=600.0).batch
    with pytest.raises(wd.UsageError, match=r"Give `horizon`, .* or `budget`, in cost units; found neither"):
        wd.Session(srm, PROBLEM)
    with pytest.raises(wd.UsageError, match="found both"):
        wd.Session(srm, PROBLEM, horizon=600, budget=600)
    dear = wd.Problem(PROBLEM.graph, "Y", ["X"], costs={X1: 5})
    with pytest.raises(wd.UsageError, match=r"`horizon` counts pulls, and do\(X=1\) costs 5. Give `budget`"):
        wd.Session(wd.policy("ue"), dear, horizon=600)
    assert wd.Session(wd.policy("ue"), dear, budget=70).batch.counts == (10, 10, 10)
    with pytest.raises(wd.UnsuitableError, match="ue needs a budget of at least 3"):
        wd.Session(wd.policy("ue"), PROBLEM, horizon=2)
    with pytest.raises(wd.UsageError, match=r"The horizon is 2.5; it must be a whole number"):
        wd.Session(srm, PROBLEM, horizon=2.5)  # type: ignore[arg-type]
    for wrong in (float("nan"), float("inf"), "600", True):
        with pytest.raises(wd.UsageError, match="it must be a finite number"):
            wd.Session(srm, PROBLEM, budget=wrong)  # type: ignore[arg-type]
    with pytest.raises(wd.UsageError, match=r'"600" is not a policy; give a name such as "srm"'):
        wd.Session(600, PROBLEM, horizon=600)  # type: ignore[arg-type]
    with pytest.raises(wd.UsageError, match=r"^A Problem is not a policy; give a name"):
        wd.Session(PROBLEM, "ue", horizon=600)  # type: ignore[arg-type]
    assert wd.Session("srm(second_phase=rejects)", PROBLEM, horizon=600).batch.arms == (wd.do(),)


# ---------------------------------------------------------------------------------------------------------------- seen


def test_looks_at_hand_are_handed_to_the_policy() -> None:
    log = FRONT_DOOR.network.sample(60, seed=1)
    session = wd.Session(wd.policy("warm-halving"), PROBLEM, horizon=200, seen=wd.count(PROBLEM, log))
    assert (session.batch.arms, session.batch.counts) == ((LOOK,), (40,))  # half of 200, less the 60 at hand
    assert session.told.counts.sum() == 0


def test_what_was_seen_must_be_looks_at_this_problem() -> None:
    log = FRONT_DOOR.network.sample(60, seed=1)
    with pytest.raises(wd.UsageError, match="`seen` is a dict; give a Tally"):
        wd.Session(wd.policy("srm"), PROBLEM, horizon=200, seen=log)  # type: ignore[arg-type]
    with pytest.raises(wd.UsageError, match="`seen` was counted for another problem"):
        wd.Session(wd.policy("srm"), PROBLEM, horizon=200, seen=wd.count(OTHER, log))
    with pytest.raises(wd.UsageError, match=r"`seen` contains pulls of do\(X=1\); the policy takes only looks"):
        wd.Session(wd.policy("srm"), PROBLEM, horizon=200, seen=wd.Tally(PROBLEM, np.array([[0, 0], [0, 0], [0, 1]])))


def test_looks_that_do_not_add_up_with_those_asked_for_are_refused() -> None:
    """No back-door path goes through W, so it was not counted; SRM keeps it, since the graph has a hidden cause."""
    problem = wd.Problem("W -> X; X -> Y; A <-> Y", "Y", ["X"])
    log = {name: [0, 1, 1] for name in "WXYA"}
    with pytest.raises(wd.UsageError, match="srm counts W, X and Y together, and `seen` has no such table"):
        wd.Session(wd.policy("srm"), problem, horizon=20, seen=wd.count(problem, log, scopes=[("X", "Y")]))
    scopes = wd.Session(wd.policy("srm"), problem, horizon=20).batch.scopes
    wd.Session(wd.policy("srm"), problem, horizon=20, seen=wd.count(problem, log, scopes=scopes))


# ----------------------------------------------------------------------------------------------------- faulty policies


@pytest.mark.parametrize(
    ("batches", "final", "said"),
    [
        ([wd.pull(X1, 11)], None, "it asked for 11 pulls that cost 11, with 10 left of its budget of 10"),
        ([wd.pull(wd.do(Z=1), 1)], None, "do(Z=1) is not an arm of this problem"),
        ([wd.observe(1, scopes=[("X", "Q")])], None, '"Q"'),
        ([wd.observe(1, scopes=[("X", "X")])], None, "it asked for a scope that names a node twice"),
        (["look"], None, "which is not a Batch"),
        ([wd.pull(X1, 0)] * 10_001, None, "it asked for no pulls 10,000 times in a row"),
        ([], "do()", "which is not a Recommendation"),
        ([], wd.Recommendation(wd.do(Z=1), np.full(3, np.nan)), "do(Z=1) is not an arm of this problem"),
    ],
)
def test_a_policy_that_breaks_the_rules_is_named(batches: list[Any], final: Any, said: str) -> None:
    with pytest.raises(wd.UsageError, match=f"The policy scripted breaks the rules: .*{re.escape(said)}"):
        scripted(*batches, final=final, budget=10)


def test_a_policy_that_fails_later_leaves_what_was_told() -> None:
    session = scripted(wd.pull(X1, 6), wd.pull(X1, 5), budget=10)
    with pytest.raises(wd.UsageError, match="it asked for 5 pulls that cost 5, with 4 left"):
        session.tell(X1, [{"Y": 1}] * 6)
    for call in (session.ask, session.recommend, lambda: session.tell(X1, {"Y": 1})):
        with pytest.raises(wd.UsageError, match="The policy scripted failed, so the session cannot go on"):
            call()
    assert session.told.counts.tolist() == [[0, 0], [0, 0], [0, 6]]
    assert not session.finished
    assert repr(session) == "<Session: scripted, failed, 6 of 10 spent>"
