"""Databases to run campaigns in: SQLite always, PostgreSQL where it is installed."""

from __future__ import annotations

import shutil
from itertools import count
from typing import TYPE_CHECKING

import pytest

from tests.campaign.mortal import Forker
from tests.campaign.servers import new_database, running, why_not

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


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database that is not there yet, or empty."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'campaigns.db'}"
    return new_database(request.getfixturevalue("server"), f"test{next(_numbers)}")


@pytest.fixture(params=["sqlite", "postgresql"])
def new_address(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Makes addresses, each of a database of its own."""
    if request.param == "sqlite":
        return lambda: f"sqlite:///{tmp_path / f'campaigns{next(_numbers)}.db'}"
    address = request.getfixturevalue("server")
    return lambda: new_database(address, f"test{next(_numbers)}")


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
        like = address.rpartition("/")[2]
        return new_database(request.getfixturevalue("server"), f"test{next(_numbers)}", like)

    return copy
