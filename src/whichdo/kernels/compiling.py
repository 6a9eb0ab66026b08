"""Kernels: functions that are compiled when they are first called.

Decorating a function costs nothing and loads no compiler, so that a command whose work is small starts at once.  The
first call loads numba, compiles, and keeps the result on disk (`whichdo.kernels.caching`).  An edit to a helper in
another file does not invalidate numba's own cache, so the kernels of a module are kept in a folder that is named by a
hash of all sources they depend on.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import threading
import time
import warnings
from collections.abc import Callable
from functools import cache, update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from whichdo.errors import CacheWarning

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

__all__ = [
    "Kernel",
    "always_of_types",
    "before_first_use",
    "bound",
    "compiled",
    "is_cold",
    "popcount",
    "trailing_zeros",
    "uncompiled",
]

Function = TypeVar("Function", bound=Callable[..., Any])

KEPT_DAYS = 30
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


class Kernel:
    """A function that is compiled when it is first called; inside another kernel it is called as machine code."""

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
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
                    self._dispatcher = dispatcher_of(self.py_func)
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


def popcount(word: int | np.uint64) -> int:
    """The number of set bits of a 64-bit word; one instruction in compiled code."""
    return int(word).bit_count()


def trailing_zeros(word: int | np.uint64) -> int:
    """The position of the lowest set bit of a word that is not 0; one instruction in compiled code."""
    number = int(word)
    return (number & -number).bit_length() - 1


# ------------------------------------------------------------------------------------------------------------- folders


@cache
def sources() -> dict[str, bytes]:
    """The text of every module of the package."""
    package = Path(__file__).parents[1]
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = ("whichdo", *path.relative_to(package).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.read_bytes()
    return found


IMPORTS = re.compile(
    rb"^(?:from|import|    from(?= whichdo\.kernels)) (whichdo[\w.]*)(?: import (\([^)]*\)|[^\n]*))?", re.MULTILINE
)


def dependencies(module: str) -> set[str]:
    """The modules whose text can change what a module's kernels do: helpers from anywhere, constants one step away.

    Imports for type checkers are indented and left out, unless they name a type that kernels take.  A module outside
    the package may use any kernel.
    """
    if module not in sources():
        return set(sources())
    found: set[str] = set()
    waiting = [module, __name__, f"{__name__.rpartition('.')[0]}.caching"]
    while waiting:
        each = waiting.pop()
        if each in found or each not in sources():
            continue
        found.add(each)
        if each in {module, "whichdo.kernels"} or b"@compiled" in sources()[each]:
            for name, members in IMPORTS.findall(sources()[each]):
                waiting.append(name.decode())
                waiting += [f"{name.decode()}.{member}" for member in re.findall(r"\w+", members.decode())]
    return found


def warn(what: str) -> None:
    """Warn that the cache is not used, whatever the reason, and say what to do about it."""
    text = f"{what}; kernels are compiled in memory, which takes a few seconds. WHICHDO_CACHE names another folder."
    warnings.warn(text, CacheWarning, stacklevel=2)


@cache
def _cache_home() -> Path | None:
    """A writable folder below ``WHICHDO_CACHE`` or the user's cache; None if there is none.

    Nothing is kept in a shared temporary folder: what lies there could be someone else's.  A folder that belongs to
    another user is refused for the same reason.
    """
    try:
        home = os.environ.get("WHICHDO_CACHE") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        base = Path(home) / "whichdo"
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
        owner = base.stat().st_uid
    except (OSError, RuntimeError):  # no home, or one that cannot be written
        return None
    if hasattr(os, "geteuid") and owner != os.geteuid():
        warn(f"{base} belongs to another user, so compiled code in it is not used")
        return None
    oldest = time.time() - KEPT_DAYS * 86_400
    for folder in base.glob("numba-*"):
        with contextlib.suppress(OSError):
            if folder.stat().st_mtime < oldest:
                shutil.rmtree(folder, ignore_errors=True)
    return base if os.access(base, os.W_OK) else None


@cache
def folder_of(module: str) -> Path | None:
    """The folder of a module's kernels, named by a hash of all that can change them; None where none can be had."""
    home = _cache_home()
    if home is None:
        return None
    digest = hashlib.sha256()
    for name in sorted(dependencies(module)):
        digest.update(sources()[name])
    folder = home / f"numba-{digest.hexdigest()[:16]}"
    try:
        folder.mkdir(exist_ok=True)
        os.utime(folder)  # the date of its last use
    except OSError:
        return None
    return folder


def is_cold() -> bool:
    """Whether the first use will compile, which takes a few seconds."""
    return not any(folder is not None and any(folder.rglob("*.nbi")) for folder in map(folder_of, list(_modules)))
