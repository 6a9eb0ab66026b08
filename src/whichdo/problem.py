"""What a learner may know: the graph, what is good, and which interventions are on offer.

An *arm* is one thing that can be done (`whichdo.arms`): ``do()``, which is to look and leave everything as it is, or
to set one or several nodes.  A *problem* lists the arms and says which node is the reward.  It holds no probabilities;
those belong to the world.
"""

from __future__ import annotations

from functools import cached_property
from itertools import islice, product
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING

from whichdo.arguments import (
    Goal,
    checked_costs,
    checked_goal,
    checked_graph,
    checked_groups,
    checked_intervene,
    checked_range,
    checked_reward,
    occurring_values,
)
from whichdo.arms import LOOK, MAX_ARMS, Arm, ArmTexts, arms_at_once, check_number, do, listed_arms
from whichdo.candidates import Candidates, Pruned, PrunedArms
from whichdo.domains import (
    BINARY,
    MAX_VALUES,
    RANGE_LEVELS,
    Bins,
    NumberRange,
    Value,
    all_bins,
    all_domains,
    all_labels,
    check_domain,
    given_list,
    given_mapping,
    labels_line,
    plain_value,
    unit_of,
    worth_of_levels,
)
from whichdo.errors import ProblemError, TooLargeError, UsageError
from whichdo.frames import html_table, text_table
from whichdo.frozen import Frozen, per_problem
from whichdo.identification.reasons import complete_verdicts, verdict_warnings
from whichdo.text import counted, listed, nearest, quoted, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whichdo.graph.admg import CausalGraph
    from whichdo.graph.identify import Verdict
    from whichdo.graph.targets import ByTargets, Targets

__all__ = [
    "BINARY", "LOOK", "MAX_ARMS", "MAX_VALUES", "Arm", "Goal", "Problem", "Value", "check_domain", "do",
    "per_problem", "plain_value",
]  # fmt: skip

MAX_NODES_SHOWN, MOST_SHOWN = 50, 6
HEADS = ("node", "part", "values")
GROUPS = '{"region": {"other": ["Alaska", "Hawaii"]}}'
STOPPED_EARLY = "There are too many arms to compare each with all others: some that can never be best are not pruned."
LABELS = '{"re78": "earnings 1978 ($)"}'


