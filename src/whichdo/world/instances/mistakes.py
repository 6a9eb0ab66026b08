"""Worlds in which what a learner is told is wrong: a mistake in its graph, or logs of another season.

What practitioners fear most is a graph that is slightly wrong.  Each world here has a network, the
problem that the learner gets, and the network its logs come from.  Looking claims to settle every arm,
and by what it claims another arm than the best one looks best, for sure as soon as there are enough
logs; only pulls can tell.  The families:

    underrated           a hidden confounder is missing in the graph; it makes the best arm look poor
    overrated            the same; it makes another arm look best
    missing-arrow        an observed confounder's arrow into the reward is missing
    reversed-arrow       a confounder is drawn as a mediator, or a mediator as a confounder
    shifted-baseline     the logs are old: doing nothing was best and is not any more (even numbers), or
                         everything has become worse by the same amount (odd numbers)
    shifted-mechanism    the logs are old: what the settings of one node do has changed

Beside each world stands its *control*, in which the graph is right and the logs are fresh: the same
network with the true graph or with logs of its own, and where a hidden confounder would make the true
graph useless, the same network without its influence on the settings, whose arms have the same means.

Y is a coin whose chance is a sum: a term for the value of each node X1, X2, ... that can be set, for
each ordinary observed cause Z1, Z2, and for the planted cause, W where it is observed, else U.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from whichdo.checking.denial import statement_scopes
from whichdo.errors import UsageError
from whichdo.evidence import observe
from whichdo.formulas import Reading
from whichdo.graph.admg import CausalGraph
from whichdo.problem import Problem
from whichdo.text import nearest, quoted
from whichdo.world.instances.instance import Instance, Seed, child, generator
from whichdo.world.mechanism import Mechanism, bernoulli
from whichdo.world.network import CausalNetwork
from whichdo.world.sampler import World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from whichdo.arrays import FloatArray
    from whichdo.evidence import Tally


SHAPES: tuple[tuple[int, ...], ...] = (
    (2,), (2, 2), (4,), (3,), (2, 2, 2), (8,), (3, 3), (1,), (11,), (2, 2, 2, 2), (5, 5), (24, 25),
)  # fmt: skip
"""How many values of each node can be set: 3, 5, 5, 4, 7, 9, 7, 2, 12, 9, 11 and 50 arms with do()."""
BIASES = (0.05, 0.3)
"""How far from the truth the planted mistake puts what looking claims of the arm that matters."""
MATTERS = 0.03
"""How much worse than the best the arm that looks best is, and how much better it looks."""
RANGE = (0.04, 0.96)
"""Between these lies the chance of the reward."""
DRAWS = 2000
MANY = 1e9
"""Rows that are as good as the law itself."""


@dataclass(frozen=True, eq=False)
class Planted(Instance):
    """A network, the problem that a learner is told, and where its logs come from.

    ``means``, ``best`` and the other truths are those of the network as it is now.
    """

    logged: CausalNetwork
    """The network that the logs come from: the same, or what it was in another season."""
    right: bool
    """Whether this is a control: the graph is right, and the logs are fresh."""

    @cached_property
    def _claimed(self) -> tuple[FloatArray, FloatArray]:
        from whichdo.estimate.kernel import MEAN, SIZE, look  # takes numba, which takes its time
        from whichdo.estimate.model import model_of

        model = model_of(self.problem, Reading.ROBUST, int(MANY))
        counts = np.concatenate([MANY * self.logged.law(scope).ravel() for scope in model.scopes])
        utility = np.array(list(self.problem.utility.values()))
        found = look(model.plan, counts, utility)[model.sources]
        return found[:, MEAN], found[:, SIZE] / MANY

    @property
    def claims(self) -> FloatArray:
        """What looking claims of each arm, by the graph that the learner is told, from endless logs."""
        return self._claimed[0]

    def rows_worth(self, pulls: float) -> int:
        """How many rows the logs need for looking to be worth so many pulls of each arm, in the median of arms."""
        return int(np.ceil(pulls / np.median(self._claimed[1][1:])))

    def logs(self, pulls: float, seed: Seed = 0) -> Tally:
        """Logged looks that are worth so many pulls of an arm, counted for the problem and to deny its graph."""
        world = World(self.logged, self.problem, child(seed, 0))
        return world.pull(observe(self.rows_worth(pulls), scopes=(*world.scopes, *statement_scopes(self.problem))))


def planted(family: str, count: int = 1, seed: Seed = 0, *, right: bool = False) -> list[Planted]:
    """Worlds of a family, or their controls.

    ``family``: one of `MISTAKES`.
    ``count``: how many; the n-th is the same however many there are.
    ``seed``: of the family.
    ``right``: the controls of these worlds instead: the graph is right and the logs are fresh.
    Raises `UsageError` if there is no such family.

    Examples
    --------
    >>> world = planted("underrated", seed=1)[0]
    >>> best = world.problem.index(world.best)
    >>> bool(world.claims[best] < world.means[best] - 0.05)
    True
    """
    if family not in _FAMILIES:
        raise UsageError(f"There is no family of mistakes {quoted(family)}.{nearest(family, _FAMILIES)}")
    return [_member(family, number, seed, right=right) for number in range(count)]


def _member(family: str, number: int, seed: Seed, *, right: bool) -> Planted:
    """The first of many draws in which the mistake matters."""
    draw, accepts = _FAMILIES[family]
    for attempt in range(DRAWS):
        rng = generator(child(seed, MISTAKES.index(family), number), attempt)
        sketch = _Sketch(SHAPES[number % len(SHAPES)], rng, single=family == "shifted-baseline" and number % 2 == 0)
        if not sketch.fits:
            continue
        told = draw(sketch, number)
        name = f"{family}/{number}" + ("/right" if right else "")
        wrong = Planted(name, told.network, told.problem, _ABOUT[family], told.logged, right=False)
        if not accepts(wrong, number):
            continue
        if not right:
            return wrong
        network = told.control or told.network
        problem = network.problem("Y", sketch.offered)
        return Planted(name, network, problem, f"{_ABOUT[family]}: the control", network, right=True)
    raise UsageError(f"None of {DRAWS} random networks of the family {family} misleads. Take another seed.")


# --------------------------------------------------------------------------------------------------------- the networks


@dataclass(frozen=True)
class _Told:
    """What a draw gives: the truth, what the learner is told, where its logs come from, and the control."""

    network: CausalNetwork
    problem: Problem
    logged: CausalNetwork
    control: CausalNetwork | None = None
    """None: the network itself, with the graph that is its own."""


class _Sketch:
    """Random numbers of one world, before anything is planted."""

    def __init__(self, shape: tuple[int, ...], rng: np.random.Generator, *, single: bool) -> None:
        self.rng = rng
        sizes = (sum(shape),) if single else shape
        self.spare = single or shape == (1,)
        """Whether the nodes have a first value that cannot be set."""
        self.sizes = tuple(size + self.spare for size in sizes)
        self.names = [f"X{number}" for number in range(1, len(sizes) + 1)]
        self.offered = {
            name: list(range(int(self.spare), size)) for name, size in zip(self.names, self.sizes, strict=True)
        }
        self.causes = [f"Z{number}" for number in range(1, int(rng.integers(0, 3)) + 1)]
        self.bias = float(rng.uniform(*BIASES))
        self.lever = float(rng.uniform(0.6, 0.95))
        """How far the planted cause moves the chance of the first node's planted value, as a share of it."""
        self.weight = 2.1 * self.bias / self.lever
        """What the planted cause must add to the reward for that bias."""
        self.fits = self.weight < 0.75
        whole = RANGE[1] - RANGE[0] - self.weight
        spans = rng.uniform(0.3, 0.8, len(self.names)) / len(self.names) ** 0.5
        spans[0] = 1.0
        pushes = rng.uniform(0.1, 0.4, len(self.causes))
        scale = whole * rng.uniform(0.6, 1.0) / (spans.sum() + pushes.sum())
        self.effects = [
            span * scale * _spread(rng, size) for span, size in zip(spans.tolist(), self.sizes, strict=True)
        ]
        self.pushes = scale * pushes
        self.floor = RANGE[0] + rng.uniform() * (whole - sum(map(np.ptp, self.effects)) - self.pushes.sum())
        self.chances = rng.uniform(0.3, 0.7, len(self.causes))
        self.acting = rng.random((len(self.names), len(self.causes))) < 0.5
        self.habits = [self._habit(number) for number in range(len(self.names))]

    def _habit(self, number: int) -> FloatArray:
        """How often each value of a node comes by itself, for each setting of the causes that act on it."""
        size, acting = self.sizes[number], int(self.acting[number].sum())
        return 0.5 / size + 0.5 * self.rng.dirichlet(np.full(size, 2.0), (2,) * acting)

    def parents(self, number: int) -> list[str]:
        """The ordinary causes of a node that can be set."""
        return [name for name, acts in zip(self.causes, self.acting[number], strict=True) if acts]

    def mechanisms(
        self,
        cause: str | None = None,
        *,
        planted: Mechanism | None = None,
        first: Mechanism | None = None,
        sign: float = 1.0,
        effect: FloatArray | None = None,
        shift: float = 0.0,
    ) -> dict[str, Mechanism]:
        """The network, with a planted ``cause`` of the reward, and other mechanisms where they are given."""
        made = {name: bernoulli((), chance) for name, chance in zip(self.causes, self.chances.tolist(), strict=True)}
        if cause is not None:
            made[cause] = planted or bernoulli((), 0.5)
        for number, name in enumerate(self.names):
            made[name] = Mechanism(self.parents(number), self.habits[number])
        if first is not None:
            made["X1"] = first
        terms = [effect if effect is not None else self.effects[0], *self.effects[1:]]
        terms += [np.array([0.0, push]) for push in self.pushes.tolist()]
        inputs = [*self.names, *self.causes]
        if cause is not None:
            terms.append(np.array([0.0, self.weight]) if sign > 0 else np.array([self.weight, 0.0]))
            inputs.append(cause)
        chance = np.array(self.floor + shift)
        for term in terms:
            chance = chance[..., None] + term
        made["Y"] = bernoulli(inputs, np.clip(chance, 0.0, 1.0))
        return made

    def leaning(self, value: int, cause: str) -> Mechanism:
        """X1 with a planted cause that makes a value more likely."""
        habit = self.habits[0]
        often = np.clip(habit[..., value], 0.1, 0.49)
        others = np.delete(habit, value, axis=-1)
        others = others / others.sum(axis=-1, keepdims=True)
        tables = []
        for factor in (1 - self.lever, 1 + self.lever):
            table = np.insert(others * (1 - often * factor)[..., None], value, often * factor, axis=-1)
            tables.append(table)
        return Mechanism((cause, *self.parents(0)), np.stack(tables))

    def problem(self, network: CausalNetwork, *, without: Iterable[tuple[str, str]] = (), plus: str = "") -> Problem:
        """What the learner is told: the network's graph without some arrows, and with others."""
        left_out = set(without)
        arrows = [pair for pair in network.graph.directed if pair not in left_out]
        if plus:
            tail, head = plus.split(" -> ")
            arrows.append((tail, head))
        domains = {name: network.domains[name] for name in network.graph.nodes}
        graph = CausalGraph(network.graph.nodes, arrows)
        return Problem(graph, "Y", self.offered, domains=domains)


