"""How kernels are compiled and where the result is kept.

Numba compiles on first use and keeps the result on disk.  An edit to a helper in another file does not invalidate
numba's own cache, so the kernels of a module are kept in a folder that is named by a hash of all sources they depend
on.  Processes that start together share the folders; each kernel is compiled by one of them, under a lock.

What is kept is machine code that will run, so every file carries a checksum, and a folder of another user is not used.
A cache that is damaged, full or forbidden costs time and nothing else: the kernel is compiled in memory, and a warning
says so once.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import re
import shutil
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir
from numba.core import types
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic

from whichdo.errors import CacheWarning

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None  # type: ignore[assignment]

__all__ = ["bound", "compiled", "is_cold", "popcount", "trailing_zeros"]

Function = TypeVar("Function", bound=Callable[..., Any])


def _read_sources() -> dict[str, bytes]:
    """The text of every module of the package."""
    package = Path(__file__).parents[1]
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = ("whichdo", *path.relative_to(package).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.read_bytes()
    return found


SOURCES = _read_sources()
IMPORTS = re.compile(
    rb"^(?:from|import|    from(?= whichdo\.kernels)) (whichdo[\w.]*)(?: import (\([^)]*\)|[^\n]*))?", re.MULTILINE
)


def _dependencies(module: str) -> set[str]:
    """The modules whose text can change what a module's kernels do: helpers from anywhere, constants one step away.

    Imports for type checkers are indented and left out, unless they name a type that kernels take.  A module outside
    the package may use any kernel.
    """
    if module not in SOURCES:
        return set(SOURCES)
    found: set[str] = set()
    waiting = [module, __name__]
    while waiting:
        each = waiting.pop()
        if each in found or each not in SOURCES:
            continue
        found.add(each)
        if each in {module, "whichdo.kernels"} or b"@compiled" in SOURCES[each]:
            for name, members in IMPORTS.findall(SOURCES[each]):
                waiting.append(name.decode())
                waiting += [f"{name.decode()}.{member}" for member in re.findall(r"\w+", members.decode())]
    return found


def _warn(what: str) -> None:
    """Warn that the cache is not used, whatever the reason, and say what to do about it."""
    text = f"{what}; kernels are compiled in memory, which takes some seconds. WHICHDO_CACHE names another folder."
    warnings.warn(text, CacheWarning, stacklevel=2)


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
        _warn(f"{base} belongs to another user, so compiled code in it is not used")
        return None
    oldest = time.time() - KEPT_DAYS * 86_400
    for folder in base.glob("numba-*"):
        with contextlib.suppress(OSError):
            if folder.stat().st_mtime < oldest:
                shutil.rmtree(folder, ignore_errors=True)
    return base if os.access(base, os.W_OK) else None


KEPT_DAYS = 30
LONGEST_COMPILATION = 120.0  # seconds after which a lock is taken for one that nobody will release
HOME = _cache_home()
FOLDERS: dict[str, Path | None] = {}
"""Where the kernels of each module are kept."""


def _folder(module: str) -> Path | None:
    """The folder of a module's kernels, named by a hash of all that can change them."""
    if module not in FOLDERS:
        FOLDERS[module] = None
        if HOME is not None:
            digest = hashlib.sha256()
            for name in sorted(_dependencies(module)):
                digest.update(SOURCES[name])
            folder = HOME / f"numba-{digest.hexdigest()[:16]}"
            with contextlib.suppress(OSError):
                folder.mkdir(exist_ok=True)
                os.utime(folder)  # the date of its last use
                FOLDERS[module] = folder
    return FOLDERS[module]


def is_cold() -> bool:
    """Whether the first use will compile, which takes some seconds."""
    return not any(folder is not None and any(folder.rglob("*.nbi")) for folder in FOLDERS.values())


def compiled(function: Function) -> Function:
    """Compile with the options all kernels share; the result is kept on disk where a folder can be had.

    numba reads its setting for the folder when a function is decorated; it is put back, so that functions of others
    are kept where they want them.
    """
    before, folder = numba.config.CACHE_DIR, _folder(function.__module__)
    numba.config.CACHE_DIR = str(folder or "")
    try:
        kernel = numba.njit(nogil=True)(function)
        if folder is not None and isinstance(kernel, Dispatcher):
            kernel._cache = _SharedCache(function)  # type: ignore[attr-defined]
        return cast("Function", kernel)
    finally:
        numba.config.CACHE_DIR = before


