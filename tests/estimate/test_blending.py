"""Estimates from looks and experiments: exact for exact laws, honest in words, and silent without experiments."""

from __future__ import annotations

import itertools
from math import isnan
from typing import Any

import numpy as np
import pytest

import whichdo as wd
from tests.estimate.oracle import Oracle, semi_markovian
from tests.estimate.trials import Trials, random_trials, singles
from tests.identification.laws import conditional_table, experiment, fixture, fixture_graph, fixture_law
from tests.soak import repeated, scaled
from whichdo.blends import experiment_scopes, find_blend
from whichdo.counting import count
from whichdo.estimate.blending import learn
from whichdo.estimate.estimator import Rule
from whichdo.estimate.pooling import equal_arms
from whichdo.estimate.rank import ranking
from whichdo.formulas import Reading
from whichdo.identification.engine import leaves_alone
from whichdo.identification.estimand import Conditional
from whichdo.problem import LOOK, Problem, do
from whichdo.world.mechanism import bernoulli
from whichdo.world.network import CausalNetwork

READINGS = [Reading.ROBUST, Reading.GRAPH]
PLAIN = "X -> Z; X -> Y; Z -> Y; Z <-> Y; X -> M; M -> Y"


def settings(names: list[str], sizes: int = 2) -> list[dict[str, int]]:
    return [dict(zip(names, values, strict=True)) for values in itertools.product(range(sizes), repeat=len(names))]


def rows(arms: dict[wd.Arm, int], seed: int = 1) -> dict[str, list[Any]]:
    """Rows of the graph `PLAIN` with what was done in a column; a hidden cause acts on Z and Y."""
    rng = np.random.default_rng(seed)
    columns: dict[str, list[Any]] = {name: [] for name in ("X", "M", "Z", "Y", "what")}
    for arm, length in arms.items():

        def drawn(name: str, chance: Any, arm: wd.Arm = arm, length: int = length) -> Any:
            return np.full(length, arm.settings[name]) if name in arm.settings else rng.random(length) < chance

        hidden = rng.random(length) < 0.5
        x = drawn("X", 0.5)
        m = drawn("M", 0.2 + 0.5 * x)
        z = drawn("Z", 0.1 + 0.3 * x + 0.5 * hidden)
        y = rng.random(length) < 0.1 + 0.2 * x + 0.3 * z + 0.2 * hidden + 0.1 * m
        for name, column in zip(columns, (x, m, z, y), strict=False):
            columns[name] += np.asarray(column, int).tolist()
        columns["what"] += [str(arm)] * length
    return columns


SINGLES = [do({name: value}) for name in ("X", "Z", "M") for value in (0, 1)]
JOINT = [do(each) for each in settings(["X", "Z"])]
PROBLEM = Problem(PLAIN, "Y", arms=[*SINGLES, *JOINT])
TRIED = {LOOK: 800} | dict.fromkeys(SINGLES, 200)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("entry", fixture("gident"), ids=lambda entry: entry["name"])
def test_looks_and_single_experiments_give_the_means_of_the_fixture(entry: dict[str, Any], reading: Reading) -> None:
    """The arms of an experiment were pulled unequally often, which must not matter."""
    arms = {do(setting): None for query in entry["queries"] for setting in settings(query["do"])}
    arms |= {do(dict(zip(names, values, strict=True))): None for names, values, _ in entry["laws"] if names}
    problem = Problem(fixture_graph(entry), "Y", arms=list(arms))
    laws = {
        do(dict(zip(names, values, strict=True))): fixture_law(entry, flat) for names, values, flat in entry["laws"]
    }
    trials = Trials(problem, laws | {arm: np.ones(1) for arm in problem.arms if arm not in laws})
    seen = trials.exact(lambda arm: 1e5 * (1 + list(arm.settings.values()).count(1)) if arm in laws else 0.0)
    looked = learn(problem, seen, trials.worth, Rule(reading, shrinkage=0.0))
    for query in entry["queries"]:
        for setting, mean in query["means"] if query["singles"] else ():
            place = problem.index(do(dict(zip(query["do"], setting, strict=True))))
            assert looked.means[place] == pytest.approx(mean, abs=1e-9)


