"""Errors and their remedies: one message, worded for Python and for a shell."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle

import pytest

import whichdo as wd
from whichdo import errors
from whichdo.cli.app import state
from whichdo.cli.output import in_shell, worded
from whichdo.errors import ConflictError, DamagedError, InputError, WaitError, WhichdoError
from whichdo.remedies import Message, Option, Verb, in_python, phrased, separated

EVERY = [thing for _, thing in inspect.getmembers(errors, inspect.isclass) if issubclass(thing, WhichdoError)]


@pytest.mark.parametrize("kind", EVERY)
def test_every_exception_ends_in_error_and_has_an_exit_code(kind: type[WhichdoError]) -> None:
    assert kind.__name__.endswith("Error")
    assert 1 <= kind.exit_code <= 6
    assert kind.__doc__


OLD = {
    "Busy": errors.BusyError,
    "Damaged": errors.DamagedError,
    "NotOurs": errors.NotOursError,
    "ReplayDiverged": errors.ReplayDivergedError,
    "TooLarge": errors.TooLargeError,
    "TooNew": errors.TooNewError,
    "Unknown": (errors.UnknownCampaignError, errors.UnknownTicketError),
    "Unsuitable": errors.UnsuitableError,
    "Wait": errors.WaitError,
    "WorkerLost": errors.WorkerLostError,
}


@pytest.mark.parametrize("module", ["whichdo", "whichdo.errors"])
@pytest.mark.parametrize(("old", "new"), OLD.items())
def test_an_old_name_answers_with_the_new_one_and_a_warning(module: str, old: str, new: object) -> None:
    with pytest.warns(DeprecationWarning, match=rf"^{module}\.{old} is called \w+Error( or \w+Error)? now$") as seen:
        assert getattr(importlib.import_module(module), old) is new or old == "Unknown"
    assert seen[0].filename == __file__


def test_both_errors_that_unknown_stood_for_are_caught_by_it() -> None:
    with pytest.warns(DeprecationWarning, match="Unknown"):
        old = wd.errors.Unknown
    for kind in (errors.UnknownCampaignError, errors.UnknownTicketError):
        with pytest.raises(old):
            raise kind("There is none.")


@pytest.mark.parametrize(
    ("remedy", "python", "shell"),
    [
        (Option("arm"), "`arm`", "--arm"),
        (Option("missing", "drop"), 'missing="drop"', "--missing drop"),
        (Option("append", True, of="observe"), "observe(..., append=True)", "--append"),
        (Verb("recommend", "spring"), "campaign.recommend()", "whichdo recommend spring"),
        (
            Verb("resume", "my spring", {"reason": ...}),
            "campaign.resume(reason=...)",
            "whichdo resume 'my spring' --reason \"...\"",
        ),
        (
            Verb("amend", "spring", {"ticket": "1-ab", "row": '{"Y":1}', "reason": ...}),
            'campaign.amend("1-ab", row, reason=...)',
            'whichdo amend spring 1-ab \'{"Y":1}\' --reason "..."',
        ),
        (
            Verb("tell", "spring", {"ticket": "1-ab", "row": ...}),
            'campaign.tell("1-ab", row)',
            "whichdo tell spring 1-ab ROW",
        ),
        (
            Verb("start", "NAME", {"problem": "problem.toml", "horizon": 100, "db": "a b.db"}),
            "whichdo.Campaign.create(...)",
            "whichdo start NAME problem.toml --horizon 100 --db 'a b.db'",
        ),
    ],
)
def test_a_remedy_is_worded_for_python_and_for_a_shell(remedy: Option | Verb, python: str, shell: str) -> None:
    assert (in_python(remedy), in_shell(remedy)) == (python, shell)


def test_commands_name_the_database_that_was_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "database", "postgresql://me:secret@host/db")
    found = in_shell(Verb("resume", "spring", {"reason": ...}))
    assert found == "whichdo resume spring --reason \"...\" --db 'postgresql://me:***@host/db'"
    assert in_shell(Verb("start", "NAME", {"db": "x.db"})) == "whichdo start NAME --db x.db"


def test_an_error_speaks_python_and_is_worded_again() -> None:
    error = ConflictError("It is paused. To go on: ", Verb("resume", "spring", {"reason": ...}), ".")
    assert str(error) == "It is paused. To go on: campaign.resume(reason=...)."
    assert error.phrased(in_shell) == 'It is paused. To go on: whichdo resume spring --reason "...".'
    error.add(before="Line 3: ", after=" Nothing was stored.")
    assert str(error) == "Line 3: It is paused. To go on: campaign.resume(reason=...). Nothing was stored."
    assert worded(error.message).startswith("Line 3: It is paused. To go on: whichdo resume spring")
    assert InputError("of ", Option("arm")).within("a.csv").phrased(in_shell) == "a.csv: of --arm"


@pytest.mark.parametrize("error", [WaitError(Message("a ", Option("b")), ("1-ab",)), DamagedError("x", 4)])
def test_an_error_of_another_process_can_still_be_worded(error: WhichdoError) -> None:
    for same in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (type(same), str(same), same.__dict__) == (type(error), str(error), error.__dict__)
        assert same.phrased(in_shell) == error.phrased(in_shell)


def test_a_message_is_a_string_that_remembers_its_remedies() -> None:
    inner = Message("(", Option("missing", "drop"), ")")
    text = Message("Drop them ", inner, ". Nothing was stored.")
    assert text == 'Drop them (missing="drop"). Nothing was stored.'
    assert phrased(text.removesuffix(" Nothing was stored."), in_shell) == "Drop them (--missing drop)."
    assert phrased("plain", in_shell) == "plain"
    assert phrased(separated([Option("a"), Option("b")], " and "), in_shell) == "--a and --b"
    assert separated([], " and ") == ""


def test_a_remedy_cannot_be_lost_in_an_f_string() -> None:
    with pytest.raises(TypeError, match="beside the message"):
        f"{Option('arm')}"
