"""SRM against its slow twin: the same q, m, Q, pulls, means and arm from the same rows."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.estimate.oracle import any_problem, semi_markovian
from tests.policies.srm_twin import Act, Plain, Row, SlowSRM, poorly_seen, shares, slow_hardness
from tests.sessions import RowSource, rows_of
from tests.soak import scaled
from whichdo.estimate.rarity import c_sizes, hardness
from whichdo.policies.srm import _Known, _rarest
from whichdo.policy_names import policy
from whichdo.problem import Problem
from whichdo.session import Session
from whichdo.world.mechanism import bernoulli
from whichdo.world.network import CausalNetwork

if TYPE_CHECKING:
    from whichdo.evidence import Tally
    from whichdo.problem import Arm

NETWORKS = scaled(300, 60)


def slow(problem: Problem) -> SlowSRM:
    graph = Plain(list(problem.graph.nodes), set(problem.graph.directed), set(problem.graph.bidirected))
    sizes = {name: len(domain) for name, domain in problem.domains.items()}
    return SlowSRM(graph, problem.reward, list(problem.utility.values()), sizes)


def act(problem: Problem, arm: Arm) -> Act:
    if arm.is_look:
        return None
    ((name, value),) = arm.settings.items()
    return name, problem.domains[name].index(value)


def coded(problem: Problem, rows: list[dict[str, object]]) -> list[Row]:
    return [{name: list(problem.domains[name]).index(row[name]) for name in row} for row in rows]  # type: ignore[arg-type]


def badly_seen(twin: SlowSRM, problem: Problem, told: Tally, rows: list[Row]) -> list[Act]:
    """The set Q by the twin; q, k and m are compared on the way."""
    nodes = list(problem.intervene)
    q = {node: twin.rarity(node, rows) for node in nodes}
    k = {node: twin.judged(node).k for node in nodes}
    m = slow_hardness(list(q.values()), list(k.values()))
    known = _Known(problem, plain=False)
    counted = _rarest(known.cells, known.model.counts(told), len(rows)) / len(rows)
    assert counted.tolist() == pytest.approx([float(share) for share in q.values()], abs=1e-12)
    assert c_sizes(problem).tolist() == list(k.values())
    assert hardness(counted, c_sizes(problem)) == m
    return poorly_seen([act(problem, arm) for arm in problem.arms], q, k, m)


def compared(network: CausalNetwork, problem: Problem, budget: int, seed: int) -> str:
    """Play one run both ways and compare all along; says what kind of run it was."""
    acts = [act(problem, arm) for arm in problem.arms]
    twin = slow(problem)
    session = Session(policy("srm"), problem, horizon=budget, seed=seed)
    source = RowSource(network, problem, seed)

    look = budget // 2
    assert dict(zip(session.batch.arms, session.batch.counts, strict=True)) == {problem.arms[0]: look}
    seen = rows_of(source.tally(problem.arms[0], look))
    session.tell(problem.arms[0], seen)
    rows = coded(problem, seen)
    means = twin.means(acts, rows)

    poor = badly_seen(twin, problem, session.told, rows)
    wanted = shares(budget - look, poor) if poor else {None: budget - look}
    asked = {act(problem, arm): n for arm, n in zip(session.batch.arms, session.batch.counts, strict=True)}
    assert asked == {each: count for each, count in wanted.items() if count}
    for arm, count in zip(session.batch.arms, session.batch.counts, strict=True):
        told = rows_of(source.tally(arm, count))
        session.tell(arm, told)
        if poor:
            means[act(problem, arm)] = twin.plain_mean(coded(problem, told))
        else:
            rows = [*rows, *coded(problem, told)]
            means = twin.means(acts, rows)

    final = session.recommend()
    expected = [np.nan if (mean := means[each]) is None else mean for each in acts]
    assert final.means.tolist() == pytest.approx(expected, abs=1e-9, nan_ok=True)
    assert expected[problem.index(final.arm)] >= np.nanmax(expected) - 1e-9
    untried = any(not count for count in wanted.values())
    return "looked on" if not poor else "left some untried" if untried else "tried"


def even(rng: np.random.Generator) -> CausalNetwork:
    """Four to six causes near 1/2, none rarer than 1/3: too many are rarer than 1/2, so m is 3 and Q empty."""
    names = [f"X{number}" for number in range(rng.integers(4, 7))]
    chosen = rng.choice(names, 2, replace=False).tolist()
    causes = {name: bernoulli((), rng.uniform(0.43, 0.48)) for name in names}
    return CausalNetwork(causes | {"Y": bernoulli(chosen, rng.uniform(0.1, 0.9, (2, 2)), parents=names)})


@pytest.mark.slow("1 s: SRM in plain Python on 60 networks; finds a wrong q, m or set Q")
@pytest.mark.soak
def test_300_random_networks_are_played_alike() -> None:
    """Hidden confounders or none, arms that looking cannot settle, rewards anywhere in the order, small budgets too."""
    kinds: Counter[str] = Counter()
    for number in range(NETWORKS):
        rng = np.random.default_rng((20, number))
        network = even(rng) if number % 10 == 9 else semi_markovian(rng, binary=True if number % 3 else None)
        problem = network.problem("Y") if number % 10 == 9 else any_problem(network, rng)
        budget = int(rng.choice((2, 7, 23, 60, 160, 161, 400))) if number % 10 != 9 else 401
        kinds[compared(network, problem, budget, number)] += 1
        kinds["no confounder"] += not problem.graph.bidirected
        kinds["not identifiable"] += any(slow(problem).judged(node).others is None for node in problem.intervene)
    assert min(kinds.values()) >= NETWORKS / 30, kinds
    assert len(kinds) == 5, kinds


def test_ties_are_broken_at_random_and_evenly() -> None:
    """All rewards are 0: every arm that was tried has mean 0, and so has do(); those are best and equally so.

    80 draws among 5 arms: each comes up 16 times; fewer than 1 for some arm has probability 5 * .8^80 < 1e-7.
    """
    problem = Problem("A -> Y; A <-> Y; B -> Y; B <-> Y", "Y")
    found: Counter[str] = Counter()
    for seed in range(80):
        session = Session(policy("srm"), problem, horizon=40, seed=seed)
        while not session.finished:
            (arm,) = session.ask()
            row = {"A": 0, "B": 0, "Y": 0} | dict(arm.settings)
            session.tell(arm, row)
        found[str(session.recommend().arm)] += 1
    assert set(found) == set(map(str, problem.arms))
