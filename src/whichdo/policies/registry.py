"""Where policies put themselves by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from whichdo.policies.base import Policy

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["register", "registered"]

Kind = TypeVar("Kind", bound=type[Policy])
registered: dict[str, type[Policy]] = {}


def register(name: str) -> Callable[[Kind], Kind]:
    """Make a policy known by this name."""

    def put(kind: Kind) -> Kind:
        kind.name = name
        registered[name] = kind
        return kind

    return put
