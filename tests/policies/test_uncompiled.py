"""A sequential policy chooses the same, to the last bit of its state, whether its kernels are compiled or not."""

from __future__ import annotations

import subprocess
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import whichdo as wd
from tests.policies.decisions import variants, worlds
from tests.policies.test_conformance import equipped
from tests.soak import FULL
from whichdo.errors import UnsuitableError
from whichdo.evidence import Tally
from whichdo.kernels.compiling import uncompiled
from whichdo.policies import sequential
from whichdo.policies.base import Objective, check_policy
from whichdo.world.mechanism import bernoulli
from whichdo.world.network import CausalNetwork
from whichdo.world.sampler import World

if TYPE_CHECKING:
    from whichdo.policies.base import Policy
    from whichdo.policies.sequential import Rounds
    from whichdo.problem import Problem

NAMING = [(name, each) for name, each in variants() if each.objective is Objective.SIMPLE]
EARNING = [(name, each) for name, each in variants() if each.objective is Objective.CUMULATIVE]
CHOICES = 10**6 if FULL else 10**4
"""Of all policies together."""


def flat(state: Any) -> list[bytes]:
    """Every number of a state, by its bits."""
    if isinstance(state, tuple):
        return [part for each in state for part in flat(each)]
    return [np.asarray(state).tobytes()]


def told(rounds: Rounds, problem: Problem, rng: np.random.Generator) -> None:
    """A row that does not know the world: any values, as random as may be."""
    sizes = [len(problem.domains[problem.graph.nodes[column]]) for column in rounds.columns]
    row = np.array([rng.integers(size) for size in sizes], np.uint8)
    levels = len(problem.domains[problem.reward])
    level = int(row[-1]) if rounds.reads else int(rng.random() < 0.2 + 0.05 * rounds.arm) * (levels - 1)
    rounds.take(level, row if rounds.reads else sequential.NO_ROW)


def begun(each: Policy, problem: Problem, seed: int, plain: int, monkeypatch: pytest.MonkeyPatch) -> Rounds:
    monkeypatch.setattr(sequential, "PLAIN_ROUNDS", plain)
    monkeypatch.setattr(sequential, "PLAIN_NUMBERS", 10**9)
    found = each.play_by_round(problem, 1e6, np.random.default_rng(seed), Tally.empty(problem))
    assert isinstance(found, sequential.Rounds)
    return found


