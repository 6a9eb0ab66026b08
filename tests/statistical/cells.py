"""The list of cells in which intervals are checked: each factor varied around a base case, then 40 mixtures.

A cell is one kind of data set and one quantity that a 95% interval must hold: the mean of an arm,
its effect against do(), or the mean of the arm that is named best, by the interval that is
corrected for the choice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar
from zlib import crc32

import numpy as np

from tests.soak import FULL
from tests.statistical.measured import STEPS, Measured
from tests.statistical.worlds import Nodes, Reward, World, by_adjustment, by_front_door, by_napkin

if TYPE_CHECKING:
    from collections.abc import Sequence

Kind = TypeVar("Kind")

RATES = (0.005, 0.01, 0.02, 0.05, 0.3, 0.5)
LEVELS = (2, 5, 11, 21, 101, None)
"""Of the reward; None: any number in a range."""
STRATA = ((2,), (2, 2), (2, 2, 2), (2, 2, 2, 2), (2,) * 5, (2,) * 6, (2, 3, 5))
"""The values of each confounder."""
ROWS = (20, 50, 100, 200, 500, 2_000, 5_000, 20_000)
BY = ("looking", "pulls", "pooled")
SHARES = (0.5, 0.1, 0.02)
ARMS = (2, 3, 5, 10, 20, 40)
APART = (0.0, 0.1, 0.3, 1.0)


@dataclass(frozen=True)
class Cell:
    """One kind of data set, and what is to be covered; the defaults are the base case."""

    covers: str = "mean"
    """"mean" and "effect" are those of the last arm, "named" is the mean of the arm that is named best."""
    rate: float = 0.05
    levels: int | None = 2
    """Of the reward; None for one that is any number in a range."""
    scatter: float = 4.0
    """A reward of several levels is as wide as a Beta with so many rows behind it."""
    strata: tuple[int, ...] = (2, 2, 2)
    rows: int = 2_000
    by: str = "looking"
    """"pulls": looking settles nothing, and each arm was pulled as often as there are looks at do(); "pooled": each arm
    was pulled a tenth as often as there are looks."""
    share: float | None = 0.3
    """Of the last arm's setting among the looks; None where there are many arms: some are more common than others."""
    arms: int = 2
    apart: float = 0.5
    """How far arms lie apart, in log odds."""
    shape: str = "adjustment"
    """Or "front door", "napkin", or "nodes": binary causes, two arms each, every target set another."""
    weighted: bool = False
    """Whether rows were sampled unevenly and weigh accordingly."""

    def world(self, seed: int) -> World:
        """The world of this cell; another seed makes another one of the same kind."""
        rng = np.random.default_rng([seed, number_of(self)])
        reward = Reward(self.rate, self.levels or STEPS, self.scatter)
        odds = np.array([-self.apart, self.apart]) / 2 if self.arms == 2 else rng.normal(0, self.apart, self.arms)
        if self.shape == "nodes":
            return Nodes.made(rng, self.rate, self.arms // 2, self.apart)
        if self.shape == "front door":
            world = by_front_door(rng, reward, self.strata, odds)
        elif self.shape == "napkin":
            world = by_napkin(rng, reward, odds)
        else:
            world = by_adjustment(rng, reward, self.strata, odds, self.share, hidden=self.by == "pulls")
        if self.levels is None or self.weighted:
            return Measured.of_levels(world, numeric=self.levels is None, uneven=3.0 if self.weighted else 1.0)
        return world

    @property
    def pulls(self) -> int:
        """Of each arm."""
        return {"looking": 0, "pulls": self.rows, "pooled": self.rows // 10}[self.by]


def drawn_as(cell: Cell) -> Cell:
    """The cell whose data sets it has: but under ``make soak`` an effect has those of the mean like it."""
    return replace(cell, covers="mean") if cell.covers == "effect" and not FULL else cell


def number_of(cell: Cell) -> int:
    """A number for the data sets of a cell that is the same in every process."""
    return crc32(repr(drawn_as(cell)).encode())


def varied() -> list[Cell]:
    """Each factor around the base case."""
    found = []
    for covers in ("mean", "effect"):
        base = Cell(covers)
        found += [replace(base, rate=rate) for rate in RATES]
        found += [replace(base, levels=levels) for levels in LEVELS[1:]]
        found += [replace(base, levels=101, by="pulls", rows=rows, scatter=1.0) for rows in (20, 100)]
        found += [replace(base, strata=strata) for strata in STRATA if strata != base.strata]
        found += [replace(base, rows=rows) for rows in ROWS if rows != base.rows]
        found += [replace(base, by="pulls", rows=rows) for rows in ROWS[:6]]
        found += [replace(base, by="pooled", rows=rows) for rows in (100, 500, 2_000)]
        found += [replace(base, share=share) for share in SHARES]
        found += [replace(base, shape="front door", strata=(2,), rate=rate) for rate in (0.02, 0.3)]
        found += [replace(base, shape="front door", strata=(2,), rows=rows) for rows in (100, 500)]
        found += [replace(base, shape="napkin", rate=0.3)]
        found += [replace(base, weighted=True, levels=levels) for levels in (2, None)]
    named = Cell("named", rate=0.3, strata=(2,), share=None)
    found += [replace(named, arms=arms, apart=0.1) for arms in ARMS]
    found += [replace(named, arms=arms, apart=0.1, by="pulls", rows=200) for arms in ARMS]
    found += [replace(named, arms=20, apart=apart) for apart in APART if apart != 0.1]
    found += [replace(named, arms=arms, shape="nodes", rows=1_000) for arms in (4, 10, 40)]
    found += [replace(named, arms=10, rate=rate, apart=0.3) for rate in (0.02, 0.05)]
    return list(dict.fromkeys(found))


def mixtures(seed: int, count: int = 40) -> list[Cell]:
    """Random combinations of all factors."""
    rng = np.random.default_rng(seed)

    def one(values: Sequence[Kind]) -> Kind:
        return values[int(rng.integers(len(values)))]

    found: list[Cell] = []
    while len(found) < count:
        covers = one(("mean", "effect", "named"))
        arms = one(ARMS) if covers == "named" else 2
        found.append(
            Cell(
                covers=covers,
                rate=one(RATES),
                levels=one(LEVELS),
                scatter=one((1.0, 4.0, 20.0)),
                strata=one(STRATA),
                rows=one(ROWS),
                by=one(BY),
                share=one(SHARES) if arms == 2 else None,
                arms=arms,
                apart=one(APART),
            )
        )
    return found


CELLS = (*varied(), *mixtures(20_261_118))
