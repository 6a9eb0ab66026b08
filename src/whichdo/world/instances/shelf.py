"""Instances by name: what ``whichdo simulate --list`` shows, and `whichdo.network` gives.

A name is that of a family, or of one of its members: ``experiment-1:3``, ``canonical:napkin``, ``structural:task-3``.

What a simulation is about (`read_subject`) is named likewise, or comes from one file or two.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from whichdo.errors import InputError, NetworkError, ProblemError, UsageError
from whichdo.graph.projection import project
from whichdo.problem_file import read_problem
from whichdo.remedies import Option, separated
from whichdo.text import nearest, quoted, visible
from whichdo.world.instances import experiment_1, experiment_2, experiment_4, experiment_5, families
from whichdo.world.network import CausalNetwork

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from whichdo.problem import Problem
    from whichdo.world.instances.instance import Instance


#: The paper's experiments at the paper's size: how many networks there are, and the first so many of them.
_PAPER: dict[str, tuple[int, Callable[[int], Sequence[Instance]]]] = {
    "experiment-1": (50, experiment_1),
    "experiment-2": (50, lambda count: experiment_2(12, count)),
    "experiment-4": (50, experiment_4),
    "experiment-5": (12, experiment_5),
}


def shelf() -> dict[str, str]:
    """The names of networks that need no file, each with a line about it."""
    found = {}
    for name, made in families().items():
        count, first = (_PAPER[name][0], _PAPER[name][1](1)) if name in _PAPER else (len(made()), made())
        members = [each.name.replace("/", ":") for each in first]
        if name == "canonical":
            found[name] = f"tiny networks, each with a way to go wrong ({', '.join(members)})"
        elif name == "structural":
            found[name] = f"Lee and Bareinboim's three tasks, over three lists of arms each ({', '.join(members)})"
        else:
            found[name] = f"{first[0].about} ({f'{name}:0 to {name}:{count - 1}' if count > 1 else 'one network'})"
    return found


def is_on_shelf(name: str) -> bool:
    """Whether a name begins with that of a family."""
    return name.partition(":")[0] in families()


def named_instance(name: str) -> tuple[Instance, str]:
    """The instance of a name, and its full name.

    Raises `UsageError` if there is no such family, or it has no such member.
    """
    family, _, member = name.partition(":")
    known: Sequence[Instance]
    if family not in families():
        raise UsageError(f"There is no network {quoted(name)}.{nearest(family, families())}")
    if family in _PAPER and _number(member, []) >= 0:
        count, number = _PAPER[family][0], _number(member, [])
        known = _PAPER[family][1](number + 1) if number < count else ()
    else:
        known = families()[family]()
        count = len(known)
        number = _number(member, [each.name.partition("/")[2] for each in known])
    if not 0 <= number < count:
        raise UsageError(
            f"There is no {quoted(name)}: {family} has "
            + (f"the networks {family}:0 to {family}:{count - 1}." if count > 1 else "one network, without a number.")
        )
    return known[number], f"{family}:{number}" if count > 1 else family


def _number(member: str, names: list[str]) -> int:
    """The number of a member of a family by its number or name; -1 for what is neither."""
    if member.isascii() and member.isdigit() and len(member) < 6:
        return int(member)
    return names.index(member) if member in names else -1 if member else 0


def network(name: str) -> CausalNetwork:
    """A causal network by name; ``whichdo simulate --list`` shows the names.

    Parameters
    ----------
    name
        A family, such as ``experiment-1``, or one of its members, such as ``canonical:napkin`` or
        ``structural:task-3``.

    Returns
    -------
    CausalNetwork
        The network; ``problem(reward)`` makes the problem that a learner faces.

    Raises
    ------
    UsageError
        If there is no such network; the message has the nearest name.

    Examples
    --------
    >>> import whichdo as wd
    >>> wd.network("structural:task-2").graph.nodes
    ('Z', 'X', 'Y')
    """
    if not isinstance(name, str):
        raise UsageError(f'A network is known by its name, such as "experiment-1"; found {quoted(name)}.')
    found, _ = named_instance(name)
    return found.network


WITHOUT_PROBABILITIES = (".dag", ".dagitty", ".dot", ".gml", ".gv", ".json", ".txt")


class Subject(NamedTuple):
    """A network, the problem it poses, and how to call it."""

    network: CausalNetwork
    problem: Problem
    title: str


def read_subject(
    source: str,
    *,
    network: str | None = None,
    reward: str | None = None,
    intervene: Iterable[str] = (),
    goal: str | None = None,
) -> Subject:
    """Read what a command names: a BIF file with a reward, a problem with a network, or a name such as experiment-1:3.

    ``network``: the BIF file that gives a problem.toml its probabilities; their graphs must agree.  A file whose name
    is one on the shelf is meant when its folder is written, as in ``./parallel``.
    """
    nodes = list(intervene)
    if Path(source).suffix.lower() == ".toml":
        _refuse_extra(source, "already states these", reward=reward, intervene=nodes or None, goal=goal)
        return _from_problem(source, network)
    _refuse_extra(source, "is a network itself", network=network)
    if is_on_shelf(source):
        _refuse_extra(source, "brings its own problem", reward=reward, intervene=nodes or None, goal=goal)
        return _from_shelf(source)
    return _from_network(source, reward, nodes, goal)


def _refuse_extra(source: str, why: str, **given: object) -> None:
    extra = [Option(name) for name, value in given.items() if value is not None]
    if extra:
        raise UsageError(f"{visible(source)} {why}: leave out ", separated(extra, " and "), ".")


def _from_shelf(source: str) -> Subject:
    found, title = named_instance(source)
    return Subject(found.network, found.problem, f"{title}, {found.about}")


def _from_network(source: str, reward: str | None, intervene: list[str], goal: str | None) -> Subject:
    path = Path(source)
    if not os.path.exists(path):  # noqa: PTH110 - nor where its name is too long
        known = families()
        raise InputError(
            f"{quoted(source)} is neither a file nor a network by name.{nearest(source.partition(':')[0], known)} "
            f"Known: {', '.join(known)}; whichdo simulate --list describes them."
        )
    if path.suffix.lower() in WITHOUT_PROBABILITIES:
        raise InputError(
            f"{visible(path.name)} is a graph without probabilities, so there is nothing to simulate. "
            f"Give a network: a BIF file, or a name that whichdo simulate --list shows."
        )
    network = CausalNetwork.read_bif(path)
    if reward is None:
        raise UsageError(
            f"Which node of {visible(path.name)} is the reward? Say ",
            Option("reward"),
            " and a name, one of "
            f"{', '.join(map(visible, network.graph.nodes[:12]))}{', ...' if len(network.graph.nodes) > 12 else ''}.",
        )
    texts = [value for value in network.domains.get(reward, ()) if isinstance(value, str)]
    if texts:
        raise ProblemError(
            f"The reward {quoted(reward)} takes the value {quoted(texts[0])}; declare what each value is "
            "worth: write a problem.toml with [rewards], and simulate it with ",
            Option("network", visible(path.name)),
            ".",
        )
    problem = network.problem(reward, intervene or None, goal=goal or "maximize")
    return Subject(network, problem, f"{visible(path.name)}, {problem.goal} {visible(reward)}")


def _from_problem(source: str, network_file: str | None) -> Subject:
    problem = read_problem(source)
    name = visible(Path(source).name)
    if network_file is None:
        raise UsageError(
            f"{name} holds no probabilities, so there is nothing to simulate yet. Give a network with the same graph: ",
            Option("network", "file.bif"),
            ".",
        )
    network = CausalNetwork.read_bif(network_file)
    network.check(problem)
    _check_graphs(problem, network, name, visible(Path(network_file).name))
    return Subject(network, problem, f"{name}, {problem.goal} {visible(problem.reward)}")


def _check_graphs(problem: Problem, network: CausalNetwork, here: str, there: str) -> None:
    """The problem must see the graph that the network has, nodes that it does not list projected out."""
    mine, true = problem.graph, project(network.graph, problem.graph.nodes)
    pairs = [
        *((f"{a} -> {b}", here, there) for a, b in sorted(mine.directed - true.directed)),
        *((f"{a} -> {b}", there, here) for a, b in sorted(true.directed - mine.directed)),
        *((" <-> ".join(sorted(edge)), here, there) for edge in sorted(mine.bidirected - true.bidirected, key=sorted)),
        *((" <-> ".join(sorted(edge)), there, here) for edge in sorted(true.bidirected - mine.bidirected, key=sorted)),
    ]
    if pairs:
        edge, has, lacks = pairs[0]
        more = f" and {len(pairs) - 1:,} more such edges" if len(pairs) > 1 else ""
        raise NetworkError(
            f"The graphs differ: {visible(edge)} is in {has} and not in {lacks}{more}. "
            f"A simulation needs the problem's graph to be the network's, without its hidden nodes."
        )
