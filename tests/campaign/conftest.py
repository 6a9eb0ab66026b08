"""Databases to run campaigns in: SQLite always, PostgreSQL where it is installed."""

from __future__ import annotations

import shutil
from itertools import count
from typing import TYPE_CHECKING

import pytest

from tests.campaign.mortal import Forker
from tests.campaign.servers import drop_database, new_database, running, why_not
from whichdo.campaign.storage import turns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_numbers = count()


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    with running() as address:
        yield address


@pytest.fixture
def new_server_database(server: str) -> Iterator[Callable[..., str]]:
    """Makes databases on the server, each removed after the test; `like` another or empty."""
    made: list[str] = []

    def new(like: str = "template1") -> str:
        made.append(new_database(server, f"test{next(_numbers)}", like))
        return made[-1]

    yield new
    for address in made:
        drop_database(address)


@pytest.fixture(params=["sqlite", "postgresql"])
def new_address(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Makes addresses, each of a database of its own that is not there yet, or empty."""
    if request.param == "sqlite":
        return lambda: f"sqlite:///{tmp_path / f'campaigns{next(_numbers)}.db'}"
    return request.getfixturevalue("new_server_database")  # type: ignore[no-any-return]


@pytest.fixture
def database(new_address: Callable[[], str]) -> str:
    """The address of a database that is not there yet, or empty."""
    return new_address()


@pytest.fixture(scope="session")
def forker() -> Iterator[Forker]:
    made = Forker()
    yield made
    made.close()


@pytest.fixture
def copy_of(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Makes copies of a database in which nobody works; the address of the copy."""

    def copy(address: str) -> str:
        if address.startswith("sqlite:///"):
            target = f"{address}.{next(_numbers)}"
            shutil.copyfile(address.removeprefix("sqlite:///"), target.removeprefix("sqlite:///"))
            return target
        new: Callable[..., str] = request.getfixturevalue("new_server_database")
        return new(address.rpartition("/")[2])

    return copy


@pytest.fixture
def no_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a turn at a database, which takes seconds where another does not end: only for its lock."""
    monkeypatch.setattr(turns, "WITHOUT", 0.1)
