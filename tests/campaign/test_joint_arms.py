"""Campaigns and sessions with joint arms: asked, told, refused where a setting was not applied, kept in format 2."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import whichdo as wd
from tests.campaign.campaigns import audited
from whichdo.campaign import terms
from whichdo.campaign.tallying import pooled
from whichdo.campaign.terms import Terms
from whichdo.errors import DataError
from whichdo.evidence import Tally
from whichdo.monitoring.alarm import Kind, Suspect, conflicts, fallback, watched_scopes
from whichdo.world.mechanism import bernoulli
from whichdo.world.network import CausalNetwork
from whichdo.world.sampler import World

if TYPE_CHECKING:
    from pathlib import Path

do = wd.do
PROBLEM = wd.Problem("Z -> X; X -> Y; Z -> Y; W -> Y", "Y", arms=[do(X=1, Z=0), do(X=1), do(X=0, Z=1), do(W=1)])


def row(arm: wd.Arm, number: int) -> dict[str, Any]:
    free = {"Z": number % 2, "X": number // 2 % 2, "W": number // 3 % 2}
    return free | {"Y": int(arm == do(X=1, Z=0) or number % 5 == 0)} | dict(arm.settings)


def create(path: Path, policy: str = "warm-halving", horizon: int = 120, **more: Any) -> wd.Campaign:
    return wd.Campaign.create(path, "spring", wd.policy(policy), PROBLEM, horizon=horizon, seed=1, **more)


def run(campaign: wd.Campaign) -> list[str]:
    asked = []
    while not campaign.finished:
        ticket = campaign.ask()
        asked.append(str(ticket.arm))
        campaign.tell(ticket, row(ticket.arm, len(asked)))
    return asked


def test_a_campaign_names_the_joint_arm_that_is_best(tmp_path: Path) -> None:
    campaign = create(tmp_path / "a.db")
    asked = run(campaign)
    assert "do(X=1, Z=0)" in asked
    advice = campaign.recommend()
    assert advice.arm == do(X=1, Z=0)
    campaign.verify()
    campaign.close()
    again = wd.Campaign.open(tmp_path / "a.db", "spring")
    assert again.problem == PROBLEM
    assert again.recommend().sentences == advice.sentences
    again.export(tmp_path / "log.jsonl")
    copy = wd.Campaign.import_(tmp_path / "b.db", tmp_path / "log.jsonl")
    copy.verify()
    assert copy.recommend().arm == do(X=1, Z=0)
    again.close()
    copy.close()


def test_a_tell_is_refused_by_the_name_of_each_setting_that_was_not_applied(tmp_path: Path) -> None:
    campaign = create(tmp_path / "a.db", "ue", 10)
    ticket = next(ticket for ticket in campaign.ask(10) if ticket.arm == do(X=1, Z=0))
    before = campaign.status().receipt
    for wrong, words in (
        ({"X": 0}, "but X is 0: the intervention was not applied"),
        ({"Z": 1}, "but Z is 1: the intervention was not applied"),
        ({"X": 0, "Z": 1}, "but X is 0 and Z is 1: the intervention was not applied"),
    ):
        with pytest.raises(DataError, match=rf"the arm is do\(X=1, Z=0\), {words}.*Nothing was stored"):
            campaign.tell(ticket, row(ticket.arm, 1) | wrong)
    assert campaign.status().receipt == before
    campaign.tell(ticket, row(ticket.arm, 1))
    campaign.close()


def test_a_session_is_told_joint_arms_and_refuses_contradictions() -> None:
    session = wd.Session(wd.policy("ue"), PROBLEM, horizon=50, seed=2)
    number = 0
    with pytest.raises(wd.WhichdoError, match=r"but X is 0 and Z is 1: .*Nothing was changed\.$"):
        session.tell(do(X=1, Z=0), {"Z": 1, "X": 0, "W": 0, "Y": 1})
    while not session.finished:
        for arm in session.ask():
            number += 1
            session.tell(arm, row(arm, number))
    assert session.recommend().arm == do(X=1, Z=0)


def body(problem: wd.Problem) -> dict[str, Any]:
    return Terms(name="a", problem=problem, policy=wd.policy("ue"), budget=10.0, horizon=10).as_body()


def test_only_problems_that_format_1_cannot_express_are_written_in_format_2() -> None:
    single = wd.Problem("X -> Y; Z -> Y", "Y", {"X": [1], "Z": [0, 1]})
    by_hand = wd.Problem("X -> Y; Z -> Y", "Y", arms=[do(X=1), do(Z=0), do(Z=1)])
    assert body(single) == body(by_hand)
    assert body(single)["format"] == 1
    assert body(single)["problem"]["intervene"] == [["X", [1]], ["Z", [0, 1]]]
    for listed in (PROBLEM, wd.Problem("X -> Y; Z -> Y", "Y", arms=[do(Z=1), do(X=1), do(Z=0)])):
        found = body(listed)
        assert found["format"] == 2
        assert found["problem"]["arms"] == [dict(arm.settings) for arm in listed.arms[1:]]
        assert Terms.from_body(json.loads(json.dumps(found))).problem == listed


def test_a_program_that_knows_format_1_alone_refuses_format_2_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terms, "FORMAT", 1)
    with pytest.raises(
        wd.TooNewError, match=r'Campaign "a" was written by whichdo .* in format 2; .* reads formats up to 1\.'
    ):
        Terms.from_body(body(PROBLEM))
    assert Terms.from_body(body(wd.Problem("X -> Y", "Y"))).problem == wd.Problem("X -> Y", "Y")


def test_a_joint_arm_is_forbidden_and_allowed_again(tmp_path: Path) -> None:
    campaign = create(tmp_path / "a.db", "ue", 40)
    campaign.forbid(campaign.problem.arm("do(Z=0, X=1)"), "it was too expensive")
    asked = run(campaign)
    assert "do(X=1, Z=0)" not in asked
    assert "do(X=0, Z=1)" in asked
    assert campaign.recommend().arm != do(X=1, Z=0)
    campaign.close()


# --------------------------------------------------------------------------------------------------------- the alarm


def test_the_alarm_draws_an_edge_from_each_target_of_a_joint_arm() -> None:
    """Looking settles do(W=1, X=1), which equals do(X=1); a conflict there must leave both to be tried."""
    problem = wd.Problem("W -> X; X -> Y; B -> Y", "Y", arms=[do(W=1, X=1), do(X=1), do(B=1)])
    suspect = Suspect(do(W=1, X=1), Kind.ESTIMATE, "Y")
    left = fallback(problem, [suspect])
    assert left.arms == problem.arms
    assert not left.verdicts["X"].identified
    assert not left.verdicts["W", "X"].identified
    assert left.verdicts["B"].identified
    moved = Suspect(do(W=1, X=1), Kind.MOVED, "B")
    assert moved.edge == "W -> B or X -> B"
    assert {("W", "B"), ("X", "B")} <= fallback(problem, [moved]).graph.directed
    assert Suspect.read(problem, moved.body) == moved


def test_a_joint_arm_that_equals_do_and_does_not_is_left_to_be_tried() -> None:
    problem = wd.Problem("X -> Y; Y -> A; Y -> B", "Y", arms=[do(A=1, B=1), do(X=1)])
    left = fallback(problem, [Suspect(do(A=1, B=1), Kind.MOVED, "Y")])
    assert not left.verdicts["A", "B"].identified
    assert left.verdicts["X"].identified


def wrong_graph() -> tuple[CausalNetwork, wd.Problem]:
    """X and Y have a hidden cause that the believed graph lacks; W does nothing once X is set."""
    network = CausalNetwork(
        {
            "U": bernoulli((), 0.5),
            "W": bernoulli((), 0.5),
            "X": bernoulli(("U", "W"), [[0.1, 0.3], [0.7, 0.9]]),
            "Y": bernoulli(("U", "X"), [[0.1, 0.2], [0.8, 0.9]]),
        },
        hidden={"U"},
    )
    return network, wd.Problem("W -> X; X -> Y", "Y", arms=[do(X=1, W=1), do(X=0, W=0), do(W=1)])


def test_the_alarm_hears_of_a_confounder_by_pulls_of_a_joint_arm() -> None:
    """E[Y | X=1] is about .78 by looking and .55 by doing: 200 pulls are enough in 9 of 10 campaigns at least."""
    network, problem = wrong_graph()
    loud = [audited(network, problem, seed, logs=2000, arm=do(X=1, W=1), pulls=200) for seed in range(10)]
    assert sum(map(bool, loud)) >= 9
    found = next(each for each in loud if each)[0]
    assert (found.arm, found.kind, found.node) == (do(W=1, X=1), Kind.ESTIMATE, "Y")
    assert found.lost == (do(W=1, X=1), do(W=0, X=0))
    assert "do(W=1, X=1) and looking disagree" in found.message


def test_the_alarm_is_silent_on_joint_arms_of_a_right_graph() -> None:
    """At most one campaign in twenty by its promise; none of these 20 with fixed seeds."""
    network, _ = wrong_graph()
    problem = wd.Problem(network.graph, "Y", arms=[do(X=1, W=1), do(X=0, W=0), do(W=1)])
    assert not any(audited(network, problem, seed, logs=2000, arm=do(X=1, W=1)) for seed in range(10))
    assert not any(audited(network, problem, seed, logs=2000, arm=do(W=1)) for seed in range(10))


def test_a_node_that_joint_arms_should_not_move_is_watched() -> None:
    """B follows W in truth and stands alone in the graph: do(W=1, X=0) moves it from .5 to .9."""
    network = CausalNetwork(
        {
            "W": bernoulli((), 0.5),
            "B": bernoulli(("W",), [0.1, 0.9]),
            "X": bernoulli((), 0.5),
            "Y": bernoulli(("X", "B"), [[0.2, 0.3], [0.6, 0.7]]),
        }
    )
    problem = wd.Problem("W; B -> Y; X -> Y", "Y", arms=[do(W=1, X=0), do(X=1)])
    world = World(network, wd.Problem(network.graph, "Y", arms=problem.arms[1:]), 4)
    scopes = watched_scopes(problem)

    def pull(arm: wd.Arm, count: int) -> Tally:
        found = world.pull(wd.Batch((arm,), (count,), wd.TABLES, scopes))
        return Tally(problem, found.counts, found.tables)

    found = conflicts(problem, pull(do(), 2000), pull(do(W=1, X=0), 200))
    moved = [each for each in found if each.kind is Kind.MOVED]
    assert [(each.arm, each.node, each.suspect.edge) for each in moved] == [(do(W=1, X=0), "B", "W -> B or X -> B")]
    assert "on which W and X do not act in the graph" in moved[0].message
    assert np.isclose(moved[0].direct, 0.9, atol=0.1)


def test_causal_thompson_sampling_reads_whole_rows_and_keeps_them_when_it_begins_anew(tmp_path: Path) -> None:
    """Pulls teach other arms, so every ticket wants all columns; a restart finds all rows that were told."""
    campaign = create(tmp_path / "a.db", "causal-ts", horizon=60)
    for number in range(20):
        ticket = campaign.ask()
        assert set(ticket.needed) == {"X", "Y", "Z", "W"}
        campaign.tell(ticket, row(ticket.arm, number))
    campaign.restart("to see what is kept")
    assert campaign.ask().arm in PROBLEM.arms
    campaign.verify()


def test_rows_of_pulls_are_pooled_by_what_a_policy_asks_for() -> None:
    """A row that lacks a column is counted among the rewards alone."""
    rows = [(do(X=1), (0, 1, 1, 1)), (do(X=1), (1, 1, 0, 0)), (do(X=1), (-1, 1, 0, 0)), (do(), (1, 0, 0, 1))]
    nodes = ("Z", "X", "W", "Y")
    found = pooled(PROBLEM, [], rows, nodes=nodes, scopes=[nodes])
    assert found.pulls.tolist() == [1, 0, 3, 0, 0]
    assert found.tables[do(X=1)][nodes].total == 2
    assert found.tables[wd.do()][nodes].total == 1
    assert set(pooled(PROBLEM, [], rows, nodes=nodes).tables) == {wd.do()}


def test_without_sharing_rewards_of_pulls_are_enough(tmp_path: Path) -> None:
    campaign = wd.Campaign.create(
        tmp_path / "a.db", "spring", wd.policy("causal-ts", shares=False), PROBLEM, horizon=60, seed=1
    )
    for number in range(20):
        ticket = campaign.ask()
        assert set(ticket.needed) == ({"X", "Y", "Z", "W"} if ticket.arm.is_look else {"Y"})
        campaign.tell(ticket, row(ticket.arm, number))
    campaign.verify()
