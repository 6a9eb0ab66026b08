"""Networks of 0/1 nodes: bit-sliced samples and their tables.

One 64-bit word holds 64 samples of one node.  A node is drawn for all 64 at once by comparing random words with the
bits of its threshold, most significant first; a sample is decided at the first bit that differs, so about half of the
undecided ones are settled by each random word.  The threshold of a sample depends on its inputs: for each setting of
the inputs there is a mask of the samples that have it, and the threshold bit of all samples together is the OR of the
masks of the settings whose bit is set.

Tables are counted by AND and popcount: how often all columns of a subset are 1, for every subset; Moebius inversion
turns these into cells once, at the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo.kernels.compiling import compiled, inlined, popcount, trailing_zeros
from whichdo.kernels.random import BLOCK, fill, next_word

if TYPE_CHECKING:
    from whichdo.arrays import CodeArray, IntArray, WordArray
    from whichdo.tables import Places


LEVELS = 9  # threshold bits compared for a whole block; the 1 sample in 512 that is left is finished by itself
WIDEST = 6  # inputs up to which a node is drawn under masks; more would need over 64 masks
LARGEST = 8  # columns up to which a scope is counted by AND and popcount


class BinaryPlan(NamedTuple):
    """How to draw a network of 0/1 nodes.  Step s draws ``targets[s]``; ``*_start[s] : *_start[s + 1]`` are its parts.

    ``thresholds`` are probabilities of 1 as 64-bit integers, a row for each setting of the inputs in C order; ``sure``
    marks rows of probability one, which no threshold can hold; ``depths`` is the number of bits any threshold uses;
    ``forced`` is the value a step is held at, or -1.
    """

    nodes: int
    targets: IntArray
    forced: IntArray
    input_start: IntArray
    inputs: IntArray
    row_start: IntArray
    thresholds: WordArray
    sure: CodeArray
    depths: IntArray


@inlined
def _masks(inputs: IntArray, words: WordArray, width: int, masks: WordArray) -> None:
    """For each setting of the inputs, in C order, the samples that have it; without inputs, all samples."""
    masks[0, :width] = np.uint64(0xFFFFFFFFFFFFFFFF)
    for depth in range(inputs.size):
        column = words[inputs[depth]]
        for row in range((1 << depth) - 1, -1, -1):
            above, zero, one = masks[row], masks[2 * row], masks[2 * row + 1]
            for w in range(width):
                one[w] = above[w] & column[w]
            for w in range(width):
                zero[w] = above[w] ^ one[w]


@inlined
def _threshold_bits(
    thresholds: WordArray, level: int, masks: WordArray, bits: WordArray, width: int
) -> tuple[bool, bool]:
    """Each sample's threshold bit at one level, or its complement, whichever takes fewer masks.

    Returns whether ``bits`` is the complement, and whether all bits are the same, so that it was not filled.
    """
    shift = np.uint64(63 - level)
    ones = np.int64(0)
    for row in range(thresholds.size):
        ones += np.int64((thresholds[row] >> shift) & np.uint64(1))
    inverted = 2 * ones > thresholds.size
    empty = True
    for row in range(thresholds.size):
        if bool((thresholds[row] >> shift) & np.uint64(1)) == inverted:
            continue
        mask = masks[row]
        if empty:
            for w in range(width):
                bits[w] = mask[w]
            empty = False
        else:
            for w in range(width):
                bits[w] |= mask[w]
    return bool(inverted), empty


@inlined
def _levels(
    state: WordArray, thresholds: WordArray, depth: int, masks: WordArray, scratch: WordArray, width: int
) -> None:
    """Compare ``depth`` bits: ``scratch[0]`` becomes the samples below their threshold, ``scratch[1]`` the ties."""
    out, tied, random, bits = scratch[0], scratch[1], scratch[2], scratch[3]
    out[:width] = np.uint64(0)
    tied[:width] = np.uint64(0xFFFFFFFFFFFFFFFF)
    for level in range(depth):
        fill(state, random, width)
        inverted, uniform = _threshold_bits(thresholds, level, masks, bits, width)
        # A sample is below where the threshold's bit is 1 and the random one 0; it ties where they agree.
        if uniform and inverted:
            for w in range(width):
                out[w] |= tied[w] & ~random[w]
                tied[w] &= random[w]
        elif uniform:
            for w in range(width):
                tied[w] &= ~random[w]
        elif inverted:
            for w in range(width):
                out[w] |= tied[w] & ~(bits[w] | random[w])
                tied[w] &= bits[w] ^ random[w]
        else:
            for w in range(width):
                out[w] |= tied[w] & bits[w] & ~random[w]
                tied[w] &= ~(bits[w] ^ random[w])


@inlined
def _finish(
    state: WordArray, thresholds: WordArray, depth: int, masks: WordArray, scratch: WordArray, width: int
) -> None:
    """Decide the samples that still tie after ``depth`` bits, each by one fresh word."""
    out, tied = scratch[0], scratch[1]
    for w in range(width):
        left = tied[w]
        while left != np.uint64(0):
            lane = trailing_zeros(left)
            left &= left - np.uint64(1)
            row = 0
            while not (masks[row, w] >> lane) & np.uint64(1):
                row += 1
            if next_word(state) < thresholds[row] << np.uint64(depth):
                out[w] |= np.uint64(1) << lane


@compiled
def _draw_wide(state: WordArray, plan: BinaryPlan, step: int, words: WordArray, width: int) -> None:
    """Sample by sample, for a node with too many inputs for masks."""
    out = words[plan.targets[step]]
    for w in range(width):
        word = np.uint64(0)
        for lane in range(64):
            row = np.int64(0)
            for j in range(plan.input_start[step], plan.input_start[step + 1]):
                row = 2 * row + np.int64((words[plan.inputs[j], w] >> np.uint64(lane)) & np.uint64(1))
            row += plan.row_start[step]
            if next_word(state) < plan.thresholds[row] or plan.sure[row]:
                word |= np.uint64(1) << np.uint64(lane)
        out[w] = word


@compiled
def _draw_block(
    state: WordArray, plan: BinaryPlan, words: WordArray, width: int, masks: WordArray, scratch: WordArray
) -> None:
    """Draw every target for one block."""
    _, targets, forced, input_start, inputs, row_start, thresholds, sure, depths = plan  # once: a tuple costs each time
    for step in range(targets.size):
        target = targets[step]
        if forced[step] >= 0:
            held = np.uint64(0xFFFFFFFFFFFFFFFF) if forced[step] else np.uint64(0)
            for w in range(width):
                words[target, w] = held
            continue
        if input_start[step + 1] - input_start[step] > WIDEST:
            _draw_wide(state, plan, step, words, width)
            continue
        first, end = row_start[step], row_start[step + 1]
        depth = min(depths[step], LEVELS)
        own = thresholds[first:end]
        _masks(inputs[input_start[step] : input_start[step + 1]], words, width, masks)
        _levels(state, own, depth, masks, scratch, width)
        if depths[step] > depth:
            _finish(state, own, depth, masks, scratch, width)
        for row in range(first, end):
            if sure[row]:
                for w in range(width):
                    scratch[0, w] |= masks[row - first, w]
        for w in range(width):
            words[target, w] = scratch[0, w]


@compiled
def _clear_tail(words: WordArray, width: int, samples: int) -> None:
    """Set the samples past the last one to 0, so that no AND counts them."""
    full = samples // 64
    rest = samples % 64
    if rest:
        words[:, full] &= (np.uint64(1) << np.uint64(rest)) - np.uint64(1)
        full += 1
    words[:, full:width] = np.uint64(0)


# ------------------------------------------------------------------------------------------------ binary: counting


@compiled
def _count_block(words: WordArray, width: int, samples: int, scopes: Places, cells: IntArray, both: WordArray) -> None:
    """Add to ``cells[S]``, for every set S of a scope's columns, the samples in which all of S are 1."""
    ones = np.full(words.shape[0], np.int64(-1))
    begin, columns, _, cell_start = scopes
    for scope in range(begin.size - 1):
        size, last, base = begin[scope + 1] - begin[scope], begin[scope + 1] - 1, cell_start[scope]
        if size > LARGEST:
            _count_wide(words, samples, columns[begin[scope] : last + 1], cells[base : cell_start[scope + 1]])
            continue
        cells[base] += samples
        for subset in range(1, 1 << size):
            rest = subset & (subset - 1)
            node = columns[last - np.int64(trailing_zeros(np.uint64(subset)))]
            if rest == 0:
                if ones[node] < 0:
                    ones[node] = _count_ones(words[node], width)
                cells[base + subset] += ones[node]
                continue
            found = np.uint64(0)
            if rest & (rest - 1) == 0:
                other = columns[last - np.int64(trailing_zeros(np.uint64(rest)))]
                for w in range(width):
                    both[subset, w] = words[other, w] & words[node, w]
                    found += popcount(both[subset, w])
            else:
                for w in range(width):
                    both[subset, w] = both[rest, w] & words[node, w]
                    found += popcount(both[subset, w])
            cells[base + subset] += np.int64(found)


