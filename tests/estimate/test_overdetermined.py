"""One c-factor from several sources: rows that contradict the graph are seen, and what is compared is said."""

from __future__ import annotations

import numpy as np
import pytest

from tests.estimate.oracle import Oracle
from tests.estimate.trials import Trials, singles
from whichdo.estimate.overdetermined import compare_factors
from whichdo.evidence import Tally
from whichdo.problem import LOOK, Problem, do
from whichdo.world.mechanism import bernoulli
from whichdo.world.network import CausalNetwork

ARMS = [do({name: value}) for name in "XM" for value in (0, 1)]
WORLD = CausalNetwork(
    {
        "U": bernoulli([], 0.5),
        "X": bernoulli(["U"], [0.2, 0.8]),
        "M": bernoulli(["X"], [0.3, 0.7]),
        "Y": bernoulli(["M", "U"], [[0.1, 0.5], [0.4, 0.8]]),
    },
    hidden={"U"},
)


def tally(problem: Problem, looks: int, pulls: int, seed: int = 1) -> Tally:
    drawn = Trials.of(Oracle(WORLD), WORLD.problem("Y", arms=ARMS)).draw(
        np.random.default_rng(seed), singles(looks, pulls)
    )
    return Tally(problem, drawn.counts, drawn.tables)


def test_sources_agree_in_the_right_graph_and_each_is_named() -> None:
    """X -> M -> Y, X <-> Y: Q[M] is had from looks and from do(X), Q[Y] from looks, do(X) and do(M)."""
    found = {
        each.nodes: each
        for each in compare_factors(tally(WORLD.problem("Y", arms=ARMS), 4000, 1000), np.array([0.0, 1.0]))
    }
    assert found["M",].sources == ((), ("X",))
    assert found["Y",].sources == ((), ("X",), ("M",))
    assert found["M",].freedom == 2  # two values of X, and one share each
    assert all(each.p > 1e-3 for each in found.values())
    assert str(found["M",]).startswith("the law of M given X from looks and experiments on X (p = ")


def test_a_missing_confounder_is_seen() -> None:
    """Without X <-> Y the law of Y given M alone would be the same in all rows: looks have P(Y | M) confounded."""
    wrong = Problem("X -> M -> Y", "Y", arms=ARMS)
    found = {each.nodes: each.p for each in compare_factors(tally(wrong, 4000, 1000), np.array([0.0, 1.0]))}
    assert found["Y",] < 1e-6
    assert found["M",] > 1e-3


def test_nothing_is_compared_without_experiments_or_with_few_rows() -> None:
    problem = WORLD.problem("Y", arms=ARMS)
    seen = tally(problem, 4000, 1000)
    counts = np.zeros_like(seen.counts)
    counts[0] = seen.counts[0]
    assert compare_factors(Tally(problem, counts, {LOOK: seen.tables[LOOK]}), np.array([0.0, 1.0])) == ()
    assert compare_factors(tally(problem, 8, 2), np.array([0.0, 1.0])) == ()


def test_exact_laws_agree_exactly() -> None:
    problem = WORLD.problem("Y", arms=ARMS)
    seen = Trials.of(Oracle(WORLD), problem).exact(lambda arm: 1000.0 if arm == LOOK or len(arm.targets) == 1 else 0.0)
    found = compare_factors(seen, np.array([0.0, 1.0]))
    assert len(found) >= 2
    assert all(each.p == pytest.approx(1.0, abs=1e-9) for each in found)
