"""The values of nodes: what a value is, which a node has, and what those of the reward are worth.

What a user gives for them is checked here and comes out plain; a `whichdo.problem.Problem` is built from the result.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from whichdo.errors import ProblemError, TooLargeError
from whichdo.text import listed, nearest, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whichdo.graph.admg import CausalGraph


RANGE_LEVELS = 256
"""In how many steps policies see a reward that may be any number of a range."""

Value = int | float | str
BINARY: tuple[Value, ...] = (0, 1)
MAX_VALUES = 256
MAX_VALUE_NAME = 128
MAX_LABEL = 200
MAX_LABELS_LISTED = 12
MAX_DIGITS = 17
MISSING_LEVEL = "missing"
"""What a missing value is called where it counts as a value."""


@dataclass(frozen=True)
class NumberRange:
    """All numbers from ``low`` to ``high``: the values of a numeric reward.

    Estimates from logs add up the numbers themselves.  Policies, and pulls that are told one by one, see the nearest
    of 256 levels, which is closer than any of them decides.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        low, high = (finite_number(end, "An end of `reward_range`") for end in (self.low, self.high))
        if not low < high or not math.isfinite(high - low):
            raise ProblemError(f"`reward_range` is {low:g} to {high:g}; its low end must be below its high end.")
        if len(set(self.levels)) < RANGE_LEVELS:
            raise ProblemError(f"`reward_range` is {low!r} to {high!r}; its ends are too close to tell numbers apart.")

    @cached_property
    def levels(self) -> tuple[float, ...]:
        """The levels that policies see, on the reward's own scale."""
        steps = RANGE_LEVELS - 1
        return tuple(self.low + (self.high - self.low) * (number / steps) for number in range(RANGE_LEVELS))

    def unit(self, value: float) -> float:
        """A number of the range on a scale from 0 to 1."""
        return (value - self.low) / (self.high - self.low)

    def level(self, value: float) -> int:
        """The number of the nearest level."""
        return round(self.unit(value) * (RANGE_LEVELS - 1))

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"numbers from {self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class Bins:
    """Numbers cut into intervals, whose names are the values of a node.  Make one with `bins`.

    A cut belongs to the interval above it: the cuts 35 and 45 give the values "under 35", "35 to under 45" and "45 or
    more", and 35 itself is in the second.

    Parameters
    ----------
    cuts
        Where the intervals meet, in increasing order.
    missing
        Whether a missing number counts as a separate value, "missing".
    """

    cuts: tuple[int | float, ...]
    missing: bool = False

    @cached_property
    def values(self) -> tuple[Value, ...]:
        """The names of the intervals, in order."""
        cuts = [_written(cut) for cut in self.cuts]
        between = [f"{low} to under {high}" for low, high in pairwise(cuts)]
        return (f"under {cuts[0]}", *between, f"{cuts[-1]} or more", *([MISSING_LEVEL] if self.missing else []))

    @property
    def plain(self) -> list[Value]:
        """The cuts, and the word "missing" at their end where that is a value: as problem files have them."""
        return [*self.cuts, *([MISSING_LEVEL] if self.missing else [])]


def _written(cut: int | float) -> str:
    """A cut as people write it; a number of very many digits by its power of ten."""
    return str(cut) if len(str(cut)) <= MAX_DIGITS else repr(float(cut))


def bins(cuts: Iterable[float | str], *, missing: bool = False) -> Bins:
    """Cut the numbers of a node into intervals, which become its values.

    Pass the result as a domain: ``Problem(graph, "Y", domains={"age": bins([35, 45])})``.

    Parameters
    ----------
    cuts
        Where the intervals meet, in increasing order.  A cut belongs to the interval above it.
    missing
        Whether a missing number counts as a separate value called "missing".  The string "missing" at the end of
        ``cuts`` means the same.

    Returns
    -------
    Bins
        The cuts; ``values`` are the names of the intervals.

    Raises
    ------
    ProblemError
        If the cuts are not finite numbers in increasing order.

    Examples
    --------
    >>> import whichdo as wd
    >>> wd.bins([35, 45]).values
    ('under 35', '35 to under 45', '45 or more')
    """
    if isinstance(cuts, (str, int, float)):
        raise ProblemError(f"The cuts are {quoted(cuts)}; give a list of numbers, such as [35, 45].")
    found = given_list(cuts, "The cuts", "numbers")
    if found and isinstance(found[-1], str) and found[-1] == MISSING_LEVEL:
        found, missing = found[:-1], True
    numbers: list[int | float] = []
    for cut in found:
        value = plain_value(cut, "a cut") if not isinstance(cut, str) else cut
        if isinstance(value, str):
            raise ProblemError(f"The cuts hold {quoted(cut)}; they must be numbers.")
        finite_number(value, "A cut")
        numbers.append(value)
    if not numbers:
        raise ProblemError("There is no cut; give at least one number at which two intervals meet.")
    for low, high in pairwise(numbers):
        if not low < high:
            raise ProblemError(f"The cuts must increase; {high} comes after {low}.")
    return Bins(tuple(numbers), bool(missing))


