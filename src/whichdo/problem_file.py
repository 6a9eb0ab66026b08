"""Problems as files: ``problem.toml`` for people, canonical JSON for logs and hashes.

::

    graph = "X -> M; M -> Y; X <-> Y"     # or graph_file = "infection.dot", beside this file
    reward = "Y"
    intervene = ["X", "M"]                # or a table: [intervene] X = [1]
    # at_once = 2 makes arms that set two nodes at once as well, at_once = "all" of any number
    # prune = true leaves out arms that the graph shows can never be best
    # or the arms themselves, joint ones too: arms = [{X = 1}, {X = 1, M = "low"}]
    goal = "maximize"
    # for a reward that may be any number: reward_range = [0, 60000]

    [domains]                             # only for nodes that are not 0/1, nor have values in the graph's file
    M = ["low", "mid", "high"]

    [bins]                                # numbers, cut into under 35, 35 to under 45, 45 or more
    age = [35, 45]                        # with "missing" at the end, a missing number is a separate value

    [groups.region]                       # values in the data that count as one declared value
    other = ["Alaska", "Hawaii"]

    [labels]                              # what nodes are called in tables, plots and reports
    Y = "earnings 1978 ($)"

    [rewards]                             # only for a reward whose values are not numbers in [0, 1]
    [costs]
    "do(X=1)" = 5
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING, Any

from whichdo.domains import Bins, bins
from whichdo.errors import InputError, ProblemError, TooLargeError
from whichdo.files import write_file
from whichdo.graph.admg import CausalGraph, read_graph
from whichdo.graph.formats.native import read_json, write_json
from whichdo.graph.formats.scan import read_file, write_text
from whichdo.problem import BINARY, Problem, Value, plain_value
from whichdo.text import nearest, quoted, shown, visible

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from whichdo.problem import Arm


KEYS = (
    "graph", "graph_file", "reward", "reward_range", "intervene", "at_once", "arms", "prune", "goal", "domains", "bins",
    "groups", "rewards", "costs", "labels",
)  # fmt: skip
#: Keys of very many parts, a.b.c.d..., for which Python's TOML reader takes quadratic time; a problem's have two.
DEEP_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){100}""")


def read_problem(path: str | os.PathLike[str]) -> Problem:
    """Read a problem file.

    Parameters
    ----------
    path
        The TOML file.  A ``graph_file`` that it names must lie beside it or in a folder below.

    Returns
    -------
    Problem
        The problem.

    Raises
    ------
    ProblemError
        If the file is not valid TOML, has an unknown key, or a value does not fit its graph.

    Examples
    --------
    >>> import whichdo as wd
    >>> wd.read_problem("problem.toml").reward  # doctest: +SKIP
    'infected'
    """
    path = Path(path)
    text = read_file(path)
    if DEEP_KEY.search(text):
        raise ProblemError(f"{visible(path.name)} is nested too deeply to be a problem file.")
    try:
        content = tomllib.loads(text)
    except ValueError as error:  # a TOMLDecodeError, or a number of more digits than Python converts
        raise ProblemError(f"{visible(path.name)} is not valid TOML: {error}.") from None
    except RecursionError:
        raise ProblemError(f"{visible(path.name)} is nested too deeply to be a problem file.") from None
    return _problem(content, path)


def write_problem(problem: Problem, path: str | os.PathLike[str]) -> None:
    """Write a problem file that `read_problem` reads back as an equal problem.

    Parameters
    ----------
    problem
        The problem.
    path
        The TOML file to write; an existing file is replaced.

    Raises
    ------
    UsageError
        If the path is a folder or another thing that is never replaced.

    Examples
    --------
    >>> import whichdo as wd
    >>> wd.write_problem(problem, "problem.toml")  # doctest: +SKIP
    """
    write_file(Path(path), problem_to_toml(problem))