@pytest.mark.soak
@pytest.mark.slow("8 s: every round of every sequential policy twice, once in plain Python")
@pytest.mark.parametrize(("name", "each"), [pytest.param(*given, id=given[0]) for given in EARNING])
def test_chooses_the_same_uncompiled(name: str, each: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    """A draw that differs in its last bit would sooner or later choose another arm, and changes the state at once."""
    choices = CHOICES // len(EARNING)
    served = []
    for world, (network, problem) in worlds().items():
        policy = equipped(each, network, problem)
        try:
            check_policy(policy, problem, 240)
        except UnsuitableError:
            continue
        served.append((world, policy, problem))
    for seed, (world, policy, problem) in enumerate(served):
        plain = begun(policy, problem, seed, 10**9, monkeypatch)
        fast = begun(policy, problem, seed, 0, monkeypatch)
        one, other = np.random.default_rng(seed), np.random.default_rng(seed)
        for number in range(-(-choices // len(served))):
            assert plain.arm == fast.arm, (world, number)
            assert plain.reads == fast.reads
            told(plain, problem, one)
            told(fast, problem, other)
            if number % 64 == 0:
                assert flat(plain._state) == flat(fast._state), (world, number)
        assert flat(plain._state) == flat(fast._state)
        assert plain.recommendation().means.tobytes() == fast.recommendation().means.tobytes()


@pytest.mark.slow("10 s: every batch policy twice, once in plain Python")
@pytest.mark.parametrize(("name", "each"), [pytest.param(*given, id=given[0]) for given in NAMING])
def test_asks_for_the_same_batches_uncompiled(name: str, each: Policy) -> None:
    for network, problem in worlds().values():
        policy = equipped(each, network, problem)
        for seed, budget in enumerate((61.0, 240.0)):
            try:
                check_policy(policy, problem, budget)
            except UnsuitableError:
                continue
            found = []
            for mode in (nullcontext, uncompiled):
                world = World(network, problem, seed)
                play: Any = policy.play(problem, budget, np.random.default_rng(seed), Tally.empty(problem))
                batches, answer, final = [], None, None
                while final is None:
                    try:
                        with mode():
                            batches.append(play.send(answer))
                    except StopIteration as stop:
                        final = stop.value
                    else:
                        answer = world.pull(batches[-1])
                found.append((batches, final.arm, final.means.tobytes()))
            assert found[0] == found[1]


def test_the_comparison_sees_a_last_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: a mean that is one rounding off."""
    problem = worlds()["causes"][1]
    one, other = (begun(wd.policy("ts"), problem, 3, 10**9, monkeypatch) for _ in range(2))
    assert one.arm == other.arm
    assert flat(one._state) == flat(other._state)
    other._state.wins[1] = np.nextafter(other._state.wins[1], 2.0)
    assert flat(one._state) != flat(other._state)


SESSION = """
import whichdo as wd
problem = wd.Problem("Z -> X -> Y; Z -> W -> Y; X <-> W", "Y")
session = wd.Session(name, problem, horizon=100, seed=1)
for number in range(30):
    (arm,) = session.ask()
    session.tell(arm, {"Z": number % 2, "X": number % 3 // 2, "W": 1, "Y": number % 5 // 3, **arm.settings})
"""


MANY_ARMS = """
import whichdo as wd
nodes = [f"X{number}" for number in range(600)]
graph = wd.CausalGraph(directed=[*((name, "X0") for name in nodes[1:]), ("X0", "Y")])
session = wd.Session(name, wd.Problem(graph, "Y", intervene=nodes), horizon=15_000, seed=1)
for arm in session.ask(2_000):
    session.tell(arm, {"Y": len(str(arm)) % 2})
"""
"""1,201 arms: a pass over them takes milliseconds, the compiler more than a second."""


AUDITED = """
import random, tempfile
import whichdo as wd
problem = wd.Problem("Z -> X -> Y; Z -> W -> Y", "Y")
rng = random.Random(1)
logs = {name: [rng.randrange(2) for _ in range(400)] for name in "ZXWY"}
folder = tempfile.mkdtemp()
campaign = wd.Campaign.create(f"{folder}/a.db", "audited", name, problem, horizon=150, logs=logs)
while tickets := campaign.ask(50, client="me"):
    for ticket in tickets:
        campaign.tell(ticket, {**{name: rng.randrange(2) for name in "ZXWY"}, **ticket.arm.settings})
assert campaign.status().phase == "finished"
"""


PROGRAM = """
import sys
for name in {names!r}:
    exec({code!r}, {{"name": name}})
    print(name, *({{"numba", "llvmlite"}} & set(sys.modules)))
"""
SMALL = ("ucb", "kl-ucb", "ts", "crm", "causal-ts", "causal-kl-ucb", "ue", "sr", "srm", "sh", "warm-halving")


@pytest.mark.slow("1 s: all policies in a process of their own")
@pytest.mark.parametrize(
    ("code", "names"),
    [
        pytest.param(SESSION, SMALL, id="a session of a small problem"),
        pytest.param(MANY_ARMS, ("ue", "sr", "sh"), id="a policy that only pulls, with many arms"),
        pytest.param(AUDITED, ("ue", "srm"), id="a campaign that is audited to its end"),
    ],
)
def test_small_work_loads_no_compiler(code: str, names: tuple[str, ...]) -> None:
    """One policy after the other; what it loads is named beside the first that does."""
    program = PROGRAM.format(code=code, names=names)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == list(names), done.stderr


def test_a_network_with_wide_tables_is_left_to_the_compiler() -> None:
    """By the problem alone: 2^8 cells are too many to be read one by one."""
    nodes = {f"X{j}": bernoulli((), 0.5) for j in range(7)}
    network = CausalNetwork({**nodes, "Y": bernoulli(tuple(nodes), np.linspace(0.1, 0.9, 128).reshape((2,) * 7))})
    small = worlds()["causes"][1]
    assert wd.policy("causal-ts").numbers_read(small) <= sequential.PLAIN_NUMBERS
    many = network.problem("Y", at_once=3)
    assert wd.policy("causal-ts").numbers_read(many) > sequential.PLAIN_NUMBERS
