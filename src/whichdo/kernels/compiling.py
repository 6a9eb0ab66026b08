"""Kernels: functions that are compiled when they are first called.

Decorating a function costs nothing and loads no compiler, so that a command whose work is small starts at once.  The
first call loads numba, compiles, and keeps the result on disk (`whichdo.kernels.caching`), in a folder
that depends on the sources (`whichdo.kernels.folders`).
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, TypeVar, cast

from whichdo.kernels.folders import Compilable, folder_of, popcount, trailing_zeros

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "Kernel", "always_of_types", "before_first_use", "bound", "compiled", "inlined", "is_cold", "popcount",
    "trailing_zeros", "uncompiled",
]  # fmt: skip

Function = TypeVar("Function", bound=Callable[..., Any])

_compiling = threading.RLock()


class _Mode(threading.local):
    is_plain = False


_mode = _Mode()
"""Whether this thread runs kernels uncompiled."""


@contextlib.contextmanager
def uncompiled(is_small: bool = True) -> Iterator[None]:  # noqa: FBT001, FBT002 - what it is about
    """Run kernels as the Python functions they are, to the same last bit (`whichdo.kernels.uncompiled`).

    For a few choices, which take less than loading the compiler; what is not small is compiled.  So is everything where
    the C library cannot be reached, and the last bits would differ.
    """
    from whichdo.kernels.uncompiled import c_lgamma

    before, _mode.is_plain = _mode.is_plain, is_small and c_lgamma() is not None
    try:
        yield
    finally:
        _mode.is_plain = before


_modules: dict[str, None] = {}
"""Those that have kernels."""
_announcements: list[Callable[[], None]] = []


def before_first_use(announce: Callable[[], None]) -> None:
    """Call a function once, when a kernel is about to be compiled or loaded; small work never comes to that."""
    _announcements[:] = [announce]


class Kernel(Compilable):
    """A function that is compiled when it is first called; inside another kernel it is called as machine code."""

    def __init__(self, function: Callable[..., Any], *, inline: bool = False) -> None:
        update_wrapper(self, function)
        self._inline = inline
        self.py_func = function
        self._dispatcher: Any = None
        self._plain: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any) -> Any:
        """Compile, if that has not been done for arguments of these types, and run."""
        if _mode.is_plain:
            return self._run_plain(*arguments)
        return (self._dispatcher or self.dispatcher)(*arguments)

    def _run_plain(self, *arguments: Any) -> Any:
        from whichdo.kernels.uncompiled import plain_function, silent

        if self._plain is None:
            self._plain = plain_function(self.py_func)
        with silent():
            return self._plain(*arguments)

    @property
    def dispatcher(self) -> Any:
        """What numba makes of the function; loading numba takes most of a second."""
        if self._dispatcher is None:
            from whichdo.kernels.caching import dispatcher_of

            with _compiling:
                while _announcements:
                    _announcements.pop()()
                if self._dispatcher is None:
                    self._dispatcher = dispatcher_of(self.py_func, inline=self._inline)
        return self._dispatcher

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dispatcher, name)

    def __repr__(self) -> str:
        return f"<kernel {self.py_func.__module__}.{self.py_func.__qualname__}>"


def compiled(function: Function) -> Function:
    """Compile when first called, with the options all kernels share."""
    _modules[function.__module__] = None
    return cast("Function", Kernel(function))


def inlined(function: Function) -> Function:
    """As `compiled`, for a small helper with many arrays, whose code is put into that of its callers.

    An array goes into a call as seven words, so that passing a dozen of them takes as long as a small table.  Where a
    helper has a second way out (an early return, a range with a step, a check of a divisor), each array is counted as
    used at every call too, by an instruction that takes as long as a dozen sums.  So write it without; a division by 0
    gives infinity or NaN, as in numpy.  For `whichdo.estimate.kernel` this saves a third of the time.
    """
    _modules[function.__module__] = None
    return cast("Function", Kernel(function, inline=True))


def bound(function: Function, *arguments: object) -> Function:
    """The code of a compiled function for arguments of just these types; any other function as it is.

    A call of a compiled function first finds out the type of every array it is given, which for a large state takes
    four times as long as a policy's round.  The caller vouches that the types never change.
    """
    if _mode.is_plain or not isinstance(function, Kernel):
        return function
    from whichdo.kernels.caching import overload_for

    return cast("Function", overload_for(function.dispatcher, arguments))


def always_of_types(function: Function, *arguments: object) -> Function:
    """As `bound`, found once: for a function whose arguments have the same types in every call, in any problem."""
    if _mode.is_plain:
        return function
    found = _ALWAYS.get(function)
    if found is None:
        found = _ALWAYS[function] = bound(function, *arguments)
    return cast("Function", found)


_ALWAYS: dict[Callable[..., Any], Callable[..., Any]] = {}


def is_cold() -> bool:
    """Whether the first use will compile, which takes a few seconds."""
    return not any(folder is not None and any(folder.rglob("*.nbi")) for folder in map(folder_of, list(_modules)))