@pytest.mark.slow("3 s: 50 networks with all their arms; finds a source that says something else")
@pytest.mark.soak
def test_what_experiments_settle_is_exact_on_random_networks() -> None:
    """Mixed domains, the reward anywhere, single and joint arms; every source by itself is exact too."""
    rng = np.random.default_rng(31)
    by_experiments = combined = 0
    for _ in range(repeated(scaled(1_000, least=40), quick=10)):
        trials = random_trials(rng)
        problem = trials.problem
        seen = trials.exact(singles(100_000, 30_000))
        tried = {targets for targets in problem.target_sets if len(targets) == 1}
        for reading in READINGS:
            looked = learn(problem, seen, trials.worth, Rule(reading, shrinkage=0.0))
            for place, arm in enumerate(problem.arms[1:], start=1):
                verdict = problem.verdicts[arm.targets]
                blend = find_blend(problem, arm.targets)
                settled = blend is not None and all(
                    any(not source or source in tried for source, _ in factor.sources) for factor in blend.factors
                )
                assert bool(looked.known[place]) == (verdict.identified or settled)
                if not looked.known[place]:
                    continue
                assert looked.means[place] == pytest.approx(trials.truth[place], abs=1e-9)
                start = looked.start_of(int(looked.sources[place]))
                for origin in looked.origins_of(place):
                    assert origin.settled is not None
                    mean = origin.settled.means[looked.sources[place] - start]
                    assert mean == pytest.approx(trials.truth[place], abs=1e-9)
                by_experiments += not verdict.identified
                combined += verdict.identified and bool(looked.origins_of(place))
    assert by_experiments > 20
    assert combined > 20


def test_a_law_that_experiments_leave_alone_is_the_same_in_their_rows_and_no_other_is() -> None:
    """On random networks, whose parameters are in no special position."""
    rng = np.random.default_rng(8)
    alone = changed = 0
    for _ in range(repeated(150, quick=90)):
        oracle = Oracle(semi_markovian(rng, observed=(3, 5)))
        graph, names = oracle.mixed.graph(), list(oracle.names)
        node, *others = rng.permutation(names).tolist()
        given = tuple(others[: int(rng.integers(0, len(others) + 1))])
        tried = tuple(sorted(rng.choice(names, int(rng.integers(1, 3)), replace=False).tolist()))
        law = Conditional((node,), given)
        looks = conditional_table(law, oracle.seen, oracle.names)
        rows_of_arms = conditional_table(law, experiment(oracle, tried, rng), oracle.names)
        same = bool(np.abs(looks - rows_of_arms).max() < 1e-9)
        assert leaves_alone(graph, tried, law) == same
        alone, changed = alone + same, changed + (not same)
    assert min(alone, changed) > 10


@pytest.mark.slow("2 s: 40 rankings a graph; finds a sum over an axis that a factor must not depend on")
@pytest.mark.parametrize(
    ("text", "arms"),
    [
        ("A -> X; X -> M -> Y; X <-> Y; A -> Y", [do(X=0), do(X=1), do(M=0), do(M=1), do(A=1)]),
        ("W -> Z -> X -> Y; W <-> X; W <-> Y", [do(X=0), do(X=1), do(Z=0), do(Z=1), do(W=1)]),
    ],
)
def test_no_estimate_leaves_the_range_however_few_rows_there_are(text: str, arms: list[wd.Arm]) -> None:
    """The front door with one more ancestor, and the napkin: rows that fit no model."""
    problem = Problem(text, "Y", arms=arms)
    rng = np.random.default_rng(3)
    for _ in range(20):
        length = int(rng.integers(2, 30))
        texts = [str(problem.arms[place]) for place in rng.integers(0, len(problem.arms), length)]
        data: dict[str, Any] = {name: rng.integers(0, 2, length) for name in problem.graph.nodes}
        for place, text in enumerate(texts):
            for name, value in problem.arm(text).settings.items():
                data[name][place] = value
        for reading in READINGS:
            for row in wd.rank(problem, {**data, "what": texts}, arm="what", reading=reading).values():
                assert isnan(row.estimate) or 0 <= row.low <= row.estimate <= row.high <= 1


