"""Makes the export that later versions must replay: ``python -m tests.campaign.golden`` writes that of this version.

Every kind of event is in it but those that only a fault makes.  A file once released is never written again.
"""

from __future__ import annotations

import tempfile
from itertools import product
from pathlib import Path

import numpy as np

import whichdo as wd
from tests.campaign.trials import PROBLEM, Clock, row_of

FOLDER = Path(__file__).parents[1] / "golden"
JOINT = wd.Problem(
    PROBLEM.graph,
    "Y",
    arms=[wd.do(X=0), wd.do(X=1), wd.do(W=0), wd.do(W=1), wd.do(X=1, W=1), wd.do(X=0, W=1)],
    reward_range=(0, 10),
)
"""Arms that set two nodes, and a reward that is a number: format 2."""
PROBLEMS = {"": PROBLEM, "joint-": JOINT}


def make(folder: Path, policy: str, kind: str = "") -> wd.Campaign:
    """Two weeks of a campaign in which everything happens."""
    clock, random = Clock(), np.random.default_rng(7)
    campaign = wd.Campaign.create(
        folder / f"{kind}{policy}.db", policy, wd.policy(policy), PROBLEMS[kind], horizon=80, seed=3, clock=clock,
        lease=3 * 86400, window=86400 if policy == "warm-halving" else None,
    )  # fmt: skip
    campaign.observe({"Z": [0, 1, 1, 0, 1], "X": [0, 1, 0, 1, 1], "W": [1, 1, 0, 0, 1], "Y": [0, 1, 0, 1, 1]})
    for step in range(30):
        clock.move(hours=11)
        if step == 8:
            campaign.pause("holidays")
        if step == 10:
            campaign.resume("back again")
        if step == 12:
            campaign.forbid(wd.do(W=0), "not allowed here")
        if step == 16:
            campaign.allow(wd.do(W=0), "allowed after all")
        try:
            tickets = campaign.ask(4, client=f"client {step % 3}", key=f"ask {step}")
        except (wd.WaitError, wd.ConflictError):
            continue
        for ticket in tickets[: 4 - step % 3]:
            if step % 7 == 6:
                campaign.void(ticket, "lost")
            else:
                campaign.tell(ticket, row_of(ticket, random))
                last = ticket
        if step == 5:
            campaign.amend(last, row_of(last, random), "read from the wrong column")
    return campaign


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for kind, policy in product(PROBLEMS, ("warm-halving", "causal-ts")):
            file = FOLDER / f"campaign-{wd.__version__}-{kind}{policy}.jsonl"
            if file.exists():
                continue
            campaign = make(Path(folder), policy, kind)
            events = campaign.export(file)
            file.with_suffix(".txt").write_text("\n".join(campaign.recommend().sentences) + "\n")
            campaign.close()
            print(f"{file.stem}: {events} events")


if __name__ == "__main__":
    main()
