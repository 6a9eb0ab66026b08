"""The report on a campaign: true to the log, the same bytes each time, safe whatever users write, fit for any state."""

from __future__ import annotations

import csv
import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.report.campaigns import Page, begun, rows, run
from whichdo.campaign.campaign import Campaign
from whichdo.campaign.events import Alarm
from whichdo.checking.what_if import what_if
from whichdo.errors import ConflictError, DamagedError
from whichdo.problem import Problem, do
from whichdo.report import trail
from whichdo.report.campaign_page import campaign_page, write_report
from whichdo.report.trail import ENDS, MOMENTS, recall

if TYPE_CHECKING:
    from pathlib import Path

FRONT_DOOR = Problem("X -> M; M -> Y; X <-> Y; Z -> Y", "Y", goal="minimize")
HOSTILE = ['<script>alert("1")</script>', "\"><img src=x onerror='alert(2)'>", "<u>&lt;b&gt; ]]> --> {{7*7}} ${x}"]


def page_of(campaign: Campaign) -> Page:
    return Page(campaign_page(campaign.events()))


def test_the_same_log_gives_the_same_bytes(tmp_path: Path) -> None:
    """Here, opened anew, and imported into another database."""
    campaign = begun(tmp_path, FRONT_DOOR, logs=rows(FRONT_DOOR, 200))
    run(campaign, 40)
    first = write_report(campaign, tmp_path / "first.html").read_bytes()
    campaign.export(tmp_path / "log.jsonl")
    again = Campaign.open(tmp_path / "campaigns.db", "spring")
    moved = Campaign.import_(tmp_path / "other.db", tmp_path / "log.jsonl")
    for number, other in enumerate((again, moved)):
        assert write_report(other, tmp_path / f"{number}.html").read_bytes() == first


def test_the_decision_comes_first_and_is_what_the_campaign_recommends(tmp_path: Path) -> None:
    campaign = begun(tmp_path, FRONT_DOOR, logs=rows(FRONT_DOOR, 200))
    run(campaign, 60, a5=0.1)
    advice = campaign.recommend()
    text = page_of(campaign).text
    place = [text.index(" ".join(sentence.split())) for sentence in advice.reasons]
    assert place == sorted(place)
    assert text.index(f"Best: {advice.arm}") < place[-1] < text.index("Every arm now")
    best = advice.ranking[advice.arm] if advice.arm is not None else None
    assert best is not None
    assert f"{best.written(advice.low)} to {best.written(advice.high)}" in text
    assert campaign.events()[-1].receipt in text


@pytest.mark.slow("1 s: recommends again at every moment of the page; finds a history that was not so")
def test_every_moment_is_what_would_have_been_recommended_then(tmp_path: Path) -> None:
    campaign = begun(tmp_path, FRONT_DOOR, logs=rows(FRONT_DOOR, 300))
    run(campaign, 60, a3=0.2)
    found = recall(campaign.events())
    assert 2 < len(found.moments) <= MOMENTS + 1
    assert (found.moments[0].pulls, found.moments[-1].pulls) == (0, 60)
    for moment in found.moments:
        then = campaign.recommend(at=moment.seq)
        assert moment.leader is not None
        assert (moment.leader.arm, moment.leader.estimate) == (then.arm, then.estimate)
    assert found.moments[-1].ranking.to_dict() == found.advice.ranking.to_dict()


