"""`compare`: several policies at several horizons or budgets on one network, as a table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isnan, nan
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.errors import UnsuitableError, UsageError
from whichdo.evidence import whole_number
from whichdo.frames import frame_of, html_table, plain, text_table
from whichdo.plots.canvas import WIDE, Plotted
from whichdo.policy_names import as_policy, policy_text
from whichdo.simulation import Job, length_of_run, simulate_all
from whichdo.text import counted, short_number, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from whichdo.policies.base import Policy
    from whichdo.problem import Problem
    from whichdo.progress import Progress
    from whichdo.simulation import Outcomes
    from whichdo.world.network import CausalNetwork


@dataclass(frozen=True, eq=False)
class Cell:
    """One policy at one horizon or budget: its runs, or the reason why it was not played."""

    policy: str
    budget: float
    """What the pulls of a run may cost together."""
    outcomes: Outcomes | None
    refusal: str | None = None
    """Why the policy does not support this budget or this problem."""
    horizon: int | None = None
    """The number of pulls of a run; None if budgets were compared."""

    @property
    def regret(self) -> float:
        """The mean regret, in utility; NaN where there are no runs."""
        return nan if self.outcomes is None else self.outcomes.mean

    @property
    def error(self) -> float:
        """The standard error of the mean regret; NaN for a single run."""
        return nan if self.outcomes is None else self.outcomes.error

    @property
    def interval(self) -> str:
        """The 95% interval of the mean regret in words; "?" for a single run."""
        if isnan(self.error):
            return "?"
        return f"{max(0.0, self.regret - WIDE * self.error):.3g} to {self.regret + WIDE * self.error:.3g}"

    @property
    def share_best(self) -> float:
        """The share of runs that named a best arm."""
        return nan if self.outcomes is None else self.outcomes.share_best

    @property
    def spent(self) -> float:
        """The mean of what the runs spent, in cost units."""
        return nan if self.outcomes is None else float(self.outcomes.spent.mean())


@dataclass(frozen=True, eq=False)
class Comparison(Plotted):
    """A table with a row for each policy and horizon, or policy and budget; made by `compare`.

    `plot` draws mean regret against the horizon or budget, a line for each policy; bands are 95% intervals of the mean.

    Attributes
    ----------
    problem
        The problem that was played.
    runs
        The number of runs in each row.
    seed
        The random seed.
    """

    problem: Problem
    runs: int
    seed: int
    cells: tuple[Cell, ...]
    """By policy in the order given, then by horizon or budget."""
    subject: str = ""
    """What was played, where it has a name: that of a network, or of a file."""

    @property
    def policies(self) -> tuple[str, ...]:
        """The policies as they are written: name, then parameters that are not the default."""
        return tuple(dict.fromkeys(cell.policy for cell in self.cells))

    @property
    def horizons(self) -> tuple[int, ...]:
        """The horizons, ascending; empty if budgets were compared."""
        return tuple(dict.fromkeys(cell.horizon for cell in self.cells if cell.horizon is not None))

    @property
    def budgets(self) -> tuple[float, ...]:
        """What the runs could spend, ascending."""
        return tuple(dict.fromkeys(cell.budget for cell in self.cells))

    @property
    def _length(self) -> str:
        """Which of the two was compared."""
        return "horizon" if self.horizons else "budget"

    def __getitem__(self, place: tuple[str, float]) -> Cell:
        try:
            return self._places[place]
        except (KeyError, TypeError):
            lengths = ", ".join(map(short_number, self.budgets))
            known = f"Policies: {', '.join(self.policies)}; {self._length}s: {lengths}."
            raise UsageError(f"{place!r} is not a policy and {self._length} of this comparison. {known}") from None

    @cached_property
    def _places(self) -> Mapping[tuple[str, float], Cell]:
        return {(cell.policy, cell.budget): cell for cell in self.cells}

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON can hold it, an entry for each row; unknown values are None."""
        columns = self.columns()
        return plain(
            {
                "subject": self.subject,
                "reward": self.problem.reward,
                "goal": str(self.problem.goal),
                "arms": len(self.problem.arms),
                "runs": self.runs,
                "seed": self.seed,
                "rows": [{name: column[place] for name, column in columns.items()} for place in range(len(self.cells))],
            }
        )

    def columns(self) -> dict[str, list[Any]]:
        """The table by columns."""
        columns = ("policy", self._length, "regret", "error", "share_best", "spent", "refusal")
        return {name: [getattr(cell, name) for cell in self.cells] for name in columns}

    def to_frame(self, backend: str | None = None, *, labels: bool = False) -> Any:
        """Return the table as a data frame.

        Parameters
        ----------
        backend
            "pandas", "polars" or "pyarrow"; by default the first that is installed.
        labels
            Whether to use heads for readers, which say what regret is measured in.

        Returns
        -------
        DataFrame
            A row for each policy and horizon, or policy and budget.
        """
        columns = self.columns()
        if not labels:
            return frame_of(columns, backend)
        heads = {
            "horizon": "horizon (pulls)",
            "budget": "budget (cost units)",
            "regret": self._regret,
            "error": self.problem.in_unit("standard error"),
            "share_best": "best arm found (share)",
            "spent": "spent (cost units)",
            "refusal": "why not played",
        }
        return frame_of({heads.get(name, name): column for name, column in columns.items()}, backend)

    def _plotted(self, path: Path | None, ax: Any, title: str | None, *, force: bool) -> Any:
        from whichdo.plots.regret import Curve, regret_plot

        played = {
            name: cells for name in self.policies if (cells := [c for c in self._of(name) if c.outcomes is not None])
        }
        curves = {
            name: Curve(*zip(*((cell.budget, cell.regret, cell.error) for cell in cells), strict=True))
            for name, cells in played.items()
        }
        refused = [name for name in self.policies if name not in played]
        more = f" Not played: {', '.join(refused)}." if refused else ""
        reward, arms = visible(self.problem.label(self.problem.reward)), counted(len(self.problem.arms), "arm")
        return regret_plot(
            curves,
            self.budgets,
            across={"horizon": "horizon (pulls of a run)", "budget": "budget of a run (cost units)"}[self._length],
            axis=f"{self._regret} (lower is better)",
            title=f"Regret in {reward}, {arms}" if title is None else title,
            footnote=f"{counted(self.runs, 'run')} a point; bands: 95% intervals of the mean.{more}",
            path=path,
            ax=ax,
            force=force,
        )

    def _of(self, policy: str) -> list[Cell]:
        return [cell for cell in self.cells if cell.policy == policy]

    @property
    def _kind(self) -> str:
        """Which regret it is."""
        summed = any(cell.outcomes is not None and cell.outcomes.curve is not None for cell in self.cells)
        return "cumulative" if summed else "simple"

    @property
    def _regret(self) -> str:
        """What is measured, with its unit."""
        return self.problem.in_unit(f"mean {self._kind} regret")

    def __str__(self) -> str:
        return text_table(self._heads, self._shown_rows)

    def _repr_html_(self) -> str:
        return html_table(self._heads, self._shown_rows, repr(self)[1:-1])

    @property
    def _heads(self) -> tuple[str, ...]:
        return ("policy", self._length, self._regret, "95% interval", "best arm found")

    @property
    def _shown_rows(self) -> list[tuple[str, ...]]:
        """What people read; a dash where a policy was not played."""
        rows: list[tuple[str, ...]] = []
        for cell in self.cells:
            numbers = ("-", "-", "-")
            if cell.refusal is None:
                numbers = (f"{cell.regret:.4g}", cell.interval, f"{cell.share_best:.0%}")
            rows.append((cell.policy, short_number(cell.budget), *numbers))
        return rows

    def __repr__(self) -> str:
        policies = f"{len(self.policies)} {'policy' if len(self.policies) == 1 else 'policies'}"
        lengths = counted(len(self.budgets), self._length)
        return f"<Comparison of {policies} at {lengths}, {counted(self.runs, 'run')} each>"


