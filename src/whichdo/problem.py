"""What a learner may know: the graph, what is good, and which single interventions are on offer.

An *arm* is one thing that can be done: ``do()``, which is to look and leave everything as it is, or ``do(X=x)``, which
is to set one node to one value.  A *problem* lists the arms and says which node is the reward.  It holds no
probabilities; those belong to the world.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from whichdo.domains import (
    BINARY,
    MAX_VALUES,
    Value,
    all_domains,
    check_domain,
    finite_number,
    given_list,
    given_mapping,
    known_node,
    plain_value,
    settings_of,
    worth_of_levels,
)
from whichdo.errors import ProblemError, UsageError, nearest, quoted, visible
from whichdo.graph.admg import CausalGraph
from whichdo.graph.identify import Route, Verdict, listed, verdicts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["BINARY", "MAX_VALUES", "Arm", "Goal", "Problem", "Value", "check_domain", "do", "plain_value"]

MAX_WARNINGS = 20


class Goal(StrEnum):
    """Whether a large reward is good or bad."""

    MAXIMIZE = "maximize"
    MINIMIZE = "minimize"


@dataclass(frozen=True)
class Arm:
    """One thing that can be done; written ``do()`` or ``do(X=1)``.  Make arms with `do`."""

    node: str | None = None
    value: Value | None = None

    @property
    def is_look(self) -> bool:
        """True for ``do()``: leave everything as it is and look."""
        return self.node is None

    def __str__(self) -> str:
        return "do()" if self.node is None else f"do({self.node}={self.value})"


def do(setting: Mapping[str, Value] | None = None, /, **values: Value) -> Arm:
    """The arm that sets one node, ``do(X=1)``, or none, ``do()``; a name with blanks goes into a mapping.

    >>> str(do(X=1)), str(do()), str(do({"face mask": 1}))
    ('do(X=1)', 'do()', 'do(face mask=1)')
    """
    if setting is not None and not isinstance(setting, Mapping):
        raise UsageError(
            f'do() takes a name and a value, as in do(X=1) or do({{"face mask": 1}}); found {quoted(setting)}. '
            f"problem.arm(text) finds the arm that a text names."
        )
    chosen = {**(setting or {}), **values}
    if len(chosen) > 1:
        raise UsageError(f"An arm sets one node at most; {listed(sorted(map(str, chosen)))} were given.")
    for node, value in chosen.items():
        if not isinstance(node, str):
            raise UsageError(f"An arm sets a node by its name, which is text; found {quoted(node)}.")
        return Arm(unicodedata.normalize("NFC", node), plain_value(value, node))  # as a graph keeps its names
    return Arm()


class Problem:
    """A causal bandit problem: all that a policy is told before it starts.

    ``graph``: a `CausalGraph`, or text for `CausalGraph.parse`.
    ``reward``: the node to improve; by default the one node the graph's file marks as outcome.
    ``intervene``: the nodes that can be set, or a mapping from node to the values it can be set to; by default the
    graph's exposures, or else every node but the reward.
    ``goal``: "maximize", or "minimize" when the reward is a harm.
    ``domains``: the values of each node that is not binary 0/1, in order.
    ``rewards``: what each value of a reward that is not a number in [0, 1] is worth, in [0, 1].
    ``costs``: what a pull of an arm (or of the arm a text names) costs, 1 unless given.

    >>> problem = Problem("X -> M; M -> Y; X <-> Y", reward="Y", intervene=["X"])
    >>> [str(arm) for arm in problem.arms]
    ['do()', 'do(X=0)', 'do(X=1)']
    """

    graph: CausalGraph
    reward: str
    goal: Goal
    domains: Mapping[str, tuple[Value, ...]]
    """The values of every node."""
    intervene: Mapping[str, tuple[Value, ...]]
    """The values each intervenable node can be set to."""
    rewards: Mapping[Value, float]
    """What each value of the reward is worth, on its own scale (before ``goal``)."""
    arms: tuple[Arm, ...]
    """``do()`` first, then the arms of each intervenable node in order."""
    costs: Mapping[Arm, float]
    """What a pull of each arm costs."""

    def __init__(
        self,
        graph: CausalGraph | str,
        reward: str | None = None,
        intervene: Iterable[str] | Mapping[str, Iterable[Value]] | None = None,
        *,
        goal: str = "maximize",
        domains: Mapping[str, Iterable[Value]] | None = None,
        rewards: Mapping[Value, float] | None = None,
        costs: Mapping[Arm, float] | Mapping[str, float] | None = None,
    ) -> None:
        graph = _graph(graph)
        self.__dict__["graph"] = graph
        self.__dict__["reward"] = _reward(graph, reward)
        self.__dict__["goal"] = _goal(goal)
        self.__dict__["domains"] = MappingProxyType(
            all_domains(graph, given_mapping(domains, "domains", '{"X": ["low", "high"]}'))
        )
        self.__dict__["intervene"] = MappingProxyType(self._intervene(intervene))
        self.__dict__["rewards"] = MappingProxyType(worth_of_levels(self.reward, self.domains[self.reward], rewards))
        self.__dict__["arms"] = self._arms()
        self.__dict__["costs"] = MappingProxyType(self._costs(given_mapping(costs, "costs", "{do(X=1): 5}")))

    @cached_property
    def utility(self) -> Mapping[Value, float]:
        """Each value of the reward as a number in [0, 1] of which more is better: what policies maximise."""
        sign = self.goal is Goal.MINIMIZE
        return MappingProxyType({level: 1 - worth if sign else worth for level, worth in self.rewards.items()})

    def arm(self, text: str) -> Arm:
        """The arm written ``do(X=1)``; what is no arm of this problem is an error that lists the nearest."""
        if not isinstance(text, str):
            raise UsageError(f'problem.arm reads a text such as "do(X=1)", not {type(text).__name__}: {quoted(text)}.')
        try:
            return self._by_text[text.replace(" ", "")]
        except KeyError:
            raise ProblemError(f"{quoted(text)} is no arm of this problem.{self._nearest(text)}") from None

    def index(self, arm: Arm) -> int:
        """The position of an arm in ``arms``."""
        try:
            return self._positions[arm]
        except (KeyError, TypeError):
            raise ProblemError(self._no_arm(arm)) from None

    @cached_property
    def verdicts(self) -> Mapping[str, Verdict]:
        """For each intervenable node, whether looking can settle its arms and why."""
        return MappingProxyType(verdicts(self.graph, self.reward, self.intervene))

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What a careful reader would point out: what reading changed, arms that change nothing or must be tried."""
        found = list(self.graph.notes)
        useless = [node for node, verdict in self.verdicts.items() if verdict.route is Route.SAME]
        if useless:
            found.append(
                f"{listed(useless)} {'does' if len(useless) == 1 else 'do'} not act on {self.reward}: "
                f"these arms equal do(). They stay listed and share do()'s evidence."
            )
        tried = [verdict for verdict in self.verdicts.values() if verdict.route is Route.TRY]
        found += [
            f"{verdict.reason[0].upper()}{verdict.reason[1:]}. Its arms will be tried instead."
            for verdict in tried[:MAX_WARNINGS]
        ]
        more = len(tried) - MAX_WARNINGS
        if more > 0:
            found.append(f"... and {more:,} more node{'s' if more > 1 else ''} whose arms will be tried instead.")
        return tuple(found)

    def remember(self, key: str, make: Callable[[], Any]) -> Any:
        """Something worked out from this problem by another room: made once, then kept with the problem."""
        if key not in self._memory:
            self._memory[key] = make()
        return self._memory[key]

    @cached_property
    def _memory(self) -> dict[str, Any]:
        return {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Problem) and self._identity == other._identity

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return (
            f"<Problem: {self.goal} {self.reward}, {len(self.arms)} arms on {len(self.intervene)} "
            f"of {len(self.graph.nodes)} nodes>"
        )

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Problem cannot be changed; make a new one (tried to set {name})")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Problem cannot be changed; make a new one (tried to delete {name})")

    def __reduce__(self) -> tuple[object, ...]:
        return (_restore, (self.graph, self.reward, self._plain))

    @cached_property
    def _plain(self) -> dict[str, object]:
        """The constructor's other arguments, as given or by default."""
        return {
            "intervene": dict(self.intervene),
            "goal": str(self.goal),
            "domains": dict(self.domains),
            "rewards": dict(self.rewards),
            "costs": dict(self.costs),
        }

    @cached_property
    def _identity(self) -> tuple[object, ...]:
        named = (self.domains, self.intervene, self.rewards, self.costs)
        return (self.graph, self.reward, self.goal, *(tuple(part.items()) for part in named))

    @cached_property
    def _hash(self) -> int:
        return hash(self._identity)

    @cached_property
    def _positions(self) -> dict[Arm, int]:
        return {arm: position for position, arm in enumerate(self.arms)}

    @cached_property
    def _by_text(self) -> dict[str, Arm]:
        return {str(arm).replace(" ", ""): arm for arm in self.arms}

    def _intervene(self, given: Iterable[str] | Mapping[str, Iterable[Value]] | None) -> dict[str, tuple[Value, ...]]:
        if given is None:
            chosen = self.graph.exposures - {self.reward} or set(self.graph.nodes) - {self.reward}
            given = [name for name in self.graph.nodes if name in chosen]
        if isinstance(given, (set, frozenset)):  # a set's own order changes from process to process
            given = sorted(given, key=lambda name: self.graph.index(name) if name in self.graph else -1)
        names = [given] if isinstance(given, str) else given_list(given, "`intervene`", "nodes")
        known = [known_node(self.graph, name, "The intervenable node") for name in names]
        _check_distinct(known, "intervene")
        settings = dict(zip(known, given.values(), strict=True)) if isinstance(given, Mapping) else None
        found = {}
        for name in known:
            if name == self.reward:
                raise ProblemError(
                    f"The reward {quoted(name)} is listed as intervenable. Setting the reward is no answer; "
                    f"remove it from `intervene`."
                )
            domain = self.domains[name]
            found[name] = settings_of(name, settings[name], domain) if settings is not None else domain
        if not found:
            raise ProblemError(
                f"There is nothing to intervene on: {quoted(self.reward)} is the reward and `intervene` is empty."
            )
        return found

    def _arms(self) -> tuple[Arm, ...]:
        arms = (Arm(), *(Arm(node, value) for node, values in self.intervene.items() for value in values))
        texts: dict[str, Arm] = {}
        for arm in arms:
            twin = texts.setdefault(str(arm).replace(" ", ""), arm)
            if twin is not arm:
                raise ProblemError(f"Two arms read alike, {arm} and {twin}. Rename a node or a value.")
        return arms

    def _costs(self, given: Mapping[Any, float]) -> dict[Arm, float]:
        found: dict[Arm, float] = {}
        for named, cost in given.items():
            arm = self.arm(named) if isinstance(named, str) else named
            if arm not in self._positions:
                raise ProblemError(f"In `costs`: {self._no_arm(arm)}")
            if arm in found:
                raise ProblemError(f"`costs` names {arm} twice. Keep one of the two.")
            found[arm] = finite_number(cost, f"The cost of {arm}")
            if found[arm] <= 0:
                raise ProblemError(f"The cost of {arm} is {cost}; a cost must be above 0.")
        return dict.fromkeys(self.arms, 1.0) | found

    def _no_arm(self, arm: object) -> str:
        """Why something is no arm; where it only looks like one, what tells them apart."""
        if isinstance(arm, str) and arm.replace(" ", "") in self._by_text:
            return f"{quoted(arm)} is a text; problem.arm(text) finds the arm that it names."
        twin = self._by_text.get(str(arm).replace(" ", ""))
        if isinstance(arm, Arm) and twin is not None and arm.node == twin.node:
            found, declared = _kind(arm.value), _kind(twin.value)
            return f"{arm} is no arm of this problem: its value is {found}, where {declared} is declared."
        return f"{visible(arm)} is no arm of this problem.{self._nearest(str(arm))}"

    def _nearest(self, text: str) -> str:
        return nearest(text, map(str, self.arms)) or f" The arms are {listed(map(str, self.arms))}."


