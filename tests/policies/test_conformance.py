"""What every registered policy must do; a new one is picked up by its registration."""

from __future__ import annotations

import contextlib
import re
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.policies.driving import batch_by_batch
from tests.sessions import RowSource, rows_of
from tests.soak import repeated
from tests.worlds import family
from whichdo.errors import TooLargeError, UnsuitableError, UsageError
from whichdo.evidence import ROWS, Tally
from whichdo.policies.sequential import Sequential
from whichdo.policy_names import available_policies, policy
from whichdo.problem import Problem, do
from whichdo.session import Session
from whichdo.simulation import played as run_played
from whichdo.simulation import run_rounds, simulate
from whichdo.world.instances import Instance, canonical, families
from whichdo.world.mechanism import bernoulli
from whichdo.world.network import CausalNetwork
from whichdo.world.sampler import World

if TYPE_CHECKING:
    from collections.abc import Callable

    from whichdo.policies.base import Policy, Recommendation

    Tell = Callable[[Session, RowSource, np.random.Generator], None]

EVERY = [policy(name) for name in available_policies()]
SEQUENTIAL = [each for each in EVERY if isinstance(each, Sequential)]
NAMED = pytest.mark.parametrize("played", EVERY, ids=lambda each: each.name)
AGAIN = pytest.mark.slow("10 s: every policy once more, at another budget or with costs that differ")
DEAR = pytest.mark.parametrize(
    "dear", [pytest.param(False, id="equal costs"), pytest.param(True, id="different costs", marks=AGAIN)]
)


def plain() -> CausalNetwork:
    """Three causes of Y; do(X2=1) has mean .9 and every other arm at most .6."""
    table = np.full((2, 2, 2), 0.3)
    table[:, 1, :] = 0.9
    return CausalNetwork(
        {f"X{j}": bernoulli((), 0.5 if j != 2 else 0.2) for j in (1, 2, 3)}
        | {"Y": bernoulli(("X1", "X2", "X3"), table)}
    )


def equipped(each: Policy, network: CausalNetwork, problem: Problem) -> Policy:
    """The policy, told what it must know beyond the graph; one that cannot be told here says so when it is checked."""
    if is_dataclass(each) and "laws" in {field.name for field in fields(each)}:
        with contextlib.suppress(TooLargeError):
            return replace(each, laws=network.parent_laws(problem))
    return each


def played_out(each: Policy, network: CausalNetwork, problem: Problem, budget: float, seed: int) -> tuple[Any, ...]:
    """Every batch and the recommendation of one run."""
    world = World(network, problem, seed)
    play = each.play(problem, budget, np.random.default_rng(seed), Tally.empty(problem))
    batches = []
    answer: Any = None
    while True:
        try:
            batches.append(play.send(answer))
        except StopIteration as stop:
            final: Recommendation = stop.value
            return batches, final
        answer = world.pull(batches[-1])


@NAMED
@pytest.mark.parametrize("budget", [40, *(pytest.param(budget, marks=AGAIN) for budget in (41, 100, 997))])
def test_never_over_budget_and_only_listed_arms(played: Policy, budget: int) -> None:
    confounded = [canonical("frontdoor"), canonical("bow"), *family("random-confounded", 1)[:2]]
    open_to_view = [canonical("backdoor"), *family("no-backdoor", 1)[:1], *family("experiment-3")]
    for seed, instance in enumerate([*confounded, *open_to_view]):
        told = equipped(played, instance.network, instance.problem)
        try:
            told.check(instance.problem, budget)
        except UnsuitableError:
            continue
        batches, final = played_out(told, instance.network, instance.problem, budget, seed)
        assert sum(batch.pulls for batch in batches) <= budget
        assert {arm for batch in batches for arm in batch.arms} | {final.arm} <= set(instance.problem.arms)


@NAMED
def test_the_same_seed_decides_the_same_and_global_randomness_has_no_say(played: Policy) -> None:
    network = plain()
    problem = network.problem("Y")
    played = equipped(played, network, problem)
    first = played_out(played, network, problem, 200, 5)
    before = np.random.get_state()[1].tolist()  # type: ignore[index]  # noqa: NPY002
    np.random.seed(1)  # noqa: NPY002 - what a user's script may do
    second = played_out(played, network, problem, 200, 5)
    assert first[0] == second[0]
    assert first[1].arm == second[1].arm
    assert before is not None


@NAMED
def test_a_hopeless_budget_is_refused_with_the_least_that_would_do(played: Policy) -> None:
    problem = plain().problem("Y")
    played = equipped(played, plain(), problem)
    with pytest.raises(UnsuitableError, match=f"{re.escape(played.name)} needs a budget of at least") as refused:
        played.check(problem, 1)
    found = re.search(r"at least ([\d.]+)", str(refused.value))
    assert found is not None
    least = float(found[1])
    played.check(problem, least)
    with pytest.raises(UnsuitableError):
        played.check(problem, least - 1)
    played_out(played, plain(), problem, least, 1)


