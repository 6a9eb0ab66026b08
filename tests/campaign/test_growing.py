"""Logs that others write to: hashed and counted are the same bytes, and what has grown is not counted twice."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

import whichdo as wd
from tests.campaign.trials import create
from whichdo.counting import csv_files

if TYPE_CHECKING:
    from pathlib import Path

HEADER = "Z,X,W,Y\n"
ROWS = "0,1,0,1\n1,0,1,0\n1,1,0,1\n"


@pytest.fixture
def campaign(tmp_path: Path) -> wd.Campaign:
    return create(str(tmp_path / "a.db"))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.csv"
    path.write_text(HEADER + ROWS * 10)
    os.utime(path, (1, 1))  # long ago
    return path


def looks(campaign: wd.Campaign) -> int:
    return campaign.status().looks_in_logs


def changing(monkeypatch: pytest.MonkeyPatch, change: object, at: int) -> None:
    """Do something when the log is opened for the so-manyth time to be counted."""
    original, opened = csv_files._open, iter(range(1_000))

    def _open(*given: object, **named: object) -> object:
        if next(opened) == at:
            change()  # type: ignore[operator]
        return original(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(csv_files, "_open", _open)


@pytest.mark.parametrize("at", range(6))
@pytest.mark.parametrize("recent", [False, True])
def test_a_log_that_changes_while_it_is_read_is_refused(
    campaign: wd.Campaign, log: Path, monkeypatch: pytest.MonkeyPatch, at: int, recent: bool
) -> None:
    def append() -> None:
        with log.open("a") as file:
            file.write(ROWS)

    if recent:
        os.utime(log)
    with monkeypatch.context() as patched:
        changing(patched, append, at)
        said = ""
        try:
            campaign.observe(log)
        except wd.DataError as error:
            said = str(error)
    if log.stat().st_size > 248:  # else it is not opened so often
        assert "log.csv changed while it was read (248 bytes at first, 272 now). Nothing was stored." in said
        assert looks(campaign) == 0
    campaign.observe(log)
    assert looks(campaign) == len(log.read_text().splitlines()) - 1


def test_a_fault_that_a_change_explains_is_called_a_change(
    campaign: wd.Campaign, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def append() -> None:
        with log.open("a") as file:
            file.write("0,1")  # half a row, as a writer leaves it between two writes

    changing(monkeypatch, append, 1)
    with pytest.raises(wd.DataError, match="changed while it was read"):
        campaign.observe(log)


def test_a_change_of_the_same_size_within_a_tick_is_noticed(
    campaign: wd.Campaign, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.utime(log)
    before = log.stat()

    def overwrite() -> None:
        with log.open("r+") as file:
            file.seek(len(HEADER))
            file.write("1")

    changing(monkeypatch, overwrite, 3)
    monkeypatch.setattr("whichdo.counting.log_files._identity", lambda found: (found.st_ino, found.st_size))
    with pytest.raises(wd.DataError, match="changed while it was read"):
        campaign.observe(log)
    assert log.stat().st_size == before.st_size


def test_rows_appended_meanwhile_are_never_lost(campaign: wd.Campaign, log: Path) -> None:
    """A writer appends all the time, whole rows at a time."""
    end = threading.Event()

    def write() -> None:
        while not end.wait(0.002):
            with log.open("a") as file:
                file.write(ROWS)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(10):
            try:
                campaign.observe(log, append=True)
            except wd.DataError as error:
                assert "changed while it was read" in str(error)  # noqa: PT017
    finally:
        end.set()
        writer.join()
    campaign.observe(log, append=True)
    assert looks(campaign) == len(log.read_text().splitlines()) - 1


def test_a_log_that_has_grown_is_noticed_and_only_what_is_new_is_observed(campaign: wd.Campaign, log: Path) -> None:
    campaign.observe(log)
    with log.open("a") as file:
        file.write(ROWS)
    with pytest.raises(wd.ConflictError, match=r"log\.csv has grown: it begins with the 30 looks .* twice"):
        campaign.observe(log)
    assert looks(campaign) == 30
    (receipt,) = campaign.observe(log, append=True)
    assert receipt.notes[0] == "log.csv: 3 new looks observed."
    (again,) = campaign.observe(log, append=True)
    assert (again.repeated, str(again)) == (True, str(receipt))
    (again,) = campaign.observe(log)
    assert again.repeated
    with log.open("a") as file:
        file.write(ROWS * 2)
    with pytest.raises(wd.ConflictError, match="has grown"):
        campaign.observe(log)
    campaign.observe(log, append=True)
    assert looks(campaign) == 39
    whole = create(str(log.with_name("b.db")))
    whole.observe(log)
    assert str(whole.recommend().ranking) == str(campaign.recommend().ranking)
    assert campaign.verify()


def test_what_cannot_be_appended_is_said(campaign: wd.Campaign, log: Path) -> None:
    log.write_text(HEADER + ROWS + "0,1,0,1")
    campaign.observe(log)
    log.write_text(HEADER + ROWS + "0,1,0,1\n" + ROWS)  # only the end of the line was missing
    campaign.observe(log, append=True)
    assert looks(campaign) == 7
    other = log.with_name("other.csv")
    other.write_text(HEADER + ROWS + "0,1,0,")
    campaign.observe(other, missing="drop")
    other.write_text(HEADER + ROWS + "0,1,0,1\n")
    with pytest.raises(wd.DataError, match="its last row was incomplete"):
        campaign.observe(other, append=True, missing="drop")


def test_a_fault_in_what_is_new_names_the_line_of_the_file(campaign: wd.Campaign, log: Path) -> None:
    campaign.observe(log)
    with log.open("a") as file:
        file.write("0,1,0,1\n0,1,0,7\n")
    with pytest.raises(wd.DataError, match=r"log\.csv, line 33: Row 2, column Y"):
        campaign.observe(log, append=True)


def test_another_log_that_begins_the_same_is_observed_and_remarked_on(campaign: wd.Campaign, log: Path) -> None:
    campaign.observe(log)
    other = log.with_name("other.csv")
    other.write_text(log.read_text() + ROWS)
    (receipt,) = campaign.observe(other)
    assert "It begins like log.csv" in receipt.notes[0]


def test_started_again_with_a_log_that_has_grown(tmp_path: Path, log: Path) -> None:
    create(str(tmp_path / "b.db"), logs=str(log))
    assert looks(create(str(tmp_path / "b.db"), logs=str(log))) == 30
    with log.open("a") as file:
        file.write(ROWS)
    with pytest.raises(wd.ConflictError, match="has grown"):
        create(str(tmp_path / "b.db"), logs=str(log))


def test_a_glob_of_too_many_files_is_refused(campaign: wd.Campaign, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        log.with_name(f"part{number}.csv").write_text(log.read_text())
    monkeypatch.setattr("whichdo.campaign.logs.MOST_FILES", 3)
    monkeypatch.setattr("whichdo.counting.log_files.MOST_FILES", 3)
    pattern = str(log.parent / "part*.csv")
    with pytest.raises(wd.TooLargeError, match="More than 3 files match"):
        campaign.observe(pattern)
    with pytest.raises(wd.TooLargeError, match="4 files match"):
        wd.count(campaign.problem, pattern)


def test_a_packed_log_is_unpacked_so_far_and_no_further(
    campaign: wd.Campaign, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import gzip

    packed = log.with_name("log.csv.gz")
    packed.write_bytes(gzip.compress((HEADER + ROWS * 500_000).encode()))
    monkeypatch.setattr(csv_files, "UNPACKED", 8 << 20)
    with pytest.raises(wd.TooLargeError, match="when it is unpacked"):
        campaign.observe(packed)
    assert looks(campaign) == 0


def test_a_packed_log_that_says_nothing_for_long_is_left(
    campaign: wd.Campaign, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows, then tens of thousands of empty parts: all of them are passed over within one read."""
    import gzip

    packed = log.with_name("log.csv.gz")
    packed.write_bytes(gzip.compress((HEADER + ROWS).encode()) + gzip.compress(b"") * 30_000)
    monkeypatch.setattr(csv_files, "UNPACKING", 0.02)
    with pytest.raises(wd.TooLargeError, match=r"log\.csv\.gz takes more than .* minutes to unpack, the limit"):
        campaign.observe(packed)
    assert looks(campaign) == 0
    monkeypatch.undo()
    campaign.observe(packed)
    assert looks(campaign) > 0