def compare(
    policies: Iterable[Policy | str] | Policy | str,
    network: CausalNetwork,
    problem: Problem,
    *,
    horizons: Iterable[int] | int | None = None,
    budgets: Iterable[float] | float | None = None,
    runs: int,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | bool = False,
) -> Comparison:
    """Play several policies at several horizons or budgets, all against the same worlds.

    Give ``horizons`` or ``budgets``, not both.  A policy that does not support one is skipped there, and its cell gives
    the reason.  Simple and cumulative
    regret are different scales, so one table compares policies of one kind.

    Parameters
    ----------
    policies
        Policies, or their names with parameters, such as ``"srm"`` or ``"srm(second_phase=rejects)"``.
    network
        The network that answers the pulls.
    problem
        The problem that the policies play.
    horizons
        The number of pulls of a run, one or several, if every arm costs 1.
    budgets
        What all pulls of a run may cost together, one or several.
    runs
        How often each policy is played at each horizon or budget.
    seed
        The random seed; equal seeds give equal results.
    workers
        The number of processes.  Results do not depend on it.
    progress
        True for a progress bar, or a function that receives the progress, as for `simulate`.

    Returns
    -------
    Comparison
        A table with a row for each policy and horizon, or policy and budget.

    Raises
    ------
    UsageError
        If a policy is listed twice, the policies have different kinds of regret, or neither or both of ``horizons`` and
        ``budgets`` are given.
    UnsuitableError
        If no policy supports any of the horizons or budgets.

    Examples
    --------
    >>> import whichdo as wd
    >>> network = wd.network("parallel")
    >>> found = wd.compare("ue", network, network.problem("Y"), horizons=200, runs=2)
    >>> found.policies
    ('ue',)
    """
    played = _played(policies)
    _same_objective(played)
    lengths = _lengths(problem, horizons, budgets)
    start = whole_number(seed, "seed")
    network.check(problem)
    refusals = {(name, length): _refusal(each, problem, length) for name, each in played.items() for length in lengths}
    wanted = [place for place, refusal in refusals.items() if refusal is None]
    if not wanted:
        raise UnsuitableError(" ".join(dict.fromkeys(filter(None, refusals.values()))))
    jobs = [Job(played[name], length, start) for name, length in wanted]
    found = dict(
        zip(wanted, simulate_all(jobs, network, problem, runs, workers=workers, progress=progress), strict=True)
    )
    cells = tuple(
        Cell(*place, found.get(place), refusal, None if horizons is None else int(place[1]))
        for place, refusal in refusals.items()
    )
    return Comparison(problem, int(runs), start, cells)


