"""What is recommended while little is known, and that its numbers fit together."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import whichdo as wd
from tests.campaign.trials import PROBLEM, create, row_of, run
from whichdo.report.campaign_page import campaign_page

if TYPE_CHECKING:
    from pathlib import Path


def test_one_known_arm_is_not_called_the_best(tmp_path: Path) -> None:
    """Two looks tell something of do(), and of arms that they did not see next to nothing.

    Both had Y=1; two successes of two leave (.025)^(1/2) = .158 as the least chance.
    """
    problem = wd.Problem("X -> Y; Z -> Y; X <-> Y", "Y", ["X"], goal="minimize")
    campaign = create(str(tmp_path / "a.db"), policy="warm-halving", problem=problem, horizon=60)
    for ticket in campaign.ask(2):
        campaign.tell(ticket, {"Z": 1, "X": 0, "Y": 1})
    advice = campaign.recommend()
    assert advice.arm == wd.do()
    assert advice.runner_up is None
    assert math.isnan(advice.margin)
    assert math.isnan(advice.probability)
    assert advice.sentences[0].startswith("So far only do(), mean Y 1.00 (95% interval 0.16 to 1.00;")
    assert "compare them with it" in advice.sentences[0]
    page = campaign_page(campaign.events())
    assert "Too early to say" in page
    assert "There is nothing to compare yet." in page


@pytest.mark.slow("2 s: 30 campaigns stopped at random; finds advice for an arm that was not compared")
def test_the_best_is_the_best_of_those_it_is_compared_with(tmp_path: Path) -> None:
    for seed in range(30):
        rng = np.random.default_rng(seed)
        goal = ("maximize", "minimize")[seed % 2]
        problem = wd.Problem(PROBLEM.graph, "Y", ["X", "W"], goal=goal)
        campaign = create(str(tmp_path / f"{seed}.db"), policy="warm-halving", problem=problem, horizon=60, seed=seed)
        run(campaign, rng, most=int(rng.integers(1, 60)))
        advice = campaign.recommend()
        if advice.arm is None or advice.runner_up is None:
            continue
        best, second = advice.ranking[advice.arm], advice.ranking[advice.runner_up]
        assert (best.estimate <= second.estimate) if goal == "minimize" else (best.estimate >= second.estimate)
        digits = min(best.decimals, second.decimals)
        shown = abs(round(best.estimate, digits) - round(second.estimate, digits))
        words = f"By {shown:.{digits}f} over {second.arm} ({second.estimate:.{second.decimals}f}, "
        assert advice.sentences[1].startswith(words)


def test_the_report_says_whether_one_may_act_on_it(tmp_path: Path) -> None:
    def page(name: str, **columns: Any) -> str:
        campaign = create(str(tmp_path / "a.db"), name, policy="ue", logs=columns, horizon=20)
        return campaign_page(campaign.events())

    rng = np.random.default_rng(3)
    many = {each: rng.integers(0, 2, 4_000) for each in "ZXW"}
    clear = page("clear", **many, Y=(rng.random(4_000) < 0.1 + 0.8 * many["X"]).astype(int))
    assert "Clear (100%), as far as the graph is right." in clear
    even = page("even", **many, Y=(rng.random(4_000) < 0.5).astype(int))
    assert "within reach of it." in even


def test_the_policy_may_say_otherwise_and_that_is_explained(tmp_path: Path) -> None:
    """The policy looks away from the log, which says clearly that W matters most."""
    rng = np.random.default_rng(5)
    columns = {each: rng.integers(0, 2, 4_000) for each in "ZXW"}
    columns["Y"] = (rng.random(4_000) < 0.1 + 0.8 * columns["W"]).astype(int)
    campaign = create(str(tmp_path / "a.db"), policy="ue", logs=columns, horizon=20)
    while not campaign.finished:
        ticket = campaign.ask()
        campaign.tell(ticket, row_of(ticket, rng) | {"Y": int(ticket.arm == wd.do(X=0))})
    advice = campaign.recommend()
    assert advice.policy_arm == wd.do(X=0)
    assert advice.arm == wd.do(W=1)
    assert advice.sentences[-1].endswith(
        "names do(X=0); all evidence together says do(W=1) (it did not use what looking says)."
    )


@pytest.mark.slow("2 s: 5 whole campaigns; one pseudo-row for each of 21 levels made do() the best in all of them")
def test_few_pulls_of_a_reward_with_many_levels_are_taken_as_they_are(tmp_path: Path) -> None:
    """1,000 logged looks have a mean of .7, some 20 pulls of do(X=1) one of .8: the policy names it, and so do we."""
    worth: dict[Any, float] = {level: level / 20 for level in range(21)}
    problem = wd.Problem("X -> Y; X <-> Y", "Y", domains={"Y": tuple(worth)}, rewards=worth)
    means = {wd.do(): 0.7, wd.do(X=0): 0.6, wd.do(X=1): 0.8}
    for seed in range(5):
        rng = np.random.default_rng([21, seed])
        logs = {"X": rng.integers(0, 2, 1_000), "Y": rng.binomial(20, 0.7, 1_000)}
        campaign = create(str(tmp_path / f"{seed}.db"), policy="sr", problem=problem, logs=logs, horizon=60, seed=seed)
        while not campaign.finished:
            for ticket in campaign.ask(20):
                x = ticket.arm.settings.get("X", int(rng.integers(2)))
                campaign.tell(ticket, {"X": x, "Y": int(rng.binomial(20, means[ticket.arm]))})
        advice = campaign.recommend()
        assert advice.arm == advice.policy_arm == wd.do(X=1)


def test_an_estimate_that_few_pulls_moved_away_from_the_logs_says_so(tmp_path: Path) -> None:
    """1,000 logged rows with a rate of 5%, then three looks that all succeed: the logs may be old."""
    problem = wd.Problem("X -> Y", "Y")
    rows = {"X": [0, 1] * 500, "Y": [1] * 50 + [0] * 950}
    campaign = wd.Campaign.create(tmp_path / "a.db", "spring", "warm-halving", problem, horizon=60, logs=rows, seed=1)
    before = campaign.recommend()
    assert not any("in this campaign" in each for each in before.sentences)
    told = 0
    while told < 3:
        for ticket in campaign.ask(1):
            campaign.tell(ticket, {"X": 0 if ticket.arm.is_look else ticket.arm.settings["X"], "Y": 1})
            told += ticket.arm.is_look
    advice = campaign.recommend()
    (said,) = [each for each in advice.sentences if "in this campaign" in each]
    assert said.startswith("Looks and logs together put do() at 0.05")
    assert "pulls in this campaign at 1.00." in said


def test_an_arm_that_is_likelier_the_best_is_named(tmp_path: Path) -> None:
    """do(X=1) has 15% in 1,000 logged rows; an arm of Z has a fifth in a few pulls, which is more but hardly known."""
    problem = wd.Problem("X -> Y; Z -> Y; Z <-> Y", "Y")
    rows = {"X": [0, 1] * 1000, "Z": [0, 0, 1, 1] * 500, "Y": ([0, 1] * 15 + [0, 0] * 85) * 10}
    campaign = wd.Campaign.create(
        tmp_path / "a.db", "spring", "warm-halving", problem, horizon=60, logs=rows, audit=False, seed=1
    )
    pulled: Counter[wd.Arm] = Counter()
    while pulled.total() < 40 and not campaign.finished:
        ticket = campaign.ask()
        good = int("Z" in ticket.arm.settings and pulled[ticket.arm] % 5 == 0)
        campaign.tell(ticket, {"X": 0, "Z": 0, "Y": good} | dict(ticket.arm.settings))
        pulled[ticket.arm] += 1
    advice = campaign.recommend()
    likelier = advice.ranking.likelier
    assert likelier is not None
    (said,) = [each for each in advice.sentences if each.startswith(f"More likely the best: {likelier.arm}, with ")]
    assert said in campaign_page(campaign.events())
