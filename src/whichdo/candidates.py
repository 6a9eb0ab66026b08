"""Which arms on offer can be best at all: the others are *pruned*, each with the arms that are at least as good.

Two arms that do the same to the reward, since one only sets idle nodes besides, are one: the one
with fewer settings stays.  Of the rest `whichdo.identification.pruning` says which target sets beat
which, and here that becomes a statement about arms.  do(X=x) is never better than the best of
do(X=x, W=w) over all values w of W, if seeing W under do(X) is as good as setting it; so each of
these must be on offer, or an arm that is the same.  An arm that is missing, because a node can be
set to some of its values only, because arms were listed one by one or because one was forbidden,
takes away the argument and what it pruned.

Where every value of every node can be set the answer does not depend on values, and target sets are
compared instead of arms; where every minimal set of nodes is on offer, the possibly optimal sets are
known without a comparison.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

from whichdo.arms import Arm
from whichdo.graph.targets import acting_targets
from whichdo.identification.pruning import (
    border_once_set,
    dominating_sets,
    offers_all,
    possibly_optimal,
    unbeaten,
)
from whichdo.text import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from whichdo.domains import Value
    from whichdo.graph.admg import CausalGraph
    from whichdo.graph.targets import Targets


MOST_NAMED = 8
MOST_WORK = 50_000_000
"""Target sets, times the nodes and edges that act on the reward, times the sets W that are tried: some seconds."""
Better = tuple["Targets", "Targets"]  # a target set, and the nodes W that it sets in addition


@dataclass(frozen=True)
class Pruned:
    """Why an arm can never be the only best one.

    >>> Pruned(Arm({"Z": 0}), (Arm({"Z": 0}), Arm({"Z": 1})), "Because.").words
    'never better than the best of do(Z=0) and do(Z=1)'
    """

    by: Arm
    """The arm that is at least as good; where it takes the best of several, the first of `among`."""
    among: tuple[Arm, ...]
    """The best of these is at least as good, whatever the mechanisms are."""
    reason: str

    @property
    def words(self) -> str:
        """What is at least as good."""
        names = listed(map(str, self.among), most=MOST_NAMED)
        return f"never better than {f'the best of {names}' if len(self.among) > 1 else names}"

    def to_dict(self) -> dict[str, Any]:
        """The entry for JSON."""
        return {"by": self.by.to_dict(), "among": [arm.to_dict() for arm in self.among], "reason": self.reason}


class PrunedArms(Mapping[Arm, Pruned]):
    """Every pruned arm with what is at least as good, worked out when it is asked for.

    >>> PrunedArms()
    {}
    """

    def __init__(self, arms: Iterable[Arm] = (), candidates: Candidates | None = None) -> None:
        self._arms = dict.fromkeys(arms)
        self._candidates = candidates

    def __getitem__(self, arm: Arm) -> Pruned:
        if arm not in self._arms or self._candidates is None:
            raise KeyError(arm)
        return self._candidates.explain(arm)

    def __contains__(self, arm: object) -> bool:
        return arm in self._arms

    def __iter__(self) -> Iterator[Arm]:
        return iter(self._arms)

    def __len__(self) -> int:
        return len(self._arms)

    def __repr__(self) -> str:
        return f"{{{', '.join(f'{arm}: by {listed(map(str, self[arm].among))}' for arm in self)}}}"


class Candidates:
    """The arms of a problem that can be best, and why the others cannot.

    A function of the graph, the reward, the values of nodes and the arms on offer, and of nothing else: a problem that
    is written down and read back prunes the same.
    """

    def __init__(
        self, graph: CausalGraph, reward: str, domains: Mapping[str, tuple[Value, ...]], offered: Sequence[Arm]
    ) -> None:
        self._graph, self._reward, self._domains = graph.subgraph(graph.ancestors([reward])), reward, domains
        self._acting = acting = {arm.targets: acting_targets(graph, arm.targets, reward) for arm in offered}
        self._same: dict[Arm, Arm] = {}
        """For each arm the one that does the same with fewest settings; among these the first."""
        self._minimal: dict[Arm, Arm] = {}
        """Arms without idle members, and which arm on offer each stands for."""
        for arm in sorted(offered, key=lambda arm: len(arm.targets)):
            kept = acting[arm.targets]
            bare = arm if len(kept) == len(arm.targets) else Arm({name: arm.settings[name] for name in kept})
            self._same[arm] = self._minimal.setdefault(bare, arm)
        self._edges: dict[tuple[Targets, int | None], tuple[Better, ...]] = {}
        self._steps: dict[Arm, tuple[Targets, tuple[Arm, ...]]] = {}
        self.kept = self._kept(offered)
        """The arms that can be best, in the order of the offer; do() among them where it can be best."""
        self.pruned = PrunedArms((arm for arm in offered if arm not in self._staying), self)

    def _kept(self, offered: Sequence[Arm]) -> tuple[Arm, ...]:
        if self._is_uniform:
            sets = set(self._kept_sets())
            bare = [arm for arm in self._minimal if arm.targets in sets]
        else:
            order = sorted(self._minimal, key=lambda arm: (len(arm.targets), arm.targets))
            bare = list(unbeaten(order, self._arms_that_beat))
        staying = {self._minimal[arm] for arm in bare}
        found = tuple(arm for arm in offered if arm in staying)
        self._staying = dict.fromkeys(found)
        return found

    # --------------------------------------------------------------------------------------------- what is on offer

    @cached_property
    def _values(self) -> dict[str, dict[Value, None]]:
        """The values to which arms set each node that acts."""
        found: dict[str, dict[Value, None]] = {}
        for arm in self._minimal:
            for name, value in arm.settings.items():
                found.setdefault(name, {})[value] = None
        return found

    @cached_property
    def _fixed(self) -> tuple[str, ...]:
        """Nodes that cannot be set to every value they have."""
        return tuple(
            name
            for name in self._graph.nodes
            if name != self._reward and len(self._values.get(name, ())) < len(self._domains[name])
        )

    @cached_property
    def _number(self) -> dict[Targets, int]:
        """How many arms there are on each target set, do() on the empty one."""
        found: dict[Targets, int] = {}
        for arm in self._minimal:
            found[arm.targets] = found.get(arm.targets, 0) + 1
        return found

    @cached_property
    def _is_uniform(self) -> bool:
        """Whether each target set can be set to all combinations of the values that its nodes are set to anywhere."""
        return all(
            number == prod(len(self._values[name]) for name in targets) for targets, number in self._number.items()
        )

    # ------------------------------------------------------------------------------------------------- comparing

    def _kept_sets(self) -> Iterable[Targets]:
        if self._is_complete:
            return possibly_optimal(self._graph, self._reward, fixed=self._fixed)
        order = sorted(self._number, key=lambda targets: (len(targets), targets))
        return unbeaten(order, self._sets_that_beat)

    @cached_property
    def _is_complete(self) -> bool:
        """Whether nodes are set to all their values or to none, in all minimal sets: then the theory says it all."""
        if any(name in self._values for name in self._fixed):
            return False
        return offers_all(self._graph, self._reward, self._fixed, self._number)

    @cached_property
    def _tries(self) -> int:
        """How many sets W are tried for a target set: as many as a search of some seconds has time for."""
        graph = self._graph
        steps = len(graph.nodes) + sum(map(len, graph.parent_ids)) + sum(map(len, graph.sibling_ids))
        return MOST_WORK // (len(self._number) * steps)

    @property
    def stopped_early(self) -> bool:
        """Whether there was no time to try every single node as W: more arms might have been pruned."""
        return not (self._is_uniform and self._is_complete) and self._tries < len(self._values)

    def _better(self, targets: Targets, widest: int | None) -> tuple[Better, ...]:
        """Target sets on offer that are at least as good as another, with the nodes that they set in addition."""
        key = (targets, widest)
        if key not in self._edges:
            offered, fixed = self._number.__contains__, self._fixed
            tries = self._tries
            found = dominating_sets(self._graph, targets, self._reward, offered, fixed, widest, tries) if tries else ()
            self._edges[key] = tuple(found)
        return self._edges[key]

    def _sets_that_beat(self, targets: Targets, widest: int | None) -> Iterator[tuple[Targets, ...]]:
        return ((better,) for better, _ in self._better(targets, widest))

    def _arms_that_beat(self, arm: Arm, widest: int | None) -> Iterator[tuple[Arm, ...]]:
        return (family for _, family in self._families(arm, widest))

    def _families(self, arm: Arm, widest: int | None) -> Iterator[tuple[Targets, tuple[Arm, ...]]]:
        """Sets of arms, all on offer, of which the best is at least as good; and the nodes that they set in addition.

        For *every* value of these nodes there must be an arm.
        """
        for better, added in self._better(arm.targets, widest):
            family = self._with(arm, better)
            if all(each in self._minimal for each in family):
                yield added, family

    def _with(self, arm: Arm, targets: Targets) -> tuple[Arm, ...]:
        """The arms on some targets that agree with an arm where both set a node, with all values elsewhere."""
        fixed = {name: arm.settings[name] for name in targets if name in arm.settings}
        free = [name for name in targets if name not in fixed]
        return tuple(
            Arm(fixed | dict(zip(free, values, strict=True)))
            for values in product(*(self._domains[name] for name in free))
        )

    # ------------------------------------------------------------------------------------------------- explaining

    def explain(self, arm: Arm) -> Pruned:
        """Which arms are at least as good as one that was pruned, and why."""
        same = self._same[arm]
        if same is not arm and same in self._staying:
            return Pruned(same, (same,), f"{self._why_same(arm, same)}.")
        added, among = self._beaten(self._bare(same))
        reason = self._why_beaten(self._bare(same), added)
        if same is not arm:
            reason = f"{self._why_same(arm, same)}; {reason[0].lower()}{reason[1:]}"
        return Pruned(among[0], among, reason)

    def _bare(self, arm: Arm) -> Arm:
        kept = self._acting[arm.targets]
        return arm if len(kept) == len(arm.targets) else Arm({name: arm.settings[name] for name in kept})

    def _beaten(self, arm: Arm) -> tuple[Targets, tuple[Arm, ...]]:
        """The first nodes W that beat an arm without idle members, and the arms that stay and that this comes to."""
        if arm not in self._steps:
            self._steps |= self._derive(arm)
        return self._steps[arm]

    def _derive(self, arm: Arm) -> dict[Arm, tuple[Targets, tuple[Arm, ...]]]:
        """How an arm, and all that are beaten on the way, are beaten by arms that stay.

        Worked out from those that stay backwards, so that arms that beat each other are not each other's reason.
        """
        if self._is_uniform and self._is_complete:
            border = border_once_set(self._graph, arm.targets, self._reward, self._fixed)
            added = tuple(name for name in border if name not in arm.settings)
            return {arm: (added, tuple(self._minimal[each] for each in self._with(arm, border)))}
        left, met = [arm], {arm: None}
        families: dict[Arm, list[tuple[Targets, tuple[Arm, ...]]]] = {}
        while left:
            each = left.pop()
            families[each] = [*self._families(each, 1)] or [*self._families(each, None)]
            if not any(self._all_stay(family) for _, family in families[each]):
                families[each] += [one for one in self._families(each, None) if one not in families[each]]
                fresh = [one for _, family in families[each] for one in family]
                fresh = [one for one in dict.fromkeys(fresh) if one not in met and not self._all_stay((one,))]
                met |= dict.fromkeys(fresh)
                left += fresh
        found: dict[Arm, tuple[Targets, tuple[Arm, ...]]] = {}
        while arm not in found:
            before = len(found)
            for each in [one for one in families if one not in found]:
                for added, family in families[each]:
                    if all(one in found or self._all_stay((one,)) for one in family):
                        reached = (found[one][1] if one in found else (self._minimal[one],) for one in family)
                        found[each] = added, tuple(dict.fromkeys(one for some in reached for one in some))
                        break
            if len(found) == before:
                raise RuntimeError(f"{arm} was pruned and nothing that stays is as good")
        return found

    def _all_stay(self, arms: Iterable[Arm]) -> bool:
        return all(self._minimal[arm] in self._staying for arm in arms)

    # ----------------------------------------------------------------------------------------------------- in words

    def _why_same(self, arm: Arm, same: Arm) -> str:
        idle = [name for name in arm.targets if name not in same.settings]
        act = "does" if len(idle) == 1 else "do"
        if not same.targets:
            return f"The same as do(): {listed(idle)} {act} not act on {self._reward}"
        are = "is" if len(same.targets) == 1 else "are"
        return f"The same as {same}: {listed(idle)} {act} nothing once {listed(same.targets)} {are} set"

    def _why_beaten(self, arm: Arm, added: Targets) -> str:
        first = (
            "" if not arm.targets else f"once {listed(arm.targets)} {'is' if len(arm.targets) == 1 else 'are'} set, "
        )
        them = "it does" if len(added) == 1 else "they do"
        tied = f"{first}nothing ties {listed(added)} to {self._reward} but what {them}"
        return (
            f"{tied[0].upper()}{tied[1:]}: {arm} is an average over the values of {listed(added)}, and the best of "
            f"them is at least as good."
        )