class _SharedCache(FunctionCache):  # type: ignore[misc]
    """Numba's cache of one kernel, where several processes begin at the same time.

    Numba writes an index first and the code second, without a lock: of two processes that save different signatures at
    once, one may later load the other's code.  Here a process that finds nothing keeps the lock until it has saved what
    it compiled; the others wait for it and load the result.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _CheckedFile(self.cache_path, self._impl.filename_base, stamp)
        self._lock: int | None = None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        taken = self._take_lock()
        found = None
        try:
            found = super().load_overload(sig, target_context)
        except Exception as error:  # noqa: BLE001 - whatever a damaged file leads to, the kernel can be compiled
            self._leave_aside(error)
        if taken and found is not None:
            self._release_lock()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        self._take_lock()  # again, where a kernel that calls itself has released it
        try:
            super().save_overload(sig, data)
        except OSError as error:
            self._leave_aside(error)
        finally:
            self._release_lock()

    def _leave_aside(self, error: Exception) -> None:
        """Remove what cannot be read, so that it is written anew; where that is not possible either, do without."""
        try:
            self._cache_file.remove()
        except OSError:
            self.disable()
        reason = error.strerror if isinstance(error, OSError) else "it is damaged"
        _warn(f"Compiled code cannot be kept in {self.cache_path} ({reason or error})")

    def _take_lock(self) -> bool:
        """Take the lock of this kernel unless it is held; whether it was taken.

        Without locks (another system, a network disk), or when a process holds one for too long, numba's own cache
        remains: the kernel is compiled once more.
        """
        if self._lock is not None or fcntl is None:
            return False
        with contextlib.suppress(OSError):
            self._impl.locator.ensure_cache_path()
            self._lock = _locked(Path(self.cache_path) / f"{self._impl.filename_base}.lock")
        return self._lock is not None

    def _release_lock(self) -> None:
        if self._lock is not None:
            with contextlib.suppress(OSError):
                fcntl.flock(self._lock, fcntl.LOCK_UN)  # not by closing alone: a child of a fork has a copy
            os.close(self._lock)
            self._lock = None


class _CheckedFile(IndexDataCacheFile):  # type: ignore[misc]
    """Numba's files of one kernel, an index and the code, each with a checksum at its end.

    Without it a file that was cut off raises anything on loading, and one with a changed byte runs.
    """

    def remove(self) -> None:
        """Forget the index; the code that it names is written over."""
        Path(self._index_path).unlink(missing_ok=True)

    @contextlib.contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[io.BytesIO]:
        with super()._open_for_write(filepath) as file:
            written = io.BytesIO()
            yield written
            data = written.getvalue()
            file.write(data + hashlib.sha256(data).digest())

    def _load_index(self) -> Any:
        _check(Path(self._index_path))
        return super()._load_index()

    def _load_data(self, name: str) -> Any:
        _check(Path(self._data_path(name)))
        return super()._load_data(name)  # stops before the checksum


def _check(path: Path) -> None:
    """Refuse a file that is not what was written; one that is not there is numba's to deal with."""
    with contextlib.suppress(FileNotFoundError):
        data = path.read_bytes()
        if hashlib.sha256(data[:-32]).digest() != data[-32:]:
            raise ValueError(f"the checksum of {path.name} does not hold")


def _locked(path: Path) -> int:
    """An open file that no other process has locked, or has locked for too long."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    until = time.monotonic() + LONGEST_COMPILATION
    try:
        while time.monotonic() < until:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.02)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def bound(function: Function, *arguments: object) -> Function:
    """The code of a compiled function for arguments of just these types; any other function as it is.

    A call of a compiled function first finds out the type of every array it is given, which for a large state takes
    four times as long as a policy's round.  Whoever calls this vouches that the types stay what they are.
    """
    if not isinstance(function, Dispatcher):
        return function
    signature = tuple(numba.typeof(argument) for argument in arguments)
    function.compile(signature)
    return cast("Function", function.get_overload(signature))


@intrinsic  # type: ignore[untyped-decorator]
def popcount(typing_context: Any, word: Any) -> Any:  # noqa: ARG001 - numba's protocol
    """The number of set bits of a 64-bit word."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def trailing_zeros(typing_context: Any, word: Any) -> Any:  # noqa: ARG001 - numba's protocol
    """The position of the lowest set bit of a word that is not 0."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), codegen
