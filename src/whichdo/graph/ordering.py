"""In which order to sum variables out of a product of tables.

Summing one variable out multiplies all tables that speak of it into one over its neighbours.  How large these grow
depends on the order; the best is hard to find, and *min-fill* is good in practice: at each turn the variable whose
neighbours lack the fewest edges among each other.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


HOPELESS = 64  # neighbours; a table over so many nodes of two values is far beyond any limit


def min_fill(groups: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """For each turn the name that is summed out, then what is tied to it by then; ``groups`` are the tables' names.

    >>> [turn[0] for turn in min_fill([("A", "B"), ("B", "C"), ("C", "D")])]
    ['A', 'B', 'C', 'D']
    """
    near: dict[str, set[str]] = {}
    for group in groups:
        for name in group:
            near.setdefault(name, set()).update(group)
    for name, others in near.items():
        others.discard(name)
    first = {name: number for number, name in enumerate(near)}
    fill = {name: _missing(near, name) for name in near}
    queue = [(fill[name], len(near[name]), first[name], name) for name in near]
    heapq.heapify(queue)
    while queue:
        joins, degree, _, name = heapq.heappop(queue)
        if name not in near or joins != fill[name] or degree != len(near[name]):
            continue  # an old entry: the node is gone, or stands elsewhere in the queue by now
        around = near.pop(name)
        yield (name, *sorted(around, key=first.__getitem__))
        for other in around:
            near[other].discard(name)
            near[other] |= around - {other}
        # New edges change the count of everyone near; without any, only the neighbours lost something.
        touched = {far for other in around for far in (other, *near[other])} if joins else around
        for other in touched:
            fill[other] = _missing(near, other)
            heapq.heappush(queue, (fill[other], len(near[other]), first[other], other))


def _missing(near: Mapping[str, set[str]], name: str) -> int:
    """How many (ordered) pairs of neighbours are not neighbours of each other; not counted where all is lost anyway."""
    around = near[name]
    if len(around) > HOPELESS:
        return HOPELESS**3 + len(around)
    return sum(len(around - near[other]) - 1 for other in around)