def plain_value(value: object, where: str) -> Value:
    """A node's value as a plain int, float or str: True is 1, 1.0 is 1, numpy scalars and enums are unwrapped.

    Numbers that are equal become the same, so that equal arms are written alike.  An interval of pandas is the string
    it is written as.
    """
    if type(value).__name__ == "Interval":
        return str(value)
    item = getattr(value, "item", None)
    if callable(item) and not isinstance(value, (int, float, str)):
        value = item()
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ProblemError(f"{value} is not a value of {quoted(where)}: it must be finite.")
        return int(value) if value.is_integer() else float(value)
    raise ProblemError(f"{value!r} is not a value of {quoted(where)}: a value is a number or a string.")


def known_node(graph: CausalGraph, name: str, what: str) -> str:
    """The name as the graph has it, or an error."""
    if name in graph:
        return graph.nodes[graph.index(name)]
    if unicodedata.normalize("NFC", str(name)) in graph.hidden:
        raise ProblemError(f"{what} {quoted(name)} is hidden: it is never observed. Choose an observed node.")
    raise ProblemError(f"{what} {quoted(name)} is not in the graph.{nearest(str(name), graph.nodes)}")


def given_mapping(given: Mapping[Any, Any] | None, what: str, example: str) -> Mapping[Any, Any]:
    """A mapping as it is, nothing as an empty one; anything else is an error that shows an ``example``."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ProblemError(f"`{what}` is {quoted(given)}; give a mapping such as {example}.")
    return given


def given_list(given: Iterable[Any], what: str, of: str) -> list[Any]:
    """What was given as a list; what cannot be gone through is an error."""
    try:
        return list(given)
    except TypeError:
        raise ProblemError(f"{what} is {quoted(given)}; give a list of {of}.") from None


def all_domains(graph: CausalGraph, given: Mapping[str, Iterable[Value] | Bins]) -> dict[str, tuple[Value, ...]]:
    """The values of every node, in the graph's order: 0 and 1 for those that are not given."""
    domains = dict.fromkeys(graph.nodes, BINARY)
    for name, values in given.items():
        name = known_node(graph, name, "`domains` names a node that cannot have one:")
        if isinstance(values, Bins):
            check_domain(name, values.values)
            domains[name] = values.values
            continue
        if isinstance(values, str):
            raise ProblemError(
                f"The domain of {quoted(name)} is a single string, {quoted(values)}; give a list of values."
            )
        if isinstance(values, (set, frozenset)):
            raise ProblemError(f"The domain of {quoted(name)} is a set, which has no order; give a list of values.")
        listing = given_list(values, f"The domain of {quoted(name)}", "values")
        domain = tuple(plain_value(value, name) for value in listing)
        check_domain(name, domain)
        domains[name] = domain
    return domains


def all_bins(graph: CausalGraph, given: Mapping[str, Iterable[Value] | Bins]) -> dict[str, Bins]:
    """The nodes among ``given`` whose numbers are cut into intervals, in the graph's order."""
    found = {known_node(graph, name, "The node"): each for name, each in given.items() if isinstance(each, Bins)}
    return {name: found[name] for name in graph.nodes if name in found}


Groups = dict[str, dict[Value, tuple[Value, ...]]]


def all_groups(
    graph: CausalGraph, given: Mapping[str, Mapping[Value, Iterable[Value]]], domains: Mapping[str, tuple[Value, ...]]
) -> Groups:
    """Which values of the data count as one declared value, checked, in the graph's order."""
    found: Groups = {}
    for name, groups in given.items():
        name = known_node(graph, name, "`groups` names a node that cannot have any:")
        domain = domains[name]
        taken: dict[str, object] = {str(value): value for value in domain}
        chosen: dict[Value, tuple[Value, ...]] = {}
        for value, members in given_mapping(groups, f"groups of {name}", '{"other": ["x", "y"]}').items():
            into = next((each for each in domain if str(each) == str(value)), None)
            if into is None:
                raise ProblemError(
                    f"`groups` puts values of {quoted(name)} into {quoted(value)}, which is not one of its values: "
                    f"{listed(map(str, domain))}. List it in the domain."
                )
            listing = [members] if isinstance(members, (str, int, float)) else members
            each = [plain_value(member, name) for member in given_list(listing, f"The group {quoted(value)}", "values")]
            for member in each:
                if str(member) in taken:
                    raise ProblemError(
                        f"`groups` puts {quoted(member)} of {quoted(name)} into {quoted(value)}, but it is a value or "
                        f"in a group already. Name it once."
                    )
                taken[str(member)] = member
            chosen[into] = tuple(each)
        found[name] = chosen
    return {name: found[name] for name in graph.nodes if name in found}


