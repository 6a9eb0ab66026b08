"""What every database must do, in the words of a user: one suite for SQLite and PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import whichdo as wd
from tests.campaign.trials import ALSO_ON_A_SERVER, PROBLEM, Clock, create, row_of, run

if TYPE_CHECKING:
    from pathlib import Path


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_a_campaign_runs_to_its_end_and_recommends(database: str) -> None:
    campaign = create(database, horizon=60)
    assert run(campaign, rng()) == 60
    advice = campaign.recommend()
    assert advice.finished
    assert advice.arm in PROBLEM.arms
    assert advice.policy_arm in PROBLEM.arms
    assert advice.looks + advice.pulls == 60
    assert campaign.status().phase == "finished"
    assert campaign.ask(3) == []
    with pytest.raises(wd.ConflictError, match="is finished: nothing is left to ask"):
        campaign.ask()


def test_another_process_finds_it_as_it_was_left(database: str) -> None:
    campaign = create(database)
    random = rng()
    for _ in range(7):
        ticket = campaign.ask()
        campaign.tell(ticket, row_of(ticket, random))
    held = campaign.ask(3)
    again = wd.Campaign.open(database, "spring")
    assert again.ask(3) == held
    assert again.status().to_dict() == campaign.status().to_dict()
    assert again.recommend().to_dict() == campaign.recommend().to_dict()
    assert again.verify() == campaign.verify() == campaign.status().receipt


def test_two_objects_work_on_one_campaign(database: str) -> None:
    first = create(database)
    second = wd.Campaign.open(database, "spring")
    random = rng()
    for number in range(20):
        one, other = (first, second) if number % 2 else (second, first)
        ticket = one.ask(client=f"client {number}")
        other.tell(ticket, row_of(ticket, random))
    assert first.status().tickets["told"] == second.status().tickets["told"] == 20


def test_a_session_told_in_the_order_of_asking_asks_the_same(database: str) -> None:
    """The order of arrival is turned round in every portion; the decisions are those of the order of asking."""
    for name in ("warm-halving", "srm", "ue", "sr"):
        campaign = create(database, name, name, horizon=60)
        session = wd.Session(wd.policy(name), PROBLEM, horizon=60)
        random = rng(3)
        while not campaign.finished:
            tickets = campaign.ask(7)
            rows = [row_of(ticket, random) for ticket in tickets]
            for ticket, row in reversed(list(zip(tickets, rows, strict=True))):
                campaign.tell(ticket, row)
            for ticket, row in zip(tickets, rows, strict=True):
                session.tell(ticket.arm, row)
        found, expected = campaign.recommend().policy_arm, session.recommend().arm
        assert found == expected


@ALSO_ON_A_SERVER
@pytest.mark.parametrize("name", sorted(set(wd.available_policies()) - {"importance", "c-ucb"}))
def test_every_policy_replays(database: str, name: str) -> None:
    campaign = create(database, name, name, horizon=50)
    assert run(campaign, rng(5)) <= 50
    again = wd.Campaign.open(database, name)
    assert again.verify() == campaign.status().receipt
    assert again.recommend().to_dict() == campaign.recommend().to_dict()


def test_policies_with_large_parameters_are_kept(database: str) -> None:
    network = wd.CausalNetwork({"X": wd.bernoulli((), 0.5), "Y": wd.bernoulli(("X",), [0.2, 0.7])})
    problem = wd.Problem(network.graph, "Y")
    for name in ("importance", "c-ucb"):
        laws = network.parent_laws(problem)
        campaign = wd.Campaign.create(database, name, wd.policy(name, laws=laws), problem, horizon=30)
        while not campaign.finished:
            ticket = campaign.ask()
            campaign.tell(ticket, {"X": ticket.arm.settings.get("X", 0), "Y": 1})
        assert wd.Campaign.open(database, name).verify()


def test_the_same_terms_again_open_it_and_others_are_a_conflict(database: str) -> None:
    campaign = create(database)
    campaign.ask()
    assert create(database).status().tickets["asked"] == 1
    with pytest.raises(
        wd.ConflictError, match=r'already has a campaign "spring", started at .* on other terms: horizon 40 on'
    ):
        create(database, horizon=41)
    assert wd.Campaign.list(database) == ["spring"]


def test_many_campaigns_share_a_database(database: str) -> None:
    first, second = create(database, "a"), create(database, "b", "ue")
    first.ask(2)
    assert second.status().tickets["asked"] == 0
    assert wd.Campaign.list(database) == ["a", "b"]
    with pytest.raises(wd.UnknownCampaignError, match=r'There is no campaign "c" in'):
        wd.Campaign.open(database, "c")


def test_a_void_ticket_is_owed_again(database: str) -> None:
    campaign = create(database, policy="ue", horizon=5)
    ticket = campaign.ask()
    receipt = campaign.void(ticket, "survey lost")
    assert str(campaign.void(ticket, "survey lost")) == str(receipt)
    again = campaign.ask()
    assert again.id != ticket.id
    assert again.arm == ticket.arm
    assert campaign.status().left == 4


def test_keys_make_a_repeated_request_one(database: str) -> None:
    campaign = create(database)
    first = campaign.ask(2, client="a", key="monday")
    random = rng()
    for ticket in first:
        campaign.tell(ticket, row_of(ticket, random))
    assert campaign.ask(2, client="a", key="monday") == first
    assert campaign.status().tickets["asked"] == 2
    with pytest.raises(wd.ConflictError, match=r'The key "monday" was used at .* for another request'):
        campaign.pause("holidays", key="monday")
    campaign.pause("holidays", key="p")
    assert campaign.pause("holidays", key="p").repeated


def test_a_pause_hands_out_nothing_and_takes_what_is_out(database: str) -> None:
    campaign = create(database)
    ticket = campaign.ask()
    campaign.pause("the ethics board asks")
    with pytest.raises(wd.ConflictError, match="is paused: the ethics board asks"):
        campaign.ask()
    campaign.tell(ticket, row_of(ticket, rng()))
    campaign.resume("it has answered")
    assert campaign.ask().id != ticket.id


def test_leases_end_and_late_tells_count(database: str) -> None:
    clock = Clock()
    campaign = create(database, policy="ue", horizon=5, lease=3600, clock=clock)
    late, lost = campaign.ask(2, client="slow")
    clock.move(minutes=61)
    (again,) = campaign.ask(1, client="quick")
    assert again.arm == late.arm  # the first slot goes out again
    assert campaign.status().tickets["expired"] == 2
    assert campaign.tell(lost, row_of(lost, rng())).repeated is False
    pulls = campaign.status().tickets
    assert (pulls["late"], pulls["extra"], pulls["counted"]) == (1, 0, 1)
    campaign.tell(late, row_of(late, rng()))
    pulls = campaign.status().tickets
    assert (pulls["late"], pulls["extra"], pulls["counted"]) == (2, 1, 2)  # its slot had gone to another
    assert run(campaign, rng(), client="quick") == 4
    assert campaign.status().spent == 6
    assert wd.Campaign.open(database, "spring").verify()


def test_a_pull_counts_when_its_window_closes_whatever_its_outcome(database: str) -> None:
    clock = Clock()
    campaign = create(database, policy="ue", horizon=5, window=7 * 86400, clock=clock)
    tickets = campaign.ask(5)
    clock.move(days=2)
    campaign.tell(tickets[0], {"Y": 1})
    assert campaign.status().tickets["counted"] == 0
    assert campaign.recommend().pulls + campaign.recommend().looks == 0
    assert campaign.recommend().warnings == ("Told, but not counted until the reward window closes: 1 pull.",)
    clock.move(days=5)
    assert campaign.status().tickets["counted"] == 1
    for ticket in tickets[1:]:
        campaign.tell(ticket, {"Y": 0})
    assert campaign.finished


def test_logs_are_free_looks_and_counted_once(database: str, tmp_path: Path) -> None:
    random = rng(9)
    look = wd.Ticket("", wd.do())
    rows = [row_of(look, random) for _ in range(300)]
    file = tmp_path / "week.csv"
    file.write_text("Z,X,W,Y\n" + "\n".join(",".join(str(row[name]) for name in "ZXWY") for row in rows) + "\n")
    campaign = create(database, horizon=30, logs=str(file))
    assert campaign.recommend().looks_in_logs == 300
    (again,) = campaign.observe(file)
    assert again.repeated
    assert again.notes[0] == "week.csv: 300 looks observed before; counted once."
    expected = wd.rank(PROBLEM, file)
    found = campaign.recommend().ranking
    assert [found[arm].estimate for arm in PROBLEM.arms] == [expected[arm].estimate for arm in PROBLEM.arms]
    session = wd.Session(wd.policy("warm-halving"), PROBLEM, horizon=30, seen=wd.count(PROBLEM, file))
    assert [ticket.arm for ticket in campaign.ask(30)] == session.ask(30)


def test_an_arm_that_is_forbidden_is_never_asked_for_again(database: str) -> None:
    campaign = create(database, horizon=60)
    random = rng(4)
    run(campaign, random, most=35)
    campaign.forbid(wd.do(X=1), "not safe")
    status = campaign.status()
    assert status.forbidden == {"do(X=1)": "not safe"}
    assert status.restarts == ("forbidden: do(X=1) (not safe)",)
    while not campaign.finished:
        ticket = campaign.ask()
        assert ticket.arm != wd.do(X=1)
        campaign.tell(ticket, row_of(ticket, random))
    advice = campaign.recommend()
    assert advice.arm != wd.do(X=1)
    assert advice.pulls + advice.looks == campaign.status().tickets["counted"] <= 60
    campaign.allow(wd.do(X=1), "safe after all")
    assert wd.Campaign.open(database, "spring").verify()


def test_amended_rows_count_in_the_estimates(database: str) -> None:
    campaign = create(database, policy="ue", horizon=5)
    tickets = campaign.ask(5)
    for ticket in tickets:
        campaign.tell(ticket, {"Y": 0})
    decided = campaign.recommend().policy_arm
    campaign.amend(tickets[2], {"Y": 1}, "read from the wrong column")
    advice = campaign.recommend()
    assert advice.arm == tickets[2].arm
    assert advice.policy_arm == decided
    assert campaign.status().tickets["amended"] == 1
    assert wd.Campaign.open(database, "spring").recommend().to_dict() == advice.to_dict()


def test_costs_and_money(database: str) -> None:
    problem = wd.Problem("X -> Y", "Y", costs={wd.do(X=1): 5})
    campaign = create(database, problem=problem, policy="ue", budget=30)
    random = rng()
    while not campaign.finished:
        ticket = campaign.ask()
        campaign.tell(ticket, {"X": ticket.arm.settings.get("X", 0), "Y": int(random.random() < 0.5)})
    by_arm = campaign.status().by_arm
    assert campaign.status().spent == by_arm["do()"] + by_arm["do(X=0)"] + 5 * by_arm["do(X=1)"] <= 30


def test_a_wait_names_the_open_tickets(database: str) -> None:
    campaign = create(database, policy="srm", horizon=40)
    tickets = campaign.ask(30, client="a")
    with pytest.raises(wd.WaitError, match=f"^srm cannot go on until {len(tickets)} open tickets are told: 1-") as info:
        campaign.ask(client="b")
    assert info.value.tickets == tuple(ticket.id for ticket in tickets)


def test_what_was_recommended_then_is_recommended_again(database: str) -> None:
    campaign = create(database)
    random = rng(6)
    run(campaign, random, most=20)
    then = campaign.recommend()
    run(campaign, random)
    at = int(then.receipt.partition(":")[0])
    assert campaign.recommend(at=at).to_dict() == then.to_dict()


def test_an_export_is_imported_with_the_same_receipts(database: str, tmp_path: Path) -> None:
    campaign = create(database)
    run(campaign, rng(), most=15)
    number = campaign.export(tmp_path / "spring.jsonl")
    copy = wd.Campaign.import_(tmp_path / "copy.db", tmp_path / "spring.jsonl")
    assert copy.verify() == campaign.verify()
    assert copy.status().to_dict() == campaign.status().to_dict()
    assert number == copy.status().events
    wd.Campaign.import_(tmp_path / "copy.db", tmp_path / "spring.jsonl")
    run(campaign, rng(), most=1)
    campaign.export(tmp_path / "later.jsonl")
    with pytest.raises(wd.ConflictError, match='already has a campaign "spring", which ends with event'):
        wd.Campaign.import_(tmp_path / "copy.db", tmp_path / "later.jsonl")
