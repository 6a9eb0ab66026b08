"""The scale of the forest plot: round ticks inside it, and ends that lie beyond it are arrows."""

from __future__ import annotations

import re
from math import log10

import numpy as np
import pytest

from whichdo.report.arm_pictures import DIRECT, LOOKING, ROOM, Interval, Scale, round_numbers, tick_text, track


@pytest.mark.parametrize("seed", range(20))
def test_ticks_are_a_few_round_numbers_inside(seed: int) -> None:
    rng = np.random.default_rng(seed)
    low = float(rng.uniform(-1, 1))
    high = low + float(10 ** rng.uniform(-4, 3))
    ticks = round_numbers(low, high)
    assert 2 <= len(ticks) <= 7
    assert low - 1e-9 <= ticks[0] < ticks[-1] <= high + 1e-9 * abs(high)
    step = ticks[1] - ticks[0]
    assert 10 ** (log10(step) % 1) == pytest.approx(
        min((1, 2, 5, 10), key=lambda unit: abs(10 ** (log10(step) % 1) - unit))
    )
    assert len({tick_text(tick, ticks) for tick in ticks}) == len(ticks)


def test_a_scale_holds_its_intervals_and_no_more_than_the_reward_can_be() -> None:
    """From .2 to .6 with a quarter more: .1 to .7; and never above 1 or below 0."""
    found = Scale.around([Interval(0.3, 0.2, 0.4), Interval(0.5, 0.4, 0.6)], 0, 1, 0.25)
    assert (found.low, found.high) == pytest.approx((0.1, 0.7))
    assert Scale.around([Interval(0.5, 0.1, 0.9)], 0, 1, 0.25) == Scale(0, 1)
    assert Scale.around([], 0, 1) == Scale.around([Interval(0.5, 0.5, 0.5)], 0, 1) == Scale(0, 1)
    assert (found.place(0.1), found.place(0.4), found.place(9)) == pytest.approx((ROOM, 50, 100 - ROOM))


def test_an_end_beyond_the_scale_is_an_arrow() -> None:
    scale = Scale(0.2, 0.4)
    inside = track(scale, [(DIRECT, Interval(0.3, 0.25, 0.35))], None)
    assert inside.count("M-1,-4H1V4H-1Z") == 2
    beyond = track(scale, [(DIRECT, Interval(0.5, 0.1, 0.9))], None)
    assert ("M-9,0L" in beyond, "M9,0L" in beyond, "M-1,-4" in beyond) == (True, True, False)
    assert "L0,-5L5,0" not in beyond  # nor is a mean shown where it is not
    places = [float(place) for place in re.findall(r'x[12]="([0-9.]+)%"', beyond)]
    assert min(places) == ROOM
    assert max(places) == 100 - ROOM


def test_kinds_run_in_lanes_of_their_own() -> None:
    both = track(Scale(0, 1), [(LOOKING, Interval(0.5, 0.4, 0.6)), (DIRECT, Interval(0.5, 0.3, 0.7))], 0.45)
    assert len(set(re.findall(r'<svg x="50%" y="(\d+)"', both))) == 2
    assert 'stroke-dasharray="4 3"' in both
