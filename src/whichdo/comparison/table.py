"""`compare`: several policies at several horizons on one network, as a table."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whichdo.comparison.spelling import policy_text, read_policy
from whichdo.errors import Unsuitable, UsageError, counted, quoted
from whichdo.evidence import whole_number
from whichdo.frames import frame_of, html_table, text_table
from whichdo.simulation import Job, check_horizon, simulate_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whichdo.policies.base import Policy
    from whichdo.problem import Problem
    from whichdo.progress import Progress
    from whichdo.simulation import Outcomes
    from whichdo.world.network import CausalNetwork

__all__ = ["Cell", "Comparison", "compare"]


@dataclass(frozen=True, eq=False)
class Cell:
    """One policy at one horizon: its runs, or the reason why it was not played."""

    policy: str
    horizon: float
    outcomes: Outcomes | None
    refusal: str | None = None
    """Why the policy cannot serve this horizon or this problem."""

    @property
    def regret(self) -> float:
        """The mean regret, in utility; NaN where there are no runs."""
        return nan if self.outcomes is None else self.outcomes.mean

    @property
    def error(self) -> float:
        """The standard error of the mean regret; NaN for a single run."""
        return nan if self.outcomes is None else self.outcomes.error

    @property
    def share_best(self) -> float:
        """The share of runs that named a best arm."""
        return nan if self.outcomes is None else self.outcomes.share_best

    @property
    def spent(self) -> float:
        """The mean of what the runs spent, in cost units."""
        return nan if self.outcomes is None else float(self.outcomes.spent.mean())


@dataclass(frozen=True, eq=False)
class Comparison:
    """A table with a row for each policy and horizon; made by `compare`."""

    problem: Problem
    runs: int
    seed: int
    cells: tuple[Cell, ...]
    """By policy in the order given, then by horizon."""

    @property
    def policies(self) -> tuple[str, ...]:
        """The policies as they are written: name, then parameters that are not the default."""
        return tuple(dict.fromkeys(cell.policy for cell in self.cells))

    @property
    def horizons(self) -> tuple[float, ...]:
        """The horizons, ascending."""
        return tuple(dict.fromkeys(cell.horizon for cell in self.cells))

    def __getitem__(self, place: tuple[str, float]) -> Cell:
        try:
            return self._places[place]
        except (KeyError, TypeError):
            known = f"Policies: {', '.join(self.policies)}; horizons: {', '.join(map(short, self.horizons))}."
            raise UsageError(f"{place!r} is no policy and horizon of this comparison. {known}") from None

    @cached_property
    def _places(self) -> Mapping[tuple[str, float], Cell]:
        return {(cell.policy, cell.horizon): cell for cell in self.cells}

    def to_dict(self) -> dict[str, list[Any]]:
        """The table by columns."""
        columns = ("policy", "horizon", "regret", "error", "share_best", "spent", "refusal")
        return {name: [getattr(cell, name) for cell in self.cells] for name in columns}

    def to_frame(self, backend: str | None = None) -> Any:
        """The table as a data frame: "pandas", "polars" or "pyarrow"; by default the first that is installed."""
        return frame_of(self.to_dict(), backend)

    def plot(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        ax: Any = None,
        title: str | None = None,
        force: bool = False,
    ) -> Any:
        """Draw mean regret against the horizon: a line for each policy.

        Into a file, PNG, SVG or PDF by its suffix; into axes of matplotlib (``ax``); or into a new figure.  Returns the
        figure.  A file that is there is replaced if it is a drawing of ours, or with ``force``.
        Bands are one standard error of the mean to each side.  No global setting of matplotlib is touched.
        """
        from whichdo.comparison.plot import regret_plot

        return regret_plot(self, None if path is None else Path(os.fspath(path)), ax=ax, title=title, force=force)

    def __str__(self) -> str:
        return text_table(self._heads, self._shown_rows)

    def _repr_html_(self) -> str:
        return html_table(self._heads, self._shown_rows, repr(self)[1:-1])

    @property
    def _heads(self) -> tuple[str, ...]:
        return ("policy", "horizon", "regret", "±", "best arm found")

    @property
    def _shown_rows(self) -> list[tuple[str, ...]]:
        """What people read: a policy that cannot serve a horizon says so."""
        rows: list[tuple[str, ...]] = []
        for cell in self.cells:
            known = cell.refusal is None
            numbers = (
                (f"{cell.regret:.4g}", f"{cell.error:.2g}", f"{cell.share_best:.0%}") if known else ("-", "-", "-")
            )
            rows.append((cell.policy, short(cell.horizon), *numbers))
        return rows

    def __repr__(self) -> str:
        policies, horizons = (
            f"{len(these)} {word}" if len(these) > 1 else f"1 {word[:-1]}"
            for these, word in ((self.policies, "policies "), (self.horizons, "horizons"))
        )
        return f"<Comparison of {policies.strip()} at {horizons}, {counted(self.runs, 'run')} each>"


def compare(
    policies: Iterable[Policy | str] | Policy | str,
    network: CausalNetwork,
    problem: Problem,
    *,
    horizons: Iterable[float] | float,
    runs: int,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | bool = False,
) -> Comparison:
    """Play several policies at several horizons, ``runs`` times each, all against the same worlds.

    A policy is a `Policy` or a text such as ``"srm"`` or ``"srm(second_phase=rejects)"``.  One that cannot serve a
    horizon is passed over there, and its cell holds the reason; if none can serve any, that is an error.  ``workers``
    and ``progress`` as for `simulate`; results do not depend on them.  Simple and cumulative regret are different
    scales, so policies of both kinds are not compared in one table.
    """
    played = _played(policies)
    _same_objective(played)
    lengths = _lengths(horizons)
    start = whole_number(seed, "seed")
    network.check(problem)
    refusals = {
        (name, horizon): _refusal(each, problem, horizon) for name, each in played.items() for horizon in lengths
    }
    wanted = [place for place, refusal in refusals.items() if refusal is None]
    if not wanted:
        raise Unsuitable(" ".join(dict.fromkeys(filter(None, refusals.values()))))
    jobs = [Job(played[name], horizon, start) for name, horizon in wanted]
    found = dict(
        zip(wanted, simulate_all(jobs, network, problem, runs, workers=workers, progress=progress), strict=True)
    )
    cells = tuple(Cell(*place, found.get(place), refusal) for place, refusal in refusals.items())
    return Comparison(problem, int(runs), start, cells)


def _same_objective(played: dict[str, Policy]) -> None:
    by_kind = {str(each.objective): name for name, each in played.items()}
    if len(by_kind) > 1:
        (first, one), (second, other) = by_kind.items()
        raise UsageError(
            f"{one} is about {first} regret and {other} about {second} regret, which are different scales. "
            f"Compare policies of one kind at a time."
        )


def short(number: float) -> str:
    """A budget as people write it: whole numbers without a point."""
    return f"{number:,.0f}" if number == int(number) else f"{number:,}"


def _played(given: Iterable[Policy | str] | Policy | str) -> dict[str, Policy]:
    from whichdo.policies.base import Policy

    found: dict[str, Policy] = {}
    for each in [given] if isinstance(given, (str, Policy)) else given:
        made = read_policy(each) if isinstance(each, str) else each
        if not isinstance(made, Policy):
            raise UsageError(f"{quoted(each)} is no policy; give a name or what whichdo.policy(...) makes.")
        name = policy_text(made)
        if name in found:
            raise UsageError(f"The policy {name} is listed twice.")
        found[name] = made
    if not found:
        raise UsageError("There is no policy to compare; name one, such as warm-halving.")
    return found


def _lengths(given: Iterable[float] | float) -> list[float]:
    numbers = [given] if isinstance(given, (int, float)) else list(given)
    if not numbers:
        raise UsageError("There is no horizon to compare at; give one, such as 500.")
    return sorted({check_horizon(number) for number in numbers})


def _refusal(policy: Policy, problem: Problem, horizon: float) -> str | None:
    try:
        policy.check(problem, horizon)
    except Unsuitable as refused:
        return str(refused)
    return None