class Problem(Frozen):
    """A causal bandit problem: everything a policy knows before it starts.

    Immutable.  Problems that differ only in their labels are equal.

    Parameters
    ----------
    graph
        A `CausalGraph`, or a string for `CausalGraph.parse`.
    reward
        The node to improve; by default the one node that the graph's file marks as outcome.
    intervene
        The nodes that can be set, or a mapping from node to the values it can be set to.  By default the graph's
        exposures, or else every node but the reward.  Each value becomes an arm.
    arms
        Instead of ``intervene``, the arms themselves, which may set several nodes at once:
        ``[do(X=1), do(X=1, Z=0)]``.  ``do()`` is always included.
    at_once
        How many nodes an arm may set, None for no limit; with 2, ``intervene`` also makes arms of pairs.  A pair in
        which one node does nothing once the other is set is not listed, since its arms equal those of the other alone.
    prune
        Whether to leave out arms that the graph shows can never be the only best one; ``pruned`` then says why.
    goal
        "maximize", or "minimize" if the reward is a harm.
    domains
        The values of each node that is not binary 0/1, in order; or `bins`, which cut its numbers.
    rewards
        What each value of a reward that is not a number in [0, 1] is worth, in [0, 1].
    reward_range
        The least and the greatest value of a reward that may be any number, such as ``(0, 60_000)``.
    costs
        What a pull of an arm costs, by arm or by its string; 1 unless given.
    groups
        Values of the data that count as one declared value: ``{"region": {"other": ["Alaska", "Hawaii"]}}``.
    labels
        What nodes are called in tables, plots and reports, with their units: ``{"re78": "earnings 1978 ($)"}``.

    Raises
    ------
    ProblemError
        If the reward, an arm, a domain or a cost does not fit the graph.

    Examples
    --------
    >>> import whichdo as wd
    >>> problem = wd.Problem("X -> M; M -> Y; X <-> Y", reward="Y", intervene=["X"])
    >>> [str(arm) for arm in problem.arms]
    ['do()', 'do(X=0)', 'do(X=1)']
    >>> wd.Problem("X -> Y; Z -> Y", reward="Y", arms=[wd.do(X=1, Z=0), wd.do(X=1)]).target_sets
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
    """``do()`` first, then the arms of each intervenable node in order, or the arms as they were listed; without those
    that were pruned.  ``do()`` is always there, if only to look."""
    answers: tuple[Arm, ...]
    """The arms that may be named as the best: all ``arms``, or all but ``do()`` where that was pruned."""
    prune: bool
    """Whether arms that can never be best are left out."""
    pruned: Mapping[Arm, Pruned]
    """The arms that were left out, each with ``by`` (an arm at least as good), ``among`` and a ``reason``."""
    offered: tuple[Arm, ...]
    """All arms before any was pruned."""
    at_once: int
    """How many nodes an arm may set; where arms were listed, the most that one of them sets."""
    costs: Mapping[Arm, float]
    """What a pull of each arm costs."""
    prices: Mapping[Arm, float]
    """The same of every arm on offer, pruned ones too."""
    _texts: ArmTexts
    _stopped_early: bool

    def __init__(
        self,
        graph: CausalGraph | str,
        reward: str | None = None,
        intervene: Iterable[str] | Mapping[str, Iterable[Value]] | None = None,
        *,
        arms: Iterable[Arm] | Iterable[Mapping[str, Value]] | None = None,
        at_once: int | None = 1,
        prune: bool = False,
        goal: str = "maximize",
        domains: Mapping[str, Iterable[Value] | Bins] | None = None,
        rewards: Mapping[Value, float] | None = None,
        reward_range: tuple[float, float] | None = None,
        costs: Mapping[Arm, float] | Mapping[str, float] | None = None,
        groups: Mapping[str, Mapping[Value, Iterable[Value]]] | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        graph = checked_graph(graph)
        self.__dict__["graph"] = graph
        self.__dict__["reward"] = checked_reward(graph, reward)
        self.__dict__["goal"] = checked_goal(goal)
        given = given_mapping(domains, "domains", '{"X": ["low", "high"]}')
        self.__dict__["reward_range"] = checked_range(self.reward, reward_range, given, rewards)
        numeric = set()
        if self.reward_range is not None:
            given = {**given, self.reward: self.reward_range.levels}
            rewards = {level: number / (RANGE_LEVELS - 1) for number, level in enumerate(self.reward_range.levels)}
            numeric = {self.reward}
        self.__dict__["domains"] = MappingProxyType(all_domains(graph, given))
        self.__dict__["bins"] = MappingProxyType(all_bins(graph, given))
        grouped = checked_groups(graph, given_mapping(groups, "groups", GROUPS), self.domains, {*self.bins, *numeric})
        self.__dict__["groups"] = MappingProxyType(grouped)
        self.__dict__["labels"] = MappingProxyType(all_labels(graph, given_mapping(labels, "labels", LABELS)))
        self._offer(intervene, arms, at_once)
        self.__dict__["_texts"] = ArmTexts(self.offered)
        self.__dict__["prune"] = _flag(prune, "prune")
        self._choose()
        self.__dict__["rewards"] = MappingProxyType(worth_of_levels(self.reward, self.domains[self.reward], rewards))
        named = given_mapping(costs, "costs", "{do(X=1): 5}")
        priced = checked_costs(named, dict.fromkeys(self.offered), self._offered_arm, self._no_arm)
        self.__dict__["prices"] = MappingProxyType(priced)
        self.__dict__["costs"] = MappingProxyType({arm: priced[arm] for arm in self.arms})

    def _offer(
        self,
        intervene: Iterable[str] | Mapping[str, Iterable[Value]] | None,
        arms: Iterable[Arm] | Iterable[Mapping[str, Value]] | None,
        at_once: int | None,
    ) -> None:
        """The arms before any is pruned: those that ``intervene`` makes, or those that were listed."""
        if arms is None:
            nodes = checked_intervene(self.graph, self.reward, intervene, self.domains, self.bins)
            self.__dict__["intervene"] = MappingProxyType(nodes)
            self.__dict__["offered"] = self._make_arms(at_once)
            return
        if at_once != 1:
            raise ProblemError("`at_once` and `arms` were both given. Arms that are listed need no limit.")
        if intervene is not None:
            raise ProblemError(
                "`intervene` and `arms` were both given. Give the nodes that can be set (`intervene`), or list "
                "the arms themselves (`arms`)."
            )
        chosen = given_list(arms, "`arms`", "arms")
        self.__dict__["offered"] = listed_arms(chosen, self.graph, self.reward, self.domains)
        self.__dict__["intervene"] = MappingProxyType(occurring_values(self.offered, self.domains))
        self.__dict__["at_once"] = max(len(arm.targets) for arm in self.offered)

    def _choose(self) -> None:
        """The arms that are left, do() always first, and those that may be named as the answer."""
        answers, pruned, early = self.offered, PrunedArms(), False
        if self.prune:
            found = Candidates(self.graph, self.reward, self.domains, self.offered)
            answers, pruned, early = found.kept, found.pruned, found.stopped_early
        self.__dict__["answers"] = answers
        self.__dict__["pruned"] = pruned
        self.__dict__["_stopped_early"] = early
        self.__dict__["arms"] = answers if answers[0].is_look else (LOOK, *answers)

    @cached_property
    def utility(self) -> Mapping[Value, float]:
        """Each value of the reward as a number in [0, 1] of which more is better: what policies maximise."""
        sign = self.goal is Goal.MINIMIZE
        return MappingProxyType({level: 1 - worth if sign else worth for level, worth in self.rewards.items()})

    def own_scale(self, utility: float) -> float:
        """Convert a mean utility to a mean of the reward, in the unit of its range.

        Parameters
        ----------
        utility
            A number from 0 to 1, more is better.

        Returns
        -------
        float
            The mean reward; a low one is a high utility where the goal is to minimize.
        """
        worth = 1 - utility if self.goal is Goal.MINIMIZE else utility
        numbers = self.reward_range
        return float(worth if numbers is None else numbers.low + worth * (numbers.high - numbers.low))

    @property
    def unit(self) -> float:
        """By how much of the reward's own scale a utility of 1 is better than one of 0."""
        return 1.0 if self.reward_range is None else self.reward_range.high - self.reward_range.low

    def arm(self, text: str) -> Arm:
        """Find an arm by its string, such as ``do(X=1)`` or ``do(Z=0, X=1)``.

        Blanks and the order of names do not matter.

        Parameters
        ----------
        text
            The arm as a string.

        Returns
        -------
        Arm
            The arm of this problem.

        Raises
        ------
        ProblemError
            If the string does not name an arm of this problem; the message lists the nearest.
        """
        if not isinstance(text, str):
            raise UsageError(
                f'problem.arm reads a string such as "do(X=1)", not {type(text).__name__}: {quoted(text)}.'
            )
        found = self.find_arm(text)
        if found is None:
            merged = self._merged_texts.find(text)
            left_out = merged if merged is not None else self._texts.find(text)
            if left_out is not None:
                raise ProblemError(self._no_arm(left_out))
            raise ProblemError(f"{quoted(text)} is not an arm of this problem.{self._nearest(text)}")
        return found

    def label(self, name: str) -> str:
        """Return the label of a node, for tables and plots.

        Parameters
        ----------
        name
            The node.

        Returns
        -------
        str
            Its label, or its name if it has no label.
        """
        return self.labels.get(name, name)

    def arm_label(self, arm: Arm) -> str:
        """Return the label of an arm, such as ``do(quit smoking=1)`` for ``do(qsmk=1)``.

        Parameters
        ----------
        arm
            The arm.

        Returns
        -------
        str
            The arm with the labels of its nodes.
        """
        return f"do({', '.join(f'{self.label(name)}={value}' for name, value in arm.settings.items())})"

    def in_unit(self, head: str) -> str:
        """Add the reward's unit to the head of a column.

        Parameters
        ----------
        head
            The head, such as ``estimate``.

        Returns
        -------
        str
            ``estimate (kg)`` if the reward's label ends in (kg), or else the head itself.
        """
        unit = unit_of(self.label(self.reward))
        return f"{head} ({unit})" if unit else head

    @property
    def legend(self) -> str:
        """What nodes are called, in a line to stand below a table; empty where no node has a label."""
        return labels_line(self.labels)

    @property
    def arms_legend(self) -> str:
        """The same without the reward, for tables of arms whose heads name it."""
        return labels_line({name: label for name, label in self.labels.items() if name != self.reward})

    def find_arm(self, text: str) -> Arm | None:
        """Find an arm by its string, as `arm` does, without raising an error.

        Parameters
        ----------
        text
            The arm as a string.

        Returns
        -------
        Arm or None
            The arm; None if this problem does not have it.
        """
        found = self._texts.find(text)
        return found if found in self._positions else None

    @property
    def first_answer(self) -> int:
        """The position in ``arms`` from which on arms may be named as the best: 1 where do() is only a look, else 0."""
        return len(self.arms) - len(self.answers)

    @cached_property
    def unpruned(self) -> Problem:
        """The same problem with all arms that are on offer."""
        return self.but(prune=False) if self.prune else self

    def index(self, arm: Arm) -> int:
        """Return the position of an arm in ``arms``.

        Parameters
        ----------
        arm
            The arm.

        Returns
        -------
        int
            Its position.

        Raises
        ------
        ProblemError
            If this problem does not have the arm.
        """
        try:
            return self._positions[arm]
        except (KeyError, TypeError):
            raise ProblemError(self._no_arm(arm)) from None

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """How many values each node has."""
        return MappingProxyType({name: len(values) for name, values in self.domains.items()})

    def cells(self, scope: Iterable[str]) -> int:
        """Count the combinations of values that some nodes have together.

        Parameters
        ----------
        scope
            The nodes.

        Returns
        -------
        int
            An integer of any size; nothing is allocated.
        """
        return prod(self.sizes[name] for name in scope)

    @cached_property
    def merged(self) -> Mapping[Targets, Targets]:
        """Target sets that ``at_once`` did not list, because arms on fewer nodes do the same: these fewer nodes.

        Empty where the arms were listed by hand.

        >>> import whichdo as wd
        >>> wd.Problem("Z -> X -> Y", "Y", at_once=2).merged
        mappingproxy({('X', 'Z'): ('X',)})
        """
        if self.at_once == 1:
            return MappingProxyType({})
        try:
            made, found = arms_at_once(self.graph, self.reward, self.intervene, self.at_once)
        except TooLargeError:
            return MappingProxyType({})
        return MappingProxyType(found if made == self.offered else {})

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
        return any(arm.is_joint for arm in self.offered) or self.offered != _single_arms(self.intervene)

    @cached_property
    def verdicts(self) -> ByTargets[Verdict]:
        """For each target set whether looking can settle its arms and why; by one name, or several in any order.

        >>> import whichdo as wd
        >>> problem = wd.Problem("X -> Y; Z -> Y", "Y", arms=[wd.do(X=1), wd.do(X=1, Z=0)])
        >>> problem.verdicts["X"].identified, problem.verdicts["Z", "X"].reason
        (True, 'by conditioning: there is nothing to adjust for')
        """
        return complete_verdicts(self.graph, self.reward, self.target_sets)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What a careful reader would point out: what reading changed, arms that change nothing or must be tried."""
        early = (STOPPED_EARLY,) if self._stopped_early else ()
        return (*self.graph.notes, *verdict_warnings(self.verdicts, self.reward), *early)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Problem) and self._identity == other._identity

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        pruned = f", {len(self.pruned)} pruned" if self.pruned else ""
        return (
            f"<Problem: {self.goal} {self.reward}, {len(self.arms)} arms on {len(self.intervene)} "
            f"of {len(self.graph.nodes)} nodes{pruned}>"
        )

    def __str__(self) -> str:
        return "\n".join([f"{self._headline}", "", text_table(HEADS, self._shown_rows, left=3)])

    def _repr_html_(self) -> str:
        return html_table(HEADS, self._shown_rows, self._headline, left=3)

    @property
    def _headline(self) -> str:
        what = f" ({self.reward_range})" if self.reward_range is not None else ""
        arms = f"{counted(len(self.arms), 'arm')} on {counted(len(self.intervene), 'node')}"
        pruned = f", and {len(self.pruned):,} pruned that cannot be best" if self.pruned else ""
        return f"{self.goal} {self.label(self.reward)}{what}: {arms}{pruned}"

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
            if name in self.intervene and not any(name in targets for targets in self.target_sets):
                part = "can be set; pruned"
            label = f"{name}: {self.labels[name]}" if name in self.labels else name
            rows.append((label, part, shown + more))
        return rows[:MAX_NODES_SHOWN] + ([(f"... {len(rows):,} nodes", "", "")] if len(rows) > MAX_NODES_SHOWN else [])

    def __reduce__(self) -> tuple[object, ...]:
        return (_restore, (self.graph, self.reward, self._plain))

    @cached_property
    def _plain(self) -> dict[str, object]:
        """The constructor's other arguments, as given or by default."""
        made = self.merged or not self.has_listed_arms
        arms = {"intervene": dict(self.intervene), "at_once": self.at_once} if made else {"arms": self.offered}
        rest = {"goal": str(self.goal), "costs": dict(self.prices), "prune": self.prune}
        return {**arms, **self._values, **rest}

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
        prune: bool | None = None,
    ) -> Problem:
        """Copy the problem with some parts changed.  Which arms are pruned is worked out again.

        Parameters
        ----------
        graph
            Another graph on the same nodes.
        arms
            Some of the arms on offer.
        domains
            Other values of some nodes.
        prune
            Whether to leave out arms that can never be best.

        Returns
        -------
        Problem
            The new problem.
        """
        kept = self.offered if arms is None else tuple(arms)
        values = dict(self._values)
        if domains is not None:
            values["domains"] = {**values["domains"], **domains}  # type: ignore[dict-item]
        return Problem(
            self.graph if graph is None else graph,
            self.reward,
            arms=kept,
            goal=str(self.goal),
            costs={arm: self.prices[arm] for arm in kept},
            prune=self.prune if prune is None else prune,
            **values,  # type: ignore[arg-type]
        )

    @cached_property
    def _identity(self) -> tuple[object, ...]:
        named = (self.domains, self.rewards, self.prices)  # the prices name all arms on offer, in order
        read = (tuple(self.bins.items()), tuple((name, tuple(each.items())) for name, each in self.groups.items()))
        said = (self.graph, self.reward, self.goal, self.reward_range, self.prune)
        return (*said, *(tuple(part.items()) for part in named), read)

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

    def _offered_arm(self, text: str) -> Arm:
        """As `arm`, among all arms on offer."""
        found = self._texts.find(text)
        return self.arm(text) if found is None else found

    @cached_property
    def _positions(self) -> dict[Arm, int]:
        return {arm: position for position, arm in enumerate(self.arms)}

    def _make_arms(self, at_once: int | None) -> tuple[Arm, ...]:
        """The arms that ``intervene`` makes."""
        if at_once is None:
            at_once = len(self.intervene)
        elif type(at_once) is not int or at_once < 1:
            raise ProblemError(
                f"`at_once` is {quoted(at_once)}; it must be a whole number of nodes, at least 1, or None for no limit."
            )
        self.__dict__["at_once"] = at_once
        if at_once == 1:
            return _single_arms(self.intervene)
        return arms_at_once(self.graph, self.reward, self.intervene, at_once)[0]

    def _no_arm(self, arm: object) -> str:
        """Why something is not an arm; where it only looks like one, what tells them apart."""
        if isinstance(arm, Arm) and arm.targets in self.merged:
            same = do({name: arm.settings[name] for name in self.merged[arm.targets]})
            return (
                f"{visible(arm)} is not listed: it is the same as {same}, since the other settings then change nothing."
            )
        if isinstance(arm, Arm) and arm in self.pruned:
            pruned = self.pruned[arm]
            return f"{visible(arm)} was pruned: it is {pruned.words}. {pruned.reason}"
        twin = self._texts.find(str(arm))
        if isinstance(arm, str) and twin is not None:
            return f"{quoted(arm)} is a string; problem.arm(text) finds the arm that it names."
        if isinstance(arm, Arm) and twin is not None and arm.targets == twin.targets:
            for name, value in arm.settings.items():
                if value != twin.settings[name]:
                    found, declared = _kind(value), _kind(twin.settings[name])
                    whose = f"the value of {name}" if arm.is_joint else "its value"
                    return f"{arm} is not an arm of this problem: {whose} is {found}, where {declared} is declared."
        return f"{visible(arm)} is not an arm of this problem.{self._nearest(str(arm))}"

    def _nearest(self, text: str) -> str:
        return nearest(text, map(str, self.arms)) or f" The arms are {listed(map(str, self.arms))}."


def _single_arms(intervene: Mapping[str, tuple[Value, ...]]) -> tuple[Arm, ...]:
    """``do()``, and an arm for each value of each node."""
    check_number(1 + sum(map(len, intervene.values())))
    return (LOOK, *(Arm({node: value}) for node, values in intervene.items() for value in values))


def _flag(value: object, name: str) -> bool:
    if not isinstance(value, bool):
        raise ProblemError(f"`{name}` is {quoted(value)}; it must be True or False.")
    return value


def _kind(value: Value) -> str:
    return f"the string {quoted(value)}" if isinstance(value, str) else f"the number {value}"


def _restore(graph: CausalGraph, reward: str, rest: dict[str, object]) -> Problem:
    return Problem(graph, reward, **rest)  # type: ignore[arg-type]
