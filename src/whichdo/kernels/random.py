"""Random words and numbers: sfc64, many generators side by side.

sfc64 (Doty-Humphrey 2010; numpy ships it too) needs additions, shifts and XORs only, so that one loop over as many
generators as a block has words compiles to vector instructions.  One more generator yields single words.

A world has one stream for each arm and purpose.  All follow from its key of 128 bits by SplitMix64 (Steele, Lea and
Flood 2014), so that a stream costs nothing before it is first used, in compiled code or outside it.

Policies that decide by chance draw uniform, normal, gamma and beta numbers from one generator.  It
is part of a policy's explicit state, so a compiled loop and `play` draw the same numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.kernels.compiling import compiled, inlined

if TYPE_CHECKING:
    from whichdo.arrays import WordArray


BLOCK = 4096  # samples drawn at a time: 64 words a node, so that the buffers of a 100-node network stay in L2
STREAMS = 64  # generators side by side: as many as a block has words
WARM_UP = 12  # outputs thrown away after seeding, as the author advises
REWARDS, TABLES, ROWS = 0, 1, 2  # the purposes of an arm's streams
PURPOSES = 3


def seed_streams(sequence: np.random.SeedSequence) -> WordArray:
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


@inlined
def fill(state: WordArray, out: WordArray, count: int) -> None:
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


@inlined
def next_word(state: WordArray) -> np.uint64:
    """One random word."""
    a, b, c, counter = state[0, STREAMS], state[1, STREAMS], state[2, STREAMS], state[3, STREAMS]
    word: np.uint64 = a + b + counter
    state[0, STREAMS] = b ^ (b >> np.uint64(11))
    state[1, STREAMS] = c + (c << np.uint64(3))
    state[2, STREAMS] = ((c << np.uint64(24)) | (c >> np.uint64(40))) + word
    state[3, STREAMS] = counter + np.uint64(1)
    return word


@compiled
def _mixed(word: np.uint64) -> np.uint64:
    """SplitMix64's finisher: every bit of the result depends on every bit of the word."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@compiled
def _start(key: WordArray, arm: int, purpose: int) -> np.uint64:
    """Where the words begin that seed one stream of a world."""
    number = np.uint64(arm * PURPOSES + purpose + 1)
    return _mixed(key[0] ^ _mixed(key[1] + number * np.uint64(0x9E3779B97F4A7C15)))


@compiled
def _seed_word(key: WordArray, start: np.uint64, number: int) -> np.uint64:
    return _mixed(key[1] ^ _mixed(start + np.uint64(number + 1) * np.uint64(0x9E3779B97F4A7C15)))


@compiled
def keyed_streams(key: WordArray, arm: int, purpose: int) -> WordArray:
    """The state of all generators, laid out as by `seed_streams`, for one arm and purpose of a world."""
    start = _start(key, arm, purpose)
    state = np.ones((4, STREAMS + 1), np.uint64)
    for row in range(3):
        for column in range(STREAMS + 1):
            state[row, column] = _seed_word(key, start, row * (STREAMS + 1) + column)
    out = np.empty(STREAMS, np.uint64)
    for _ in range(WARM_UP):
        fill(state, out, STREAMS)
        next_word(state)
    return state


@compiled
def keyed_stream(key: WordArray, arm: int, purpose: int, states: WordArray) -> None:
    """Seed the generator ``states[arm]`` (a, b, c and counter) for one purpose of the world with this key."""
    start = _start(key, arm, purpose)
    for column in range(3):
        states[arm, column] = _seed_word(key, start, column)
    states[arm, 3] = np.uint64(1)
    for _ in range(WARM_UP):
        step(states, arm)


@compiled
def step(states: WordArray, arm: int) -> np.uint64:
    """One random word of the generator ``states[arm]``."""
    b, c, counter = states[arm, 1], states[arm, 2], states[arm, 3]
    word: np.uint64 = states[arm, 0] + b + counter
    states[arm, 0] = b ^ (b >> np.uint64(11))
    states[arm, 1] = c + (c << np.uint64(3))
    states[arm, 2] = ((c << np.uint64(24)) | (c >> np.uint64(40))) + word
    states[arm, 3] = counter + np.uint64(1)
    return word


@compiled
def run_words(base: WordArray, first: int, count: int) -> WordArray:
    """For some runs by number: the two words of its world's key, and the state of a warmed-up sfc64 generator."""
    words = np.empty((count, 6), np.uint64)
    states = np.empty((1, 4), np.uint64)
    for run in range(count):
        number = np.uint64(first + run + 1)
        start = _mixed(base[0] ^ _mixed(base[1] + number * np.uint64(0x9E3779B97F4A7C15)))
        for j in range(5):
            word = _seed_word(base, start, j)
            if j < 2:
                words[run, j] = word
            else:
                states[0, j - 2] = word
        states[0, 3] = np.uint64(1)
        for _ in range(WARM_UP):
            step(states, 0)
        for j in range(4):
            words[run, 2 + j] = states[0, j]
    return words


SCALE = 2.0**-53


def generator(rng: np.random.Generator) -> WordArray:
    """A generator seeded from a policy's own."""
    key = np.asarray(rng.integers(0, 2**64, 2, dtype=np.uint64))
    states: Any = np.zeros((1, 4), np.uint64)
    keyed_stream(key, 0, 0, states)
    return states  # type: ignore[no-any-return]


@compiled
def uniform(states: WordArray) -> float:
    """Between 0 and 1, neither included."""
    return (np.float64(step(states, 0) >> np.uint64(11)) + 0.5) * SCALE


@compiled
def _normals(states: WordArray) -> tuple[float, float]:
    """Two normal draws, by Marsaglia's polar method."""
    while True:
        x, y = 2.0 * uniform(states) - 1.0, 2.0 * uniform(states) - 1.0
        square = x * x + y * y
        if square < 1.0:
            scale = np.sqrt(-2.0 * np.log(square) / square)
            return x * scale, y * scale


@compiled
def _gamma(shape: float, normal: float, states: WordArray) -> float:
    """Marsaglia and Tsang 2000, for shapes of 1 and more; ``normal`` is the first draw to try."""
    d = shape - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * d)
    x = normal
    while True:
        v = 1.0 + c * x
        if v > 0.0:
            v = v * v * v
            u = uniform(states)
            if u < 1.0 - 0.0331 * x * x * x * x or np.log(u) < 0.5 * x * x + d * (1.0 - v + np.log(v)):
                return float(d * v)
        x, _ = _normals(states)


@compiled
def beta(a: float, b: float, states: WordArray) -> float:
    """A beta draw for parameters of 1 and more."""
    first, second = _normals(states)
    x = _gamma(a, first, states)
    return x / (x + _gamma(b, second, states))


@compiled
def gamma(shape: float, states: WordArray) -> float:
    """A gamma draw for any shape; one below 1 is raised by 1 and scaled, as Marsaglia and Tsang say."""
    first, _ = _normals(states)
    if shape >= 1.0:
        return _gamma(shape, first, states)
    return float(_gamma(shape + 1.0, first, states) * uniform(states) ** (1.0 / shape))
