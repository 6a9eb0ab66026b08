"""The files of a database: empty, restored, replaced, moved away from, and never opened to look at."""

from __future__ import annotations

import gc
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import whichdo as wd
from tests.campaign.trials import create, rng, run
from whichdo.campaign.storage.companions import File
from whichdo.report.campaign_page import write_report


def test_an_empty_file_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    with pytest.raises(wd.NotOursError, match="contains no campaigns"):
        wd.Campaign.open(tmp_path / "empty.db", "a")
    assert (tmp_path / "empty.db").stat().st_size == 0


def test_a_backup_under_the_companions_of_a_damaged_file_says_to_remove_them(tmp_path: Path) -> None:
    """As after kill -9: the log that SQLite keeps beside the file is still there."""
    campaign = create(str(tmp_path / "a.db"), policy="ue", horizon=2_000)
    campaign.backup(tmp_path / "copy.db")
    run(campaign, rng(5), most=200)
    for end in ("-wal", "-shm"):
        shutil.copyfile(tmp_path / f"a.db{end}", tmp_path / f"b.db{end}")
    shutil.copyfile(tmp_path / "copy.db", tmp_path / "b.db")
    with pytest.raises(wd.DamagedError, match=r"remove .*b\.db-wal and .*b\.db-shm"):
        wd.Campaign.open(tmp_path / "b.db", "spring").verify()
    for end in ("-wal", "-shm"):
        (tmp_path / f"b.db{end}").unlink(missing_ok=True)
    shutil.copyfile(tmp_path / "copy.db", tmp_path / "b.db")
    assert wd.Campaign.open(tmp_path / "b.db", "spring").status().events == 1


def test_a_file_that_another_has_taken_the_place_of_is_noticed(tmp_path: Path) -> None:
    campaign = create(str(tmp_path / "a.db"), policy="ue")
    campaign.backup(tmp_path / "old.db")
    ticket = campaign.ask()
    for end in ("-wal", "-shm"):
        (tmp_path / f"a.db{end}").unlink()
    (tmp_path / "old.db").replace(tmp_path / "a.db")
    with pytest.raises(wd.DamagedError, match=r"went back: .* Was an old backup restored"):
        campaign.tell(ticket, {"Y": 1})
    (tmp_path / "a.db").unlink()
    with pytest.raises(wd.StorageError, match=r"a\.db is gone: it was there when it was opened"):
        campaign.ask()
    assert not (tmp_path / "a.db").exists()


def test_a_campaign_stays_where_it_is_when_the_program_goes_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    campaign = create("a.db", policy="ue")
    monkeypatch.chdir(tmp_path / "elsewhere")
    campaign.close()
    run(campaign, rng(13), most=3)
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert wd.Campaign.open(tmp_path / "a.db", "spring").status().tickets["told"] == 3
    assert repr(campaign) == "<Campaign spring in a.db>"


def test_a_database_may_be_reached_by_a_link(tmp_path: Path) -> None:
    """SQLite keeps the ``-wal`` beside the file itself: beside the link it was called removed."""
    (tmp_path / "disk").mkdir()
    link = tmp_path / "campaigns.db"
    link.symlink_to(tmp_path / "disk" / "real.db")
    campaign = create(str(link), policy="ue")
    run(campaign, rng(13), most=1)
    again = wd.Campaign.open(tmp_path / "disk" / "real.db", "spring")
    run(again, rng(14), most=1)
    assert campaign.status().tickets["told"] == 2
    assert campaign.verify() == again.verify()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["campaigns.db", "disk"]


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(wd.StorageError, match=r"is a folder; name a file in it, such as .*/campaigns\.db\.$"):
        create(str(tmp_path))


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="this system has no such device")
def test_a_device_is_no_database() -> None:
    for call in (create, lambda name: wd.Campaign.open(name, "spring")):
        with pytest.raises(wd.StorageError, match=r"/dev/null is not a regular file; name another, such as"):
            call("/dev/null")


def test_nobody_opens_the_files_of_a_database_to_see_what_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system takes a process's locks on a file away when any handle of it is closed."""
    campaign = create(str(tmp_path / "a.db"), policy="ue")
    own = sorted(tmp_path.glob("a.db*"))
    assert len(own) == 3
    real, opened = type(tmp_path).open, []

    def watched(path: Path, *given: Any, **named: Any) -> Any:
        opened.append(path)
        return real(path, *given, **named)

    monkeypatch.setattr(type(tmp_path), "open", watched)
    for path in own:
        with pytest.raises(wd.ConflictError, match="already exists and is a database"):
            campaign.export(path)
        with pytest.raises(wd.ConflictError, match="already exists and is a database"):
            write_report(campaign, path)
    assert not set(opened) & set(own)
    campaign.export(tmp_path / "a.jsonl")
    campaign.export(tmp_path / "a.jsonl")  # which has to be looked at
    assert tmp_path / "a.jsonl" in opened


