"""Estimands: formulas that give the law of the reward under do() from laws that can be counted.

An expression is built from *conditionals* P(nodes | given), by products, sums over names, and
ratios.  Names work as variables do in a formula.  A `Sum` binds its names: inside it ``X`` is a
copy of its own that runs over all values, whatever ``X`` means outside.  A target that is free is
the value it was set to.  So the front-door formula

    Sum(M, Product(P(M | X), Sum(X, Product(P(X), P(Y | X, M)))))

needs no second name for the inner ``X``; printed, it becomes ``X'``.

A conditional also says where it is counted.  ``source`` is () for looks and else the target set of
an experiment: rows of all arms on exactly these targets are pooled, and the targets are columns
like any other.  What was set has no causes in these rows, so a target only occurs as something
given, or as an axis over which results that must be equal are averaged, weighted by the share of
the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


Names: TypeAlias = tuple[str, ...]


class _Hashed:
    """Expressions share parts, and a part that stands in many places is hashed once."""

    @cached_property
    def _hash(self) -> int:
        return hash((type(self).__name__, *(getattr(self, part.name) for part in fields(self))))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Conditional(_Hashed):
    """P(nodes | given) among the rows of one source; several nodes are a joint law, counted as one table."""

    nodes: Names
    given: Names = ()
    source: Names = ()

    @property
    def columns(self) -> Names:
        """The axes of its table: what is given, then its own nodes."""
        return (*self.given, *self.nodes)

    @cached_property
    def free(self) -> frozenset[str]:
        """The names it depends on."""
        return frozenset(self.columns)

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return _Text().write(self, {})


@dataclass(frozen=True)
class Product(_Hashed):
    """The product of some factors; of none it is 1."""

    factors: tuple[Expression, ...]

    @cached_property
    def free(self) -> frozenset[str]:
        """The names it depends on."""
        return frozenset[str]().union(*(factor.free for factor in self.factors))

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return _Text().write(self, {})


@dataclass(frozen=True)
class Sum(_Hashed):
    """The sum of a term over all values of some names, which are bound by it."""

    names: Names
    term: Expression

    @cached_property
    def free(self) -> frozenset[str]:
        """The names it depends on."""
        return self.term.free.difference(self.names)

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return _Text().write(self, {})


@dataclass(frozen=True)
class Ratio(_Hashed):
    """A numerator over a denominator, and 0 where the denominator is 0: nothing is known of what never occurs."""

    numerator: Expression
    denominator: Expression

    @cached_property
    def free(self) -> frozenset[str]:
        """The names it depends on."""
        return self.numerator.free | self.denominator.free

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return _Text().write(self, {})


Expression: TypeAlias = Conditional | Product | Sum | Ratio


def product(factors: Iterable[Expression]) -> Expression:
    """The product without brackets inside brackets; a single factor is itself."""
    flat: list[Expression] = []
    for factor in factors:
        flat.extend(factor.factors if isinstance(factor, Product) else (factor,))
    return flat[0] if len(flat) == 1 else Product(tuple(flat))


def sum_over(names: Iterable[str], term: Expression) -> Expression:
    """The sum over names that the term depends on; of no names it is the term, and sums of sums are one.

    Raises `ValueError` if the term does not depend on one of the names: summing over it would count the term once for
    each value.
    """
    bound = tuple(names)
    idle = [name for name in bound if name not in term.free]
    if idle:
        raise ValueError(f"a sum over {', '.join(idle)}, on which {term} does not depend")
    if not bound:
        return term
    if isinstance(term, Sum):
        return Sum((*bound, *term.names), term.term)
    return Sum(bound, term)


def conditionals_in(expression: Expression) -> Iterator[Conditional]:
    """Every conditional of an expression, one that occurs twice given once, in the order they are met."""
    seen: set[Expression] = set()
    stack: list[Expression] = [expression]
    while stack:
        part = stack.pop()
        if part in seen:
            continue
        seen.add(part)
        match part:
            case Conditional():
                yield part
            case Product(factors):
                stack.extend(reversed(factors))
            case Sum(_, term):
                stack.append(term)
            case Ratio(numerator, denominator):
                stack += [denominator, numerator]


@dataclass(frozen=True)
class CFactor:
    """One c-factor of an effect, Q[nodes]: the law of some nodes when everything else is set, with all its sources.

    The sources are different estimators of one thing: each expression has the same value in every model of the graph.
    """

    nodes: Names
    given: Names
    """What the nodes depend on: their parents outside."""
    sources: tuple[tuple[Names, Expression], ...]
    """Where it can be taken from, and how: () are looks, and come first."""

    @property
    def symbol(self) -> Conditional:
        """The factor itself as a conditional: what an experiment that sets all of ``given`` would show."""
        return Conditional(self.nodes, self.given, self.given)


@dataclass(frozen=True)
class Estimand:
    """A formula for the law of the reward under do(targets).

    ``str()`` is the formula, and notebooks show it set in LaTeX.

    Attributes
    ----------
    expression
        The formula as a tree of sums, products and conditionals.
    reward
        The node whose law it is.

    Examples
    --------
    >>> import whichdo as wd
    >>> estimand = wd.identify(wd.CausalGraph.parse("X -> M -> Y; X <-> Y"), ["X"], "Y")
    >>> print(estimand)
    Σ_M P(M | X) Σ_X' P(X') P(Y | X', M)
    >>> estimand.scopes
    {(): (('X', 'M', 'Y'),)}
    """

    expression: Expression
    targets: Names
    """The nodes that are set, sorted as in the text of an arm."""
    reward: str
    factors: tuple[CFactor, ...] = field(default=(), compare=False)
    """The c-factors whose product this is, each with all its sources; () for a formula that is not made of them."""

    @cached_property
    def conditionals(self) -> tuple[Conditional, ...]:
        """The distinct conditionals of the expression: what has to be counted."""
        return tuple(conditionals_in(self.expression))

    @cached_property
    def scopes(self) -> dict[Names, tuple[Names, ...]]:
        """For each source the sets of columns that have to be counted together, none inside another."""
        found: dict[Names, list[Names]] = {}
        for conditional in sorted(self.conditionals, key=lambda each: -len(each.columns)):
            kept = found.setdefault(conditional.source, [])
            if not any(conditional.free.issubset(scope) for scope in kept):
                kept.append(conditional.columns)
        return {source: tuple(found[source]) for source in sorted(found, key=lambda each: (len(each), each))}

    @cached_property
    def outline(self) -> Expression:
        """The formula with each c-factor as one symbol (`CFactor.symbol`), for factors combined from several sources.

        >>> import whichdo as wd
        >>> print(wd.identify(wd.CausalGraph.parse("X -> M -> Y; X <-> Y"), ["X"], "Y").outline)
        Σ_M P_{do(X)}(M | X) P_{do(M)}(Y | M)
        """
        return self.outlined(self.factors, self.reward)

    @staticmethod
    def outlined(factors: Sequence[CFactor], reward: str) -> Expression:
        """Multiply c-factors, as symbols, and sum over all their nodes but the reward.

        Parameters
        ----------
        factors
            The c-factors.
        reward
            The node that is not summed over.

        Returns
        -------
        Expression
            The sum.
        """
        inner = product(factor.symbol for factor in factors)
        return sum_over([name for factor in factors for name in factor.nodes if name != reward], inner)

    def latex(self) -> str:
        """The formula in LaTeX, with what it is a formula for."""
        writer = _Latex()
        names = ", ".join(map(writer.name, self.targets))
        left = f"P({writer.name(self.reward)} \\mid do({names}))"
        return f"{left} = {writer.write(self.expression, self._outside)}"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def __str__(self) -> str:
        return _Text().write(self.expression, self._outside)

    @property
    def _outside(self) -> dict[str, int]:
        return dict.fromkeys((*self.targets, self.reward), 0)


# ------------------------------------------------------------------------------------------------------------- writing


class _Text:
    """Formulas in one line of text.  A name that is bound again inside its own scope gets a prime."""

    bar = " | "

    def name(self, name: str) -> str:
        return name

    def write(self, expression: Expression, outside: Mapping[str, int]) -> str:
        """An expression; ``outside`` has the primes of every name that means something here already."""
        match expression:
            case Conditional(nodes, given, source):
                return self.law(self.each(nodes, outside), self.each(given, outside), self.each(source, {}))
            case Sum(names, term):
                inside = {**outside, **{name: outside[name] + 1 if name in outside else 0 for name in names}}
                return f"{self.sign(self.each(names, inside))} {self.write(term, inside)}"
            case Ratio(numerator, denominator):
                return self.fraction(self.write(numerator, outside), self.write(denominator, outside))
            case Product(factors):
                parts = sorted(factors, key=lambda factor: isinstance(factor, Sum))  # sums last: fewer brackets
                written = [self.write(part, outside) for part in parts]
                inner = [self.bracketed(part, text) for part, text in zip(parts[:-1], written[:-1], strict=True)]
                last = [self.bracketed(parts[-1], written[-1], last=True)] if parts else ["1"]
                return " ".join([*inner, *last])

    def each(self, names: Names, primes: Mapping[str, int]) -> list[str]:
        return [self.name(name) + "'" * primes.get(name, 0) for name in names]

    def law(self, nodes: list[str], given: list[str], source: list[str]) -> str:
        where = f"_{{do({', '.join(source)})}}" if source else ""
        return f"P{where}({', '.join(nodes)}{self.bar + ', '.join(given) if given else ''})"

    def sign(self, names: list[str]) -> str:
        return f"Σ_{names[0]}" if len(names) == 1 else f"Σ_{{{', '.join(names)}}}"

    def fraction(self, numerator: str, denominator: str) -> str:
        return f"({numerator}) / ({denominator})"

    def bracketed(self, part: Expression, text: str, *, last: bool = False) -> str:
        """A sum reaches to the end of its product, so one that is not the last needs brackets; so does a fraction."""
        return f"[{text}]" if isinstance(part, Ratio) or (isinstance(part, Sum) and not last) else text


class _Latex(_Text):
    """The same in LaTeX."""

    bar = r" \mid "

    def name(self, name: str) -> str:
        if len(name) == 1 and name.isalpha():
            return name
        special = {"\\": r"\backslash{}", "{": r"\{", "}": r"\}", "~": r"\sim{}", "^": r"\hat{}", " ": r"\ "}
        safe = "".join(special.get(sign, f"\\{sign}" if sign in "#$%&_" else sign) for sign in name)
        return f"\\mathrm{{{safe}}}"

    def sign(self, names: list[str]) -> str:
        return f"\\sum_{{{', '.join(names)}}}"

    def fraction(self, numerator: str, denominator: str) -> str:
        return f"\\frac{{{numerator}}}{{{denominator}}}"

    def bracketed(self, part: Expression, text: str, *, last: bool = False) -> str:
        return f"\\left[{text}\\right]" if isinstance(part, Sum) and not last else text