def test_what_both_levers_do_is_learned_from_experiments_on_each() -> None:
    """P(y | do(x, z)) = sum over m of P(m | x) P(y | x, m, do(z)): X=1, Z=1 has .1 + .2 + .3 + .1 + .07 = .77."""
    found = wd.rank(PROBLEM, rows(TRIED), arm="what")
    both = found[do(X=1, Z=1)]
    assert (both.identified, both.must_try, both.direct) == (False, False, 0)
    assert both.method == "looks + experiments on X and Z"
    assert both.reason == (
        "looking does not settle it, experiments do: by the laws of M from looks and experiments on X and Z; "
        "Y from experiments on Z"
    )
    assert both.low < 0.77 < both.high
    assert both.high - both.low < 0.25
    assert both.effect_low < both.effect < both.effect_high
    assert [each.source for each in both.sources] == ["looks", "do(X)", "do(Z)"]
    assert sum(each.weight for each in both.sources) == pytest.approx(1.0)
    assert found.best == both


def test_an_arm_that_neither_looks_nor_experiments_settle_must_be_tried() -> None:
    """Z <-> Y is cut by setting Z alone."""
    tried = {arm: length for arm, length in TRIED.items() if "Z" not in arm.settings}
    found = wd.rank(PROBLEM, rows(tried), arm="what")
    assert found[do(X=1, Z=1)].must_try
    assert found[do(X=1, Z=1)].sources == ()
    assert found[do(X=1, Z=1)].reason.startswith("cannot be learned by looking: ")


def test_the_papers_reading_knows_no_experiments() -> None:
    data = rows(TRIED)
    found = wd.rank(PROBLEM, data, arm="what", reading="paper")
    assert isnan(found[do(X=1, Z=1)].estimate)
    assert {each.source for row in found.values() for each in row.sources} == {"looks", "direct"}


@pytest.mark.parametrize("reading", ["robust", "graph"])
def test_rows_of_other_arms_sharpen_what_looks_settle(reading: str) -> None:
    """Of do(M=1): rows of experiments on X have the law of Y given X and M too."""
    data = rows(TRIED)
    looks = {name: column[:800] for name, column in data.items() if name != "what"}
    alone = wd.rank(PROBLEM, looks, reading=reading)[do(M=1)]
    without = {arm: length for arm, length in TRIED.items() if "M" not in arm.settings}
    more = wd.rank(PROBLEM, rows(without), arm="what", reading=reading)[do(M=1)]
    assert more.effective_n > 1.2 * alone.effective_n
    assert more.high - more.low < alone.high - alone.low
    assert "do(X)" in {each.source for each in more.sources}
    assert more.method.startswith("adjustment + experiments on X")


def test_experiments_alone_settle_arms_without_any_look() -> None:
    tried = {arm: length for arm, length in TRIED.items() if not arm.is_look}
    found = wd.rank(PROBLEM, rows(tried), arm="what")
    assert isnan(found[do()].estimate)
    assert isnan(found[do(X=1, Z=1)].effect)
    assert found[do(X=1, Z=1)].low < 0.77 < found[do(X=1, Z=1)].high
    assert found[do(X=1, Z=1)].method == "experiments on X and Z"


def test_without_a_column_of_arms_nothing_more_is_counted_and_nothing_changes() -> None:
    data = {name: column[:800] for name, column in rows(TRIED).items()}
    plain = {name: column for name, column in data.items() if name != "what"}
    assert len(count(PROBLEM, plain).tables[LOOK]) == len(count(PROBLEM, data, arm="what").tables[LOOK])
    one, other = wd.rank(PROBLEM, plain), wd.rank(PROBLEM, data, arm="what")
    for arm in PROBLEM.arms[1:]:
        assert one[arm].estimate == pytest.approx(other[arm].estimate, abs=0, nan_ok=True)
    assert one[do(M=1)].sources == other[do(M=1)].sources
    assert [each.source for each in one[do(M=1)].sources] == ["looks"]


@pytest.mark.slow("0.8 s: imports three libraries; finds a frame that cannot hold what an estimate comes from")
def test_sources_are_in_the_dict_and_in_frames() -> None:
    found = wd.rank(PROBLEM, rows(TRIED), arm="what")
    columns = found.columns()
    place = PROBLEM.index(do(X=1, Z=1))
    assert columns["sources"][place][0] == found[do(X=1, Z=1)].sources[0]._asdict()
    for backend in ("pandas", "polars", "pyarrow"):
        frame = found.to_frame(backend)
        assert "sources" in list(frame.columns if backend != "pyarrow" else frame.column_names)