@pytest.mark.parametrize("end", ["-wal", "-shm"])
def test_files_removed_under_a_campaign_are_noticed_before_the_next_commit(tmp_path: Path, end: str) -> None:
    campaign = create(str(tmp_path / "a.db"), policy="ue")
    told = run(campaign, rng(3), most=10)
    last = campaign.status().receipt
    ticket = campaign.ask()
    (tmp_path / f"a.db{end}").unlink()
    with pytest.raises(wd.StorageError, match=rf"a\.db{end} was removed, replaced or cut while .*a\.db was in use"):
        campaign.tell(ticket, {"Y": 1})
    assert told == 10
    rescued = wd.Campaign.open(tmp_path / "a.db.rescued-1", "spring")
    assert rescued.verify(last)
    assert rescued.status().tickets["open"] == 1
    if end == "-wal":
        for call in (campaign.verify, campaign.ask):  # what was in it is not there, whatever SQLite makes of that
            with pytest.raises(wd.StorageError):
                call()


needs_descriptors = pytest.mark.skipif(not Path("/dev/fd").exists(), reason="nothing tells what SQLite has open")


@needs_descriptors
@pytest.mark.parametrize("left", [0, 31, 4_000, -1])
def test_a_log_that_is_cut_in_its_place_is_noticed_before_the_next_commit(tmp_path: Path, left: int) -> None:
    """SQLite goes on behind the hole, and what is acknowledged from then on is gone with the last process."""
    campaign = create(str(tmp_path / "a.db"), policy="ue")
    run(campaign, rng(3), most=10)
    ticket = campaign.ask()
    log = tmp_path / "a.db-wal"
    os.truncate(log, left % log.stat().st_size)
    for _ in range(2):
        with pytest.raises(wd.StorageError, match=r"a\.db-wal was removed, replaced or cut while .*a\.db was in use"):
            campaign.tell(ticket, {"Y": 1})
    for copy in tmp_path.glob("a.db.rescued-*"):
        assert wd.Campaign.open(copy, "spring").verify()


@needs_descriptors
def test_a_log_that_is_cut_is_noticed_by_one_who_comes_later(tmp_path: Path) -> None:
    campaign = create(str(tmp_path / "a.db"), policy="ue")
    campaign.backup(tmp_path / "old.db")
    with closing(sqlite3.connect(tmp_path / "a.db")) as put_away:
        put_away.execute("PRAGMA wal_checkpoint")  # all that is in the log is in the database too
    campaign.ask(client="me")
    os.truncate(tmp_path / "a.db-wal", 100)
    with pytest.raises(wd.StorageError, match=r"a\.db-wal was removed, replaced or cut"):
        wd.Campaign.open(tmp_path / "a.db", "spring").ask(client="you")
    with pytest.raises(wd.StorageError, match=r"a\.db-wal was removed, replaced or cut"):
        campaign.ask(client="you")


@needs_descriptors
def test_a_log_that_was_put_away_is_not_taken_for_one_that_was_cut(tmp_path: Path) -> None:
    """Whoever tidies up with SQLite's own means empties the log, too; it begins anew, under another number."""
    campaign = create(str(tmp_path / "a.db"), policy="ue", horizon=400)
    other = wd.Campaign.open(tmp_path / "a.db", "spring")
    for how in ("TRUNCATE", "RESTART", "FULL", "PASSIVE", "TRUNCATE"):
        run(campaign, rng(3), most=4, client="one")
        run(other, rng(4), most=4, client="two")
        with closing(sqlite3.connect(tmp_path / "a.db")) as tidy:
            assert tidy.execute(f"PRAGMA wal_checkpoint({how})").fetchone()[0] == 0
        if how == "TRUNCATE":
            assert not (tmp_path / "a.db-wal").stat().st_size
        run(other, rng(4), most=4, client="two")
    assert campaign.verify()
    assert wd.Campaign.open(tmp_path / "a.db", "spring").verify()


