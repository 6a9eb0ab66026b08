"""What a ranking states where looking may be wrong: pulls that contradict it win, pulls that agree confirm it."""

from __future__ import annotations

import numpy as np
import pytest

from whichdo.counting import count
from whichdo.errors import UsageError
from whichdo.estimate.doubt import belief
from whichdo.estimate.rank import ranking
from whichdo.evidence import TABLES, Batch, Tally
from whichdo.problem import Problem, do
from whichdo.world.instances import Planted, planted
from whichdo.world.sampler import World


def told(world: Planted, pulls: int, seed: int = 1) -> tuple[Tally, Tally]:
    """The logs, and the logs with so many pulls of every arm."""
    logs = world.logs(1000, seed)
    arms = world.problem.arms
    return logs, logs + World(world.network, world.problem, seed).pull(Batch(arms, (pulls,) * len(arms), TABLES))


def test_without_doubt_nothing_changes() -> None:
    logs, seen = told(planted("underrated", 1, seed=2)[0], 50)
    plain, same = ranking(seen), ranking(seen, doubt=0.0, logged=logs)
    assert same.columns() == plain.columns()
    assert same.probability_best == plain.probability_best


def test_pulls_that_contradict_looking_win() -> None:
    """200 pulls of each arm against logs worth 1,000, biases of .1 or more: the estimate is within .1 of the truth."""
    for number, world in enumerate(planted("underrated", 5, seed=2)):
        logs, seen = told(world, 200, number)
        found, blind = ranking(seen, doubt=0.3, logged=logs, confidence=0.9999), ranking(seen)
        best = world.problem.index(world.best)
        if world.means[best] - world.claims[best] < 0.1:
            continue
        assert abs(found[world.best].estimate - world.means[best]) < 0.1
        assert blind[world.best].high < world.means[best]
        assert found[world.best].low < world.means[best] < found[world.best].high
        assert found.best is not None
        assert found.best.arm == world.best


def test_pulls_that_agree_confirm_what_looking_says() -> None:
    world = planted("underrated", 2, seed=2, right=True)[1]
    logs, seen = told(world, 400)
    doubted, plain = ranking(seen, doubt=0.3, logged=logs), ranking(seen)
    for arm in world.problem.arms:
        assert doubted[arm].estimate == pytest.approx(plain[arm].estimate, abs=0.01)
        assert doubted[arm].low <= plain[arm].low + 1e-9
        assert doubted[arm].high >= plain[arm].high - 1e-9


def test_before_any_pull_doubt_widens_and_names_the_same_arm() -> None:
    world = planted("overrated", 2, seed=2, right=True)[1]
    logs = world.logs(1000)
    plain, some, much = (ranking(logs, doubt=doubt, logged=logs) for doubt in (0.0, 0.1, 0.6))
    assert plain.best is not None
    for arm in world.problem.arms:
        assert plain[arm].low >= some[arm].low >= much[arm].low
        assert plain[arm].high <= some[arm].high <= much[arm].high
        assert some[arm].estimate == pytest.approx(plain[arm].estimate, abs=1e-3)
    assert plain.probability_best > some.probability_best > much.probability_best


def test_old_looks_of_do_are_doubted_and_those_of_today_are_not() -> None:
    """1,000 looks of a mean of .5 in the logs and 300 of .2 today: .2 where the logs may be old, .43 where not."""
    problem = Problem("X -> Y", "Y")
    counts = np.zeros((3, 2), np.int64)
    counts[0] = [500, 500]
    logs = Tally(problem, counts.copy())
    counts[0] += [240, 60]
    seen = Tally(problem, counts)
    assert ranking(seen, doubt=0.3)[do()].estimate == pytest.approx(560 / 1300)
    found = ranking(seen, doubt=0.3, logged=logs)[do()]
    assert found.estimate == pytest.approx(0.2, abs=0.02)
    assert found.low < 0.2 < found.high < 0.3


