"""A user's script that touches every public name, as a type checker and a newcomer meet them: `tests/test_typed.py`."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import whichdo as wd

print(wd.__version__)

# Graphs
graph: wd.CausalGraph = wd.CausalGraph(["X", "M", "Y"], [("X", "M"), ("M", "Y")], [("X", "Y")])
path: tuple[str, ...] | None = wd.confounding_path(graph, "X")
smaller: wd.CausalGraph = wd.project(graph, ["X", "Y"])
drawing: str = wd.draw_svg(graph, reward="Y")
wd.write_graph(graph, "graph.dag")
same: bool = wd.read_graph("graph.dag") == graph == wd.graph_from(graph)
examples: int = len(wd.gallery)
estimand: wd.Estimand = wd.identify(graph, ["X"], "Y")
sets: tuple[tuple[tuple[str, ...], ...], ...] = (wd.minimal_sets(graph, "Y"), wd.possibly_optimal(graph, "Y"))

# Problems
arm: wd.Arm = wd.do(X=1)
age: wd.Bins = wd.bins([18, 65])
problem: wd.Problem = wd.Problem(graph, "Y", goal=wd.Goal.MAXIMIZE)
verdict: wd.Verdict = problem.verdicts["X"]
route: wd.Route = verdict.route
wd.write_problem(problem, "problem.toml")
problem = wd.read_problem("problem.toml")

# A world to draw from
mechanism: wd.Mechanism = wd.bernoulli(("X",), [0.25, 0.75])
network: wd.CausalNetwork = wd.CausalNetwork(
    {"U": wd.bernoulli((), 0.5), "X": wd.bernoulli(("U",), [0.25, 0.75]), "M": mechanism,
     "Y": wd.bernoulli(("M", "U"), [[0.2, 0.4], [0.5, 0.8]])},
    ["U"],
)  # fmt: skip
rows = network.sample(500, seed=1)
named: wd.CausalNetwork = wd.network("parallel")

# Estimates and checks
proposed: wd.Problem = wd.propose(rows, graph, "Y")
ranking: wd.Ranking = wd.rank(problem, rows)
first: wd.ArmRank | None = ranking.best
tested: wd.Check = wd.check(problem, rows)
edits: wd.WhatIf = wd.what_if(problem, rows)
changed: tuple[wd.EditOutcome, ...] = edits.edits
tally: wd.Tally = wd.count(problem, rows)


# Policies
@wd.register("split-in-two")
@dataclass(frozen=True)
class SplitInTwo(wd.Policy):
    """Look for half the budget, then pull all arms equally often."""

    objective = wd.Objective.SIMPLE

    def check(self, problem: wd.Problem, budget: float) -> None:
        """Every arm must be affordable."""
        wd.unit_costs(self, problem)
        wd.refuse_below(self, budget, 2.0 * len(problem.arms), "every arm is pulled")

    def play(self, problem: wd.Problem, budget: float, rng: np.random.Generator, seen: wd.Tally) -> wd.Play:
        """Two batches."""
        looked = yield wd.observe(int(budget / 2), detail=wd.TABLES)
        tried = yield wd.equal_pulls(problem, budget - int(budget / 2), problem.arms)
        found: wd.Recommendation = wd.best_arm(problem, (seen + looked + tried).means, rng)
        return found


policy: wd.Policy = wd.policy("ue")
everything: bool = {"ue", "split-in-two"} <= set(wd.available_policies())
batches: list[wd.Batch] = [wd.pull(arm, 3, detail=wd.ROWS), wd.spread(9, problem.arms, detail=wd.REWARDS)]
details: list[wd.Detail] = [batch.detail for batch in batches]
world: wd.World = wd.World(network, problem, seed=1)
answers: list[wd.Tally] = [world.pull(batch) for batch in batches]
outcomes: wd.Outcomes = wd.simulate(SplitInTwo(), network, problem, horizon=30, runs=2)
table: wd.Comparison = wd.compare([SplitInTwo(), "ue"], network, problem, budgets=[30, 60.5], runs=2)

# Sessions and campaigns
session: wd.Session = wd.Session("ue", problem, horizon=9)
(asked,) = session.ask()
session.tell(asked, {"X": 0, "M": 1, "Y": 1, **asked.settings})
with wd.Campaign.create("campaigns.db", "spring", "ue", problem, horizon=9, audit=False) as campaign:
    ticket: wd.Ticket = campaign.ask()
    row = {name: ticket.arm.settings.get(name, 0) for name in ticket.needed}
    receipt: wd.Receipt = campaign.tell(ticket, row)
    status: wd.Status = campaign.status()
    advice: wd.Advice = campaign.recommend()
    report: Path = wd.write_report(campaign, "report.html")

# Errors: each can be caught by its name, and by that of its family.
errors: list[type[wd.WhichdoError]] = [
    wd.BusyError, wd.ClusterError, wd.ConflictError, wd.DamagedError, wd.DataError, wd.GraphError, wd.GraphSyntaxError,
    wd.InputError, wd.NetworkError, wd.NotIdentifiedError, wd.NotOursError, wd.ProblemError, wd.ReplayDivergedError,
    wd.StorageError, wd.TooLargeError, wd.TooNewError, wd.UnknownCampaignError, wd.UnknownTicketError,
    wd.UnsuitableError, wd.UsageError, wd.WaitError, wd.WorkerLostError, wd.errors.WhichdoError,
]  # fmt: skip
try:
    wd.Problem("X -> Y", "Z")
except wd.ProblemError as error:
    print(error)
try:
    wd.CausalGraph.parse("X -> ")
except wd.GraphSyntaxError as error:
    where: wd.errors.Place | None = error.place
warning: type[UserWarning] = wd.errors.CacheWarning
