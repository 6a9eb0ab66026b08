"""Cells that are done: whole lines are kept, a torn one is done again, and nothing else is taken for them."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING

import pytest

from whichdo.errors import StorageError
from whichdo.experiments.cells import Cell, Finding
from whichdo.experiments.journal import opened

if TYPE_CHECKING:
    from pathlib import Path

ONE = Finding("ue", (500, 1000), (0.1, 1 / 3), (0.25, 2e-17), (0.5, nan), 40)
TWO = Finding("sh", (), (), (), (), 40, "too few pulls")


def fill(folder: Path) -> None:
    with opened(folder, 1, quick=True) as journal:
        journal.add(Cell(1, 0, 7, ("ue", "sh")), [ONE, TWO])


def found(folder: Path) -> dict[tuple[int, int, int, str], Finding]:
    with opened(folder, 1, quick=True) as journal:
        return journal.found


def test_findings_read_back_to_the_last_bit(tmp_path: Path) -> None:
    fill(tmp_path)
    back = found(tmp_path)
    assert list(back) == [(1, 0, 7, "ue"), (1, 0, 7, "sh")]
    assert repr(back[1, 0, 7, "ue"]) == repr(ONE)
    assert back[1, 0, 7, "sh"] == TWO


@pytest.mark.slow("1 s: cuts a journal at every byte; finds half a line that is believed")
def test_a_line_that_was_cut_anywhere_is_dropped_and_the_others_are_kept(tmp_path: Path) -> None:
    fill(tmp_path)
    path = tmp_path / "cells.jsonl"
    whole = path.read_bytes()
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    for end in range(last, len(whole)):
        path.write_bytes(whole[:end])
        assert list(found(tmp_path)) == [(1, 0, 7, "ue")]
        assert path.read_bytes() == whole[:last]


def test_a_line_that_was_changed_is_dropped(tmp_path: Path) -> None:
    fill(tmp_path)
    path = tmp_path / "cells.jsonl"
    path.write_bytes(path.read_bytes().replace(b"0.25", b"0.75"))
    assert found(tmp_path) == {}


def test_a_folder_is_written_by_one_process_at_a_time(tmp_path: Path) -> None:
    with opened(tmp_path, 1, quick=True), pytest.raises(StorageError, match="Another process is writing results"):
        found(tmp_path)


def test_a_file_of_the_same_name_that_is_not_ours_is_refused_and_kept(tmp_path: Path) -> None:
    (tmp_path / "cells.jsonl").write_text("my thesis\n", encoding="utf-8")
    with pytest.raises(StorageError, match="is not a journal of whichdo"):
        found(tmp_path)
    assert (tmp_path / "cells.jsonl").read_text(encoding="utf-8") == "my thesis\n"


@pytest.mark.parametrize(("seed", "quick", "said"), [(2, True, "seed 1, not 2"), (1, False, "quick True, not False")])
def test_cells_of_another_run_are_not_mixed(tmp_path: Path, seed: int, quick: bool, said: str) -> None:
    fill(tmp_path)
    with pytest.raises(StorageError, match=said), opened(tmp_path, seed, quick=quick):
        pass


def test_a_heading_under_which_nothing_was_done_does_not_stand_in_the_way(tmp_path: Path) -> None:
    with opened(tmp_path, 1, quick=True):
        pass
    with opened(tmp_path, 2, quick=False) as journal:
        journal.add(Cell(1, 0, 7, ("ue",)), [ONE])
    with opened(tmp_path, 2, quick=False) as journal:
        assert list(journal.found) == [(1, 0, 7, "ue")]
