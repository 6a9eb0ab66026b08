"""Sharp bounds from an exact law, by linear programming over response types: what no bound can beat.

A *response type* of a node says which value it takes for each values of its parents.  Hidden causes tie the nodes of a
c-component together in any way, so all that is open is how likely each combination of their types is: numbers that must
give the c-factor of the component, in which the mean under do(x) is linear (Balke and Pearl 1997).  Combinations that
show the same in all rows differ in that mean alone, so of each such class the best and the worst are kept.

Two values a node, and targets in one c-component; for all else there is no answer.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_matrix

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whichdo.arrays import FloatArray, IntArray
    from whichdo.graph.admg import CausalGraph

__all__ = ["sharp_bounds"]

MOST_TYPES = 1 << 21


def sharp_bounds(
    graph: CausalGraph, law: FloatArray, reward: str, settings: Mapping[str, int]
) -> tuple[float, float] | None:
    """The least and the greatest mean of the reward under do(settings); None where they are not worked out.

    ``law``: of the nodes of the graph, in its order.  Its probabilities are above 0.
    ``settings``: of targets that act on the reward.
    """
    within = graph.subgraph(graph.ancestors([reward]))
    nodes = within.nodes
    law = law.sum(axis=tuple(axis for axis, name in enumerate(graph.nodes) if name not in within))
    opened = {within.c_component(name) for name in settings}
    tied = min(opened)
    sizes = [2**2 ** len(within.parents(name)) for name in tied]
    if len(opened) > 1 or max(law.shape) > 2 or prod(sizes) > MOST_TYPES:
        return None
    types = dict(zip(tied, np.indices(sizes).reshape(len(tied), -1), strict=True))

    def taken(outside: Mapping[str, int], forced: Mapping[str, int]) -> dict[str, IntArray]:
        """The value of each node by each combination of types, the nodes outside of the component being given."""
        values: dict[str, IntArray] = {}
        for name in nodes:
            code = np.zeros(prod(sizes), np.int64)
            for parent in within.parents(name) if name in types else ():
                code = 2 * code + values[parent]
            given = forced.get(name, outside.get(name))
            values[name] = types[name] >> code & 1 if given is None else np.full(code.shape, given)
        return values

    own, others = _c_factors(law, [name in types for name in nodes])
    around = sorted({parent for name in tied for parent in within.parents(name)}.difference(tied), key=within.index)
    shown, wanted = [], []
    for codes in product((0, 1), repeat=len(around)):
        outside = dict.fromkeys(nodes, 0) | dict(zip(around, codes, strict=True))
        values = taken({name: value for name, value in outside.items() if name not in types}, {})
        shown.append(np.ravel_multi_index([values[name] for name in tied], (2,) * len(tied)))
        wanted.append(own[tuple(slice(None) if name in types else outside[name] for name in nodes)].ravel())
    means, rest = np.zeros(prod(sizes)), [name for name in nodes if name not in types]
    for codes in product((0, 1), repeat=len(rest)):
        values = taken(dict(zip(rest, codes, strict=True)), settings)
        means += others[tuple(values[name] for name in nodes)] * values[reward]
    classes, member = np.unique(np.stack(shown), axis=1, return_inverse=True)
    member, cells = member.ravel(), 2 ** len(tied)
    rows = classes + cells * np.arange(len(shown))[:, None]
    columns = np.broadcast_to(np.arange(classes.shape[1]), rows.shape)
    shape = cells * len(shown), classes.shape[1]
    constraints = csr_matrix((np.ones(rows.size), (rows.ravel(), columns.ravel())), shape=shape)
    ends = []
    for sign, worst in ((1.0, np.minimum), (-1.0, np.maximum)):
        extreme = np.full(classes.shape[1], 2.0 * sign)
        worst.at(extreme, member, means)
        found = linprog(sign * extreme, A_eq=constraints, b_eq=np.concatenate(wanted), method="highs")
        if found.status:
            return None
        ends.append(sign * float(found.fun))
    return ends[0], ends[1]


def _c_factors(law: FloatArray, inside: list[bool]) -> tuple[FloatArray, FloatArray]:
    """The product of P(node | all before it) over the nodes inside, and over the others."""
    factors = [np.ones(law.shape), np.ones(law.shape)]
    for axis, member in enumerate(inside):
        later = tuple(range(axis + 1, law.ndim))
        upto = law.sum(axis=later, keepdims=True)
        factors[not member] = factors[not member] * upto / upto.sum(axis=axis, keepdims=True)
    return factors[0], factors[1]
