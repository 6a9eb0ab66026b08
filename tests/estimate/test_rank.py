"""The ranking: what each row says, on the reward's own scale."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from whichdo.errors import ProblemError, UsageError
from whichdo.estimate.literal import sampled_means
from whichdo.estimate.rank import Ranking, ranking
from whichdo.evidence import Tally, observe, spread
from whichdo.problem import Problem, do
from whichdo.world.instances import canonical
from whichdo.world.network import CausalNetwork, Mechanism, bernoulli
from whichdo.world.sampler import World


def look(name: str, looks: int = 20_000, seed: int = 1) -> Ranking:
    instance = canonical(name)
    return ranking(World(instance.network, instance.problem, seed).pull(observe(looks)))


def test_front_door_is_ranked_by_what_doing_would_do() -> None:
    """Truth .30 and .65 where conditioning says .21 and .74."""
    found = look("frontdoor")
    assert found[do(X=0)].low < 0.30 < found[do(X=0)].high
    assert found[do(X=1)].low < 0.65 < found[do(X=1)].high
    assert found[do(X=1)].conditional == pytest.approx(0.74, abs=0.02)
    assert found.best.arm == do(X=1)
    assert found[do(X=1)].method == "component"
    assert re.fullmatch(r"X <-> Y is blocked by M: \d+ rows had X=0, M=1, Y=0", found[do(X=1)].reason)


def test_back_door_names_what_it_adjusts_for_and_its_weakest_cell() -> None:
    """P(Z=1, X=0) = .4 * .2 = .08, the rarest cell of do(X=0); .6 * .2 = .12 that of do(X=1)."""
    found = look("backdoor")
    assert found[do(X=0)].weakest_cell == "Z=1, X=0"
    assert found[do(X=0)].weakest_count == pytest.approx(1600, abs=160)
    assert re.fullmatch(r"adjusting for Z: 2,\d\d\d rows had Z=0, X=1", found[do(X=1)].reason)
    assert found.rarity["X"] == pytest.approx(0.08, abs=0.01)


def test_a_bow_is_never_estimated_by_looking() -> None:
    found = look("bow")
    for arm in (do(X=0), do(X=1)):
        assert math.isnan(found[arm].estimate)
        assert (found[arm].low, found[arm].high, found[arm].method) == (0.0, 1.0, "none")
        assert found[arm].must_try
        assert not found[arm].identified
        assert found[arm].effective_n == 0
        assert found[arm].reason == "cannot be learned by looking: X <-> Y and X -> Y"
    assert found.best.arm == do()
    assert found.warnings == ("Not estimated, to be tried: do(X=0) and do(X=1).",)
    assert found.rarity == {"X": 0.0}


def test_a_node_that_does_not_act_shares_the_evidence_of_looking() -> None:
    found = look("not_anc")
    assert found[do(X=1)].estimate == found[do()].estimate
    assert found[do(X=1)].reason == "X does not act on Y: the same as do()"
    assert found.probability_best == 1.0


def test_a_cell_never_seen_is_said_and_leaves_the_interval_wide() -> None:
    network = CausalNetwork(
        {
            "Z": bernoulli((), 0.5),
            "X": bernoulli(("Z",), [0.0, 0.5]),
            "Y": bernoulli(("X", "Z"), [[0.5, 0.5], [0.9, 0.9]]),
        }
    )
    found = ranking(World(network, network.problem("Y", ["X"]), 1).pull(observe(1000)))
    row = found[do(X=1)]
    assert row.reason == "adjusting for Z: no row had Z=0, X=1"
    assert row.must_try
    assert row.high - row.low > 0.5
    assert found.warnings == ("A cell was never seen, so the estimate leans on smoothing; to be tried: do(X=1).",)


def test_direct_pulls_add_to_what_looking_knows() -> None:
    """The bow's arms are known by pulls alone, the front-door's by both."""
    bow = canonical("bow")
    world = World(bow.network, bow.problem, 2)
    found = ranking(world.pull(observe(1000)) + world.pull(spread(2000, [do(X=0), do(X=1)])))
    assert found[do(X=1)].estimate == pytest.approx(0.7, abs=0.05)
    assert (found[do(X=1)].method, found[do(X=1)].direct) == ("direct", 1000)
    front = canonical("frontdoor")
    world = World(front.network, front.problem, 2)
    looks = world.pull(observe(1000))
    alone, both = ranking(looks), ranking(looks + world.pull(spread(1000, [do(X=1)])))
    assert both[do(X=1)].method == "component + direct"
    assert both[do(X=1)].high - both[do(X=1)].low < alone[do(X=1)].high - alone[do(X=1)].low
    assert both[do(X=1)].effective_n == pytest.approx(alone[do(X=1)].effective_n + 1000)


def test_minimise_ranks_the_smallest_first_on_the_rewards_own_scale() -> None:
    front = canonical("frontdoor")
    problem = Problem(front.problem.graph, "Y", ["X"], goal="minimize")
    found = ranking(World(front.network, problem, 1).pull(observe(20_000)))
    assert [str(row.arm) for row in found.ordered] == ["do(X=0)", "do()", "do(X=1)"]
    assert found.best.estimate == pytest.approx(0.30, abs=0.03)


def test_a_reward_with_levels_is_ranked_by_its_worth() -> None:
    network = CausalNetwork(
        {"X": bernoulli((), 0.5), "Y": Mechanism(("X",), [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])},
        domains={"Y": ("bad", "fair", "good")},
    )
    problem = network.problem("Y", rewards={"bad": 0.2, "fair": 0.5, "good": 0.6})
    found = ranking(World(network, problem, 1).pull(observe(20_000)))
    assert found[do(X=1)].estimate == pytest.approx(0.2 * 0.2 + 0.3 * 0.5 + 0.5 * 0.6, abs=0.01)
    assert found[do(X=1)].low >= 0.2
    assert found[do(X=1)].high <= 0.6


@pytest.mark.parametrize("tables", [True, False])
def test_nothing_seen_knows_nothing(tables: bool) -> None:
    front = canonical("frontdoor")
    nothing = World(front.network, front.problem, 1).pull(observe(0)) if tables else Tally.empty(front.problem)
    found = ranking(nothing)
    assert found.looks == 0
    assert found[do(X=1)].estimate == pytest.approx(0.5)
    assert (found[do(X=1)].low, found[do(X=1)].high) == (0.0, 1.0)
    assert math.isnan(found[do(X=1)].conditional)


def test_the_probability_of_being_best_is_near_one_half_for_a_tie() -> None:
    network = CausalNetwork({"X": bernoulli((), 0.5), "Y": bernoulli(("X",), [0.5, 0.5])})
    found = [
        ranking(World(network, network.problem("Y"), seed).pull(observe(500))).probability_best for seed in range(20)
    ]
    assert min(found) > 0.3
    assert max(found) < 1.0


def test_unknown_arms_and_confidences_are_refused() -> None:
    found = look("frontdoor", 100)
    with pytest.raises(ProblemError, match=r"do\(X=2\) is no arm of this problem"):
        found[do(X=2)]
    front = canonical("frontdoor")
    with pytest.raises(UsageError, match="confidence is 95"):
        ranking(World(front.network, front.problem, 1).pull(observe(10)), confidence=95)


def test_a_tally_without_tables_is_refused() -> None:
    front = canonical("frontdoor")
    with pytest.raises(UsageError, match="holds no table of X, M and Y; count with"):
        ranking(World(front.network, front.problem, 1).pull(spread(10, [do()])))


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_the_table_is_a_frame_of_any_kind(backend: str) -> None:
    pytest.importorskip(backend)
    frame = look("frontdoor", 100).to_frame(backend)
    assert type(frame).__module__.split(".")[0] == backend
    assert len(frame) == 3


def test_the_papers_own_way_is_an_option() -> None:
    """Draws add their noise, p (1 - p) / draws, to the variance; a threshold above all counts leaves uniform rows."""
    instance = canonical("backdoor")
    seen = World(instance.network, instance.problem, 3).pull(observe(2000))
    exact, drawn = ranking(seen)[do(X=1)], ranking(seen, sampled=500)[do(X=1)]
    assert drawn.estimate != exact.estimate
    assert drawn.estimate == pytest.approx(exact.estimate, abs=0.12)
    noise = exact.estimate * (1 - exact.estimate) / 500
    widths = (exact.high - exact.low) ** 2 + (2 * 1.959964) ** 2 * noise
    assert (drawn.high - drawn.low) ** 2 == pytest.approx(widths, rel=1e-6)
    assert ranking(seen, threshold=10_000)[do(X=1)].estimate == pytest.approx(0.5)
    with pytest.raises(UsageError, match="draw at least once"):
        ranking(seen, sampled=0)


@pytest.mark.parametrize("name", ["backdoor", "frontdoor", "s1_chain", "authors_bug", "two_comp"])
def test_the_papers_sampling_tends_to_the_exact_sum(name: str) -> None:
    """200,000 draws: standard error .0011, so .006 is five of them."""
    instance = canonical(name)
    seen = World(instance.network, instance.problem, 3).pull(observe(2000))
    literal = sampled_means(instance.problem, seen, np.random.default_rng(5), draws=200_000)
    exact = [row.estimate for row in ranking(seen).values()]
    assert literal[1:] == pytest.approx(exact[1:], abs=0.006)
