"""Small campaigns on a clock of their own, so that their logs are the same each time; and pages, parsed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import numpy as np

from whichdo.campaign.campaign import Campaign
from whichdo.policy_names import policy

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from whichdo.problem import Arm, Problem

VOID = {"meta", "br", "img", "link", "input", "line", "rect", "circle", "path", "polygon", "polyline"}


class Clock:
    """A minute passes between two looks at it."""

    def __init__(self) -> None:
        self.now = datetime(2030, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(minutes=1)
        return self.now


def begun(folder: Path, problem: Problem, name: str = "spring", how: str = "warm-halving", **terms: Any) -> Campaign:
    terms = {"horizon": 60} | terms if "budget" not in terms else terms
    return Campaign.create(folder / "campaigns.db", name, policy(how), problem, clock=Clock(), **terms)


def outcome(problem: Problem, arm: Arm, rng: np.random.Generator, chances: dict[str, float]) -> dict[str, Any]:
    """A row in which every node is its first or second value; ``chances`` of the reward by arm, else 1/2."""
    row: dict[str, Any] = {node: values[int(rng.integers(2))] for node, values in problem.domains.items()}
    row |= arm.settings
    row[problem.reward] = problem.domains[problem.reward][int(rng.random() < chances.get(str(arm), 0.5))]
    return row


def run(campaign: Campaign, pulls: int, *, seed: int = 1, client: str = "lab", **chances: float) -> None:
    """Ask and tell so often, or until it is finished; chances of the reward by position of the arm, ``a3=0.9``."""
    problem, rng = campaign.problem, np.random.default_rng(seed)
    by_arm = {str(problem.arms[int(key[1:])]): chance for key, chance in chances.items()}
    for _ in range(pulls):
        tickets = campaign.ask(1, client=client)
        if not tickets:
            return
        campaign.tell(tickets[0], outcome(problem, tickets[0].arm, rng, by_arm))


def rows(problem: Problem, count: int, seed: int = 7) -> dict[str, list[Any]]:
    """Looks at a fair world, as columns."""
    rng = np.random.default_rng(seed)
    found = [outcome(problem, problem.arms[0], rng, {}) for _ in range(count)]
    return {name: [row[name] for row in found] for name in problem.domains}


class Page(HTMLParser):
    """A page as a browser takes it: its tags, their attributes, and its text; unbalanced tags are an error."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str, str]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == ["html"]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open[-1:] != ["style"]:
            self.words.append(data)
