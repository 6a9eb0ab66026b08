"""What is needed of things of which some are never better than the best of others.

A *family* of a thing are others of which the best is at least as good.  Where families make circles, things that beat
each other, one of each circle must stay; so a thing is only left out where those that stay explain it step by step.
Things here are target sets (`whichdo.identification.pruning`) or arms (`whichdo.candidates`).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


Kind = TypeVar("Kind", bound=Hashable)


def unbeaten(
    things: Sequence[Kind], beaten_by: Callable[[Kind, int | None], Iterable[tuple[Kind, ...]]]
) -> tuple[Kind, ...]:
    """Those of some things, target sets or arms, that are needed: the rest are never better than the best of them.

    Single nodes W beat most.  Only what is unbeaten so far is compared further, until everything that is left has been
    compared with all.

    ``things``: in order of preference: of those that beat each other the first is kept.
    ``beaten_by``: for a thing and the most nodes of W, families of things the best of which is at least as good in
    every model.
    """
    beaten = _Beaten(things)
    for thing in things:
        beaten.families[thing].update(dict.fromkeys(beaten_by(thing, 1)))
    compared: set[Kind] = set()
    while True:
        kept = beaten.kept()
        rest = [thing for thing in things if thing in kept and thing not in compared]
        if not rest:
            return tuple(thing for thing in things if thing in kept)
        for thing in rest:
            beaten.families[thing].update(dict.fromkeys(beaten_by(thing, None)))
            compared.add(thing)


class _Beaten(Generic[Kind]):
    """What is beaten by what: each thing is never better than the best of every one of its *families*."""

    def __init__(self, things: Sequence[Kind]) -> None:
        self.order = {thing: place for place, thing in enumerate(things)}
        self.families: dict[Kind, dict[tuple[Kind, ...], None]] = {thing: {} for thing in things}

    def kept(self) -> set[Kind]:
        """Things that together are as good as all, none of which can be spared; of several choices the first ones.

        What beats comes before what it beats, but for those that beat each other, which are settled together.
        """
        found: set[Kind] = set()
        done: set[Kind] = set()
        for members in self._classes():
            staying = set(members)
            for thing in sorted(members, key=self.order.__getitem__, reverse=True):
                if self._is_covered(thing, done, staying - {thing}, members):
                    staying.discard(thing)
            found |= staying
            done.update(members)
        return found

    def _is_covered(self, thing: Kind, done: set[Kind], known: set[Kind], members: Sequence[Kind]) -> bool:
        """Whether something is never better than the best of what is done or known, step by step within its class."""
        left = [each for each in members if each not in known]
        while True:
            fresh = [
                each
                for each in left
                if any(all(one in done or one in known for one in family) for family in self.families[each])
            ]
            if thing in fresh:
                return True
            if not fresh:
                return False
            known = known.union(fresh)
            left = [each for each in left if each not in known]

    def _classes(self) -> list[list[Kind]]:
        """Things that beat each other, those first that beat the rest (Tarjan's components, with a stack)."""
        ahead = {
            thing: sorted({each for one in families for each in one}, key=self.order.__getitem__)
            for thing, families in self.families.items()
        }
        number: dict[Kind, int] = {}
        low: dict[Kind, int] = {}
        found: list[list[Kind]] = []
        path: list[Kind] = []
        on_path: set[Kind] = set()
        for start in self.order:
            if start in number:
                continue
            work = [(start, iter(ahead[start]))]
            number[start] = low[start] = len(number)
            path.append(start)
            on_path.add(start)
            while work:
                thing, rest = work[-1]
                step = next(rest, None)
                if step is None:
                    work.pop()
                    if work:
                        low[work[-1][0]] = min(low[work[-1][0]], low[thing])
                    if low[thing] == number[thing]:
                        members = path[path.index(thing) :]
                        del path[-len(members) :]
                        on_path.difference_update(members)
                        found.append(members)
                elif step not in number:
                    number[step] = low[step] = len(number)
                    path.append(step)
                    on_path.add(step)
                    work.append((step, iter(ahead[step])))
                elif step in on_path:
                    low[thing] = min(low[thing], number[step])
        return found
