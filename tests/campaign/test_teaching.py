"""Every row that is told teaches every arm it can: `recommend` reads rows of pulls as `rank` reads rows with an arm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import whichdo as wd
from whichdo.campaign.tallying import Log, pooled
from whichdo.estimate.rank import ranking
from whichdo.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

do = wd.do
GRAPH = "X -> Z; X -> Y; Z -> Y; Z <-> Y; X <-> Z; W -> Y"
BOTH, ONE, OTHER = do(X=1, Z=1), do(X=1), do(Z=1)
PROBLEM = wd.Problem(GRAPH, "Y", arms=[ONE, OTHER, BOTH, do(W=1)])


def row(arm: wd.Arm, random: np.random.Generator) -> dict[str, Any]:
    """X and Z are good together, and a hidden cause ties X to Z and Z to Y."""
    hidden = random.random(2) < 0.5
    found: dict[str, Any] = {"X": int(random.random() < 0.3 + 0.3 * hidden[0]), "W": int(random.random() < 0.5)}
    found |= arm.settings
    chance = 0.1 + 0.3 * found["X"] + 0.25 * hidden[0] + 0.25 * hidden[1]
    found |= {"Z": int(random.random() < chance)} | dict(arm.settings)
    reward = 0.05 + 0.25 * found["X"] + 0.25 * found["Z"] + 0.1 * found["W"] + 0.3 * hidden[1]
    return found | {"Y": int(random.random() < reward)}


def create(path: Path, problem: wd.Problem = PROBLEM, policy: str = "ue", **more: Any) -> wd.Campaign:
    return wd.Campaign.create(path, "spring", wd.policy(policy, **more), problem, horizon=1000, seed=1)


def tell(campaign: wd.Campaign, arms: Iterable[wd.Arm], only: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Rows of these arms alone; tickets of others stay open.  ``only``: what a row says."""
    random, wanted, told = np.random.default_rng(5), set(arms), []
    for ticket in campaign.ask(1000):
        if ticket.arm in wanted:
            made = row(ticket.arm, random)
            campaign.tell(ticket, {name: made[name] for name in only or made})
            told.append(made | {"arm": str(ticket.arm)})
    return told


def columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [each[name] for each in rows] for name in rows[0]}


def same(found: wd.Ranking, wanted: wd.Ranking) -> None:
    for arm in found.problem.arms:
        one, other = found[arm], wanted[arm]
        for name in ("estimate", "low", "high", "effect", "effective_n"):
            assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-12, nan_ok=True), (arm, name)
        assert [source.source for source in one.sources] == [source.source for source in other.sources]
        for mine, theirs in zip(one.sources, other.sources, strict=True):
            assert mine[1:] == pytest.approx(theirs[1:], abs=1e-12, nan_ok=True)


def test_two_levers_that_were_tried_alone_say_what_both_would_do(tmp_path: Path) -> None:
    with create(tmp_path / "a.db") as campaign:
        rows = tell(campaign, [ONE, OTHER])
        advice = campaign.recommend()
        wanted = wd.rank(PROBLEM, columns(rows), arm="arm")
    assert {each["arm"] for each in rows} == {"do(X=1)", "do(Z=1)"}
    assert advice.arm == BOTH
    assert advice.ranking[BOTH].direct == 0
    assert {source.source for source in advice.ranking[BOTH].sources} == {"do(X)", "do(Z)"}
    same(advice.ranking, wanted)
    assert wanted.best is not None
    assert (advice.low, advice.high) == pytest.approx((wanted.best_low, wanted.best_high), abs=1e-12)
    assert "itself on pulls of other arms worth" in str(advice)


def test_looks_direct_pulls_and_pulls_of_others_are_pooled_as_rank_pools_them(tmp_path: Path) -> None:
    with create(tmp_path / "a.db") as campaign:
        rows = tell(campaign, PROBLEM.arms)
        same(campaign.recommend().ranking, wd.rank(PROBLEM, columns(rows), arm="arm"))


def test_rows_of_forbidden_arms_teach_those_that_are_left(tmp_path: Path) -> None:
    with create(tmp_path / "a.db") as campaign:
        rows = tell(campaign, [ONE, OTHER])
        campaign.forbid(OTHER, "too expensive")
        found = campaign.recommend()
    assert OTHER not in found.ranking
    assert found.arm == BOTH
    assert found.ranking[BOTH].estimate == wd.rank(PROBLEM, columns(rows), arm="arm")[BOTH].estimate


def test_a_row_that_says_the_reward_alone_teaches_its_own_arm(tmp_path: Path) -> None:
    with create(tmp_path / "a.db") as campaign:
        tell(campaign, [ONE, OTHER], only=["Y"])
        found = campaign.recommend().ranking
    assert not found[BOTH].sources
    assert found[ONE].direct > 0


def test_what_an_arm_sets_is_known_without_being_told(tmp_path: Path) -> None:
    with create(tmp_path / "a.db") as whole, create(tmp_path / "b.db") as less:
        rows = tell(whole, [OTHER])
        tell(less, [OTHER], only=["X", "W", "Y"])
        same(less.recommend().ranking, whole.recommend().ranking)
    assert rows


def test_a_doubt_of_the_graph_is_a_doubt_of_what_pulls_of_others_say() -> None:
    """Nothing was seen but pulls of others, and these tell of the arm only if the graph is right."""
    random, nodes = np.random.default_rng(5), PROBLEM.graph.nodes
    rows = [(arm, tuple(row(arm, random)[name] for name in nodes)) for arm in (ONE, OTHER) for _ in range(200)]
    seen = pooled(PROBLEM, [], rows, teaching=True)
    sure, doubted = (ranking(seen, doubt=doubt)[BOTH] for doubt in (0.0, 0.5))
    assert doubted.estimate == pytest.approx(sure.estimate, abs=0.1)
    assert doubted.high - doubted.low > 1.5 * (sure.high - sure.low)


def test_of_a_table_that_a_log_lacks_looks_are_not_taken_in_part() -> None:
    """Ten looks of today would stand for a thousand in a log that was counted by other columns."""
    scope = ("X", "W", "Z", "Y")
    table = Table.from_rows(("Y",), [2], [np.ones(1000, np.uint8)])
    log = Log("old.csv", "0", 1000, {("Y",): table.sparse()})
    rows = [(do(), (0, 1, 0, 1))] * 10 + [(OTHER, (0, 1, 1, 1))] * 10
    whole = pooled(PROBLEM, [], rows, nodes=scope, teaching=True).tables
    partly = pooled(PROBLEM, [log], rows, nodes=scope, teaching=True).tables
    lost = whole[do()].keys() - partly[do()].keys()
    assert lost
    assert lost <= whole[OTHER].keys() == partly[OTHER].keys()


def test_experiments_that_contradict_each_other_are_warned_of(tmp_path: Path) -> None:
    """By the graph W is left alone by X and by Z; it follows X in truth, and no look was made that could tell."""
    for moved in (False, True):
        with create(tmp_path / f"{moved}.db") as campaign:
            random = np.random.default_rng(6)
            for ticket in campaign.ask(1000):
                if ticket.arm in {ONE, OTHER}:
                    made = row(ticket.arm, random)
                    if moved and ticket.arm == ONE:
                        made["W"] = int(random.random() < 0.9)
                    campaign.tell(ticket, made)
            said = [line for line in campaign.recommend().warnings if "one and the same" in line]
        assert bool(said) is moved
        assert not moved or "By the graph the law of W from experiments on Z and experiments on X is one" in said[0]
