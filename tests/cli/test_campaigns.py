"""Campaigns from the command line: a shell script can run one, and every mistake is a message and a code."""

from __future__ import annotations

import io
import json
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

import whichdo as wd
from tests.cli.calling import Answer, Call
from whichdo.campaign.storage import open_storage
from whichdo.cli import app as completion

if TYPE_CHECKING:
    import typer

ROOT = Path(__file__).parents[2]

PROBLEM = """
graph = "Z -> X; X -> Y; Z -> Y"
reward = "Y"
intervene = ["X"]
"""


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    monkeypatch.setenv("WHICHDO_DB", str(tmp_path / "campaigns.db"))
    (tmp_path / "problem.toml").write_text(PROBLEM)
    (tmp_path / "log.csv").write_text("Z,X,Y\n" + "0,0,0\n1,1,1\n0,1,1\n1,0,0\n" * 10)
    (tmp_path / "latin.jsonl").write_bytes(b"\xe4")
    (tmp_path / "other.jsonl").write_text('{"ticket": "1-ab"}')
    (tmp_path / "two.jsonl").write_text('{"Y": 1}\n{"Y": 0}\n')
    monkeypatch.chdir(tmp_path)
    return Call(monkeypatch, capsys)


def answer(found: Answer) -> Any:
    assert found.code == 0, found.err
    return json.loads(found.out)


