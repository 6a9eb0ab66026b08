"""What a check found: statements, cross_checks, edges that are likely missing, and all of it in words."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from html import escape
from math import isnan, nan
from typing import TYPE_CHECKING, Any

from whichdo.estimate.shrinkage import reward_scale
from whichdo.estimate.statements import NEGLIGIBLE
from whichdo.frames import frame_of, picked, plain
from whichdo.text import counted, listed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whichdo.checking.edits import Edit
    from whichdo.estimate.statements import Tested
    from whichdo.graph.targets import Targets
    from whichdo.problem import Problem


COLUMNS = (
    "left", "right", "given", "p", "adjusted", "strength", "low", "high", "difference", "difference_low", "rows",
    "method", "fails",
)  # fmt: skip
COMPARED = ("kind", "targets", "node", "text", "p", "adjusted", "size", "low", "fails")
MOST_SHOWN = 12
"""Rows of the table that a notebook or a terminal shows."""


@dataclass(frozen=True)
class CrossCheck:
    """Something else than an independence that a right graph promises."""

    kind: str
    """``estimates``: that two ways to estimate the arms on a target set agree.  ``experiments``: that setting the
    targets leaves a node alone.  ``factors``: that looks and experiments, or several of these, agree on a law."""
    targets: Targets
    """Whose arms are estimated, or what experiments set."""
    node: str | None
    """The node that is left alone; None for others."""
    text: str
    """What is compared, in words."""
    p: float
    """The chance of such a difference if the graph is right."""
    size: float = nan
    """How far apart: estimates in the reward's unit, a node's law in nats; NaN for factors."""
    low: float = nan
    """The lower end of its 95% interval."""
    strong: bool = True
    """Whether it is surely large enough to matter."""
    adjusted: float = nan
    """The chance, corrected for all that was tested with it."""
    fails: bool = False

    def judge(self, adjusted: float, level: float) -> CrossCheck:
        """With its corrected chance."""
        return replace(self, adjusted=adjusted, fails=adjusted < level and self.strong)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Suspect:
    """An edge that is likely missing."""

    edit: Edit
    """What adds it to the graph."""
    ranked: bool
    """Whether the arms were ranked by the graph with the edge; only the first few are."""
    best: str | None
    """The best arm if the edge is there; None where nothing could be compared then."""
    changes: bool
    """Whether that is another than by the graph as it is."""

    @property
    def edge(self) -> str:
        """``X <-> Y`` or ``X -> Y``."""
        return self.edit.edge


@dataclass(eq=False, repr=False)
class Check:
    """Whether logs contradict a graph; printing it says what was found.

    Attributes
    ----------
    problem
        The problem whose graph was checked.
    looks
        The number of rows that were looks.
    statements
        Every independence that was asked about, with ``left``, ``right``, ``given``, ``p``, ``strength`` and ``fails``.
    cross_checks
        What else a right graph promises: estimates that agree, nodes that experiments leave alone.
    suspects
        Edges that would explain what fails: a group for each missing edge, alternatives within it.
    best
        The best arm by the graph as it is, where suspects were asked what they change.
    unseen
        Edges that could be missing without any log showing it.
    too_wide
        Pairs that only sets of more than four nodes separate, which are not tested.
    notes
        Remarks on the rows.
    """

    problem: Problem
    _: KW_ONLY
    looks: int
    statements: tuple[Tested, ...]
    cross_checks: tuple[CrossCheck, ...] = ()
    suspects: tuple[tuple[Suspect, ...], ...] = ()
    best: str | None = None
    unseen: tuple[str, ...] = ()
    too_wide: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing fails: the logs do not contradict the graph, which is not to say that it is right."""
        return not self.failing and not any(each.fails for each in self.cross_checks)

    @cached_property
    def tested(self) -> tuple[Tested, ...]:
        """The statements that could be tested."""
        return tuple(each for each in self.statements if each.tested)

    @cached_property
    def failing(self) -> tuple[Tested, ...]:
        """The statements that the logs deny, the strongest dependence first."""
        return tuple(sorted((each for each in self.statements if each.fails), key=lambda each: -each.strength))

    @cached_property
    def summary(self) -> tuple[str, ...]:
        """The answer in a few sentences."""
        failing = [each for each in self.cross_checks if each.fails]
        lines = [self._about_statements()]
        lines += [f"Another test fails: {each} (p = {chance_text(each.p)})." for each in failing]
        lines += self._about_suspects()
        lines += self._about_tests()
        return tuple(lines)

    def _about_statements(self) -> str:
        if not self.statements:
            if self.too_wide:
                return "Only sets of more than four nodes separate nodes of this graph: nothing could be tested."
            return "The graph implies no independence, so no log can contradict it: only experiments can."
        if not self.tested:
            return f"None of the graph's {counted(len(self.statements), 'statement')} could be tested."
        number = counted(len(self.tested), "statement")
        rows = counted(self.looks, "row")
        if not self.failing:
            return f"{number} tested on {rows}, none fails."
        fail = "fails" if len(self.failing) == 1 else "fail"
        shown = "; ".join(
            f"{each.statement} (p = {chance_text(each.p)}, strength {strength_text(each.strength)}{self._apart(each)})"
            for each in self.failing[:3]
        )
        more = f"; and {len(self.failing) - 3:,} more" if len(self.failing) > 3 else ""
        return f"{number} tested on {rows}, {len(self.failing):,} {fail}: {shown}{more}."

    def _apart(self, each: Tested) -> str:
        """By how much mean rewards differ, of a statement that fails for that and not for its strength."""
        if each.low > NEGLIGIBLE or isnan(each.difference):
            return ""
        size = each.difference * reward_scale(self.problem)[2]
        return f", mean {self.problem.label(self.problem.reward)} {size:.2g} apart"

    def _about_suspects(self) -> list[str]:
        if not self.suspects:
            return ["No single missing edge explains it."] if self.failing else []
        groups = ["; and ".join(_either(each.edge for each in group) for group in self.suspects)]
        return [f"Likely missing: {groups[0]}.", self._about_decision()]

    def _about_decision(self) -> str:
        ranked = [each for group in self.suspects for each in group if each.ranked]
        changing = [each for each in ranked if each.changes]
        if self.best is None:
            return "The logs name no best arm, with or without them."
        if not changing:
            one = len(ranked) == 1
            return f"The decision, {self.best}, would not change{'' if one else ' with any of them'}."
        by_answer: dict[str | None, list[str]] = {}
        for each in changing:
            by_answer.setdefault(each.best, []).append(each.edge)
        parts = []
        for answer, edges in by_answer.items():
            what = "no arm could be named best" if answer is None else f"{answer} would be best"
            parts.append(f"with {_either(edges)} {what}")
        return f"The decision, {self.best}, may change: {'; '.join(parts)}."

    def _about_tests(self) -> list[str]:
        lines = []
        skipped = [each for each in self.statements if not each.tested]
        if skipped and self.tested:
            lines.append(
                f"Not tested: {counted(len(skipped), 'statement')}, such as {skipped[0].statement} "
                f"({skipped[0].method})."
            )
        elif skipped:
            lines.append(f"The first is {skipped[0].statement}: {skipped[0].method}.")
        if self.too_wide and self.statements:
            pairs = listed((f"{one} and {other}" for one, other in self.too_wide), most=3)
            lines.append(f"Not tested, because only more than four nodes separate them: {pairs}.")
        if self.unseen:
            some = listed(self.unseen, most=4)
            verb = "is" if len(self.unseen) == 1 else "are"
            lines.append(f"No log can show whether {some} {verb} missing: only experiments can.")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain values that JSON can hold."""

        def arm(text: str | None) -> dict[str, Any] | None:
            return None if text is None else self.problem.unpruned.arm(text).to_dict()

        return {
            "ok": self.ok,
            "looks": self.looks,
            "statements": [plain(picked(each, COLUMNS)) for each in self.statements],
            "cross_checks": [plain(picked(each, COMPARED)) for each in self.cross_checks],
            "best": arm(self.best),
            "likely_missing": [
                [
                    {"edge": each.edge, "ranked": each.ranked, "best": arm(each.best), "changes": each.changes}
                    for each in group
                ]
                for group in self.suspects
            ],
            "unseen": list(self.unseen),
            "too_wide": [list(pair) for pair in self.too_wide],
            "summary": list(self.summary),
            "notes": list(map(str, self.notes)),
        }

    def to_frame(self, backend: str | None = None, *, labels: bool = False) -> Any:
        """Return the statements as a data frame.

        Parameters
        ----------
        backend
            "pandas", "polars" or "pyarrow"; by default the first that is installed.
        labels
            Whether to call nodes by their labels.

        Returns
        -------
        DataFrame
            A row for each statement.
        """
        name_of = self.problem.label if labels else str
        columns = {name: [getattr(each, name) for each in self.statements] for name in COLUMNS}
        named = {side: list(map(name_of, columns[side])) for side in ("left", "right")}
        named["given"] = [", ".join(map(name_of, given)) for given in columns["given"]]
        return frame_of(columns | named, backend)

    @cached_property
    def shown(self) -> tuple[Tested, ...]:
        """The statements by how surely they fail, what was not tested last."""
        return tuple(sorted(self.statements, key=lambda each: (not each.fails, isnan(each.p), each.p)))

    def __str__(self) -> str:
        return "\n".join([*self.summary, *self._legend])

    @property
    def _legend(self) -> tuple[str, ...]:
        return (self.problem.legend,) if self.problem.labels else ()

    def __repr__(self) -> str:
        fails = len(self.failing) + sum(each.fails for each in self.cross_checks)
        answer = "ok" if self.ok else f"{counted(fails, 'test')} failed"
        return f"<Check of {counted(len(self.statements), 'statement')} on {counted(self.looks, 'row')}: {answer}>"

    def _repr_html_(self) -> str:
        """For notebooks: the summary, and the statements that say most."""
        lines = "".join(f"<p>{escape(line)}</p>" for line in (*self.summary, *self._legend))
        if not self.statements:
            return lines
        left = " style='text-align:left'"
        heads = "".join(f"<th{left}>{name}</th>" for name in ("independent", "given", "p", "strength", ""))
        body = "".join(
            f"<tr{' style=font-weight:600' if each.fails else ''}>"
            + "".join(
                f"<td{left}>{cell}</td>"
                for cell in (
                    f"{escape(each.left)}, {escape(each.right)}",
                    escape(", ".join(each.given)),
                    chance_text(each.p),
                    strength_text(each.strength),
                    "fails" if each.fails else "" if each.tested else escape(each.method),
                )
            )
            + "</tr>"
            for each in self.shown[:MOST_SHOWN]
        )
        return f"{lines}<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def chance_text(p: float) -> str:
    """A chance in two digits at most: ``0.31``, ``2e-9``, ``?``.

    >>> chance_text(0.3141), chance_text(2.4e-9), chance_text(0.0)
    ('0.31', '2e-9', 'below 1e-300')
    """
    if isnan(p):
        return "?"
    if p < 1e-300:
        return "below 1e-300"
    if p >= 0.001:
        return f"{p:.2g}"
    digits, power = f"{p:.0e}".split("e")
    return f"{digits}e{int(power)}"


def strength_text(strength: float) -> str:
    """Nats in two significant digits: ``0.031``."""
    return "?" if isnan(strength) else "0" if strength < 5e-7 else f"{strength:.2g}"


def _either(names: Iterable[str]) -> str:
    """``A``, ``A or B``, ``A, B or C``; a long list is cut."""
    names = list(names)
    if len(names) > 4:
        return f"{', '.join(names[:3])} or one of {len(names) - 3:,} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
