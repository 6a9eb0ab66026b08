"""Lee and Bareinboim's tasks and joint confounded families, exactly; networks by name."""

from __future__ import annotations

import numpy as np
import pytest

import whichdo as wd
from whichdo.errors import UsageError
from whichdo.world.instances import joint_confounded, structural
from whichdo.world.instances.classics import Among


@pytest.mark.parametrize(("task", "numbers"), [(1, [4, 49, 81]), (2, [4, 5, 9]), (3, [16, 75, 243])])
def test_the_lists_of_arms_are_as_long_as_published(task: int, numbers: list[int]) -> None:
    assert [len(structural(task, among).problem.answers) for among in Among] == numbers


@pytest.mark.parametrize("among", Among)
def test_the_best_arms_are_in_every_list(among: str) -> None:
    assert [float(structural(task, among).means.max()) for task in (1, 2, 3)] == pytest.approx(
        [structural(task, "all").means.max() for task in (1, 2, 3)], abs=1e-12
    )


def test_means_follow_from_the_mechanisms_as_written() -> None:
    """Sums over all hidden bits, written out: task 2 has 1 - (.15 * .89 + .85 * .11) at do(Z=0)."""
    second = structural(2)
    assert second.best == wd.do(Z=0)
    assert second.means.max() == pytest.approx(1 - (0.15 * 0.89 + 0.85 * 0.11))
    assert round(float(second.means.max()), 3) == 0.773
    third = structural(3)
    noise = np.array([0.07, 0.05, 0.06, 0.06])  # of W, Z, X and Y: odd sums of them turn Y around
    odd = (1 - np.prod(1 - 2 * noise)) / 2
    assert third.means.max() == pytest.approx(1 - odd)
    assert third.best_arms == (wd.do(S=0, T=0), wd.do(S=0, T=1))
    first = structural(1)
    assert first.best_arms == (wd.do(X1=1, X2=1),)
    assert first.means.max() == pytest.approx(1.0)


def test_do_is_a_look_and_no_answer_where_it_is_not_possibly_optimal() -> None:
    for task in (1, 2, 3):
        problem = structural(task).problem
        assert problem.arms[0].is_look
        assert problem.first_answer == 1


def test_wrong_tasks_and_lists_are_refused() -> None:
    with pytest.raises(UsageError, match="there are 1, 2 and 3"):
        structural(4)
    with pytest.raises(UsageError, match="possibly optimal, minimal, all; found 'some'"):
        structural(1, "some")


def test_joint_families_pose_the_networks_of_the_confounded_ones() -> None:
    wide, pruned = joint_confounded(5, 3, 2, 8), joint_confounded(5, 3, 2, 8, pruned=True)
    for one, other in zip(wide, pruned, strict=True):
        assert one.problem.first_joint is not None
        assert set(other.problem.arms) <= set(one.problem.arms)
        assert other.means.max() == pytest.approx(one.means.max(), abs=1e-12)  # no best arm is pruned
        assert one.name.startswith("joint-confounded/")
        assert other.name.startswith("pruned-joint-confounded/")


def test_networks_are_found_by_name() -> None:
    assert wd.network("structural:task-3").graph == structural(3).network.graph
    assert wd.network("structural:task-2-all").graph.nodes == ("Z", "X", "Y")
    assert "Y" in wd.network("experiment-1:7").graph.nodes
    assert wd.network("canonical:napkin").hidden == {"U", "V"}
    with pytest.raises(UsageError, match='There is no network "structral"'):
        wd.network("structral")
    with pytest.raises(UsageError, match="known by its name"):
        wd.network(3)  # type: ignore[arg-type]
