"""What a campaign knows: tickets, logs, alarms, arms that are forbidden, and what all of it says of every arm.

`whichdo.campaign.state` folds the events into it.  Nothing here depends on a policy's choices.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.campaign.plan import Revision
from whichdo.campaign.register import Register
from whichdo.campaign.tallying import RowReader, pooled
from whichdo.checking.denial import denial, statement_scopes
from whichdo.estimate.rank import ranking
from whichdo.monitoring.listening import Ear
from whichdo.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whichdo.campaign.events import Alarm, SetAside
    from whichdo.campaign.tallying import Log
    from whichdo.campaign.terms import Terms
    from whichdo.checking.denial import Denial
    from whichdo.estimate.ranking import Ranking
    from whichdo.evidence import Tally
    from whichdo.monitoring.conflict import Suspect
    from whichdo.problem import Arm, Problem


class Knowledge:
    """What is known under some terms."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        problem = terms.problem
        self.tickets = Register(terms.name, {arm: problem.prices[arm] for arm in problem.offered}, len(problem.domains))
        self.logs: list[Log] = []
        self.early = 0
        """How many of the logs were observed before the first direct pull."""
        self.set_aside: list[SetAside] = []
        """What the log says about logs that are out of date, each time some were set aside."""
        self.forbidden: dict[Arm, str] = {}
        self.alarms: list[Alarm] = []
        self.pulled: Counter[Arm] = Counter()
        """How many pulls of each arm count."""
        self.revision = Revision(problem)
        self._ear: tuple[object, Ear] | None = None
        self._denial: tuple[object, Denial] | None = None
        self._codes = {name: _coder(problem, name) for name in problem.domains}

    # ------------------------------------------------------------------------------------------------ the problem

    @property
    def believed(self) -> Problem:
        """The problem with the confounders that alarms have named; all arms."""
        return self.revision.problems(self.alarms, self.forbidden).believed

    @property
    def allowed(self) -> Problem:
        """The same without the arms that are forbidden, pruned anew if it is to be: what the policy plays on."""
        return self.revision.problems(self.alarms, self.forbidden).allowed

    @property
    def suspects(self) -> list[Suspect]:
        """Where alarms hold the graph to be wrong."""
        return self.revision.suspects(self.alarms)

    @property
    def nodes(self) -> tuple[str, ...]:
        """What the codes of a row are about: an alarm may change the order of the graph's nodes."""
        return self.terms.problem.graph.nodes

    # ------------------------------------------------------------------------------------------------------- rows

    @cached_property
    def reader(self) -> RowReader:
        """Reads the rows that are told."""
        return RowReader(self.terms.problem.unpruned)

    def codes_of(self, row: dict[str, Any]) -> tuple[int, ...]:
        """The codes of a row that is on record, of all nodes; -1 where it does not say."""
        return tuple([code(row[name]) if name in row else -1 for name, code in self._codes.items()])

    def rows(self) -> Iterator[tuple[Arm, tuple[int, ...]]]:
        """Arm and codes of every pull that counts, in the order of asking."""
        outcomes = self.tickets.outcomes()
        for place, codes in zip(outcomes.places.tolist(), outcomes.codes.tolist(), strict=True):
            yield outcomes.arms[place], tuple(codes)

    # ------------------------------------------------------------------------------------------------- the evidence

    @property
    def trusted(self) -> list[Log]:
        """The logs that count: all but those that were set aside as out of date."""
        if not self.set_aside:
            return self.logs
        old = {name for each in self.set_aside for name in each.logs}
        return [log for log in self.logs if log.sha256 not in old]

    def at_hand(self, problem: Problem, budget: float) -> Tally | None:
        """What a new play begins with: all looks, and direct pulls where the policy can use them."""
        rows = self.tickets.outcomes(looks_alone=not self.terms.policy.takes_pulls)
        if not len(rows) and not self.trusted:
            return None
        wanted = Session(self.terms.policy, problem, budget=budget).batch.scopes or ()
        return pooled(problem, self.trusted, rows, nodes=self.nodes, scopes=(*wanted, *statement_scopes(problem)))

    def evidence(self, *, looks_alone: bool = False) -> Tally:
        """All that is known: logs, looks and direct pulls, rows as they were amended.

        Rows of arms that are forbidden or pruned tell of others too, so they are among them, but for ``looks_alone``.
        """
        rows, scopes = self.tickets.outcomes(looks_alone=looks_alone), statement_scopes(self.allowed)
        problem = self.allowed if looks_alone else self.believed
        return pooled(problem, self.trusted, rows, nodes=self.nodes, scopes=scopes, teaching=not looks_alone)

    def ranked(self, *, confidence: float = 0.95) -> Ranking:
        """Every arm that is allowed by all evidence, with the policy's doubt about graph and logs.

        Where pulls contradict what looks and pulls of other arms say, the pulls win.
        """
        doubt = float(getattr(self.terms.policy, "doubt", 0.0))
        problem, denial = self.believed, self.denial()
        logged = today = None
        if doubt and self.trusted:
            rows, scopes = self.tickets.outcomes(looks_alone=False), statement_scopes(self.allowed)
            logged = pooled(problem, self.trusted, [], nodes=self.nodes)
            today = pooled(problem, [], rows, nodes=self.nodes, scopes=scopes, teaching=True)
        denied = np.zeros(len(problem.arms))
        denied[[problem.index(arm) for arm in self.allowed.arms]] = denial.chances
        seen, shown = self.evidence(), self.allowed
        return ranking(seen, confidence=confidence, doubt=doubt, logged=logged, today=today, denied=denied, shown=shown)

    def denial(self) -> Denial:
        """What the logs that count deny of the graph, and which arms the policy therefore doubts."""
        doubt = float(getattr(self.terms.policy, "doubt", 0.0))
        key = (len(self.alarms), len(self.logs), len(self.set_aside), len(self.forbidden))
        if self._denial is None or self._denial[0] != key:
            problem = self.allowed
            looks = pooled(problem, self.trusted, [], nodes=self.nodes, scopes=statement_scopes(problem))
            self._denial = key, denial(problem, looks, doubt)
        return self._denial[1]

    def ear(self) -> Ear:
        """What the alarm listens to, with all that counts."""
        key = (len(self.alarms), len(self.logs), len(self.set_aside))
        if self._ear is None or self._ear[0] != key:
            trusted = self.trusted
            logged = sum(log.looks for log in self.logs[: self.early] if log in trusted)
            ear = Ear(self.believed, self.nodes, trusted, logged)
            for arm, codes in self.tickets.outcomes().by_arm():
                ear.hear_all(arm, codes)
            self._ear = key, ear
        return self._ear[1]

    def direct(self) -> Tally:
        """The rewards of the campaign's own pulls, for the arms that are allowed; fresh looks are pulls of do()."""
        return self.ear().direct(self.allowed)


def _coder(problem: Problem, name: str) -> Callable[[Any], int]:
    """What turns a value that is on record into its code."""
    if name == problem.reward and problem.reward_range is not None:
        return problem.reward_range.level
    return {value: code for code, value in enumerate(problem.domains[name])}.__getitem__
