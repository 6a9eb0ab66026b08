"""How kernels are compiled and kept on disk; the one module that loads numba.

Processes that start together share the folders; each kernel is compiled by one of them, under a lock.  What is kept is
machine code that will run, so every file carries a checksum, and a folder of another user is not used.  A cache that is
damaged, full or forbidden costs time and nothing else: the kernel is compiled in memory, and a warning says so once.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import io
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numba
from llvmlite import ir
from numba.core import types
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.dispatcher import Dispatcher
from numba.extending import lower_builtin, type_callable, typeof_impl

from whichdo.kernels.folders import Compilable, folder_of, popcount, trailing_zeros, warn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None  # type: ignore[assignment]


LONGEST_COMPILATION = 120.0  # seconds after which a lock is taken for one that nobody will release


def dispatcher_of(function: Callable[..., Any], *, inline: bool = False) -> Any:
    """Numba's dispatcher of a kernel, kept on disk where a folder can be had; ``inline`` as `compiling.inlined` says.

    numba reads its setting for the folder when a function is decorated; it is put back, so that functions of others
    are kept where they want them.
    """
    before, folder = numba.config.CACHE_DIR, folder_of(function.__module__)
    numba.config.CACHE_DIR = str(folder or "")
    try:
        made = numba.njit(nogil=True, forceinline=inline, error_model="numpy" if inline else "python")(function)
        if folder is not None and isinstance(made, Dispatcher):
            try:
                made._cache = _SharedCache(function, folder)  # type: ignore[attr-defined]
            except (OSError, RuntimeError):  # numba tries to write there, and says no more than that it could not
                warn(f"Compiled code cannot be kept in {folder} (it cannot be written)")
        return made
    finally:
        numba.config.CACHE_DIR = before


def overload_for(made: Any, arguments: Sequence[object]) -> Callable[..., Any]:
    """The machine code for arguments of these types."""
    if not isinstance(made, Dispatcher):  # compiling is switched off
        return made  # type: ignore[no-any-return]
    signature = tuple(numba.typeof(argument) for argument in arguments)
    made.compile(signature)
    return made.get_overload(signature)


@typeof_impl.register(Compilable)  # type: ignore[untyped-decorator]
def _type_of_kernel(kernel: Compilable, context: Any) -> Any:  # noqa: ARG001 - numba's protocol
    """A kernel that another one calls."""
    return types.Dispatcher(kernel.dispatcher)


class _SharedCache(FunctionCache):  # type: ignore[misc]
    """Numba's cache of one kernel, where several processes begin at the same time.

    Numba writes an index first and the code second, without a lock: of two processes that save different signatures at
    once, one may later load the other's code.  Here a process that finds nothing keeps the lock until it has saved what
    it compiled; the others wait for it and load the result.
    """

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        super().__init__(function)
        if folder not in Path(self.cache_path).parents and Path(inspect.getfile(function)).exists():
            raise OSError(f"{folder} cannot be written")  # elsewhere, code outlives edits to what it depends on
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
        warn(f"Compiled code cannot be kept in {self.cache_path} ({reason or error})")

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


# -------------------------------------------------------------------------------------------------------- instructions


def _of_a_word(context: Any) -> Any:  # noqa: ARG001 - numba's protocol
    return lambda word: types.uint64(types.uint64)  # noqa: ARG005


type_callable(popcount)(_of_a_word)
type_callable(trailing_zeros)(_of_a_word)


@lower_builtin(popcount, types.uint64)  # type: ignore[untyped-decorator]
def _popcount(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
    return builder.ctpop(arguments[0])


@lower_builtin(trailing_zeros, types.uint64)  # type: ignore[untyped-decorator]
def _trailing_zeros(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
    return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))
