"""How sure a campaign is: bounds that hold at all times under any choice of arms, and what is said about stopping."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.soak import scaled
from whichdo.errors import ProblemError, UsageError
from whichdo.estimate.rank import rank
from whichdo.evidence import Tally
from whichdo.monitoring.certainty import Standing, certainty
from whichdo.monitoring.wealth import mean_bounds
from whichdo.problem import Problem, do

if TYPE_CHECKING:
    from collections.abc import Callable

    from whichdo.monitoring.certainty import Certainty

SEED = 20_261_116
PROBLEM = Problem("X -> Y", "Y")  # do(), do(X=0), do(X=1)
BINARY = np.array([0.0, 1.0])


def told(*rows: tuple[int, ...], problem: Problem = PROBLEM) -> Tally:
    return Tally(problem, np.array(rows, np.int64))


def sure(*rows: tuple[int, ...], **options: Any) -> Certainty:
    return certainty(PROBLEM, told(*rows), **options)


# ------------------------------------------------------------------------------------------------------------- verdicts


def test_sure_when_the_leader_is_above_every_other_upper_bound() -> None:
    found = sure((50, 50), (70, 30), (10, 90))
    assert found.standing is Standing.SURE
    assert found.may_stop
    assert found.leader == do(X=1)
    assert found.race == (do(X=1),)
    assert found.more_pulls == 0
    lows = {each.arm: each.low for each in found.arms}
    highs = {each.arm: each.high for each in found.arms}
    assert lows[do(X=1)] > max(highs[do()], highs[do(X=0)])
    assert found.words == "Sure: do(X=1) is the best of 3 arms, with 95% confidence at all times."


def test_a_tie_with_an_arm_that_does_nothing_by_the_graph_is_no_obstacle() -> None:
    """W acts on nothing: do(W=0) is do() by another name, and no number of pulls would tell the two apart."""
    problem = Problem("X -> Y; W", "Y", ["X", "W"])
    rows = {do(): (10, 90), do(X=0): (90, 10), do(X=1): (70, 30), do(W=0): (11, 89), do(W=1): (10, 90)}

    def found(**changes: tuple[int, int]) -> Certainty:
        given = rows | {problem.arm(name): row for name, row in changes.items()}
        return certainty(problem, told(*(given[arm] for arm in problem.arms), problem=problem))

    sure = found()
    assert sure.standing is Standing.SURE
    assert sure.tied == (do(W=0), do(W=1))
    assert sure.words == (
        "Sure: do() is the best of 5 arms, tied with do(W=0) and do(W=1) (no difference by the graph), with 95% "
        "confidence at all times."
    )
    assert found(**{"do(W=1)": (1, 9)}).standing is Standing.MORE  # too few pulls to rest anything on
    better = found(**{"do(X=1)": (0, 400)})
    assert better.leader == do(X=1)
    assert better.standing is Standing.SURE
    assert better.tied == ()
    assert (
        found(**{"do(X=1)": (0, 400), "do(W=1)": (1, 30)}).standing is Standing.MORE
    )  # its own pulls must rule it out


def test_a_tie_that_direct_pulls_deny_is_not_one() -> None:
    """By the graph W does nothing, but its two settings differ; V may still be tied with do()."""
    problem = Problem("X -> Y; W; V", "Y", ["X", "W", "V"])
    rows = {arm: (180, 20) if "X" in arm.settings else (100, 100) for arm in problem.arms}
    rows |= {do(W=0): (140, 60), do(W=1): (50, 150)}

    def found(**changes: tuple[int, int]) -> Certainty:
        given = rows | {problem.arm(name): row for name, row in changes.items()}
        return certainty(problem, told(*(given[arm] for arm in problem.arms), problem=problem))

    best = found()
    assert best.leader == do(W=1)
    assert best.standing is Standing.MORE
    assert best.tied == ()
    assert found(**{"do(W=1)": (20, 380)}).words == (
        "Sure: do(W=1) is the best of 7 arms, with 95% confidence at all times."
    )
    others = found(**{"do(W=0)": (500, 50), "do(W=1)": (500, 50)})
    assert others.leader == do()
    assert others.standing is Standing.SURE
    assert others.tied == (do(V=0), do(V=1))


def test_practically_equal_when_no_rival_can_be_better_by_the_margin() -> None:
    rows = ((5_000, 5_000), (9_000, 1_000), (4_990, 5_010))
    assert sure(*rows).standing is Standing.MORE
    assert sure(*rows, margin=0.01).standing is Standing.MORE
    found = sure(*rows, margin=0.05)
    assert found.standing is Standing.EQUAL
    assert found.may_stop
    assert found.race == (do(), do(X=1))
    assert found.words == (
        "Practically equal, at worst: do() could still be better than do(X=1), but by less than 0.05, with 95% "
        "confidence at all times."
    )


def test_the_guess_of_more_pulls_comes_true_when_means_stay() -> None:
    """Pulled on at the same means, as many more as were guessed, the campaign is sure; at two thirds it is not."""
    rows = np.array([(30, 20), (30, 20), (15, 35)])
    found = certainty(PROBLEM, Tally(PROBLEM, rows))
    assert found.standing is Standing.MORE
    assert found.more_pulls is not None
    assert "about" in found.words
    assert "if the means stay as they are, to tell do(X=1) from do() and do(X=0)" in found.words
    for factor, standing in ((1 + found.more_pulls / 150, Standing.SURE), (1 + found.more_pulls / 225, Standing.MORE)):
        later = certainty(PROBLEM, Tally(PROBLEM, np.round(rows * factor).astype(np.int64)))
        assert later.standing is standing


def test_the_guess_shrinks_with_the_gap_and_with_a_margin() -> None:
    wide = sure((30, 20), (30, 20), (15, 35)).more_pulls
    near = sure((30, 20), (30, 20), (28, 22)).more_pulls
    within = sure((30, 20), (30, 20), (28, 22), margin=0.1).more_pulls
    assert wide is not None
    assert near is not None
    assert within is not None
    assert wide < within < near


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (((0, 0), (0, 0), (0, 0)), "nothing has been pulled"),
        (((3, 3), (0, 0), (2, 4)), "do(X=0) was never pulled"),
        (((0, 0), (0, 0), (2, 4)), "do() and do(X=0) were never pulled"),
        (((3, 3), (4, 2), (3, 3)), "do() and do(X=1) have the same mean so far"),
        (
            ((300_000, 300_000), (600_000, 0), (299_999, 300_001)),
            "a gap of 1.7e-06 is too small to tell",
        ),
    ],
)
def test_what_nobody_can_tell_is_said(rows: tuple[tuple[int, int], ...], why: str) -> None:
    found = sure(*rows)
    assert found.more_pulls is None
    assert found.words == f"Not sure yet; how many more pulls it takes is unknown: {why}."


def test_arms_that_always_win_are_guessed_too() -> None:
    found = sure((0, 3), (0, 3), (0, 3), margin=0.1)
    assert found.standing is Standing.MORE
    assert found.more_pulls is not None
    assert sure((0, 200), (0, 200), (0, 200), margin=0.1).standing is Standing.EQUAL


def test_one_arm_alone_is_surely_the_best() -> None:
    assert sure((0, 0), (0, 0), (1, 0), arms=[do(X=1)]).standing is Standing.SURE


def test_arms_left_out_share_no_confidence_and_do_not_run() -> None:
    rows = ((50, 50), (20, 80), (10, 90))
    all_three, two = sure(*rows), sure(*rows, arms=[do(), do(X=1)])
    assert [each.arm for each in two.arms] == [do(), do(X=1)]
    assert two.standing is Standing.SURE
    assert two.arms[1].low > all_three.arms[2].low


# -------------------------------------------------------------------------------------------------------- the own scale


def test_a_harm_is_told_on_its_own_scale() -> None:
    """10 of 100 infected is the best arm where infections are to be few; its interval is that of infections."""
    problem = Problem("X -> Y", "Y", goal="minimize")
    found = certainty(problem, told((50, 50), (30, 70), (90, 10), problem=problem))
    assert found.leader == do(X=1)
    assert found.standing is Standing.SURE
    best = found.arms[2]
    low, high = mean_bounds(np.array([[90, 10]]), BINARY, 0.05 / 3)
    assert (best.mean, best.low, best.high) == pytest.approx((0.1, low[0], high[0]))


def test_looking_stands_beside_and_changes_nothing() -> None:
    log = {"X": [0] * 500 + [1] * 500, "Y": [0] * 450 + [1] * 50 + [1] * 450 + [0] * 50}
    looked = rank(PROBLEM, log)
    rows = ((5, 5), (3, 7), (4, 6))
    alone, beside = sure(*rows), sure(*rows, looked=looked)
    assert [(each.low, each.high, each.in_race) for each in alone.arms] == [
        (each.low, each.high, each.in_race) for each in beside.arms
    ]
    assert alone.standing is beside.standing
    assert alone.words == beside.words
    assert (beside.arms[2].looked_low, beside.arms[2].looked_high) == (looked[do(X=1)].low, looked[do(X=1)].high)
    assert np.isnan(alone.arms[2].looked_low)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0])
def test_a_confidence_lies_between_0_and_1(confidence: float) -> None:
    with pytest.raises(UsageError, match="The confidence is"):
        sure((1, 1), (1, 1), (1, 1), confidence=confidence)


@pytest.mark.parametrize("margin", [-0.01, 1.0, float("nan")])
def test_a_margin_is_a_difference_of_rewards(margin: float) -> None:
    with pytest.raises(UsageError, match="The margin is"):
        sure((1, 1), (1, 1), (1, 1), margin=margin)


def test_an_arm_that_is_none_is_named() -> None:
    with pytest.raises(ProblemError, match="do\\(Z=1\\) is not an arm"):
        sure((1, 1), (1, 1), (1, 1), arms=[do(Z=1)])
    with pytest.raises(UsageError, match="no arm to compare"):
        sure((1, 1), (1, 1), (1, 1), arms=[])


# ---------------------------------------------------------------------------------- all arms, all times, adaptive pulls

CAMPAIGNS = 8_000
HORIZON = 400
MEANS = np.array([0.5, 0.45, 0.5, 0.1])


def table_of(bounds: Callable[..., Any], miss: float) -> tuple[Any, Any]:
    """Bounds for every number of pulls and of ones up to the horizon."""
    n, ones = np.divmod(np.arange((HORIZON + 1) ** 2), HORIZON + 1)
    counts = np.stack([np.maximum(n - ones, 0), ones], axis=1).astype(np.float64)
    low, high = bounds(counts, BINARY, miss)
    return low.reshape(HORIZON + 1, -1), high.reshape(HORIZON + 1, -1)


def ever_wrong(bounds: Callable[..., Any], campaigns: int) -> float:
    """The share of campaigns in which some arm's interval misses at some time.

    Half of the pulls go to the arm with the largest upper bound, as in UCB, half to the arm that is closest to
    missing, by a choice that even knows the means, though not what will come.
    """
    low, high = table_of(bounds, 0.05 / len(MEANS))
    rng = np.random.default_rng(SEED)
    each = np.arange(campaigns)
    pulls = np.zeros((campaigns, len(MEANS)), np.int64)
    ones = np.zeros_like(pulls)
    wrong = np.zeros(campaigns, bool)
    for turn in range(HORIZON):
        lows, highs = low[pulls, ones], high[pulls, ones]
        wrong |= ((lows > MEANS) | (highs < MEANS)).any(axis=1)
        shares = np.divide(ones, pulls, out=np.full(pulls.shape, 0.5), where=pulls > 0)
        near = np.minimum(MEANS - lows, highs - MEANS) / np.maximum(highs - lows, 1e-9)
        chosen = np.argmin(near, axis=1) if turn % 2 else np.argmax(highs + 1e-6 * shares, axis=1)
        pulls[each, chosen] += 1
        ones[each, chosen] += rng.random(campaigns) < MEANS[chosen]
    return float(wrong.mean())


def most_wrong(campaigns: int) -> float:
    """5% and 5.2 standard errors of it: more is a false alarm once in ten million times."""
    return 0.05 + 5.2 * float(np.sqrt(0.05 * 0.95 / campaigns))


@pytest.mark.soak
def test_all_intervals_hold_at_all_times_however_arms_are_chosen(
    record_property: Callable[[str, object], None],
) -> None:
    campaigns = scaled(CAMPAIGNS)
    wrong = ever_wrong(mean_bounds, campaigns)
    record_property("campaigns", campaigns)
    record_property("ever wrong", f"{wrong:.4f}")
    record_property("seed", SEED)
    assert wrong <= most_wrong(campaigns)


def test_intervals_for_one_time_are_caught_under_adaptive_pulls() -> None:
    """Wilson's intervals, each at a confidence that is shared among arms, read after every pull."""

    def wilson(counts: Any, worth: Any, miss: float) -> tuple[Any, Any]:
        n = np.maximum(counts.sum(axis=1), 1e-9)
        mean, z = counts @ worth / n, 2.5  # 1.25% in two tails
        middle = (mean + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z / (1 + z**2 / n) * np.sqrt(np.maximum(mean * (1 - mean), 0) / n + z**2 / (4 * n**2))
        return middle - half, middle + half

    assert ever_wrong(wilson, 400) > most_wrong(400)
