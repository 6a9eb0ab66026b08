"""Ranking problems with joint arms: what looking says of them, and what direct pulls do."""

from __future__ import annotations

from math import isnan

import numpy as np
import pytest

import whichdo as wd
from tests.estimate.oracle import Oracle, semi_markovian
from tests.estimate.tallies import tally_of, unit_worth
from whichdo.counting import count
from whichdo.errors import DataError
from whichdo.estimate.estimator import Rule, look
from whichdo.formulas import Reading
from whichdo.graph.targets import acting_targets
from whichdo.problem import Problem, do

GRAPH = "W -> X; Z -> X; X -> Y; Z -> Y; Q"
ARMS = [do(X=1), do(W=1, X=1), do(X=1, Z=0), do(Q=1, A=0), do(Q=0)]
PROBLEM = Problem(f"{GRAPH}; Y -> A", "Y", arms=ARMS)


def rows(length: int = 400, seed: int = 0) -> dict[str, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    rng = np.random.default_rng(seed)
    return {name: rng.integers(0, 2, length) for name in PROBLEM.graph.nodes}


def test_an_arm_with_idle_members_has_the_estimate_of_its_acting_ones() -> None:
    found = wd.rank(PROBLEM, rows())
    alone, both = found[do(X=1)], found[do(X=1, W=1)]
    assert (both.estimate, both.low, both.high, both.method) == (alone.estimate, alone.low, alone.high, alone.method)
    assert both.reason.startswith("the same as setting X alone: adjusting for Z: ")
    assert found[do(Q=1, A=0)].estimate == found[do()].estimate
    assert found[do(Q=1, A=0)].reason == "A and Q do not act on Y: the same as do()"


@pytest.mark.slow("0.5 s: 150 networks in every reading; finds a set that is estimated by the wrong node")
def test_the_same_holds_on_random_networks_in_every_reading() -> None:
    """One estimate for all sets of which the same node acts."""
    rng = np.random.default_rng(5)
    compared = 0
    for _ in range(150):
        network = semi_markovian(rng, observed=(4, 6))
        reward, first, second, *_ = rng.permutation(network.graph.nodes).tolist()
        one = network.domains[first][0], network.domains[second][0]
        acting = acting_targets(network.graph, tuple(sorted((first, second))), reward)
        worth = {level: j / (len(network.domains[reward]) - 1) for j, level in enumerate(network.domains[reward])}
        both = do({first: one[0], second: one[1]})
        problem = network.problem(reward, arms=[both, do({first: one[0]}), do({second: one[1]})], rewards=worth)
        law = Oracle(network).table(problem.graph.nodes)
        seen = tally_of(problem, rng.multinomial(300, law.ravel()).reshape(law.shape))
        for reading in Reading:
            looked = look(problem, seen, unit_worth(problem), Rule(reading))
            means = dict(zip(problem.arms, looked.means, strict=True))
            if len(acting) == 1:
                expected = means[do({acting[0]: both.settings[acting[0]]})]
                assert means[both] == pytest.approx(expected, abs=0, nan_ok=True)
                compared += 1
            elif not acting:
                assert means[both] == means[do()]
            elif reading is Reading.PAPER:
                assert isnan(means[both])  # the paper has no joint arms
    assert compared > 60


def test_what_several_nodes_do_together_is_estimated_where_looking_settles_it() -> None:
    """Setting X and Z leaves nothing to adjust for: the mean of the rows that had both, hardly shrunk."""
    data = rows()
    joint = wd.rank(PROBLEM, data)[do(X=1, Z=0)]
    own = data["Y"][(data["X"] == 1) & (data["Z"] == 0)]
    assert (joint.must_try, joint.identified, joint.method, joint.given) == (False, True, "adjustment", ())
    assert joint.reason == f"nothing to adjust for: {own.size} rows had Z=0, X=1"
    assert joint.conditional == pytest.approx(own.mean())
    assert joint.estimate == pytest.approx(own.mean(), abs=2 / own.size)


def test_what_looking_cannot_settle_of_joint_arms_is_tried() -> None:
    problem = Problem("Z -> X; X -> Y; Z -> Y; X <-> Y", "Y", arms=[do(X=1, Z=0), do(Z=0)])
    found = wd.rank(problem, {name: column for name, column in rows().items() if name in "XYZ"})
    assert isnan(found[do(X=1, Z=0)].estimate)
    assert found[do(X=1, Z=0)].must_try
    assert found.warnings[-1] == "Not estimated, to be tried: do(X=1, Z=0)."


def test_direct_pulls_of_joint_arms_count() -> None:
    """90 of 100 pulls of do(X=1, Z=0) succeed, where the rows of the log that had both were coins."""
    data = {name: list(column) for name, column in rows().items()}
    own = {"X": [1] * 100, "Z": [0] * 100, "Y": [1] * 90 + [0] * 10}
    texts = ["do(X=1, Z=0)", " do( Z=0,X = 1)"] * 50
    joined = {name: [*column, *own.get(name, [0] * 100)] for name, column in data.items()}
    found = wd.rank(PROBLEM, {**joined, "what": [""] * 400 + texts}, arm="what")
    joint = found[do(X=1, Z=0)]
    looked = wd.rank(PROBLEM, rows())[do(X=1, Z=0)]
    assert (joint.direct, joint.method, joint.must_try) == (100, "adjustment + direct", False)
    size = looked.effective_n
    assert joint.effective_n == pytest.approx(size + 100)
    assert joint.estimate == pytest.approx((size * looked.estimate + 90) / (size + 100))
    assert found.best == joint
    assert joint.reason.endswith("; 100 direct pulls")


def test_a_row_that_contradicts_settings_is_refused_and_each_is_named() -> None:
    data = {"W": [0, 0], "X": [1, 0], "Z": [0, 1], "Y": [1, 1], "Q": [0, 0], "A": [0, 0]}
    with pytest.raises(DataError, match=r"the arm is do\(X=1, Z=0\), but X is 0 and Z is 1: the intervention was not"):
        count(PROBLEM, {**data, "what": ["do(X=1, Z=0)"] * 2}, arm="what")
    with pytest.raises(DataError, match=r"but Z is 1: the intervention was not applied\. 1 such row\."):
        count(PROBLEM, {**data, "X": [1, 1], "what": ["do(X=1, Z=0)"] * 2}, arm="what")


def test_interleaved_arms_on_single_nodes_are_ranked_as_in_any_order() -> None:
    data = rows()
    plain = wd.rank(Problem(GRAPH, "Y", ["X", "Z"]), data)
    mixed = wd.rank(Problem(GRAPH, "Y", arms=[do(Z=1), do(X=0), do(Z=0), do(X=1)]), data)
    for arm, row in plain.items():
        assert mixed[arm] == row
