"""Migrations: forward only, in one transaction, after a backup; a test's own script stands for the next form."""

from __future__ import annotations

import signal
import sqlite3
from typing import TYPE_CHECKING

import numpy as np
import pytest
from sqlalchemy import create_engine, inspect

import whichdo as wd
from tests.campaign.mortal import know_next_form
from tests.campaign.trials import create, run, transaction
from tests.soak import scaled
from whichdo.campaign.storage import migration
from whichdo.campaign.storage.schema import FORM

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.campaign.mortal import Forker

NEXT = """
import sqlalchemy as sa
from alembic import op

revision = "2"
down_revision = "1"


def upgrade():
    op.add_column("whichdo_campaign", sa.Column("colour", sa.String(20)))
"""


def test_migrations_make_the_tables_of_the_schema(new_address: Callable[[], str]) -> None:
    """Column by column; so what a new database gets and what an old one becomes cannot drift apart."""
    at_once, step_by_step = (new_address().replace("postgresql:", "postgresql+psycopg:") for _ in range(2))
    create(at_once).close()
    engine = create_engine(step_by_step)
    with engine.begin() as connection:
        migration.upgrade(connection, FORM)
    expected = shape(step_by_step)
    assert set(expected) == {"whichdo_version", "whichdo_store", "whichdo_campaign", "whichdo_event"}
    assert shape(at_once) == expected
    engine.dispose()


def shape(address: str) -> dict[str, object]:
    """Of every table its columns, keys and indexes."""
    engine = create_engine(address)
    found = inspect(engine)
    tables = {
        name: (
            [(each["name"], str(each["type"]), each["nullable"]) for each in found.get_columns(name)],
            found.get_pk_constraint(name)["constrained_columns"],
            [(each["constrained_columns"], each["referred_table"]) for each in found.get_foreign_keys(name)],
            [each["column_names"] for each in found.get_unique_constraints(name)],
            sorted((each["name"] or "", each["column_names"], each["unique"]) for each in found.get_indexes(name)),
            found.get_table_options(name),
        )
        for name in found.get_table_names()
    }
    with engine.connect() as connection:
        versions = connection.exec_driver_sql("SELECT version_num FROM whichdo_version").all()
    engine.dispose()
    return tables | {"whichdo_version": (tables["whichdo_version"], versions)}


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    """A folder with the script that leads to the next form."""
    folder = tmp_path / "scripts"
    folder.mkdir()
    (folder / "form_2.py").write_text(NEXT)
    return folder


@pytest.fixture
def old(database: str) -> str:
    """The receipt of a campaign in tables of the form that is known today, closed."""
    campaign = create(database)
    run(campaign, np.random.default_rng(1), most=5)
    receipt = campaign.verify()
    campaign.close()
    return receipt


def kept_form(campaign: wd.Campaign) -> tuple[int, str]:
    """The form of the copy that was made before a migration, and how the campaign ended there."""
    if campaign._store.path is not None:
        copy = sqlite3.connect(f"{campaign._store.path}.form-1")
        (form,), (head,) = (copy.execute(f"SELECT {what}").fetchone() for what in (FORM_OF, HEAD_OF))
        copy.close()
        return form, head
    with transaction(campaign._store, writes=False) as connection:
        form = connection.execute("SELECT form FROM whichdo_store_form_1").fetchone()[0]
        return form, connection.execute("SELECT head FROM whichdo_campaign_form_1").fetchone()[0]


FORM_OF = "form FROM whichdo_store"
HEAD_OF = "head FROM whichdo_campaign"


def test_an_older_database_is_backed_up_and_migrated(
    database: str, old: str, scripts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    know_next_form(scripts, monkeypatch.setattr)
    campaign = wd.Campaign.open(database, "spring")
    assert campaign.verify() == old
    with transaction(campaign._store, writes=False) as connection:
        assert campaign._store._form(connection) == (2, wd.__version__)
        connection.execute("SELECT colour FROM whichdo_campaign")
    run(campaign, np.random.default_rng(1), most=2)
    assert kept_form(campaign) == (1, old.partition(":")[2])


def test_who_comes_second_leaves_the_copy_alone(
    database: str, old: str, scripts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes find the old form; the slower must not overwrite the copy with what the first has made of it."""
    know_next_form(scripts, monkeypatch.setattr)
    campaign = wd.Campaign.open(database, "spring")
    run(campaign, np.random.default_rng(1), most=2)
    campaign._store._migrate()
    assert kept_form(campaign) == (1, old.partition(":")[2])


def test_a_program_that_is_at_work_notices_a_migration(
    database: str, old: str, scripts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = wd.Campaign.open(database, "spring")
    with monkeypatch.context() as later:
        know_next_form(scripts, later.setattr)
        wd.Campaign.open(database, "spring").close()
    with pytest.raises(
        wd.TooNewError, match=r"has schema version 2 and was written by whichdo .* knows versions up to 1\. Update"
    ):
        campaign.ask()
    know_next_form(scripts, monkeypatch.setattr)
    assert wd.Campaign.open(database, "spring").verify() == old


@pytest.mark.slow("6 s: kills a migration at 10 points on each database; finds half-changed tables")
@pytest.mark.soak
def test_a_migration_that_is_killed_has_not_happened(
    database: str,
    old: str,
    scripts: Path,
    copy_of: Callable[[str], str],
    forker: Forker,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    """Killed at every point in turn, of the backup too; who opens it next finds all, in the new form, and the copy."""
    know_next_form(scripts, monkeypatch.setattr)
    wanted, killed, point, rounds = scaled(200), 0, 0, 0
    while killed < wanted:
        point += 1 if wanted > 100 else 5
        copy = copy_of(database)
        ended = forker.migrate(copy, "spring", scripts, die_at=point)
        assert ended in (0, -signal.SIGKILL)
        killed += ended != 0
        assert forker.migrate(copy, "spring", scripts) == 0
        campaign = wd.Campaign.open(copy, "spring")
        campaign.verify(old)
        assert campaign.status().events == int(old.partition(":")[0]) + 3
        assert kept_form(campaign) == (1, old.partition(":")[2])
        campaign.close()
        if ended == 0:  # beyond the last point: begin again
            assert point > 20
            point, rounds = 0, rounds + 1
    record_property("killed", killed)
    record_property("times through all points", rounds)