@pytest.mark.slow("3 s: 200 runs of every policy; finds one that runs but does not learn")
@NAMED
def test_an_obvious_best_arm_is_found_in_95_percent_of_200_runs(played: Policy) -> None:
    network = plain()
    played = equipped(played, network, network.problem("Y"))
    found = simulate(played, network, network.problem("Y"), horizon=700, runs=200, seed=3)
    assert sum(arm == do(X2=1) for arm in found.arms) >= 190


def tell_whole_batches(session: Session, source: RowSource, rng: np.random.Generator) -> None:
    """All pulls of a batch, a tally for each arm."""
    batch = session.batch
    for arm, count in zip(batch.arms, batch.counts, strict=True):
        session.tell(arm, source.tally(arm, count))


def tell_one_pull(session: Session, source: RowSource, rng: np.random.Generator) -> None:
    """What is asked next, a row."""
    (arm,) = session.ask()
    session.tell(arm, source.rows(arm, 1)[0])


def tell_in_any_split(session: Session, source: RowSource, rng: np.random.Generator) -> None:
    """A batch in random portions of random arms, as rows, columns and tallies; rows in any order where none is kept."""
    batch = session.batch
    left = {arm: rows_of(source.tally(arm, count)) for arm, count in zip(batch.arms, batch.counts, strict=True)}
    if batch.detail is not ROWS:
        left = {arm: [rows[j] for j in rng.permutation(len(rows))] for arm, rows in left.items()}
    while left:
        arm = list(left)[int(rng.integers(len(left)))]
        count = int(rng.integers(1, len(left[arm]) + 1)) if rng.random() < 0.3 else 1
        part, left[arm] = left[arm][:count], left[arm][count:]
        if not left[arm]:
            del left[arm]
        as_columns = {name: np.array([row[name] for row in part]) for name in part[0]}
        session.tell(arm, [part, as_columns, part[0] if count == 1 else part][int(rng.integers(3))])


def driven(
    each: Policy, instance: Instance, budget: int, tell: Tell, seed: int
) -> tuple[list[tuple[Any, ...]], list[float], str]:
    """The batches that a session asked for, and its final means and arm, when told by ``tell``."""
    each = equipped(each, instance.network, instance.problem)
    session = Session(each, instance.problem, horizon=budget, seed=seed)
    source = RowSource(instance.network, instance.problem, seed)
    rng = np.random.default_rng(seed)
    batches = []
    last = -1.0
    while not session.finished:
        if session.spent + session.batch.pulls != last:  # a new batch
            last = session.spent + session.batch.pulls
            batches.append((session.batch, session.spent))
        tell(session, source, rng)
    final = session.recommend()
    return batches, np.nan_to_num(final.means, nan=-7.0).tolist(), str(final.arm)


def served(each: Policy, budget: int) -> list[Instance]:
    """Some instances that a policy can play, identifiable arms and others."""
    instances = [canonical("frontdoor"), canonical("bow"), *family("random-confounded", 3)[:2]]
    network = plain()
    instances.append(Instance("plain", network, network.problem("Y"), "three causes, nothing hidden"))
    found = []
    for instance in instances:
        try:
            equipped(each, instance.network, instance.problem).check(instance.problem, budget)
        except UnsuitableError:
            continue
        found.append(instance)
    assert found
    return found


@NAMED
@pytest.mark.parametrize("budget", [60, pytest.param(177, marks=AGAIN)])
def test_decides_the_same_told_at_once_or_pull_by_pull_or_in_any_split(played: Policy, budget: int) -> None:
    for number, instance in enumerate(served(played, budget)):
        whole = driven(played, instance, budget, tell_whole_batches, number)
        assert driven(played, instance, budget, tell_one_pull, number) == whole
        assert driven(played, instance, budget, tell_in_any_split, number) == whole


@NAMED
def test_a_fresh_session_that_is_told_the_record_asks_the_same(played: Policy) -> None:
    for number, instance in enumerate(served(played, 60)):
        told = equipped(played, instance.network, instance.problem)
        first = Session(told, instance.problem, horizon=60, seed=number)
        source = RowSource(instance.network, instance.problem, number)
        rng = np.random.default_rng(number)
        record: list[tuple[int, list[Any], Any, dict[str, Any]]] = []
        while not first.finished:
            n = int(rng.integers(1, 5))
            asked = first.ask(n)
            arm = asked[int(rng.integers(len(asked)))]
            row = source.rows(arm, 1)[0]
            record.append((n, asked, arm, row))
            first.tell(arm, row)
        again = Session(told, instance.problem, horizon=60, seed=number)
        for n, asked, arm, row in record:
            assert again.ask(n) == asked
            again.tell(arm, row)
        assert again.finished
        assert again.recommend().arm == first.recommend().arm
        assert np.array_equal(again.recommend().means, first.recommend().means, equal_nan=True)
        assert again.told.counts.tolist() == first.told.counts.tolist()