def _kind(value: Value | None) -> str:
    return f"the text {quoted(value)}" if isinstance(value, str) else f"the number {value}"


def _restore(graph: CausalGraph, reward: str, rest: dict[str, object]) -> Problem:
    return Problem(graph, reward, **rest)  # type: ignore[arg-type]


def _graph(given: CausalGraph | str) -> CausalGraph:
    if isinstance(given, CausalGraph):
        return given
    if isinstance(given, str):
        return CausalGraph.parse(given)
    raise UsageError(
        f'A problem needs a CausalGraph or text such as "X -> Y", not {type(given).__name__}. '
        f"whichdo.graph_from(...) makes a CausalGraph from graphs of other packages and lists of edges, "
        f"whichdo.read_graph(path) from a file."
    )


def _reward(graph: CausalGraph, reward: str | None) -> str:
    if reward is not None:
        return known_node(graph, reward, "The reward")
    if len(graph.outcomes) == 1:
        return next(iter(graph.outcomes))
    marked = f"it marks {listed(sorted(graph.outcomes))}" if graph.outcomes else "it marks no outcome"
    raise ProblemError(f"Which node is the reward? The graph does not say ({marked}); give `reward`.")


def _goal(goal: str) -> Goal:
    try:
        return Goal(goal)
    except ValueError:
        raise ProblemError(f"The goal is {quoted(goal)}; it must be maximize or minimize.") from None


def _check_distinct(names: Sequence[str], what: str) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ProblemError(f"`{what}` lists {listed(twice)} more than once.")
