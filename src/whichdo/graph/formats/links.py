"""Edges as the formats spell them, and a bound on how many edges groups may stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from whichdo.errors import TooLargeError
from whichdo.graph.formats.scan import show

if TYPE_CHECKING:
    from collections.abc import Collection, Sized

    from whichdo.errors import Place
    from whichdo.graph.draft import Draft
    from whichdo.graph.formats.scan import Scanner

__all__ = ["LINKS", "Budget", "Link", "as_link", "check_depth", "direction", "join"]

Link = Literal["->", "<-", "<->"]
LINKS: tuple[Link, ...] = ("->", "<-", "<->")

#: Members and edges that the groups of one text may stand for, repeated ones included.
MAX_GROUP_WORK = 1_000_000

#: Braces or brackets inside each other.  Nothing recurses, but 20 MB of "{" would fill the memory with open groups.
MAX_DEPTH = 1_000

DIRECTIONS: dict[str, Link] = {"forward": "->", "back": "<-", "both": "<->"}


def as_link(text: str) -> Link | None:
    """The text as a link, or None when it is none of the three."""
    return text if text in LINKS else None


def join(draft: Draft, left: str, link: Link, right: str, place: Place | None) -> None:
    """Add one edge; the name on the left counts as mentioned first, whichever way the edge points."""
    if link == "->":
        draft.arrow(left, right, place)
    elif link == "<-":
        draft.node(left, place)
        draft.arrow(right, left, place)
    else:
        draft.confounded(left, right, place)


def direction(scanner: Scanner, value: str, start: int) -> Link:
    """What Graphviz's ``dir`` says of an edge that is drawn with ``->``."""
    link = DIRECTIONS.get(value.lower())
    if link is None:
        raise scanner.error(
            f'dir is {show(value)}: an edge points "forward", "back", or "both" ways (a hidden common cause). '
            f"An edge without a direction is not read.",
            start,
        )
    return link


def check_depth(scanner: Scanner, stack: Sized) -> None:
    """Refuse to open one more group or list at the present token when too many are open."""
    if len(stack) > MAX_DEPTH:
        raise TooLargeError(f"{scanner.place(scanner.start)}: more than {MAX_DEPTH:,} groups or lists are open here.")


class Budget:
    """Groups multiply: a small text can stand for more edges than could ever be drawn."""

    def __init__(self) -> None:
        self._spent = 0

    def spend(self, left: Collection[str], right: Collection[str], place: Place) -> None:
        """Count the edges between two groups."""
        self._spent += len(left) * len(right) + len(left) + len(right)
        if self._spent > MAX_GROUP_WORK:
            raise TooLargeError(
                f"{place}: the groups in braces stand for more than {MAX_GROUP_WORK:,} edges, "
                f"repeated ones included. Write fewer or smaller groups."
            )
