"""Complete identification: a formula for do(X) from looks and from experiments, or the hedge that forbids one.

Tian's recursion (Tian and Pearl 2002; Tian 2004; complete by Shpitser and Pearl 2006, Huang and
Valtorta 2006; from several experiments: Lee, Correa and Bareinboim 2019).  Let D be what acts on
the reward once X is set.  D falls into c-components D_1, D_2, ..., and

    P(y | do(x)) = sum over D without Y of  Q[D_1] Q[D_2] ...        with X at x

where the *c-factor* Q[D_j] is the law of D_j when everything else is set.  A c-factor can be
learned from any rows in which its nodes had their own causes: from looks, and from the arms on any
set Z outside D_j.  Rows of an experiment on Z are looks in the graph without edges into Z, so there
is one recursion for all sources:

1.  T is the c-component of D_j among the ancestors of D_j, and Q[T] the product of P(v | Z_v) over
    v in T, where Z_v (the effective parents) is what screens v off from all else before it.
2.  A is what of T acts on D_j inside T.  If A = D_j, sum the rest of T out of Q[T].  If A = T, this
    source has nothing to say about D_j: T and D_j are a *hedge*, and two models agree on all the
    rows and not on Q[D_j].
3.  Else sum Q[T] out to A, which is the law of A when the rest is set, and go on with the
    c-component of D_j in A; the conditionals of its nodes in that law are ratios of sums.

On the way a factor may carry axes that it cannot depend on: in the napkin graph W -> Z -> X -> Y
with W <-> X, W <-> Y the law of Y that remains has Z in it, and is the same for every Z.  Each
value is an estimator of the same thing. Summing over such an axis would be wrong; every kernel is
averaged over it, weighted by the law of the axis in the same rows.  So every kernel stays
normalised, and no estimate leaves the range of the reward.

*Which laws an experiment leaves alone* (`leaves_alone`).  Setting some nodes S changes the law of what S acts on, and
leaves other laws as they are.  Draw for every node of S a node of its own that says whether it was set, with one arrow
into it.  Then P(nodes | given) is the same among looks and among the rows of an experiment on S in every model of the
graph if these extra nodes are m-separated from the nodes by what is given (Pearl and Bareinboim 2014, who call it
direct transportability).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from whichdo.errors import NotIdentifiedError, UsageError
from whichdo.graph.admg import CausalGraph
from whichdo.graph.separation import m_separated, without_edges_into
from whichdo.graph.targets import acting_targets
from whichdo.identification.estimand import CFactor, Conditional, Estimand, Ratio, product, sum_over
from whichdo.text import listed, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whichdo.identification.estimand import Expression, Names


Positions = frozenset[int]
Kernels = dict[str, "Expression"]


def identify(graph: CausalGraph, targets: Iterable[str], reward: str, tried: Iterable[Iterable[str]] = ()) -> Estimand:
    """A formula for the law of the reward under do(targets), from looks and from experiments that were made.

    Parameters
    ----------
    graph
        The causal graph.
    targets
        The nodes that are set; none for do() itself.
    reward
        The node whose law is asked for.
    tried
        Target sets of experiments whose rows are available as well, such as ``[["X"], ["Z"]]``.

    Returns
    -------
    Estimand
        The formula.  Each of its `factors` lists every source that yields it; the formula takes the first.

    Raises
    ------
    NotIdentifiedError
        If no formula exists: models that agree on all of these rows differ in this effect.

    Examples
    --------
    >>> import whichdo as wd
    >>> graph = wd.CausalGraph.parse("Z -> X; Z -> Y; X -> Y")
    >>> print(wd.identify(graph, ["X"], "Y"))
    Σ_Z P(Z) P(Y | Z, X)

    What both levers do together, from looks and an experiment on one of them:

    >>> import whichdo as wd
    >>> graph = wd.CausalGraph.parse("X -> Z; X -> Y; Z -> Y; Z <-> Y")
    >>> print(wd.identify(graph, ["X", "Z"], "Y", tried=[["Z"]]))
    P_{do(Z)}(Y | X, Z)
    """
    names = checked_targets(graph, targets, reward)
    found = CFactors(graph, reward, tried)
    left = _left(graph, names, reward)
    factors = found.of(names)
    for factor in factors:
        if not factor.sources:
            raise _not_identified(graph, names, reward, factor.nodes, list(found.sources)[1:])
    if acting_targets(graph, names, reward):
        inner = product(factor.sources[0][1] for factor in factors)
        expression = sum_over([name for name in left.nodes if name != reward], inner)
    else:
        expression = Conditional((reward,))
    return Estimand(expression, names, reward, factors)


class CFactors:
    """The c-factors of any effect on one reward, from the same sources.

    Effects share factors: what is the law of a node given its causes is so for every arm that leaves the node alone.
    Each is found once.
    """

    def __init__(self, graph: CausalGraph, reward: str, tried: Iterable[Iterable[str]] = ()) -> None:
        self._graph, self._reward = graph, reward
        self.sources = _sources(graph, reward, tried)
        """The graph that holds in the rows of each source; looks, which are (), first."""
        self._known: dict[Names, CFactor] = {}

    def of(self, targets: Names) -> tuple[CFactor, ...]:
        """Those of do(targets); one that no source yields has none."""
        parts = _left(self._graph, targets, self._reward).c_components
        for part in parts:
            if part not in self._known:
                self._known[part] = _factor(self._graph, part, self.sources)
        return tuple(self._known[part] for part in parts)


def checked_targets(graph: CausalGraph, targets: Iterable[str], reward: str) -> Names:
    """The targets as the graph spells them, sorted; the reward among them is an error."""
    if isinstance(targets, str):
        raise UsageError(
            f"`targets` is the string {quoted(targets)}; give a list of names, such as [{quoted(targets)}]."
        )
    goal = graph.index(reward)
    found = {graph.index(name) for name in targets}
    if goal in found:
        raise UsageError(f"The reward {quoted(reward)} is among the targets; it cannot be set.")
    return tuple(sorted(graph.nodes[position] for position in found))


def find_hedge(graph: CausalGraph, targets: Names, reward: str) -> tuple[Names, Names] | None:
    """The hedge that keeps looks from settling do(targets), or None where they do; builds no formula."""
    for part in _left(graph, targets, reward).c_components:
        descent = _descend(graph, part)
        if not descent.settled:
            return _names(graph, descent.tied[-1]), part
    return None


def hedge_words(hedge: tuple[Names, Names], targets: Names) -> str:
    """What a hedge says, for the reader of a verdict."""
    tied, part = hedge
    within = [name for name in tied if name in targets]
    acts = "acts" if len(within) == 1 else "act"
    return f"hidden causes tie {listed(tied)} together, and {listed(within)} {acts} on {listed(part)} among them"


def _left(graph: CausalGraph, targets: Names, reward: str) -> CausalGraph:
    """The graph of D: what acts on the reward without the targets."""
    rest = graph.subgraph([name for name in graph.nodes if name not in targets])
    return rest.subgraph(rest.ancestors([reward]))


def _sources(graph: CausalGraph, reward: str, tried: Iterable[Iterable[str]]) -> dict[Names, CausalGraph]:
    """The graph that holds in the rows of each source; looks first."""
    found: dict[Names, CausalGraph] = {(): graph}
    for some in tried:
        names = checked_targets(graph, some, reward)
        found.setdefault(names, without_edges_into(graph, names))
    return found


def _factor(graph: CausalGraph, part: Names, sources: Mapping[Names, CausalGraph]) -> CFactor:
    """One c-factor with the formula of every source that yields it."""
    found = []
    for source, within in sources.items():
        if set(source).isdisjoint(part):
            descent = _descend(within, part)
            if descent.settled:
                found.append((source, _formula(within, source, descent)))
    around = {parent for name in part for parent in graph.parents(name)}.difference(part)
    return CFactor(part, tuple(sorted(around, key=graph.index)), tuple(found))


def _not_identified(
    graph: CausalGraph, targets: Names, reward: str, part: Names, tried: list[Names]
) -> NotIdentifiedError:
    hedge = (_names(graph, _descend(graph, part).tied[-1]), part)
    if not tried:
        how = "by looking"
    else:
        sets = listed(f"{{{', '.join(each)}}}" for each in tried)
        how = f"from looks and experiments on {sets}"
    reason = f"the effect of {listed(targets)} on {reward} cannot be computed {how}: {hedge_words(hedge, targets)}"
    return NotIdentifiedError(
        reason, hedge, "Try the arms on these targets, or name experiments whose rows you have in `tried`."
    )


# ------------------------------------------------------------------------------------------------------- the recursion


@dataclass(frozen=True)
class _Descent:
    """The sets of Tian's recursion: T and A of each turn.  It ends with A = D_j, or with A = T."""

    part: Positions
    alive: Positions | None
    """The ancestors of D_j; None where nothing is tied to it, so that they do not matter."""
    tied: tuple[Positions, ...]
    above: tuple[Positions, ...]

    @property
    def settled(self) -> bool:
        return self.above[-1] == self.part


