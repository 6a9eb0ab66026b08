"""Which do()?  Causal bandits: the best intervention from a causal graph, logs and few experiments.

    >>> import whichdo as wd
    >>> problem = wd.Problem("X -> M; M -> Y; X <-> Y", reward="Y")
    >>> problem.verdicts["X"].reason
    'through its c-component {X, Y}, given M'

Where to begin:

`Problem`, `read_problem`, `propose`     what can be done, and what it is for
`rank`, `check`, `what_if`               estimate every arm from logs; test the graph; doubt its edges
`Campaign`, `Session`                    run experiments, for weeks on disk or at once in memory
`simulate`, `compare`, `network`         play policies against a known network
`policy`, `available_policies`           the policies; `Policy` to write one
`identify`, `possibly_optimal`           what a graph implies
`errors`                                 what can go wrong

Names are loaded on first use, so that ``import whichdo`` and the command line are quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from whichdo._version import __version__

if TYPE_CHECKING:
    from whichdo import errors
    from whichdo.campaign.advice import Advice
    from whichdo.campaign.campaign import Campaign
    from whichdo.campaign.commands import Receipt
    from whichdo.campaign.status import Status
    from whichdo.campaign.tickets import Ticket
    from whichdo.checking.check import check
    from whichdo.checking.decision import WhatIf
    from whichdo.checking.edits import EditOutcome
    from whichdo.checking.result import Check
    from whichdo.checking.what_if import what_if
    from whichdo.comparison import Comparison, compare
    from whichdo.counting import count
    from whichdo.domains import Bins, bins
    from whichdo.drawing.svg import draw_svg
    from whichdo.errors import (
        BusyError,
        ClusterError,
        ConflictError,
        DamagedError,
        DataError,
        GraphError,
        GraphSyntaxError,
        InputError,
        NetworkError,
        NotIdentifiedError,
        NotOursError,
        ProblemError,
        ReplayDivergedError,
        StorageError,
        TooLargeError,
        TooNewError,
        UnknownCampaignError,
        UnknownTicketError,
        UnsuitableError,
        UsageError,
        WaitError,
        WhichdoError,
        WorkerLostError,
    )
    from whichdo.estimate.rank import ArmRank, Ranking, rank
    from whichdo.evidence import REWARDS, ROWS, TABLES, Batch, Detail, Tally, observe, pull, spread
    from whichdo.graph.admg import CausalGraph, read_graph
    from whichdo.graph.formats import write_graph
    from whichdo.graph.formats.objects import graph_from
    from whichdo.graph.gallery import gallery
    from whichdo.graph.identify import Route, Verdict, confounding_path
    from whichdo.graph.projection import project
    from whichdo.identification.engine import identify
    from whichdo.identification.estimand import Estimand
    from whichdo.identification.pruning import minimal_sets, possibly_optimal
    from whichdo.policies.base import (
        Objective,
        Play,
        Policy,
        Recommendation,
        best_arm,
        equal_pulls,
        refuse_below,
        unit_costs,
    )
    from whichdo.policies.registry import register
    from whichdo.policy_names import available_policies, policy
    from whichdo.problem import Arm, Goal, Problem, do
    from whichdo.problem_file import read_problem, write_problem
    from whichdo.proposing.proposal import propose
    from whichdo.report.campaign_page import write_report
    from whichdo.session import Session
    from whichdo.simulation import Outcomes, simulate
    from whichdo.world.instances.shelf import network
    from whichdo.world.mechanism import Mechanism, bernoulli
    from whichdo.world.network import CausalNetwork
    from whichdo.world.sampler import World

__all__ = [
    "REWARDS", "ROWS", "TABLES", "Advice", "Arm", "ArmRank", "Batch", "Bins", "BusyError", "Campaign", "CausalGraph",
    "CausalNetwork", "Check", "ClusterError", "Comparison", "ConflictError", "DamagedError", "DataError", "Detail",
    "EditOutcome", "Estimand", "Goal", "GraphError", "GraphSyntaxError", "InputError", "Mechanism", "NetworkError",
    "NotIdentifiedError", "NotOursError", "Objective", "Outcomes", "Play", "Policy", "Problem", "ProblemError",
    "Ranking", "Receipt", "Recommendation", "ReplayDivergedError", "Route", "Session", "Status", "StorageError",
    "Tally", "Ticket", "TooLargeError", "TooNewError", "UnknownCampaignError", "UnknownTicketError",
    "UnsuitableError", "UsageError", "Verdict", "WaitError", "WhatIf", "WhichdoError", "WorkerLostError", "World",
    "__version__", "available_policies", "bernoulli", "best_arm", "bins", "check", "compare", "confounding_path",
    "count", "do", "draw_svg", "equal_pulls", "errors", "gallery", "graph_from", "identify", "minimal_sets",
    "network", "observe", "policy", "possibly_optimal", "project", "propose", "pull", "rank", "read_graph",
    "read_problem", "refuse_below", "register", "simulate", "spread", "unit_costs", "what_if", "write_graph",
    "write_problem", "write_report",
]  # fmt: skip

_ROOMS = {
    "whichdo.campaign.advice": ("Advice",),
    "whichdo.campaign.campaign": ("Campaign",),
    "whichdo.campaign.commands": ("Receipt",),
    "whichdo.campaign.status": ("Status",),
    "whichdo.campaign.tickets": ("Ticket",),
    "whichdo.checking.check": ("check",),
    "whichdo.checking.decision": ("WhatIf",),
    "whichdo.checking.edits": ("EditOutcome",),
    "whichdo.checking.result": ("Check",),
    "whichdo.checking.what_if": ("what_if",),
    "whichdo.comparison": ("Comparison", "compare"),
    "whichdo.counting": ("count",),
    "whichdo.domains": ("Bins", "bins"),
    "whichdo.errors": (
        "BusyError", "ClusterError", "ConflictError", "DamagedError", "DataError", "GraphError", "GraphSyntaxError",
        "InputError", "NetworkError", "NotIdentifiedError", "NotOursError", "ProblemError", "ReplayDivergedError",
        "StorageError", "TooLargeError", "TooNewError", "UnknownCampaignError", "UnknownTicketError", "UnsuitableError",
        "UsageError", "WaitError", "WhichdoError", "WorkerLostError",
    ),
    "whichdo.estimate.rank": ("ArmRank", "Ranking", "rank"),
    "whichdo.evidence": ("REWARDS", "ROWS", "TABLES", "Batch", "Detail", "Tally", "observe", "pull", "spread"),
    "whichdo.graph.admg": ("CausalGraph", "read_graph"),
    "whichdo.graph.formats": ("write_graph",),
    "whichdo.graph.formats.objects": ("graph_from",),
    "whichdo.graph.gallery": ("gallery",),
    "whichdo.graph.identify": ("Route", "Verdict", "confounding_path"),
    "whichdo.graph.projection": ("project",),
    "whichdo.identification.engine": ("identify",),
    "whichdo.identification.estimand": ("Estimand",),
    "whichdo.identification.pruning": ("minimal_sets", "possibly_optimal"),
    "whichdo.policies.base": (
        "Objective", "Play", "Policy", "Recommendation", "best_arm", "equal_pulls", "refuse_below", "unit_costs",
    ),
    "whichdo.policies.registry": ("register",),
    "whichdo.policy_names": ("available_policies", "policy"),
    "whichdo.problem": ("Arm", "Goal", "Problem", "do"),
    "whichdo.problem_file": ("read_problem", "write_problem"),
    "whichdo.proposing.proposal": ("propose",),
    "whichdo.report.campaign_page": ("write_report",),
    "whichdo.drawing.svg": ("draw_svg",),
    "whichdo.session": ("Session",),
    "whichdo.simulation": ("Outcomes", "simulate"),
    "whichdo.world.instances.shelf": ("network",),
    "whichdo.world.mechanism": ("Mechanism", "bernoulli"),
    "whichdo.world.network": ("CausalNetwork",),
    "whichdo.world.sampler": ("World",),
}  # fmt: skip
_HOME = {name: room for room, names in _ROOMS.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        errors = import_module("whichdo.errors")
        return errors if name == "errors" else errors.by_old_name(name, __name__)
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
