"""Each kernel against a plain twin on random input, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from whichdo.kernels import binary
from whichdo.kernels.compiling import bound, compiled, popcount, trailing_zeros
from whichdo.kernels.random import STREAMS, beta, fill, generator, keyed_streams, next_word, seed_streams
from whichdo.kernels.rewards import pull_all, pull_one, reward_streams
from whichdo.tables import Places
from whichdo.world.sampling_plans import reward_bounds

MASK = (1 << 64) - 1
U64 = np.ndarray[Any, np.dtype[np.uint64]]


class Sfc64:
    """sfc64 in plain integers."""

    def __init__(self, a: int, b: int, c: int) -> None:
        self.a, self.b, self.c, self.counter = a, b, c, 1

    def next(self) -> int:
        word = (self.a + self.b + self.counter) & MASK
        self.counter += 1
        self.a = self.b ^ self.b >> 11
        self.b = self.c + (self.c << 3) & MASK
        self.c = ((self.c << 24 | self.c >> 40) + word) & MASK
        return word


def generators(seed: int) -> tuple[U64, list[Sfc64]]:
    """The kernels' state and plain twins of all its generators, warmed up alike."""
    sequence = np.random.SeedSequence(seed)
    words = sequence.generate_state(3 * (STREAMS + 1), np.uint64).reshape(3, STREAMS + 1)
    twins = [Sfc64(*map(int, words[:, k])) for k in range(STREAMS + 1)]
    for twin in twins:
        for _ in range(12):
            twin.next()
    return seed_streams(sequence), twins


def test_random_words_are_sfc64() -> None:
    """Narrow fills advance the shared counter too; the twins skip it alike."""
    state, twins = generators(1)
    out = np.empty(STREAMS, np.uint64)
    for width in (64, 5, 64, 1):
        fill(state, out, width)
        assert out[:width].tolist() == [twin.next() for twin in twins[:width]]
        for twin in twins[width:STREAMS]:
            twin.counter += 1
    assert int(next_word(state)) == twins[-1].next()


def test_numpy_agrees_on_sfc64() -> None:
    """Numpy seeds its generator by the same three words and throws twelve outputs away."""
    generator = np.random.SFC64(0)
    a, b, c, counter = (int(word) for word in generator.state["state"]["state"])
    twin = Sfc64(a, b, c)
    twin.counter = counter
    assert [twin.next() for _ in range(20)] == generator.random_raw(20).tolist()


@pytest.mark.parametrize("inputs", [0, 1, 2, 3, 6])
@pytest.mark.parametrize("depth", [1, 5, 9])
def test_levels_and_finish_compare_each_sample_with_its_own_threshold(inputs: int, depth: int) -> None:
    """The first ``depth`` bits come from shared words, the rest, where those tie, from one word of the sample's own."""
    rng = np.random.default_rng(inputs * 10 + depth)
    rows, width = 1 << inputs, 8
    thresholds = rng.integers(0, 1 << 64, rows, dtype=np.uint64)
    words = rng.integers(0, 1 << 64, (inputs, width), dtype=np.uint64)
    masks = np.empty((64, width), np.uint64)
    binary._masks(np.arange(inputs), words, width, masks)
    scratch = np.empty((4, width), np.uint64)
    mine, twins = generators(7)
    binary._levels(mine, thresholds, depth, masks, scratch, width)
    binary._finish(mine, thresholds, depth, masks, scratch, width)
    out = scratch[0]

    levels = [[twins[w].next() for w in range(width)] for _ in range(depth)]
    for w in range(width):
        for lane in range(64):
            row = 0
            for j in range(inputs):
                row = 2 * row + (int(words[j, w]) >> lane & 1)
            prefix = 0
            for level in levels:
                prefix = 2 * prefix + (level[w] >> lane & 1)
            bound = int(thresholds[row])
            if prefix == bound >> (64 - depth):
                expected = twins[-1].next() < (bound << depth) & MASK
            else:
                expected = prefix < bound >> (64 - depth)
            assert bool(int(out[w]) >> lane & 1) == expected


def test_masks_say_which_samples_have_which_inputs() -> None:
    rng = np.random.default_rng(3)
    words = rng.integers(0, 1 << 64, (3, 8), dtype=np.uint64)
    masks = np.empty((64, 8), np.uint64)
    binary._masks(np.array([2, 0, 1]), words, 8, masks)
    for row in range(8):
        for w in range(8):
            for lane in range(64):
                values = [int(words[j, w]) >> lane & 1 for j in (2, 0, 1)]
                assert (int(masks[row, w]) >> lane & 1) == (values == [row >> 2 & 1, row >> 1 & 1, row & 1])


