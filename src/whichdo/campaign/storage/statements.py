"""The statements that every verb makes, written once and compiled once for each kind of database.

SQLAlchemy builds a statement anew each time it is written down; for one short row that takes longer than the row.  Even
handing its own text to SQLite through SQLAlchemy does, so there the driver is given it directly, within the transaction
that SQLAlchemy keeps.  Over a network it does not matter, and SQLAlchemy sees to connections that break.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast

from sqlalchemy import bindparam, insert, select, update

from whichdo.campaign.storage.schema import campaigns, events, store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Dialect
    from sqlalchemy.sql.expression import Executable

__all__ = ["STORED", "Statements"]

STORED = ("seq", "kind", "key", "body", "time", "previous", "hash")
"""The columns of an event, beside its campaign."""


class Found(Protocol):
    """What a statement found, as drivers and SQLAlchemy both have it."""

    @property
    def rowcount(self) -> int: ...
    def fetchone(self) -> Sequence[Any] | None: ...
    def fetchmany(self, size: int, /) -> Sequence[Sequence[Any]]: ...


class Statements:
    """The statements in the words of one kind of database."""

    def __init__(self, dialect: Dialect) -> None:
        form = select(store.c.form).scalar_subquery().label("form")  # another process may have migrated since
        named = select(campaigns.c.id, campaigns.c.name, campaigns.c.length, campaigns.c.head, form)
        named = named.where(campaigns.c.name == bindparam("name"))
        self.find = _Statement(named, dialect)
        self.lock = _Statement(named.with_for_update() if dialect.name != "sqlite" else named, dialect)
        self.since = _Statement(
            select(*(events.c[name] for name in STORED))
            .where(
                events.c.campaign == bindparam("campaign"),
                events.c.seq >= bindparam("first"),
                events.c.seq < bindparam("length"),
            )
            .order_by(events.c.seq),
            dialect,
        )
        values: dict[str, Any] = {name: bindparam(name) for name in ("campaign", *STORED)}
        self.append = _Statement(insert(events).values(values).inline(), dialect)
        self.move = _Statement(
            update(campaigns)
            .where(campaigns.c.id == bindparam("campaign"), campaigns.c.length == bindparam("before"))
            .values(length=bindparam("after"), head=bindparam("new_head")),
            dialect,
        )


class _Statement:
    """A statement as text, and the order in which the driver wants its values."""

    def __init__(self, statement: Executable, dialect: Dialect) -> None:
        compiled: Any = statement.compile(dialect=dialect)  # type: ignore[attr-defined]
        self._text = str(compiled)
        self._order: list[str] | None = compiled.positiontup
        self._directly = dialect.name == "sqlite"

    def __call__(self, connection: Connection, **values: object) -> Found:
        given = values if self._order is None else tuple([values[name] for name in self._order])
        if self._directly:
            driver: Any = connection.connection.dbapi_connection
            return cast("Found", driver.execute(self._text, given))
        return cast("Found", connection.exec_driver_sql(self._text, given))