@NAMED
def test_costs_are_paid(played: Policy) -> None:
    network = plain()
    problem = network.problem("Y", costs={do(X1=0): 7.5, do(): 0.5})
    played = equipped(played, network, problem)
    try:
        played.check(problem, 301.25)
    except UnsuitableError as refused:
        assert "costs" in str(refused)  # noqa: PT017
        return
    found = simulate(played, network, problem, budget=301.25, runs=20, seed=1)
    assert (found.spent <= 301.25).all()
    assert (found.spent > 240).all()


@NAMED
@DEAR
def test_run_at_once_it_decides_as_batch_by_batch(played: Policy, dear: bool) -> None:
    """The same recommendation and the same money, on every kind of instance, for every seed."""
    rng = np.random.default_rng(11)
    chosen = [canonical("frontdoor"), canonical("bow"), canonical("two_comp")]
    chosen += [family(name, 2)[0] for name in families() if name != "bnlearn"]
    for instance in chosen:
        problem, network = instance.problem, instance.network
        if len(problem.arms) > 60:
            continue
        if dear:
            costs = {arm: float(rng.integers(1, 9)) / 2 for arm in problem.arms}
            arms = {"arms": problem.arms} if problem.has_listed_arms else {"intervene": problem.intervene}
            problem = network.problem(problem.reward, costs=costs, goal=problem.goal, **arms)
        budget = repeated(40, quick=20) * sum(problem.costs.values()) / 3
        told = equipped(played, network, problem)
        try:
            told.check(problem, budget)
        except UnsuitableError:
            continue
        for seed in range(repeated(12, quick=3) if played not in SEQUENTIAL else repeated(2, quick=1)):
            key = np.array([seed, 7], np.uint64)
            slow = batch_by_batch(told, World(network, problem, key), budget, seed)
            found = run_played(told, World(network, problem, key), budget, np.random.default_rng(seed))
            assert found[0] == slow[0]
            assert found[1] == pytest.approx(slow[1])


def test_unknown_names_and_parameters_are_refused() -> None:
    with pytest.raises(UsageError, match=r'There is no policy "smr"\. Did you mean "sr" or "srm"'):
        policy("smr")
    with pytest.raises(UsageError, match="does not take these parameters"):
        policy("ue", speed=3)
    with pytest.raises(UsageError, match="must be uniform or rejects"):
        policy("srm", second_phase="both")


def priced(each: Policy, network: CausalNetwork, problem: Problem, rng: np.random.Generator) -> Problem:
    """The problem with a price for each arm; with one for all interventions where the policy refuses that."""
    costs = {arm: float(rng.integers(1, 5)) / 2 for arm in problem.arms}
    made = network.problem(problem.reward, problem.intervene, costs=costs)
    try:
        equipped(each, network, made).check(made, sum(costs.values()))
    except UnsuitableError as refused:
        if "one price" in str(refused):
            costs = {arm: 0.5 if arm == do() else 1.5 for arm in problem.arms}
            return network.problem(problem.reward, problem.intervene, costs=costs)
    return made


@pytest.mark.parametrize("played", SEQUENTIAL, ids=lambda each: each.name)
@DEAR
def test_the_compiled_loop_makes_the_pulls_of_play(played: Sequential, dear: bool) -> None:
    """Round by round, on identifiable and other arms, binary and other domains, for several seeds."""
    rng = np.random.default_rng(12)
    chosen = [canonical("frontdoor"), canonical("bow"), *family("experiment-3"), *family("bows", 1)[:1]]
    chosen += [*family("random-confounded", 4)[:2], *family("no-backdoor", 1)[:1]]
    seen = 0
    for instance in chosen:
        problem, network = instance.problem, instance.network
        if dear:
            problem = priced(played, network, problem, rng)
        told = equipped(played, network, problem)
        budget = 300.0
        try:
            told.check(problem, budget)
        except UnsuitableError:
            continue
        assert isinstance(told, Sequential)
        seen += 1
        for seed in range(repeated(3, quick=1)):
            key = np.array([seed, 3], np.uint64)
            world = World(network, problem, key)
            play = told.play(problem, budget, np.random.default_rng(seed), Tally.empty(problem))
            arms: list[int] = []
            answer: Any = None
            try:
                while True:
                    batch = play.send(answer)
                    arms.append(problem.index(batch.arms[0]))
                    answer = world.pull(batch)
            except StopIteration as stop:
                final: Recommendation = stop.value
            marks = np.arange(1, int(budget / min(problem.costs.values())) + 1)
            record, means, _ = run_rounds(told, network, problem, budget, key, np.random.default_rng(seed), marks)
            assert np.diff(record, axis=0, prepend=0).argmax(axis=1)[: len(arms)].tolist() == arms
            assert record[-1].sum() == len(arms)
            assert np.array_equal(means, final.means, equal_nan=True)
    assert seen or dear  # a policy may refuse different costs