@pytest.mark.parametrize("reading", READINGS)
def test_numbers_and_weights_are_learned_from_as_levels_are(reading: Reading) -> None:
    """A reward of a range whose values are its ends, and weights that are all alike, change nothing."""
    data = rows(TRIED)
    ranged = Problem(PLAIN, "Y", arms=[*SINGLES, *JOINT], reward_range=(0, 1))
    plain = wd.rank(PROBLEM, data, arm="what", reading=str(reading))
    numbers = wd.rank(ranged, data, arm="what", reading=str(reading))
    weighted = wd.rank(PROBLEM, {**data, "w": [2.0] * len(data["X"])}, arm="what", weights="w", reading=str(reading))
    for arm, row in plain.items():
        for other in (numbers[arm], weighted[arm]):
            assert (other.method, other.reason) == (row.method, row.reason)
            for name in ("estimate", "low", "high", "effect_low", "effect_high", "effective_n"):
                assert getattr(other, name) == pytest.approx(getattr(row, name), abs=1e-9)


def test_arms_that_are_the_same_share_their_direct_pulls() -> None:
    """W acts on Y through X alone: do(W=1, X=1) is do(X=1), and what was seen of one was seen of the other."""
    problem = Problem("W -> X -> Y; Q", "Y", arms=[do(X=1), do(W=1, X=1), do(W=0, X=1), do(X=0), do(Q=1), do(Q=0)])
    assert equal_arms(problem).tolist() == [0, 1, 1, 1, 4, 5, 5]
    rng = np.random.default_rng(2)
    texts = ["do()"] * 100 + ["do(X=1)"] * 30 + ["do(X=1, W=1)"] * 20 + ["do(Q=1)"] * 10
    data = {name: rng.integers(0, 2, 160) for name in "WXYQ"}
    data["X"][100:150], data["W"][130:150], data["Q"][150:] = 1, 1, 1
    data["Y"][100:150] = [1] * 25 + [0] * 5 + [1] * 5 + [0] * 15
    for reading in ("robust", "graph"):
        found = wd.rank(problem, {**data, "what": texts}, arm="what", reading=reading)
        alike = [found[arm] for arm in (do(X=1), do(X=1, W=1), do(X=1, W=0))]
        assert [row.direct for row in alike] == [50, 50, 50]
        assert len({(row.estimate, row.low, row.high, row.effective_n) for row in alike}) == 1
        direct = alike[0].sources[-1]
        assert direct.source == "direct"
        assert direct.estimate == pytest.approx(0.6)
        assert alike[2].reason.endswith("; 50 direct pulls, 50 of them of arms that are the same")
        assert found[do(Q=0)].direct == 10


def test_a_tally_with_rewards_of_pulls_alone_is_ranked_as_before() -> None:
    """Sources are tables: counts of rewards say nothing of other arms."""
    seen = count(PROBLEM, rows(TRIED), arm="what")
    rewards = type(seen)(PROBLEM, seen.counts, {LOOK: seen.tables[LOOK]})
    found = ranking(rewards)
    assert {each.source for row in found.values() for each in row.sources} == {"looks", "direct"}
    assert found[do(X=1)].direct == 200


def test_a_blend_needs_no_more_than_its_largest_tables() -> None:
    scopes = experiment_scopes(PROBLEM, Reading.ROBUST)
    assert all(not set(one) < set(other) for one in scopes for other in scopes)
    assert experiment_scopes(PROBLEM, Reading.PAPER) == ()
    assert not any("M" in scope for scope in experiment_scopes(PROBLEM, Reading.ROBUST, frozenset({"X", "Z", "Y"})))


def test_a_large_experiment_beside_few_looks_decides() -> None:
    """Ten looks and 20,000 pulls of do(Z=z) in X -> Y <- Z: of do(X=1) the looks only tell how often Z is 1."""
    network = CausalNetwork(
        {"X": bernoulli([], 0.5), "Z": bernoulli([], 0.5), "Y": bernoulli(["X", "Z"], [[0.1, 0.3], [0.6, 0.8]])}
    )
    problem = network.problem("Y", arms=[do(X=0), do(X=1), do(Z=0), do(Z=1), do(X=1, Z=1)])
    trials = Trials.of(Oracle(network), problem)
    seen = trials.draw(np.random.default_rng(4), singles(10, 0)) + trials.draw(
        np.random.default_rng(5), lambda arm: 10_000 if arm.targets == ("Z",) else 0
    )
    for reading in ("robust", "graph"):
        row = ranking(seen, reading=reading)[do(X=1, Z=1)]
        assert row.estimate == pytest.approx(0.8, abs=0.02)
        assert row.high - row.low < 0.04
