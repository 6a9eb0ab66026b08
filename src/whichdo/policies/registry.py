"""Where policies register themselves by name, and what stands for one that is not there."""

from __future__ import annotations

import re
import sys
from dataclasses import field, make_dataclass
from functools import cache, partial
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, TypeVar

from whichdo.errors import UsageError
from whichdo.policies.base import Objective, Policy
from whichdo.text import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np

    from whichdo.evidence import Tally
    from whichdo.policies.base import Play
    from whichdo.problem import Problem


Kind = TypeVar("Kind", bound=type[Policy])
registered: dict[str, type[Policy]] = {}


def register(name: str) -> Callable[[Kind], Kind]:
    """Decorate a policy class so that it can be used by name.

    Parameters
    ----------
    name
        The name, such as ``"elimination"``.

    Returns
    -------
    callable
        A decorator that returns the class.

    Raises
    ------
    UsageError
        If another policy has the name.

    Examples
    --------
    >>> import whichdo as wd
    >>> from whichdo.policies.uniform import UniformExploration
    >>> wd.register("ue")(UniformExploration).name  # the same class again is accepted
    'ue'
    """

    def put(kind: Kind) -> Kind:
        known = registered.get(name)
        if known is not None and not _one_source(known, kind):
            raise UsageError(
                f"There is already a policy {quoted(name)}, {_place(known)}. Register {_place(kind)} by another name."
            )
        kind.name = name
        registered[name] = kind
        return kind

    return put


def _one_source(known: type[Policy], kind: type[Policy]) -> bool:
    """Whether two classes are one in the source: a file may be imported, and named by its path as well."""
    if known.__qualname__ != kind.__qualname__:
        return False
    file = _file(known)
    return known.__module__ == kind.__module__ or (file is not None and file == _file(kind))


def _file(kind: type[Policy]) -> str | None:
    return getattr(sys.modules.get(kind.__module__), "__file__", None)


def _place(kind: type[Policy]) -> str:
    """Where a class is written, as its user names it."""
    file = _file(kind)
    if kind.__module__.startswith("whichdo_policy_") and file is not None:  # loaded by its path
        name = re.split(r"[/\\]", file)[-1]
        return f"{name}:{kind.__qualname__}"
    return f"{kind.__module__}.{kind.__qualname__}"


def own_policies() -> Mapping[str, type[Policy]]:
    """Everything that is registered, all modules of this package among it."""
    _import_all()
    return registered


@cache
def _import_all() -> None:
    """Import the modules of this package once: campaigns ask for a policy whenever they are opened."""
    package = __name__.rpartition(".")[0]
    for module in iter_modules(sys.modules[package].__path__):
        import_module(f"{package}.{module.name}")


class AbsentPolicy(Policy):
    """Stands for a policy that a log names and that is not installed: it has its name and parameters, and cannot play.

    Its revision is below all others, so that what was decided before is followed and nothing is decided anew.
    """

    objective = Objective.SIMPLE
    looks = False
    revision = 0

    def play(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Play:  # noqa: ARG002
        """Refuse."""
        raise UsageError(f"The policy {self.name} is not installed{came_from(self)}.")


def absent_policy(name: str, given: Mapping[str, Any], origin: str | None) -> Policy:
    """Make what stands for a policy that is not installed; a ValueError where a log names parameters of no policy."""
    taken = [each for each in given if hasattr(Policy, each)]
    if taken:
        raise ValueError(f"a policy cannot have a parameter {taken[0]!r}")
    fields = [(each, Any, field(default_factory=partial(_same, value))) for each, value in given.items()]
    kind = make_dataclass("AbsentPolicy", fields, bases=(AbsentPolicy,), frozen=True)
    kind.name = name  # type: ignore[attr-defined]
    kind.origin = origin  # type: ignore[attr-defined]
    made: Policy = kind()
    return made


def _same(value: object) -> object:
    return value


def came_from(made: Policy) -> str:
    """Where a policy came from, as a remark; nothing where that is not known."""
    return f" (it came from {made.origin})" if made.origin else ""
