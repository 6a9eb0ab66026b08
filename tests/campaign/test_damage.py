"""Files that are damaged, full, read-only, locked, too new, or something else's: each said, none silent."""

from __future__ import annotations

import resource
import signal
import sqlite3
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest

import whichdo as wd
from tests.campaign.trials import create, row_of, run, transaction
from tests.soak import scaled
from whichdo.campaign.storage.schema import FORM

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def fill(campaign: wd.Campaign) -> None:
    """Ask until there is no room."""
    for number in range(500):
        campaign.ask(3, client=f"client {number}")


def made(path: Path, told: int = 40) -> wd.Campaign:
    campaign = create(str(path), policy="ue", horizon=5000)
    run(campaign, np.random.default_rng(1), most=told)
    campaign.ask(2)
    campaign.observe({"Z": [0, 1], "X": [0, 1], "W": [1, 1], "Y": [0, 1]})
    return campaign


@pytest.mark.slow("2 s: 100 flipped bits in a database; finds damage that is read as data")
@pytest.mark.soak
def test_no_flipped_bit_is_silent(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """Either something says that the file is damaged, or everything reads as it was."""
    path = tmp_path / "campaigns.db"
    campaign = made(path)
    expected = (campaign.status().to_dict(), campaign.recommend().to_dict(), campaign._ledger.events())
    campaign.close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    whole = path.read_bytes()
    rng = np.random.default_rng(20_260_301)
    seen = {"said": 0, "same": 0}
    flips = scaled(2000)
    for _ in range(flips):
        place, bit = int(rng.integers(len(whole))), int(rng.integers(8))
        spoilt = bytearray(whole)
        spoilt[place] ^= 1 << bit
        path.with_name("campaigns.db-wal").unlink(missing_ok=True)
        path.with_name("campaigns.db-shm").unlink(missing_ok=True)
        path.write_bytes(spoilt)
        try:
            again = wd.Campaign.open(path, "spring", patience=0.1)
            again.verify()
            found = (again.status().to_dict(), again.recommend().to_dict(), again._ledger.events())
            again.close()
        except wd.WhichdoError:
            seen["said"] += 1
        else:
            assert found == expected, f"byte {place}, bit {bit}"
            seen["same"] += 1
    record_property("flips", flips)
    record_property("said", seen["said"])
    record_property("changed nothing", seen["same"])


def test_the_first_bad_event_is_named(database: str) -> None:
    campaign = create(database)
    run(campaign, np.random.default_rng(1), most=5)
    with transaction(campaign._store) as connection:
        connection.execute("""UPDATE whichdo_event SET body = '{"ticket":"2-xx","row":{"Y":1}}' WHERE seq = 4""")
    with pytest.raises(
        wd.DamagedError, match=r'^Campaign "spring" is damaged: event 4 \(".*"\) is not what was w'
    ) as info:
        wd.Campaign.open(database, "spring")
    assert info.value.seq == 4
    with pytest.raises(wd.DamagedError, match="event 4"):
        campaign.verify()


def test_a_log_that_lost_its_end_or_its_middle_is_seen(database: str) -> None:
    campaign = create(database)
    run(campaign, np.random.default_rng(1), most=5)
    with transaction(campaign._store) as connection:
        connection.execute("DELETE FROM whichdo_event WHERE seq = 10")
    with pytest.raises(wd.DamagedError, match="its log should have 11 events and ends after 10"):
        wd.Campaign.open(database, "spring")
    with transaction(campaign._store) as connection:
        connection.execute("DELETE FROM whichdo_event WHERE seq = 3")
    with pytest.raises(wd.DamagedError, match="event 3 is missing, event 4 follows"):
        wd.Campaign.open(database, "spring")


def test_a_log_that_went_back_is_seen_by_who_knew_more(database: str, tmp_path: Path) -> None:
    campaign = create(database)
    run(campaign, np.random.default_rng(1), most=3)
    receipt = campaign.verify()
    old = wd.Campaign.open(database, "spring")
    with transaction(campaign._store) as connection:
        events = campaign._store.since(connection, campaign._store.find(connection, "spring"), 0)  # type: ignore[arg-type]
        head = list(events)[4].hash
        connection.execute("DELETE FROM whichdo_event WHERE seq > 4")
        connection.execute(f"UPDATE whichdo_campaign SET length = 5, head = '{head}'")
    with pytest.raises(wd.DamagedError, match="went back: this process knows event 6:"):
        old.ask()
    with pytest.raises(wd.DamagedError, match="Event 6 is not on record: the log ends with event 4"):
        wd.Campaign.open(database, "spring").verify(receipt)


def test_files_of_something_else_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE notes (text)")
    connection.close()
    before = path.read_bytes()
    for call in (create, partial(wd.Campaign.open, name="spring")):
        with pytest.raises(wd.NotOursError, match=r"notes\.db is a database of something else\. Name another file"):
            call(str(path))
    assert path.read_bytes() == before
    text = tmp_path / "text.db"
    text.write_text("A text that is long enough to be no database. " * 50)
    with pytest.raises(wd.NotOursError, match=r"text\.db is not a database of whichdo: file is not a database"):
        wd.Campaign.open(text, "spring")
    with pytest.raises(wd.StorageError, match=r"There is no database .*none\.db\. Start a campaign in it"):
        wd.Campaign.open(tmp_path / "none.db", "spring")
    (tmp_path / "empty.db").touch()
    with pytest.raises(wd.NotOursError, match=r"empty\.db contains no campaigns"):
        wd.Campaign.open(tmp_path / "empty.db", "spring")


def test_a_newer_database_is_refused_by_name_and_version(database: str) -> None:
    campaign = create(database)
    with transaction(campaign._store) as connection:
        connection.execute(f"UPDATE whichdo_store SET form = {FORM + 6}, written_by = '9.1.0'")
    with pytest.raises(
        wd.TooNewError,
        match=rf"has schema version {FORM + 6} and was written by whichdo 9\.1\.0; this is .* versions .* {FORM}",
    ):
        wd.Campaign.open(database, "spring")


def test_tables_that_do_not_contain_what_they_should_are_damage(tmp_path: Path) -> None:
    """SQLite keeps any value in any column."""
    for statement, said in (
        ("UPDATE whichdo_campaign SET length = 'many'", 'the row of campaign "spring" does not contain what it should'),
        ("DELETE FROM whichdo_store", "does not say which schema version it has. Restore a backup"),
    ):
        path = tmp_path / f"{said[:7]}.db"
        create(str(path)).close()
        with sqlite3.connect(path) as connection:
            connection.execute(statement)
        connection.close()
        with pytest.raises(wd.DamagedError, match=said):
            wd.Campaign.open(path, "spring").status()


def test_a_server_is_backed_up_by_its_own_programs(database: str, tmp_path: Path) -> None:
    campaign = create(database)
    if database.startswith("postgresql"):
        with pytest.raises(wd.StorageError, match="is a PostgreSQL database: back it up with pg_dump, or export each"):
            campaign.backup(tmp_path / "copy.db")
    else:
        assert wd.Campaign.list(campaign.backup(tmp_path / "copy.db")) == ["spring"]


def test_a_locked_database_says_who_holds_it(database: str, no_turns: None) -> None:
    holder = create(database)
    other = wd.Campaign.open(database, "spring", patience=0.2)
    with transaction(holder._store) as connection:
        holder._store.find(connection, "spring", lock=True)
        with pytest.raises(wd.BusyError, match=r"is locked by (another process|process \d+.*)\. Nothing was written"):
            other.ask()
    assert other.ask().id.startswith("1-")


def test_a_full_disk_is_a_clear_error_and_work_goes_on(tmp_path: Path) -> None:
    """By SQLite's own limit of pages, and by the system's limit of a file's size."""
    path = tmp_path / "campaigns.db"
    campaign = made(path)
    with transaction(campaign._store, writes=False) as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
    before = campaign.status().receipt
    with pytest.raises(
        wd.StorageError, match=r"There is no room left to write .*campaigns\.db: database or disk is full"
    ):
        fill(campaign)
    assert campaign.verify(before)
    with transaction(campaign._store, writes=False) as connection:
        connection.execute("PRAGMA max_page_count = 1000000")
    assert len(campaign.ask(12)) == 12
    assert wd.Campaign.open(path, "spring").verify() == campaign.verify()


def test_a_limit_of_the_file_size_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "campaigns.db"
    campaign = made(path)
    receipt = campaign.verify()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.with_name("campaigns.db-wal").stat().st_size, hard))
        with pytest.raises(wd.StorageError, match=r"campaigns\.db .*(disk I/O error|disk is full)"):
            fill(campaign)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    campaign.verify(receipt)
    ticket = campaign.ask()
    campaign.tell(ticket, row_of(ticket, np.random.default_rng(1)))
    assert wd.Campaign.open(path, "spring").verify() == campaign.verify()


