"""Migrations: forward only, in one transaction, after a backup; a test's own script stands for the next form."""

from __future__ import annotations

import os
import signal
import sqlite3
from typing import TYPE_CHECKING

import numpy as np
import pytest
from sqlalchemy import inspect

import whichdo as wd
from tests.campaign.trials import create, run
from whichdo.campaign import migration, schema, store

if TYPE_CHECKING:
    from pathlib import Path

NEXT = """
import sqlalchemy as sa
from alembic import op

revision = "2"
down_revision = "1"


def upgrade():
    op.add_column("whichdo_campaign", sa.Column("colour", sa.String(20)))
"""


def test_the_first_migration_makes_the_tables_of_the_schema(database: str) -> None:
    """Column by column; so the two cannot drift apart."""
    campaign = create(database)
    with campaign._store.read() as connection:
        found = inspect(connection)
        for table in schema.metadata.tables.values():
            columns = [(column["name"], bool(column["nullable"])) for column in found.get_columns(table.name)]
            assert columns == [(column.name, bool(column.nullable)) for column in table.columns]
            keys = found.get_pk_constraint(table.name)["constrained_columns"]
            assert keys == [column.name for column in table.primary_key]
            indexes = {
                (each["name"], tuple(each["column_names"]), bool(each["unique"]))
                for each in found.get_indexes(table.name)
            }
            made = {(str(each.name), tuple(each.columns.keys()), bool(each.unique)) for each in table.indexes}
            assert indexes >= made


@pytest.fixture
def next_form(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As if this program knew one form more."""
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    (scripts / "form_2.py").write_text(NEXT)
    real = migration.migrate
    monkeypatch.setattr(store, "FORM", 2)
    monkeypatch.setattr(migration, "migrate", lambda connection, form: real(connection, form, to=2, scripts=scripts))


@pytest.fixture
def old(database: str) -> str:
    """A campaign in tables of the form that is known today."""
    campaign = create(database)
    run(campaign, np.random.default_rng(1), most=5)
    return campaign.verify()


def test_an_older_database_is_backed_up_and_migrated(
    database: str, old: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    request.getfixturevalue("next_form")
    campaign = wd.Campaign.open(database, "spring")
    assert campaign.verify() == old
    with campaign._store.read() as connection:
        assert campaign._store._form(connection) == (2, wd.__version__)
        assert "colour" in [column["name"] for column in inspect(connection).get_columns("whichdo_campaign")]
    run(campaign, np.random.default_rng(1), most=2)
    if campaign._store.sqlite:
        copy = sqlite3.connect(tmp_path / "campaigns.db.form-1")
        assert copy.execute("SELECT form FROM whichdo_store").fetchone() == (1,)
        assert copy.execute("SELECT head FROM whichdo_campaign").fetchone() == (old.partition(":")[2],)
        copy.close()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("point", range(1, 16, 2))
def test_a_migration_that_is_killed_has_not_happened(
    database: str, old: str, request: pytest.FixtureRequest, point: int
) -> None:
    from tests.campaign.mortal import Points, watch

    request.getfixturevalue("next_form")
    child = os.fork()
    if child == 0:
        try:
            watch(Points(point))
            wd.Campaign.open(database, "spring")
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) in (0, -signal.SIGKILL)
    assert wd.Campaign.open(database, "spring").verify() == old