def test_a_campaign_from_start_to_end(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = answer(
        call("start", "spring", "problem.toml", "log.csv", "--policy", "ue", "--horizon", "6", "-f", "json")
    )
    assert started["looks_in_logs"] == 40
    (ticket,) = answer(call("ask", "spring", "-f", "json"))["tickets"]
    assert ticket["arm"]["text"].startswith("do(")
    (again,) = answer(call("ask", "spring", "-f", "json"))["tickets"]
    assert (ticket["again"], again.pop("again")[:20]) == (None, "handed out before, a")
    assert again | {"again": None} == ticket
    value = ticket["arm"]["settings"].get("X", 0)
    row = json.dumps({"Z": 0, "X": value, "Y": 1})
    (told,) = answer(call("tell", "spring", ticket["id"], row, "--arm", ticket["arm"]["text"], "-f", "json"))[
        "receipts"
    ]
    assert told["ticket"] == ticket["id"]
    (again,) = answer(call("tell", "spring", ticket["id"], row, "-f", "json"))["receipts"]
    assert again == told | {"repeated": True}
    tickets = answer(call("ask", "spring", "-n", "5", "-f", "json"))["tickets"]
    assert len(tickets) == 5
    assert answer(call("void", "spring", tickets[0]["id"], "--reason", "lost", "-f", "json"))["receipts"][0]["receipt"]
    (tickets[0],) = answer(call("ask", "spring", "--client", "other", "-f", "json"))["tickets"]
    lines = "\n".join(json.dumps({"ticket": each["id"], "row": {"Y": 0}}) for each in tickets)
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
    assert len(answer(call("tell", "spring", "-", "-f", "json"))["receipts"]) == 5
    assert answer(call("ask", "spring", "-f", "json")) == {"tickets": [], "finished": True}
    amended = call("amend", "spring", ticket["id"], row.replace("1}", "0}"), "--reason", "a slip")
    assert (amended.code, amended.out.split(":")[0]) == (0, f"Amended {ticket['id']}")
    assert answer(call("status", "spring", "-f", "json"))["phase"] == "finished"
    found = answer(call("recommend", "spring", "-f", "json"))
    assert found["finished"]
    assert found["best"]["text"].startswith("do(")
    assert answer(call("status", "-f", "json")) == {"campaigns": ["spring"]}
    last = answer(call("verify", "spring", "--receipt", told["receipt"], "-f", "json"))["receipt"]
    assert last == found["receipt"]
    assert answer(call("export", "spring", "spring.jsonl", "-f", "json"))["events"] == int(last.split(":")[0]) + 1
    assert answer(call("import", "spring.jsonl", "--db", "other.db", "-f", "json"))["receipt"] == last
    assert answer(call("backup", "copy.db", "-f", "json"))["file"] == "copy.db"
    assert answer(call("verify", "spring", "--db", "copy.db", "-f", "json"))["receipt"] == last


def test_for_people(call: Call) -> None:
    started = call("start", "spring", "problem.toml", "log.csv", "--horizon", "40")
    assert "spring: running; maximize Y by warm-halving, 0 of 40 spent, 0 out, 40 left." in started.out
    assert "Next: whichdo ask spring" in started.out
    asked = call("ask", "spring", "-n", "2")
    assert len(asked.out.splitlines()) == 2
    assert "(tell " in asked.out
    status = call("status", "spring")
    assert "2 tickets: 0 told, 2 open, 0 voided, 0 expired." in status.out
    assert asked.out.split()[0] in status.out
    recommended = call("recommend", "spring")
    assert recommended.out.startswith("Best: do(X=1), mean Y ")
    assert "It rests on 40 looks from logs; do(X=1) itself on looks worth" in recommended.out
    assert "What would change it: direct pulls of do(X=1) that disagree" in recommended.out
    observed = call("observe", "spring", "log.csv")
    assert "log.csv: 40 looks observed before; counted once." in observed.out
    assert call("pause", "spring", "--reason", "holidays").code == 0
    assert "paused" in call("status", "spring").out
    assert call("resume", "spring", "--reason", "back").code == 0
    assert call("forbid", "spring", "do(X=1)", "--reason", "unsafe").code == 0
    assert "Forbidden: do(X=1) (unsafe)" in call("status", "spring").out
    assert call("allow", "spring", "do(X=1)", "--reason", "safe").code == 0
    assert call("restart", "spring", "--reason", "anew").code == 0
    assert call("verify", "spring").out.startswith("Intact: the hash chain is valid")


def test_an_update_is_shown_and_work_goes_on(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call("start", "spring", "problem.toml", "--policy", "ue", "--horizon", "20").code == 0
    assert call("ask", "spring", "-n", "2").code == 0
    assert answer(call("verify", "spring", "-f", "json"))["notes"] == []
    monkeypatch.setattr(wd.available_policies()["ue"], "revision", 2)
    text = "ue was updated from revision 1 to revision 2"
    assert f"{text}: it restarts at the next ask that needs a decision." in call("status", "spring").out
    note = "Play 0: 1 ask (event 1) decided by revision 1 of ue; this program has revision 2."
    said = call("verify", "spring")
    assert said.out.startswith("Intact: the hash chain is valid, and every other ask is what the policy asks.")
    assert note in said.out + said.err
    assert call("export", "spring", "spring.jsonl").code == 0
    said = call("import", "spring.jsonl", "--db", "copy.db")
    assert said.code == 0
    assert note in said.out + said.err
    assert len(answer(call("ask", "spring", "-n", "4", "-f", "json"))["tickets"]) == 4
    assert f"Restarted: {text}" in call("status", "spring").out
    monkeypatch.setattr(wd.available_policies()["ue"], "revision", 1)
    refused = call("ask", "spring", "--client", "other")
    assert refused.code == 5
    assert 'Campaign "spring" is decided by revision 2 of ue since whichdo' in refused.err


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["ask", "summer"], 3, 'UnknownCampaignError: There is no campaign "summer"'),
        (["tell", "spring", "9-zz", '{"Y": 1}'], 3, 'UnknownTicketError: There is no ticket "9-zz"'),
        (["tell", "spring", "TICKET", '{"Y": 7}'], 3, 'The reward Y: got "7", declared 0 and 1. Nothing was stored.'),
        (["tell", "spring", "TICKET", '{"Y": 1, "Y": 0}'], 3, "a name occurs twice in one object"),
        (["tell", "spring", "TICKET", '{"Y": NaN}'], 3, "NaN is not a number"),
        (["tell", "spring", "TICKET", "[1]"], 3, "a row is an object such as"),
        (
            ["tell", "spring", "TICKET", "none.json"],
            3,
            '"none.json" is neither JSON, such as {"X": 1, "Y": 0}, nor a file.',
        ),
        (["tell", "spring", "TICKET", ""], 3, '"" is neither JSON'),
        (
            ["start", "other", "problem.toml", "--horizon", "9", "--lease", "7"],
            2,
            '--lease is "7"; write one number above 0 and its unit: 7d',
        ),
        (["tell", "spring", "TICKET", '{"Y": 1}', "--arm", "do(Q=1)"], 3, "is not an arm of this problem"),
        (["amend", "spring", "TICKET", '{"Y": 1}', "--reason", "x"], 4, "nothing to amend yet"),
        (["resume", "spring", "--reason", "x"], 4, "is not paused"),
        (["start", "spring", "problem.toml", "--horizon", "9"], 4, "horizon 6 on record, 9 now."),
        (
            ["start", "b", "problem.toml", "--horizon", "9", "--lease", "soon"],
            2,
            '--lease is "soon"; write one number above 0 and its unit: 7d, 12h',
        ),
        (["start", "b", "problem.toml"], 2, "Give `horizon`"),
        (["void", "spring", "TICKET"], 2, "Missing option '--reason'"),
        (["ask", "spring", "--db", "nowhere.db"], 5, "There is no database nowhere.db"),
        (["ask", "spring", "--db", "problem.toml"], 5, "problem.toml is not a database of whichdo"),
        (["verify", "spring", "--receipt", "5"], 2, "is not a receipt"),
        (["verify", "spring", "--receipt", "99:" + "0" * 64], 5, "Event 99 is not on record"),
        (["import", "problem.toml"], 3, "is not an event of a campaign"),
        (["backup", "log.csv"], 4, "log.csv already exists"),
        (["backup", " "], 2, "Name the file to write."),
        (["tell", "spring", "-", "--key", "k"], 2, "--key and --arm go with one ticket and its row."),
        (["tell", "spring", "latin.jsonl"], 3, "latin.jsonl is not UTF-8 text: byte 0. Save it as UTF-8."),
        (["tell", "spring", "other.jsonl"], 3, 'where {"ticket": "1-ab", "row": {"Y": 1}} is expected.'),
        (["tell", "spring", "TICKET", "two.jsonl"], 3, "two.jsonl holds 2 rows; a ticket takes one."),
    ],
)
def test_mistakes_are_messages_and_codes(call: Call, words: list[str], code: int, text: str) -> None:
    call("start", "spring", "problem.toml", "--policy", "ue", "--horizon", "6")
    (ticket,) = answer(call("ask", "spring", "-f", "json"))["tickets"]
    before = answer(call("status", "spring", "-f", "json"))
    found = call(*[ticket["id"] if word == "TICKET" else word for word in words])
    assert found.code == code
    assert text in " ".join(found.err.replace("│", " ").split())
    assert answer(call("status", "spring", "-f", "json")) == before


