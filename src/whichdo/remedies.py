"""What a reader can do about a message, as data: each of its readers puts it into words.

A message is a string in Python's words that remembers the remedies in it.  Who shows it to somebody else, such as the
command line, has it phrased again:

    >>> text = Message("Drop these rows (", Option("missing", "drop"), ").")
    >>> text
    'Drop these rows (missing="drop").'
    >>> phrased(text, lambda remedy: f"--{remedy.name} {remedy.value}")
    'Drop these rows (--missing drop).'

Building an f-string or joining makes plain strings, which remember nothing: give a message its parts instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class _Beside:
    """A remedy stands beside the text of a message, never inside an f-string, where nobody could phrase it again."""

    def __format__(self, _: str) -> NoReturn:
        raise TypeError(f"{self!r} is part of a message: give it to Message or to the error beside the message")


@dataclass(frozen=True)
class Option(_Beside):
    """An option of the call that failed, or of another, ``of``; and the value it should have, where one is known."""

    name: str
    value: str | bool | None = None
    of: str = ""


@dataclass(frozen=True)
class Verb(_Beside):
    """What to do with a campaign; an argument that is ``...`` is the reader's to choose."""

    verb: str
    campaign: str
    arguments: Mapping[str, object] = field(default_factory=dict)


Remedy = Option | Verb
Language = Callable[[Remedy], str]


class Message(str):
    """Text for people in Python's words, made of parts, some of which are remedies."""

    __slots__ = ("parts",)
    parts: tuple[str | Remedy, ...]

    def __new__(cls, *parts: str | Remedy) -> Self:
        """Join text, remedies and other messages."""
        flat: list[str | Remedy] = []
        for part in parts:
            flat += part.parts if isinstance(part, Message) else (part,)
        self = super().__new__(cls, "".join(part if isinstance(part, str) else in_python(part) for part in flat))
        self.parts = tuple(flat)
        return self

    def __reduce__(self) -> tuple[type[Self], tuple[str | Remedy, ...]]:
        """By its parts, so that an error from another process can still be phrased."""
        return type(self), self.parts

    def removesuffix(self, suffix: str, /) -> Message:
        """The message without a last sentence, if it ends so."""
        last = self.parts[-1] if self.parts else ""
        return Message(*self.parts[:-1], str.removesuffix(last, suffix)) if isinstance(last, str) else self


def phrased(text: str, language: Language) -> str:
    """A text as another reader would write it."""
    if not isinstance(text, Message):
        return text
    return "".join(part if isinstance(part, str) else language(part) for part in text.parts)


def separated(parts: Iterable[str | Remedy], between: str) -> Message:
    """Parts with a text between each two."""
    return Message(*[each for part in parts for each in (between, part)][1:])


def in_python(remedy: Remedy) -> str:
    """A remedy as a Python program says it.

    >>> in_python(Option("missing", "drop")), in_python(Option("arm"))
    ('missing="drop"', '`arm`')
    >>> in_python(Verb("void", "spring", {"ticket": "1-ab", "reason": ...}))
    'campaign.void("1-ab", reason=...)'
    """
    if isinstance(remedy, Option):
        if remedy.value is None:
            return f"`{remedy.name}`"
        value = f'"{remedy.value}"' if isinstance(remedy.value, str) else remedy.value
        return f"{remedy.of}(..., {remedy.name}={value})" if remedy.of else f"{remedy.name}={value}"
    if remedy.verb == "start":
        return "whichdo.Campaign.create(...)"
    words = {"ticket": '"{}"', "row": "row"}
    given = [words.get(name, f"{name}=...").format(value) for name, value in remedy.arguments.items()]
    return f"campaign.{remedy.verb}({', '.join(given)})"
