"""Draws of an arm's reward from looks where hidden causes are: CRM-ALG's looks beyond the paper.

The factor network of an arm do(X=x) (`whichdo.identification.forms.paper_kernels`) writes its mean as a sum over
products of P(v | Z_v).
The looks are dealt in turn to its factors, and the looks of a factor are listed by their value of Z_v, in time order.
The c-th draw walks through the factors in topological order and takes for each node the value that the c-th entry of
its list has, the list being that of the values found on the way; outside the c-component of X, X reads as x.  What the
walk finds for the reward is a draw from the law under do(X=x), exactly: lists are read where they were written by
other looks than all the rest, and how long they are says nothing about the values in them.  Draws are independent,
and there are as many as the shortest list that the arm may need has entries.

A draw never changes once it is made, so a look costs the same however many there were before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo.estimate.rarity import judged
from whichdo.estimate.splitsample import MOST_LISTS, SIZE, SUM, longer
from whichdo.graph.identify import Route
from whichdo.identification.forms import paper_kernels
from whichdo.kernels.compiling import compiled
from whichdo.tables import MAX_CELLS, Radix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.arrays import CodeArray, FloatArray, Int32Array, IntArray
    from whichdo.identification.estimand import Conditional
    from whichdo.problem import Problem, Value


FACTORS, END, NODE, LISTS, AFTER, ARMS = 0, 1, 2, 3, 4, 5  # of a network
COLUMN, GIVEN, MORE, FIRST, INSIDE = 0, 1, 2, 3, 4  # of a factor
LENGTH, TAIL, OWNER = 0, 1, 2  # of a list
HEADS, VALUE, DRAWS, LACK = 0, 1, 2, 3  # of an arm
LOOKS = 0  # in the place of do()
ANY = -1


class Network(NamedTuple):
    """What a draw of a node's arms walks through: conditionals in topological order, and whether each is inside S."""

    scope: tuple[str, ...]
    """The nodes that a look must say."""
    factors: tuple[tuple[Conditional, bool], ...]


class Tape(NamedTuple):
    """Looks by the lists that they were dealt to.

    A row of ``nets`` holds where the network's ``factors`` begin and end, the column of its node, where its ``lists``
    begin and end, and then for each value of the node the arm that sets it, or -1.  A row of ``factors`` holds the
    column of its node, where what it is ``given`` begins and ends (a column and the step of z for each), where its
    lists begin, and whether it is inside the c-component.  A list has its length, its last look, and the only value x
    whose arm needs it, or -1.  A row of ``progress`` holds where the ``heads`` of an arm begin, one for each list (the
    first entry that no draw has taken), its x, its number of draws, and how many of the lists it needs are no longer
    than that; the row of do() holds the number of looks.

    For each network and look, ``trail`` says what follows it in its list and ``values`` what the factor's node was.
    """

    nets: IntArray
    factors: IntArray
    given: IntArray
    lists: IntArray
    heads: IntArray
    progress: IntArray
    trail: Int32Array
    values: CodeArray
    walked: CodeArray


def networks_of(problem: Problem) -> dict[str, Network]:
    """The nodes whose arms are drawn so: none where nothing is confounded, then those that looking settles.

    Left out are nodes that do not act on the reward, nodes that need more than `MOST_LISTS` lists, and joint arms.
    """
    if not problem.graph.bidirected:
        return {}
    found = {}
    for targets, verdict in judged(problem, restrict=True).items():
        if len(targets) > 1 or verdict.route in {Route.SAME, Route.TRY}:
            continue
        around = (*targets, *verdict.given)
        scope = tuple(sorted({*around, problem.reward}, key=problem.graph.index))
        if problem.cells(scope) <= MAX_CELLS:
            factors = tuple(paper_kernels(verdict, around))
            if sum(problem.cells(factor.given) for factor, _ in factors) <= MOST_LISTS:
                found[targets[0]] = Network(scope, factors)
    return found


def tape(problem: Problem, columns: Sequence[str]) -> Tape:
    """Nothing seen yet; ``columns`` are the nodes in a look, the reward last."""
    place = {name: number for number, name in enumerate(columns)}
    found = networks_of(problem)
    widest = max((len(problem.domains[name]) for name in found), default=0)
    nets = np.full((len(found), ARMS + widest), -1, np.int64)
    progress = np.zeros((len(problem.arms), 4), np.int64)
    factors: list[tuple[int, ...]] = []
    given: list[tuple[int, int]] = []
    owners: list[int] = []
    heads = 0
    for number, (name, network) in enumerate(found.items()):
        begin, first = len(factors), len(owners)
        for factor, inside in network.factors:
            start = len(given)
            given += [(place[other], step) for other, step in _steps(problem, factor.given)]
            factors.append((place[factor.nodes[0]], start, len(given), len(owners), int(inside)))
            owners += _owners(problem, factor.given, None if inside else name)
        nets[number, :ARMS] = begin, len(factors), place[name], first, len(owners)
        for position in problem.positions[(name,)]:
            x = problem.domains[name].index(problem.arms[position].settings[name])
            nets[number, ARMS + x] = position
            progress[position] = heads, x, 0, sum(owner in (ANY, x) for owner in owners[first:])
            heads += len(owners) - first
    lists = np.zeros((len(owners), 3), np.int64)
    lists[:, OWNER] = owners
    empty = Tape(
        nets,
        np.array(factors, np.int64).reshape(-1, 5),
        np.array(given, np.int64).reshape(-1, 2),
        lists,
        np.zeros(heads, np.int64),
        progress,
        np.zeros((len(found), 0), np.int32),
        np.zeros((len(found), 0), np.uint8),
        np.zeros(len(columns), np.uint8),
    )
    return with_tape(empty, 1)