def all_labels(graph: CausalGraph, given: Mapping[str, object]) -> dict[str, str]:
    """What nodes are called in tables, plots and reports, checked, in the graph's order."""
    found = {}
    for name, label in given.items():
        name = known_node(graph, name, "`labels` names a node that cannot have one:")
        if not isinstance(label, str) or not label.strip() or not label.isprintable() or len(label) > MAX_LABEL:
            raise ProblemError(
                f"The label of {quoted(name)} is {quoted(label)}; it must be a line of text, at most {MAX_LABEL} "
                f"characters."
            )
        found[name] = label.strip()
    return {name: found[name] for name in graph.nodes if name in found}


def unit_of(label: str) -> str:
    """The unit that a label ends in: ``kg`` of ``weight gained (kg)``; empty where it has none."""
    name, _, unit = label.rpartition(" (")
    return unit[:-1] if name and unit.endswith(")") and ")" not in unit[:-1] else ""


def labels_line(labels: Mapping[str, str]) -> str:
    """What nodes are called, in a line to stand below a table; empty where no node has a label."""
    said = [f"{name} is {label}" for name, label in labels.items()]
    more = [f"{len(said) - MAX_LABELS_LISTED:,} more"] if len(said) > MAX_LABELS_LISTED else []
    return f"Labels: {'; '.join([*said[:MAX_LABELS_LISTED], *more])}." if said else ""


def check_domain(name: str, domain: Sequence[Value]) -> None:
    """Refuse a domain that is empty, too large, or whose values cannot be told apart or shown."""
    if not domain:
        raise ProblemError(f"The domain of {quoted(name)} is empty; list its values.")
    if len(domain) > MAX_VALUES:
        raise TooLargeError(f"{quoted(name)} has {len(domain):,} values; {MAX_VALUES} are allowed. Group some.")
    for value in map(str, domain):
        if not value.strip() or not value.isprintable() or len(value) > MAX_VALUE_NAME:
            raise ProblemError(f"{quoted(value)} cannot be a value of {quoted(name)}: empty, unprintable or too long.")
    if len(set(map(str, domain))) < len(domain):
        raise ProblemError(f"The domain of {quoted(name)} lists a value twice: {listed(map(str, domain))}.")


def settings_of(name: str, given: Iterable[Value], domain: tuple[Value, ...]) -> tuple[Value, ...]:
    """What a node can be set to, in the order of its domain."""
    if isinstance(given, (str, int, float)):
        given = [given]
    wanted = [plain_value(value, name) for value in given_list(given, f"What {quoted(name)} can be set to", "values")]
    for value in wanted:
        if value not in domain:
            raise ProblemError(f"{quoted(name)} cannot be set to {quoted(value)}. Allowed: {listed(map(str, domain))}.")
    if not wanted:
        raise ProblemError(f"`intervene` lists {quoted(name)} with no value to set it to.")
    return tuple(value for value in domain if value in wanted)


def worth_of_levels(name: str, domain: tuple[Value, ...], given: Mapping[Value, float] | None) -> dict[Value, float]:
    """What each value of the reward is worth; the values themselves unless given."""
    if given is None:
        texts = [level for level in domain if isinstance(level, str)]
        if texts:
            raise ProblemError(
                f"The reward {quoted(name)} takes the value {quoted(texts[0])}: declare in `rewards` what each of its "
                f"values is worth, from 0 to 1."
            )
        given = {level: float(level) for level in domain}
    given = given_mapping(given, "rewards", '{"low": 0, "high": 1}')
    if set(given) != set(domain):
        raise ProblemError(
            f"`rewards` must give a worth to each value of {quoted(name)} and to nothing else. "
            f"Values: {listed(map(str, domain))}; found: {listed(map(quoted, given))}."
        )
    worth = {level: finite_number(given[level], f"The worth of {name}={level}") for level in domain}
    for level, value in worth.items():
        if not 0 <= value <= 1:
            raise ProblemError(f"The reward {name}={level} is worth {value:g}; declare rewards in 0..1 (`rewards`).")
    return worth


def finite_number(value: object, what: str) -> float:
    """A finite number as a float, or an error."""
    try:
        if not isinstance(value, bool) and isinstance(value, (int, float)) and math.isfinite(value):
            return float(value)
    except OverflowError:
        raise ProblemError(f"{what} is a number of {len(str(value)):,} digits, which is too large.") from None
    raise ProblemError(f"{what} is {value!r}; it must be a finite number.")