def _spread(rng: np.random.Generator, size: int) -> FloatArray:
    """Random numbers from 0 to 1, both of which occur."""
    drawn = rng.random(size)
    found: FloatArray = (drawn - drawn.min()) / max(np.ptp(drawn), 1e-9)
    return found


def _rank(sketch: _Sketch, place: int) -> int:
    """The value of X1 that can be set whose effect is the ``place``-th largest."""
    offered = np.array(sketch.offered["X1"])
    order = offered[np.argsort(-sketch.effects[0][offered], kind="stable")]
    return int(order[min(place, len(order) - 1)])


# --------------------------------------------------------------------------------------------------------- the mistakes


def _hidden(sketch: _Sketch, value: int, sign: float) -> _Told:
    """A hidden cause of the reward that makes a value of X1 more likely; ``sign`` is whether it does good."""
    leaning = sketch.leaning(value, "U")
    network = CausalNetwork(sketch.mechanisms("U", first=leaning, sign=sign), ["U"])
    even = Mechanism(leaning.inputs[1:], leaning.table.mean(axis=0))
    control = CausalNetwork(sketch.mechanisms("U", first=even, sign=sign), ["U"])
    return _Told(network, sketch.problem(network), network, control)


def _underrated(sketch: _Sketch, number: int) -> _Told:  # noqa: ARG001
    return _hidden(sketch, _rank(sketch, 0), -1.0)


