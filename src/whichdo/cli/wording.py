"""The ways out that messages name, as they are typed in a shell."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from whichdo.cli.app import state
from whichdo.remedies import Option, phrased
from whichdo.text import masked, visible

if TYPE_CHECKING:
    from whichdo.remedies import Remedy

__all__ = ["command", "in_shell", "worded"]

IN_ORDER = ("ticket", "row", "problem")
"""Arguments that go by their place."""


def worded(text: str) -> str:
    """A message for a terminal: options and commands as they are typed, nothing hidden, no passwords."""
    return masked(visible(phrased(text, in_shell)))


def command(verb: str, *words: str, more: str = "") -> str:
    """A command that can be pasted into a shell, in the database that was named; ``more`` is put as it stands.

    >>> print(command("void", "spring sale", "1-ab", more="--reason lost"))
    whichdo void 'spring sale' 1-ab --reason lost
    """
    database = shlex.join(["--db", masked(state.database)]) if state.database else ""
    return " ".join(each for each in (shlex.join(["whichdo", verb, *words]), more, database) if each)


def in_shell(remedy: Remedy) -> str:
    """A remedy as it is typed.

    >>> in_shell(Option("missing", "drop")), in_shell(Option("arm")), in_shell(Option("append", True, of="observe"))
    ('--missing drop', '--arm', '--append')
    """
    if isinstance(remedy, Option):
        return f"--{remedy.name} {remedy.value}" if isinstance(remedy.value, str) else f"--{remedy.name}"
    words, options = [remedy.campaign], []
    for name, value in remedy.arguments.items():
        if name in IN_ORDER:
            words.append(name.upper() if value is ... else str(value))
        else:
            options += [f"--{name}", '"..."' if value is ... else shlex.quote(str(value))]
    if "db" in remedy.arguments:
        return " ".join([shlex.join(["whichdo", remedy.verb, *words]), *options])
    return command(remedy.verb, *words, more=" ".join(options))
