"""What rows say of arms that they do not settle: which lower laws there are, and what must be counted for them.

An arm that neither looks nor experiments on other nodes settle still has bounds
(`whichdo.identification.bounds`).  The *natural* ones need the rows that happen to have its settings
and nothing of the graph.  Those *by factors* lean on missing edges, as every estimate does that is
put together from c-factors, and take from experiments what these settle.  Those by a *screen* lean on them too, and
need one table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whichdo.blends import c_factors, is_equal
from whichdo.formulas import Reading, counted_scopes, naive_scope
from whichdo.identification.bounds import factor_bounds, natural_bounds, screen
from whichdo.identification.estimand import conditionals_in
from whichdo.problem import per_problem
from whichdo.tables import MAX_CELLS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from whichdo.graph.targets import Targets
    from whichdo.identification.bounds import LowerLaw, Screen
    from whichdo.identification.estimand import Expression, Names
    from whichdo.problem import Problem
    from whichdo.tables import Scope

MOST_SCREENED = 1 << 10
"""The most cells of a table by which arms are screened."""


@per_problem
def open_targets(problem: Problem) -> tuple[Targets, ...]:
    """The target sets that looking does not settle, but that act on the reward."""
    return tuple(
        each for each in problem.target_sets if problem.verdicts[each].acting and not problem.verdicts[each].identified
    )


def natural_scope(problem: Problem, targets: Targets) -> Scope:
    """The columns of the natural bounds: the targets that act, and the reward."""
    return naive_scope(problem, problem.verdicts[targets].acting)


@per_problem
def screens(problem: Problem, reading: Reading) -> Mapping[Targets, Screen]:
    """The screens of those target sets that looking does not settle and that have one.

    ``reading``: of the estimates.  A screen is made of columns that these or the natural bounds need, so that nothing
    else has to be recorded.
    """
    scopes = (*counted_scopes(problem, reading), *(natural_scope(problem, each) for each in open_targets(problem)))
    columns = {name for scope in scopes for name in scope}
    found = {}
    for targets in open_targets(problem):
        each = screen(problem.graph, problem.verdicts[targets].acting, problem.reward, columns)
        if each is not None and problem.cells(screened_scope(problem, targets, each)) <= MOST_SCREENED:
            found[targets] = each
    return found


def screened_scope(problem: Problem, targets: Targets, given: Screen) -> Scope:
    """The columns of the bounds by a screen: the targets that act, the screen, and the reward."""
    return naive_scope(problem, (*problem.verdicts[targets].acting, *given.before, *given.after))


def factor_law(
    problem: Problem, targets: Targets, is_there: Callable[[Names, Expression], bool] | None = None
) -> LowerLaw | None:
    """The lower law by factors of the arms on some targets; None where it is the natural one.

    ``problem``: whose experiments on other targets may be sources.
    ``is_there``: whether the rows of a source hold what an expression needs.  None: looks alone are there, with
    everything.
    """
    acting = problem.verdicts[targets].acting
    finder = c_factors(problem)
    own = {each for each in problem.target_sets if is_equal(problem, each, acting)}

    def usable(source: Names, expression: Expression) -> bool:
        return source not in own and (not source if is_there is None else is_there(source, expression))

    found = factor_bounds(problem.graph, acting, problem.reward, finder, usable)
    plain = natural_bounds(problem.graph, acting, problem.reward)
    return None if found.says_the_same(plain) else found


def lower_law_scopes(
    problem: Problem, reading: Reading, columns: frozenset[str], *, experiments: bool = False
) -> tuple[Scope, ...]:
    """The scopes that bounds by factors read, besides those of the natural ones.

    ``reading``: how estimates lean on the graph; the paper's has no bounds but the natural ones.
    ``columns``: the columns that there are.
    ``experiments``: whether there are rows of experiments as well, from which factors may be taken.
    """
    if reading is Reading.PAPER:
        return ()
    found: dict[Scope, None] = {}
    for targets in open_targets(problem):
        laws = [factor_law(problem, targets)]
        if experiments:
            laws.append(factor_law(problem, targets, lambda *_: True))
        expressions = [factor.expression for lower in laws if lower is not None for factor in lower.factors]
        for each in (law for expression in expressions for law in conditionals_in(expression)):
            scope = tuple(sorted(each.free, key=problem.graph.index))
            if columns.issuperset(scope) and problem.cells(scope) <= MAX_CELLS:
                found[scope] = None
    kept: list[Scope] = []
    for scope in sorted(found, key=len, reverse=True):
        if not any(set(scope) <= set(other) for other in kept):
            kept.append(scope)
    return tuple(kept)