def test_a_conflict_says_what_to_type(call: Call) -> None:
    call("start", "spring", "problem.toml", "--policy", "ue", "--horizon", "6")
    (ticket,) = answer(call("ask", "spring", "-f", "json"))["tickets"]
    call("tell", "spring", ticket["id"], '{"Y": 1}')
    found = call("tell", "spring", ticket["id"], '{"Y": 0}')
    assert found.code == 4
    assert f'whichdo amend spring {ticket["id"]} \'{{"Y":0}}\' --reason "...".' in found.err


def test_what_the_ends_of_a_campaign_look_like(call: Call, tmp_path: Path) -> None:
    """Before the first, with more open tickets than are shown, and once nothing is left to ask."""
    open_storage(tmp_path / "campaigns.db", create=True).close()
    assert call("status").out == "No campaign yet.\n"
    call("start", "spring", "problem.toml", "--policy", "ue", "--horizon", "3", "--no-audit")
    tickets = answer(call("ask", "spring", "-n", "3", "-f", "json"))["tickets"]
    assert call("status", "spring", "--top", "1").out.endswith("  ... and 2 more (--top, or -f json).\n")
    lines = [{"ticket": each["id"], "row": {"Z": 0, "X": 0, "Y": 1, **each["arm"]["settings"]}} for each in tickets]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, [*lines[:2], {"ticket": "9-zz", "row": {"Y": 1}}])))
    found = call("tell", "spring", "rows.jsonl")
    assert found.err.endswith(
        "It was not stored; the 2 lines before it were, and telling them again changes nothing.\n"
    )
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert call("tell", "spring", "rows.jsonl").code == 0
    assert call("ask", "spring").out == "Finished: nothing is left to ask. See: whichdo recommend spring\n"
    assert call("backup", "copy.db").out == "Copied into copy.db.\n"


def test_a_wait_ends_with_code_6(call: Call) -> None:
    call("start", "spring", "problem.toml", "--policy", "srm", "--horizon", "20")
    tickets = answer(call("ask", "spring", "-n", "20", "--client", "a", "-f", "json"))["tickets"]
    found = call("ask", "spring", "--client", "b", "-f", "json")
    assert found.code == 6
    assert json.loads(found.out) == {"tickets": [], "finished": False, "wait": [each["id"] for each in tickets]}
    assert call("ask", "spring", "--client", "b").code == 6


