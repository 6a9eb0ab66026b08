"""Random words: sfc64, many generators side by side.

sfc64 (Doty-Humphrey 2010; numpy ships it too) needs additions, shifts and XORs only, so that one loop over as many
generators as a block has words compiles to vector instructions.  One more generator yields single words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whichdo.kernels.compiling import compiled

if TYPE_CHECKING:
    from whichdo.kernels.compiling import U64Array

__all__ = ["STREAMS", "fill", "next_word", "seed_streams"]

STREAMS = 64  # generators side by side: as many as a block has words
WARM_UP = 12  # outputs thrown away after seeding, as the author advises


def seed_streams(sequence: np.random.SeedSequence) -> U64Array:
    """The state of all generators: rows a, b, c and counter; the last column is the one for single words.

    The generators side by side share the counter in ``state[3, 0]``.
    """
    state = np.ones((4, STREAMS + 1), np.uint64)
    state[:3] = sequence.generate_state(3 * (STREAMS + 1), np.uint64).reshape(3, STREAMS + 1)
    out = np.empty(STREAMS, np.uint64)
    for _ in range(WARM_UP):
        fill(state, out, STREAMS)
        next_word(state)
    return state


@compiled
def fill(state: U64Array, out: U64Array, count: int) -> None:
    """Put a random word into each of the first ``count`` places of ``out``, at most STREAMS."""
    a, b, c = state[0], state[1], state[2]
    counter = state[3, 0]
    for w in range(count):
        word = a[w] + b[w] + counter
        a[w] = b[w] ^ (b[w] >> np.uint64(11))
        b[w] = c[w] + (c[w] << np.uint64(3))
        c[w] = ((c[w] << np.uint64(24)) | (c[w] >> np.uint64(40))) + word
        out[w] = word
    state[3, 0] = counter + np.uint64(1)


@compiled
def next_word(state: U64Array) -> np.uint64:
    """One random word."""
    a, b, c, counter = state[0, STREAMS], state[1, STREAMS], state[2, STREAMS], state[3, STREAMS]
    word: np.uint64 = a + b + counter
    state[0, STREAMS] = b ^ (b >> np.uint64(11))
    state[1, STREAMS] = c + (c << np.uint64(3))
    state[2, STREAMS] = ((c << np.uint64(24)) | (c >> np.uint64(40))) + word
    state[3, STREAMS] = counter + np.uint64(1)
    return word
