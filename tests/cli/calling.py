"""Running the command in this process."""

from __future__ import annotations

import sys
from functools import cache
from typing import NamedTuple

import pytest
import typer.main

from whichdo.cli import main

built = cache(typer.main.get_command)
"""Typer builds all commands anew at each call, which takes longer than most commands."""


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
        self.monkeypatch.setattr(typer.main, "get_command", built)
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = self.capsys.readouterr()
        assert "Traceback" not in out + err
        return Answer(int(ended.value.code or 0), out, err)