def _steps(problem: Problem, names: Sequence[str]) -> list[tuple[str, int]]:
    """Each name with its step in the numbering of all settings, the last name varying fastest."""
    return list(Radix(tuple(names), tuple(len(problem.domains[name]) for name in names)).steps.items())


def _owners(problem: Problem, names: Sequence[str], node: str | None) -> list[int]:
    """For each setting the value of ``node`` in it, or `ANY`."""
    count = problem.cells(names)
    for name, step in _steps(problem, names):
        if name == node:
            return [setting // step % len(problem.domains[name]) for setting in range(count)]
    return [ANY] * count


def with_tape(kept: Tape, looks: int) -> Tape:
    """The same, with places for so many looks more: as it is, or with arrays that are at least twice as long."""
    needed, have = int(kept.progress[0, LOOKS]) + looks, kept.trail.shape[1]
    if needed <= have:
        return kept
    room = max(needed, 2 * have, 64)
    return kept._replace(trail=longer(kept.trail, room), values=longer(kept.values, room))


def unseen_on_tape(problem: Problem, kept: Tape) -> dict[int, dict[str, Value]]:
    """For each arm without a draw a setting that a list of its is for, and that no look dealt to it had."""
    missing = {}
    for number, network in enumerate(networks_of(problem).values()):
        for position in kept.nets[number, ARMS:].tolist():
            if position < 0 or kept.progress[position, DRAWS]:
                continue
            for (factor, _), (_, _, _, first, _) in zip(
                network.factors, kept.factors[slice(*kept.nets[number, [FACTORS, END]])].tolist(), strict=True
            ):
                lists = kept.lists[first : first + problem.cells(factor.given)]
                needed = (lists[:, OWNER] == ANY) | (lists[:, OWNER] == kept.progress[position, VALUE])
                for place in np.flatnonzero(needed & (lists[:, LENGTH] == 0)).tolist()[:1]:
                    missing[position] = {
                        name: problem.domains[name][place // step % len(problem.domains[name])]
                        for name, step in _steps(problem, factor.given)
                    }
    return missing


@compiled
def tape_look(kept: Tape, row: CodeArray, utility: FloatArray, found: FloatArray) -> None:
    """Take in a look; ``found`` has for each arm the number of its draws and their sum."""
    nets, factors, given, lists, heads, progress, trail, values, walked = kept
    number = progress[0, LOOKS]
    progress[0, LOOKS] = number + 1
    for g in range(nets.shape[0]):
        f = nets[g, FACTORS] + number % (nets[g, END] - nets[g, FACTORS])
        place = factors[f, FIRST]
        for k in range(factors[f, GIVEN], factors[f, MORE]):
            place += np.int64(row[given[k, 0]]) * given[k, 1]
        length, owner = lists[place, LENGTH], lists[place, OWNER]
        if length > 0:
            trail[g, lists[place, TAIL]] = number
        lists[place, TAIL] = number
        lists[place, LENGTH] = length + 1
        values[g, number] = row[factors[f, COLUMN]]
        for x in range(nets.shape[1] - ARMS):
            arm = nets[g, ARMS + x]
            if arm > 0 and owner in (ANY, x) and progress[arm, DRAWS] == length:
                heads[progress[arm, HEADS] + place - nets[g, LISTS]] = number
                progress[arm, LACK] -= 1
                if progress[arm, LACK] == 0:
                    _walk(nets, factors, given, heads, progress, values, walked, g, arm)
                    _move(nets, lists, heads, progress, trail, g, arm)
                    found[SIZE, arm] += 1.0
                    found[SUM, arm] += utility[walked[walked.size - 1]]


@compiled
def _walk(
    nets: IntArray,
    factors: IntArray,
    given: IntArray,
    heads: IntArray,
    progress: IntArray,
    values: CodeArray,
    walked: CodeArray,
    g: int,
    arm: int,
) -> None:
    """Make a draw: the value of each node on the way, the reward's last."""
    for f in range(nets[g, FACTORS], nets[g, END]):
        place = factors[f, FIRST]
        for k in range(factors[f, GIVEN], factors[f, MORE]):
            value = np.int64(walked[given[k, 0]])
            if given[k, 0] == nets[g, NODE] and factors[f, INSIDE] == 0:
                value = progress[arm, VALUE]
            place += value * given[k, 1]
        entry = heads[progress[arm, HEADS] + place - nets[g, LISTS]]
        walked[factors[f, COLUMN]] = values[g, entry]


@compiled
def _move(
    nets: IntArray, lists: IntArray, heads: IntArray, progress: IntArray, trail: Int32Array, g: int, arm: int
) -> None:
    """The draw has used up an entry of every list that the arm needs."""
    draws = progress[arm, DRAWS] + 1
    lack = 0
    for place in range(nets[g, LISTS], nets[g, AFTER]):
        if lists[place, OWNER] == ANY or lists[place, OWNER] == progress[arm, VALUE]:
            head = progress[arm, HEADS] + place - nets[g, LISTS]
            if lists[place, LENGTH] > draws:
                heads[head] = trail[g, heads[head]]
            else:
                lack += 1
    progress[arm, DRAWS] = draws
    progress[arm, LACK] = lack
