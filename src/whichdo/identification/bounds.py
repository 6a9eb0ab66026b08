"""What looks say about an effect that they do not settle: a part of its law from below.

Rows in which the targets happened to have the values x are rows of do(x) too, so P(x, y) is at most
P(y | do(x)), the *natural* bound.  What is left, up to one, may lie on any level of the reward.

*By factors* less is left.  As in `whichdo.identification.engine`, P(y | do(x)) is a sum of products
of c-factors, and those that looks settle are known exactly.  An open one is a part of some
c-component S that contains targets, and by the same argument the law of the other nodes of S under
do(x) is at least Q[S] at x, cell by cell; what no longer acts on the reward is summed out.  Q[S]
may still depend on parents of targets, which no longer matter: instruments.  Every value of them
gives a valid bound, so the largest is taken.

*By a screen* what is left does not lie on any level.  Let a set C separate the targets X from the reward once the
arrows out of X are cut.  C may hold nodes that X acts on, which adjusting for C may not.  Then Y under do(x), given
what C is under do(x), does not depend on the value that X has by itself, so its mean there is E[Y | x, c], which rows
show.  Of rows with another X it is not known where C would be under do(x).  But of those nodes Z of C that X does not
act on it is; so for these rows, too, the mean lies between the least and the greatest of E[Y | x, z, w] over the
values w of the other nodes W:

    sum over z of  P(x, z) E[Y | x, z] + P(z and not x) max over w of E[Y | x, z, w]

is an upper end, and with the least a lower one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from whichdo.graph.components import effective_parents
from whichdo.graph.separation import m_separated, nearest, without_arrows
from whichdo.graph.targets import acting_targets
from whichdo.identification.engine import CFactors, checked_targets, marginal
from whichdo.identification.estimand import Conditional, conditionals_in, product, sum_over

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from whichdo.graph.admg import CausalGraph
    from whichdo.identification.estimand import CFactor, Expression, Names


@dataclass(frozen=True)
class BoundedFactor:
    """A table that is at most the law of some nodes under do(), cell by cell; equal to it if it is settled."""

    nodes: Names
    given: Names
    expression: Expression
    instruments: Names = ()
    """Axes of the expression over which the largest value is taken."""
    settled: bool = True

    @property
    def symbol(self) -> Conditional:
        """The table as one part of `LowerLaw.outline`, after instruments are gone."""
        return Conditional(self.nodes, self.given, self.given)


@dataclass(frozen=True)
class LowerLaw:
    """A formula for what is surely on each level of the reward under do(targets); sums to less than one if open."""

    targets: Names
    reward: str
    factors: tuple[BoundedFactor, ...]

    @cached_property
    def outline(self) -> Expression:
        """How the factors make the lower law of the reward."""
        names = dict.fromkeys(name for factor in self.factors for name in factor.nodes if name != self.reward)
        return sum_over(names, product(factor.symbol for factor in self.factors))

    def says_the_same(self, natural: LowerLaw) -> bool:
        """Whether it is the natural one, written as a product: one open factor, that of the targets and the reward."""
        (plain,) = natural.factors
        if len(self.factors) > 1 or self.factors[0].settled:
            return False
        counted = {name for each in conditionals_in(self.factors[0].expression) for name in each.nodes}
        return self.factors[0].expression.free == plain.expression.free and counted.issuperset(natural.targets)


def natural_bounds(graph: CausalGraph, targets: Iterable[str], reward: str) -> LowerLaw:
    """P(x, y): what the rows alone say, whatever the graph beyond which targets act."""
    names = checked_targets(graph, targets, reward)
    acting = acting_targets(graph, names, reward)
    return LowerLaw(
        names, reward, (BoundedFactor((reward,), acting, Conditional((*acting, reward)), settled=not acting),)
    )


def factor_bounds(
    graph: CausalGraph,
    targets: Iterable[str],
    reward: str,
    tried: Iterable[Iterable[str]] | CFactors = (),
    is_there: Callable[[Names, Expression], bool] | None = None,
) -> LowerLaw:
    """The closed form by c-factors; see the module.  For an effect that can be settled it is the effect.

    ``tried`` are the target sets of experiments from which factors may be taken as well, or all c-factors of the reward
    with their sources.  A source that does not hold (``is_there``) what a factor needs is passed over.

    Examples
    --------
    An instrument: the best over its values z of P(x, y | z).

    >>> from whichdo.graph.admg import CausalGraph
    >>> (factor,) = factor_bounds(CausalGraph.parse("Z -> X -> Y; X <-> Y"), ["X"], "Y").factors
    >>> print(factor.expression, factor.instruments)
    P(X | Z) P(Y | Z, X) ('Z',)
    """
    names = checked_targets(graph, targets, reward)
    acting = acting_targets(graph, names, reward)  # rows with any value of the others will do
    within = graph.subgraph(graph.ancestors([reward]))
    groups: dict[Names, list[CFactor]] = {}
    finder = tried if isinstance(tried, CFactors) else CFactors(graph, reward, tried)
    for factor in finder.of(acting):
        groups.setdefault(within.c_component(factor.nodes[0]), []).append(factor)
    found: list[BoundedFactor] = []
    for component, parts in groups.items():
        usable = [
            [each for source, each in part.sources if is_there is None or is_there(source, each)] for part in parts
        ]
        if all(usable):
            found += [
                BoundedFactor(factor.nodes, factor.given, sources[0])
                for factor, sources in zip(parts, usable, strict=True)
            ]
        else:
            found.append(_open(within, component, [name for factor in parts for name in factor.nodes], acting))
    return LowerLaw(names, reward, tuple(found))


@dataclass(frozen=True)
class Screen:
    """A set that separates targets from the reward once the arrows out of them are cut; see the module."""

    before: Names
    """Its nodes that the targets do not act on."""
    after: Names
    """Those that they act on."""


def screen(graph: CausalGraph, targets: Iterable[str], reward: str, columns: Iterable[str]) -> Screen | None:
    """A smallest screen among some columns, its nodes as near to the targets as can be; None where there is none.

    Near the targets the means given the screen differ the least, as they are means over all that comes after.

    Examples
    --------
    What X does is done by W, on which a hidden cause of X acts as well:

    >>> from whichdo.graph.admg import CausalGraph
    >>> screen(CausalGraph.parse("X -> W -> Y; X <-> W"), ["X"], "Y", ["X", "W", "Y"])
    Screen(before=(), after=('W',))
    """
    names = checked_targets(graph, targets, reward)
    cut = without_arrows(graph.subgraph(graph.ancestors([reward])), names)
    cut = cut.subgraph(cut.ancestors([*names, reward]))  # what else may separate, these do if any do
    found: Iterable[str] = set(columns).intersection(cut.nodes).difference(names, [reward])
    if not m_separated(cut, names, [reward], found):
        return None
    for end in (names, (reward,)):
        found = nearest(cut, end, found)
    moved = set(graph.descendants(names))
    ordered = sorted(found, key=graph.index)
    return Screen(
        tuple(name for name in ordered if name not in moved), tuple(name for name in ordered if name in moved)
    )


def _open(within: CausalGraph, component: Names, nodes: list[str], targets: Names) -> BoundedFactor:
    """The bound on some nodes of a c-component that contains targets: its c-factor, with these at their set values."""
    given = effective_parents(within)
    kernels: dict[str, Expression] = {name: Conditional((name,), given[name]) for name in component}
    expression = marginal(kernels, (*nodes, *targets))
    # A target of the component stays at its value; of what is outside only parents of the nodes still matter.
    acting = {parent for name in nodes for parent in within.parents(name)}.union(set(targets).intersection(component))
    around = sorted(expression.free.difference(nodes), key=within.index)
    return BoundedFactor(
        tuple(nodes),
        tuple(name for name in around if name in acting),
        expression,
        tuple(name for name in around if name not in acting),
        settled=False,
    )
