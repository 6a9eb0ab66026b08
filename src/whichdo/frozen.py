"""Objects that never change, and what functions worked out about them, kept as long as they are."""

from __future__ import annotations

from functools import cached_property, wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Given = ParamSpec("Given")
Result = TypeVar("Result")


class Frozen:
    """Set up through ``__dict__``, and the same from then on."""

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a {type(self).__name__} cannot be changed; make a new one (tried to set {name})")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a {type(self).__name__} cannot be changed; make a new one (tried to delete {name})")

    @cached_property
    def _kept(self) -> dict[object, object]:
        """What functions that are `per_problem` have worked out; they alone write and read it."""
        return {}


class Owner(Protocol):
    """A problem, or whatever else results are kept with."""

    @property
    def _kept(self) -> dict[object, object]: ...


Kept = TypeVar("Kept", bound=Owner)


def per_problem(make: Callable[Concatenate[Kept, Given], Result]) -> Callable[Concatenate[Kept, Given], Result]:
    """Have a function of a problem work its result out once; it is kept as long as the problem is.

    The function owns its results: they are found by itself and what else it is given, which must be hashable.  Equal
    problems that are not the same object do not share them.
    """

    @wraps(make)
    def result(owner: Kept, /, *given: Given.args, **named: Given.kwargs) -> Result:
        key = (make, given, *named.items()) if given or named else make
        kept = owner._kept
        if key not in kept:
            kept[key] = make(owner, *given, **named)
        return kept[key]  # type: ignore[return-value]

    return result
