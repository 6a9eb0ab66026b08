"""Parameters of policies in logs: those added since mean what was done without them, unknown ones are refused."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

import whichdo as wd
from tests.campaign.trials import create, rng, row_of, run
from whichdo.campaign.chain import sealed
from whichdo.campaign.exchange import export_lines
from whichdo.evidence import Batch
from whichdo.policies.base import Objective, Play, Policy, best_arm
from whichdo.policies.registry import register, registered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import numpy as np

    from whichdo.evidence import Tally
    from whichdo.problem import Problem

FIRST_LOGGED = {
    "c-ucb": {"laws"},
    "cb": {"truncation", "eta"},
    "crm-nb": {"trust"},
    "importance": {"laws", "truncation", "eta"},
    "nb": {"trust"},
    "parallel": {"trust"},
    "srm": {"second_phase", "pool", "prune_parents"},
    "warm-halving": {"caution", "optimism", "mechanisms"},
}
"""The parameters that policies had when campaigns were first logged; this table never changes."""


@pytest.mark.parametrize("name", wd.available_policies())
def test_a_parameter_added_since_says_what_its_absence_means(name: str) -> None:
    kind = wd.available_policies()[name]
    added = {each.name for each in fields(kind) if each.init} - FIRST_LOGGED.get(name, set())  # type: ignore[arg-type]
    assert added == set(kind.when_absent), "give when_absent the value that decides as before the parameter was added"


@pytest.fixture
def growing() -> Iterator[None]:
    """A policy that pulled every arm once before it had a parameter, and pulls each three times by default since."""

    @register("growing")
    @dataclass(frozen=True)
    class Before(_Growing):
        pass

    yield
    registered.pop("growing")


class _Growing(Policy):
    objective = Objective.SIMPLE
    looks = False
    times = 1

    def play(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Play:
        tried = yield Batch(problem.arms, (self.times,) * len(problem.arms))
        return best_arm(problem, tried.means, rng)


def grow() -> None:
    """As the next version has it."""
    registered.pop("growing")

    @register("growing")
    @dataclass(frozen=True)
    class After(_Growing):
        times: int = 3
        when_absent: ClassVar = {"times": 1}


@pytest.mark.usefixtures("growing")
def test_a_log_without_a_parameter_decides_as_it_did(database: str) -> None:
    before = create(database, policy="growing", horizon=30)
    run(before, rng(1), most=3)
    grow()
    campaign = wd.Campaign.open(database, "spring")
    assert campaign.status().policy == "growing(times=1)"
    assert run(campaign, rng(2)) == 2  # one of each of five arms
    assert campaign.verify()
    assert create(database, "later", "growing", horizon=30).status().policy == "growing"
    assert len(wd.Campaign.open(database, "later").ask(30)) == 15


@pytest.mark.usefixtures("growing")
def test_the_same_terms_open_a_campaign_that_lacks_a_parameter(database: str) -> None:
    create(database, policy="growing", horizon=30).ask()
    grow()

    def again(**parameters: Any) -> wd.Campaign:
        problem = wd.Campaign.open(database, "spring").problem
        policy = wd.policy("growing", **parameters)
        return wd.Campaign.create(database, "spring", policy, problem, horizon=30, audit=False)

    assert again().status().tickets["asked"] == 1  # nobody chose it
    assert again(times=1).status().tickets["asked"] == 1
    with pytest.raises(wd.ConflictError, match=r"on other terms: policy growing on record, growing\(times=2\) now"):
        again(times=2)


@pytest.mark.usefixtures("growing")
def test_a_parameter_that_the_program_does_not_know_is_refused(tmp_path: Path) -> None:
    grow()
    campaign = create(str(tmp_path / "a.db"), policy="growing", horizon=30)
    ticket = campaign.ask()
    campaign.tell(ticket, row_of(ticket, rng()))
    campaign.export(tmp_path / "a.jsonl")
    registered.pop("growing")

    @register("growing")
    @dataclass(frozen=True)
    class Before(_Growing):
        pass

    text = (
        f'Campaign "spring" was written by whichdo {wd.__version__} with parameters of growing that this program, '
        f'whichdo {wd.__version__}, does not know: "times". Update whichdo.'
    )
    calls: list[Callable[[], object]] = [
        lambda: wd.Campaign.open(tmp_path / "a.db", "spring"),
        lambda: wd.Campaign.import_(tmp_path / "b.db", tmp_path / "a.jsonl"),
    ]
    for call in calls:
        with pytest.raises(wd.TooNewError) as info:
            call()
        assert str(info.value) == text
    assert len(list(campaign.export_lines())) == 4


@pytest.mark.parametrize("parameters", [[], "times", None, 3])
def test_parameters_that_are_none_are_damage(tmp_path: Path, parameters: object) -> None:
    first = create(str(tmp_path / "a.db"), policy="ue").events()[0]
    body = first.content
    body["policy"]["parameters"] = parameters
    forged = [sealed("spring", 0, "created", body, first.time, first.previous)]
    (tmp_path / "a.jsonl").write_text("".join(export_lines(forged)))
    with pytest.raises(
        wd.DamagedError, match="Event 0 does not contain the terms of a campaign: TypeError parameters is"
    ):
        wd.Campaign.import_(tmp_path / "b.db", tmp_path / "a.jsonl")
