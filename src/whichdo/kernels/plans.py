"""The flat arrays that the kernels work on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from whichdo.arrays import CodeArray, IntArray, WordArray


BLOCK = 4096  # samples drawn at a time: 64 words a node, so that the buffers of a 100-node network stay in L2


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


class CodePlan(NamedTuple):
    """How to draw a network of any domains, as codes 0, 1, 2, ...

    ``bounds`` are the cumulative probabilities of each row as 63-bit integers, ``widths`` of them a row (one fewer than
    values), 2^63 being one; ``strides`` turn the codes of the inputs into the number of a row.
    """

    nodes: int
    targets: IntArray
    forced: IntArray
    input_start: IntArray
    inputs: IntArray
    strides: IntArray
    widths: IntArray
    bound_start: IntArray
    bounds: WordArray
