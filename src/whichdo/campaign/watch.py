"""What is looked at after every tell: whether direct pulls contradict what looking says, and whether it is enough.

What is found is appended in the transaction of the tell.  An ``alarm`` names the edge that is probably missing; the
arms concerned fall back to direct pulls, and the play restarts with what is left of the budget.  A campaign that was
begun to stop when sure is ``stopped`` when direct pulls make it so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whichdo.campaign.certainty import certainty
from whichdo.campaign.listening import worth_listening
from whichdo.problem import LOOK

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whichdo.campaign.state import State
    from whichdo.problem import Arm

__all__ = ["alarmed", "enough"]


def alarmed(state: State, told: Iterable[str]) -> list[dict[str, Any]]:
    """The bodies of new alarms, after these tickets came to count: of the arms pulled, or of all after a look."""
    arms: dict[Arm, None] = {}
    for name in told:
        pull = state.tickets[name]
        if pull.arm in state.forbidden or not pull.counted or not worth_listening(state.pulled[pull.arm]):
            continue
        arms |= dict.fromkeys(state.pulled if pull.arm.is_look else [pull.arm])
    tested = [arm for arm in arms if not arm.is_look]
    if not tested or not (state.logs or state.pulled[LOOK]):
        return []
    ear = state.ear()
    found = ear.conflicts(tested, state.suspects)[:1]  # one at a time: the next is judged in the mended graph
    return [
        {
            "text": conflict.message,
            "suspect": conflict.suspect.body,
            "edge": conflict.suspect.edge,
            "arms": list(map(str, conflict.lost)),
            "chance": conflict.chance,
        }
        for conflict in found
    ]


def enough(state: State) -> str | None:
    """Why the campaign may stop, if it was begun to stop when sure and direct pulls make it so."""
    terms = state.terms
    if not terms.stop or state.stopped is not None or not worth_listening(state.pulled.total()):
        return None
    found = certainty(state.allowed, state.direct(), margin=terms.margin)
    return found.words if found.may_stop else None
