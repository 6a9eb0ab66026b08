"""Arms: what can be done, as sets of settings.

``do()`` is to look and leave everything as it is; ``do(X=1)`` sets one node, and ``do(X=1, Z=0)``, a *joint arm*, sets
several at once.  The order of names does not matter.  The string of an arm sorts them by code point, and any order is
read (`ArmTexts`).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import cached_property
from itertools import combinations, product
from math import comb, prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from whichdo.domains import known_node, plain_value
from whichdo.errors import ProblemError, TooLargeError, UsageError
from whichdo.graph.targets import acting_targets
from whichdo.text import listed, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whichdo.domains import Value
    from whichdo.graph.admg import CausalGraph
    from whichdo.graph.targets import Targets


MAX_ARMS = 100_000


class Arm:
    """One thing that can be done, written ``do()``, ``do(X=1)`` or ``do(X=1, Z=0)``.  Make arms with `do`.

    Immutable and hashable; two arms are equal if they set the same nodes to the same values.

    Parameters
    ----------
    settings
        The value that each node is set to.

    Examples
    --------
    >>> import whichdo as wd
    >>> arm = wd.do(Z=0, X=1)
    >>> arm, arm.targets, dict(arm.settings), arm.is_look
    (do(X=1, Z=0), ('X', 'Z'), {'X': 1, 'Z': 0}, False)
    """

    __slots__ = ("_hash", "settings", "targets")

    settings: Mapping[str, Value]
    """The value that each node is set to; read-only, sorted by name."""
    targets: Targets
    """The names of the nodes that are set, sorted by code point."""
    _hash: int

    def __init__(self, settings: Mapping[str, Value] | None = None) -> None:
        ordered = dict(sorted(settings.items())) if settings else {}
        fill = object.__setattr__
        fill(self, "settings", MappingProxyType(ordered))
        fill(self, "targets", tuple(ordered))
        fill(self, "_hash", hash(tuple(ordered.items())))  # kept: arms are hashed in every round of a policy

    @property
    def is_look(self) -> bool:
        """True for ``do()``: leave everything as it is and look."""
        return not self.targets

    @property
    def is_joint(self) -> bool:
        """True if it sets several nodes at once."""
        return len(self.targets) > 1

    def to_dict(self) -> dict[str, Any]:
        """The arm for JSON.

        >>> import whichdo as wd
        >>> wd.do(X=1).to_dict()
        {'settings': {'X': 1}, 'text': 'do(X=1)'}
        """
        return {"settings": dict(self.settings), "text": str(self)}

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Arm):
            return NotImplemented
        return self._hash == other._hash and self.settings == other.settings

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return f"do({', '.join(f'{name}={value}' for name, value in self.settings.items())})"

    __repr__ = __str__

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an Arm cannot be changed; make a new one with do(...) (tried to set {name})")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"an Arm cannot be changed; make a new one with do(...) (tried to delete {name})")

    def __reduce__(self) -> tuple[object, ...]:
        return (Arm, (dict(self.settings),))  # anew in each process: hashes of strings differ


LOOK = Arm()
"""``do()``, the arm of every problem that changes nothing."""


def do(setting: Mapping[str, Value] | None = None, /, **values: Value) -> Arm:
    """Make an arm: ``do()``, ``do(X=1)`` or ``do(X=1, Z=0)``; names with blanks go into a mapping.

    Parameters
    ----------
    setting
        Values by node, for names that cannot be written as keywords.
    **values
        Values by node.

    Returns
    -------
    Arm
        The arm that sets these nodes.

    Raises
    ------
    UsageError
        If a node is set twice, or something is not a name with a value.

    Examples
    --------
    >>> import whichdo as wd
    >>> wd.do(X=1), wd.do(), wd.do({"face mask": 1}, X=0)
    (do(X=1), do(), do(X=0, face mask=1))
    """
    if setting is not None and not isinstance(setting, Mapping):
        raise UsageError(
            f'do() takes names and values, as in do(X=1) or do({{"face mask": 1}}); found {quoted(setting)}. '
            f"problem.arm(text) finds an arm by its string."
        )
    chosen: dict[str, Value] = {}
    for node, value in (*(setting or {}).items(), *values.items()):
        if not isinstance(node, str):
            raise UsageError(f"An arm sets a node by its name, a string; found {quoted(node)}.")
        name = unicodedata.normalize("NFC", node)  # as a graph keeps its names
        if name in chosen:
            raise UsageError(f"An arm sets a node once; {quoted(name)} is set twice.")
        chosen[name] = plain_value(value, name)
    return Arm(chosen) if chosen else LOOK


def listed_arms(
    given: Sequence[Any], graph: CausalGraph, reward: str, domains: Mapping[str, tuple[Value, ...]]
) -> tuple[Arm, ...]:
    """Arms that were listed by hand, checked; ``do()`` first, whether it was listed or not."""
    check_number(len(given))
    found: dict[Arm, None] = {LOOK: None}
    seen: set[Arm] = set()
    names: dict[str, str] = {}
    for number, each in enumerate(given, start=1):
        arm = do(each) if isinstance(each, Mapping) else each
        if not isinstance(arm, Arm):
            raise ProblemError(
                f"`arms` lists {quoted(each)} as number {number:,}; list arms such as do(X=1) or do(X=1, Z=0)."
            )
        settings: dict[str, Value] = {}
        for node, value in arm.settings.items():
            if node not in names:
                names[node] = known_node(graph, node, f"In `arms`, {arm} sets a node that cannot be set:")
            name = names[node]
            if name == reward:
                raise ProblemError(
                    f"In `arms`, {arm} sets the reward {quoted(name)}, which is what the arms are to improve. "
                    f"Remove this arm."
                )
            if value not in domains[name]:
                raise ProblemError(
                    f"In `arms`, {arm} sets {quoted(name)} to {quoted(value)}. "
                    f"Allowed: {listed(map(str, domains[name]))}."
                )
            settings[name] = domains[name][domains[name].index(value)]
        arm = Arm(settings) if settings else LOOK
        if arm in seen:
            raise ProblemError(f"`arms` lists {arm} twice (the order of names does not matter). Keep one of the two.")
        seen.add(arm)
        found[arm] = None
    if len(found) == 1:
        raise ProblemError("`arms` is empty: give at least one arm such as do(X=1).")
    return tuple(found)


def arms_at_once(
    graph: CausalGraph, reward: str, intervene: Mapping[str, tuple[Value, ...]], at_once: int
) -> tuple[tuple[Arm, ...], dict[Targets, Targets]]:
    """``do()`` and the arms that set up to so many nodes, and the target sets that are not among them.

    Arms that do the same are listed once: of several nodes each must act on the reward when the others are set.  What
    is left out is given with the targets of the arms that it equals.  A single node that does not act stays.
    """
    names = list(intervene)
    sets = sum(comb(len(names), size) for size in range(1, min(at_once, len(names)) + 1))
    if sets > MAX_ARMS:
        _refuse(f"{sets:,} sets of up to {at_once:,} nodes")
    kept: list[tuple[str, ...]] = []
    merged: dict[Targets, Targets] = {}
    number = 1
    for size in range(1, min(at_once, len(names)) + 1):
        for chosen in combinations(names, size):
            targets = tuple(sorted(chosen))
            acting = acting_targets(graph, targets, reward) if size > 1 else targets
            if acting != targets:
                merged[targets] = acting
                continue
            kept.append(chosen)
            number += prod(len(intervene[name]) for name in chosen)
    if number > MAX_ARMS:
        _refuse(f"{number:,} arms on up to {at_once:,} nodes")
    made = (
        Arm(dict(zip(chosen, values, strict=True)))
        for chosen in kept
        for values in product(*(intervene[name] for name in chosen))
    )
    return (LOOK, *made), merged


def _refuse(what: str) -> None:
    raise TooLargeError(
        f"There would be {what}; {MAX_ARMS:,} arms are allowed. Set fewer nodes at once (`at_once`), let fewer nodes "
        f"be set, or to fewer values (`intervene`), or list only the arms worth trying (`arms`), such as those on "
        f"the sets that whichdo.possibly_optimal names."
    )


def check_number(arms: int) -> None:
    """Refuse more arms than can be told apart by any number of experiments, before they are built."""
    if arms > MAX_ARMS:
        raise TooLargeError(
            f"There would be {arms:,} arms; {MAX_ARMS:,} are allowed. Let fewer nodes be set, or to fewer values "
            f"(`intervene`), or list only the arms worth trying (`arms`)."
        )


class ArmTexts:
    """The arms of a problem by their strings, read without regard to blanks and to the order of names.

    A string is never split: names and values may hold commas, equals signs and parentheses.  What is not an arm's own
    string is compared with the arms that have the same characters, setting by setting.
    """

    def __init__(self, arms: Iterable[Arm]) -> None:
        self._arms = tuple(arms)
        self._exact: dict[str, Arm] = {}
        for arm in self._arms:
            twin = self._exact.setdefault(_squeeze(str(arm)), arm)
            if twin is not arm:
                raise ProblemError(f"Two arms read alike, {arm} and {twin}. Rename a node or a value.")

    def find(self, text: str) -> Arm | None:
        """The arm whose string it is, or else the one that it names in another order; None if there is none."""
        found = self._exact.get(text)  # most texts have no blanks; a campaign reads one for every ask
        if found is not None:
            return found
        squeezed = _squeeze(text)
        found = self._exact.get(squeezed)
        if found is not None or not (squeezed.startswith("do(") and squeezed.endswith(")")):
            return found
        body = squeezed[3:-1]
        matching = [arm for arm in self._shuffled.get(_characters(squeezed), ()) if _reads(body, _parts(arm))]
        if len(matching) > 1:
            raise ProblemError(
                f"{quoted(text)} can be read as {listed(map(repr, matching))}, which are different arms. Sort the "
                f"names, or rename a node or a value."
            )
        return matching[0] if matching else None

    @cached_property
    def _shuffled(self) -> dict[str, list[Arm]]:
        """Joint arms by the characters of their strings, which every order of names has alike."""
        found: dict[str, list[Arm]] = {}
        for text, arm in self._exact.items():
            if arm.is_joint:
                found.setdefault(_characters(text), []).append(arm)
        return found


def _squeeze(text: str) -> str:
    return unicodedata.normalize("NFC", text).replace(" ", "")


def _characters(text: str) -> str:
    return "".join(sorted(text))


def _parts(arm: Arm) -> tuple[str, ...]:
    return tuple(_squeeze(f"{name}={value}") for name, value in arm.settings.items())


def _reads(body: str, parts: tuple[str, ...]) -> bool:
    """Whether a string consists of these parts, in some order, with commas between."""
    ways = [(0, parts)]
    while ways:
        start, left = ways.pop()
        if len(left) == 1 and body[start:] == left[0]:
            return True
        for number, part in enumerate(left):
            if len(left) > 1 and body.startswith(f"{part},", start):
                ways.append((start + len(part) + 1, (*left[:number], *left[number + 1 :])))
    return False
