"""Target sets: the nodes that an arm sets together, and tables with an entry for each such set.

A *target set* is a tuple of names sorted by code point, ``("X",)`` or ``("X", "Z")``.  What a graph says about an arm
(whether looking settles it, what must be counted for that) depends on its targets alone and not on their values, so it
is worked out and looked up by target set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from whichdo.text import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whichdo.graph.admg import CausalGraph


Targets = tuple[str, ...]
Kind = TypeVar("Kind")


def target_set(names: str | Iterable[str]) -> Targets:
    """One name, or several in any order, as a target set.

    >>> target_set("X"), target_set(["Z", "X"])
    (('X',), ('X', 'Z'))
    """
    return (names,) if isinstance(names, str) else tuple(sorted(set(names)))


def acting_targets(graph: CausalGraph, targets: Targets, reward: str) -> Targets:
    """The targets that still act on the reward once all of them are set: the smallest set with the same effect.

    Those that are ancestors of the reward after the arrows into all targets are cut.  Setting the others as well
    changes nothing.

    >>> from whichdo.graph.admg import CausalGraph
    >>> acting_targets(CausalGraph.parse("Z -> X -> Y"), ("X", "Z"), "Y")
    ('X',)
    """
    cut = {graph.index(name) for name in targets}
    seen = {graph.index(reward)}
    stack = list(seen)
    while stack:
        position = stack.pop()
        if position not in cut:
            fresh = set(graph.parent_ids[position]) - seen
            seen |= fresh
            stack.extend(fresh)
    return tuple(name for name in targets if graph.index(name) in seen)


class ByTargets(Mapping[Targets, Kind]):
    """A read-only table by target set; looked up by one name, or by several in any order.

    >>> table = ByTargets({("X",): 1, ("X", "Z"): 2})
    >>> table["X"], table["Z", "X"]
    (1, 2)
    """

    def __init__(self, table: Mapping[Targets, Kind]) -> None:
        self._table = dict(table)

    def __getitem__(self, targets: str | Iterable[str]) -> Kind:
        try:
            return self._table[targets]  # type: ignore[index]  # mostly as it is kept
        except (KeyError, TypeError):
            pass
        try:
            return self._table[self._kept(targets)]
        except KeyError:
            raise KeyError(self._unknown(targets)) from None

    def get(self, targets: str | Iterable[str], default: Any = None) -> Any:
        """The entry of a target set, or ``default`` where there is none."""
        return self._table.get(self._kept(targets), default)

    def __contains__(self, targets: object) -> bool:
        return self._kept(targets) in self._table

    def __iter__(self) -> Iterator[Targets]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._table!r})"

    @staticmethod
    def _kept(targets: Any) -> Targets:
        """The key as it is kept; what cannot be one is the key of nothing."""
        if isinstance(targets, Iterable):
            names = (targets,) if isinstance(targets, str) else tuple(targets)
            if all(isinstance(name, str) for name in names):
                return target_set(names)
        return ()

    def _unknown(self, targets: Any) -> str:
        several = isinstance(targets, Iterable) and not isinstance(targets, str)
        named = " and ".join(map(quoted, targets)) if several else quoted(targets)
        shown = "; ".join(" and ".join(each) for each in islice(self._table, 12))
        more = f"; ... {len(self._table) - 12:,} more" if len(self._table) > 12 else ""
        return f"no arm sets {named or 'nothing'}{' together' if several else ''}; arms set: {shown or 'nothing'}{more}"