def _descend(graph: CausalGraph, part: Names) -> _Descent:
    goal = frozenset(map(graph.index, part))
    if _component(graph, goal, None) == goal:
        return _Descent(goal, None, (goal,), (goal,))
    alive = _ancestors(graph, goal, None)
    tied, above = [_component(graph, goal, alive)], []
    while True:
        above.append(_ancestors(graph, goal, tied[-1]))
        if above[-1] in {goal, tied[-1]}:
            return _Descent(goal, alive, tuple(tied), tuple(above))
        tied.append(_component(graph, goal, above[-1]))


def _formula(graph: CausalGraph, source: Names, descent: _Descent) -> Expression:
    """Q[D_j] as an expression over conditionals of one source."""
    kernels: Kernels = {}
    for position in sorted(descent.tied[0]):
        given = _screen(graph, descent.alive, position)
        kernels[graph.nodes[position]] = Conditional((graph.nodes[position],), _names(graph, given), source)
    for above, tied in zip(descent.above, descent.tied[1:], strict=False):
        law = kernels
        kernels = {graph.nodes[position]: _kernel(graph, source, law, above, position) for position in sorted(tied)}
    around = descent.part.union(*(graph.parent_ids[position] for position in descent.part))
    return _average(graph, source, marginal(kernels, _names(graph, descent.part)), around)


