"""Families of worlds that many tests play in, made once a process."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from whichdo.world.instances import families

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.world.instances import Instance


@cache
def family(name: str, seed: int = 0) -> Sequence[Instance]:
    """The instances of a family; some search for many draws until one misleads enough."""
    return families()[name](seed=seed)
