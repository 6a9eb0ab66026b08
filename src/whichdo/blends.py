"""What rows of experiments say about other arms: formulas that are put together from several sources.

The mean of an arm is a sum of products of c-factors (`whichdo.identification.engine`), and a
c-factor can be learned from every set of rows that leaves its nodes alone: looks, and experiments on
other nodes.  A *blend* is such a formula in which each factor lists all the sources that yield it.
It settles arms that looks cannot, do(X=1, Z=0) from experiments on X alone and on Z alone, and it is
sharper than looks where both yield a factor.

A blend leans on every missing edge, as the reading ``graph`` does.  The reading ``robust`` takes one
only for arms that looks do not settle.  Where they do, it keeps its formula and *borrows*: rows of
an experiment that leaves the law of the reward in each stratum alone
(`whichdo.identification.engine`) are added to the looks in that stratum.

Direct pulls are evidence of their own.  So an experiment that does the same to the reward as the arm
itself is not a source for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from whichdo.formulas import Reading, formulas
from whichdo.graph.identify import Route
from whichdo.identification.engine import CFactors, leaves_alone
from whichdo.identification.estimand import CFactor, Estimand, conditionals_in
from whichdo.problem import per_problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whichdo.formulas import Formula
    from whichdo.graph.targets import Targets
    from whichdo.identification.estimand import Conditional, Expression, Names
    from whichdo.problem import Problem
    from whichdo.tables import Scope


@dataclass(frozen=True)
class Blend:
    """The effect of some targets as a product of c-factors, each with the sources that there are."""

    estimand: Estimand
    """Over the symbols of the factors (`Estimand.outline`); its targets are those that act."""
    factors: tuple[CFactor, ...]

    @property
    def targets(self) -> Names:
        """The targets that act on the reward."""
        return self.estimand.targets

    @cached_property
    def sources(self) -> tuple[Names, ...]:
        """All sources, looks first."""
        found = {source for factor in self.factors for source, _ in factor.sources}
        return tuple(sorted(found, key=lambda each: (len(each), each)))

    @property
    def experiments(self) -> tuple[Names, ...]:
        """The sources that are not looks."""
        return tuple(source for source in self.sources if source)

    def limited(self, is_there: Callable[[Names, Expression], bool]) -> Blend | None:
        """The same from what is there of the sources; None where a factor is left without one."""
        factors = tuple(
            CFactor(each.nodes, each.given, tuple(pair for pair in each.sources if is_there(*pair)))
            for each in self.factors
        )
        return Blend(self.estimand, factors) if all(each.sources for each in factors) else None

    def preferring(self, source: Names) -> Blend:
        """The same with every factor that one source yields taken from that source alone."""
        factors = tuple(
            CFactor(each.nodes, each.given, tuple(pair for pair in each.sources if pair[0] == source) or each.sources)
            for each in self.factors
        )
        return Blend(self.estimand, factors)

    def conditionals(self) -> Iterator[Conditional]:
        """Every law that some source must be counted for."""
        for factor in self.factors:
            for _, expression in factor.sources:
                yield from conditionals_in(expression)


@per_problem
def c_factors(problem: Problem) -> CFactors:
    """Finds the factors of target sets, and remembers them."""
    return CFactors(problem.graph, problem.reward, problem.target_sets)


def find_blend(problem: Problem, targets: Targets) -> Blend | None:
    """The blend of the arms on some targets from looks and all experiments that the problem has arms for.

    None where there is none: some factor has no source, or the targets do not act on the reward.
    """
    return _blend(problem, problem.verdicts[targets].acting)


@per_problem
def _blend(problem: Problem, acting: Targets) -> Blend | None:
    factors = c_factors(problem).of(acting) if acting else ()
    if not factors:
        return None
    own = {each for each in problem.target_sets if is_equal(problem, each, acting)}
    whole = Estimand(Estimand.outlined(factors, problem.reward), acting, problem.reward)
    return Blend(whole, factors).limited(lambda source, _: source not in own)


def is_equal(problem: Problem, targets: Targets, acting: Targets) -> bool:
    """Whether arms on some targets are, but for their names, arms on those that act."""
    return problem.verdicts[targets].acting == acting


def uses_blend(problem: Problem, targets: Targets, reading: Reading) -> bool:
    """Whether a reading takes a blend where experiments have something to add to looks."""
    if reading is Reading.PAPER:
        return False
    candidates = formulas(problem, targets, reading)
    return reading is Reading.GRAPH or not candidates or candidates[0].route is Route.GENERAL


@per_problem
def borrowed_sources(problem: Problem, formula: Formula) -> tuple[Targets, ...]:
    """The experiments whose rows have the law of the reward that a formula reads among looks."""
    if not formula.shared or formula.route is Route.SAME:
        return ()
    return tuple(
        each
        for each in problem.target_sets
        if not is_equal(problem, each, formula.targets) and leaves_alone(problem.graph, each, formula.reward)
    )


def experiment_scopes(problem: Problem, reading: Reading, columns: frozenset[str] | None = None) -> tuple[Scope, ...]:
    """The scopes that rows with an arm are counted by, besides those of `whichdo.formulas.counted_scopes`.

    ``reading``: how estimates lean on the graph.
    ``columns``: the columns that there are; a source that reads others is passed over.  None: all are there.
    """
    found: dict[frozenset[str], None] = {}
    for targets in problem.target_sets:
        blend = find_blend(problem, targets) if uses_blend(problem, targets, reading) else None
        if blend is not None and blend.experiments:
            scopes = [each.free for each in blend.conditionals()]
            found |= dict.fromkeys(each for each in scopes if columns is None or columns.issuperset(each))
    largest = sorted(found, key=len, reverse=True)
    kept: list[frozenset[str]] = []
    for scope in largest:
        if not any(scope <= other for other in kept):
            kept.append(scope)
    return tuple(tuple(sorted(scope, key=problem.graph.index)) for scope in kept)