@inlined
def _count_ones(column: WordArray, width: int) -> int:
    found = np.uint64(0)
    for w in range(width):
        found += popcount(column[w])
    return np.int64(found)  # type: ignore[return-value]


@compiled
def _count_wide(words: WordArray, samples: int, columns: IntArray, target: IntArray) -> None:
    """Cell by cell, for a scope of many columns."""
    for i in range(samples):
        w, lane = i >> 6, np.uint64(i & 63)
        cell = np.int64(0)
        for j in range(columns.size):
            cell = 2 * cell + np.int64((words[columns[j], w] >> lane) & np.uint64(1))
        target[cell] += 1


@compiled
def _cells_from_subsets(scopes: Places, cells: IntArray) -> None:
    """Turn counts of "all of S are 1" into counts of cells, by Moebius inversion in place."""
    begin, _, _, cell_start = scopes
    for scope in range(begin.size - 1):
        size, base = begin[scope + 1] - begin[scope], cell_start[scope]
        if size > LARGEST:
            continue
        for bit in range(size):
            for cell in range(1 << size):
                if not (cell >> bit) & 1:
                    cells[base + cell] -= cells[base + (cell | (1 << bit))]


@compiled
def _longest(starts: IntArray) -> int:
    """The length of the longest of some parts that begin at ``starts``."""
    longest = 0
    for j in range(starts.size - 1):
        longest = max(longest, starts[j + 1] - starts[j])
    return longest


