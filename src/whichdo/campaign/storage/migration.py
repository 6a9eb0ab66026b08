"""Bringing a database to the form that this program knows: forward only, in one transaction, after a backup.

Alembic wants SQLAlchemy, so both are imported here and nowhere else: for a database whose tables are old.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine, inspect, text
from sqlalchemy.pool import NullPool

from whichdo._version import __version__
from whichdo.campaign.storage import migrations, schema

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from whichdo.campaign.storage.contract import Storage


def migrate(storage: Storage, *, to: int | None = None, scripts: Path | None = None) -> None:
    """Bring the tables of a storage to the form ``to``, or nothing has happened; others wait meanwhile.

    A copy of what was there before is kept: a file beside a SQLite database, tables beside those of PostgreSQL.
    """
    form = schema.FORM if to is None else to
    engine = create_engine(storage.dialect, creator=storage.connect, poolclass=NullPool)
    with engine.connect() as connection:
        for statement in storage.alone:
            connection.exec_driver_sql(statement)
        found = connection.execute(text("SELECT form FROM whichdo_store")).scalar_one()
        if found >= form:  # another process was first
            return
        if storage.path is not None:
            storage.backup(storage.path.with_name(f"{storage.path.name}.form-{found}"), replace=True)
        else:
            _keep_tables(connection, found)
        upgrade(connection, form, scripts)
        connection.execute(
            text("UPDATE whichdo_store SET form = :form, written_by = :by"), {"form": form, "by": __version__}
        )
        connection.commit()


def upgrade(connection: Connection, form: int, scripts: Path | None = None) -> None:
    """Run the scripts that lead to a form, on a connection; the caller commits."""
    home = Path(migrations.__file__).parent
    config = Config()
    config.set_main_option("script_location", str(home))
    config.set_main_option("path_separator", "newline")
    config.set_main_option(
        "version_locations", "\n".join(map(str, [home / "versions", *([scripts] if scripts else [])]))
    )
    config.attributes["connection"] = connection
    command.upgrade(config, str(form))


def _keep_tables(connection: Connection, form: int) -> None:
    """Copy the tables of a PostgreSQL database beside themselves, such as ``whichdo_event_form_1``.

    Writers wait from here on, so the copies belong together; they come to be with the migration, or not at all.
    """
    tables = [name for name in inspect(connection).get_table_names() if re.fullmatch(r"whichdo_(?!.*_form_\d).*", name)]
    connection.execute(text(f"LOCK TABLE {', '.join(tables)} IN ACCESS EXCLUSIVE MODE"))
    for name in tables:
        connection.execute(text(f"DROP TABLE IF EXISTS {name}_form_{form}"))
        connection.execute(text(f"CREATE TABLE {name}_form_{form} AS TABLE {name}"))
