"""Addresses of databases, which say what kind of storage is meant; and what a client of one is called."""

from __future__ import annotations

import getpass
import os
import re
import socket
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from whichdo.errors import UsageError
from whichdo.text import masked, quoted

_URL = re.compile(r"(?P<kind>[^:/?+]*)(?:\+(?P<driver>[^:/?]*))?://(?P<rest>.*)", re.DOTALL)
_DRIVERS = {"sqlite": "pysqlite", "postgresql": "psycopg"}


class Address(NamedTuple):
    """Where a database is."""

    kind: str
    """``sqlite`` or ``postgresql``."""
    where: str
    """The file of a SQLite database, or the URL of a server as libpq understands it."""
    options: str = ""
    """What stands after the question mark in the address of a file."""

    @property
    def path(self) -> Path:
        """The file of a SQLite database."""
        if not self.where or self.where == ":memory:":
            raise UsageError("A campaign outlives the program, so its database is a file: name one.")
        return Path(self.where.removeprefix("file:"))


def address_of(address: str | os.PathLike[str]) -> Address:
    """An address taken apart: a path, ``sqlite:///file.db`` or ``postgresql://user@host/name``."""
    text = str(address)
    if "://" not in text:
        return Address("sqlite", text)
    found = _URL.fullmatch(text)
    kind = found["kind"] if found else ""
    if found is None or not kind or (kind == "sqlite" and not re.match(r"/|\?|$", found["rest"])):
        raise UsageError(f"{quoted(masked(text))} is not the address of a database, such as sqlite:///campaigns.db.")
    if kind not in _DRIVERS or found["driver"] not in (None, _DRIVERS[kind]):
        raise UsageError(
            f"Campaigns are kept in SQLite (sqlite:///campaigns.db) or PostgreSQL (postgresql://user@host/name), not "
            f"in {quoted(text.partition('://')[0])}."
        )
    if kind == "postgresql":
        return Address(kind, f"postgresql://{found['rest']}")
    where, _, options = found["rest"].partition("?")
    where = where.removeprefix("/")
    if options and not where.startswith("file:"):
        raise UsageError(f"{quoted(masked(text))} has options, which are for sqlite:///file:... only. Leave them out.")
    return Address(kind, where, options)


@lru_cache(maxsize=1)
def user_at_host() -> str:
    """``user@host``: the client of commands, each of which is a separate process."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = "someone"
    return f"{user}@{socket.gethostname()}"


def who_am_i() -> str:
    """``user@host:pid``: the client that asks, unless another is named; of two workers each has its own."""
    return f"{user_at_host()}:{os.getpid()}"
