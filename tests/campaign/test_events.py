"""Typed events: read once and written back byte for byte; decisions that change nothing."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import whichdo as wd
from tests.campaign.test_any_order import SETTINGS, Program, shown
from tests.campaign.trials import create, rng, run
from whichdo.campaign import events
from whichdo.campaign.chain import canonical, moment, sealed, time_text
from whichdo.campaign.commands import Allow, Amend, Ask, Forbid, Pause, Restart, Resume, Settle, Tell, Void
from whichdo.campaign.decide import decide
from whichdo.campaign.events import KINDS, Asked, Audited, Restarted, Told, body_of, said
from whichdo.campaign.state import State

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whichdo.campaign.chain import Event
    from whichdo.campaign.events import Said

YEARS = datetime(2, 1, 1), datetime(9998, 1, 1)  # noqa: DTZ001 - they get zones
NEPAL = timezone(timedelta(hours=5, minutes=45))
GOLDEN = Path(__file__).parents[1] / "golden"


def check(found: Iterable[Event]) -> set[str]:
    kinds = set()
    for event in found:
        assert canonical(body_of(said(event.kind, event.content))) == event.body
        kinds.add(event.kind)
    return kinds


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.jsonl")), ids=lambda path: path.stem)
def test_events_of_earlier_programs_are_written_back_byte_for_byte(path: Path) -> None:
    for line in path.read_text().splitlines()[:-1]:
        event = json.loads(line)
        assert canonical(body_of(said(event["kind"], event["body"]))) == canonical(event["body"])


def test_what_is_folded_at_once_is_what_is_read_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asks and tells are not read back from the JSON that was just written of them."""
    real, kinds = State.apply, set()

    def apply(self: State, event: Event, what: Said | None = None) -> None:
        if what is not None:
            assert what == said(event.kind, event.content)
            kinds.add(event.kind)
        real(self, event, what)

    monkeypatch.setattr(State, "apply", apply)
    campaign = create(str(tmp_path / "a.db"))
    run(campaign, rng(1), most=20)
    campaign.ask(2, client="me", key="last")
    assert kinds == {"asked", "told"}


@pytest.mark.slow("4 s: random programs of verbs, for events of every kind")
def test_events_of_any_program_are_written_back_byte_for_byte(tmp_path: Path) -> None:
    kinds = set()
    for seed in range(14):
        folder = tmp_path / str(seed)
        folder.mkdir()
        with suppress(wd.UnsuitableError, wd.UsageError):
            program = Program(folder, seed, **SETTINGS["long" if seed % 2 else "short"])
            program.check = lambda: None  # type: ignore[method-assign]
            program.run(40)
            kinds |= check(program.campaign.events())
            program.campaign.close()
    assert {"created", "observed", "asked", "told", "voided", "amended", "forbidden", "restarted", "audited"} <= kinds


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("told", {"ticket": "1-ab", "row": {"Y": 1}, "client": "bob", "late": True}),
        ("asked", {"client": "a", "play": 0, "needed": ["Y"], "tickets": [], "process": "7", "wanted": 0, "held": []}),
        ("restarted", {"reason": "r", "budget": 4.0}),
        ("restarted", {"reason": "r", "budget": 4.0, "kept": 0.0, "revision": 2, "made_by": {"whichdo": "9"}}),
        ("audited", {"pulls": {}, "budget": 0.0, "round": 3}),
        ("audited", {"pulls": {"do()": 5}, "budget": 9.0, "interim": True}),
        ("amended", {"ticket": "1-ab", "row": {"Y": 1}, "before": None, "reason": "r"}),
        ("stopped", {"reason": "sure"}),
        ("expired", {"tickets": ["1-ab", "2-cd"]}),
        ("closed", {"tickets": ["1-ab"]}),
        ("set_aside", {"text": "old", "logs": ["a", "b"]}),
        ("alarm", {"text": "t", "suspect": {"arm": "do(X=1)"}, "edge": "X <-> Y", "arms": ["do(X=1)"], "chance": 0.01}),
        ("observed", {"log": "l", "sha256": "0", "looks": 1, "tables": [], "bytes": 3, "since": "1", "database": {}}),
    ],
)
def test_what_is_optional_stays_so(kind: str, body: dict[str, Any]) -> None:
    assert canonical(body_of(said(kind, body))) == canonical(body)


def test_every_kind_has_a_class_and_says_what_it_is() -> None:
    assert {each.kind for each in vars(events).values() if isinstance(each, type) and hasattr(each, "kind")} == set(
        KINDS
    )
    assert all(each.__doc__ for each in KINDS.values())
    assert isinstance(said("told", {"ticket": "1-ab", "row": {}}), Told)


def test_keys_of_a_later_program_are_not_read(tmp_path: Path) -> None:
    """A later program may say more; what it says besides goes on record and is left alone."""
    campaign = create(str(tmp_path / "a.db"), policy="ue")
    first = campaign.events()[0]
    state = State(first)
    (asked,) = decide(state, Ask(1, "me"), campaign._ledger._now()).events
    assert isinstance(asked, Asked)
    more = body_of(asked) | {"mood": "good"}
    state.apply(sealed("spring", 1, "asked", more, first.time, first.hash))
    assert len(state.tickets) == 1


@pytest.mark.parametrize("kind", ["mended", "__init__", "created"])
def test_a_kind_that_is_not_known_is_damage(tmp_path: Path, kind: str) -> None:
    first = create(str(tmp_path / "a.db"), policy="ue").events()[0]
    body = first.content if kind == "created" else {}
    with pytest.raises(wd.DamagedError, match="cannot be understood"):
        State(first).apply(sealed("spring", 1, kind, body, first.time, first.hash))


@pytest.mark.parametrize("policy", ["warm-halving", "ts"])
def test_deciding_changes_nothing(tmp_path: Path, policy: str) -> None:
    """Every command, good or bad, decided twice on the same state: the same events or the same error."""
    campaign = create(str(tmp_path / "a.db"), policy=policy)
    run(campaign, rng(), most=9)
    out = campaign.ask(client="me")
    state, now = campaign._ledger.state(), campaign._ledger._now()
    told = next(iter(state.tickets))
    row = {"Z": 0, "X": 0, "W": 0, "Y": 1} | dict(out.arm.settings)
    arm = wd.do(X=1)
    orders = [
        Ask(1, "me"), Ask(9, "you"), Ask(2, "me", keyed=True), Tell(out.id, row), Tell(out.id, {}), Tell("9-zz", row),
        Tell(told, row), Void(out.id, "lost"), Void(told, "lost"), Amend(told, row, "r"), Amend(out.id, row, "r"),
        Pause("r"), Resume("r"), Forbid((arm,), "r"), Allow((arm,), "r"), Restart("r"), Settle(),
    ]  # fmt: skip
    Random(1).shuffle(orders)
    before = shown(state)

    def decided(order: Any) -> object:
        try:
            return decide(state, order, now)
        except wd.WhichdoError as error:
            return str(error)

    first = [decided(order) for order in orders]
    assert [decided(order) for order in orders] == first
    assert shown(state) == before
    assert sum(isinstance(each, str) for each in first) >= 5
    kinds = {type(event) for each in first if not isinstance(each, str) for event in each.events}  # type: ignore[attr-defined]
    assert {Asked, Told, Restarted} <= kinds
    assert Audited not in kinds


@given(when=st.datetimes(*YEARS, timezones=st.sampled_from([UTC, NEPAL])))
def test_a_moment_is_written_in_utc_to_the_microsecond(when: datetime) -> None:
    plain = when.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds")
    assert time_text(when) == f"{plain}Z"
    assert moment(time_text(when)) == when