def problem_to_toml(problem: Problem) -> str:
    """The text of a problem file."""
    lines = [f"graph = {toml_text(write_text(problem.graph))}"]
    lines.append(f"reward = {toml_text(problem.reward)}")
    lines.append(f"goal = {toml_text(problem.goal)}")
    if problem.reward_range is not None:
        lines.append(f"reward_range = [{problem.reward_range.low!r}, {problem.reward_range.high!r}]")
    lines += _toml_arms(problem)
    domains = _declared(problem)
    if domains:
        lines += ["", "[domains]", *(f"{toml_text(name)} = {toml_list(values)}" for name, values in domains.items())]
    if problem.bins:
        lines += [
            "",
            "[bins]",
            *(f"{toml_text(name)} = {toml_list(each.plain)}" for name, each in problem.bins.items()),
        ]
    for name, groups in problem.groups.items():
        lines += ["", f"[groups.{toml_text(name)}]"]
        lines += [f"{toml_text(str(value))} = {toml_list(members)}" for value, members in groups.items()]
    odd = any(isinstance(level, str) or level != worth for level, worth in problem.rewards.items())
    if odd and problem.reward_range is None:
        lines += ["", "[rewards]", *(f"{toml_text(str(k))} = {v!r}" for k, v in problem.rewards.items())]
    costs = {arm: cost for arm, cost in problem.prices.items() if cost != 1}
    if costs:
        lines += ["", "[costs]", *(f"{toml_text(str(arm))} = {cost!r}" for arm, cost in costs.items())]
    if problem.labels:
        lines += [
            "",
            "[labels]",
            *(f"{toml_text(name)} = {toml_text(label)}" for name, label in problem.labels.items()),
        ]
    return "\n".join(lines) + "\n"


def _toml_arms(problem: Problem) -> list[str]:
    """What can be set; a table comes last, since nothing but tables may follow."""
    lines = ["prune = true"] if problem.prune else []
    if problem.has_listed_arms:
        return [*lines, "arms = [", *(f"  {_toml_settings(arm)}," for arm in problem.offered[1:]), "]"]
    if all(values == problem.domains[name] for name, values in problem.intervene.items()):
        return [*lines, f"intervene = [{', '.join(map(toml_text, problem.intervene))}]"]
    settings = (f"{toml_text(name)} = {toml_list(values)}" for name, values in problem.intervene.items())
    return [*lines, "", "[intervene]", *settings]


def problem_to_json(problem: Problem) -> str:
    """The problem as canonical JSON: the same problem gives the same bytes."""
    content: dict[str, Any] = {
        "graph": json.loads(write_json(problem.graph)),
        "reward": problem.reward,
        "goal": str(problem.goal),
        "domains": {name: list(values) for name, values in _declared(problem).items()},
        "costs": {str(arm): cost for arm, cost in problem.prices.items() if cost != 1},
    }
    if problem.reward_range is None:
        content["rewards"] = [[level, worth] for level, worth in problem.rewards.items()]
    else:
        content["reward_range"] = [problem.reward_range.low, problem.reward_range.high]
    if problem.has_listed_arms:
        content["arms"] = [dict(arm.settings) for arm in problem.offered[1:]]
    else:
        content["intervene"] = [[name, list(values)] for name, values in problem.intervene.items()]
    if problem.prune:
        content["prune"] = True
    if problem.bins:
        content["bins"] = {name: each.plain for name, each in problem.bins.items()}
    if problem.groups:
        content["groups"] = {
            name: [[value, list(members)] for value, members in groups.items()]
            for name, groups in problem.groups.items()
        }
    if problem.labels:
        content["labels"] = dict(problem.labels)
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def problem_from_json(text: str) -> Problem:
    """Read back what `problem_to_json` wrote."""
    try:
        content = json.loads(text)
        graph = CausalGraph.of(read_json(json.dumps(content["graph"])))
        return Problem(
            graph,
            content["reward"],
            None if "arms" in content else dict(content["intervene"]),
            arms=content.get("arms"),
            prune=content.get("prune", False),
            goal=content["goal"],
            domains={**content["domains"], **_all_bins(content.get("bins", {}))},
            rewards=dict(map(tuple, content["rewards"])) if "rewards" in content else None,
            reward_range=content.get("reward_range"),
            costs=content["costs"],
            groups={name: dict(each) for name, each in content.get("groups", {}).items()},
            labels=content.get("labels"),
        )
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ProblemError(f"This JSON is not a problem of whichdo: {type(error).__name__} {error}.") from None