def _kernel(graph: CausalGraph, source: Names, law: Kernels, above: Positions, position: int) -> Expression:
    """The conditional of one node of A, given what screens it off, in the law of A that ``law`` is the product of."""
    screen = _screen(graph, above, position)
    before = _names(graph, screen & above)
    own = graph.nodes[position]
    numerator = _average(graph, source, marginal(law, (*before, own)), screen | {position})
    if not before:
        return numerator
    return Ratio(numerator, _average(graph, source, marginal(law, before), screen))


def marginal(kernels: Kernels, keep: Names) -> Expression:
    """The product of kernels, each normalised over its node, summed over all of their nodes but some.

    A node that no other kernel depends on sums its own to one, so both go.
    """
    left = dict(kernels)
    for name in reversed(kernels):  # in topological order, so that each is looked at after all that may depend on it
        if name not in keep and not any(name in kernel.free for other, kernel in left.items() if other != name):
            del left[name]
    return sum_over([name for name in left if name not in keep], product(left.values()))


def _average(graph: CausalGraph, source: Names, expression: Expression, depends: Positions) -> Expression:
    """The same expression, averaged over what it carries but cannot depend on."""
    carried = sorted(position for position in map(graph.index, expression.free) if position not in depends)
    if not carried:
        return expression
    names = tuple(graph.nodes[position] for position in carried)
    return sum_over(names, product([Conditional(names, (), source), expression]))


def _screen(graph: CausalGraph, within: Positions | None, position: int) -> Positions:
    """The effective parents of a node: Pa+ of its c-component among the nodes of a set up to itself."""
    tied = _component(graph, frozenset({position}), within, last=position)
    return tied.union(*(graph.parent_ids[member] for member in tied)) - {position}


def _component(graph: CausalGraph, start: Positions, within: Positions | None, last: int | None = None) -> Positions:
    """What bidirected paths tie to some nodes, themselves included; inside a set (None: anywhere), up to a position."""
    found = set(start)
    stack = list(start)
    while stack:
        for other in graph.sibling_ids[stack.pop()]:
            if other not in found and (within is None or other in within) and (last is None or other <= last):
                found.add(other)
                stack.append(other)
    return frozenset(found)


def _ancestors(graph: CausalGraph, start: Positions, within: Positions | None) -> Positions:
    """What acts on some nodes, themselves included, by paths inside a set (None: anywhere)."""
    found = set(start)
    stack = list(start)
    while stack:
        for other in graph.parent_ids[stack.pop()]:
            if other not in found and (within is None or other in within):
                found.add(other)
                stack.append(other)
    return frozenset(found)


def _names(graph: CausalGraph, positions: Iterable[int]) -> Names:
    return tuple(graph.nodes[position] for position in sorted(positions))


# ---------------------------------------------------------------------------------------------------------- experiments


def leaves_alone(graph: CausalGraph, tried: Iterable[str], law: Conditional) -> bool:
    """True if a law of looks is the same among the rows of an experiment on some nodes, whatever they were set to.

    Examples
    --------
    >>> from whichdo.identification.estimand import Conditional
    >>> graph = CausalGraph.parse("X -> M -> Y; X <-> Y")
    >>> leaves_alone(graph, ["M"], Conditional(("Y",), ("X", "M")))
    True
    >>> leaves_alone(graph, ["X"], Conditional(("Y",), ("X", "M")))
    False
    """
    switches, drawn = _with_switches(graph, tuple(tried))
    return m_separated(drawn, switches, law.nodes, law.given)


@lru_cache(maxsize=256)
def _with_switches(graph: CausalGraph, tried: tuple[str, ...]) -> tuple[tuple[str, ...], CausalGraph]:
    """A node for each that was tried, and the graph in which it acts on that."""
    ending = " was set"
    while any(f"{name}{ending}" in graph for name in tried):
        ending += "?"
    switches = tuple(f"{name}{ending}" for name in tried)
    arrows = [*sorted(graph.directed), *zip(switches, tried, strict=True)]
    return switches, CausalGraph([*switches, *graph.nodes], arrows, graph.bidirected)