def test_lines_before_a_mistake_are_stored(call: Call, tmp_path: Path) -> None:
    call("start", "spring", "problem.toml", "--policy", "ue", "--horizon", "6")
    first, second = answer(call("ask", "spring", "-n", "2", "-f", "json"))["tickets"]
    lines = [{"ticket": first["id"], "row": {"Y": 0}}, {"ticket": second["id"], "row": {"Y": 5}}]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, lines)))
    found = call("tell", "spring", "rows.jsonl")
    assert found.code == 3
    assert found.err.startswith("DataError: Line 2: The reward Y:")
    assert found.err.endswith(
        "declared 0 and 1. It was not stored; the line before it was, and telling that again changes nothing.\n"
    )
    (tmp_path / "rows.jsonl").write_text(json.dumps(lines[0]) + "\nhello\n")
    found = call("tell", "spring", "rows.jsonl")
    assert "rows.jsonl, line 2 is not valid JSON (Expecting value at column 1)." in found.err
    assert "the line before it was, and telling that again changes nothing." in found.err
    (tmp_path / "rows.jsonl").write_text("\n")
    assert call("tell", "spring", "rows.jsonl").out == "Found no row; nothing was stored.\n"
    assert answer(call("status", "spring", "-f", "json"))["tickets"]["told"] == 1


