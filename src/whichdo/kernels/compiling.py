"""How kernels are compiled and where the result is kept.

Numba compiles on first use and keeps the result on disk.  An edit to a helper in another file does not invalidate
numba's own cache, so the folder is named by a hash of the package's sources.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir
from numba.core import types
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic

__all__ = ["bound", "compiled", "is_cold", "popcount", "trailing_zeros"]

Function = TypeVar("Function", bound=Callable[..., Any])


def _cache_folder() -> Path | None:
    """A writable folder named by the sources, below ``WHICHDO_CACHE`` or the user's cache; None if there is none.

    Nothing is kept in a shared temporary folder: what lies there could be someone else's.
    """
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for source in sorted(package.rglob("*.py")):
        text = source.read_bytes()
        if b"compiled" in text:  # only these hold kernels, or constants that kernels read
            digest.update(text)
    try:
        home = os.environ.get("WHICHDO_CACHE") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        base = Path(home) / "whichdo"
        folder = base / f"numba-{digest.hexdigest()[:16]}"
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
    except (OSError, RuntimeError):  # no home, or one that cannot be written
        return None
    _forget_old(base, folder)
    return folder if os.access(folder, os.W_OK) else None


def _forget_old(base: Path, current: Path) -> None:
    """Remove folders of other versions that were not used for a month."""
    oldest = time.time() - KEPT_DAYS * 86_400
    for other in base.glob("numba-*"):
        with contextlib.suppress(OSError):
            if other != current and other.stat().st_mtime < oldest:
                shutil.rmtree(other, ignore_errors=True)


KEPT_DAYS = 30
FOLDER = _cache_folder()


def is_cold() -> bool:
    """Whether the first use will compile, which takes some seconds."""
    return FOLDER is None or not any(FOLDER.rglob("*.nbi"))


def compiled(function: Function) -> Function:
    """Compile with the options all kernels share; the result is kept on disk where a folder can be had.

    numba reads its setting for the folder when a function is decorated; it is put back, so that functions of others
    are kept where they want them.
    """
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(FOLDER or "")
    try:
        return cast("Function", numba.njit(cache=FOLDER is not None, nogil=True)(function))
    finally:
        numba.config.CACHE_DIR = before


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
