"""What the attributes of a node say about it, in the words of dagitty, Graphviz, DoWhy and networkx.

Only a few attributes have a meaning here: those for hidden, exposure, outcome and selected.  An attribute with a value
that is none of them (a colour, a position) is for drawing and is passed over.  A bare word must be known, since a
misspelt ``[latnet]`` would otherwise make a hidden variable an observed one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from whichdo.graph.formats.scan import show
from whichdo.text import nearest

if TYPE_CHECKING:
    from whichdo.graph.draft import Draft
    from whichdo.graph.formats.scan import Scanner

__all__ = ["Marks", "Role", "as_truth", "give", "has_meaning", "meaning", "role"]

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
            f"{show(key)} is no attribute of a node.{nearest(word, ROLES)} Known are {', '.join(ROLES)}; "
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