def test_without_a_database_the_way_is_shown(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WHICHDO_DB")
    found = call("status")
    assert found.code == 2
    assert found.err.startswith("UsageError: Which database? Name it with --db, or set WHICHDO_DB")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("whichdo rec", ["recommend"]),
        ("whichdo status s", ["spring"]),
        ("whichdo recommend spr", ["spring"]),
        ("whichdo tell spring 1", ["1-"]),
        ("whichdo void spring 2", []),
        ("whichdo forbid spring do(X", ["do(X=0)", "do(X=1)"]),
        ("whichdo tell autumn 1", []),
        ("whichdo recommend --db none.db s", []),
        ("whichdo start summer problem.toml --policy caus", ["causal-kl-ucb", "causal-ts"]),
        ("whichdo simulate --policy warm", ["warm-halving"]),
    ],
)
def test_the_tab_key(call: Call, monkeypatch: pytest.MonkeyPatch, words: str, offered: list[str]) -> None:
    """As bash asks; of a ticket the number is compared."""
    assert call("start", "spring", "problem.toml", "--horizon", "60", "--policy", "ue").code == 0
    assert call("ask", "spring").code == 0
    asked = {"_WHICHDO_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    for name, value in asked.items():
        monkeypatch.setenv(name, value)
    found = call()
    assert [each[:2] if each.startswith("1-") else each for each in found.out.split()] == offered
    assert (found.code, found.err) == (0, "")


def test_rows_come_as_people_write_them(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call("start", "spring", "problem.toml", "--policy", "ue", "--horizon", "9").code == 0
    first, second, third = (each["id"] for each in answer(call("ask", "spring", "-n", "3", "-f", "json"))["tickets"])
    (tmp_path / "row.json").write_text('{\n  "Y": 1,\n  "note": "two\u2028lines"\n}\n')
    assert answer(call("tell", "spring", first, "row.json", "-f", "json"))["receipts"][0]["ticket"] == first
    line = json.dumps({"ticket": second, "row": {"Y": 1, "note": "two\u2028lines"}}, ensure_ascii=False)
    monkeypatch.setattr(sys, "stdin", io.StringIO(line))
    assert len(answer(call("tell", "spring", "-", "-f", "json"))["receipts"]) == 1
    assert f"The row is missing: whichdo tell spring {third}" in call("tell", "spring", third).err
    monkeypatch.setattr(sys, "stdin", io.StringIO("ticket,Y\n"))
    assert '{"ticket": "1-ab", "row": {"Y": 1}}' in call("tell", "spring", "-").err
    monkeypatch.setattr(sys, "stdin", None)
    found = call("tell", "spring", "-")
    assert (found.code, "standard input cannot be read: it is closed" in found.err) == (3, True)
    (tmp_path / "two.json").write_text('{"Y": 1}\n{"Y": 0}\n')
    assert "two.json holds 2 rows; a ticket takes one." in call("tell", "spring", third, "two.json").err


def test_nothing_asked_for_is_not_the_end(call: Call) -> None:
    assert call("start", "spring", "problem.toml", "--policy", "ue", "--horizon", "9").code == 0
    assert answer(call("ask", "spring", "-n", "0", "-f", "json")) == {"tickets": [], "finished": False}
    assert call("ask", "spring", "-n", "0").out == ""


def test_an_export_can_be_piped_and_never_overwrites_the_database(call: Call, tmp_path: Path) -> None:
    (tmp_path / "more.csv").write_text("Z,X,Y,day\n0,0,0,1\n")
    started = answer(call("start", "spring", "problem.toml", "more.csv", "--horizon", "20", "-f", "json"))
    assert any("day" in note for note in started["notes"])
    lines = call("export", "spring", "-").out.splitlines()
    assert [json.loads(line).get("kind") for line in lines] == ["created", "observed", None]
    found = call("export", "spring", "campaigns.db")
    assert (found.code, "already exists and is a database" in found.err) == (4, True)
    assert call("verify", "spring").code == 0


def test_commands_in_messages_can_be_pasted(call: Call) -> None:
    started = call("start", "spring sale", "problem.toml", "--policy", "srm", "--horizon", "20", "--db", "my own.db")
    assert "Next: whichdo ask 'spring sale' --db 'my own.db'\n" in started.out
    ticket = answer(call("ask", "spring sale", "-n", "20", "--db", "my own.db", "-f", "json"))["tickets"][0]["id"]
    row = '{"Z": 0, "X": 0, "Y": 0}'
    assert call("tell", "spring sale", ticket, row, "--db", "my own.db").code == 0
    found = call("tell", "spring sale", ticket, row.replace("0}", "1}"), "--db", "my own.db")
    command = found.err.partition("To correct it: ")[2].strip().removesuffix(".")
    assert shlex.split(command)[1:5] == ["amend", "spring sale", ticket, '{"X":0,"Y":1,"Z":0}']
    assert shlex.split(command)[-2:] == ["--db", "my own.db"]
    found = call("ask", "spring sale", "--client", "other", "--db", "my own.db")
    assert (found.code, found.err.startswith("WaitError: srm cannot go on until ")) == (6, True)


def test_what_a_campaign_was_begun_on_is_shown(call: Call) -> None:
    call("start", "spring", "problem.toml", "--policy", "ue", "--horizon", "9", "--lease", "7d", "--window", "36h")
    found = call("status", "spring")
    assert "Terms: lease 1w, grace 1w, window 36h." in found.out
    ticket = answer(call("ask", "spring", "-f", "json"))["tickets"][0]["id"]
    call("tell", "spring", ticket, '{"Y": 1}')
    status = answer(call("status", "spring", "-f", "json"))
    assert status["terms"]["window"] == 36 * 3600
    assert f"Told, but not counted yet: 1 pull; the next reward window closes at {status['next_window']}." in " ".join(
        call("status", "spring").out.split()
    )
    assert f"receipt {status['receipt']}" in call("status", "spring").out


def test_a_policy_that_takes_fewer_says_so(call: Call) -> None:
    call("start", "spring", "problem.toml", "--policy", "ts", "--horizon", "9")
    assert (
        "1 of 5: the policy needs the outcomes of open tickets before it asks for more."
        in call("ask", "spring", "-n", "5").out
    )


def test_an_import_of_what_is_there_says_so(call: Call) -> None:
    call("start", "spring", "problem.toml", "--horizon", "20")
    call("export", "spring", "log.jsonl")
    assert "It was already there" in call("import", "log.jsonl").out
    assert "It was already there" not in call("import", "log.jsonl", "--db", "other.db").out


def test_tab_does_not_write(call: Call, tmp_path: Path) -> None:
    """A lease is over, but pressing a key puts nothing on record."""
    call("start", "spring", "problem.toml", "--policy", "ue", "--horizon", "9", "--lease", "0.01s")
    call("ask", "spring")
    time.sleep(0.02)
    context = SimpleNamespace(params={"db": str(tmp_path / "campaigns.db"), "name": "spring"})
    assert len(completion.tickets(cast("typer.Context", context), "1")) == 1
    assert answer(call("status", "spring", "-f", "json"))["tickets"]["expired"] == 1


@pytest.mark.slow("12 s: bash starts the command eight times, as the page shows it")
def test_the_loop_of_the_docs_runs_a_campaign_to_its_end(call: Call, tmp_path: Path) -> None:
    if (bash := shutil.which("bash")) is None:
        pytest.skip("this system has no bash")
    call("start", "spring", "problem.toml", "--policy", "ue", "--horizon", "3")
    (loop,) = re.findall(r"```bash\n(.*?)```", (ROOT / "docs" / "campaign-shell.md").read_text(), re.DOTALL)
    (tmp_path / "experiment").write_text(
        """#!/bin/sh\ncase "$1" in "do()"|"do(X=0)"|"do(X=1)") echo '{"Y": 1}';; *) echo "$1";; esac\n"""
    )
    (tmp_path / "experiment").chmod(0o755)
    command = f'whichdo() {{ {shlex.quote(sys.executable)} -m whichdo "$@"; }}\n'
    found = subprocess.run([bash, "-c", command + loop], capture_output=True, text=True, timeout=120, check=True)
    assert [line.split(":")[0] for line in found.stderr.splitlines()] == ["Receipt"] * 3
    assert found.stdout.count("Told ") == 3
    assert "ue is finished" in found.stdout
