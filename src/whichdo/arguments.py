"""The arguments of a problem, read and checked one by one: each that does not fit is an error with a way out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from whichdo.domains import NumberRange, all_groups, finite_number, given_list, known_node, settings_of
from whichdo.errors import ProblemError, UsageError
from whichdo.graph.admg import CausalGraph
from whichdo.text import listed, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from whichdo.arms import Arm
    from whichdo.domains import Bins, Groups, Value


class Goal(StrEnum):
    """Whether a large reward is good or bad."""

    MAXIMIZE = "maximize"
    MINIMIZE = "minimize"


def checked_graph(given: CausalGraph | str) -> CausalGraph:
    """A graph, or the one that a string describes."""
    if isinstance(given, CausalGraph):
        return given
    if isinstance(given, str):
        return CausalGraph.parse(given)
    raise UsageError(
        f'A problem needs a CausalGraph or text such as "X -> Y", not {type(given).__name__}. '
        f"whichdo.graph_from(...) makes a CausalGraph from graphs of other packages and lists of edges, "
        f"whichdo.read_graph(path) from a file."
    )


def checked_reward(graph: CausalGraph, reward: str | None) -> str:
    """The reward, by default the one node that the graph's file marks as outcome."""
    if reward is not None:
        return known_node(graph, reward, "The reward")
    if len(graph.outcomes) == 1:
        return next(iter(graph.outcomes))
    marked = f"it marks {listed(sorted(graph.outcomes))}" if graph.outcomes else "it marks no outcome"
    raise ProblemError(f"Which node is the reward? The graph does not say ({marked}); give `reward`.")


def checked_range(
    reward: str, given: object, domains: Mapping[Any, Any], rewards: Mapping[Value, float] | None
) -> NumberRange | None:
    """The range of a reward that may be any number; None where there is no such range."""
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


def checked_goal(goal: str) -> Goal:
    """Which way is good."""
    try:
        return Goal(goal)
    except ValueError:
        raise ProblemError(f"The goal is {quoted(goal)}; it must be maximize or minimize.") from None


def checked_groups(
    graph: CausalGraph,
    given: Mapping[str, Mapping[Value, Iterable[Value]]],
    domains: Mapping[str, tuple[Value, ...]],
    numeric: Collection[str],
) -> Groups:
    """The groups, which only values that are declared one by one can have."""
    found = all_groups(graph, given, domains)
    for name in found:
        if name in numeric:
            raise ProblemError(f"`groups` names {quoted(name)}, whose values are numbers of a range, not a list.")
    return found


def checked_intervene(
    graph: CausalGraph,
    reward: str,
    given: Iterable[str] | Mapping[str, Iterable[Value]] | None,
    domains: Mapping[str, tuple[Value, ...]],
    bins: Mapping[str, Bins],
) -> dict[str, tuple[Value, ...]]:
    """The nodes that can be set, with their values; by default the graph's exposures, or all nodes but the reward."""
    if given is None:
        chosen = graph.exposures - {reward} or set(graph.nodes) - {reward}
        given = [name for name in graph.nodes if name in chosen]
    if isinstance(given, (set, frozenset)):  # a set's own order changes from process to process
        given = sorted(given, key=lambda name: graph.index(name) if name in graph else -1)
    names = [given] if isinstance(given, str) else given_list(given, "`intervene`", "nodes")
    known = [known_node(graph, name, "The intervenable node") for name in names]
    twice = [name for name, count in Counter(known).items() if count > 1]
    if twice:
        raise ProblemError(f"`intervene` lists {listed(twice)} more than once.")
    settings = dict(zip(known, given.values(), strict=True)) if isinstance(given, Mapping) else None
    found = {}
    for name in known:
        if name == reward:
            raise ProblemError(
                f"The reward {quoted(name)} is listed as intervenable. The reward cannot be set; "
                f"remove it from `intervene`."
            )
        domain = domains[name]
        if settings is not None:
            found[name] = settings_of(name, settings[name], domain)
        else:  # nobody sets a number to missing
            found[name] = tuple(domain[: len(bins[name].cuts) + 1] if name in bins else domain)
    if not found:
        raise ProblemError(
            f"There is nothing to intervene on: {quoted(reward)} is the reward and `intervene` is empty."
        )
    return found


def occurring_values(arms: Iterable[Arm], domains: Mapping[str, tuple[Value, ...]]) -> dict[str, tuple[Value, ...]]:
    """The nodes that listed arms set, in order, with the values that occur."""
    wanted: dict[str, set[Value]] = {}
    for arm in arms:
        for name, value in arm.settings.items():
            wanted.setdefault(name, set()).add(value)
    return {name: tuple(value for value in domains[name] if value in some) for name, some in wanted.items()}


def checked_costs(
    given: Mapping[Any, float], arms: Collection[Arm], find: Callable[[str], Arm], no_arm: Callable[[object], str]
) -> dict[Arm, float]:
    """What a pull of each arm costs, 1 unless given."""
    found: dict[Arm, float] = {}
    for named, cost in given.items():
        arm = find(named) if isinstance(named, str) else named
        if arm not in arms:
            raise ProblemError(f"In `costs`: {no_arm(arm)}")
        if arm in found:
            raise ProblemError(f"`costs` names {arm} twice. Keep one of the two.")
        found[arm] = finite_number(cost, f"The cost of {arm}")
        if found[arm] <= 0:
            raise ProblemError(f"The cost of {arm} is {cost}; a cost must be above 0.")
    return dict.fromkeys(arms, 1.0) | found
