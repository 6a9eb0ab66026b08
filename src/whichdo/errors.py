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

import warnings
from typing import Any, ClassVar, NamedTuple, Self

from whichdo.remedies import Language, Message, Remedy, phrased
from whichdo.text import visible

__all__ = [
    "BusyError", "CacheWarning", "ClusterError", "ConflictError", "DamagedError", "DataError", "GraphError",
    "GraphSyntaxError", "InputError", "NetworkError", "NotIdentifiedError", "NotOursError", "Place", "ProblemError",
    "ReplayDivergedError", "StorageError", "TooLargeError", "TooNewError", "UnknownCampaignError",
    "UnknownTicketError", "UnsuitableError", "UsageError", "WaitError", "WhichdoError", "WorkerLostError",
]  # fmt: skip


class Place(NamedTuple):
    """A position in a file or string: lines and columns count from 1."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


class WhichdoError(Exception):
    """Base class of all errors that whichdo raises on purpose.

    Attributes
    ----------
    exit_code
        The exit code of the command line.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, *parts: str | Remedy) -> None:
        super().__init__(Message(*parts))

    @property
    def message(self) -> Message:
        """What is wrong and what to do about it, phrased for Python; `phrased` serves other readers."""
        said = self.args[0] if self.args else ""
        return said if isinstance(said, Message) else Message(str(said))

    def phrased(self, language: Language) -> str:
        """Return the message with its remedies phrased for other readers.

        Parameters
        ----------
        language
            Phrases one remedy, such as an option of the command line.

        Returns
        -------
        str
            The message.
        """
        return phrased(self.message, language)

    def add(self, *, before: str = "", after: str = "") -> Self:
        """Add text before or after the message.

        Parameters
        ----------
        before, after
            The text to add.

        Returns
        -------
        WhichdoError
            The same error.
        """
        self.args = (Message(before, self.message, after),)
        return self


class CacheWarning(UserWarning):
    """Compiled code cannot be cached; results are the same, but the next start takes longer."""


class UsageError(WhichdoError):
    """The call is wrong: something does not exist, or arguments do not go together."""

    exit_code = 2


class WorkerLostError(WhichdoError):
    """Worker processes died too often to try again; the message says how they ended."""


class ClusterError(WhichdoError):
    """The cluster cannot be reached, or its workers would give different results."""


class ConflictError(WhichdoError):
    """The request contradicts what is on record; the message shows both.  Nothing was changed."""

    exit_code = 4


class ReplayDivergedError(ConflictError):
    """A logged ask differs from what the policy, replayed on the log at the same revision, would ask."""


class StorageError(WhichdoError):
    """The database or folder cannot be read or written.  Nothing was half written; retry once it is available."""

    exit_code = 5


class NotOursError(StorageError):
    """The database contains something other than campaigns."""


class UnfitStateError(StorageError):
    """What was saved of a policy's play does not fit the policy; the log is replayed instead."""


class DamagedError(StorageError):
    """The database does not contain what was written to it.

    Attributes
    ----------
    seq
        The first bad event, if it is known.
    """

    def __init__(self, message: str, seq: int | None = None) -> None:
        super().__init__(message)
        self.seq = seq


class TooNewError(StorageError):
    """A later version of whichdo wrote this; the message names both versions."""


class BusyError(WhichdoError):
    """Another process holds the database for too long; try again."""

    exit_code = 6


class WaitError(BusyError):
    """The policy needs the outcomes of open tickets before it can decide.

    Attributes
    ----------
    tickets
        The ids of these tickets.
    """

    def __init__(self, message: str, tickets: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.tickets = tickets


class InputError(WhichdoError):
    """A file or a value cannot be used.  Nothing was changed."""

    exit_code = 3

    def within(self, source: str) -> Self:
        """Put the name of the file in front of the message.

        Parameters
        ----------
        source
            The name of the file in which the error was found.

        Returns
        -------
        InputError
            The same error.
        """
        message, name = str(self), visible(source)
        if not message.startswith(name):
            self.add(before=f"{name}{', ' if message.startswith('line ') else ': '}")
        return self


class GraphError(InputError):
    """The nodes and edges do not make a causal graph."""


class GraphSyntaxError(GraphError):
    """A string or file cannot be parsed as a graph.

    Attributes
    ----------
    place
        The line and column where parsing stopped, if they are known.
    """

    def __init__(self, message: str, place: Place | None = None) -> None:
        super().__init__(message)
        self.place = place


class ProblemError(InputError):
    """The reward, arms, domains or costs of a problem do not fit its graph."""


class NetworkError(InputError):
    """The mechanisms do not make a network: rows do not sum to one, inputs are unknown, or shapes are wrong."""


class DataError(InputError):
    """Rows cannot be counted: a column is missing, a value is not in its domain, or a file is damaged."""


class NotIdentifiedError(InputError):
    """The effect is not identified: two models with the same graph and the same rows may disagree on it.

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
    """There is no campaign of this name; the message lists the nearest."""


class UnknownTicketError(InputError):
    """There is no ticket of this name; the message names the one that was probably meant."""


class UnsuitableError(InputError):
    """The policy does not support this problem or this budget; the message says what it needs."""


class TooLargeError(InputError):
    """A limit was exceeded; the message gives the number that was found and the way out."""


def is_interrupt(error: BaseException | None) -> bool:
    """Whether it is Ctrl-C; compiled code makes a SystemError of it, and SQLAlchemy at times a failed assertion."""
    while isinstance(error, (SystemError, AssertionError)):
        error = error.__cause__ or error.__context__
    return isinstance(error, KeyboardInterrupt)


_RENAMED = {
    "Busy": "BusyError",
    "Damaged": "DamagedError",
    "NotOurs": "NotOursError",
    "ReplayDiverged": "ReplayDivergedError",
    "TooLarge": "TooLargeError",
    "TooNew": "TooNewError",
    "Unknown": "UnknownCampaignError UnknownTicketError",
    "Unsuitable": "UnsuitableError",
    "Wait": "WaitError",
    "WorkerLost": "WorkerLostError",
}


def by_old_name(name: str, module: str, depth: int = 3) -> Any:
    """An exception by the name it had before, with a warning ``depth`` calls above; any other name is an error."""
    if name not in _RENAMED:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    new = _RENAMED[name].split()
    warnings.warn(f"{module}.{name} is called {' or '.join(new)} now", DeprecationWarning, stacklevel=depth)
    found = tuple(globals()[each] for each in new)
    return found if len(found) > 1 else found[0]  # several can be caught as one


def __getattr__(name: str) -> Any:
    return by_old_name(name, __name__)