@needs_descriptors
def test_what_a_campaign_opens_to_look_at_its_log_is_closed_with_it(tmp_path: Path) -> None:
    def opened() -> int:
        gc.collect()
        return sum(1 for _ in Path("/dev/fd").iterdir())

    before = opened()
    for _ in range(3):
        campaign = create(str(tmp_path / "a.db"), policy="ue")
        run(campaign, rng(3), most=2)
        campaign.close()
        assert opened() == before
        campaign.ask()
        del campaign
        assert opened() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_files_removed_under_two_processes_are_noticed_by_both(tmp_path: Path) -> None:
    """Neither acknowledges anything from then on, and what both had been told is in the copies that they leave."""
    campaign = create(str(tmp_path / "a.db"), policy="ue")
    (to_child, said), (answered, to_parent) = os.pipe(), os.pipe()
    child = os.fork()
    if not child:
        run(campaign, rng(4), most=3, client="child")
        os.write(to_parent, b".")
        os.read(to_child, 1)
        refused = 0
        for _ in range(3):
            try:
                campaign.ask(client="child")
            except wd.StorageError:
                refused += 1
        os._exit(refused)
    os.read(answered, 1)
    run(campaign, rng(3), most=3, client="parent")
    last = campaign.status().receipt
    (tmp_path / "a.db-wal").unlink()
    os.write(said, b".")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    with pytest.raises(wd.StorageError):
        campaign.ask(client="parent")
    rescued = [wd.Campaign.open(tmp_path / f"a.db.rescued-{number}", "spring") for number in (1, 2)]
    assert all(each.verify(last) for each in rescued)
    for end in (to_child, said, answered, to_parent):
        os.close(end)


def test_a_look_notices_files_that_were_removed(tmp_path: Path) -> None:
    campaign = create(str(tmp_path / "a.db"), policy="ue")
    run(campaign, rng(3), most=10)
    (tmp_path / "a.db-wal").unlink()
    with pytest.raises(wd.StorageError, match=r"a\.db-wal was removed"):
        campaign.verify()


def test_a_log_that_went_another_way_is_noticed_after_an_error_too(tmp_path: Path) -> None:
    """Whatever error came between, a process does not forget what it has been told is on record."""
    campaign = create(str(tmp_path / "a.db"), policy="ue")
    campaign.backup(tmp_path / "old.db")
    campaign.ask()
    campaign.close()
    shutil.copyfile(tmp_path / "old.db", tmp_path / "a.db")
    for call in (campaign.ask, campaign.status, campaign.verify, campaign.ask):
        with pytest.raises(wd.DamagedError, match="went back"):
            call()
    wd.Campaign.open(tmp_path / "a.db", "spring").ask()


def test_a_backup_of_a_database_that_was_removed_is_refused_and_nothing_made(tmp_path: Path) -> None:
    campaign = create(str(tmp_path / "a.db"))
    run(campaign, rng(5), most=2)
    (tmp_path / "a.db").unlink()
    with pytest.raises(wd.errors.StorageError, match="The backup was not made"):
        campaign.backup(tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()
    assert not (tmp_path / "a.db").exists()


def test_a_backup_replaces_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a link that leads nowhere nor what has come while the copy was made."""
    campaign = create(str(tmp_path / "a.db"), policy="ue")
    (tmp_path / "loop.db").symlink_to("loop.db")
    (tmp_path / "far.db").symlink_to("missing.db")
    for name in ("a.db", "loop.db", "far.db"):
        with pytest.raises(wd.ConflictError, match=f"{name} already exists"):
            campaign.backup(tmp_path / name)
    assert (tmp_path / "loop.db").is_symlink()
    fsync = os.fsync

    def slow(descriptor: int) -> None:
        (tmp_path / "late.db").write_text("mine")
        fsync(descriptor)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", slow)
        with pytest.raises(wd.ConflictError, match=r"late\.db already exists"):
            campaign.backup(tmp_path / "late.db")
    assert (tmp_path / "late.db").read_text() == "mine"
    assert not list(tmp_path.glob("*.part"))
    assert not list(tmp_path.glob(".*.part"))
    assert wd.Campaign.open(campaign.backup(tmp_path / "copy.db"), "spring").verify()


def test_a_file_is_known_by_what_the_system_says_of_it(tmp_path: Path) -> None:
    """Found without asking for its times, its place is the one that `os.stat` gives."""
    file = tmp_path / "spring é.db-wal"
    found = File(str(file))
    assert found.place() is None
    file.touch()
    status = file.stat()
    assert found.place() == (status.st_dev, status.st_ino)
    file.write_bytes(bytes(70_000))
    assert found.place()
    assert found.size == 70_000
    with pytest.MonkeyPatch.context() as patched:  # as on a system without statx, which may not divide devices either
        patched.setattr("whichdo.campaign.storage.companions._statx", None)
        patched.delattr(os, "major")
        file.write_bytes(bytes(7))
        assert found.place() == (status.st_dev, status.st_ino)
        assert found.size == 7
    file.rename(tmp_path / "another.db-wal")
    assert found.place() is None


@pytest.mark.parametrize("name", ["a\0b.db", "a\ud800.db"])
def test_a_name_that_no_file_can_have_is_refused_with_a_message(tmp_path: Path, name: str) -> None:
    with pytest.raises(wd.StorageError, match="no file can have this name"):
        wd.Campaign.open(str(tmp_path / name), "spring")
    with pytest.raises(wd.StorageError, match="no file can have this name"):
        create(str(tmp_path / name), policy="ue")
    assert not list(tmp_path.iterdir())
