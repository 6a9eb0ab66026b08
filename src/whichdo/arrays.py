"""What the package calls its arrays, for type checkers: one name for each kind of element."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
BoolArray = np.ndarray[Any, np.dtype[np.bool_]]
CodeArray = np.ndarray[Any, np.dtype[np.uint8]]
"""Codes of values: positions in a domain, of which there are 256 at most."""
IntArray = np.ndarray[Any, np.dtype[np.int64]]
Int32Array = np.ndarray[Any, np.dtype[np.int32]]
FloatArray = np.ndarray[Any, np.dtype[np.float64]]
WordArray = np.ndarray[Any, np.dtype[np.uint64]]
"""Words of 64 bits: packed rows, keys and states of generators, probabilities as integers."""
