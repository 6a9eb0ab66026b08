"""What is looked at after every tell: whether direct pulls contradict what looking says.

`WATCHES` is the place where such tests are hung up.  What they find is appended as ``alarm`` events in the transaction
of the tell; the arms concerned then fall back to direct pulls, and the play restarts with what is left of the budget.
The body of an alarm has ``text``, and ``confounded``: pairs of nodes between which a confounder seems to be missing.

A watch is a function of the state: `State.believed` is the problem with the confounders that were named before,
`State.evidence` all looks and pulls (with tables of direct pulls, if it asks for them).  It is called at every tell up
to 64 pulls and then whenever their number has grown by a sixty-fourth, since it reads all rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from whichdo.campaign.state import State

__all__ = ["WATCHES", "watched"]

WATCHES: list[Callable[[State], list[dict[str, Any]]]] = []
"""Each takes the state after a tell and gives the bodies of new alarms."""
OFTEN = 64


def watched(state: State) -> list[dict[str, Any]]:
    """The alarms that the state after a tell gives cause for."""
    if state.counted % max(1, state.counted // OFTEN):
        return []
    return [body for watch in WATCHES for body in watch(state)]
