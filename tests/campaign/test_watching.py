"""The alarm, the audit and stopping when sure inside whole campaigns, through the public verbs and a real policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zlib import crc32

import pytest

import whichdo as wd
from tests.soak import scaled

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def confounded(strength: float) -> wd.CausalNetwork:
    """U moves X and Y together; without it the graph X -> Y, Z -> Y would be right."""
    return wd.CausalNetwork(
        {
            "U": wd.bernoulli((), 0.5),
            "X": wd.bernoulli(("U",), [0.1, 0.9]),
            "Z": wd.bernoulli((), 0.5),
            "Y": wd.bernoulli(("U", "Z"), [[0.4 - strength, 0.5 - strength], [0.4 + strength, 0.5 + strength]]),
        },
        hidden={"U"},
    )


PROBLEM = wd.Problem("X -> Y; Z -> Y", "Y")
RIGHT = wd.Problem("X <-> Y; X -> Y; Z -> Y", "Y")


def played(
    folder: Path, network: wd.CausalNetwork, problem: wd.Problem, seed: int, *, horizon: int = 500, **options: Any
) -> wd.Campaign:
    """A campaign to its end against a network; rows are drawn a thousand at a time."""
    logs = network.sample(3000, seed=seed)
    name = f"run {seed}"
    policy = wd.policy(options.pop("policy", "warm-halving"))
    campaign = wd.Campaign.create(
        folder / "a.db", name, policy, problem, horizon=horizon, logs=logs, seed=seed, **options
    )
    stores: dict[wd.Arm, Any] = {}
    used: dict[wd.Arm, int] = {}
    while tickets := campaign.ask(50, client="me"):
        for ticket in tickets:
            arm = ticket.arm
            at = used.get(arm, 0)
            if at % 1000 == 0:
                do = arm.settings
                stores[arm] = network.sample(1000, do=do, seed=1000 * seed + at + crc32(str(arm).encode()) % 97)
            campaign.tell(ticket, {node: int(column[at % 1000]) for node, column in stores[arm].items()})
            used[arm] = at + 1
    return campaign


def test_a_missing_confounder_is_named_and_its_arms_fall_back_to_direct_pulls(tmp_path: Path) -> None:
    campaign = played(tmp_path, confounded(0.35), PROBLEM, 1)
    status, advice = campaign.status(), campaign.recommend()
    (said,) = status.alarms
    assert "X <-> Y" in said
    assert status.restarts == ("alarm: X <-> Y seems to be missing in the graph",)
    assert said in advice.warnings
    assert advice.arm == wd.do(Z=1)
    row = advice.ranking[wd.do(X=1)]
    assert row.effective_n == row.direct
    assert advice.ranking[wd.do(Z=1)].effective_n > advice.ranking[wd.do(Z=1)].direct
    again = wd.Campaign.open(tmp_path / "a.db", "run 1")
    assert again.recommend().to_dict() == advice.to_dict()
    assert again.verify()


@pytest.mark.slow("10 s: 20 whole campaigns through the public verbs; finds audits that do not reach the alarm")
@pytest.mark.soak
def test_a_wrong_graph_is_found_in_whole_campaigns_and_a_right_one_is_left_alone(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """With a bias of 0.28 on do(X=1), which leads by looking, the audits let the alarm go off; with a right graph not.

    A false alarm is allowed in 5% of campaigns; of 10 with a right graph 4 or more would have a chance of 1e-3, and the
    seeds are fixed.
    """
    runs = scaled(200, 10)
    found = [
        len(played(tmp_path, confounded(0.35), PROBLEM, seed, horizon=800).status().alarms) > 0 for seed in range(runs)
    ]
    false = [len(played(tmp_path, confounded(0.35), RIGHT, 10_000 + seed).status().alarms) > 0 for seed in range(runs)]
    record_property("alarms", {"wrong graph": sum(found), "right graph": sum(false), "campaigns": runs})
    assert sum(found) >= 0.95 * runs
    assert sum(false) <= max(0.05 * runs, 3)


def test_audits_are_kept_for_what_leads_by_looking(tmp_path: Path) -> None:
    network = wd.CausalNetwork(
        {
            "X": wd.bernoulli((), 0.5),
            "Z": wd.bernoulli((), 0.5),
            "Y": wd.bernoulli(("X", "Z"), [[0.2, 0.3], [0.7, 0.8]]),
        }
    )
    campaign = played(tmp_path, network, PROBLEM, 3, horizon=300)
    state = campaign._ledger.state()
    audits = [event.content for event in campaign.events() if event.kind == "audited"]
    assert audits[0]["interim"]
    assert audits[0]["pulls"] == {"do()": int(0.5 * state.terms.audit)}
    rounds = [audit for audit in audits if "round" in audit]
    assert [audit["round"] for audit in rounds] == list(range(1, len(rounds) + 1))
    assert sum(sum(audit["pulls"].values()) for audit in rounds) <= state.terms.audit / 2
    assert campaign.status().by_arm["do(X=1)"] >= 100 or any("do(X=1)" in audit["pulls"] for audit in rounds)
    assert campaign.status().phase == "finished"
    assert campaign.recommend().policy_arm == wd.do(X=1)
    assert not campaign.status().alarms


@pytest.mark.parametrize(
    ("policy", "kept"), [("ue", 0), ("sr", 0), ("ts", 0), ("causal-ts", 30), ("srm", 60), ("crm", 60)]
)
def test_policies_that_look_are_audited(tmp_path: Path, policy: str, kept: int) -> None:
    campaign = wd.Campaign.create(tmp_path / "a.db", "a", wd.policy(policy), PROBLEM, horizon=300)
    assert campaign._ledger.state().terms.audit == kept
    bare = wd.Campaign.create(tmp_path / "a.db", "b", wd.policy(policy), PROBLEM, horizon=300, audit=False)
    assert bare._ledger.state().terms.audit == 0


def test_a_campaign_stops_when_it_is_sure_and_says_so(tmp_path: Path) -> None:
    clear = wd.CausalNetwork(
        {"X": wd.bernoulli((), 0.5), "Z": wd.bernoulli((), 0.5), "Y": wd.bernoulli(("X",), [0.1, 0.9])}
    )
    campaign = played(
        tmp_path, clear, wd.Problem("X -> Y; Z", "Y", ["X"]), 4, horizon=2000, policy="sr", stop_when_sure=True
    )
    status = campaign.status()
    assert status.phase == "finished"
    assert status.spent < 1500
    advice = campaign.recommend()
    assert str(advice.certainty.standing) == "sure"
    assert any(line.startswith("It was stopped") and "Sure: do(X=1)" in line for line in advice.sentences)
    assert campaign.ask(3) == []
    with pytest.raises(wd.ConflictError, match="is finished"):
        campaign.ask()
    assert wd.Campaign.open(tmp_path / "a.db", "run 4").recommend().to_dict() == advice.to_dict()


def test_logs_make_nothing_sure(tmp_path: Path) -> None:
    """3,000 logged looks settle do() and both arms of X by the graph; the campaign has pulled nothing itself."""
    clear = wd.CausalNetwork({"X": wd.bernoulli((), 0.5), "Y": wd.bernoulli(("X",), [0.1, 0.9])})
    logs = clear.sample(3000, seed=1)
    campaign = wd.Campaign.create(
        tmp_path / "a.db", "a", wd.policy("ue"), wd.Problem("X -> Y", "Y"), horizon=300, logs=logs, stop_when_sure=True
    )
    sure = campaign.recommend().certainty
    assert [each.pulls for each in sure.arms] == [0, 0, 0]
    assert str(sure.standing) == "more pulls"
    assert "nothing has been pulled" in sure.words


@pytest.mark.slow("0.6 s: a second campaign that stops early, where do() is among the best")
def test_a_campaign_stops_though_an_arm_that_does_nothing_is_as_good_as_do(tmp_path: Path) -> None:
    world = wd.CausalNetwork(
        {"X": wd.bernoulli((), 0.01), "Z": wd.bernoulli((), 0.5), "Y": wd.bernoulli(("X",), [0.9, 0.2])}
    )
    problem = wd.Problem("X -> Y; Z", "Y", {"X": [1], "Z": [0, 1]})
    campaign = played(tmp_path, world, problem, 6, horizon=1500, policy="ue", stop_when_sure=True)
    assert campaign.status().spent < 1500
    assert "no difference by the graph" in str(campaign.status().stopped)


def test_one_large_ask_is_looked_at_as_it_is_told(tmp_path: Path) -> None:
    problem = wd.Problem("X -> Y", "Y")
    campaign = wd.Campaign.create(tmp_path / "a.db", "a", wd.policy("ue"), problem, horizon=603, stop_when_sure=True)
    tickets = campaign.ask(603)
    for number, ticket in enumerate(sorted(tickets, key=lambda each: each.id.partition("-")[0][::-1])):
        campaign.tell(
            ticket, {"X": ticket.arm.settings.get("X", 0), "Y": int(ticket.arm == wd.do(X=1) or number % 10 == 0)}
        )
    assert campaign.recommend().certainty is not None
    kinds = [event.kind for event in campaign.events()]
    assert "stopped" in kinds
    assert kinds.index("stopped") < len(kinds) - 1


@pytest.mark.slow("2 s: a campaign of up to 4,000 pulls, as long as it takes to be sure")
def test_arms_that_differ_by_less_than_the_margin_are_practically_equal(tmp_path: Path) -> None:
    same = wd.CausalNetwork(
        {"X": wd.bernoulli((), 0.5), "Z": wd.bernoulli((), 0.5), "Y": wd.bernoulli((), 0.5, parents=("X",))}
    )
    campaign = played(
        tmp_path,
        same,
        wd.Problem("X -> Y; Z", "Y", ["X"]),
        5,
        horizon=4000,
        policy="ue",
        stop_when_sure=True,
        margin=0.2,
    )
    assert campaign.status().spent < 4000
    assert any("Practically equal" in line for line in campaign.recommend().sentences)


def test_a_margin_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(wd.UsageError, match="The margin is"):
        wd.Campaign.create(tmp_path / "a.db", "a", wd.policy("ue"), PROBLEM, horizon=50, margin=1.5)
