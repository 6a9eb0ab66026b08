"""What a learner may know: the graph, what is good, and which interventions are on offer.

An *arm* is one thing that can be done (`whichdo.arms`): ``do()``, which is to look and leave everything as it is, or
to set one or several nodes.  A *problem* lists the arms and says which node is the reward.  It holds no probabilities;
those belong to the world.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from itertools import islice, product
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from whichdo.arms import LOOK, MAX_ARMS, Arm, ArmTexts, arms_at_once, check_number, do, listed_arms
from whichdo.domains import (
    BINARY,
    MAX_VALUES,
    RANGE_LEVELS,
    Bins,
    Groups,
    NumberRange,
    Value,
    all_bins,
    all_domains,
    all_groups,
    all_labels,
    check_domain,
    finite_number,
    given_list,
    given_mapping,
    known_node,
    plain_value,
    settings_of,
    worth_of_levels,
)
from whichdo.errors import ProblemError, TooLarge, UsageError, counted, nearest, quoted, visible
from whichdo.frames import html_table, text_table
from whichdo.graph.admg import CausalGraph
from whichdo.graph.identify import Route, Verdict, listed
from whichdo.identification.reasons import complete_verdicts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from whichdo.graph.targets import ByTargets, Targets

__all__ = [
    "BINARY",
    "LOOK",
    "MAX_ARMS",
    "MAX_VALUES",
    "Arm",
    "Goal",
    "Problem",
    "Value",
    "check_domain",
    "do",
    "plain_value",
]

MAX_WARNINGS = 20
MAX_NODES_SHOWN, MOST_SHOWN = 50, 6
HEADS = ("node", "part", "values")
GROUPS = '{"region": {"other": ["Alaska", "Hawaii"]}}'
LABELS = '{"re78": "earnings 1978 ($)"}'


class Goal(StrEnum):
    """Whether a large reward is good or bad."""

    MAXIMIZE = "maximize"
    MINIMIZE = "minimize"


class Problem:
    """A causal bandit problem: all that a policy is told before it starts.

    ``graph``: a `CausalGraph`, or text for `CausalGraph.parse`.
    ``reward``: the node to improve; by default the one node the graph's file marks as outcome.
    ``intervene``: the nodes that can be set, or a mapping from node to the values it can be set to; by default the
    graph's exposures, or else every node but the reward.  Each of their values becomes an arm.
    ``arms``: instead of ``intervene``, the arms themselves, which may set several nodes at once:
    ``[do(X=1), do(X=1, Z=0)]``.  ``do()`` is always there.
    ``at_once``: how many nodes an arm may set; with 2, ``intervene`` makes arms of pairs too.  A pair of which one node
    does nothing once the other is set is not listed, since its arms are those of the other node alone.
    ``goal``: "maximize", or "minimize" when the reward is a harm.
    ``domains``: the values of each node that is not binary 0/1, in order; or `bins`, which cut its numbers.
    ``rewards``: what each value of a reward that is not a number in [0, 1] is worth, in [0, 1].
    ``reward_range``: the least and the greatest value of a reward that may be any number, such as ``(0, 60_000)``.
    ``costs``: what a pull of an arm (or of the arm a text names) costs, 1 unless given.
    ``groups``: values of the data that count as one declared value: ``{"region": {"other": ["Alaska", "Hawaii"]}}``.
    ``labels``: what nodes are called in tables, plots and reports, with their units: ``{"re78": "earnings 1978 ($)"}``.
    Problems that differ in nothing but labels are equal.

    >>> problem = Problem("X -> M; M -> Y; X <-> Y", reward="Y", intervene=["X"])
    >>> [str(arm) for arm in problem.arms]
    ['do()', 'do(X=0)', 'do(X=1)']
    >>> Problem("X -> Y; Z -> Y", reward="Y", arms=[do(X=1, Z=0), do(X=1)]).target_sets
    (('X', 'Z'), ('X',))
    """

    graph: CausalGraph
    reward: str
    goal: Goal
    domains: Mapping[str, tuple[Value, ...]]
    """The values of every node."""
    intervene: Mapping[str, tuple[Value, ...]]
    """The values each intervenable node can be set to, by itself or together with others."""
    rewards: Mapping[Value, float]
    """What each value of the reward is worth, on its own scale (before ``goal``)."""
    reward_range: NumberRange | None
    """The range of a reward that may be any number; None for one with declared values."""
    bins: Mapping[str, Bins]
    """How the numbers of some nodes are cut into the values in ``domains``."""
    groups: Mapping[str, Mapping[Value, tuple[Value, ...]]]
    """Which values of the data count as one declared value."""
    labels: Mapping[str, str]
    """What some nodes are called in tables, plots and reports."""
    arms: tuple[Arm, ...]
    """``do()`` first, then the arms of each intervenable node in order, or the arms as they were listed."""
    at_once: int
    """How many nodes an arm may set; where arms were listed, the most that one of them sets."""
    costs: Mapping[Arm, float]
    """What a pull of each arm costs."""
    _texts: ArmTexts

    def __init__(
        self,
        graph: CausalGraph | str,
        reward: str | None = None,
        intervene: Iterable[str] | Mapping[str, Iterable[Value]] | None = None,
        *,
        arms: Iterable[Arm] | Iterable[Mapping[str, Value]] | None = None,
        at_once: int = 1,
        goal: str = "maximize",
        domains: Mapping[str, Iterable[Value] | Bins] | None = None,
        rewards: Mapping[Value, float] | None = None,
        reward_range: tuple[float, float] | None = None,
        costs: Mapping[Arm, float] | Mapping[str, float] | None = None,
        groups: Mapping[str, Mapping[Value, Iterable[Value]]] | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        graph = _graph(graph)
        self.__dict__["graph"] = graph
        self.__dict__["reward"] = _reward(graph, reward)
        self.__dict__["goal"] = _goal(goal)
        given = given_mapping(domains, "domains", '{"X": ["low", "high"]}')
        self.__dict__["reward_range"] = _range(self.reward, reward_range, given, rewards)
        if self.reward_range is not None:
            given = {**given, self.reward: self.reward_range.levels}
            rewards = {level: number / (RANGE_LEVELS - 1) for number, level in enumerate(self.reward_range.levels)}
        self.__dict__["domains"] = MappingProxyType(all_domains(graph, given))
        self.__dict__["bins"] = MappingProxyType(all_bins(graph, given))
        self.__dict__["groups"] = MappingProxyType(self._groups(given_mapping(groups, "groups", GROUPS)))
        self.__dict__["labels"] = MappingProxyType(all_labels(graph, given_mapping(labels, "labels", LABELS)))
        if arms is None:
            self.__dict__["intervene"] = MappingProxyType(self._intervene(intervene))
            self.__dict__["arms"] = self._made(at_once)
            self.__dict__["at_once"] = at_once
        else:
            if at_once != 1:
                raise ProblemError("`at_once` and `arms` were both given. Arms that are listed need no limit.")
            if intervene is not None:
                raise ProblemError(
                    "`intervene` and `arms` were both given. Give the nodes that can be set (`intervene`), or list "
                    "the arms themselves (`arms`)."
                )
            chosen = given_list(arms, "`arms`", "arms")
            self.__dict__["arms"] = listed_arms(chosen, self.graph, self.reward, self.domains)
            self.__dict__["intervene"] = MappingProxyType(self._occurring())
            self.__dict__["at_once"] = max(len(arm.targets) for arm in self.arms)
        self.__dict__["_texts"] = ArmTexts(self.arms)
        self.__dict__["rewards"] = MappingProxyType(worth_of_levels(self.reward, self.domains[self.reward], rewards))
        self.__dict__["costs"] = MappingProxyType(self._costs(given_mapping(costs, "costs", "{do(X=1): 5}")))

    @cached_property
    def utility(self) -> Mapping[Value, float]:
        """Each value of the reward as a number in [0, 1] of which more is better: what policies maximise."""
        sign = self.goal is Goal.MINIMIZE
        return MappingProxyType({level: 1 - worth if sign else worth for level, worth in self.rewards.items()})

    def own_scale(self, utility: float) -> float:
        """A mean utility as a mean of the reward: turned around where less is better, in the unit of its range."""
        worth = 1 - utility if self.goal is Goal.MINIMIZE else utility
        numbers = self.reward_range
        return float(worth if numbers is None else numbers.low + worth * (numbers.high - numbers.low))

    @property
    def unit(self) -> float:
        """By how much of the reward's own scale a utility of 1 is better than one of 0."""
        return 1.0 if self.reward_range is None else self.reward_range.high - self.reward_range.low

    def arm(self, text: str) -> Arm:
        """Find the arm that a text such as ``do(X=1)`` or ``do(Z=0, X=1)`` names.

        Blanks and the order of names do not matter.

        Raises
        ------
        ProblemError
            If the text does not name an arm of this problem; the message lists the nearest.
        """
        if not isinstance(text, str):
            raise UsageError(f'problem.arm reads a text such as "do(X=1)", not {type(text).__name__}: {quoted(text)}.')
        found = self._texts.find(text)
        if found is None:
            merged = self._merged_texts.find(text)
            if merged is not None:
                raise ProblemError(self._no_arm(merged))
            raise ProblemError(f"{quoted(text)} is no arm of this problem.{self._nearest(text)}")
        return found

    def label(self, name: str) -> str:
        """What a node is called where people read: its label, or else its name."""
        return self.labels.get(name, name)

    def find_arm(self, text: str) -> Arm | None:
        """As `arm`, with None for what names no arm of this problem."""
        return self._texts.find(text)

    def index(self, arm: Arm) -> int:
        """The position of an arm in ``arms``."""
        try:
            return self._positions[arm]
        except (KeyError, TypeError):
            raise ProblemError(self._no_arm(arm)) from None

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """How many values each node has."""
        return MappingProxyType({name: len(values) for name, values in self.domains.items()})

    def cells(self, scope: Iterable[str]) -> int:
        """How many settings some nodes have together: an integer of any size, before anything is allocated."""
        return prod(self.sizes[name] for name in scope)

    @cached_property
    def merged(self) -> Mapping[Targets, Targets]:
        """Target sets that ``at_once`` did not list, because arms on fewer nodes do the same: these fewer nodes.

        Empty where the arms were listed by hand.

        >>> Problem("Z -> X -> Y", "Y", at_once=2).merged
        mappingproxy({('X', 'Z'): ('X',)})
        """
        if self.at_once == 1:
            return MappingProxyType({})
        try:
            made, found = arms_at_once(self.graph, self.reward, self.intervene, self.at_once)
        except TooLarge:
            return MappingProxyType({})
        return MappingProxyType(found if made == self.arms else {})

    @cached_property
    def target_sets(self) -> tuple[Targets, ...]:
        """The sets of nodes that arms set together, in order of first occurrence; without the empty one of do()."""
        return tuple(dict.fromkeys(arm.targets for arm in self.arms[1:]))

    @cached_property
    def positions(self) -> Mapping[Targets, tuple[int, ...]]:
        """The positions in ``arms`` of the arms on each target set."""
        found: dict[Targets, list[int]] = {targets: [] for targets in self.target_sets}
        for position, arm in enumerate(self.arms[1:], start=1):
            found[arm.targets].append(position)
        return MappingProxyType({targets: tuple(places) for targets, places in found.items()})

    @cached_property
    def first_joint(self) -> Arm | None:
        """The first arm that sets several nodes at once; None if there is none."""
        return next((arm for arm in self.arms if arm.is_joint), None)

    @cached_property
    def has_listed_arms(self) -> bool:
        """Whether the arms are others than ``intervene`` alone would make: joint ones, or values left out or moved."""
        return self.first_joint is not None or self.arms != _single_arms(self.intervene)

    @cached_property
    def verdicts(self) -> ByTargets[Verdict]:
        """For each target set whether looking can settle its arms and why; by one name, or several in any order.

        >>> problem = Problem("X -> Y; Z -> Y", "Y", arms=[do(X=1), do(X=1, Z=0)])
        >>> problem.verdicts["X"].identified, problem.verdicts["Z", "X"].reason
        (True, 'by conditioning: there is nothing to adjust for')
        """
        return complete_verdicts(self.graph, self.reward, self.target_sets)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What a careful reader would point out: what reading changed, arms that change nothing or must be tried."""
        found = list(self.graph.notes)
        same = [targets for targets, verdict in self.verdicts.items() if verdict.route is Route.SAME]
        useless = dict.fromkeys(name for targets in same for name in targets)
        if useless:
            found.append(
                f"{listed(useless)} {'does' if len(useless) == 1 else 'do'} not act on {self.reward}: "
                f"these arms equal do(). They stay listed and share do()'s evidence."
            )
        found += self._idle()
        tried = [verdict for verdict in self.verdicts.values() if verdict.route is Route.TRY]
        found += [
            f"{verdict.reason[0].upper()}{verdict.reason[1:]}. Its arms will be tried instead."
            for verdict in tried[:MAX_WARNINGS]
        ]
        more = len(tried) - MAX_WARNINGS
        if more > 0:
            plural = "s" if more > 1 else ""
            what = f"node{plural}" if self.first_joint is None else f"set{plural} of nodes"
            found.append(f"... and {more:,} more {what} whose arms will be tried instead.")
        return tuple(found)

    def _idle(self) -> list[str]:
        """Joint arms of which a part changes nothing, and what they equal."""
        found = []
        for targets, verdict in self.verdicts.items():
            idle = [name for name in targets if name not in verdict.acting]
            if idle and verdict.acting:
                act, are = "acts" if len(idle) == 1 else "act", "is" if len(verdict.acting) == 1 else "are"
                found.append(
                    f"{listed(idle)} no longer {act} on {self.reward} once {listed(verdict.acting)} {are} set: the "
                    f"arms on {listed(targets)} equal those on {listed(verdict.acting)} alone."
                )
        more = len(found) - MAX_WARNINGS
        return found if more <= 0 else [*found[:MAX_WARNINGS], f"... and {more:,} more sets of nodes like that."]

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

    def __str__(self) -> str:
        return "\n".join([f"{self._headline}", "", text_table(HEADS, self._shown_rows, texts=3)])

    def _repr_html_(self) -> str:
        return html_table(HEADS, self._shown_rows, self._headline, texts=3)

    @property
    def _headline(self) -> str:
        what = f" ({self.reward_range})" if self.reward_range is not None else ""
        arms = f"{len(self.arms):,} arms on {counted(len(self.intervene), 'node')}"
        return f"{self.goal} {self.label(self.reward)}{what}: {arms}"

    @cached_property
    def _shown_rows(self) -> list[tuple[str, ...]]:
        """What people read of each node: its values, whether arms set it, and whether looking settles them."""
        rows: list[tuple[str, ...]] = []
        for name, values in self.domains.items():
            numeric = name == self.reward and self.reward_range is not None
            shown = str(self.reward_range) if numeric else ", ".join(map(str, values[:MOST_SHOWN]))
            more = f", ... {len(values):,} in all" if len(values) > MOST_SHOWN and not numeric else ""
            verdict = self.verdicts.get((name,)) if name in self.intervene else None
            part = "reward" if name == self.reward else "" if verdict is None else f"can be set; {verdict.route}"
            label = f"{name}: {self.labels[name]}" if name in self.labels else name
            rows.append((label, part, shown + more))
        return rows[:MAX_NODES_SHOWN] + ([(f"... {len(rows):,} nodes", "", "")] if len(rows) > MAX_NODES_SHOWN else [])

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Problem cannot be changed; make a new one (tried to set {name})")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Problem cannot be changed; make a new one (tried to delete {name})")

    def __reduce__(self) -> tuple[object, ...]:
        return (_restore, (self.graph, self.reward, self._plain))

    @cached_property
    def _plain(self) -> dict[str, object]:
        """The constructor's other arguments, as given or by default."""
        made = self.merged or not self.has_listed_arms
        arms = {"intervene": dict(self.intervene), "at_once": self.at_once} if made else {"arms": self.arms}
        return {**arms, **self._values, "goal": str(self.goal), "costs": dict(self.costs)}

    @cached_property
    def _values(self) -> dict[str, object]:
        """The constructor's arguments on the values of nodes and what they are worth."""
        declared = {name: self.bins.get(name, values) for name, values in self.domains.items()}
        rest = {"groups": dict(self.groups), "labels": dict(self.labels)}
        if self.reward_range is None:
            return {"domains": declared, "rewards": dict(self.rewards), **rest}
        del declared[self.reward]
        return {"domains": declared, "reward_range": (self.reward_range.low, self.reward_range.high), **rest}

    def but(
        self,
        *,
        graph: CausalGraph | None = None,
        arms: Iterable[Arm] | None = None,
        domains: Mapping[str, Iterable[Value] | Bins] | None = None,
    ) -> Problem:
        """The same problem with another graph on the same nodes, with some of its arms, or other values of nodes."""
        kept = self.arms if arms is None else tuple(arms)
        values = dict(self._values)
        if domains is not None:
            values["domains"] = {**values["domains"], **domains}  # type: ignore[dict-item]
        return Problem(
            self.graph if graph is None else graph,
            self.reward,
            arms=kept,
            goal=str(self.goal),
            costs={arm: self.costs[arm] for arm in kept},
            **values,  # type: ignore[arg-type]
        )

    @cached_property
    def _identity(self) -> tuple[object, ...]:
        named = (self.domains, self.rewards, self.costs)  # the costs name all arms, in order
        read = (tuple(self.bins.items()), tuple((name, tuple(each.items())) for name, each in self.groups.items()))
        return (self.graph, self.reward, self.goal, self.reward_range, *(tuple(part.items()) for part in named), read)

    @cached_property
    def _hash(self) -> int:
        return hash(self._identity)

    @cached_property
    def _merged_texts(self) -> ArmTexts:
        """The arms that are not listed because others do the same, up to as many as may be listed."""
        made = (
            do(dict(zip(targets, values, strict=True)))
            for targets in self.merged
            for values in product(*(self.intervene[name] for name in targets))
        )
        return ArmTexts(islice(made, MAX_ARMS))

    @cached_property
    def _positions(self) -> dict[Arm, int]:
        return {arm: position for position, arm in enumerate(self.arms)}

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
            if settings is not None:
                found[name] = settings_of(name, settings[name], domain)
            else:  # nobody sets a number to missing
                found[name] = tuple(domain[: len(self.bins[name].cuts) + 1] if name in self.bins else domain)
        if not found:
            raise ProblemError(
                f"There is nothing to intervene on: {quoted(self.reward)} is the reward and `intervene` is empty."
            )
        return found

    def _groups(self, given: Mapping[str, Mapping[Value, Iterable[Value]]]) -> Groups:
        """The groups, which only values that are declared one by one can have."""
        found = all_groups(self.graph, given, self.domains)
        for name in found:
            if name in self.bins or (name == self.reward and self.reward_range is not None):
                raise ProblemError(f"`groups` names {quoted(name)}, whose values are numbers of a range, not a list.")
        return found

    def _made(self, at_once: int) -> tuple[Arm, ...]:
        """The arms that ``intervene`` makes."""
        if type(at_once) is not int or at_once < 1:
            raise ProblemError(f"`at_once` is {quoted(at_once)}; it must be a whole number of nodes, at least 1.")
        if at_once == 1:
            return _single_arms(self.intervene)
        return arms_at_once(self.graph, self.reward, self.intervene, at_once)[0]

    def _occurring(self) -> dict[str, tuple[Value, ...]]:
        """The nodes that listed arms set, in order, with the values that occur."""
        wanted: dict[str, set[Value]] = {}
        for arm in self.arms:
            for name, value in arm.settings.items():
                wanted.setdefault(name, set()).add(value)
        return {name: tuple(value for value in self.domains[name] if value in some) for name, some in wanted.items()}

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
        if isinstance(arm, Arm) and arm.targets in self.merged:
            same = do({name: arm.settings[name] for name in self.merged[arm.targets]})
            return (
                f"{visible(arm)} is not listed: it is the same as {same}, since the other settings change nothing then."
            )
        twin = self._texts.find(str(arm))
        if isinstance(arm, str) and twin is not None:
            return f"{quoted(arm)} is a text; problem.arm(text) finds the arm that it names."
        if isinstance(arm, Arm) and twin is not None and arm.targets == twin.targets:
            for name, value in arm.settings.items():
                if value != twin.settings[name]:
                    found, declared = _kind(value), _kind(twin.settings[name])
                    whose = f"the value of {name}" if arm.is_joint else "its value"
                    return f"{arm} is no arm of this problem: {whose} is {found}, where {declared} is declared."
        return f"{visible(arm)} is no arm of this problem.{self._nearest(str(arm))}"

    def _nearest(self, text: str) -> str:
        return nearest(text, map(str, self.arms)) or f" The arms are {listed(map(str, self.arms))}."


def _single_arms(intervene: Mapping[str, tuple[Value, ...]]) -> tuple[Arm, ...]:
    """``do()``, and an arm for each value of each node."""
    check_number(1 + sum(map(len, intervene.values())))
    return (LOOK, *(Arm({node: value}) for node, values in intervene.items() for value in values))


def _kind(value: Value) -> str:
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


def _range(
    reward: str, given: object, domains: Mapping[Any, Any], rewards: Mapping[Value, float] | None
) -> NumberRange | None:
    if given is None:
        return None
    if isinstance(given, NumberRange):
        return given
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise ProblemError(f"`reward_range` is {quoted(given)}; it must be two numbers, such as (0, 60000).")
    if rewards is not None or reward in domains:
        other = "`rewards`" if rewards is not None else f"`domains` for {quoted(reward)}"
        raise ProblemError(f"`reward_range` and {other} were both given. Give one of them.")
    low, high = given
    return NumberRange(low, high)


def _goal(goal: str) -> Goal:
    try:
        return Goal(goal)
    except ValueError:
        raise ProblemError(f"The goal is {quoted(goal)}; it must be maximize or minimize.") from None


def _check_distinct(names: Sequence[str], what: str) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ProblemError(f"`{what}` lists {listed(twice)} more than once.")