def test_an_arm_that_only_its_pulls_know_keeps_its_interval() -> None:
    """Looking says nothing of do(X=1), so a doubt about looking changes nothing; seen as NaN where logs tell do()."""
    problem = Problem("X -> Y; X <-> Y", "Y")
    looks = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 100)
    logs = count(problem, {"X": looks[:, 0], "Y": looks[:, 1]})
    seen = logs + Tally(problem, np.array([[10, 12], [0, 0], [11, 29]]))
    plain, doubted = ranking(seen), ranking(seen, doubt=0.1, logged=logs)
    row = doubted[do(X=1)]
    assert (row.low, row.high) == (plain[do(X=1)].low, plain[do(X=1)].high)
    assert 0 < row.low < row.estimate < row.high < 1
    assert doubted.best_low <= row.low <= row.high <= doubted.best_high
    assert row.effect_low < plain[do(X=1)].effect_low


def test_old_logs_are_told_from_a_wrong_graph() -> None:
    """Today's looks and pulls agree with each other and not with the logs: what was seen today counts in full.

    With as many looks that agree with the logs and pulls that do not, pulls and a hint are all that is left.  So 160 of
    .3 and what old logs are worth, 20 of .7; then 100 of .3 and a hint, 6 of .7.
    """
    problem = Problem("X -> Y", "Y", {"X": [0, 1]})

    def looks(rates: tuple[float, float], rows: int) -> Tally:
        wins = [round(rate * rows) for rate in rates]
        x = [0] * rows + [1] * rows
        y = [1] * wins[0] + [0] * (rows - wins[0]) + [1] * wins[1] + [0] * (rows - wins[1])
        return count(problem, {"X": x, "Y": y})

    logs, pulls = looks((0.3, 0.7), 500), Tally(problem, np.array([[0, 0], [70, 30], [70, 30]]))
    for fresh, worth, size in ((looks((0.3, 0.3), 60), 0.344, 180), (looks((0.3, 0.7), 60), 0.323, 106)):
        today = fresh + pulls
        found = ranking(logs + today, doubt=0.5, logged=logs, today=today)[do(X=1)]
        assert found.estimate == pytest.approx(worth, abs=0.01)
        assert found.effective_n == pytest.approx(size, abs=8)


def test_a_doubt_that_is_not_a_chance_is_refused() -> None:
    with pytest.raises(UsageError, match="from 0 to 1"):
        ranking(Tally.empty(Problem("X -> Y", "Y")), doubt=2)


def test_an_arm_that_is_known_by_pulls_alone_keeps_its_limits_where_do_is_doubted() -> None:
    """Logged looks of do() may be old, which says nothing about pulls of do(X=1); its limits were lost."""
    problem = Problem("X -> Y; X <-> Y", "Y")
    counts = np.array([[50, 50], [0, 0], [10, 30]])
    logs = Tally(problem, np.array([[40, 40], [0, 0], [0, 0]]))
    plain, found = ranking(Tally(problem, counts)), ranking(Tally(problem, counts), doubt=0.3, logged=logs)
    assert found[do(X=1)].low == pytest.approx(plain[do(X=1)].low, abs=1e-6)
    assert found[do(X=1)].high == pytest.approx(plain[do(X=1)].high, abs=1e-6)
    assert found[do()].low < plain[do()].low


@pytest.mark.parametrize("pulls", [100.0, 3_000.0, 1e6])
def test_however_strongly_pulls_contradict_the_chances_are_numbers(pulls: float) -> None:
    """The Bayes factor of thousands of pulls is far beyond what a number can hold."""
    rates, said, worth = np.array([0.5, 0.9]), np.array([0.5, 0.5]), np.array([1e5, 1e5])
    today = np.array([0.9, 0.9]), np.array([pulls, pulls])
    found = belief(0.3, rates * pulls, (1 - rates) * pulls, said, worth, today=today)
    for each in (found.cases, found.wrong, found.old):
        assert np.isfinite(each).all()
        assert ((each >= 0) & (each <= 1)).all()
    assert found.cases.sum() == pytest.approx(1)
    assert found.cases[-1] < 0.01  # something is wrong
