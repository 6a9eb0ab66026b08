"""Text that people read: lists, plurals, numbers, and the names that users chose, quoted."""

from __future__ import annotations

import re
from difflib import get_close_matches
from heapq import nlargest
from itertools import takewhile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def listed(names: Iterable[str], most: int = 6) -> str:
    """``A``, ``A and B``, ``A, B and C``; a long list is cut with the number left out."""
    names = list(names)
    if len(names) > most:
        return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def counted(number: int, thing: str) -> str:
    """A number and what it numbers: ``1 look``, ``2,000 looks``."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def short_number(number: float) -> str:
    """A budget as people write it: whole numbers without a point.

    >>> short_number(1000.0), short_number(2.5)
    ('1,000', '2.5')
    """
    return f"{number:,.0f}" if number == int(number) else f"{number:,}"


def rounded(pulls: int) -> str:
    """A number of pulls as a plan needs it: two digits.

    >>> rounded(157), rounded(31621), rounded(8)
    ('160', '32,000', '8')
    """
    unit = 10 ** max(len(str(max(pulls, 1))) - 2, 0)
    return f"{round(pulls / unit) * unit:,}"


def quoted(name: object) -> str:
    """A user's text inside double quotes: cut where it would flood the message, escaped where it would not be seen."""
    return '"' + visible(_cut(str(name))).replace('"', '\\"') + '"'


def shown(value: object) -> str:
    """A value as Python writes it, cut where it would flood the message."""
    return _cut(repr(value))


def _cut(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def visible(text: object) -> str:
    """A text, such as the name of a file, with codes in place of what a terminal would obey instead of showing."""
    characters = str(text)
    if characters.isprintable():
        return characters
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in characters)


_SECRETS = re.compile(r"(?i)(?<=://)([^/\s:@]*):[^/\s]*@|(?<=[?&])((?:ssl)?password)=[^&\s'\"]*")


def masked(text: str) -> str:
    """A text without the passwords of the addresses in it.

    >>> print(masked("postgresql://me:secret@host/name?sslpassword=x&a=1"))
    postgresql://me:***@host/name?sslpassword=***&a=1
    """
    if "://" not in text:
        return text
    return _SECRETS.sub(lambda found: f"{found[2]}=***" if found[2] else f"{found[1]}:***@", text)


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint such as ``' Did you mean "age" or "wage"?'``, or nothing when no known name is close.

    Capitals do not count in comparing.
    """
    if len(name) >= 300:
        return ""
    spelt: dict[str, list[str]] = {}
    for other in known:
        spelt.setdefault(other.casefold(), []).append(other)
    folded = name.casefold()
    close = get_close_matches(folded, _likely(folded, list(spelt)), n=3, cutoff=0.6)
    found = [other for match in close for other in spelt[match]][:3]
    return f" Did you mean {' or '.join(map(quoted, found))}?" if found else ""


def _likely(name: str, known: list[str], most: int = 1_000) -> list[str]:
    """Of very many names those that begin and end most like ``name``; comparing with all takes seconds."""
    if len(known) <= most:
        return known

    def common(other: str) -> int:
        pairs = (zip(name, other, strict=False), zip(reversed(name), reversed(other), strict=False))
        return sum(1 for pair in pairs for _ in takewhile(lambda both: both[0] == both[1], pair))

    return nlargest(most, known, key=common)