@pytest.mark.parametrize("columns", [1, 2, 4, 8, 9])
@pytest.mark.parametrize("samples", [1, 63, 64, 500])
def test_counting_words_equals_counting_rows(columns: int, samples: int) -> None:
    rng = np.random.default_rng(columns)
    words = rng.integers(0, 1 << 64, (10, 8), dtype=np.uint64)
    scope = rng.permutation(10)[:columns].astype(np.int64)
    scopes = Places(np.array([0, columns]), scope, np.zeros(columns, np.int64), np.array([0, 1 << columns]))
    counts = np.zeros(1 << columns, np.int64)
    binary._clear_tail(words, 8, samples)
    binary._count_block(words, 8, samples, scopes, counts, np.empty((256, 8), np.uint64))
    binary._cells_from_subsets(scopes, counts)
    bits = np.array([[int(words[j, i // 64]) >> (i % 64) & 1 for j in scope] for i in range(samples)])
    expected = np.zeros(1 << columns, np.int64)
    for row in bits:
        expected[int("".join(map(str, row)), 2)] += 1
    assert counts.tolist() == expected.tolist()


def test_popcount_and_trailing_zeros() -> None:
    @compiled
    def both(word: np.uint64) -> tuple[int, int]:
        return popcount(word), trailing_zeros(word)

    for word in [1, 2, 3, 0x8000000000000000, 0xFFFFFFFFFFFFFFFF, 0x0123456789ABCDE0]:
        assert both(np.uint64(word)) == (word.bit_count(), (word & -word).bit_length() - 1)


def streams_of(*laws: list[float], seed: int = 1) -> Any:
    return reward_streams(reward_bounds(np.array(laws)), np.array([seed, 5], np.uint64))


def test_the_kth_pull_of_an_arm_is_the_same_whatever_the_batches() -> None:
    """Single pulls, split batches and one batch see one stream; other arms do not disturb it."""
    laws = ([0.3, 0.7], [0.5, 0.5], [1.0, 0.0], [0.0, 1.0], [0.123, 0.877])
    one_by_one, split, whole = streams_of(*laws), streams_of(*laws), streams_of(*laws)
    rng = np.random.default_rng(2)
    for arm in range(len(laws)):
        single = np.bincount([pull_one(one_by_one, arm) for _ in range(500)], minlength=2)
        counted, at_once = np.zeros((len(laws), 2), np.int64), np.zeros((len(laws), 2), np.int64)
        left = 500
        while left:
            now = min(left, int(rng.integers(0, 100)))
            pull_all(split, np.array([arm]), np.array([now]), counted)
            left -= now
        pull_all(whole, np.array([arm]), np.array([500]), at_once)
        assert counted[arm].tolist() == at_once[arm].tolist() == single.tolist()


def test_rewards_have_their_exact_laws() -> None:
    """Chi-square below its 1e-6 quantile for 1, 2 and 3 degrees of freedom; sure levels are sure."""
    laws = [[0.3, 0.7], [0.5, 0.5], [2**-12, 1 - 2**-12]]
    more = [[0.2, 0.3, 0.5, 0.0], [0.0, 0.25, 0.0, 0.75], [0.1, 0.2, 0.3, 0.4]]
    for given in (laws, more):
        levels = np.zeros((3, len(given[0])), np.int64)
        pull_all(streams_of(*given, seed=9), np.arange(3), np.full(3, 200_000), levels)
        expected = 200_000 * np.array(given)
        assert (levels[expected == 0] == 0).all()
        squares = np.divide((levels - expected) ** 2, expected, out=np.zeros_like(expected), where=expected > 0)
        assert (squares.sum(axis=1) < 31).all()


def test_streams_of_arms_purposes_and_keys_are_unlike() -> None:
    words = set()
    for key in ((1, 2), (2, 1), (1, 3)):
        for arm in range(40):
            for purpose in range(3):
                words.add(int(next_word(keyed_streams(np.array(key, np.uint64), arm, purpose))))
    assert len(words) == 3 * 40 * 3


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (1.0, 5.0), (3.5, 1.2), (200.0, 300.0)])
def test_beta_draws_have_their_law(a: float, b: float) -> None:
    """Two-sample Kolmogorov-Smirnov against numpy, 20,000 draws each; 2.7 is exceeded once in a million."""
    states = generator(np.random.default_rng(1))
    ours = np.sort([beta(a, b, states) for _ in range(20_000)])
    theirs = np.sort(np.random.default_rng(2).beta(a, b, 20_000))
    apart = np.abs(np.searchsorted(ours, theirs, side="right") - np.arange(1, 20_001)).max() / 20_000
    assert apart * np.sqrt(10_000) < 2.7
    shifted = np.abs(np.searchsorted(ours * 0.85, theirs, side="right") - np.arange(1, 20_001)).max() / 20_000
    assert shifted * np.sqrt(10_000) > 2.7  # a draw that is fifteen percent too small is seen


def test_bound_code_does_what_the_function_does() -> None:
    states, again = (generator(np.random.default_rng(1)) for _ in range(2))
    assert bound(beta, 1.0, 5.0, states)(2.0, 3.0, again) == beta(2.0, 3.0, states)
    assert (again == states).all()


def test_a_plain_function_is_bound_to_nothing() -> None:
    """Policies in plain Python are driven as compiled ones are."""
    assert bound(len, [1]) is len
