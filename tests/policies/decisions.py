"""What policies decide, on record: ``python -m tests.policies.decisions`` writes tests/golden/decisions.json.

For every policy, some of its variants and some instances: a hash of all batches and the recommendation of a play, and
one of what becomes of some simulated runs.  An entry names the policy's revision: who changes decisions raises it and
writes the file again.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import whichdo as wd
from tests.worlds import family
from whichdo.errors import TooLargeError, UnsuitableError
from whichdo.evidence import Tally
from whichdo.policies.base import check_policy
from whichdo.simulation import simulate
from whichdo.world.instances import Instance, canonical, structural
from whichdo.world.mechanism import bernoulli
from whichdo.world.network import CausalNetwork
from whichdo.world.sampler import World

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whichdo.policies.base import Policy
    from whichdo.problem import Problem

FILE = Path(__file__).parents[1] / "golden" / "decisions.json"
BUDGETS = (61.0, 240.0)
RUNS, SEEDS = 6, 2
_TABLE = np.linspace(0.2, 0.9, 8).reshape(2, 2, 2)


def variants() -> Iterator[tuple[str, Policy]]:
    """Every policy by default, for a right graph, and with its other steps."""
    for name in wd.available_policies():
        made = wd.policy(name)
        yield name, made
        if made.trusting() != made:
            yield f"{name}, trusting", made.trusting()
    yield "srm, rejects", wd.policy("srm", second_phase="rejects")
    yield "srm, pool", wd.policy("srm", pool=True, prune_parents=False)
    yield "warm-halving, rewards alone", wd.policy("warm-halving", mechanisms=False)
    yield "causal-ts, no sharing", wd.policy("causal-ts", shares=False)


@cache
def worlds() -> dict[str, tuple[CausalNetwork, Problem]]:
    """Settled arms and others, hidden causes and none, other domains, costs, goals, pruned and joint arms."""
    chosen: list[Instance] = [canonical(name) for name in ("frontdoor", "bow", "backdoor")]
    chosen += [*family("random-confounded", 5)[:1], *family("bows", 1)[:1], *family("no-backdoor", 1)[:1]]
    chosen += [*family("experiment-3"), structural(3)]
    found = {each.name: (each.network, each.problem) for each in chosen}
    network = CausalNetwork(
        {
            "Z": bernoulli((), 0.7),
            "X": bernoulli(("Z",), [0.2, 0.6]),
            "W": bernoulli(("Z",), [0.5, 0.1]),
            "Y": bernoulli(("X", "W"), [[0.3, 0.5], [0.8, 0.2]]),
        }
    )
    found["costs"] = network, network.problem("Y", costs={"do(X=1)": 2.5, "do()": 0.5}, goal="minimize")
    causes = CausalNetwork(
        {f"X{j}": bernoulli((), 0.1 * j) for j in (1, 3, 5)} | {"Y": bernoulli(("X1", "X3", "X5"), _TABLE)}
    )
    found["causes"] = causes, causes.problem("Y")
    found["pruned"] = network, network.problem("Y", at_once=2).but(prune=True)
    return found


def decisions(named: Policy, network: CausalNetwork, problem: Problem) -> str | None:
    """A hash of all that a policy decides; None where it refuses the problem."""
    told = _equipped(named, network, problem)
    digest, refused = hashlib.sha256(), 0
    for budget in BUDGETS:
        try:
            check_policy(told, problem, budget)
        except UnsuitableError:
            refused += 1
            continue
        for seed in range(SEEDS):
            logs = _logs(told, network, problem, budget) if seed else Tally.empty(problem)
            for part in _played(told, World(network, problem, seed), budget, seed, logs):
                digest.update(repr(part).encode())
        found = simulate(told, network, problem, budget=budget, runs=RUNS, seed=4)
        curve = [] if found.curve is None else np.round(found.curve, 6).tolist()
        digest.update(repr((found.recommended.tolist(), np.round(found.spent, 6).tolist(), curve)).encode())
    return None if refused == len(BUDGETS) else digest.hexdigest()[:16]


def _equipped(each: Policy, network: CausalNetwork, problem: Problem) -> Policy:
    if is_dataclass(each) and "laws" in {field.name for field in fields(each)}:
        try:
            return replace(each, laws=network.parent_laws(problem))
        except TooLargeError:
            return each
    return each


def _logs(each: Policy, network: CausalNetwork, problem: Problem, budget: float) -> Tally:
    """Some looks, counted by what the policy's first batch asks for, by pairs with the reward and by all nodes."""
    first = next(each.play(problem, budget, np.random.default_rng(0), Tally.empty(problem)))
    pairs = [(name, problem.reward) for name in problem.graph.nodes if name != problem.reward]
    pairs = [scope for pair in pairs for scope in (pair, pair[::-1])]
    return wd.count(problem, network.sample(200, seed=8), scopes=[*(first.scopes or ()), *pairs, problem.graph.nodes])


def _played(each: Policy, world: World, budget: float, seed: int, logs: Tally) -> Iterator[Any]:
    play = each.play(world.problem, budget, np.random.default_rng(seed), logs)
    answer: Any = None
    while True:
        try:
            batch = play.send(answer)
        except StopIteration as stop:
            yield str(stop.value.arm), stop.value.notes
            return
        yield [str(arm) for arm in batch.arms], batch.counts, int(batch.detail), batch.scopes
        answer = world.pull(batch)


def recorded() -> dict[str, dict[str, str]]:
    """All of it: for each variant, with its revision, the hash of each world that it plays in."""
    found = {}
    for name, each in variants():
        played = {world: decisions(each, *given) for world, given in worlds().items()}
        found[f"{name}; revision {each.revision}"] = {world: hashed for world, hashed in played.items() if hashed}
    return found


if __name__ == "__main__":
    FILE.write_text(json.dumps(recorded(), indent=1) + "\n", encoding="utf-8")
