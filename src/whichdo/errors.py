"""Everything whichdo raises on purpose, in one tree.

::

    WhichdoError
    ├── UsageError            the call itself is wrong                          exit code 2
    ├── WorkerLostError       processes that share work died again and again    exit code 1
    ├── ClusterError          a cluster that cannot be reached, or has another version   exit code 1
    ├── ConflictError         what is on record says otherwise                  exit code 4
    │   └── ReplayDivergedError    a logged ask is not what the same revision of the policy would ask now
    ├── StorageError          a database or folder that cannot be used          exit code 5
    │   ├── NotOursError      it contains something else
    │   ├── DamagedError      its contents are not what was written; names the first bad event
    │   └── TooNewError       a later whichdo wrote it; names both versions
    ├── BusyError             try again later: another process holds the database  exit code 6
    │   └── WaitError         the policy must hear of open tickets first; names them
    └── InputError            a file or a value is wrong                        exit code 3
        ├── GraphError        a graph that is not a causal graph (a cycle, a self-loop, an unknown node)
        │   └── GraphSyntaxError   text that is in none of the formats, with line and column
        ├── ProblemError      a reward, an arm, a domain or a cost that does not fit the graph
        ├── NetworkError      mechanisms that do not make a network
        ├── DataError         a log that cannot be counted: columns, values, a file that is not a table
        ├── UnknownCampaignError   a campaign that does not exist; names the nearest
        ├── UnknownTicketError     a ticket that does not exist; names the one that was meant
        ├── NotIdentifiedError     an effect that the available rows cannot settle; names the hedge
        ├── UnsuitableError   a policy that cannot serve this problem or this budget
        └── TooLargeError     over a limit, with the number that was found

A message says what is wrong, where, what was found, and what to do.  The command line prints it and exits
with the code above; it never shows a traceback unless ``--debug`` asks for one.
"""

from __future__ import annotations

import re
import shlex
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from heapq import nlargest
from itertools import takewhile
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "BusyError",
    "CacheWarning",
    "ConflictError",
    "DamagedError",
    "DataError",
    "GraphError",
    "GraphSyntaxError",
    "InputError",
    "NetworkError",
    "NotIdentifiedError",
    "NotOursError",
    "Place",
    "ProblemError",
    "ReplayDivergedError",
    "StorageError",
    "TooLargeError",
    "TooNewError",
    "UnknownCampaignError",
    "UnknownTicketError",
    "UnsuitableError",
    "UsageError",
    "WaitError",
    "WhichdoError",
    "WorkerLostError",
    "command",
    "counted",
    "is_interrupt",
    "masked",
    "naming_database",
    "nearest",
    "option",
    "quoted",
    "rounded",
    "short_number",
    "speaking_of_commands",
    "spoken",
    "visible",
]


class Place(NamedTuple):
    """A position in a text: lines and columns count from 1."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


class WhichdoError(Exception):
    """The root of the tree; ``exit_code`` is what the command line answers."""

    exit_code: ClassVar[int] = 1


class CacheWarning(UserWarning):
    """Compiled code cannot be kept; results are the same, only later."""


class UsageError(WhichdoError):
    """The call asks for something that does not exist or does not go together."""

    exit_code = 2


class WorkerLostError(WhichdoError):
    """Processes that shared the work died more often than is worth another try; the message says how."""


class ClusterError(WhichdoError):
    """A cluster that cannot be reached, or whose workers cannot give the same results."""


class ConflictError(WhichdoError):
    """What is asked for contradicts what is on record; the message shows both.  Nothing was changed."""

    exit_code = 4


class ReplayDivergedError(ConflictError):
    """A logged ask is not what the policy, run again on the log at the same revision, would ask."""


class StorageError(WhichdoError):
    """A database or a folder that cannot be read or written.  Nothing was half written; work goes on once it can."""

    exit_code = 5


class NotOursError(StorageError):
    """The database holds something else."""


class DamagedError(StorageError):
    """What the database holds is not what was written; ``seq`` is the first bad event, where it is known."""

    def __init__(self, message: str, seq: int | None = None) -> None:
        super().__init__(message)
        self.seq = seq


class TooNewError(StorageError):
    """A later version wrote this; the message names both."""


class BusyError(WhichdoError):
    """Another process holds the database for longer than was waited; try again."""

    exit_code = 6


class WaitError(BusyError):
    """The policy decides on once open tickets are told; ``tickets`` are their ids."""

    def __init__(self, message: str, tickets: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.tickets = tickets


class InputError(WhichdoError):
    """A file or a value that cannot be used.  Nothing was changed."""

    exit_code = 3

    def within(self, source: str) -> Self:
        """The same error, its message beginning with the name of the file it was found in."""
        message, name = str(self), visible(source)
        if not message.startswith(name):
            self.args = (f"{name}{', ' if message.startswith('line ') else ': '}{message}",)
        return self


class GraphError(InputError):
    """Nodes and edges that do not make a causal graph."""


class GraphSyntaxError(GraphError):
    """Text that cannot be read as a graph, with the place where reading stopped."""

    def __init__(self, message: str, place: Place | None = None) -> None:
        super().__init__(message)
        self.place = place


class ProblemError(InputError):
    """A problem whose reward, arms, domains or costs do not fit its graph."""


class NetworkError(InputError):
    """Mechanisms that do not make a network: rows that do not sum to one, unknown inputs, wrong shapes."""


class DataError(InputError):
    """Rows that cannot be counted: a column that is not there, a value outside its domain, a damaged file."""


class NotIdentifiedError(InputError):
    """An effect that two models with the same graph and the same rows may disagree on.

    Attributes
    ----------
    hedge : tuple of two tuples of names
        The witness: hidden causes tie the nodes of the first set together, and within it all of them act on the
        second, a part of it, which they also tie together.
    reason : str
        The same in words, without the way out.
    """

    def __init__(self, reason: str, hedge: tuple[tuple[str, ...], tuple[str, ...]], remedy: str = "") -> None:
        super().__init__(f"{reason[:1].upper()}{reason[1:]}. {remedy}".rstrip())
        self.reason = reason
        self.hedge = hedge


class UnknownCampaignError(InputError):
    """A campaign of this name does not exist; the message lists the nearest."""


class UnknownTicketError(InputError):
    """A ticket of this name does not exist; the message names the one that was meant, or the nearest."""


class UnsuitableError(InputError):
    """A policy that cannot serve this problem or this budget; the message names the least that would do."""


class TooLargeError(InputError):
    """A limit was passed.  The message holds the number that was found and the way out."""


def is_interrupt(error: BaseException | None) -> bool:
    """Whether it is Ctrl-C; compiled code makes a SystemError of it, and SQLAlchemy at times a failed assertion."""
    while isinstance(error, (SystemError, AssertionError)):
        error = error.__cause__ or error.__context__
    return isinstance(error, KeyboardInterrupt)


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


def counted(number: int, thing: str) -> str:
    """A number and what it numbers: ``1 look``, ``2,000 looks``."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint such as ``' Did you mean "Price" or "Prize"?'``, or nothing when no known name is close.

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


