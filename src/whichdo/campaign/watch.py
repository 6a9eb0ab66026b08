"""What is looked at after every tell: whether direct pulls contradict what looking says.

`watched` is the place where such tests are hung up.  What it finds is appended as ``alarm`` events in the transaction
of the tell; the arms concerned then fall back to direct pulls, and the play restarts with what is left of the budget.
The body of an alarm has ``text``, and ``confounded``: pairs of nodes between which a confounder seems to be missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from whichdo.campaign.state import State

__all__ = ["WATCHES", "watched"]

WATCHES: list[Callable[[State], list[dict[str, Any]]]] = []
"""Each takes the state after a tell and gives the bodies of new alarms; a function of the state alone."""


def watched(state: State) -> list[dict[str, Any]]:
    """The alarms that the state after a tell gives cause for."""
    return [body for watch in WATCHES for body in watch(state)]