def test_looking_and_own_pulls_are_shown_apart(tmp_path: Path) -> None:
    """A bow cannot be settled by looking: it has no line of looking; an arm never pulled has none of its own pulls."""
    problem = Problem("X -> Y; X <-> Y; Z -> Y", "Y")
    campaign = begun(tmp_path, problem, how="ue", horizon=50, logs=rows(problem, 100))
    text = page_of(campaign).text
    assert "looking alone (at one time, if the graph is right)" in text
    assert "not settled, between 0." in text
    assert "bounds: not settled, but between these ends" in text
    run(campaign, 50)
    found = recall(campaign.events())
    whole = campaign_page(campaign.events())
    kinds = {
        name: [colour in part for colour in ("#0072B2", "#D55E00", "#007A59")]
        for name, part in re.findall(r'<div class="name">(do\(.*?\))<(.*?</svg>)</div>\n', whole, re.DOTALL)
    }
    assert len(kinds) == 5
    assert kinds["do(X=1)"] == [True, False, True]
    assert kinds["do(Z=1)"] == [True, True, True]
    assert found.advice.certainty.words in Page(whole).text


def test_a_campaign_of_which_nothing_is_known(tmp_path: Path) -> None:
    page = page_of(begun(tmp_path, FRONT_DOOR))
    assert "Nothing is known yet" in page.text
    assert "nan" not in page.text.lower().split()
    assert "Nothing has been pulled yet." in page.text
    assert "No alarm is on record." in page.text
    assert "There were no logs" in page.text


def test_paused_forbidden_voided_and_open_are_said_with_their_reasons(tmp_path: Path) -> None:
    campaign = begun(tmp_path, FRONT_DOOR, how="ue", horizon=70)
    run(campaign, 10)
    first, _ = campaign.ask(2, client="lab")
    campaign.void(first, "survey lost")
    campaign.forbid(do(Z=1), "unethical")
    campaign.pause("holidays")
    text = page_of(campaign).text
    for words in (
        "paused", "Paused: holidays", "do(Z=1) (unethical)",
        "12 tickets handed out: 10 told, 1 open, 1 voided, 0 expired.",
        "1 out with open tickets", "(survey lost)", "No alarm is on record.",
    ):  # fmt: skip
        assert words in text


def test_costs_are_summed_by_arm(tmp_path: Path) -> None:
    """Every arm is pulled as often as 90 pay for: do() at 1, the four others at 2.5 each, 11 a round."""
    problem = Problem("X -> Y; Z -> Y", "Y", costs={do(): 1} | {do({n: v}): 2.5 for n in "XZ" for v in (0, 1)})
    campaign = begun(tmp_path, problem, how="ue", budget=90.0)
    run(campaign, 1_000)
    status, text = campaign.status(), page_of(campaign).text
    assert f"{status.spent:g} spent" in text
    assert "of a budget of 90" in text
    assert f"do(X=1) {status.by_arm['do(X=1)']} 0 2.5 {2.5 * status.by_arm['do(X=1)']:g}" in text


@pytest.mark.slow("2 s: 121 arms ranked at a dozen moments; finds a page that lists them all")
def test_of_many_arms_the_leading_are_shown_and_the_rest_counted(tmp_path: Path) -> None:
    problem = Problem("; ".join(f"X{number} -> Y" for number in range(60)), "Y")
    campaign = begun(tmp_path, problem, how="ue", horizon=300)
    run(campaign, 40)
    whole = campaign_page(campaign.events())
    assert "The leading 25 of 121 arms; 96 more are not shown." in whole
    assert whole.count('<svg class="track"') == 25
    assert "... and 10 more nodes." in whole


@pytest.mark.slow("0.8 s: two campaigns to their end, one of them audited")
def test_audits_and_an_early_end_are_said(tmp_path: Path) -> None:
    """Fresh looks first, then the arm that is named and all others."""
    campaign = begun(tmp_path, FRONT_DOOR, logs=rows(FRONT_DOOR, 200))
    run(campaign, 60)
    text = page_of(campaign).text
    kept = campaign.status().terms["audit"]
    assert f"{kept:g} of the budget kept for audits" in text
    audits = Counter[str]()
    for event in campaign.events():
        if event.kind == "audited":
            audits.update(event.content["pulls"])
            assert ", ".join(f"{count} x {arm}" for arm, count in event.content["pulls"].items()) in text
    assert 0 < audits.total() <= kept
    for arm, count in audits.items():
        assert f"{count} of {arm}" in text.split("For audits of what logs and graph say:")[1]
    sure = begun(tmp_path, Problem("X -> Y", "Y"), name="sure", how="ue", horizon=900, stop_when_sure=True, margin=0.1)
    run(sure, 900, a0=0.0, a1=0.0, a2=1.0)
    assert sure.status().phase == "finished"
    text = page_of(sure).text
    assert "stops when sure, by a margin of 0.1" in text
    (event,) = (each for each in sure.events() if each.kind == "stopped")
    assert f"stopped {event.content['reason']}"[:100] in text


