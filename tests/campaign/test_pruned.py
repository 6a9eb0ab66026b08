"""Campaigns on pruned problems: forbidding, allowing and alarms prune anew, and the log says so in format 2."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import whichdo as wd
from whichdo.campaign.events import Alarm
from whichdo.campaign.plan import Revision
from whichdo.campaign.terms import Terms
from whichdo.evidence import Tally
from whichdo.monitoring.alarm import Kind, Suspect
from whichdo.monitoring.certainty import certainty
from whichdo.report.campaign_page import campaign_page

if TYPE_CHECKING:
    from pathlib import Path

do = wd.do
PROBLEM = wd.Problem("Z -> X -> Y; X <-> Y", "Y", prune=True)


def row(arm: wd.Arm, rng: np.random.Generator) -> dict[str, Any]:
    hidden, z = rng.random() < 0.5, int(rng.random() < 0.5)
    z = int(arm.settings.get("Z", z))
    x = int(arm.settings.get("X", rng.random() < (0.9 if z else 0.5) and not hidden))
    return {"Z": z, "X": x, "Y": int(rng.random() < (0.8 if bool(x) != hidden else 0.2))}


def create(path: Path, policy: str = "warm-halving", horizon: int = 120, **more: Any) -> wd.Campaign:
    return wd.Campaign.create(path, "spring", wd.policy(policy), PROBLEM, horizon=horizon, seed=1, **more)


def run(campaign: wd.Campaign, rng: np.random.Generator, most: int = 10_000) -> list[wd.Arm]:
    asked: list[wd.Arm] = []
    while not campaign.finished and len(asked) < most:
        ticket = campaign.ask()
        asked.append(ticket.arm)
        campaign.tell(ticket, row(ticket.arm, rng))
    return asked


AGAIN = pytest.mark.slow("1 s: a whole campaign and its page, with a policy that looks")


@pytest.mark.parametrize("policy", ["ue", *(pytest.param(name, marks=AGAIN) for name in ("warm-halving", "causal-ts"))])
def test_a_campaign_never_names_what_was_pruned(tmp_path: Path, policy: str) -> None:
    campaign = create(tmp_path / "a.db", policy)
    asked = run(campaign, np.random.default_rng(2))
    if policy == "ue":
        assert do() not in asked
    advice = campaign.recommend()
    assert advice.arm in PROBLEM.answers
    assert do() not in (advice.arm, advice.runner_up, advice.policy_arm)
    assert campaign.verify()
    assert "How it developed" in campaign_page(campaign.events())
    campaign.export(tmp_path / "log.jsonl")
    copy = wd.Campaign.import_(tmp_path / "b.db", tmp_path / "log.jsonl")
    assert copy.verify()
    assert copy.problem == PROBLEM
    assert copy.problem.arms == PROBLEM.arms
    assert copy.recommend().sentences == advice.sentences
    campaign.close()
    copy.close()


def test_event_0_of_a_pruned_problem_has_format_2() -> None:
    terms = Terms(name="a", problem=PROBLEM, policy=wd.policy("ue"), budget=10.0, horizon=10)
    body = terms.as_body()
    assert body["format"] == 2
    assert body["problem"]["prune"] is True
    assert Terms.from_body(json.loads(json.dumps(body))).problem == PROBLEM
    plain = Terms(name="a", problem=PROBLEM.unpruned, policy=wd.policy("ue"), budget=10.0, horizon=10).as_body()
    assert plain["format"] == 1
    assert "prune" not in plain["problem"]


def test_forbidding_and_allowing_prune_anew(tmp_path: Path) -> None:
    """Without do(Z=1) nothing shows that looking cannot be best: do() may be named again."""
    campaign = create(tmp_path / "a.db", "ucb", 80, audit=False)
    outcomes = np.random.default_rng(4)
    before = run(campaign, outcomes, most=12)
    assert do() not in before
    campaign.forbid("do(Z=1)", "it broke")
    state = campaign._ledger.state()
    assert state.allowed.answers == (do(), do(Z=0), do(X=0), do(X=1))
    assert not state.allowed.pruned
    between = run(campaign, outcomes, most=24)
    assert do() in between
    assert do(Z=1) not in between
    campaign.allow("do(Z=1)", "it was mended")
    assert campaign._ledger.state().allowed == PROBLEM
    after = run(campaign, outcomes)
    assert do() not in after
    assert campaign.recommend().arm in PROBLEM.answers
    assert campaign.verify()
    assert "How it developed" in campaign_page(campaign.events())
    campaign.close()
    again = wd.Campaign.open(tmp_path / "a.db", "spring")
    assert again.verify()
    again.close()


def test_an_arm_that_was_pruned_can_be_forbidden_before_it_comes_back(tmp_path: Path) -> None:
    problem = wd.Problem("A -> Y; B -> Y", "Y", at_once=2, prune=True)
    campaign = wd.Campaign.create(tmp_path / "a.db", "spring", wd.policy("ue"), problem, horizon=40, audit=False)
    campaign.forbid("do(A=1)", "never")
    assert campaign._ledger.state().allowed.arms == problem.arms
    campaign.forbid("do(A=1, B=0)", "never")
    left = campaign._ledger.state().allowed
    assert do(A=1) not in left.offered
    assert left.answers == (do(B=0), do(A=0, B=0), do(A=0, B=1), do(A=1, B=1))
    campaign.close()


def test_nothing_left_to_decide_is_refused(tmp_path: Path) -> None:
    problem = wd.Problem("X -> Y; Q", "Y", prune=True)
    campaign = wd.Campaign.create(tmp_path / "a.db", "spring", wd.policy("ue"), problem, horizon=40)
    with pytest.raises(wd.ConflictError, match=r"No arm that is left can be better than do\(\)"):
        campaign.forbid(["do(X=0)", "do(X=1)"], "never")
    assert campaign._ledger.state().allowed == problem
    campaign.close()


def test_the_graph_of_an_alarm_prunes_anew() -> None:
    """A hidden cause of X and Y that the graph lacked makes looking worth an answer."""
    problem = wd.Problem("X -> Y; W -> Y", "Y", ["X", "W"], prune=True)
    assert set(problem.pruned) == {do()}
    suspects = [Suspect(do(X=1), Kind.ESTIMATE, "Y"), Suspect(do(W=1), Kind.ESTIMATE, "Y")]
    alarms = [Alarm(each.body) for each in suspects]
    found = Revision(problem).problems(alarms[:1], {})
    assert not found.believed.prune
    assert set(found.allowed.pruned) == {do()}  # W alone still shows it
    assert not Revision(problem).problems(alarms, {}).allowed.pruned
    assert Revision(problem).problems([], {}).allowed is problem


def test_certainty_is_about_the_answers() -> None:
    """do() has the best mean, and is no answer: it neither leads nor stands in the way."""
    counts = np.array([[0, 4000], [900, 100], [100, 900], [500, 500], [600, 400]])
    found = certainty(PROBLEM, Tally(PROBLEM, counts))
    assert found.leader == do(Z=1)
    assert found.words.startswith("Sure: do(Z=1) is the best of 4 arms")
    assert [each.in_race for each in found.arms] == [False, False, True, False, False]
