"""Columns of codes into bits, and tables from columns: what counting logs needs beside sampling.

A chunk of 0/1 columns is kept as words of shape (blocks, columns, words a block), so that one block of all columns
lies together in memory and is counted while it is in the cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whichdo.kernels.binary import LARGEST, _cells_from_subsets, _count_block
from whichdo.kernels.compiling import compiled
from whichdo.kernels.random import BLOCK

if TYPE_CHECKING:
    from whichdo.arrays import CodeArray, IntArray, WordArray
    from whichdo.tables import Places


# Byte i of a word holds a bit; the product has it at place 56 + i, and no two meet below.
GATHER = np.uint64(0x0102040810204080)


@compiled
def pack(eights: WordArray, tail: CodeArray, column: int, words: WordArray) -> None:
    """Write one column of 0/1 bytes into ``words[:, column]``, eight bytes at a time; ``tail`` are the last, under 64.

    The bits past the last row are 0.
    """
    width = BLOCK // 64
    full = eights.size // 8
    for w in range(full):
        word = np.uint64(0)
        for j in range(8):
            word |= ((eights[8 * w + j] * GATHER) >> np.uint64(56)) << np.uint64(8 * j)
        words[w // width, column, w % width] = word
    if tail.size:
        word = np.uint64(0)
        for j in range(tail.size):
            word |= np.uint64(tail[j]) << np.uint64(j)
        words[full // width, column, full % width] = word


@compiled
def count_packed(words: WordArray, rows: int, scopes: Places, subsets: IntArray) -> None:
    """Add to ``subsets`` the rows in which all columns of S are 1, for every S of every scope."""
    both = np.empty((1 << LARGEST, BLOCK // 64), np.uint64)
    done = 0
    while done < rows:
        now = min(BLOCK, rows - done)
        _count_block(words[done // BLOCK], (now + 63) // 64, now, scopes, subsets, both)
        done += now


@compiled
def cells_from_subsets(scopes: Places, subsets: IntArray) -> None:
    """Turn what `count_packed` has added up into the cells of the tables, in place."""
    _cells_from_subsets(scopes, subsets)


@compiled
def count_codes(codes: CodeArray, weights: IntArray, scopes: Places, cells: IntArray) -> None:
    """Add the rows of ``codes`` (columns, rows) to the cells of every scope; without ``weights`` each counts 1."""
    index = np.empty(BLOCK, np.int64)
    rows = codes.shape[1]
    for first in range(0, rows, BLOCK):
        now = min(BLOCK, rows - first)
        for scope in range(scopes.start.size - 1):
            index[:now] = scopes.cell_start[scope]
            for j in range(scopes.start[scope], scopes.start[scope + 1]):
                column, stride = codes[scopes.columns[j]], scopes.strides[j]
                for i in range(now):
                    index[i] += stride * np.int64(column[first + i])
            if weights.size:
                for i in range(now):
                    cells[index[i]] += weights[first + i]
            else:
                for i in range(now):
                    cells[index[i]] += 1
