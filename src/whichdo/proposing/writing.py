"""A proposed problem as a file that a person reads and edits: every choice beside what it rests on."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

from whichdo.domains import BINARY
from whichdo.errors import UsageError
from whichdo.files import SAVED, check_target, write_file
from whichdo.graph.formats.scan import write_text
from whichdo.problem_file import toml_list, toml_text
from whichdo.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whichdo.proposing.proposal import Proposal


WIDTH = 100
BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


def check_free(path: Path, *, force: bool, inputs: Iterable[str] = ()) -> None:
    """Refuse to write over a file, before anything long is read; over an input always."""
    for each in inputs:
        if os.path.realpath(each) == os.path.realpath(path):
            raise UsageError(f"{visible(path)} is an input; write the problem to another file (-o).")
    check_target(path, SAVED)
    if path.exists() and not force:
        raise UsageError(f"{visible(path)} already exists. Write to another file (-o), or over it (--force).")
    if not os.path.isdir(path.absolute().parent):  # noqa: PTH112 - nor where its name is too long
        raise UsageError(f"The folder of {visible(path)} does not exist. Create it, or write elsewhere (-o).")


def write_proposal(found: Proposal, path: Path, *, data: str | None = None, graph_file: Path | None = None) -> str:
    """Write the file and return its text; ``graph_file`` is named in it where it lies beside it or below."""
    beside = None
    if graph_file is not None and not found.hidden and not found.renamed:
        relative = os.path.relpath(os.path.realpath(graph_file), os.path.realpath(path.absolute().parent))
        beside = None if relative.startswith("..") or Path(relative).is_absolute() else Path(relative).as_posix()
    text = proposal_to_toml(found, data=data, graph_file=beside, path=path)
    write_file(path, text)
    return text


def next_command(found: Proposal, path: Path | str, data: str | None, verb: str = "rank") -> str:
    """The command that ranks the arms, or another verb with the same arguments, as it can be pasted into a shell."""
    words = ["whichdo", verb, os.fspath(path), data or "data.csv"]
    return shlex.join([*words, *(["--missing", "drop"] if found.must_say_missing else [])])


def proposal_to_toml(
    found: Proposal, *, data: str | None = None, graph_file: str | None = None, path: Path | str = "problem.toml"
) -> str:
    """The text of the file; `whichdo.read_problem` reads the proposed problem back from it."""
    problem = found.problem
    source = f" {data}" if data is not None else ""
    lines = _comment(f"Proposed from the {found.rows:,} rows of{source or ' the data'}. Read it, edit it, then run:")
    lines += [f"#   {visible(next_command(found, path, data))}"]
    if found.remarks:
        lines.append("#")
        for remark in found.remarks:
            lines += _comment(remark)
    if found.must_say_missing:
        lines += _comment(
            "Estimates need values that are missing: --missing drop leaves those rows out and tests whether they "
            "differ, --missing level counts missing as a separate value."
        )
    lines.append("")
    if graph_file is None:
        lines.append(f"graph = {toml_text(write_text(problem.graph))}")
    else:
        lines.append(f"graph_file = {toml_text(graph_file)}")
    lines += ["", f"reward = {toml_text(problem.reward)}  # {visible(found.reward_words)}"]
    lines.append(f"goal = {toml_text(problem.goal)}  # or {_other_goal(found)}")
    if problem.reward_range is not None:
        lines += ["", *_comment("What lies outside is refused: widen it if other values can happen.")]
        lines.append(f"reward_range = [{problem.reward_range.low!r}, {problem.reward_range.high!r}]")
    lines += ["", *_comment("What can be set, each value an arm. Keep only what you could really set.")]
    lines.append(f"intervene = {toml_list(tuple(problem.intervene))}")
    lines += _tables(found)
    lines += ["", *_comment("What nodes are called in tables, plots and reports, with their units.")]
    lines += ["[labels]", f'# {_key(problem.reward)} = "a name for readers (unit)"', ""]
    return "\n".join(lines)


def _tables(found: Proposal) -> list[str]:
    problem, lines = found.problem, list[str]()
    if problem.bins:
        lines += ["", *_comment("Where numbers are cut; a cut belongs to the interval above it.")]
        lines.append("[bins]")
        for name, each in problem.bins.items():
            lines.append(f"{_key(name)} = {toml_list(each.plain)}  # {_words(found, name)}")
    declared = {
        name: values
        for name, values in problem.domains.items()
        if name not in problem.bins and not (name == problem.reward and problem.reward_range is not None)
        # 0 and 1 need no line, unless the drawing's own file lists other values
        if values != BINARY or name in problem.graph.values
    }
    if declared:
        lines += ["", *_comment("The values of nodes that are not 0 and 1, in order.")]
        lines.append("[domains]")
        for name, values in declared.items():
            lines.append(f"{_key(name)} = {toml_list(values)}  # {_words(found, name)}")
    if problem.groups:
        lines += ["", *_comment("Values of the data that count as one of the values above.")]
    for name, groups in problem.groups.items():
        lines += [f"[groups.{_key(name)}]"]
        lines += [f"{_key(str(value))} = {toml_list(members)}" for value, members in groups.items()]
    if problem.reward_range is None and any(isinstance(level, str) for level in problem.rewards):
        lines += ["", *_comment("What each value of the reward is worth, from 0 to 1.")]
        lines += ["[rewards]", *(f"{_key(str(level))} = {worth!r}" for level, worth in problem.rewards.items())]
    return lines


def _words(found: Proposal, name: str) -> str:
    values = found.values.get(name)
    said = visible("; ".join(values.words)) if values is not None else visible(found.reward_words)
    missing = found.missing.get(name)
    said = said if len(said) <= WIDTH else said[: WIDTH - 3] + "..."
    return said if not missing else f"{said}; {missing:,} missing"


def _key(name: str) -> str:
    """A key of TOML, bare where it may be."""
    return name if BARE.fullmatch(name) else toml_text(name)


def _other_goal(found: Proposal) -> str:
    return '"minimize"' if found.problem.goal == "maximize" else '"maximize"'


def _comment(text: str) -> list[str]:
    return [f"# {line}" for line in wrap(visible(text), WIDTH - 2, break_long_words=False)]