def _same_objective(played: dict[str, Policy]) -> None:
    by_kind = {str(each.objective): name for name, each in played.items()}
    if len(by_kind) > 1:
        (first, one), (second, other) = by_kind.items()
        raise UsageError(
            f"{one} is about {first} regret and {other} about {second} regret, which are different scales. "
            f"Compare policies of one kind at a time."
        )


def _played(given: Iterable[Policy | str] | Policy | str) -> dict[str, Policy]:
    from whichdo.policies.base import Policy

    found: dict[str, Policy] = {}
    for each in [given] if isinstance(given, (str, Policy)) else given:
        made = as_policy(each)
        name = policy_text(made)
        if name in found:
            raise UsageError(f"The policy {name} is listed twice.")
        found[name] = made
    if not found:
        raise UsageError("There is no policy to compare; name one, such as warm-halving.")
    return found


def _lengths(
    problem: Problem, horizons: Iterable[int] | int | None, budgets: Iterable[float] | float | None
) -> list[float]:
    if (horizons is None) == (budgets is None):
        given = "neither" if horizons is None else "both"
        raise UsageError(f"Give `horizons`, numbers of pulls, or `budgets`, in cost units; found {given}.")
    if horizons is not None:
        found = {length_of_run(problem, number, None) for number in _listed(horizons)}
    else:
        found = {length_of_run(problem, None, number) for number in _listed(budgets)}
    if not found:
        raise UsageError("There is nothing to compare at; give a horizon, such as 500.")
    return sorted(found)


def _listed(given: Any) -> list[Any]:
    return [given] if isinstance(given, (int, float, np.number)) else list(given)


def _refusal(policy: Policy, problem: Problem, budget: float) -> str | None:
    try:
        policy.check(problem, budget)
    except UnsuitableError as refused:
        return str(refused)
    return None