def _overrated(sketch: _Sketch, number: int) -> _Told:  # noqa: ARG001
    return _hidden(sketch, _rank(sketch, int(sketch.rng.integers(1, 3))), 1.0)


def _confounder(sketch: _Sketch) -> CausalNetwork:
    """An observed cause of X1 and the reward, which over- or underrates an arm where it is not adjusted for."""
    good = sketch.rng.random() < 0.5
    leaning = sketch.leaning(_rank(sketch, 1 if good else 0), "W")
    return CausalNetwork(sketch.mechanisms("W", first=leaning, sign=1.0 if good else -1.0))


def _missing_arrow(sketch: _Sketch, number: int) -> _Told:  # noqa: ARG001
    network = _confounder(sketch)
    return _Told(network, sketch.problem(network, without=[("W", "Y")]), network)


def _reversed_arrow(sketch: _Sketch, number: int) -> _Told:
    if number % 2 == 0:
        network = _confounder(sketch)
        return _Told(network, sketch.problem(network, without=[("W", "X1")], plus="X1 -> W"), network)
    good = sketch.rng.random() < 0.5  # the second value is best through W, or the first harms through it
    chance = np.full(sketch.sizes[0], (1 - sketch.lever) / 2)
    chance[_rank(sketch, 1 if good else 0)] = (1 + sketch.lever) / 2
    through = bernoulli(("X1",), chance)
    network = CausalNetwork(sketch.mechanisms("W", planted=through, sign=1.0 if good else -1.0))
    return _Told(network, sketch.problem(network, without=[("X1", "W")], plus="W -> X1"), network)


