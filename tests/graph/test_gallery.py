"""The named graphs: each parses, says what it shows, and matches the shared fixture."""

from __future__ import annotations

import pytest

from tests import twins
from whichdo.graph.gallery import Example, gallery
from whichdo.graph.identify import Route, verdicts
from whichdo.graph.projection import project

IN_THE_FIXTURE = {
    "back-door": "backdoor",
    "front-door": "frontdoor",
    "hidden-common-cause": "hiddenV",
    "paths-through-kept-nodes": "authors_bug",
    "chain-in-component": "s1_chain",
    "not-an-ancestor": "not_anc",
    "confounder-elsewhere": "two_comp",
    "napkin": "napkin",
    "bow": "bow",
}


@pytest.mark.parametrize("example", gallery.values(), ids=gallery)
def test_every_example_is_complete(example: Example) -> None:
    assert gallery[example.name] is example
    assert example.reward in example.graph
    assert example.shows
    assert example.source
    assert verdicts(example.graph, example.reward)


@pytest.mark.parametrize(("ours", "theirs"), IN_THE_FIXTURE.items())
def test_examples_of_the_fixture_are_the_same_graphs(ours: str, theirs: str) -> None:
    found, known = twins.plain(gallery[ours].graph), twins.canonical(theirs)
    assert set(found.nodes) == set(known.nodes)
    assert (found.arrows, found.bows) == (known.arrows, known.bows)


@pytest.mark.parametrize(
    ("name", "node", "route", "rescued", "given"),
    [
        ("back-door", "X", Route.ADJUSTMENT, False, ("Z",)),
        ("front-door", "X", Route.COMPONENT, False, ("M", "Y")),
        ("napkin", "X", Route.TRY, False, ("W1", "W2", "Y")),
        ("bow", "X", Route.TRY, False, ("Y",)),
        ("m-bias", "X", Route.ADJUSTMENT, True, ()),
        ("instrument", "Z", Route.ADJUSTMENT, False, ()),
        ("instrument", "X", Route.TRY, False, ("Z", "Y")),
        ("not-an-ancestor", "X", Route.SAME, False, ()),
        ("confounder-elsewhere", "X", Route.ADJUSTMENT, False, ("A",)),
        ("rescued", "X", Route.ADJUSTMENT, True, ()),
        ("experiment-3", "X2", Route.ADJUSTMENT, False, ("X1",)),
        (
            "infection",
            "work_from_home",
            Route.COMPONENT,
            False,
            ("social_distancing", "face_mask", "vaccination", "infection"),
        ),
        ("infection", "face_mask", Route.COMPONENT, False, ("vaccination",)),
        ("infection", "social_distancing", Route.ADJUSTMENT, False, ("work_from_home",)),
    ],
)
def test_an_example_shows_what_it_says(
    name: str, node: str, route: Route, rescued: bool, given: tuple[str, ...]
) -> None:
    example = gallery[name]
    verdict = verdicts(example.graph, example.reward)[node]
    assert (verdict.route, verdict.rescued) == (route, rescued)
    assert set(verdict.given) == set(given)


def test_the_projection_of_the_hidden_common_cause_is_confounded() -> None:
    graph = project(gallery["hidden-common-cause"].graph, ["A", "X", "Y"])
    assert graph.bidirected == {frozenset("AY")}


def test_the_infection_example_hides_its_two_backgrounds() -> None:
    graph = gallery["infection"].graph
    assert graph.hidden == {"economic_background", "social_background"}
    assert graph.bidirected == {
        frozenset({"work_from_home", "infection"}),
        frozenset({"face_mask", "vaccination"}),
    }
    assert graph.notes == ()


def test_the_gallery_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        gallery["mine"] = gallery["bow"]  # type: ignore[index]
