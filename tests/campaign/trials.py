"""A problem to experiment on, the rows that come of it, and a clock that is set by hand."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import whichdo as wd

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whichdo.campaign.storage.contract import Connection, Storage

PROBLEM = wd.Problem("Z -> X; X -> Y; Z -> Y; W -> Y", "Y", ["X", "W"])


ALSO_ON_A_SERVER = pytest.mark.parametrize(
    "new_address",
    [
        "sqlite",
        pytest.param("postgresql", marks=pytest.mark.slow("2 s: whole campaigns in the other database as well")),
    ],
    indirect=True,
)
"""For tests of what campaigns decide; those of what a database does run in both of them always."""


@dataclass
class Clock:
    """Stands still until it is moved."""

    now: datetime = field(default_factory=lambda: datetime(2026, 3, 1, 12, tzinfo=UTC))

    def __call__(self) -> datetime:
        return self.now

    def move(self, **by: float) -> None:
        self.now += timedelta(**by)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def row_of(ticket: wd.Ticket, rng: np.random.Generator) -> dict[str, Any]:
    """What comes of a pull: Y is likelier with X = 1 and W = 1."""
    row = {"Z": int(rng.random() < 0.5), "W": int(rng.random() < 0.5)}
    row["X"] = int(rng.random() < 0.2 + 0.6 * row["Z"])
    row |= {name: int(value) for name, value in ticket.arm.settings.items()}
    row["Y"] = int(rng.random() < 0.1 + 0.3 * row["X"] + 0.2 * row["W"] + 0.2 * row["Z"])
    return row


def create(database: str, name: str = "spring", policy: str = "warm-halving", **options: Any) -> wd.Campaign:
    options = {"horizon": 40, "audit": False, **options}
    if "budget" in options:
        del options["horizon"]
    trusting = {"trust": True} if policy in {"nb", "crm-nb", "parallel"} else {}
    made = wd.policy(policy, **trusting)
    return wd.Campaign.create(database, name, made, options.pop("problem", PROBLEM), **options)


def run(campaign: wd.Campaign, rng: np.random.Generator, most: int = 10_000, **options: Any) -> int:
    """Ask and tell to the end; how many were told."""
    for told in range(most):
        if campaign.finished:
            return told
        ticket = campaign.ask(**options)
        campaign.tell(ticket, row_of(ticket, rng))
    return most


@contextmanager
def transaction(store: Storage, *, writes: bool = True) -> Iterator[Connection]:
    """What `Storage.run` does, for a test that wants to do something of its own meanwhile."""
    connection = store._ready()
    store._begin(connection, writes=writes)
    try:
        store._do(connection, "SELECT 1")  # what begins with the first statement has begun
        yield connection
        store._commit(connection)
    except BaseException:
        store._rollback(connection)
        raise
    finally:
        store._done(writes=writes)
