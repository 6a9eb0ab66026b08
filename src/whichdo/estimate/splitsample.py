"""CRM-ALG's estimate of every arm from looks in their order: unbiased, and refreshed look by look.

Maiti, Nair and Sinha 2022, Section 5.  For an arm do(X=x) let z run over the values of X's parents.  The odd looks with
X=x are listed by z; the shortest list has C entries.  The even looks are cut into C blocks of b = floor(even / C), and
the last has what remains.  The c-th draw is

    Y_c = sum over z of  (the reward of the c-th entry of list z) * (the share of z in block c)

and has the arm's mean exactly: the rewards come from other looks than the shares, and how long the lists are says
nothing about the rewards in them.  Without parents there is one list, and no block is needed.

Written as the paper has it, this goes through all looks in every round.  Here a look costs what does not grow:

* Y_c is the mean, over the looks of block c, of the c-th reward in the list that the look points at.
* For a block size b the full blocks stay what they are while looks are added, so each b keeps a running total and the
  number of its blocks; when b moves back and forth, only what is new is added.
* The last block is summed again when it begins elsewhere, and else takes one look more.
* How often each z occurred in a stretch of looks is known from counts kept every max(16, number of z) looks.

What a look leaves behind is kept in arrays with a place for each; `with_room` makes them longer between rounds, since
compiled code cannot put a longer array into a tuple.  They are few, and helpers are handed only what they use: numba
counts references and copies for each array that goes along in a tuple.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo.graph.identify import Route
from whichdo.kernels.compiling import compiled
from whichdo.tables import Radix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.arrays import Array, CodeArray, FloatArray, Int32Array, IntArray
    from whichdo.problem import Problem, Value


MOST_LISTS = 1 << 16
"""The most lists that are kept for one arm; one that needs more would wait for a draw for ever."""

SIZE, SUM = 0, 1  # rows of what is found of every arm: the number of draws C, and their sum
COLUMN, CELLS, STRIDE, PARENTS, MORE, ARMS = 0, 1, 2, 3, 4, 5  # of a node
LENGTH, HEAD, TAIL = 0, 1, 2  # of a list; the head is its first entry that no draw has taken
LISTS, DRAWS, LACK, BLOCK, START = 0, 1, 2, 3, 4  # of an arm
FULL, TOTAL = 0, 1  # of a block size
LOOKS, LAST = 0, 0  # in the place of do(), and of block size 0
LEAST_STRIDE = 16


class Split(NamedTuple):
    """Looks by the lists and blocks that they fall into.

    A row of ``nodes`` holds the node's column in a look, how many values z its parents have, how many even looks lie
    between two ``counts``, where its ``parents`` begin and end (a column and the step of z for each), and then for each
    of its values the arm that sets it, or -1.  A row of ``progress`` holds where an arm's ``lists`` begin, its number
    of draws C, how many of its lists are of length C, its b, and where its last block starts; the row of do() holds
    the number of looks.

    With places for looks: for each node the ``trail``, which says of an odd look what follows it in its list, and of an
    even look its z; for each node ``counts`` of z up to every so many even looks; for each arm the levels ``taken`` by
    its draws, and for do() those of all odd looks; for each arm and block size the number of full ``blocks`` and their
    total, and for size 0 the sum of the last block.
    """

    nodes: IntArray
    parents: IntArray
    lists: IntArray
    progress: IntArray
    trail: Int32Array
    counts: Int32Array
    taken: CodeArray
    blocks: FloatArray


def parents_of(problem: Problem) -> dict[str, tuple[str, ...]]:
    """The nodes whose arms are estimated so, with all their parents: none where anything is confounded.

    Left out are nodes that do not act on the reward, nodes whose parents have more than `MOST_LISTS` values, and joint
    arms.
    """
    if problem.graph.bidirected:
        return {}
    found = {}
    for (name, *others), verdict in problem.verdicts.items():
        if others:
            continue
        parents = problem.graph.parents(name)
        if verdict.route is not Route.SAME and prod(len(problem.domains[each]) for each in parents) <= MOST_LISTS:
            found[name] = tuple(sorted(parents, key=problem.graph.index))
    return found


def split_sample(problem: Problem, columns: Sequence[str]) -> Split:
    """Nothing seen yet; ``columns`` are the nodes in a look, the reward last."""
    place = {name: number for number, name in enumerate(columns)}
    found = parents_of(problem)
    widest = max((len(problem.domains[name]) for name in found), default=0)
    nodes = np.full((len(found), ARMS + widest), -1, np.int64)
    progress = np.zeros((len(problem.arms), 5), np.int64)
    parents: list[tuple[int, int]] = []
    lists = 0
    for number, (name, given) in enumerate(found.items()):
        cells, start = 1, len(parents)
        for parent in reversed(given):
            parents.append((place[parent], cells))
            cells *= len(problem.domains[parent])
        nodes[number, :ARMS] = place[name], cells, max(LEAST_STRIDE, cells), start, len(parents)
        for position in problem.positions[(name,)]:
            nodes[number, ARMS + problem.domains[name].index(problem.arms[position].settings[name])] = position
            progress[position] = lists, 0, cells, 0, 0
            lists += cells
    empty = Split(
        nodes,
        np.array(parents, np.int64).reshape(-1, 2),
        np.zeros((lists, 3), np.int64),
        progress,
        np.zeros((len(found), 0), np.int32),
        np.zeros((len(found), 0), np.int32),
        np.zeros((len(problem.arms), 0), np.uint8),
        np.zeros((len(problem.arms), 0, 2)),
    )
    return with_room(empty, 1)


def unseen(problem: Problem, split: Split) -> dict[int, dict[str, Value]]:
    """For each arm without a draw a setting of its node and parents that has not occurred in the odd looks."""
    missing = {}
    for number, (name, given) in enumerate(parents_of(problem).items()):
        sizes = [len(problem.domains[parent]) for parent in given]
        for x, position in enumerate(split.nodes[number, ARMS : ARMS + len(problem.domains[name])].tolist()):
            first, draws = split.progress[position, [LISTS, DRAWS]].tolist()
            if position < 0 or draws:
                continue
            place = 0
            if given:
                place = int(np.argmin(split.lists[first : first + prod(sizes), LENGTH]))
            codes = Radix(given, tuple(sizes)).codes(np.array([place]))[0].tolist()
            setting = {parent: problem.domains[parent][code] for parent, code in zip(given, codes, strict=True)}
            missing[position] = {name: problem.domains[name][x], **setting}
    return missing


def with_room(split: Split, looks: int) -> Split:
    """The same, with places for so many looks more: as it is, or with arrays that are at least twice as long."""
    needed, have = int(split.progress[0, LOOKS]) + looks, 2 * split.taken.shape[1]
    if needed <= have:
        return split
    half = max(needed, 2 * have, 64) // 2 + 1
    most = int(split.nodes[:, CELLS].max(initial=0))
    return split._replace(
        trail=longer(split.trail, 2 * half),
        counts=longer(split.counts, half + 2 * most),
        taken=longer(split.taken, half),
        blocks=longer(split.blocks, half // 2 + 2),
    )


def longer(kept: Array, room: int) -> Array:
    """A copy with so many places along the second axis, the new ones 0."""
    found = np.zeros((kept.shape[0], room, *kept.shape[2:]), kept.dtype)
    found[:, : kept.shape[1]] = kept
    return found


@compiled
def look(split: Split, row: CodeArray, utility: FloatArray, found: FloatArray) -> None:
    """Take in a look; ``found`` has for each arm the number of its draws and their sum."""
    number = split.progress[0, LOOKS]
    split.progress[0, LOOKS] = number + 1
    if number % 2 == 0:  # the paper counts from 1
        _odd(split, row, number, utility, found)
    else:
        _even(split, row, number, utility, found)


@compiled
def _odd(split: Split, row: CodeArray, number: int, utility: FloatArray, found: FloatArray) -> None:
    nodes, parents, lists, progress, trail, _, taken, _ = split
    level = row[row.size - 1]
    taken[0, number // 2] = level
    for g in range(nodes.shape[0]):
        arm, cells = nodes[g, ARMS + row[nodes[g, COLUMN]]], nodes[g, CELLS]
        if arm > 0 and cells == 1:  # nothing to adjust for: no block
            progress[arm, DRAWS] += 1
            found[SIZE, arm] += 1.0
            found[SUM, arm] += utility[level]
        elif arm > 0:
            _list(lists, progress, trail, g, arm, _code(nodes, parents, g, row), number)
            if progress[arm, LACK] == 0:
                _draw(lists, progress, trail, taken, g, arm, cells)
                _refresh(split, g, arm, number // 2, utility, found)


@compiled
def _even(split: Split, row: CodeArray, number: int, utility: FloatArray, found: FloatArray) -> None:
    nodes, parents, _, progress, trail, counts, taken, blocks = split
    even = number // 2 + 1
    for g in range(nodes.shape[0]):
        cells = nodes[g, CELLS]
        if cells == 1:
            continue
        z = _code(nodes, parents, g, row)
        trail[g, number] = z
        _count(counts, g, cells, nodes[g, STRIDE], z, number // 2)
        for j in range(ARMS, nodes.shape[1]):
            arm = nodes[g, j]
            if arm > 0 and progress[arm, DRAWS] > 0:
                gain = utility[taken[arm, (progress[arm, DRAWS] - 1) * cells + z]]
                if not _joined(progress, blocks, arm, gain, even, found):
                    _refresh(split, g, arm, even, utility, found)


@compiled
def _code(nodes: IntArray, parents: IntArray, g: int, row: CodeArray) -> int:
    z = 0
    for k in range(nodes[g, PARENTS], nodes[g, MORE]):
        z += np.int64(row[parents[k, 0]]) * parents[k, 1]
    return z


@compiled
def _list(lists: IntArray, progress: IntArray, trail: Int32Array, g: int, arm: int, z: int, number: int) -> None:
    """Append an odd look to a list of an arm."""
    place = progress[arm, LISTS] + z
    if lists[place, LENGTH] == progress[arm, DRAWS]:
        lists[place, HEAD] = number
        progress[arm, LACK] -= 1
    else:
        trail[g, lists[place, TAIL]] = number
    lists[place, TAIL] = number
    lists[place, LENGTH] += 1


@compiled
def _draw(
    lists: IntArray, progress: IntArray, trail: Int32Array, taken: CodeArray, g: int, arm: int, cells: int
) -> None:
    """All lists have an entry more than there are draws: take one of each."""
    first, draws = progress[arm, LISTS], progress[arm, DRAWS]
    lack = 0
    for z in range(cells):
        number = lists[first + z, HEAD]
        taken[arm, draws * cells + z] = taken[0, number // 2]
        lists[first + z, HEAD] = trail[g, number]
        if lists[first + z, LENGTH] == draws + 1:
            lack += 1
    progress[arm, LACK] = lack
    progress[arm, DRAWS] = draws + 1


@compiled
def _count(counts: Int32Array, g: int, cells: int, stride: int, z: int, half: int) -> None:
    """Count the z of an even look towards the next of the kept counts."""
    base = (half // stride + 1) * cells
    if half % stride == 0:
        for k in range(base, base + cells):
            counts[g, k] = counts[g, k - cells]
    counts[g, base + z] += 1


@compiled
def _joined(progress: IntArray, blocks: FloatArray, arm: int, gain: float, even: int, found: FloatArray) -> bool:
    """Whether an even look joins the last block; it does not where the blocks grow, which moves their bounds."""
    draws, block = progress[arm, DRAWS], progress[arm, BLOCK]
    if draws > 1 and even == (block + 1) * draws:
        return False
    blocks[arm, 0, LAST] += gain
    full = blocks[arm, block, TOTAL] / block if draws > 1 else 0.0
    found[SUM, arm] = full + blocks[arm, 0, LAST] / (even - progress[arm, START])
    return True


@compiled
def _refresh(split: Split, g: int, arm: int, even: int, utility: FloatArray, found: FloatArray) -> None:
    """The number of draws or the size of the blocks has changed: bring the full blocks up, sum the last one again."""
    progress, blocks = split.progress, split.blocks
    draws = progress[arm, DRAWS]
    block = even // draws
    full = 0.0
    if draws > 1:
        total = blocks[arm, block, TOTAL]
        for c in range(int(blocks[arm, block, FULL]), draws - 1):
            total += _stretch(split, g, arm, c, c * block, (c + 1) * block, utility)
        blocks[arm, block, TOTAL] = total
        blocks[arm, block, FULL] = draws - 1
        full = total / block
    start = (draws - 1) * block
    progress[arm, BLOCK] = block
    progress[arm, START] = start
    blocks[arm, 0, LAST] = _stretch(split, g, arm, draws - 1, start, even, utility)
    found[SIZE, arm] = draws
    found[SUM, arm] = full + blocks[arm, 0, LAST] / (even - start)


@compiled
def _stretch(split: Split, g: int, arm: int, c: int, start: int, end: int, utility: FloatArray) -> float:
    """The c-th rewards of the lists that the even looks from ``start`` to ``end`` point at, summed."""
    trail, counts, taken = split.trail, split.counts, split.taken
    cells, stride = split.nodes[g, CELLS], split.nodes[g, STRIDE]
    first = c * cells
    total = 0.0
    if end - start <= stride:
        for s in range(start, end):
            total += utility[taken[arm, first + trail[g, 2 * s + 1]]]
        return total
    low, high = start // stride, end // stride
    for z in range(cells):
        many = counts[g, high * cells + z] - counts[g, low * cells + z]
        total += many * utility[taken[arm, first + z]]
    for s in range(high * stride, end):
        total += utility[taken[arm, first + trail[g, 2 * s + 1]]]
    for s in range(low * stride, start):
        total -= utility[taken[arm, first + trail[g, 2 * s + 1]]]
    return total