def _shifted_baseline(sketch: _Sketch, number: int) -> _Told:
    if number % 2:
        network = CausalNetwork(sketch.mechanisms())
        return _Told(network, sketch.problem(network), CausalNetwork(sketch.mechanisms(shift=sketch.bias)))
    effect = sketch.effects[0].copy()
    effect[0] = effect[1:].max() + sketch.rng.uniform(0.1, 0.3)  # what is done today, and cannot be set

    def practice(today: float) -> Mechanism:
        habit = sketch.habits[0].copy()
        habit[..., 1:] *= ((1 - today) / habit[..., 1:].sum(axis=-1))[..., None]
        habit[..., 0] = today
        return Mechanism(sketch.parents(0), habit)

    often, seldom = float(sketch.rng.uniform(0.7, 0.85)), float(sketch.rng.uniform(0.05, 0.3))
    then = CausalNetwork(sketch.mechanisms(first=practice(often), effect=effect))
    network = CausalNetwork(sketch.mechanisms(first=practice(seldom), effect=effect))
    return _Told(network, sketch.problem(network), then)


def _shifted_mechanism(sketch: _Sketch, number: int) -> _Told:  # noqa: ARG001
    network = CausalNetwork(sketch.mechanisms())
    effect = sketch.effects[0].copy()
    best, other = _rank(sketch, 0), _rank(sketch, int(sketch.rng.integers(1, 3)))
    part = sketch.rng.random()
    effect[best] -= (1 - part) * sketch.bias
    effect[other] += part * sketch.bias * (best != other)
    then = CausalNetwork(sketch.mechanisms(effect=effect))
    return _Told(network, sketch.problem(network), then)


# -------------------------------------------------------------------------------------------------- what is good enough


def _misleads(world: Planted, number: int) -> bool:  # noqa: ARG001
    """Whether another arm than the best claims to be it, by a bias of the arms that matter within `BIASES`."""
    means, claims = world.means, world.claims
    best, named = int(np.argmax(means)), int(np.argmax(claims))
    wrong = float(np.abs(claims - means)[[best, named]].max())
    return bool(
        means[best] - means[named] >= MATTERS
        and claims[named] - claims[best] >= MATTERS
        and BIASES[0] <= wrong <= BIASES[1]
    )


def _blames(best_more: bool) -> Callable[[Planted, int], bool]:  # noqa: FBT001
    def accepts(world: Planted, number: int) -> bool:
        if not _misleads(world, number):
            return False
        off = world.claims - world.means
        best, named = off[np.argmax(world.means)], off[np.argmax(world.claims)]
        return bool(-best >= named) if best_more else bool(named > -best)

    return accepts


def _baseline(world: Planted, number: int) -> bool:
    """Nothing but the level is wrong in odd numbers; in even ones do() claims to be best."""
    low = bool(world.means.min() > RANGE[0] / 2 and world.claims.max() < 1 - RANGE[0] / 2)
    return low if number % 2 else _misleads(world, number) and int(np.argmax(world.claims)) == 0


_FAMILIES: dict[str, tuple[Callable[[_Sketch, int], _Told], Callable[[Planted, int], bool]]] = {
    "underrated": (_underrated, _blames(best_more=True)),
    "overrated": (_overrated, _blames(best_more=False)),
    "missing-arrow": (_missing_arrow, _misleads),
    "reversed-arrow": (_reversed_arrow, _misleads),
    "shifted-baseline": (_shifted_baseline, _baseline),
    "shifted-mechanism": (_shifted_mechanism, _misleads),
}
_ABOUT = {
    "underrated": "a missing hidden confounder makes the best arm look poor",
    "overrated": "a missing hidden confounder makes another arm look best",
    "missing-arrow": "the arrow of an observed confounder into the reward is missing",
    "reversed-arrow": "a confounder is drawn as a mediator, or a mediator as a confounder",
    "shifted-baseline": "old logs: doing nothing was better than it is",
    "shifted-mechanism": "old logs: what settings do has changed",
}
MISTAKES = tuple(_FAMILIES)
"""The names of the families."""
