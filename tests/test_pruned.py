"""``Problem(prune=True)``: exact answers, an independent twin that compares arms one by one, soundness in models."""

from __future__ import annotations

import doctest
import itertools
import pickle
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import whichdo as wd
from tests import twins
from tests.estimate.oracle import Oracle, semi_markovian
from tests.identification.laws import fixture, fixture_graph, onto, under
from tests.soak import scaled
from whichdo import candidates
from whichdo.errors import ProblemError, TooLargeError, UnsuitableError
from whichdo.identification import pruning
from whichdo.problem import Arm, Problem, do
from whichdo.problem_file import problem_from_json, problem_to_json, problem_to_toml, read_problem, write_problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whichdo.world.network import CausalNetwork

Names = tuple[str, ...]
INSTRUMENT = "Z -> X -> Y; X <-> Y"


def answering_sets(problem: Problem) -> set[Names]:
    return {arm.targets for arm in problem.answers}


def as_sets(sets: Iterable[Iterable[str]]) -> set[Names]:
    return {tuple(sorted(each)) for each in sets}


# ------------------------------------------------------------------------------------------------------ exact answers


@pytest.mark.parametrize("entry", fixture("pomis"), ids=lambda entry: entry["name"])
def test_with_all_sets_on_offer_the_possibly_optimal_ones_are_left(entry: dict[str, Any]) -> None:
    graph, others = fixture_graph(entry), [name for name in fixture_graph(entry).nodes if name != "Y"]
    assert answering_sets(Problem(graph, "Y", others, at_once=None, prune=True)) == as_sets(entry["pomis"])
    free = [name for name in others if name not in entry["not_manipulable"]]
    if free:
        problem = Problem(graph, "Y", free, at_once=None, prune=True)
        assert answering_sets(problem) == as_sets(entry["pomis_not_manipulable"])


@pytest.mark.parametrize("entry", fixture("limited"))
def test_with_few_nodes_at_once_the_exact_sets_are_left(entry: dict[str, Any]) -> None:
    graph = fixture_graph(entry)
    for at_once, key in ((1, "k1"), (2, "k2"), (None, "all")):
        problem = Problem(graph, "Y", [name for name in graph.nodes if name != "Y"], at_once=at_once, prune=True)
        assert answering_sets(problem) == as_sets(entry[key])
        assert problem.arms[0] == do()
        assert {*problem.answers, *problem.pruned} == {*problem.offered}


# --------------------------------------------------------------------------------------------------------- the twin


def minimal_settings(mixed: twins.Mixed, reward: str, settings: dict[str, Any]) -> dict[str, Any]:
    arrows = frozenset(arrow for arrow in mixed.arrows if arrow[1] not in settings)
    acting = twins.ancestors(twins.Mixed(mixed.nodes, arrows, frozenset()), [reward])
    return {name: value for name, value in settings.items() if name in acting}


def seen_is_set(mixed: twins.Mixed, reward: str, targets: Iterable[str], added: Iterable[str]) -> bool:
    """Condition (i): the reward is separated from W given X, without edges into X and arrows out of W."""
    gone, out = set(targets), set(added)
    arrows = frozenset((a, b) for a, b in mixed.arrows if b not in gone and a not in out)
    cut = twins.Mixed(mixed.nodes, arrows, frozenset(bow for bow in mixed.bows if not bow & gone))
    return all(twins.separated(cut, name, reward, gone) for name in out)


