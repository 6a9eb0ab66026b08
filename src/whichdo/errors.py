"""Everything whichdo raises on purpose, in one tree.

::

    WhichdoError
    ├── UsageError            the call itself is wrong                          exit code 2
    └── InputError            a file or a value is wrong                        exit code 3
        ├── GraphError        a graph that is no causal graph (a cycle, a self-loop, an unknown node)
        │   └── GraphSyntaxError   text that is in none of the formats, with line and column
        ├── ProblemError      a reward, an arm, a domain or a cost that does not fit the graph
        ├── NetworkError      mechanisms that do not make a network
        ├── NotIdentifiable   an effect that no amount of looking reveals
        └── TooLarge          over a limit, with the number that was found

A message says what is wrong, where, what was found, and what to do.  The command line prints it and exits
with the code above; it never shows a traceback unless ``--debug`` asks for one.
"""

from __future__ import annotations

from difflib import get_close_matches
from heapq import nlargest
from itertools import takewhile
from typing import TYPE_CHECKING, ClassVar, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "GraphError",
    "GraphSyntaxError",
    "InputError",
    "NetworkError",
    "NotIdentifiable",
    "Place",
    "ProblemError",
    "TooLarge",
    "UsageError",
    "WhichdoError",
    "nearest",
    "quoted",
]


# A hint is not worth waiting for: only so many names, of about the same length, are compared.
HINT_NAMES = 500
HINT_LENGTH = 8
HINT_LETTERS = 200


class Place(NamedTuple):
    """A position in a text: lines and columns count from 1."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


class WhichdoError(Exception):
    """The root of the tree; ``exit_code`` is what the command line answers."""

    exit_code: ClassVar[int] = 1


class UsageError(WhichdoError):
    """The call asks for something that does not exist or does not go together."""

    exit_code = 2


class InputError(WhichdoError):
    """A file or a value that cannot be used.  Nothing was changed."""

    exit_code = 3


class GraphError(InputError):
    """Nodes and edges that do not make a causal graph."""


class GraphSyntaxError(GraphError):
    """Text that cannot be read as a graph, with the place where reading stopped."""

    def __init__(self, message: str, place: Place | None = None) -> None:
        super().__init__(message)
        self.place = place

    def within(self, source: str) -> GraphSyntaxError:
        """The same error, its message beginning with the name of the file."""
        message = str(self)
        if not message.startswith(source):
            self.args = (f"{source}{', ' if message.startswith('line ') else ': '}{message}",)
        return self


class ProblemError(InputError):
    """A problem whose reward, arms, domains or costs do not fit its graph."""


class NetworkError(InputError):
    """Mechanisms that do not make a network: rows that do not sum to one, unknown inputs, wrong shapes."""


class NotIdentifiable(InputError):  # noqa: N818 - it names a fact about a graph, not a fault
    """The effect of an arm cannot be learned by looking, whatever the number of looks."""


class TooLarge(InputError):  # noqa: N818 - as above
    """A limit was passed.  The message holds the number that was found and the way out."""


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint such as ``' Did you mean "Price" or "Prize"?'``, or nothing when no known name is close."""
    close = get_close_matches(name, _likely(name, list(known)), n=3, cutoff=0.6) if len(name) < 300 else []
    if not close:
        return ""
    return f" Did you mean {' or '.join(quoted(found) for found in close)}?"


def quoted(name: object) -> str:
    """A user's text inside double quotes: cut where it would flood the message, escaped where it would not be seen."""
    text = str(name)
    if len(text) > 60:
        text = text[:57] + "..."
    if not text.isprintable():
        text = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
    return '"' + text.replace('"', '\\"') + '"'


def _likely(name: str, known: list[str], most: int = 1_000) -> list[str]:
    """Of very many names those that begin and end most like ``name``; comparing with all takes seconds."""
    if len(known) <= most:
        return known

    def shared(other: str) -> int:
        pairs = (zip(name, other, strict=False), zip(reversed(name), reversed(other), strict=False))
        return sum(1 for pair in pairs for _ in takewhile(lambda letters: letters[0] == letters[1], pair))

    return nlargest(most, known, key=shared)
