"""Rewards of arms, drawn from their exact laws: the k-th pull of an arm is the k-th of its own stream.

Whatever batches the pulls come in, and whatever other arms are pulled between them, an arm yields the same rewards, so
a course that is run at once and `play` see one world, and policies that are compared on one key share their luck.

A reward of two levels is drawn 64 at a time, by comparing random words with the bits of its probability, most
significant first; one of more levels takes a word a pull.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo.kernels.compiling import compiled, popcount
from whichdo.kernels.random import REWARDS, keyed_stream, step

if TYPE_CHECKING:
    from whichdo.arrays import IntArray, WordArray


ONE = 1 << 63


class RewardStreams(NamedTuple):
    """The streams of all arms of one world.

    ``bounds`` has a row for each arm: the cumulative probabilities of its levels but the last, as integers of which
    2^63 is one.  ``states`` are the generators, seeded when an arm is first pulled (counter 0 until then); ``bits`` and
    ``left`` are the rewards of two levels that are drawn and not yet used, and their number.
    """

    bounds: WordArray
    key: WordArray
    states: WordArray
    bits: WordArray
    left: IntArray


def reward_streams(bounds: WordArray, key: WordArray) -> RewardStreams:
    """The streams of a world that nobody has pulled yet."""
    arms = bounds.shape[0]
    return RewardStreams(
        bounds, key, np.zeros((arms, 4), np.uint64), np.zeros(arms, np.uint64), np.zeros(arms, np.int64)
    )


@compiled
def _coins(bound: np.uint64, states: WordArray, arm: int) -> np.uint64:
    """64 rewards of two levels at once: a bit is 0 with the probability that ``bound`` says."""
    if bound >= np.uint64(ONE):
        return np.uint64(0)
    less, tied = np.uint64(0), np.uint64(0xFFFFFFFFFFFFFFFF)
    rest = bound << np.uint64(1)
    while tied != np.uint64(0) and rest != np.uint64(0):
        word = step(states, arm)
        if rest >> np.uint64(63):
            less |= tied & ~word
            tied &= word
        else:
            tied &= ~word
        rest <<= np.uint64(1)
    return ~less


@compiled
def _level(bounds: WordArray, states: WordArray, arm: int) -> int:
    number = step(states, arm) >> np.uint64(1)
    level = 0
    for j in range(bounds.shape[1]):
        level += number >= bounds[arm, j]
    return level


@compiled
def pull_all(streams: RewardStreams, arms: IntArray, counts: IntArray, levels: IntArray) -> None:
    """Pull ``arms[j]`` the next ``counts[j]`` times and add what came to its row of ``levels``."""
    bounds, key, states, kept, unused = streams
    for j in range(arms.size):
        arm, owed = np.uint64(arms[j]), counts[j]  # unsigned: no index is checked for being negative
        if owed == 0:
            continue
        if states[arm, 3] == np.uint64(0):
            keyed_stream(key, arms[j], REWARDS, states)
        if bounds.shape[1] != 1:
            for _ in range(owed):
                levels[arm, _level(bounds, states, arms[j])] += 1
            continue
        ones, bits, left = np.int64(0), kept[arm], unused[arm]
        while owed >= left:
            ones += np.int64(popcount(bits))
            owed -= left
            bits, left = np.uint64(0), np.int64(0)
            if owed == 0:
                break
            bits, left = _coins(bounds[arm, 0], states, arms[j]), np.int64(64)
        if owed > 0:
            ones += np.int64(popcount(bits & ((np.uint64(1) << np.uint64(owed)) - np.uint64(1))))
            bits >>= np.uint64(owed)
            left -= owed
        kept[arm], unused[arm] = bits, left
        levels[arm, 1] += ones
        levels[arm, 0] += counts[j] - ones


@compiled
def pull_one(streams: RewardStreams, arm: int) -> int:
    """The level of the reward of the next pull of an arm."""
    states = streams.states
    if states[arm, 3] == np.uint64(0):
        keyed_stream(streams.key, arm, REWARDS, states)
    if streams.bounds.shape[1] != 1:
        return _level(streams.bounds, states, arm)
    if streams.left[arm] == 0:
        streams.bits[arm] = _coins(streams.bounds[arm, 0], states, arm)
        streams.left[arm] = 64
    level = np.int64(streams.bits[arm] & np.uint64(1))
    streams.bits[arm] >>= np.uint64(1)
    streams.left[arm] -= 1
    return level  # type: ignore[return-value]
