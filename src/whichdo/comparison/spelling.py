"""Policies as texts: ``srm`` or ``srm(second_phase=rejects)``, read without ever running what is written."""

from __future__ import annotations

import re
from dataclasses import Field, fields
from typing import TYPE_CHECKING, Any

from whichdo.errors import UsageError, nearest, quoted
from whichdo.policies import policies, policy

if TYPE_CHECKING:
    from whichdo.policies.base import Policy

__all__ = ["policy_text", "read_policy"]

WHOLE = re.compile(r"([^()]+)(?:\((.*)\))?")
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
LONGEST = 1_000


def read_policy(text: str) -> Policy:
    """The policy that a text names, with its parameters.

    >>> read_policy("srm(second_phase=rejects)")
    SRM(second_phase='rejects', pool=False, prune_parents=True)
    """
    whole = WHOLE.fullmatch(text.strip()) if len(text) <= LONGEST else None
    if whole is None:
        raise UsageError(
            f"{quoted(text)} is no policy; write a name, or a name with parameters such as srm(second_phase=rejects)."
        )
    name, listed = whole[1].strip(), (whole[2] or "").strip()
    if name not in policies():
        return policy(name)  # which says what names there are
    known = {each.name: each for each in fields(policies()[name])}  # type: ignore[arg-type]
    given: dict[str, Any] = {}
    for part in listed.split(",") if listed else ():
        key, equals, value = (word.strip() for word in part.partition("="))
        if not equals or not key or not value:
            raise UsageError(f"In {quoted(text)}, {quoted(part.strip())} is no parameter; write name=value.")
        if key not in known:
            raise UsageError(f"{name} has no parameter {quoted(key)}.{nearest(key, known)}{_listed(known)}")
        if key in given:
            raise UsageError(f"In {quoted(text)}, {key} is given twice.")
        given[key] = _value(name, known[key], value)
    return policy(name, **given)


def policy_text(made: Policy) -> str:
    """The text that names a policy: parameters that are not the default, but for large ones.

    >>> policy_text(policy("srm", second_phase="rejects")), policy_text(policy("srm"))
    ('srm(second_phase=rejects)', 'srm')
    """
    parameters: tuple[Field[Any], ...] = tuple(getattr(made, "__dataclass_fields__", {}).values())
    changed = {each.name: getattr(made, each.name) for each in parameters if each.repr}
    defaults = {each.name: each.default for each in parameters}
    said = [
        f"{key}={str(value).lower() if isinstance(value, bool) else value}"
        for key, value in changed.items()
        if value != defaults[key]
    ]
    return f"{made.name}({', '.join(said)})" if said else made.name


def _listed(known: dict[str, Field[Any]]) -> str:
    return f" It has {', '.join(known)}." if known else " It has none."


def _value(name: str, parameter: Field[Any], text: str) -> Any:
    """A value of the kind that the parameter is declared to be; its annotation is kept as a text."""
    kinds = {kind.strip() for kind in str(parameter.type).split("|")}
    place = f"{name}: {parameter.name} is {quoted(text)}; it must be"
    if "bool" in kinds:
        if text not in ("true", "false"):
            raise UsageError(f"{place} true or false.")
        return text == "true"
    if kinds & {"int", "float"}:
        whole = "float" not in kinds
        if not NUMBER.fullmatch(text) or (whole and not text.lstrip("+-").isdigit()):
            raise UsageError(f"{place} a {'whole ' if whole else ''}number.")
        return int(text) if whole else float(text)
    if "str" in kinds or str(parameter.type).startswith("Literal["):
        return text
    raise UsageError(
        f"{name}: {parameter.name} cannot be written as a text; in Python, "
        f'whichdo.policy("{name}", {parameter.name}=...).'
    )
