"""The ranking: what each row says, on the reward's own scale."""

from __future__ import annotations

import inspect
import math
import re

import numpy as np
import pytest

from whichdo.errors import DataError, ProblemError, UsageError
from whichdo.estimate.literal import sampled_means
from whichdo.estimate.rank import Ranking, rank, ranking
from whichdo.evidence import Tally, observe, spread
from whichdo.problem import Problem, do
from whichdo.tables import Table
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
    assert re.fullmatch(r"X <-> Y is blocked by M: \d+ rows had X=0, M=1", found[do(X=1)].reason)


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
    assert dict(found.rarity) == {("X",): 0.0}


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


def test_contradicting_evidence_is_averaged_by_what_each_is_worth() -> None:
    """1,000 looks of mean .5 and 1,000 direct pulls of mean 1 of an arm that equals do(): three quarters."""
    network = CausalNetwork({"X": bernoulli((), 0.5), "Y": bernoulli((), 0.5)})
    problem = network.problem("Y")
    counts = np.zeros((3, 2), np.int64)
    counts[0], counts[2] = (500, 500), (0, 1000)
    found = ranking(Tally(problem, counts))
    assert found[do(X=1)].estimate == pytest.approx(0.75, abs=0.002)
    assert ranking(Tally(problem, counts), confidence=0.5)[do(X=1)].estimate == found[do(X=1)].estimate


def test_looking_is_never_worth_more_pulls_than_looks() -> None:
    causes = [f"A{j}" for j in range(10)]
    network = CausalNetwork(
        {name: bernoulli((), 0.5) for name in causes}
        | {"X": bernoulli((), 0.5, parents=causes), "Y": bernoulli((), 0.5, parents=["X", *causes])}
    )
    row = ranking(World(network, network.problem("Y", ["X"]), 1).pull(observe(500)))[do(X=1)]
    assert row.effective_n < 20  # 1,024 settings of the causes, most of them never seen with X=1
    assert look("backdoor", 1000)[do()].effective_n == 1000


def test_an_arm_never_seen_is_not_called_best() -> None:
    """X is always 0 and Y rare: smoothing alone would give do(X=1) one half."""
    network = CausalNetwork(
        {
            "Z": bernoulli((), 0.5),
            "X": bernoulli(("Z",), [0, 0]),
            "Y": bernoulli(("Z",), [0.02, 0.04], parents=("Z", "X")),
        }
    )
    found = ranking(World(network, network.problem("Y", ["X"]), 1).pull(observe(5000)))
    assert found.best.arm != do(X=1)
    assert found[do(X=1)].must_try
    assert found.ordered[-1].arm == do(X=1)


def test_a_cell_that_an_arm_does_not_read_is_no_reason_to_try_it() -> None:
    """M and V are confounded and never M=1, V=0: do(M=0) reads only M=0."""
    network = CausalNetwork(
        {
            "U": bernoulli((), 0.5),
            "M": bernoulli(("U",), [0.0, 0.9]),
            "V": bernoulli(("U",), [0.5, 1.0]),
            "Y": bernoulli(("M", "V"), [[0.2, 0.4], [0.6, 0.8]]),
        },
        hidden={"U"},
    )
    found = ranking(World(network, network.problem("Y"), 1).pull(observe(3000)))
    assert not found[do(M=0)].must_try
    assert found[do(M=1)].must_try


def test_a_pull_settles_that_an_arm_was_tried() -> None:
    bow = canonical("bow")
    world = World(bow.network, bow.problem, 2)
    row = ranking(world.pull(observe(100)) + world.pull(spread(1, [do(X=1)])))[do(X=1)]
    assert not row.must_try
    assert row.reason == "cannot be learned by looking: X <-> Y and X -> Y; 1 direct pull"


def test_the_naive_mean_is_shown_where_nothing_else_is() -> None:
    """A bow: P(Y=1 | X=1) = .82 where do(X=1) gives .7."""
    bow = canonical("bow")
    found = rank(bow.problem, bow.network.sample(20_000, seed=1))
    assert found[do(X=1)].conditional == pytest.approx(0.82, abs=0.02)


def test_what_is_no_arm_is_not_in_the_ranking() -> None:
    found = look("frontdoor", 100)
    assert do(X=1) in found
    assert do(X=2) not in found


def test_arguments_in_the_wrong_places_are_told() -> None:
    bow = canonical("bow")
    with pytest.raises(UsageError, match="rank takes a Problem first"):
        rank("problem.toml", bow.network.sample(10))  # type: ignore[arg-type]
    with pytest.raises(DataError, match="Column X is a dict, which has no order of rows"):
        rank(bow.problem, {"X": {0: 1}, "Y": {0: 1}})


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


def test_a_frame_of_no_known_kind_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        look("frontdoor", 100).to_frame("foo")
    assert str(caught.value) == '"foo" is no kind of frame that is known; choose pandas, polars, pyarrow.'


def test_every_parameter_of_rank_is_documented() -> None:
    for name in inspect.signature(rank).parameters:
        assert f"``{name}``:" in (rank.__doc__ or ""), name


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


def test_an_arm_without_any_evidence_is_no_rival() -> None:
    """Nobody looked, and do(X=0) came to 1 in 4 of 10: do(X=1) and do() are unknown, not 1/2, so nothing competes."""
    problem = Problem("X -> Y", "Y")
    counts = np.array([[0, 0], [6, 4], [0, 0]])
    found = ranking(Tally(problem, counts, {do(): {("Y",): Table.of(("Y",), np.zeros(2, np.int64))}}))
    assert found.best.arm == do(X=0)
    assert [row.is_known for row in found.values()] == [False, True, False]
    assert found.probability_best == 1.0
