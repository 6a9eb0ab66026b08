"""Any program of asks and tells, good and bad, against a plain model of what is owed and what was told."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import whichdo as wd
from tests.sessions import Scripted, as_plain
from tests.soak import scaled

PROBLEM = wd.Problem("Z -> X; X -> Y; Z <-> Y", "Y", ["X"], domains={"X": ("a", "b", "c"), "Y": (0, 0.5, 1)})
NODES = PROBLEM.graph.nodes
SCOPES = (("Z", "X", "Y"), ("Y",), ("X",))


@st.composite
def batches(draw: st.DrawFn) -> wd.Batch:
    arms = draw(st.lists(st.sampled_from(PROBLEM.arms), unique=True, max_size=3))
    counts = [draw(st.integers(0, 4)) for _ in arms]
    detail = draw(st.sampled_from(wd.Detail))
    chosen = draw(st.lists(st.sampled_from(SCOPES), unique=True)) if detail is wd.TABLES else None
    return wd.Batch(tuple(arms), tuple(counts), detail, None if chosen is None else tuple(chosen))


def rows_of_arm(arm: wd.Arm) -> st.SearchStrategy[dict[str, Any]]:
    free = {name: st.sampled_from(domain) for name, domain in PROBLEM.domains.items()}
    return st.fixed_dictionaries(free | {name: st.just(value) for name, value in arm.settings.items()})


def expected(batch: wd.Batch, rows: dict[wd.Arm, list[dict[str, Any]]]) -> dict[str, Any]:
    """The tally of some rows, counted by loops."""
    levels = PROBLEM.domains["Y"]
    counts = [[sum(row["Y"] == level for row in rows.get(arm, [])) for level in levels] for arm in PROBLEM.arms]
    tables: dict[str, Any] = {}
    if batch.detail is wd.TABLES:
        for arm in batch.arms:
            tables[str(arm)] = {}
            for scope in batch.scopes or ():
                shape = tuple(len(PROBLEM.domains[name]) for name in scope)
                seen = Counter(tuple(row[name] for name in scope) for row in rows.get(arm, []))
                cells: list[tuple[Any, ...]] = [()]
                for name in scope:
                    cells = [(*cell, value) for cell in cells for value in PROBLEM.domains[name]]
                tables[str(arm)][scope] = ("laid out", shape, [seen[cell] for cell in cells], "int64")
    told = None
    if batch.detail is wd.ROWS and batch.arms:
        ordered = [(PROBLEM.index(arm), row) for arm in batch.arms for row in rows.get(arm, [])]
        codes = [[PROBLEM.domains[name].index(row[name]) for name in NODES] for _, row in ordered]
        told = ([position for position, _ in ordered], codes)
    return {"counts": counts, "tables": tables, "rows": told}


class Program(RuleBasedStateMachine):
    """The model: the script, the number of the batch that is open, and the rows told of it."""

    @initialize(script=st.lists(batches(), max_size=4))
    def start(self, script: list[wd.Batch]) -> None:
        self.script, self.number = script, 0
        self.rows: dict[wd.Arm, list[dict[str, Any]]] = {}
        self.policy = Scripted(tuple(script))
        self.session = wd.Session(self.policy, PROBLEM, horizon=1000)
        self.skip()

    def owed(self) -> dict[wd.Arm, int]:
        if self.number == len(self.script):
            return {}
        batch = self.script[self.number]
        left = {arm: n - len(self.rows.get(arm, [])) for arm, n in zip(batch.arms, batch.counts, strict=True)}
        return {arm: count for arm, count in left.items() if count}

    def skip(self) -> None:
        """A batch that is told in full has been answered, and the next is open."""
        while self.number < len(self.script) and not self.owed():
            assert as_plain(self.policy.answers[self.number]) == expected(self.script[self.number], self.rows)
            self.number, self.rows = self.number + 1, {}

    @rule(n=st.integers(0, 20))
    def ask(self, n: int) -> None:
        assert self.session.ask(n) == [arm for arm, count in self.owed().items() for _ in range(count)][:n]

    @precondition(lambda self: self.owed())
    @rule(data=st.data(), form=st.sampled_from(["row", "rows", "columns"]))
    def tell(self, data: st.DataObject, form: str) -> None:
        arm = data.draw(st.sampled_from(list(self.owed())))
        most = 1 if form == "row" else self.owed()[arm]
        rows = data.draw(st.lists(rows_of_arm(arm), min_size=1, max_size=most))
        columns = {name: [row[name] for row in rows] for name in NODES}
        self.session.tell(arm, {"row": rows[0], "rows": rows, "columns": columns}[form])
        self.rows.setdefault(arm, []).extend(rows)
        self.skip()

    @rule(data=st.data())
    def tell_what_does_not_fit(self, data: st.DataObject) -> None:
        """An arm that is not owed, one pull too many, a wrong value, or an intervention that was not applied."""
        arm = data.draw(st.sampled_from(PROBLEM.arms))
        rows = data.draw(st.lists(rows_of_arm(arm), min_size=1, max_size=5))
        spoilt = data.draw(st.sampled_from([None, {"Y": 0.25}, {"Y": None}, {"X": "d"}]))
        if not arm.is_look and spoilt is None and data.draw(st.booleans()):
            spoilt = {"X": "a" if arm.settings.get("X") != "a" else "b"}
        rows = rows + [rows[0]] * self.owed().get(arm, 0) if spoilt is None else [*rows[:-1], rows[-1] | spoilt]
        before = as_plain(self.session.told)
        with pytest.raises(wd.WhichdoError, match=r"Nothing was changed\.$"):
            self.session.tell(arm, rows)
        assert as_plain(self.session.told) == before

    @invariant()
    def stands_as_the_model(self) -> None:
        owed = self.owed()
        assert self.session.finished == (self.number == len(self.script))
        assert dict(zip(self.session.batch.arms, self.session.batch.counts, strict=True)) == owed
        told = sum(each.pulls for each in self.script[: self.number]) + sum(map(len, self.rows.values()))
        assert self.session.spent == told == self.session.told.counts.sum()
        assert len(self.policy.answers) == self.number


TestProgram = pytest.mark.soak(Program.TestCase)
TestProgram = pytest.mark.slow("4 s: 100 programs against a plain model; finds a session that changes when it refuses")(
    TestProgram
)
TestProgram.settings = settings(
    max_examples=scaled(2000, 60),
    stateful_step_count=25,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
