"""`compare`: the runs of `simulate` side by side, refusals in their places."""

from __future__ import annotations

import math

import pytest

import whichdo as wd
from whichdo.world.instances import canonical


def compared(*policies: wd.Policy | str, horizons: object = (30, 60), **more: object) -> wd.Comparison:
    instance = canonical("frontdoor")
    options = {"runs": 40, "seed": 3} | more
    return wd.compare(policies, instance.network, instance.problem, horizons=horizons, **options)  # type: ignore[arg-type]


def test_a_cell_holds_the_runs_of_simulate() -> None:
    instance = canonical("frontdoor")
    found = compared("srm", wd.policy("ue"), horizons=[60, 30, 60])
    assert (found.policies, found.horizons) == (("srm", "ue"), (30, 60))
    alone = wd.simulate(wd.policy("ue"), instance.network, instance.problem, horizon=60, runs=40, seed=3)
    cell = found["ue", 60]
    assert cell.outcomes is not None
    assert cell.outcomes.recommended.tolist() == alone.recommended.tolist()
    assert (cell.regret, cell.error, cell.share_best) == (alone.mean, alone.error, alone.share_best)
    assert cell.spent == 60
    assert repr(found) == "<Comparison of 2 policies at 2 horizons, 40 runs each>"


def test_a_policy_that_cannot_serve_a_horizon_says_why_and_the_rest_goes_on() -> None:
    found = compared("ue", "importance", horizons=[2, 60])
    assert math.isnan(found["ue", 2].regret)
    assert "at least 3" in (found["ue", 2].refusal or "")
    assert found["ue", 60].refusal is None
    assert "hidden cause" in (found["importance", 60].refusal or "")


def test_if_no_policy_can_serve_any_horizon_that_is_an_error() -> None:
    with pytest.raises(wd.UnsuitableError, match=r"ue needs a budget of at least 3.*sr needs a budget"):
        compared("ue", "sr", horizons=2)


def test_the_table_is_a_frame() -> None:
    frame = compared("ue", horizons=[2, 60]).to_frame("pandas")
    assert list(frame.columns) == ["policy", "horizon", "regret", "error", "share_best", "spent", "refusal"]
    assert frame.horizon.tolist() == [2, 60]
    assert frame.regret.isna().tolist() == [True, False]


@pytest.mark.parametrize(
    ("policies", "more", "said"),
    [
        ((), {}, "There is no policy to compare"),
        (("ue", wd.policy("ue")), {}, "The policy ue is listed twice"),
        ((3,), {}, '"3" is not a policy'),
        (("ue",), {"horizons": ()}, "There is nothing to compare at"),
        (("ue",), {"horizons": ["30"]}, "The horizon is '30'; it must be a whole number"),
        (("ue",), {"horizons": None}, "Give `horizons`, numbers of pulls, or `budgets`, in cost units; found neither"),
        (("ue",), {"budgets": 30}, "Give `horizons`, numbers of pulls, or `budgets`, in cost units; found both"),
        (("ue",), {"runs": 0}, "number of runs is 0"),
    ],
)
def test_what_cannot_be_compared_is_told(policies: tuple[str, ...], more: dict[str, object], said: str) -> None:
    with pytest.raises(wd.UsageError, match=said):
        compared(*policies, **more)
    with pytest.raises(
        wd.UsageError, match=r"is not a policy and horizon of this comparison\. Policies: ue; horizons: 30"
    ):
        _ = compared("ue", horizons=30)["ue", 31]


def test_simple_and_cumulative_regret_are_not_compared() -> None:
    with pytest.raises(wd.UsageError, match="srm is about simple regret and ucb about cumulative regret"):
        compared("srm", "ucb")
    found = compared("ucb", "causal-ts", horizons=[200])
    assert found["ucb", 200].regret > 0
