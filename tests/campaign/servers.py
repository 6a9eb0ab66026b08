"""A PostgreSQL of our own: in a temporary folder, on a free port of loopback, gone when the tests are."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.memory import in_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

USER = "whichdo"


def binaries() -> Path | None:
    """The folder of PostgreSQL's programs, the newest that is installed."""
    on_path = shutil.which("initdb")
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda place: place.parent.name)
    found = [place for place in places if (place / "initdb").exists() and (place / "postgres").exists()]
    return Path(on_path).parent if on_path else found[-1] if found else None


def why_not() -> str | None:
    """Why no server can be started here, if none can."""
    if binaries() is None:
        return "PostgreSQL is not installed"
    if os.name != "posix":
        return "servers are started on POSIX systems only"
    if os.geteuid() == 0 and _unprivileged() is None:
        return "PostgreSQL does not run as root, and there is no user postgres or nobody"
    return None


def _unprivileged() -> pwd.struct_passwd | None:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    return None


@contextmanager
def running(place: str | None = None) -> Iterator[str]:
    """A server; its address without a database.  Its data lies in a folder below ``place``, in memory by default."""
    with mortal(place) as (address, _):
        yield address


@contextmanager
def mortal(place: str | None = None) -> Iterator[tuple[str, Callable[[], None]]]:
    """A server, and what ends it at once and starts it again: what it had not written by then is lost."""
    home = binaries()
    assert home is not None
    user = _unprivileged() if os.geteuid() == 0 else None
    owner = {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    folder = Path(tempfile.mkdtemp(prefix="whichdo-postgres-", dir=place or in_memory()))
    if user is not None:
        os.chown(folder, user.pw_uid, user.pw_gid)
    data = folder / "data"
    try:
        made = [home / "initdb", "-D", data, "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        subprocess.run(made, check=True, capture_output=True, cwd=folder, **owner)  # type: ignore[call-overload]
        port = _free_port()
        options = ["-D", data, "-p", str(port), "-k", folder, "-c", "listen_addresses=127.0.0.1"]
        keeper = subprocess.Popen(  # type: ignore[call-overload]
            ["/bin/sh", "-c", KEEPER, home / "postgres", *options, "-c", "max_connections=100"],
            stdin=subprocess.PIPE, cwd=folder, start_new_session=True, **owner,
        )  # fmt: skip

        def crash() -> None:
            keeper.stdin.write(b"again\n")
            keeper.stdin.flush()
            _wait_for(port, folder / "log")

        try:
            _wait_for(port, folder / "log")
            yield f"postgresql://{USER}@127.0.0.1:{port}", crash
        finally:
            keeper.stdin.close()  # at once: nobody will read this data again
            keeper.wait(60)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


KEEPER = """
"$0" "$@" >log 2>&1 & server=$!
while read again; do
    kill -QUIT $server
    wait $server
    "$0" "$@" >>log 2>&1 & server=$!
done
kill -QUIT $server
wait $server
rm -rf "$PWD"
"""
"""Ends the server and removes its data when standard input ends: after the tests, or when they are killed.  A line ends
the server as a loss of power would, but for what the system has been given to write, and starts it again."""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(port: int, log: Path) -> None:
    import psycopg

    for _ in range(300):
        try:
            psycopg.connect(host="127.0.0.1", port=port, user=USER, dbname="postgres", connect_timeout=2).close()
        except psycopg.OperationalError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError(f"PostgreSQL does not answer:\n{log.read_text(errors='replace')}")


def new_database(server: str, name: str, like: str = "template1") -> str:
    """A database, empty or ``like`` another; its address."""
    import psycopg

    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{like}"')
    return f"{server}/{name}"


def drop_database(address: str) -> None:
    """Remove a database, whoever is connected: each has a thousand files, and there are hundreds."""
    import psycopg

    server, _, name = address.rpartition("/")
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
