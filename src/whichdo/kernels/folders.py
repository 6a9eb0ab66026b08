"""Where compiled kernels are kept on disk, and what compiling and running them uncompiled have in common.

An edit to a helper in another file does not invalidate numba's own cache, so the kernels of a module are kept in a
folder that is named by a hash of all sources they depend on.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import time
import warnings
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whichdo.errors import CacheWarning

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np


KEPT_DAYS = 30


class Compilable:
    """A Python function that can be compiled: `whichdo.kernels.compiling.Kernel`."""

    py_func: Callable[..., Any]

    @property
    def dispatcher(self) -> Any:
        """What numba makes of the function."""
        raise NotImplementedError


def popcount(word: int | np.uint64) -> int:
    """The number of set bits of a 64-bit word; one instruction in compiled code."""
    return int(word).bit_count()


def trailing_zeros(word: int | np.uint64) -> int:
    """The position of the lowest set bit of a word that is not 0; one instruction in compiled code."""
    number = int(word)
    return (number & -number).bit_length() - 1


@cache
def sources() -> dict[str, bytes]:
    """The text of every module of the package."""
    package = Path(__file__).parents[1]
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = ("whichdo", *path.relative_to(package).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.read_bytes()
    return found


KERNEL = re.compile(rb"^@(?:compiled|inlined)\b", re.MULTILINE)
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
    waiting = [module, *(f"{__name__.rpartition('.')[0]}.{name}" for name in ("compiling", "caching", "folders"))]
    while waiting:
        each = waiting.pop()
        if each in found or each not in sources():
            continue
        found.add(each)
        if each in {module, "whichdo.kernels"} or KERNEL.search(sources()[each]):
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
    except (OSError, RuntimeError) as error:  # no home, or one that cannot be written
        warn(f"Compiled code cannot be kept ({error})")
        return None
    if hasattr(os, "geteuid") and owner != os.geteuid():
        warn(f"{base} belongs to another user, so compiled code in it is not used")
        return None
    oldest = time.time() - KEPT_DAYS * 86_400
    for folder in base.glob("numba-*"):
        with contextlib.suppress(OSError):
            if folder.stat().st_mtime < oldest:
                shutil.rmtree(folder, ignore_errors=True)
    if not os.access(base, os.W_OK):
        warn(f"Compiled code cannot be kept in {base} (it cannot be written)")
        return None
    return base


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
    except OSError as error:
        warn(f"Compiled code cannot be kept ({error})")
        return None
    return folder
