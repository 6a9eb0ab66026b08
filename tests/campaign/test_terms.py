"""The terms a campaign is created on: refused, compared, and agreed on by many at once."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

import whichdo as wd
from tests.campaign.trials import create

if TYPE_CHECKING:
    from pathlib import Path


def test_the_same_terms_after_an_update_are_the_same(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    create(database).ask()
    monkeypatch.setattr("whichdo.campaign.terms.np.__version__", "99.0")
    assert create(database).status().tickets["asked"] == 1
    with pytest.raises(wd.ConflictError, match="on other terms"):
        create(database, horizon=41)


def test_many_begin_the_same_campaign_at_once(database: str) -> None:
    create(database, name="first").close()  # the tables are there
    found: list[object] = []

    def begin() -> None:
        try:
            found.append(create(database, policy="ue").status().events)
        except Exception as error:  # noqa: BLE001 - shown by the assertion
            found.append(error)

    threads = [threading.Thread(target=begin) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [1] * 6


@pytest.mark.parametrize(
    ("options", "text"),
    [({"margin": "a"}, "The margin is"), ({"grace": 5.0}, "there is no lease"), ({"margin": True}, "The margin is")],
)
def test_terms_that_make_no_sense_are_refused(tmp_path: Path, options: dict[str, Any], text: str) -> None:
    with pytest.raises(wd.UsageError, match=text):
        create(str(tmp_path / "a.db"), **options)
