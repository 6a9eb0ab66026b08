"""How kernels are compiled and where the result is kept.

Numba compiles on first use and keeps the result on disk.  An edit to a helper in another file does not invalidate
numba's own cache, so the folder is named by a hash of the package's sources.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

__all__ = ["I64Array", "U8Array", "U64Array", "compiled", "popcount", "trailing_zeros"]

U8Array = np.ndarray[Any, np.dtype[np.uint8]]
I64Array = np.ndarray[Any, np.dtype[np.int64]]
U64Array = np.ndarray[Any, np.dtype[np.uint64]]
Function = TypeVar("Function", bound=Callable[..., Any])


def _cache_folder() -> str:
    """A writable folder named by the sources; ``WHICHDO_CACHE`` or the user's cache, else the temporary folder."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for source in sorted(package.rglob("*.py")):
        digest.update(source.read_bytes())
    name = f"numba-{digest.hexdigest()[:16]}"
    home = os.environ.get("WHICHDO_CACHE") or os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    for base in (Path(home) / "whichdo", Path(tempfile.gettempdir()) / f"whichdo-{os.getuid()}"):
        folder = base / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return str(folder)
    return ""


numba.config.CACHE_DIR = _cache_folder()


def compiled(function: Function) -> Function:
    """Compile with the options all kernels share; the result is kept on disk where a folder can be had."""
    return cast("Function", numba.njit(cache=bool(numba.config.CACHE_DIR), nogil=True)(function))


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
