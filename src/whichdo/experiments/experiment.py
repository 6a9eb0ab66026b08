"""What an experiment is: panels of points, networks and runs, the policies it compares, and the claims it tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from whichdo.policies.base import Objective

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np

    from whichdo.experiments.judging import Claim
    from whichdo.world.instances import Instance

    #: The instances of one network, one for each point; they may be the same object.
    Maker = Callable[[np.random.SeedSequence, Sequence[int]], Sequence[Instance]]


class Axis(StrEnum):
    """What changes from point to point."""

    BUDGET = "T"
    HARDNESS = "m"
    ROUND = "t"


@dataclass(frozen=True)
class Scale:
    """How large a panel is: its points on the axis, how many networks, and how often each policy meets each of them."""

    points: tuple[int, ...]
    networks: int
    runs: int


@dataclass(frozen=True)
class Panel:
    """One set of axes: a family of networks.

    ``name`` stands in the results; ``budget`` is the number of pulls, None where the points are the budgets.  A policy
    that is named with the key of one of ``lists``, as in ``ts@all``, meets the instances that this one makes: the same
    networks, with other arms on offer.
    """

    name: str
    title: str
    make: Maker
    full: Scale
    quick: Scale
    budget: int | None = None
    quick_budget: int | None = None
    lists: Mapping[str, Maker] = field(default_factory=dict)

    def maker(self, arms: str) -> Maker:
        """What makes the instances for policies with this list of arms; "" is the usual one."""
        return self.lists[arms] if arms else self.make

    def scale(self, quick: bool) -> Scale:  # noqa: FBT001 - the two sizes
        """The size asked for."""
        return self.quick if quick else self.full

    def pulls(self, point: int, quick: bool) -> int:  # noqa: FBT001
        """The budget of a run at a point."""
        fixed = self.quick_budget if quick and self.quick_budget is not None else self.budget
        return point if fixed is None else fixed


@dataclass(frozen=True)
class Experiment:
    """``paper`` are the policies that the experiment was made for, ``more`` those shown beside them."""

    number: int
    title: str
    about: str
    axis: Axis
    panels: tuple[Panel, ...]
    paper: tuple[str, ...]
    more: tuple[str, ...]
    claims: tuple[Claim, ...]
    by_root: bool = False
    """Drawn against the square root of m/T instead of m."""
    logarithmic: bool = False

    @property
    def name(self) -> str:
        """As files and anchors call it."""
        return f"experiment-{self.number}"

    @property
    def objective(self) -> Objective:
        """Which regret it is about."""
        return Objective.CUMULATIVE if self.axis is Axis.ROUND else Objective.SIMPLE
