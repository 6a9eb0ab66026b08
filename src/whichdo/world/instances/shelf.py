"""Instances by name: what ``whichdo simulate --list`` shows, and `whichdo.network` gives.

A name is that of a family, or of one of its members: ``experiment-1:3``, ``canonical:napkin``, ``structural:task-3``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whichdo.errors import UsageError
from whichdo.text import nearest, quoted
from whichdo.world.instances import experiment_1, experiment_2, experiment_4, experiment_5, families

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whichdo.world.instances.instance import Instance
    from whichdo.world.network import CausalNetwork


#: The paper's experiments at the paper's size: how many networks there are, and the first so many of them.
_PAPER: dict[str, tuple[int, Callable[[int], Sequence[Instance]]]] = {
    "experiment-1": (50, experiment_1),
    "experiment-2": (50, lambda count: experiment_2(12, count)),
    "experiment-4": (50, experiment_4),
    "experiment-5": (12, experiment_5),
}


def shelf() -> dict[str, str]:
    """The names of networks that need no file, each with a line about it."""
    found = {}
    for name, made in families().items():
        count, first = (_PAPER[name][0], _PAPER[name][1](1)) if name in _PAPER else (len(made()), made())
        members = [each.name.replace("/", ":") for each in first]
        if name == "canonical":
            found[name] = f"tiny networks, each with a way to go wrong ({', '.join(members)})"
        elif name == "structural":
            found[name] = f"Lee and Bareinboim's three tasks, over three lists of arms each ({', '.join(members)})"
        else:
            found[name] = f"{first[0].about} ({f'{name}:0 to {name}:{count - 1}' if count > 1 else 'one network'})"
    return found


def is_on_shelf(name: str) -> bool:
    """Whether a name begins with that of a family."""
    return name.partition(":")[0] in families()


def named_instance(name: str) -> tuple[Instance, str]:
    """The instance of a name, and its full name.

    Raises `UsageError` if there is no such family, or it has no such member.
    """
    family, _, member = name.partition(":")
    known: Sequence[Instance]
    if family not in families():
        raise UsageError(f"There is no network {quoted(name)}.{nearest(family, families())}")
    if family in _PAPER and _number(member, []) >= 0:
        count, number = _PAPER[family][0], _number(member, [])
        known = _PAPER[family][1](number + 1) if number < count else ()
    else:
        known = families()[family]()
        count = len(known)
        number = _number(member, [each.name.partition("/")[2] for each in known])
    if not 0 <= number < count:
        raise UsageError(
            f"There is no {quoted(name)}: {family} has "
            + (f"the networks {family}:0 to {family}:{count - 1}." if count > 1 else "one network, without a number.")
        )
    return known[number], f"{family}:{number}" if count > 1 else family


def _number(member: str, names: list[str]) -> int:
    """The number of a member of a family by its number or name; -1 for what is neither."""
    if member.isascii() and member.isdigit() and len(member) < 6:
        return int(member)
    return names.index(member) if member in names else -1 if member else 0


def network(name: str) -> CausalNetwork:
    """A causal network by name; ``whichdo simulate --list`` shows the names.

    Parameters
    ----------
    name
        A family, such as ``experiment-1``, or one of its members, such as ``canonical:napkin`` or
        ``structural:task-3``.

    Returns
    -------
    CausalNetwork
        The network; ``problem(reward)`` makes the problem that a learner faces.

    Raises
    ------
    UsageError
        If there is no such network; the message has the nearest name.

    Examples
    --------
    >>> import whichdo as wd
    >>> wd.network("structural:task-2").graph.nodes
    ('Z', 'X', 'Y')
    """
    if not isinstance(name, str):
        raise UsageError(f'A network is known by its name, such as "experiment-1"; found {quoted(name)}.')
    found, _ = named_instance(name)
    return found.network
