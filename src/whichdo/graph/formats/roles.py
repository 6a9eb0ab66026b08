"""What the attributes of a node say about it, in the words of dagitty, Graphviz, DoWhy and networkx.

Only a few attributes have a meaning here: those for hidden, exposure, outcome and selected.  An attribute with a value
that is none of them (a colour, a position) is for drawing and is passed over.  A bare word must be known, since a
misspelt ``[latnet]`` would otherwise make a hidden variable an observed one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from whichdo.errors import nearest
from whichdo.graph.formats.scan import show

if TYPE_CHECKING:
    from whichdo.graph.draft import Draft
    from whichdo.graph.formats.scan import Scanner

__all__ = ["Marks", "Role", "give", "role"]

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
    word = key.lower()
    if word == "observed" and value is not None:
        return "hidden", not _truth(scanner, key, value, start)
    known = ROLES | SHORT if short and value is None else ROLES
    if word in known:
        meaning = known[word]
        truth = value is None or _truth(scanner, key, value, start)
        return None if meaning is None else (meaning, truth)
    if value is None:
        raise scanner.error(
            f"{show(key)} is no attribute of a node.{nearest(word, ROLES)} Known are {', '.join(ROLES)}; "
            f"an attribute for drawing has a value, as in colour=red.",
            start,
        )
    return None


def give(draft: Draft, name: str, marks: Marks) -> None:
    """Tell a draft the roles of a node."""
    draft.node(
        name,
        hidden=marks.get("hidden", False),
        exposure=marks.get("exposure", False),
        outcome=marks.get("outcome", False),
        selected=marks.get("selected", False),
    )


def _truth(scanner: Scanner, key: str, value: str, start: int) -> bool:
    word = value.lower()
    if word in TRUE or word in FALSE:
        return word in TRUE
    raise scanner.error(f'{key} is {show(value)}: expected "yes" or "no" (also true, false, 1 or 0).', start)
