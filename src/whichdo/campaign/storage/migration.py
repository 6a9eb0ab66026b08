"""Bringing a database to the form that this program knows: forward only, in one transaction, after a backup."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import insert, inspect, text, update

from whichdo._version import __version__
from whichdo.campaign.storage import migrations
from whichdo.campaign.storage.schema import APPLICATION, FORM, store

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["keep_tables", "migrate"]


def migrate(connection: Connection, form: int, *, to: int = FORM, scripts: Path | None = None) -> None:
    """Bring tables of ``form`` (0: none yet) to the form ``to``; the caller commits, or nothing has happened."""
    from alembic import command
    from alembic.config import Config

    home = Path(migrations.__file__).parent
    config = Config()
    config.set_main_option("script_location", str(home))
    config.set_main_option("path_separator", "newline")
    config.set_main_option(
        "version_locations", "\n".join(map(str, [home / "versions", *([scripts] if scripts else [])]))
    )
    config.attributes["connection"] = connection
    command.upgrade(config, str(to))
    if form == 0:
        connection.execute(insert(store).values(form=to, written_by=__version__))
    else:
        connection.execute(update(store).values(form=to, written_by=__version__))
    if connection.dialect.name == "sqlite":
        connection.execute(text(f"PRAGMA application_id = {APPLICATION}"))


def keep_tables(connection: Connection, form: int) -> None:
    """Copy the tables of a PostgreSQL database beside themselves, such as ``whichdo_event_form_1``.

    Writers wait from here on, so the copies belong together; they come to be with the migration, or not at all.
    """
    tables = [name for name in inspect(connection).get_table_names() if re.fullmatch(r"whichdo_(?!.*_form_\d).*", name)]
    connection.execute(text(f"LOCK TABLE {', '.join(tables)} IN ACCESS EXCLUSIVE MODE"))
    for name in tables:
        connection.execute(text(f"DROP TABLE IF EXISTS {name}_form_{form}"))
        connection.execute(text(f"CREATE TABLE {name}_form_{form} AS TABLE {name}"))