def test_a_graph_too_large_to_draw_is_said(tmp_path: Path) -> None:
    problem = Problem("; ".join(f"X{number} -> Y" for number in range(400)), "Y", ["X0"])
    assert "The graph has 401 nodes, too many for a drawing" in page_of(begun(tmp_path, problem)).text


SEQ = r'<tr><td>(\d+)</td><td>[a-z]+</td><td class="what">'


def test_a_long_log_is_shown_in_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = begun(tmp_path, FRONT_DOOR, how="ue", horizon=150)
    run(campaign, 150)
    events = campaign.events()
    assert len(events) == 301
    monkeypatch.setattr(trail, "PAGE", 30)
    whole = campaign_page(events)
    assert whole.count("<details><summary>Events ") == 4
    assert "not shown" not in whole
    assert [int(found) for found in re.findall(SEQ, whole)] == [*range(301)]
    monkeypatch.setattr(trail, "PAGES", 1)
    some = campaign_page(events)
    assert "60 events between, not shown" in some
    left_out = range(ENDS + 30, 190)
    assert [int(found) for found in re.findall(SEQ, some)] == [each for each in range(301) if each not in left_out]


def test_an_alarm_is_loud_and_changes_the_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = {
        "text": "do(Z=1) <disagrees> with looking",
        "suspect": {"arm": "do(Z=1)", "kind": "estimate", "node": "Y"},
        "edge": "Z <-> Y",
        "arms": ["do(Z=1)"],
    }
    campaign = begun(tmp_path, FRONT_DOOR, how="ue", horizon=90)
    run(campaign, 5)
    found = [(Alarm.from_body(body), "alarm: Z <-> Y seems to be missing in the graph")]
    monkeypatch.setattr("whichdo.campaign.follow.found_wrong", lambda state, told: [] if state.alarms else found)
    run(campaign, 5)
    whole = campaign_page(campaign.events())
    assert '<li class="alarm">do(Z=1) &lt;disagrees&gt; with looking</li>' in whole
    assert "with the hidden causes that alarms have named" in whole
    assert "Restarted at" in whole
    assert "<tr><td>Z</td><td>must be tried</td>" in whole


# ------------------------------------------------------------------------------------------------------------- safety


def hostile(folder: Path) -> Campaign:
    script, image, odd = HOSTILE
    quoted = [name.replace("\\", "\\\\").replace('"', '\\"') for name in HOSTILE]
    problem = Problem(
        f'"{quoted[0]}" -> "{quoted[2]}"; "{quoted[1]}" -> "{quoted[2]}"; "{quoted[0]}" <-> "{quoted[1]}"',
        odd,
        domains={script: ("<i>no</i>", "' onload='x"), image: ("a" * 100, "</svg><script>")},
    )
    log = folder / "<u onclick=x>.csv"
    with log.open("w", newline="", encoding="utf-8") as file:
        looks = rows(problem, 30)
        csv.writer(file).writerows([list(looks), *zip(*looks.values(), strict=True)])
    campaign = begun(folder, problem, name=script, how="ue", horizon=40, logs=log)
    run(campaign, 9, client=image)
    campaign.void(campaign.ask(client=image), reason=image)
    campaign.forbid(problem.arms[1], reason=odd)
    campaign.pause(reason="</td></table></div><style>* { display: none }</style>")
    return campaign