class Twin:
    """Every arm against every family, by the definition: no laziness, no classes, no target sets."""

    def __init__(self, mixed: twins.Mixed, reward: str, domains: dict[str, Sequence[int]], arms: Sequence[Arm]) -> None:
        self.mixed, self.reward, self.domains = mixed, reward, domains
        self.bare = {arm: Arm(minimal_settings(mixed, reward, dict(arm.settings))) for arm in arms}
        self.things = sorted(set(self.bare.values()), key=lambda arm: (len(arm.targets), arm.targets))
        values: dict[str, set[int]] = {}
        for arm in self.things:
            for name, value in arm.settings.items():
                values.setdefault(name, set()).add(value)  # type: ignore[arg-type]
        self.free = [name for name, some in values.items() if len(some) == len(domains[name])]
        self.holds: dict[tuple[Names, Names], bool] = {}
        self.families = {arm: self._families(arm) for arm in self.things}

    def _families(self, arm: Arm) -> list[set[Arm]]:
        found = []
        outside = [name for name in self.free if name not in arm.settings]
        for size in range(1, len(outside) + 1):
            for added in itertools.combinations(outside, size):
                family = {
                    Arm(minimal_settings(self.mixed, self.reward, {**arm.settings, **dict(zip(added, values))}))  # noqa: B905
                    for values in itertools.product(*(self.domains[name] for name in added))
                }
                if arm in family or not family <= self.bare.keys() | set(self.things):
                    continue
                if family <= set(self.things) and self._holds(arm.targets, added):
                    found.append(family)
        return found

    def _holds(self, targets: Names, added: Names) -> bool:
        if (targets, added) not in self.holds:
            self.holds[targets, added] = seen_is_set(self.mixed, self.reward, targets, added)
        return self.holds[targets, added]

    def kept(self) -> set[Arm]:
        staying = set(self.things)
        for arm in reversed(self.things):
            covered = staying - {arm}
            while True:
                more = {each for each in self.things if any(family <= covered for family in self.families[each])}
                if more <= covered:
                    break
                covered |= more
            if arm in covered:
                staying.discard(arm)
        return staying


def random_offer(rng: random.Random, mixed: twins.Mixed, reward: str) -> dict[str, Any]:
    """What a problem is made with: some nodes, some of their values, or arms that are listed one by one."""
    others = [name for name in mixed.nodes if name != reward]
    if rng.random() < 0.3:
        others = [name for name in others if rng.random() < 0.8] or others[:1]
    values = {name: [0, 1] if rng.random() < 0.85 else [rng.randint(0, 1)] for name in others}
    whole = rng.random() < 0.5
    at_once = rng.choice((1, 2, None))
    made: dict[str, Any] = {"intervene": others if whole else values, "at_once": at_once}
    if rng.random() < 0.4:
        arms = Problem(mixed.graph(), reward, **made).offered[1:]
        if rng.random() < 0.5:  # listed arms may have idle members
            arms = (
                *arms,
                *(do({a: 1, b: 0}) for a, b in itertools.combinations(others, 2) if do({a: 1, b: 0}) not in arms),
            )
        kept = [arm for arm in arms if rng.random() < 0.9] or list(arms[:1])
        return {"arms": kept}
    return made


@pytest.mark.soak
def test_arms_are_pruned_as_an_independent_twin_says_on_random_graphs() -> None:
    """Up to 7 nodes: all values or some, all arms or a list with holes; 300 further graphs in full."""
    rng = random.Random(71)
    pruned = listed = 0
    for _ in range(scaled(300, least=150)):
        mixed = twins.random_mixed(rng, 7)
        reward = mixed.nodes[-1] if rng.random() < 0.7 else rng.choice(mixed.nodes)
        if len(mixed.nodes) < 2:
            continue
        problem = Problem(mixed.graph(), reward, **random_offer(rng, mixed, reward), prune=True)
        if len(problem.offered) > 250:
            continue
        twin = Twin(mixed, reward, dict.fromkeys(mixed.nodes, (0, 1)), problem.offered)
        assert {twin.bare[arm] for arm in problem.answers} == twin.kept(), (mixed, problem.offered)
        assert len({twin.bare[arm] for arm in problem.answers}) == len(problem.answers)
        pruned += len(problem.pruned)
        listed += problem.has_listed_arms
    assert pruned > 60
    assert listed > 5


# --------------------------------------------------------------------------------------------------------- soundness


def exact_means(oracle: Oracle, problem: Problem) -> dict[Arm, float]:
    """The mean utility of every arm on offer, by the exact law under each intervention."""
    utility = np.array(list(problem.utility.values()))
    found = {}
    for targets in {arm.targets for arm in problem.offered}:
        laws = onto(under(oracle, targets), oracle.names, (*targets, problem.reward)) @ utility
        for arm in problem.offered:
            if arm.targets == targets:
                codes = tuple(problem.domains[name].index(arm.settings[name]) for name in targets)
                found[arm] = float(laws[codes])
    return found