@compiled
def tables_binary(state: WordArray, samples: int, plan: BinaryPlan, scopes: Places) -> IntArray:
    """Draw samples and count the tables of all scopes; the memory does not grow with the samples."""
    most = (min(BLOCK, samples) + 63) // 64  # small buffers for few samples: fresh pages cost more than the draws
    words = np.empty((plan.nodes, most), np.uint64)
    masks = np.empty((1 << min(WIDEST, _longest(plan.input_start)), most), np.uint64)
    both = np.empty((1 << min(LARGEST, _longest(scopes.start)), most), np.uint64)
    scratch = np.empty((4, most), np.uint64)
    cells = np.zeros(scopes.cell_start[-1], np.int64)
    done = 0
    while done < samples:
        now = min(BLOCK, samples - done)
        width = (now + 63) // 64
        _draw_block(state, plan, words, width, masks, scratch)
        if now < 64 * width:
            _clear_tail(words, width, now)
        _count_block(words, width, now, scopes, cells, both)
        done += now
    _cells_from_subsets(scopes, cells)
    return cells


@compiled
def rows_binary(state: WordArray, samples: int, plan: BinaryPlan, wanted: IntArray) -> CodeArray:
    """Draw samples and return the columns ``wanted``, one byte a value: shape (columns, samples)."""
    words = np.empty((plan.nodes, BLOCK // 64), np.uint64)
    masks = np.empty((1 << WIDEST, BLOCK // 64), np.uint64)
    scratch = np.empty((4, BLOCK // 64), np.uint64)
    out = np.empty((wanted.size, samples), np.uint8)
    done = 0
    while done < samples:
        _draw_block(state, plan, words, BLOCK // 64, masks, scratch)
        now = min(BLOCK, samples - done)
        for j in range(wanted.size):
            column = words[wanted[j]]
            for i in range(now):
                out[j, done + i] = np.uint8((column[i >> 6] >> np.uint64(i & 63)) & np.uint64(1))
        done += now
    return out