def test_nothing_that_users_write_becomes_markup(tmp_path: Path) -> None:
    """Every kind of text that reaches the page, in the hands of somebody who means harm."""
    page = page_of(hostile(tmp_path))
    assert page.tags <= {
        "html", "meta", "title", "style", "h1", "h2", "p", "small", "span", "b", "i", "ul", "li", "div", "table", "tr",
        "th", "td", "caption", "code", "figure", "figcaption", "svg", "g", "line", "rect", "circle", "path", "polygon",
        "polyline", "text", "desc",
    }  # fmt: skip
    assert not [
        name for _, name, _ in page.attributes if name.startswith("on") or name in {"href", "src", "xlink:href"}
    ]
    for name in HOSTILE:
        assert name in page.text


def test_the_page_loads_nothing(tmp_path: Path) -> None:
    whole = campaign_page(hostile(tmp_path).events())
    assert "default-src 'none'" in whole
    assert set(re.findall(r"""https?://[^"' <]*""", whole)) <= {"http://www.w3.org/2000/svg"}
    assert "@import" not in whole
    assert "url(" not in whole


# ------------------------------------------------------------------------------------------------------------- writing


def test_a_page_is_replaced_and_nothing_else_is(tmp_path: Path) -> None:
    campaign = begun(tmp_path, FRONT_DOOR)
    path = write_report(campaign, tmp_path / "page.html")
    run(campaign, 3)
    assert write_report(campaign, path).read_text(encoding="utf-8") == campaign_page(campaign.events())
    before = (tmp_path / "campaigns.db").read_bytes()
    with pytest.raises(ConflictError, match="already exists and is a database"):
        write_report(campaign, tmp_path / "campaigns.db")
    assert (tmp_path / "campaigns.db").read_bytes() == before


def test_a_damaged_log_gives_no_page(tmp_path: Path) -> None:
    campaign = begun(tmp_path, FRONT_DOOR)
    run(campaign, 3)
    events = campaign.events()
    events[2] = events[2]._replace(time=events[3].time)
    with pytest.raises(DamagedError, match="event 2"):
        campaign_page(events)


def test_logs_that_contradict_the_graph_are_said_beside_it(tmp_path: Path) -> None:
    """A and B are the same in every row, and no edge joins them."""
    problem = Problem("A -> {X Y}; B -> {X Y}; X -> Y", "Y", ["X"])
    alike = rows(problem, 400)
    alike["B"] = alike["A"]
    text = page_of(begun(tmp_path, problem, logs=alike)).text
    assert "Looks and logs contradict the graph. 1 statement tested on 400 rows, 1 fails: A and B" in text
    assert "Likely missing: A <-> B, A -> B or B -> A." in text
    fair = page_of(begun(tmp_path, problem, "autumn", logs=rows(problem, 400))).text
    assert "Looks and logs do not contradict the graph. 1 statement tested on 400 rows, none fails." in fair


@pytest.mark.slow("0.8 s: ranks by every graph that is one edit away; finds a page without its answer")
def test_the_page_says_and_draws_what_would_become_of_the_choice_if_one_edge_were_wrong(tmp_path: Path) -> None:
    campaign = begun(tmp_path, FRONT_DOOR, logs=rows(FRONT_DOOR, 400))
    run(campaign, 20)
    seen = recall(campaign.events()).state.evidence(looks_alone=True)
    expected = what_if(seen.problem, seen)
    page = campaign_page(campaign.events())
    assert "If one edge is wrong" in Page(page).text
    assert all(" ".join(line.split()) in Page(page).text for line in expected.summary)
    assert expected.svg() in page
    assert all(each.edit in Page(page).text for each in expected.ordered[:12] if not each.keeps)


def test_without_looks_nothing_is_said_of_edges(tmp_path: Path) -> None:
    assert "If one edge is wrong" not in page_of(begun(tmp_path, FRONT_DOOR)).text
