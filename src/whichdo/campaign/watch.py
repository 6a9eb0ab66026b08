"""What is looked at after every tell: whether what was told still holds, and whether it is enough.

What is found is appended in the transaction of the tell, and the play restarts with what is left of the budget.

- Fresh looks that differ from the logs: the logs are out of date and are ``set_aside``.
- Direct pulls that contradict looking: where fresh looks differ from the logs, these are to blame; else the graph is
  wrong there, and an ``alarm`` names the edge that is probably missing, so that the arms concerned fall back to direct
  pulls.  Where there are too few fresh looks to tell, some are made first (an ``audited`` event).
- A campaign that was begun to stop when sure is ``stopped`` when its own pulls make it so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whichdo.campaign.beginnings import comparing
from whichdo.monitoring.certainty import certainty
from whichdo.monitoring.listening import worth_listening
from whichdo.monitoring.staleness import set_aside_text
from whichdo.problem import LOOK

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whichdo.campaign.state import State
    from whichdo.monitoring.conflict import Conflict
    from whichdo.monitoring.staleness import Difference

    Draft = tuple[str, dict[str, Any]]

__all__ = ["enough", "found_wrong"]


def found_wrong(state: State, told: Iterable[str]) -> list[tuple[Draft, str | None]]:
    """What is to be put on record after these tickets came to count, and why the play restarts after it; or nothing.

    One thing at a time: the next is judged in the mended graph, or without the logs.
    """
    pulls = [state.tickets[name] for name in told]
    heard = {
        pull.arm
        for pull in pulls
        if pull.counted and pull.arm not in state.forbidden and worth_listening(state.pulled[pull.arm])
    }
    if not heard or not (state.trusted or state.pulled[LOOK]):
        return []
    ear = state.ear()
    if LOOK in heard and state.trusted and (different := ear.outdated()) is not None:
        return [_set_aside(state, different)]
    found = ear.conflicts([arm for arm in state.pulled if not arm.is_look], state.suspects)
    if not found:
        return []
    looks = comparing(state)
    if looks:
        return [(looks[0], None)]
    blamed = ear.to_blame() if state.trusted else None
    if blamed is not None:
        return [_set_aside(state, blamed, found[0])]
    conflict = found[0]
    body = {
        "text": conflict.message,
        "suspect": conflict.suspect.body,
        "edge": conflict.suspect.edge,
        "arms": list(map(str, conflict.lost)),
        "chance": conflict.chance,
    }
    return [(("alarm", body), f"alarm: {conflict.suspect.edge} seems to be missing in the graph")]


def _set_aside(state: State, found: Difference | str, conflict: Conflict | None = None) -> tuple[Draft, str]:
    logs = state.trusted
    body = {"text": set_aside_text([log.name for log in logs], found, conflict), "logs": [log.sha256 for log in logs]}
    return ("set_aside", body), "the logs are out of date"


def enough(state: State) -> str | None:
    """Why the campaign may stop, if it was begun to stop when sure and direct pulls make it so."""
    terms = state.terms
    if not terms.stop or state.stopped is not None or not worth_listening(state.pulled.total()):
        return None
    found = certainty(state.allowed, state.direct(), margin=terms.margin)
    return found.words if found.may_stop else None
