"""Exact laws for the tests of identification: whole joint tables, with an axis for each observed node.

The law of a source is an array over the observed nodes.  That of an experiment has its targets as columns like any
other: the rows of all its arms together, in some shares.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.twins import from_fixture
from whichdo.estimate.evaluate import evaluator, table_evaluator
from whichdo.graph.targets import acting_targets
from whichdo.identification.forms import stratified_estimand

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tests.estimate.oracle import Oracle
    from whichdo.graph.admg import CausalGraph
    from whichdo.identification.bounds import Screen
    from whichdo.identification.estimand import CFactor, Conditional, Estimand, Expression

Array = np.ndarray[Any, np.dtype[np.float64]]
Names = tuple[str, ...]

BINARY = np.array([0.0, 1.0])


def adjusted(graph: CausalGraph, targets: Sequence[str], reward: str, given: Iterable[str]) -> Estimand:
    """The formula that adjusts for a set; targets that do not act on the reward are not conditioned on."""
    names = tuple(targets)
    acting = acting_targets(graph, names, reward)
    around = tuple(sorted(given, key=graph.index)) if acting else ()
    return stratified_estimand(names, reward, around, tuple(sorted({*around, *acting}, key=graph.index)))


def fixture(name: str) -> list[dict[str, Any]]:
    """The entries of one file of exact answers."""
    path = Path(__file__).parents[1] / "fixtures" / f"{name}.json"
    entries: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return entries


def fixture_graph(entry: Mapping[str, Any]) -> CausalGraph:
    shape = entry["graph"]
    return from_fixture(shape["nodes"], shape["directed"], shape["bidirected"]).graph()


def fixture_law(entry: Mapping[str, Any], flat: Sequence[float]) -> Array:
    return np.array(flat).reshape([2] * len(entry["graph"]["nodes"]))


def under(oracle: Oracle, targets: Names) -> Array:
    """The law of the observed nodes for every setting of the targets; sums to one for each setting."""
    law = oracle.joint
    for name in targets:
        law = law / oracle.factors[name]  # strictly positive, so leaving a mechanism out is dividing by it
    hidden = tuple(axis for axis, name in enumerate(oracle.everything) if name in oracle.network.hidden)
    found: Array = law.sum(axis=hidden)
    return found


def experiment(oracle: Oracle, targets: Names, rng: np.random.Generator) -> Array:
    """The law of the rows of an experiment whose arms were pulled in some random shares."""
    shape = [oracle.network.sizes[name] if name in targets else 1 for name in oracle.names]
    return under(oracle, targets) * rng.dirichlet(np.ones(int(np.prod(shape)))).reshape(shape)


def onto(law: Array, names: Names, scope: Names) -> Array:
    """The margin of a law on some nodes, in the order asked for."""
    kept = [name for name in names if name in scope]
    left = law.sum(axis=tuple(axis for axis, name in enumerate(names) if name not in scope))
    found: Array = left.transpose([kept.index(name) for name in scope])
    return found


def conditional_table(conditional: Conditional, law: Array, names: Names) -> Array:
    table = onto(law, names, conditional.columns)
    total = table.sum(axis=tuple(range(len(conditional.given), table.ndim)), keepdims=True)
    found: Array = np.divide(table, total, out=np.zeros_like(table), where=total > 0)
    return found


def value(estimand: Estimand, laws: Mapping[Names, Array], names: Names, worth: Array = BINARY) -> Array:
    """The mean of an estimand, an axis for each target, from exact laws of its sources."""
    sizes = dict(zip(names, laws[()].shape, strict=True))
    engine = evaluator(estimand, sizes)
    tables = [conditional_table(each, laws[each.source], names) for each in engine.conditionals]
    return engine.values(tables, worth)


def table(expression: Expression, axes: Names, laws: Mapping[Names, Array], names: Names) -> Array:
    """An expression as a table over some of its names, from exact laws."""
    engine = table_evaluator(expression, axes, dict(zip(names, laws[()].shape, strict=True)))
    return engine.values([conditional_table(each, laws[each.source], names) for each in engine.conditionals], None)


def screened(law: Array, names: Names, targets: Names, found: Screen, worth: Array) -> tuple[Array, Array]:
    """The ends by a screen, for every setting of the targets, as the module of bounds has them in words."""
    joint = onto(law, names, (*targets, *found.before, *found.after, names[-1]))
    settings, before = joint.shape[: len(targets)], joint.shape[len(targets) : len(targets) + len(found.before)]
    joint = joint.reshape(int(np.prod(settings)), int(np.prod(before)), -1, len(worth))
    means = joint @ worth / joint.sum(axis=-1)
    with_setting = joint.sum(axis=(2, 3))
    others = with_setting.sum(axis=0) - with_setting
    plain = (joint @ worth).sum(axis=(1, 2))
    low = plain + (others * means.min(axis=2)).sum(axis=1)
    high = plain + (others * means.max(axis=2)).sum(axis=1)
    return low.reshape(settings), high.reshape(settings)


def c_factor(oracle: Oracle, factor: CFactor) -> Array:
    """Q[D_j] by its definition: the law of D_j when all else is set, at any value of what it does not depend on."""
    others = tuple(name for name in oracle.names if name not in factor.nodes)
    law = under(oracle, others)
    index = tuple(slice(None) if name in (*factor.nodes, *factor.given) else 0 for name in oracle.names)
    kept = tuple(name for name in oracle.names if name in (*factor.nodes, *factor.given))
    return onto(law[index], kept, (*factor.given, *factor.nodes))


def random_tables(engine: Any, rng: np.random.Generator) -> list[Array]:
    """Some normalised table for every conditional, as if estimated from few rows: they fit no model."""
    found = []
    for conditional, shape in zip(engine.conditionals, engine.shapes, strict=True):
        raw = rng.random(shape) ** 3
        found.append(raw / raw.sum(axis=tuple(range(len(conditional.given), raw.ndim)), keepdims=True))
    return found
