"""Policies: one file an algorithm, found by name.

A new file in this folder whose class is decorated with ``@register("name")`` is all that a new policy takes.

``whichdo.policies`` is both this package and a function of the public API, ``wd.policies()``, whichever of the two was
asked for first: the package can be called.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any

from whichdo.errors import UsageError, nearest, quoted
from whichdo.policies.registry import registered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whichdo.policies.base import Policy

__all__ = ["policies", "policy"]


def _all() -> Mapping[str, type[Policy]]:
    """All policies by name."""
    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    return MappingProxyType(dict(sorted(registered.items())))


def policy(name: str, **parameters: Any) -> Policy:
    """A policy by name, with its parameters.

    >>> policy("srm", second_phase="rejects")
    SRM(second_phase='rejects', pool=False, prune_parents=True)
    """
    known = _all()
    if name not in known:
        raise UsageError(f"There is no policy {quoted(name)}.{nearest(name, known)} Known are {', '.join(known)}.")
    try:
        return known[name](**parameters)
    except TypeError as error:
        raise UsageError(f"The policy {name} does not take these parameters: {error}.") from None


class _CallablePackage(ModuleType):
    def __call__(self) -> Mapping[str, type[Policy]]:
        return _all()


if TYPE_CHECKING:

    def policies() -> Mapping[str, type[Policy]]:
        """All policies by name."""

else:
    sys.modules[__name__].__class__ = _CallablePackage
    policies = sys.modules[__name__]
