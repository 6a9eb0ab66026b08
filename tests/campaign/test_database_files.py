"""The files of a database: empty, restored, replaced, moved away from, and never opened to look at."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

import whichdo as wd
from tests.campaign.trials import create, rng, run
from whichdo.report.campaign import write_report

if TYPE_CHECKING:
    from pathlib import Path


def test_an_empty_file_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    with pytest.raises(wd.NotOurs, match="holds no campaigns"):
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
    with pytest.raises(wd.Damaged, match=r"remove .*b\.db-wal and .*b\.db-shm"):
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
    with pytest.raises(wd.Damaged, match=r"went back: .* Was an old backup restored"):
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


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(wd.StorageError, match=r"is a folder; name a file in it, such as .*/campaigns\.db\.$"):
        create(str(tmp_path))


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
        with pytest.raises(wd.ConflictError, match="is there already and is no export"):
            campaign.export(path)
        with pytest.raises(wd.ConflictError, match="is there already and is no page"):
            write_report(campaign, path)
    assert not set(opened) & set(own)
    campaign.export(tmp_path / "a.jsonl")
    campaign.export(tmp_path / "a.jsonl")  # which has to be looked at
    assert tmp_path / "a.jsonl" in opened
