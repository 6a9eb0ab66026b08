"""Expressions: scoping of names, what is counted together, and how formulas are written."""

from __future__ import annotations

import pytest

from whichdo.graph.admg import CausalGraph
from whichdo.identification.engine import identify
from whichdo.identification.estimand import Conditional, Estimand, Product, Ratio, Sum, product, sum_over

Z, YXZ = Conditional(("Z",)), Conditional(("Y",), ("X", "Z"))


def test_a_sum_binds_its_names_and_leaves_the_others_free() -> None:
    inner = Sum(("X",), Product((Conditional(("X",)), Conditional(("Y",), ("X", "M")))))
    whole = Product((Conditional(("M",), ("X",)), inner))
    assert inner.free == {"Y", "M"}
    assert whole.free == {"Y", "M", "X"}
    assert Ratio(YXZ, Z).free == {"X", "Y", "Z"}


def test_products_are_flat_and_sums_of_sums_are_one() -> None:
    assert product([Z, product([Z, YXZ])]) == Product((Z, Z, YXZ))
    assert product([Z]) is Z
    assert sum_over([], Z) is Z
    assert sum_over(["X"], sum_over(["Z"], YXZ)) == Sum(("X", "Z"), YXZ)


def test_a_sum_over_a_name_that_does_not_occur_is_refused() -> None:
    with pytest.raises(ValueError, match="a sum over X"):
        sum_over(["X"], Z)


def test_equal_expressions_have_equal_hashes_before_and_after_use() -> None:
    first, second = (Sum(("Z",), Product((Z, YXZ))) for _ in range(2))
    assert first.free == {"X", "Y"}  # worked out and kept, which must not count
    assert first == second
    assert hash(first) == hash(second)


def test_conditionals_and_scopes_are_listed_once_the_widest_scopes_only() -> None:
    estimand = Estimand(Sum(("Z",), Product((Z, YXZ, Z, Conditional(("Y",), ("X",), ("X",))))), ("X",), "Y")
    assert estimand.conditionals == (Z, YXZ, Conditional(("Y",), ("X",), ("X",)))
    assert estimand.scopes == {(): (("X", "Z", "Y"),), ("X",): (("X", "Y"),)}


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("Z -> X; Z -> Y; X -> Y", "Σ_Z P(Z) P(Y | Z, X)"),
        ("X -> M -> Y; X <-> Y", "Σ_M P(M | X) Σ_X' P(X') P(Y | X', M)"),
        ("Z -> X -> M -> Y; X <-> Y", "Σ_M P(M | X) Σ_Z P(Z) Σ_X' P(X' | Z) P(Y | Z, X', M)"),
        (
            "W -> Z -> X -> Y; W <-> X; W <-> Y",
            "(Σ_Z P(Z) Σ_W P(W) P(X | W, Z) P(Y | W, Z, X)) / (Σ_Z P(Z) Σ_W P(W) P(X | W, Z))",
        ),
        ("A -> X; B -> X; A -> Y; B -> Y; X -> Y", "Σ_{A, B} P(A) P(B) P(Y | A, B, X)"),
        ('"face mask" -> X; "face mask" -> Y; X -> Y', "Σ_face mask P(face mask) P(Y | face mask, X)"),
    ],
)
def test_formulas_by_hand(text: str, formula: str) -> None:
    assert str(identify(CausalGraph.parse(text), ["X"], "Y")) == formula


def test_a_sum_that_is_not_last_and_a_fraction_in_a_product_have_brackets() -> None:
    one, two = Sum(("Z",), Product((Z, YXZ))), Sum(("W",), Conditional(("W", "Y")))
    assert str(Product((one, two, Z))) == "P(Z) [Σ_Z P(Z) P(Y | X, Z)] Σ_W P(W, Y)"
    assert str(Product((Ratio(YXZ, Z), Z))) == "[(P(Y | X, Z)) / (P(Z))] P(Z)"
    assert str(Product(())) == "1"


def test_latex_escapes_names_and_says_what_the_formula_is_for() -> None:
    graph = CausalGraph.parse('"face_mask" -> M -> Y; "face_mask" <-> Y')
    estimand = identify(graph, ["face_mask"], "Y")
    mask = r"\mathrm{face\_mask}"
    assert estimand.latex() == (
        rf"P(Y \mid do({mask})) = \sum_{{M}} P(M \mid {mask}) \sum_{{{mask}'}} P({mask}') P(Y \mid {mask}', M)"
    )
    assert estimand._repr_latex_() == f"$\\displaystyle {estimand.latex()}$"
    napkin = identify(CausalGraph.parse("W -> Z -> X -> Y; W <-> X; W <-> Y"), ["X"], "Y")
    assert napkin.latex().startswith(r"P(Y \mid do(X)) = \frac{\sum_{Z} P(Z) \sum_{W}")


def test_a_factor_stands_in_the_outline_as_the_experiment_that_would_show_it() -> None:
    estimand = identify(CausalGraph.parse("X -> M -> Y; X <-> Y"), ["X"], "Y")
    assert str(estimand.outline) == "Σ_M P_{do(X)}(M | X) P_{do(M)}(Y | M)"
    assert [factor.symbol for factor in estimand.factors] == list(Estimand(estimand.outline, ("X",), "Y").conditionals)