def _declared(problem: Problem) -> dict[str, tuple[Value, ...]]:
    """The values of nodes that a file must say: those that are not 0 and 1, nor numbers of a range or in bins."""
    numbers = {*problem.bins, *([problem.reward] if problem.reward_range is not None else [])}
    return {name: values for name, values in problem.domains.items() if values != BINARY and name not in numbers}


def _problem(content: dict[str, Any], path: Path) -> Problem:
    for key in content:
        if key not in KEYS:
            raise ProblemError(f"{visible(path.name)} has the unknown key {quoted(key)}.{nearest(key, KEYS)}")
    try:
        return _build(content, path)
    except (ProblemError, TooLargeError) as error:
        raise error.within(path.name) from None
    except ValueError as error:  # a number too long to be shown
        raise ProblemError(f"{visible(path.name)}: {error}") from None


def _build(content: dict[str, Any], path: Path) -> Problem:
    graph = _graph(content, path)
    for key, kind, words in (
        ("reward", str, "a node's name"),
        ("reward_range", list, "two numbers, such as [0, 60000]"),
        ("goal", str, "maximize or minimize"),
        ("domains", dict, "a table of lists"),
        ("bins", dict, "a table of lists of numbers, such as age = [35, 45]"),
        ("groups", dict, 'tables of lists, such as region = {other = ["Alaska", "Hawaii"]}'),
        ("labels", dict, "a table of strings"),
        ("rewards", dict, "a table of numbers"),
        ("costs", dict, "a table of numbers"),
        ("intervene", (list, dict), "a list of nodes or a table of lists"),
        ("arms", list, "a list of tables such as {X = 1, Z = 0}"),
        ("at_once", (int, str), 'a whole number: how many nodes an arm may set, or "all"'),
        ("prune", bool, "true or false"),
    ):
        if key in content and not isinstance(content[key], kind):
            raise ProblemError(f"`{key}` is {shown(content[key])}; it must be {words}.")
    intervene = content.get("intervene")
    for name in intervene or ():
        if not isinstance(name, str):
            raise ProblemError(f"`intervene` lists {shown(name)}; it must list nodes by name.")
    if isinstance(intervene, dict):
        _lists(intervene, "intervene")
    arms = content.get("arms")
    for arm in arms or ():
        if not isinstance(arm, dict):
            raise ProblemError(f"`arms` lists {shown(arm)}; an arm is a table such as {{X = 1, Z = 0}}.")
    domains = _domains(content, graph)
    for name, groups in content.get("groups", {}).items():
        if not isinstance(groups, dict):
            raise ProblemError(f"`groups` gives {quoted(name)} {shown(groups)}; it must be a table of lists.")
        _lists(groups, f"groups.{name}")
    return Problem(
        graph,
        content.get("reward"),
        intervene,
        arms=arms,
        at_once=_at_once(content),
        prune=content.get("prune", False),
        goal=content.get("goal", "maximize"),
        domains=domains,
        rewards=_levels(content, graph, domains),
        reward_range=content.get("reward_range"),
        costs=content.get("costs"),
        groups=content.get("groups"),
        labels=content.get("labels"),
    )


def _at_once(content: dict[str, Any]) -> int | None:
    found = content.get("at_once", 1)
    if isinstance(found, str) and found != "all":
        raise ProblemError(f'`at_once` is {shown(found)}; it must be a whole number of nodes, or "all".')
    return None if found == "all" else found


