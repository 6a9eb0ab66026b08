"""What the chain shows and what it does not: forged logs, receipts that are kept elsewhere, and hashes with a key."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import whichdo as wd
from tests.campaign.trials import create, rng, row_of, run, transaction
from tests.cli.calling import Call
from whichdo.campaign.chain import sealed
from whichdo.campaign.exchange import export_lines

if TYPE_CHECKING:
    from collections.abc import Callable


KEY = "correct horse battery staple"


def forge(campaign: wd.Campaign) -> None:
    """Rewrite the log as somebody can who may write the database: another outcome, and all hashes worked out anew."""
    events = campaign.events()
    victim = next(event for event in events if event.kind == "told")
    with transaction(campaign._store) as connection:
        previous = ""
        for event in events:
            body = event.content
            if event.seq == victim.seq:
                body["row"]["Y"] = 1 - body["row"]["Y"]
            new = sealed(event.campaign, event.seq, event.kind, body, event.time, previous or event.previous, event.key)
            connection.execute(
                "UPDATE whichdo_event SET body = ?, previous = ?, hash = ? WHERE seq = ?",
                (new.body, new.previous, new.hash, new.seq),
            )
            previous = new.hash
        connection.execute("UPDATE whichdo_campaign SET head = ?", (previous,))
    campaign.close()


def test_a_forged_log_holds_and_a_receipt_kept_elsewhere_shows_it(tmp_path: Path) -> None:
    kept = tmp_path / "receipts.jsonl"
    campaign = create(str(tmp_path / "a.db"), policy="ue", receipts=kept)
    run(campaign, rng(2), most=5)
    found = campaign.verify(receipts=kept)
    assert found.notes == (f"{len(kept.read_text().splitlines())} receipts in {kept}, all on record.",)
    forge(campaign)
    other = wd.Campaign.open(tmp_path / "a.db", "spring")
    assert other.verify()  # as docs/security.md says
    with pytest.raises(
        wd.DamagedError, match=r"receipts\.jsonl is not on record: event \d+ is .* or the log was replaced"
    ):
        other.verify(receipts=kept)


def test_every_write_leaves_its_receipt(tmp_path: Path) -> None:
    kept = tmp_path / "receipts.jsonl"
    campaign = create(str(tmp_path / "a.db"), policy="ue", receipts=kept)
    first, second, third = campaign.ask(3)
    receipts = [
        first.receipt,
        campaign.tell(first, row_of(first, rng())),
        campaign.void(second, "lost"),
        campaign.amend(first, row_of(first, rng(9)) | {"Z": 1}, "misread"),
        campaign.pause("holidays"),
        campaign.resume("back"),
        *campaign.observe({"Z": [0, 1], "X": [0, 1], "W": [1, 1], "Y": [0, 1]}),
        campaign.restart("new week"),
        campaign.tell(third, row_of(third, rng())),
        campaign.forbid("do(W=0)", "no"),
        campaign.allow("do(W=0)", "yes"),
    ]
    lines = [json.loads(line)["receipt"] for line in kept.read_text().splitlines()]
    assert {str(each) for each in receipts} <= set(lines)
    assert campaign.events()[-1].receipt == lines[-1]
    assert campaign.verify(receipts=kept)
    assert kept.stat().st_mode & 0o777 == 0o600


def test_events_that_were_cut_off_are_missed(tmp_path: Path) -> None:
    kept = tmp_path / "receipts.jsonl"
    campaign = create(str(tmp_path / "a.db"), policy="ue", receipts=kept)
    campaign.backup(tmp_path / "b.db")
    campaign.ask()
    old = wd.Campaign.open(tmp_path / "b.db", "spring")
    with pytest.raises(
        wd.DamagedError, match=r"1 receipt in .* are for events from 1 on, but the log ends with event 0"
    ):
        old.verify(receipts=kept)


def test_a_torn_line_is_passed_over_and_said(tmp_path: Path) -> None:
    kept = tmp_path / "receipts.jsonl"
    campaign = create(str(tmp_path / "a.db"), policy="ue", receipts=kept)
    kept.write_bytes(kept.read_bytes()[:-1] + b'\n{"campaign":"spri')
    campaign.ask()
    assert campaign.verify(receipts=kept).notes == (
        f"2 receipts in {kept}, all on record.",
        "1 line in it cannot be read.",
    )


def test_a_file_of_receipts_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with create("a.db") as campaign, pytest.raises(wd.InputError, match=r'There is no receipts file "none\.jsonl"'):
        campaign.verify(receipts="none.jsonl")


def test_files_that_hold_no_receipts(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("mine")
    with pytest.raises(wd.ConflictError, match="is not a file of receipts"):
        create(str(tmp_path / "a.db"), policy="ue", receipts=notes)
    assert notes.read_text() == "mine"
    campaign = create(str(tmp_path / "a.db"), policy="ue")
    before = campaign.verify()
    for path, kind in ((tmp_path / "a.db", wd.UsageError), (tmp_path / "no" / "file", wd.StorageError)):
        with pytest.raises(kind):
            wd.Campaign.open(tmp_path / "a.db", "spring", receipts=path).ask()
    assert campaign.verify() == before
    with pytest.raises(wd.InputError, match="contains no receipt of campaign"):
        campaign.verify(receipts=notes)


def test_commands_keep_and_check_receipts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WHICHDO_DB", "a.db")
    create("a.db", policy="ue")
    call = Call(monkeypatch, capsys)
    asked = call("ask", "spring", "--receipts", "kept.jsonl")
    assert asked.code == 0
    assert asked.err.strip() == f"Receipt: {json.loads((tmp_path / 'kept.jsonl').read_text())['receipt']}"
    monkeypatch.setenv("WHICHDO_RECEIPTS", "kept.jsonl")
    assert call("pause", "spring", "--reason", "holidays").code == 0
    answer = call("verify", "spring", "--receipts", "kept.jsonl")
    assert (answer.code, "2 receipts in kept.jsonl, all on record." in answer.out) == (0, True)


def test_with_a_key_a_log_cannot_be_forged_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHICHDO_KEY", KEY)
    campaign = create(str(tmp_path / "a.db"), policy="ue")
    assert campaign.events()[0].content["format"] == 3
    run(campaign, rng(2), most=5)
    assert campaign.verify()
    campaign.export(tmp_path / "a.jsonl")
    assert wd.Campaign.import_(tmp_path / "b.db", tmp_path / "a.jsonl").verify() == campaign.verify()
    assert create(str(tmp_path / "a.db"), policy="ue").verify() == campaign.verify()  # the same again
    forge(campaign)
    with pytest.raises(wd.DamagedError, match="is not what was written"):
        wd.Campaign.open(tmp_path / "a.db", "spring")
    calls: list[Callable[[], object]] = [
        lambda: wd.Campaign.open(tmp_path / "b.db", "spring"),
        lambda: wd.Campaign.import_(tmp_path / "c.db", tmp_path / "a.jsonl"),
    ]
    for key, said in (("", "have a key. Set WHICHDO_KEY"), (KEY + "!", "is not the key of campaign")):
        monkeypatch.setenv("WHICHDO_KEY", key)
        for call in calls:
            with pytest.raises(wd.StorageError, match=said):
                call()


def test_a_key_changes_nothing_for_a_campaign_that_began_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = create(str(tmp_path / "a.db"), policy="ue")
    monkeypatch.setenv("WHICHDO_KEY", KEY)
    run(campaign, rng(2), most=2)
    again = create(str(tmp_path / "a.db"), policy="ue")
    assert again.events()[0].content["format"] == 1
    assert again.verify().notes == ("WHICHDO_KEY is set, but this campaign began without a key: its hashes are plain.",)
    monkeypatch.setenv("WHICHDO_KEY", "short")
    with pytest.raises(wd.UsageError, match="WHICHDO_KEY has 5 characters, few enough to guess"):
        create(str(tmp_path / "b.db"), policy="ue")


def test_a_key_that_is_said_wrongly_is_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHICHDO_KEY", KEY)
    first = create(str(tmp_path / "a.db"), policy="ue").events()[0]
    wrong: list[Any] = ["hmac", {"how": "md5"}, []]
    for said in wrong:
        body = first.content | {"hashes": said}
        forged = [sealed("spring", 0, "created", body, first.time, first.previous)]
        (tmp_path / "forged.jsonl").write_text("".join(export_lines(forged)))
        with pytest.raises(wd.DamagedError, match="does not say how its hashes are made"):
            wd.Campaign.import_(tmp_path / "b.db", tmp_path / "forged.jsonl")


CLAIMS = (
    r"tamper|unforgeable|forge-?proof|cannot be (altered|forged|faked|manipulated)|guarantees? integrity|immutable log"
)


def test_no_sentence_claims_more_than_the_chain_shows() -> None:
    """Without a key anybody can work the hashes out; docs/security.md says what they find and what they do not."""
    root = Path(__file__).parents[2]
    pages = [root / "README.md", root / "SECURITY.md", *(root / "docs").rglob("*.md"), *(root / "src").rglob("*.py")]
    templates = [each for each in (root / "src").rglob("*") if each.suffix in {".html", ".j2", ".jinja"}]
    texts = {page: page.read_text(encoding="utf-8") for page in [*pages, *templates]}
    found = {page.name: re.findall(CLAIMS, text, re.IGNORECASE) for page, text in texts.items()}
    assert {name: claims for name, claims in found.items() if claims} == {}
    security = " ".join((root / "docs" / "security.md").read_text(encoding="utf-8").replace("*", "").split())
    assert "Anyone who can write the database can write another history" in security
