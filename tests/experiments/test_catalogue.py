"""The experiments as data: the paper's numbers, and networks that are what their panels say."""

from __future__ import annotations

import numpy as np
import pytest

from whichdo.errors import UsageError
from whichdo.experiments.catalogue import recorded
from whichdo.experiments.cells import EXPERIMENTS, named_policy
from whichdo.experiments.experiment import Axis
from whichdo.experiments.reproduce import chosen_policies


def test_there_are_the_five_of_the_paper_and_four_more() -> None:
    assert list(EXPERIMENTS) == [1, 2, 3, 4, 5, 6, 7, 8, 9]


def test_lists_of_arms_are_those_of_lee_and_bareinboim() -> None:
    arms = {
        panel.name: [len(panel.maker(key)(np.random.SeedSequence(0), [1])[0].problem.answers) for key in panel.lists]
        for panel in EXPERIMENTS[9].panels
    }
    assert arms == {"task-1": [4, 49, 81], "task-2": [4, 5, 9], "task-3": [16, 75, 243]}


def test_a_list_of_arms_is_asked_for_by_its_name() -> None:
    assert chosen_policies(["ts@mis", "ts"], [3, 9]) == {3: ("ts",), 9: ("ts@mis", "ts")}
    with pytest.raises(UsageError, match=r'offers ts@few the arms "few"\. Their lists of arms: pomis, mis, all'):
        chosen_policies(["ts@few"], [9])
    with pytest.raises(UsageError, match="They have one list of arms: leave the @ out"):
        chosen_policies(["ts@all"], [3])


def test_sizes_are_the_papers() -> None:
    budgets = (500, 750, 1000, 1250, 1500, 1750, 2000, 2250, 2500)
    first = EXPERIMENTS[1].panels[0].full
    assert (first.points, first.networks, first.runs) == (budgets, 50, 100)
    for panel in EXPERIMENTS[2].panels:
        assert panel.full.points == tuple(10 + 2 * k for k in range(1, 21))
        assert (panel.budget, panel.full.networks, panel.full.runs) == (1600, 50, 100)
    for panel in EXPERIMENTS[3].panels:
        assert (panel.budget, panel.full.networks, panel.full.runs) == (100_000, 1, 30)
    fourth = EXPERIMENTS[4].panels[0].full
    assert (fourth.points, fourth.networks, fourth.runs) == (budgets, 50, 30)
    fifth = EXPERIMENTS[5].panels[0]
    assert (fifth.budget, fifth.full.networks, fifth.full.runs) == (100_000, 12, 30)


def test_ours_have_fifty_networks_and_forty_runs() -> None:
    for number in (6, 8):
        assert {(panel.full.networks, panel.full.runs) for panel in EXPERIMENTS[number].panels} == {(50, 40)}
    assert sum(panel.full.networks for panel in EXPERIMENTS[7].panels) == 50
    assert EXPERIMENTS[6].panels[0].full.points == (100, 200, 400, 800, 1600, 3200)
    assert {panel.full.points[-1] for panel in EXPERIMENTS[7].panels} == {30_000}


@pytest.mark.parametrize("number", EXPERIMENTS)
def test_policies_are_about_the_regret_of_the_experiment(number: int) -> None:
    experiment = EXPERIMENTS[number]
    for name in (*experiment.paper, *experiment.more):
        assert named_policy(name).objective is experiment.objective


@pytest.mark.slow("1 s: makes the networks of every point of every panel")
@pytest.mark.parametrize(
    ("number", "place"), [(number, place) for number in EXPERIMENTS for place in range(len(EXPERIMENTS[number].panels))]
)
def test_every_point_has_a_network_and_a_budget(number: int, place: int) -> None:
    panel = EXPERIMENTS[number].panels[place]
    points = panel.quick.points
    made = panel.make(np.random.SeedSequence(3), points)
    assert len(made) == len(points)
    again = panel.make(np.random.SeedSequence(3), points)
    assert [each.means.tolist() for each in made] == [each.means.tolist() for each in again]
    assert all(panel.pulls(point, True) >= 1 for point in points)


@pytest.mark.slow("1 s: makes the networks of every point of an axis")
def test_hardness_is_the_point_where_the_axis_says_so() -> None:
    for number in (2, 8):
        for panel in EXPERIMENTS[number].panels:
            made = panel.make(np.random.SeedSequence(5), panel.quick.points)
            assert [each.hardness for each in made] == list(panel.quick.points)
            assert all(each.gap > 0 for each in made)


@pytest.mark.slow("3 s: searches for networks that mislead, in four panels")
@pytest.mark.parametrize("place", range(4))
def test_rows_mislead_where_conditioning_is_to_be_shown_wrong(place: int) -> None:
    panel = EXPERIMENTS[6].panels[place]
    for network in range(3):
        (made,) = panel.make(np.random.SeedSequence(7, spawn_key=(network,)), panel.quick.points[:1])
        assert made.misleading, (panel.name, network)
        assert len(made.network.hidden) >= 1


def test_recorded_rounds_serve_both_scales() -> None:
    rounds = recorded(100_000)
    assert rounds[0] == 1
    assert rounds[-1] == 100_000
    assert set(range(2500, 100_001, 2500)) <= set(rounds)
    assert len(rounds) < 110


def test_curves_and_points_are_told_apart_by_the_axis() -> None:
    assert [number for number, each in EXPERIMENTS.items() if each.axis is Axis.ROUND] == [3, 5, 7, 9]
