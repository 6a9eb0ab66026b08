"""The table of every arm, best first: what a ranking holds, says and draws."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.errors import counted
from whichdo.estimate.interventional import estimator
from whichdo.estimate.rarity import hardness
from whichdo.frames import frame_of
from whichdo.graph.identify import listed
from whichdo.graph.targets import ByTargets
from whichdo.problem import Arm, Goal, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whichdo.arrays import FloatArray
    from whichdo.estimate.interventional import Looked
    from whichdo.graph.targets import Targets

__all__ = ["DRAW_SEED", "ArmRank", "Ranking"]

DRAWS = 10_000
DRAW_SEED = 20_220_611


@dataclass(frozen=True)
class ArmRank:
    """One row of the table.  What is not known is NaN or None; the interval of an unknown arm is the whole range."""

    arm: Arm
    estimate: float
    low: float
    high: float
    identified: bool
    """Whether looking can settle this arm at all."""
    method: str
    """look, same, adjustment, component, direct, a sum of two of these ("adjustment + direct"), or none."""
    effective_n: float
    """How many direct pulls the evidence is worth."""
    direct: int
    """How many direct pulls there were."""
    conditional: float
    """The naive mean of the reward among rows that happen to have the value: what confounding makes of it."""
    weakest_cell: str | None
    weakest_count: int | None
    must_try: bool
    """Whether the arm has to be tried: looking cannot settle it, or never saw one of its cells."""
    reason: str

    @property
    def is_known(self) -> bool:
        """Whether there is any evidence; without any look the estimate is what smoothing makes of nothing."""
        return self.effective_n > 0 and not np.isnan(self.estimate)

    @property
    def is_ranked(self) -> bool:
        """Whether it can be compared: known, and not leaning on what was never seen."""
        return self.is_known and not self.must_try


class Ranking(Mapping[Arm, ArmRank]):
    """Every arm of a problem with what the data say about it; best first when iterated by `ordered`."""

    def __init__(
        self, problem: Problem, rows: list[ArmRank], looked: Looked, errors: FloatArray, notes: tuple[str, ...]
    ) -> None:
        self.problem = problem
        self.looks = int(looked.looks)
        self.notes = notes
        self._rows = {row.arm: row for row in rows}
        self._looked = looked
        self._errors = errors

    def __contains__(self, arm: object) -> bool:
        return arm in self._rows

    def __getitem__(self, arm: Arm) -> ArmRank:
        if arm not in self._rows:
            self.problem.index(arm)  # says which arms there are
        return self._rows[arm]

    def get(self, arm: Arm, default: Any = None) -> Any:
        """The row of an arm, or ``default`` where the problem has no such arm."""
        return self._rows.get(arm, default)

    def __iter__(self) -> Iterator[Arm]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    @cached_property
    def ordered(self) -> tuple[ArmRank, ...]:
        """The rows, best estimate first; then estimates that lean on what was never seen, then what has none."""
        return tuple(
            sorted(
                self._rows.values(),
                key=lambda row: (np.isnan(row.estimate), not row.is_ranked, -self._sign * row.estimate),
            )
        )

    @property
    def _sign(self) -> float:
        """Plus one where a large reward is good."""
        return -1.0 if self.problem.goal is Goal.MINIMIZE else 1.0

    @property
    def best(self) -> ArmRank:
        """The row of the best estimate among arms that are known; an arm that must be tried could be better."""
        return self.ordered[0]

    @cached_property
    def probability_best(self) -> float:
        """How likely the best estimate is the best of all arms that are known; approximate.

        10,000 draws of independent normals with the estimates and their errors, by a fixed seed.  Arms that share
        do()'s evidence share its draw.
        """
        sources = estimator(self.problem).sources
        shares = np.where(sources < 0, -1 - np.arange(len(sources)), sources)  # each wide arm has its own too
        for position, arm in enumerate(self._rows):
            if self._rows[arm].direct:  # an arm with pulls of its own has evidence of its own
                shares[position] = len(shares) + position
        means = np.array([row.estimate for row in self._rows.values()])
        sound = np.array([row.is_ranked for row in self._rows.values()])
        known = np.flatnonzero(sound)
        if not len(known):
            return float("nan")
        known = known[np.unique(shares[known], return_index=True)[1]]
        draws = np.random.default_rng(DRAW_SEED).normal(means[known], self._errors[known], (DRAWS, len(known)))
        winner = np.argmax(self._sign * draws, axis=1)
        best = self.problem.index(self.best.arm)
        return float(np.mean(shares[known[winner]] == shares[best]))

    @cached_property
    def rarity(self) -> ByTargets[float]:
        """The share of looks in the rarest cell of each target set; 0 where looking settles nothing.

        The cells are those that this ranking counts (`whichdo.counting.scopes.Reading.OURS`): of the nodes that act on
        the reward, as few as settle the arm.  The paper counts whole c-components with their parents, so its q, which
        `CausalNetwork.rarity` and the policy ``srm`` use, is mostly smaller.  It is not used here because it would need
        larger tables than the estimates do, and because it would not tell how well these estimates are known.
        """
        shares = self._looked.rarest / max(self._looked.looks, 1.0)
        return ByTargets(dict(zip(self.problem.target_sets, shares.tolist(), strict=True)))

    @cached_property
    def hardness(self) -> int:
        """The paper's m by `rarity` as counted here: looking serves all nodes but the m rarest.

        With the paper's cells, which are more and smaller, m would mostly be larger: `CausalNetwork.hardness` has it.
        """
        return hardness(list(self.rarity.values()), _component_sizes(self.problem))

    @cached_property
    def rare(self) -> tuple[Targets, ...]:
        """The target sets that are rarer than 1/m: by the paper's rule trying serves them better than looking."""
        q = np.array(list(self.rarity.values()))
        poor = q ** _component_sizes(self.problem) < 1 / self.hardness
        return tuple(targets for targets, rare in zip(self.problem.target_sets, poor, strict=True) if rare)

    @cached_property
    def summary(self) -> tuple[str, ...]:
        """The answer in a few sentences."""
        best, reward = self.best, self.problem.reward
        lines = [f"Best: {best.arm}, mean {reward} {best.estimate:.3f} ({best.low:.3f} to {best.high:.3f})."]
        lines.append(
            f"The best of the known arms with probability {self.probability_best:.0%} "
            f"(approximate: {DRAWS:,} draws of independent normals)."
        )
        naive = self._naive_best
        if naive is not None and naive.arm != best.arm and abs(naive.conditional - naive.estimate) > 0.01:
            lines.append(
                f"Comparing those who happen to have each value would have named {naive.arm} "
                f"({naive.conditional:.3f} where doing it gives {naive.estimate:.3f})."
            )
        if self.rare:
            rare = listed(" with ".join(targets) for targets in self.rare)
            lines.append(f"Hardness m = {self.hardness}; the rarest nodes, to be tried first: {rare}.")
        return tuple(lines)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What the reader must know before trusting the table."""
        untried = [str(row.arm) for row in self._rows.values() if row.must_try and np.isnan(row.estimate)]
        unseen = [str(row.arm) for row in self._rows.values() if row.must_try and not np.isnan(row.estimate)]
        found = list(self.notes)
        if untried:
            found.append(f"Not estimated, to be tried: {listed(untried)}.")
        if unseen:
            found.append(f"A cell was never seen, so the estimate leans on smoothing; to be tried: {listed(unseen)}.")
        return tuple(found)

    @cached_property
    def _naive_best(self) -> ArmRank | None:
        known = [row for row in self.ordered if not np.isnan(row.conditional) and not row.arm.is_look]
        return max(known, key=lambda row: self._sign * row.conditional, default=None)

    def to_dict(self) -> dict[str, list[Any]]:
        """The table by columns, arms as text, in the problem's order."""
        columns = [field.name for field in fields(ArmRank)]
        return {
            name: [str(row.arm) if name == "arm" else getattr(row, name) for row in self._rows.values()]
            for name in columns
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """The table as a data frame: "pandas", "polars" or "pyarrow"; by default the first that is installed."""
        return frame_of(self.to_dict(), backend)

    def plot(self, path: str | os.PathLike[str], *, title: str | None = None) -> None:
        """Draw the table into a file, PNG, SVG or PDF by its suffix: every estimate with its interval, best on top.

        The naive mean stands below each estimate, and an arm that must be tried is hollow.  Needs matplotlib, of which
        no global setting is touched.
        """
        from whichdo.estimate.forest import forest_plot

        forest_plot(self, Path(os.fspath(path)), title=title)

    def __repr__(self) -> str:
        best = self.best
        looks = counted(self.looks, "look")
        return f"<Ranking of {len(self)} arms from {looks}: best {best.arm}, {best.estimate:.3f}>"


def _component_sizes(problem: Problem) -> FloatArray:
    return np.array([len(verdict.component) for verdict in problem.verdicts.values()], dtype=np.float64)
