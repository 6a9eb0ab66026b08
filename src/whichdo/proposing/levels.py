"""The values that a column proposes for its node: as found, cut into bins, or with the rare ones put together."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from whichdo.domains import BINARY, Bins, Value, bins
from whichdo.proposing.columns import Column, Kind
from whichdo.proposing.cuts import nice_cuts
from whichdo.text import listed, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["FEW_NUMBERS", "Values", "is_scattered", "plain_number", "truth_of", "values_of"]

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