_commands: ContextVar[bool] = ContextVar("commands", default=False)
_database: ContextVar[str] = ContextVar("database", default="")


@contextmanager
def speaking_of_commands() -> Iterator[None]:
    """Inside, messages name options as they are typed in a shell; the command line runs in it."""
    token, database = _commands.set(True), _database.set("")
    try:
        yield
    finally:
        _commands.reset(token)
        _database.reset(database)


def option(name: str, value: str | None = None) -> str:
    """An option as its reader writes it: ``missing="drop"`` in Python, ``--missing drop`` in a shell.

    >>> option("missing", "drop"), option("arm")
    ('missing="drop"', '`arm`')
    """
    if _commands.get():
        return f"--{name}" if value is None else f"--{name} {value}"
    return f"`{name}`" if value is None else f'{name}="{value}"'


def spoken(python: str, shell: str) -> str:
    """A way out as its reader writes it, in Python or in a shell.

    >>> spoken("campaign.resume(reason=...)", "whichdo resume NAME --reason ...")
    'campaign.resume(reason=...)'
    """
    return shell if _commands.get() else python


def command(verb: str, *words: str, more: str = "") -> str:
    """A command that can be pasted into a shell; ``more`` is put as it stands.

    >>> print(command("void", "spring sale", "1-ab", more="--reason lost"))
    whichdo void 'spring sale' 1-ab --reason lost
    """
    return " ".join(each for each in (shlex.join(["whichdo", verb, *words]), more, _database.get()) if each)


def naming_database(address: str) -> None:
    """From here on commands in messages name this database, where the shell does not know of it."""
    _database.set(shlex.join(["--db", masked(address)]))


_SECRETS = re.compile(r"(?i)(?<=://)([^/\s:@]*):[^/\s]*@|(?<=[?&])((?:ssl)?password)=[^&\s'\"]*")


def masked(text: str) -> str:
    """A text without the passwords of the addresses in it.

    >>> print(masked("postgresql://me:secret@host/name?sslpassword=x&a=1"))
    postgresql://me:***@host/name?sslpassword=***&a=1
    """
    if "://" not in text:
        return text
    return _SECRETS.sub(lambda found: f"{found[2]}=***" if found[2] else f"{found[1]}:***@", text)


def quoted(name: object) -> str:
    """A user's text inside double quotes: cut where it would flood the message, escaped where it would not be seen."""
    text = str(name)
    if len(text) > 60:
        text = text[:57] + "..."
    return '"' + visible(text).replace('"', '\\"') + '"'


def visible(text: object) -> str:
    """A text, such as the name of a file, with codes in place of what a terminal would obey instead of showing."""
    letters = str(text)
    if letters.isprintable():
        return letters
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in letters)


def _likely(name: str, known: list[str], most: int = 1_000) -> list[str]:
    """Of very many names those that begin and end most like ``name``; comparing with all takes seconds."""
    if len(known) <= most:
        return known

    def shared(other: str) -> int:
        pairs = (zip(name, other, strict=False), zip(reversed(name), reversed(other), strict=False))
        return sum(1 for pair in pairs for _ in takewhile(lambda letters: letters[0] == letters[1], pair))

    return nlargest(most, known, key=shared)
