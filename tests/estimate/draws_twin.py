"""Draws from looks as the papers' words have them: everything again from the first look, in rational numbers.

`split_draws` is CRM-ALG's Y_c (Maiti, Nair and Sinha 2022, Section 5); `tape_draws` are draws through
an arm's factor network.  A look is a dict from node to code.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from tests import twins
from whichdo.graph.identify import Route

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.problem import Arm, Problem

    Look = dict[str, int]
    Draw = Fraction | int


class Factor(NamedTuple):
    """P(node | given); ``inside`` the c-component of the intervened node or not."""

    node: str
    given: tuple[str, ...]
    inside: bool


def factors_of(problem: Problem, node: str) -> list[Factor]:
    """The factors of an arm's mean in topological order, from the definitions on plain graphs.

    Only what acts on the reward counts.  A node by itself goes with the parents that a back-door path needs, others
    with Pa+ of their c-component; all else is projected away.  Factors that the reward does not hang on sum to one.
    """
    whole, reward = twins.plain(problem.graph), problem.reward
    within = whole.induced(twins.ancestors(whole, [reward]))
    component = twins.c_component(within, node)
    if len(component) == 1:
        cells = {node} | twins.pruned_parents(within, node, reward, within.nodes)
    else:
        cells = component.union(*(within.parents(member) for member in component))
    projected = twins.projection(within, cells | {reward})
    inside, given = twins.c_component(projected, node), twins.effective_parents(projected)
    needed = {reward}
    while True:
        more = needed.union(*(given[name] - (set() if name in inside else {node}) for name in needed))
        if more == needed:
            break
        needed = more
    order = problem.graph.nodes
    return [
        Factor(name, tuple(sorted(given[name], key=order.index)), name in inside) for name in order if name in needed
    ]


UNIT = 100
"""Rewards are counted in hundredths, whole ones, which is much faster than adding fractions."""


def hundredths(problem: Problem) -> list[int]:
    """What each reward level is worth."""
    found = [round(UNIT * utility) for utility in problem.utility.values()]
    assert all(
        abs(whole - UNIT * utility) < 1e-9 for whole, utility in zip(found, problem.utility.values(), strict=True)
    )
    return found


def split_draws(problem: Problem, arm: Arm, looks: Sequence[Look], *, split: bool = True) -> list[Draw]:
    """Y_1, ..., Y_C of an arm, in hundredths; without ``split`` the shares come from the odd looks too: a mistake."""
    worth = hundredths(problem)
    ((node, value),) = arm.settings.items()
    if problem.verdicts[node].route is Route.SAME:
        return [worth[look[problem.reward]] for look in looks]
    odd = looks[0::2]  # the first, the third, ...
    even = looks[1::2] if split else odd
    parents = sorted(problem.graph.parents(node))
    settings = list(product(*(range(len(problem.domains[name])) for name in parents)))

    def setting(look: Look) -> tuple[int, ...]:
        return tuple(look[name] for name in parents)

    x = list(problem.domains[node]).index(value)
    lists: dict[tuple[int, ...], list[Look]] = {z: [] for z in settings}
    for look in odd:
        if look[node] == x:
            lists[setting(look)].append(look)
    count = min(map(len, lists.values()))
    if len(settings) == 1:
        return [worth[look[problem.reward]] for look in lists[settings[0]]]
    draws: list[Draw] = []
    for c in range(count):
        size = len(even) // count
        block = even[c * size : (c + 1) * size] if c < count - 1 else even[c * size :]
        times = Counter(map(setting, block))  # the share of z is times[z] / len(block)
        draws.append(Fraction(sum(worth[lists[z][c][problem.reward]] * n for z, n in times.items()), len(block)))
    return draws


def tape_draws(problem: Problem, arm: Arm, looks: Sequence[Look]) -> list[Draw]:
    """Draws through the factor network of an arm, in hundredths."""
    worth = hundredths(problem)
    ((node, value),) = arm.settings.items()
    if problem.verdicts[node].route is Route.SAME:
        return [worth[look[problem.reward]] for look in looks]
    if problem.verdicts[node].route in {Route.TRY, Route.GENERAL}:  # the paper tries what Assumption 3 does not settle
        return []
    factors = factors_of(problem, node)
    x = list(problem.domains[node]).index(value)
    lists: dict[tuple[str, tuple[int, ...]], list[int]] = {}
    for number, factor in enumerate(factors):
        fold = looks[number :: len(factors)]
        for z in product(*(range(len(problem.domains[name])) for name in factor.given)):
            setting = dict(zip(factor.given, z, strict=True))
            if factor.inside or setting.get(node, x) == x:
                lists[factor.node, z] = [
                    look[factor.node] for look in fold if all(look[name] == code for name, code in setting.items())
                ]
    draws: list[Draw] = []
    for c in range(min(map(len, lists.values()))):
        walk: Look = {}
        for factor in factors:
            seen = walk if factor.inside else {**walk, node: x}
            walk[factor.node] = lists[factor.node, tuple(seen[name] for name in factor.given)][c]
        draws.append(worth[walk[problem.reward]])
    return draws