def test_a_database_that_can_only_be_read_is_read(tmp_path: Path) -> None:
    path = tmp_path / "campaigns.db"
    expected = made(path).status().to_dict()
    campaign = wd.Campaign.open(f"sqlite:///file:{path}?mode=ro&uri=true", "spring")
    assert campaign.status().to_dict() == expected
    with pytest.raises(wd.StorageError, match="is read-only: attempt to write a readonly database"):
        campaign.pause("holidays")
    assert campaign.status().to_dict() == expected
    campaign.close()


def test_settings_that_would_lose_writes_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Seen by reading them back: here SQLite is made to keep another journal."""

    class Stubborn:
        def __init__(self, connection: sqlite3.Connection) -> None:
            self._connection = connection

        def execute(self, statement: str) -> sqlite3.Cursor:
            kept = statement if "journal_mode =" not in statement else "PRAGMA user_version"
            return self._connection.execute(kept)

    (tmp_path / "ours").mkdir()
    connection = sqlite3.connect(tmp_path / "a.db")
    with pytest.raises(wd.StorageError, match=r"a\.db cannot be kept safe: SQLite answers \['delete', 2\]"):
        create(str(tmp_path / "ours" / "a.db"))._store._settle(Stubborn(connection))  # type: ignore[attr-defined]
    connection.close()


def test_a_server_that_is_not_there_is_a_clear_error() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(wd.StorageError, match=r"The database postgresql://me:\*\*\*@127.0.0.1:1/none cannot be r"):
        wd.Campaign.open("postgresql://me:secret@127.0.0.1:1/none", "spring")
    with pytest.raises(wd.UsageError, match="Campaigns are kept in SQLite"):
        wd.Campaign.open("mysql://here/there", "spring")
    with pytest.raises(wd.UsageError, match="its database is a file: name one"):
        create("sqlite://")


def test_a_campaign_whose_name_is_damaged(tmp_path: Path) -> None:
    """As a log of SQLite that was cut off under a process left it: the name was taken for a string."""
    made(tmp_path / "a.db").close()
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("UPDATE whichdo_campaign SET name = x'00ff'")
    connection.close()
    for name in ("spring", "another"):
        with pytest.raises(
            wd.DamagedError, match=r"a\.db is damaged: the name of a campaign is not a string\. Restore a backup"
        ):
            wd.Campaign.open(tmp_path / "a.db", name)
    with pytest.raises(wd.DamagedError, match="the name of a campaign is not a string"):
        wd.Campaign.list(tmp_path / "a.db")
