"""Audits: what they are spent on, in which order, and that they are replayed as they are listed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import whichdo as wd
from tests.campaign.trials import PROBLEM, create, rng, row_of, run
from whichdo.campaign.audit import Audits, kept_for_audits, round_of_audits
from whichdo.campaign.events import Audited
from whichdo.evidence import Tally
from whichdo.problem import Problem, do

if TYPE_CHECKING:
    from pathlib import Path

FOUR = Problem("A -> Y; B -> Y", "Y")  # do(), do(A=0), do(A=1), do(B=0), do(B=1)


def direct(*rows: tuple[int, int]) -> Tally:
    return Tally(FOUR, np.array(rows, np.int64))


def test_half_goes_to_the_arm_that_is_named_and_the_rest_where_least_is_known() -> None:
    nothing = direct(*[(0, 0)] * 5)
    assert round_of_audits(do(A=1), nothing, 40, logged=True) == {
        do(): 5, do(A=0): 5, do(A=1): 20, do(B=0): 5, do(B=1): 5,
    }  # fmt: skip
    assert round_of_audits(do(), nothing, 40, logged=True)[do()] == 20


def test_do_is_an_arm_like_any_other_only_where_it_is_known_from_logs() -> None:
    assert do() not in round_of_audits(do(), direct(*[(0, 0)] * 5), 40, logged=False)


def test_an_arm_that_direct_pulls_rule_out_is_left_out_of_the_race_and_one_that_looking_does_is_not() -> None:
    """do(A=0) has 2 successes of 40 and is out; do(B=0), which nobody has pulled, is in whatever looking says of it."""
    found = round_of_audits(do(A=1), direct((20, 20), (38, 2), (10, 30), (0, 0), (20, 20)), 40, logged=True)
    assert do(A=0) not in found
    assert found[do(B=0)] == 20


def test_an_arm_that_was_pulled_enough_needs_no_audit() -> None:
    assert round_of_audits(do(A=1), direct(*[(50, 50)] * 5), 60, logged=True) == {}
    assert round_of_audits(do(A=1), direct(*[(50, 50)] * 4, (48, 50)), 60, logged=True) == {do(B=1): 2}


def test_a_round_costs_at_most_what_it_is_given() -> None:
    problem = Problem("A -> Y; B -> Y", "Y", costs={"do(A=1)": 2.5, "do(B=0)": 7.0})
    random = np.random.default_rng(4)
    for _ in range(50):
        pulls = Tally(problem, random.integers(0, 40, (5, 2)))
        money = float(random.integers(1, 200))
        found = round_of_audits(problem.arms[int(random.integers(5))], pulls, money, logged=bool(random.integers(2)))
        assert sum(count * problem.costs[arm] for arm, count in found.items()) <= money + 1e-9


@pytest.mark.parametrize(
    ("policy", "logs", "kept"), [("srm", False, 60), ("srm", True, 60), ("ue", False, 0), ("ue", True, 30)]
)
def test_a_fifth_is_kept_where_looking_is_trusted_and_a_tenth_where_only_do_is_taken_from_logs(
    policy: str, logs: bool, kept: int
) -> None:
    assert kept_for_audits(wd.policy(policy), PROBLEM, 300, logs=logs) == kept


def test_a_handful_of_pulls_is_not_kept() -> None:
    assert kept_for_audits(wd.policy("ue"), PROBLEM, 49, logs=True) == 0
    assert kept_for_audits(wd.policy("ue"), PROBLEM, 50, logs=True) == 5


def test_a_policy_that_doubts_and_so_pulls_all_arms_keeps_a_tenth() -> None:
    assert kept_for_audits(wd.policy("causal-ts"), PROBLEM, 300, logs=True) == 30
    assert kept_for_audits(wd.policy("causal-ts", doubt=0.0), PROBLEM, 300, logs=True) == 60


def test_an_audit_of_the_time_before_rounds_was_all_there_was() -> None:
    audits = Audits(60.0)
    audits.begin({do(A=1): 30}, Audited({"do(A=1)": 30}, 60.0), FOUR)
    assert audits.over
    assert audits.left == 0


def logs(number: int = 400) -> dict[str, Any]:
    random = rng(8)
    rows = [row_of(wd.Ticket("", wd.do()), random) for _ in range(number)]
    return {name: [row[name] for row in rows] for name in "ZXWY"}


@pytest.mark.slow("1 s: an audited campaign of 300 pulls to its end; finds a round that is left out or made twice")
def test_fresh_looks_come_before_a_policy_begins_on_logs(tmp_path: Path) -> None:
    campaign = create(str(tmp_path / "a.db"), horizon=300, audit=True, logs=logs())
    number = int(0.5 * campaign.status().terms["audit"])
    tickets = campaign.ask(300)
    assert [ticket.arm for ticket in tickets] == [wd.do()] * number
    assert set(tickets[0].needed) == {"Z", "X", "W", "Y"}
    assert campaign.recommend().sentences[-1].startswith("warm-halving goes on once fresh looks have shown whether")
    outcomes = rng(9)
    for ticket in tickets:
        campaign.tell(ticket, row_of(ticket, outcomes))
    kinds = [event.kind for event in campaign.events()]
    assert kinds == ["created", "observed", "audited", "asked", *["told"] * number, "restarted"]
    assert campaign.status().restarts == ()  # nothing went wrong: it only goes on
    run(campaign, outcomes)
    assert campaign.status().phase == "finished"
    assert [event.content.get("round") for event in campaign.events() if event.kind == "audited"] == [None, 1, 2, 3]
    again = wd.Campaign.open(tmp_path / "a.db", "spring")
    assert again.verify() == campaign.status().receipt
    assert again.recommend().to_dict() == campaign.recommend().to_dict()


def test_without_logs_or_audits_the_policy_begins_at_once(tmp_path: Path) -> None:
    bare = create(str(tmp_path / "a.db"), "bare", horizon=300, audit=True)
    bare.ask()
    unaudited = create(str(tmp_path / "a.db"), "unaudited", horizon=300, logs=logs())
    unaudited.ask()
    for campaign in (bare, unaudited):
        assert "audited" not in [event.kind for event in campaign.events()]


def test_policies_that_earn_are_audited_too(tmp_path: Path) -> None:
    campaign = create(str(tmp_path / "a.db"), policy="causal-ts", horizon=200, audit=True, logs=logs())
    run(campaign, rng(3))
    audits = [event.content for event in campaign.events() if event.kind == "audited"]
    assert audits[0]["pulls"] == {"do()": int(0.5 * campaign.status().terms["audit"])}
    assert len(audits) > 1
    assert campaign.status().spent <= 200
    assert wd.Campaign.open(tmp_path / "a.db", "spring").verify()


def test_the_same_terms_open_a_campaign_that_keeps_another_share(tmp_path: Path) -> None:
    """As one does that was begun when less was kept, or without the logs that were named the first time."""
    database = str(tmp_path / "a.db")
    create(database, policy="ue", horizon=300, audit=True, logs=logs())
    assert create(database, policy="ue", horizon=300, audit=True).status().terms["audit"] == 30
    create(database, "looking", policy="srm", horizon=300, audit=True)
    with pytest.raises(wd.ConflictError, match=r"audit 60\.0 on record, 0\.0 now"):
        create(database, "looking", policy="srm", horizon=300)