def random_problem(rng: np.random.Generator, network: CausalNetwork, **options: Any) -> Problem:
    names = network.graph.nodes
    reward = (
        str(rng.choice(names))
        if rng.random() < 0.3
        else max(names, key=lambda name: len(network.graph.ancestors([name])))
    )
    rewards = {level: float(rng.random()) for level in network.domains[reward]}
    goal = str(rng.choice(["maximize", "minimize"]))
    others = [name for name in names if name != reward and rng.random() < 0.85]
    others = others or [name for name in names if name != reward][:1]
    partly = {
        name: [value for value in network.domains[name] if rng.random() < 0.75] or network.domains[name][:1]
        for name in others
    }
    nodes: Any = others if rng.random() < 0.5 else partly
    whole: Problem = network.problem(
        reward, nodes, rewards=rewards, goal=goal, at_once=[1, 2, None][int(rng.integers(3))]
    )
    if rng.random() < 0.4:
        kept = [arm for arm in whole.offered[1:] if rng.random() < 0.85]
        whole = whole.but(arms=kept or whole.offered[1:2])
    return whole.but(prune=True, **options)


@pytest.mark.soak
def test_no_pruned_arm_is_better_than_what_it_was_pruned_by_in_random_models() -> None:
    """2,000 in full.  The best answer is as good as the best arm on offer, and so is what each entry names.

    Exact means, so that nothing but rounding stands between them.  With the search for arms of every value taken out
    (an arm on Z for some value of W is enough) this failed in the first hundred models.
    """
    rng = np.random.default_rng(72)
    pruned = listed = partly = 0
    for _ in range(scaled(2_000, least=100)):
        network = semi_markovian(rng, observed=(3, 5))
        oracle = Oracle(network)
        problem = random_problem(rng, network)
        means = exact_means(oracle, problem)
        assert max(means[arm] for arm in problem.answers) >= max(means.values()) - 1e-12
        for arm, entry in problem.pruned.items():
            assert entry.by in problem.answers
            assert set(entry.among) <= set(problem.answers)
            assert max(means[each] for each in entry.among) >= means[arm] - 1e-12, (arm, entry)
        pruned += len(problem.pruned)
        listed += problem.has_listed_arms
        partly += any(len(values) < len(problem.domains[name]) for name, values in problem.intervene.items())
    assert pruned > 300
    assert min(listed, partly) > 10


def test_an_instrument_that_can_be_set_to_one_value_prunes_nothing() -> None:
    """Then do() is uniquely best in some models: pruning it would lose the best arm."""
    problem = Problem(INSTRUMENT, "Y", {"Z": [1], "X": [0, 1]}, prune=True)
    assert problem.answers == problem.offered
    assert not problem.pruned
    rng = np.random.default_rng(3)
    alone = 0
    for _ in range(300):
        z, u, x, y = rng.random(), rng.random(), rng.random((2, 2)), rng.random((2, 2))
        by_u = np.array([1 - u, u])
        looking = sum(
            pz * by_u[h] * (x[v, h] * y[1, h] + (1 - x[v, h]) * y[0, h])
            for v, pz in enumerate((1 - z, z))
            for h in range(2)
        )
        set_z = sum(by_u[h] * (x[1, h] * y[1, h] + (1 - x[1, h]) * y[0, h]) for h in range(2))
        alone += looking > max(set_z, *(y @ by_u)) + 1e-9
    assert alone > 0
    assert set(Problem(INSTRUMENT, "Y", prune=True).pruned) == {do()}


def test_a_node_with_a_missing_level_cannot_take_the_place_of_looking() -> None:
    """Nobody sets a number to missing, so that setting Z does not cover all that looking shows."""
    binned = Problem(INSTRUMENT, "Y", domains={"Z": wd.bins([10, 20])}, prune=True)
    assert set(binned.pruned) == {do()}
    lacking = Problem(INSTRUMENT, "Y", domains={"Z": wd.bins([10, 20, "missing"])}, prune=True)
    assert not lacking.pruned


