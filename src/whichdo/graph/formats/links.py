"""Edges and roles of nodes as the formats spell them, and a bound on how many edges groups may stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from whichdo.errors import TooLargeError
from whichdo.graph.formats.scan import show
from whichdo.text import nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Sized

    from whichdo.errors import Place
    from whichdo.graph.draft import Draft
    from whichdo.graph.formats.scan import Scanner


Link = Literal["->", "<-", "<->"]
LINKS: tuple[Link, ...] = ("->", "<-", "<->")

#: Members and edges that the groups of one text may stand for, repeated ones included.
MAX_GROUP_WORK = 1_000_000

#: Braces or brackets inside each other.  Nothing recurses, but 20 MB of "{" would fill the memory with open groups.
MAX_DEPTH = 1_000

DIRECTIONS: dict[str, Link] = {"forward": "->", "back": "<-", "both": "<->"}


def as_link(text: str) -> Link | None:
    """The text as a link, or None for anything else."""
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


# ---------------------------------------------------------------------------------------------------------------- roles

# Only a few attributes have a meaning here: those for hidden, exposure, outcome and selected.  An attribute with a
# value that is not one of them (a colour, a position) is for drawing and is passed over.  A bare word must be known,
# since a misspelt ``[latnet]`` would otherwise make a hidden variable an observed one.


Role = Literal["hidden", "exposure", "outcome", "selected"]
Marks = dict[Role, bool]

ROLES: dict[str, Role | None] = {
    "latent": "hidden",
    "unobserved": "hidden",
    "hidden": "hidden",
    "exposure": "exposure",
    "outcome": "outcome",
    "selected": "selected",
    "selection": "selected",
    "adjusted": None,
}
SHORT: dict[str, Role | None] = {
    "e": "exposure",
    "o": "outcome",
    "l": "hidden",
    "u": "hidden",
    "s": "selected",
    "a": None,
}
TRUE = frozenset(("1", "true", "yes"))
FALSE = frozenset(("0", "false", "no"))


def role(scanner: Scanner, key: str, value: str | None, start: int, *, short: bool = False) -> tuple[Role, bool] | None:
    """The role that an attribute gives (True) or denies (False); None for one that has no meaning here.

    ``value`` is None for a bare word; ``short`` allows dagitty's one-letter words.  ``start`` is where it stands.
    """
    if value is not None:
        if not has_meaning(key):
            return None
        truth = as_truth(value)
        if truth is None:
            raise scanner.error(f'{key} is {show(value)}: expected "yes" or "no" (also true, false, 1 or 0).', start)
        return meaning(key, truth=truth)
    word = key.lower()
    known = ROLES | SHORT if short else ROLES
    if word not in known:
        raise scanner.error(
            f"{show(key)} is not an attribute of a node.{nearest(word, ROLES)} Known: {', '.join(ROLES)}; "
            f"an attribute for drawing has a value, as in colour=red.",
            start,
        )
    given = known[word]
    return None if given is None else (given, True)


def has_meaning(key: str) -> bool:
    """Whether an attribute with a value says anything about a node's role."""
    return key.lower() == "observed" or key.lower() in ROLES


def meaning(key: str, *, truth: bool) -> tuple[Role, bool] | None:
    """The role that an attribute with a yes or a no gives (True) or denies (False)."""
    if key.lower() == "observed":
        return "hidden", not truth
    given = ROLES[key.lower()]
    return None if given is None else (given, truth)


def as_truth(value: str) -> bool | None:
    """A yes or no in any of its spellings; None for what is neither."""
    word = value.lower()
    return True if word in TRUE else False if word in FALSE else None


def give(draft: Draft, name: str, marks: Marks) -> None:
    """Tell a draft the roles of a node."""
    draft.node(
        name,
        hidden=marks.get("hidden", False),
        exposure=marks.get("exposure", False),
        outcome=marks.get("outcome", False),
        selected=marks.get("selected", False),
    )
