"""Running the command in this process."""

from __future__ import annotations

import sys
from typing import NamedTuple

import pytest

from whichdo.cli import main


class Answer(NamedTuple):
    code: int
    out: str
    err: str


class Call:
    """Runs the command in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capsys = monkeypatch, capsys

    def __call__(self, *words: str) -> Answer:
        self.monkeypatch.setattr(sys, "argv", ["whichdo", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = self.capsys.readouterr()
        assert "Traceback" not in out + err
        return Answer(int(ended.value.code or 0), out, err)
