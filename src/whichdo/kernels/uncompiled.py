"""Kernels as the Python functions they are: the same to the last bit as their machine code, and no compiler is loaded.

Sums, products, quotients and roots are rounded alike everywhere.  Logarithms, exponentials and log gamma are not: numpy
and Python have code of their own for them, so that here, as in machine code, they come from the C library; where that
has no number to give it says infinity or NaN, and nothing is raised.  Words of 64 bits wrap around without a warning.
"""

from __future__ import annotations

import ctypes
import math
from functools import cache
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.kernels.folders import Compilable

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager


class _Numpy:
    """numpy, with the C library's logarithms and exponentials of single numbers."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        setattr(self, name, found)
        return found

    def log(self, x: float) -> float:
        return math.log(x) if x > 0.0 else -math.inf if x == 0.0 else math.nan

    def log1p(self, x: float) -> float:
        return math.log1p(x) if x > -1.0 else -math.inf if x == -1.0 else math.nan

    def exp(self, x: float) -> float:
        try:
            return math.exp(x)
        except OverflowError:
            return math.inf


_NUMPY = _Numpy()


@cache
def c_lgamma() -> Callable[[float], float] | None:
    """The C library's log gamma, which differs from Python's in the last bits; None where it cannot be reached."""
    try:
        found = ctypes.CDLL(None).lgamma
    except (AttributeError, OSError, TypeError):  # not a POSIX system
        return None
    found.restype, found.argtypes = ctypes.c_double, [ctypes.c_double]
    return found


def plain_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of a kernel, calling others as functions too."""
    return _plain(function, {})


def _plain(function: Callable[..., Any], made: dict[Callable[..., Any], Callable[..., Any]]) -> Callable[..., Any]:
    if function in made:
        return made[function]
    known: dict[str, Any] = dict(function.__globals__)
    found = FunctionType(function.__code__, known, function.__name__, function.__defaults__, function.__closure__)
    made[function] = found
    for name in function.__code__.co_names:
        each = known.get(name)
        if each is np:
            known[name] = _NUMPY
        elif each is math.lgamma:
            known[name] = c_lgamma()
        elif isinstance(each, Compilable):
            known[name] = _plain(each.py_func, made)
    return found


def silent() -> AbstractContextManager[Any]:
    """Machine code does not warn of numbers that overflow or are not there."""
    return np.errstate(all="ignore")