def test_the_search_may_stop_early_and_then_keeps_the_arm(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = "A -> B -> Y; A <-> B; B <-> Y; A -> Y"
    whole = Problem(graph, "Y", at_once=2, prune=True)
    assert whole.pruned
    monkeypatch.setattr(pruning, "MAX_TRIES", 0)
    assert not Problem(graph, "Y", {"A": [0, 1], "B": [1]}, at_once=2, prune=True).pruned


def test_a_search_without_time_keeps_arms_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not Problem(INSTRUMENT, "Y", {"Z": [0, 1], "X": [1]}, prune=True).warnings[1:]
    monkeypatch.setattr(candidates, "MOST_WORK", 20)
    problem = Problem(INSTRUMENT, "Y", {"Z": [0, 1], "X": [1]}, prune=True)
    assert not problem.pruned
    assert "too many arms to compare each with all others" in problem.warnings[-1]
    assert Problem(INSTRUMENT, "Y", prune=True).pruned  # all sets are on offer: there is nothing to search for


# ------------------------------------------------------------------------------------------------------------ the names


def test_pruned_arms_say_by_which_and_why() -> None:
    problem = Problem(f"{INSTRUMENT}; Q", "Y", at_once=2, prune=True)
    assert problem.arms == (do(), do(Z=0), do(Z=1), do(X=0), do(X=1))
    assert problem.answers == problem.arms[1:]
    assert problem.first_answer == 1
    assert set(problem.pruned) == {do(), do(Q=0), do(Q=1)}
    entry = problem.pruned[do()]
    assert entry.by == do(Z=0)
    assert entry.among == (do(Z=0), do(Z=1))
    assert entry.reason == (
        "Nothing ties Z to Y but what it does: do() is an average over the values of Z, and the best of them is at "
        "least as good."
    )
    assert problem.pruned[do(Q=1)].reason.startswith("The same as do(): Q does not act on Y; nothing ties Z")
    assert entry.to_dict() == {
        "by": {"settings": {"Z": 0}, "text": "do(Z=0)"},
        "among": [do(Z=0).to_dict(), do(Z=1).to_dict()],
        "reason": entry.reason,
    }
    assert repr(problem).endswith("5 arms on 3 of 4 nodes, 3 pruned>")
    with pytest.raises(KeyError):
        problem.pruned[do(X=1)]


def test_an_idle_member_is_the_same_as_the_arm_without() -> None:
    problem = Problem("Z -> X -> Y", "Y", arms=[do(X=1, Z=0), do(X=1), do(X=0, Z=1)], prune=True)
    assert problem.answers == (do(X=1), do(X=0, Z=1))
    assert problem.pruned[do(X=1, Z=0)].among == (do(X=1),)
    assert problem.pruned[do(X=1, Z=0)].reason == "The same as do(X=1): Z does nothing once X is set."
    assert problem.pruned[do()].among == (do(X=0, Z=1), do(X=1))  # an arm that does the same as do(X=0) will do


def test_where_nothing_acts_there_is_nothing_to_decide() -> None:
    problem = Problem("X; Y", "Y", prune=True)
    assert problem.arms == problem.answers == (do(),)
    assert "can be set; pruned" in str(problem)
    found = wd.rank(problem, {"X": [0, 1] * 20, "Y": [0, 1, 1, 1] * 10})
    assert found.best is None
    assert list(found) == [do()]
    for name in ("ue", "warm-halving", "causal-ts", "srm"):
        with pytest.raises(UnsuitableError, match="There is nothing to decide: by the graph no arm can be better"):
            wd.Session(wd.policy(name), problem, horizon=100)


def test_an_arm_that_was_pruned_is_named_as_that() -> None:
    problem = Problem("A -> Y; B -> Y", "Y", at_once=2, prune=True)
    for ask in (lambda: problem.index(do(A=1)), lambda: problem.arm("do(A=1)")):
        with pytest.raises(ProblemError, match=r"do\(A=1\) was pruned: it is never better than the best of do\(A=1, B"):
            ask()
    assert problem.find_arm("do(A=1)") is None
    assert problem.unpruned.arm("do(A=1)") == do(A=1)


def test_costs_may_name_pruned_arms_and_only_the_others_are_pulled() -> None:
    problem = Problem("A -> Y; B -> Y", "Y", at_once=2, prune=True, costs={"do(A=1)": 5, "do(A=1, B=0)": 2})
    assert do(A=1) not in problem.costs
    assert problem.prices[do(A=1)] == 5
    assert problem.unpruned.costs[do(A=1)] == 5
    assert problem.costs[do(A=1, B=0)] == 2


def test_the_problem_is_the_same_pickled_and_written(tmp_path: Path) -> None:
    for options in ({"at_once": 2}, {"at_once": None}, {}, {"intervene": {"Z": [1], "X": [0, 1]}}):
        problem = Problem(INSTRUMENT, "Y", prune=True, **options)
        write_problem(problem, tmp_path / "problem.toml")
        assert "prune = true" in problem_to_toml(problem)
        copies = [pickle.loads(pickle.dumps(problem)), problem_from_json(problem_to_json(problem)), problem.but()]
        for copy in (*copies, read_problem(tmp_path / "problem.toml")):
            assert copy == problem
            assert copy.arms == problem.arms
            assert {arm: copy.pruned[arm] for arm in copy.pruned} == {
                arm: problem.pruned[arm] for arm in problem.pruned
            }
        assert problem.unpruned != problem
        assert problem.unpruned.but(prune=True) == problem
        assert hash(problem.unpruned) != hash(problem)
    assert "prune" not in problem_to_json(Problem(INSTRUMENT, "Y"))


def test_a_problem_file_may_prune_and_set_all_at_once(tmp_path: Path) -> None:
    path = tmp_path / "problem.toml"
    path.write_text(f'graph = "{INSTRUMENT}"\nreward = "Y"\nat_once = "all"\nprune = true\n')
    assert read_problem(path) == Problem(INSTRUMENT, "Y", at_once=None, prune=True)
    for line, words in (
        ('prune = "yes"', "`prune` is 'yes'; it must be true or false"),
        ('at_once = "every"', "`at_once` is 'every'; it must be a whole number of nodes, or \"all\""),
    ):
        path.write_text(f'graph = "{INSTRUMENT}"\nreward = "Y"\n{line}\n')
        with pytest.raises(ProblemError, match=words):
            read_problem(path)
    with pytest.raises(ProblemError, match='`prune` is "1"; it must be True or False'):
        Problem(INSTRUMENT, "Y", prune=1)  # type: ignore[arg-type]


def test_other_graphs_and_other_arms_prune_anew() -> None:
    problem = Problem("X -> Y; Z -> Y", "Y", prune=True)
    assert set(problem.pruned) == {do()}
    confounded = problem.but(graph=wd.CausalGraph.parse("X -> Y; Z -> Y; X <-> Y; Z <-> Y"))
    assert not confounded.pruned
    assert not problem.but(arms=[do(X=1), do(Z=1)]).pruned
    assert problem.but(arms=[do(X=1), do(Z=1)]).offered == (do(), do(X=1), do(Z=1))


def test_the_examples_of_the_page_are_true() -> None:
    page = Path(__file__).parents[1] / "docs" / "levers.md"
    found = doctest.testfile(str(page), module_relative=False)
    assert found.attempted > 10
    assert found.failed == 0


@pytest.mark.parametrize("options", [{"at_once": None}, {"at_once": 30}])
def test_too_many_arms_are_refused_before_any_is_pruned(options: dict[str, Any]) -> None:
    graph = "; ".join(f"A{number} -> Y" for number in range(30))
    with pytest.raises(TooLargeError, match="1,073,741,823 sets of up to 30 nodes") as caught:
        Problem(graph, "Y", prune=True, **options)
    assert "possibly_optimal" in str(caught.value)