def _domains(content: dict[str, Any], graph: CausalGraph) -> dict[str, Any]:
    """The values that the file declares, the cuts of its bins, and for other nodes what the graph's own file says."""
    declared = _lists(content.get("domains", {}), "domains")
    cut = _all_bins(_lists(content.get("bins", {}), "bins"))
    both = [name for name in cut if name in declared]
    if both:
        raise ProblemError(f"{quoted(both[0])} is under both [domains] and [bins]. Keep one of the two.")
    numeric = {content.get("reward") or next(iter(graph.outcomes), "")} if "reward_range" in content else set()
    own = {name: _number(values) for name, values in graph.values.items() if name not in numeric}
    return {**own, **declared, **cut}


def _number(values: tuple[str, ...]) -> tuple[Value, ...]:
    """Values that are 0, 1, 2, ... in order as numbers, as a network's file is read; others as they are."""
    numbers = tuple(range(len(values)))
    return numbers if values == tuple(map(str, numbers)) else values


def _all_bins(table: dict[str, Any]) -> dict[str, Bins]:
    found = {}
    for name, cuts in table.items():
        try:
            found[name] = bins(cuts)
        except ProblemError as error:
            raise error.within(f"bins of {name}") from None
    return found


def _graph(content: dict[str, Any], path: Path) -> CausalGraph:
    if ("graph" in content) == ("graph_file" in content):
        raise ProblemError("give either `graph` (a string) or `graph_file` (a path beside this file), one of them.")
    key = "graph" if "graph" in content else "graph_file"
    if not isinstance(content[key], str):
        raise ProblemError(f"`{key}` is {shown(content[key])}; it must be a string.")
    if key == "graph_file":
        return read_graph(path.parent / _beside(content[key]))
    try:
        return CausalGraph.parse(content[key])
    except InputError as error:
        raise error.within(f"{path.name}, in `graph`") from None


def _beside(name: str) -> str:
    """A path that stays below the problem's folder: a problem from a stranger must not open other files."""
    path = PureWindowsPath(name)  # knows both separators, and drives
    if path.anchor or ".." in path.parts:
        raise ProblemError(
            f"`graph_file` is {quoted(name)}; it must lie beside this file or in a folder below. "
            f'Copy the graph there and give its name alone, such as "graph.dot".'
        )
    return name


def _lists(table: dict[str, Any], key: str) -> dict[str, list[Value]]:
    for name, values in table.items():
        if not isinstance(values, list):
            raise ProblemError(f"`{key}` gives {quoted(name)} the value {shown(values)}; it must be a list of values.")
    return table


def _levels(content: dict[str, Any], graph: CausalGraph, domains: dict[str, Any]) -> dict[Value, float] | None:
    """The table ``[rewards]``, whose keys TOML makes strings, with the values the reward's domain declares."""
    table = content.get("rewards")
    if table is None:
        return None
    reward = content.get("reward") or next(iter(graph.outcomes), "")
    domain = domains.get(reward, BINARY)
    domain = domain.values if isinstance(domain, Bins) else domain
    named = {str(value): value for value in (plain_value(value, reward) for value in domain)}
    return {named.get(text, text): worth for text, worth in table.items()}


def toml_text(text: str) -> str:
    """A text or a key as TOML writes it."""
    return json.dumps(text, ensure_ascii=False)


def _toml_settings(arm: Arm) -> str:
    pairs = (f"{toml_text(name)} = {_toml_value(value)}" for name, value in arm.settings.items())
    return f"{{{', '.join(pairs)}}}"


def _toml_value(value: Value) -> str:
    return toml_text(value) if isinstance(value, str) else repr(value)


def toml_list(values: Sequence[Value]) -> str:
    """A list of values as TOML writes it."""
    return f"[{', '.join(map(_toml_value, values))}]"
