"""The values that a column proposes for its node: as found, cut into bins, or with the rare ones put together.

Cut points are those that people would choose: quantiles, rounded as far as the shares of the intervals allow.  A third
of all people may be under 34.7 years old; nobody cuts there.  Any cut whose share is close to the wanted one serves as
well, so the roundest of these is taken: 35.  A value that very many rows share, such as no earnings at all, gets a
separate interval at the lower end.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from math import ceil, floor, isfinite, log10
from typing import TYPE_CHECKING

import numpy as np

from whichdo.domains import BINARY, Bins, Value, bins
from whichdo.proposing.columns import Column, Kind
from whichdo.text import listed, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.arrays import FloatArray


FEW_NUMBERS = 8
"""Up to this many different numbers are values as they are; more are cut into bins."""
MOST_WORDS = 12
"""Up to this many different strings become values; of more the rarest are put together."""
RARE, FEWEST_ROWS = 0.01, 5
"""A text in a smaller share of the rows, or in fewer rows, is rare."""
OTHER = ("other", "all other", "other values")
TRUTHS = (("no", "yes"), ("false", "true"), ("n", "y"), ("f", "t"), ("off", "on"))
"""Pairs of words of which the second is the good one."""


@dataclass(frozen=True)
class Values:
    """What is proposed for one node, and why, in words."""

    domain: tuple[Value, ...] | Bins
    groups: dict[Value, tuple[Value, ...]] = field(default_factory=dict)
    words: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """How many values the node has."""
        return len(self.domain.values if isinstance(self.domain, Bins) else self.domain)


def plain_number(value: float) -> int | float:
    """A number without a fraction as a whole one."""
    return int(value) if float(value).is_integer() else float(value)


def truth_of(texts: Sequence[str]) -> tuple[str, str] | None:
    """Two strings as no and yes, in this order, whatever their case; None for any other pair."""
    by_word = {text.strip().lower(): text for text in texts}
    for no, yes in TRUTHS:
        if by_word.keys() == {no, yes} and len(texts) == 2:
            return by_word[no], by_word[yes]
    return None


def values_of(column: Column, intervals: int) -> Values:
    """The values of a node that is not the reward; numbers are cut into about ``intervals`` bins."""
    if column.kind is Kind.TRUTH:
        return Values(BINARY, words=("true and false",))
    if column.kind is Kind.NUMBERS:
        return _of_numbers(column, intervals)
    return _of_texts(column)


def _of_numbers(column: Column, intervals: int) -> Values:
    levels = column.levels
    if levels is not None and len(levels) <= FEW_NUMBERS:
        domain = tuple(plain_number(value) for value in sorted(levels))
        if set(domain) <= {0, 1}:
            always = f"always {domain[0]}" if len(domain) == 1 else "0 and 1"
            return Values(BINARY, words=(always,))
        return Values(domain, words=(f"always {domain[0]}" if len(domain) == 1 else _shares(column),))
    cuts = nice_cuts(column.numbers, intervals, whole=column.whole)
    if not cuts:  # nearly all at one end
        cuts = (plain_number(float(np.median(column.numbers[column.numbers > column.low]))),)
    cut = bins(cuts)
    counts = np.diff([0, *np.searchsorted(column.numbers, cuts, "left").tolist(), len(column.numbers)])
    shares = ", ".join(f"{count / len(column.numbers):.0%}" for count in counts)
    middle = plain_number(float(np.median(column.numbers)))
    low, high = plain_number(column.low), plain_number(column.high)
    return Values(cut, words=(f"{low:g} to {high:g}, median {middle:g}; the bins hold {shares}",))


def _shares(column: Column) -> str:
    levels: Counter[float] = column.levels or Counter()
    return ", ".join(f"{plain_number(value):g} {count / column.count:.0%}" for value, count in sorted(levels.items()))


def _of_texts(column: Column) -> Values:
    words: list[str] = []
    spellings = _spellings(column)
    counts = _counts(column, spellings)
    groups: dict[Value, tuple[Value, ...]] = {
        kept: tuple(each for each in alike if each != kept) for kept, alike in spellings.items() if alike != [kept]
    }
    if groups:
        words.append(f"spellings put together: {listed(map(quoted, groups))}")
    total = counts.total()
    ordered = [text for text, _ in counts.most_common()]
    rare = _rare(counts)
    if rare:
        name = next(each for each in OTHER if each not in counts or each in rare)
        members = [member for text in rare for member in spellings[text] if member != name]
        kept = [text for text in ordered if text not in rare]
        groups = {value: each for value, each in groups.items() if value in kept}
        groups[name] = _plain(column, sorted(members))
        share = sum(counts[text] for text in rare) / total
        words.append(f"{len(rare)} rare values ({share:.1%} of the rows) put together as {quoted(name)}")
        return Values((*_plain(column, _in_order(column, kept)), name), groups, tuple(words))
    domain = _in_order(column, ordered)
    shares = ", ".join(f"{text} {counts[text] / total:.0%}" for text in domain)
    return Values(_plain(column, domain), groups, (*words, f"always {domain[0]}" if len(domain) == 1 else shares))


def _plain(column: Column, texts: Sequence[str]) -> tuple[Value, ...]:
    """Strings as values; those that are numbers as numbers, however they are spelt."""
    return tuple(column.numerals.get(text, text) for text in texts)


def _rare(counts: Counter[str]) -> list[str]:
    """The strings to put together: in too few rows, or with too many others before them."""
    ordered = [text for text, _ in counts.most_common()]
    few = max(FEWEST_ROWS, RARE * counts.total())
    rare = [text for number, text in enumerate(ordered) if counts[text] < few or number >= MOST_WORDS - 1]
    return rare if len(ordered) > 2 and len(rare) > 1 else []


def is_scattered(column: Column) -> bool:
    """Whether more than half of the rows of a column of words would have to be put together."""
    if column.kind is not Kind.TEXTS:
        return False
    counts = _counts(column, _spellings(column))
    return len(counts) > MOST_WORDS and sum(counts[text] for text in _rare(counts)) > 0.5 * counts.total()


def _counts(column: Column, spellings: dict[str, list[str]]) -> Counter[str]:
    return Counter({kept: sum(column.texts[each] for each in alike) for kept, alike in spellings.items()})


def _spellings(column: Column) -> dict[str, list[str]]:
    """Strings that differ in capitals or blanks only, by their most frequent spelling, blanks around it aside."""
    if column.order is not None:
        return {text: [text] for text in column.texts}
    alike: dict[str, list[str]] = {}
    for text in column.texts:
        alike.setdefault(" ".join(text.split()).casefold(), []).append(text)
    found = {}
    for each in alike.values():
        often: Counter[str] = Counter()
        for text in each:
            often[text.strip()] += column.texts[text]
        found[max(often, key=lambda text: (often[text], text))] = sorted(each)
    return found


def _in_order(column: Column, texts: Sequence[str]) -> list[str]:
    """Categories in their own order, no before yes, else as a person would sort them."""
    if column.order is not None:
        return [text for text in column.order if text in texts]
    truth = truth_of(texts)
    return list(truth) if truth is not None else sorted(texts, key=_natural)


def _natural(text: str) -> list[tuple[int, float, str]]:
    parts = re.split(r"(\d+)", text.casefold())
    return [(0, float(part), "") if part.isdigit() else (1, 0.0, part) for part in parts if part]


# ----------------------------------------------------------------------------------------------------------------- cuts

STEPS = (1.0, 0.5, 0.2)
"""Steps between round numbers, as shares of a power of ten, roundest first."""
SLACK = 1 / 16
"""The share of the rows by which a cut may move to become round, either way."""
THIN = 0.4
"""An interval with less than this part of an equal share is joined to its neighbour."""
MARGIN = 0.1
"""By how much of its width a range may grow at either end to become round."""


def roundest(low: float, high: float, near: float, *, whole: bool = False) -> float:
    """The roundest number above ``low``, up to ``high``; of equally round ones the nearest to ``near``.

    >>> roundest(32.1, 36.9, 34.7), roundest(3_204.0, 4_100.0, 3_500.0), roundest(0.031, 0.052, 0.04)
    (35, 4000, 0.05)
    """
    size = max(abs(low), abs(high), high - low)
    top = floor(log10(size)) + 1 if size > 0 else 0
    for power in range(min(top, 307), max(top - 18, -300), -1):  # as far as floating-point numbers go
        for share in STEPS:
            step = share * 10.0**power
            if whole and (step < 1 or step % 1):
                continue
            first, last = floor(low / step) + 1, floor(high / step)
            if first <= last:
                multiple = min(max(round(near / step), first), last)
                return _as_written(multiple, share, power)
    return int(high) if float(high).is_integer() else float(high)


def _as_written(multiple: int, share: float, power: int) -> float:
    """``multiple * share * 10 ** power`` without the noise of binary fractions, whole where it is."""
    hundredths = multiple * round(share * 100)
    value = float(f"{hundredths}e{power - 2}")
    return int(value) if value.is_integer() else value


def nice_cuts(values: FloatArray, intervals: int, *, whole: bool = False) -> tuple[float, ...]:
    """Round cuts that divide sorted ``values`` into about ``intervals`` parts of equal size; () where none does."""
    least, most = float(values[0]), float(values[-1])
    spike = int(np.searchsorted(values, least, "right"))
    if intervals < 2 or spike == len(values):
        return ()
    everything, parts = values, intervals
    cuts: list[float] = []
    if spike / len(values) > 1 / intervals:
        after = float(values[spike])
        cuts.append(_above(least, after, whole=whole))
        values, intervals = values[spike:], intervals - 1
    places = len(values) - 1
    for number in range(1, intervals):
        wanted = number / intervals
        low, near, high = (
            float(values[round(max(0.0, min(1.0, share)) * places)])
            for share in (wanted - SLACK, wanted, wanted + SLACK)
        )
        cut = roundest(low, high, near, whole=whole) if low < high else near
        cut = int(cut) if float(cut).is_integer() else cut
        if cut > least and cut <= most and (not cuts or cut > cuts[-1]):
            cuts.append(cut)
    return _without_thin(everything, cuts, THIN / parts)


def _without_thin(values: FloatArray, cuts: list[float], least: float) -> tuple[float, ...]:
    """The cuts that are left when intervals with too small a share are joined to the smaller of their neighbours."""
    while cuts:
        shares = np.diff([0, *np.searchsorted(values, cuts, "left").tolist(), len(values)]) / len(values)
        thin = int(np.argmin(shares))
        if shares[thin] >= least:
            break
        at_left = thin == len(cuts) or (thin > 0 and shares[thin - 1] <= shares[thin + 1])
        del cuts[thin - 1 if at_left else thin]
    return tuple(cuts)


def _above(least: float, after: float, *, whole: bool) -> float:
    """A round number between a value and the next, which belongs above."""
    if least == 0 and not whole:
        power = floor(log10(after))
        return 10**power if power >= 0 else float(f"1e{power}")
    return roundest(least, after, after, whole=whole)


def nice_range(low: float, high: float) -> tuple[float, float]:
    """A round range that holds all from ``low`` to ``high``; it begins or ends at 0 where that is near.

    >>> nice_range(0.0, 60_307.93), nice_range(-41.28, 48.54), nice_range(0.2, 0.9)
    ((0, 65000), (-50, 50), (0, 1))
    """
    reach = high - low
    below = roundest_down(low, low - MARGIN * reach)
    above = -roundest_down(-high, -high - MARGIN * reach)
    if 0 <= low <= 0.1 * high:
        below = 0
    if 0.1 * low <= high <= 0:
        above = 0
    if low >= 0 and 0.5 <= high <= 1:
        below, above = 0, 1
    return below, above


def roundest_down(high: float, low: float) -> float:
    """The roundest number from ``low`` to ``high``."""
    if not isfinite(high - low) or low >= high:
        return floor(high)
    found = roundest(low, high, high)
    return found if found <= high else ceil(low)
