"""Docstrings of public names in numpydoc form: the sections parse, name every parameter, and their examples run."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
from enum import Enum
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

import whichdo
from whichdo import errors

if TYPE_CHECKING:
    from pathlib import Path

SECTIONS = ("Parameters", "Returns", "Yields", "Raises", "Warns", "Attributes", "Notes", "See Also", "References",
            "Examples")  # fmt: skip
"""The sections of numpydoc that we use, in its order; Attributes may also stand first."""
BUILT_BY_US = {"Advice", "ArmRank", "Check", "Comparison", "EditOutcome", "Estimand", "Outcomes", "Ranking", "Receipt",
               "Status", "Ticket", "Verdict", "WhatIf"}  # fmt: skip
"""Results: nobody calls their constructors, so their attributes are documented instead of its parameters."""


def sections(doc: str) -> dict[str, list[str]]:
    """The lines of each section by its name; what comes before the first under ''."""
    found: dict[str, list[str]] = {"": []}
    name, lines = "", inspect.cleandoc(doc).split("\n")
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if line and set(below) == {"-"}:
            assert len(below) == len(line), f"the line below {line} is not as long"
            assert line in SECTIONS, f"{line} is not a section of numpydoc"
            assert line not in found, f"{line} occurs twice"
            name = line
            found[name] = []
        elif set(line) != {"-"}:
            found[name].append(line)
    return found


def entries(lines: list[str]) -> dict[str, str]:
    """The names that a section lists, each with its description."""
    found: dict[str, str] = {}
    names: list[str] = []
    for line in lines:
        if line and not line.startswith(" "):
            names = [name.strip().lstrip("*") for name in line.partition(" : ")[0].split(",")]
            found |= dict.fromkeys(names, "")
        for name in names:
            found[name] += line.strip() if line.startswith(" ") else ""
    return found


def parameters(thing: Any) -> list[str]:
    return [name for name in inspect.signature(thing).parameters if name not in ("self", "cls")]


def returns(thing: Any) -> bool:
    return inspect.signature(thing).return_annotation not in (None, "None")


def attribute_docs(kind: Any) -> set[str]:
    """The attributes that have a string or a comment ``#:`` of their own in the class body."""
    source = inspect.getsource(kind)
    tree = ast.parse(inspect.cleandoc(f"\n{source}"))
    (body,) = [node.body for node in tree.body if isinstance(node, ast.ClassDef)]
    return {
        node.target.id
        for node, below in pairwise(body)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
    }


def members(kind: Any) -> dict[str, Any]:
    """What a class has of its own, and from the part of ours that it is made of."""
    whole = [each for each in kind.__mro__ if each.__module__ in {kind.__module__, "whichdo.graph.mixed"}]
    return {key: value for each in reversed(whole) for key, value in vars(each).items()}


NAMES = {name: getattr(whichdo, name) for name in whichdo.__all__}
FUNCTIONS = {name: thing for name, thing in NAMES.items() if inspect.isfunction(thing)}
CLASSES = {name: thing for name, thing in NAMES.items() if inspect.isclass(thing)}
PLAIN = {
    name: kind for name, kind in CLASSES.items() if not issubclass(kind, (BaseException, Enum))
}  # errors and choices explain themselves
METHODS = {
    f"{name}.{key}": inspect.unwrap(getattr(value, "__func__", value))
    for name, kind in PLAIN.items()
    for key, value in members(kind).items()
    if not key.startswith("_") and inspect.isfunction(getattr(value, "__func__", value))
}
PROPERTIES = {
    f"{name}.{key}": value
    for name, kind in CLASSES.items()
    for key, value in members(kind).items()
    if not key.startswith("_") and isinstance(value, (property, cached_property))
}
ERRORS = {name: getattr(errors, name) for name in errors.__all__ if inspect.isclass(getattr(errors, name))}


def check_sections(thing: Any) -> dict[str, list[str]]:
    """The sections of a docstring that begins with one sentence and has them in order."""
    doc = thing.__doc__ or ""
    assert re.match(r"\S.*[.:]$", doc.strip().split("\n\n")[0].replace("\n", " ")), "it begins with a sentence"
    found = sections(doc)
    places = [SECTIONS.index(name) for name in found if name not in ("", "Attributes")]
    assert places == sorted(places), "its sections are in numpydoc's order"
    for name in ("Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns"):
        assert all(entries(found.get(name, [])).values()), f"each entry of {name} is described"
    return found


def check_call(thing: Any, found: dict[str, list[str]]) -> None:
    assert list(entries(found.get("Parameters", []))) == parameters(thing)
    assert ("Returns" in found or "Yields" in found) == returns(thing)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_names_its_parameters_its_result_and_an_example(name: str) -> None:
    found = check_sections(FUNCTIONS[name])
    check_call(FUNCTIONS[name], found)
    assert ">>> " in "\n".join(found["Examples"])


@pytest.mark.parametrize("name", METHODS)
def test_a_method_names_its_parameters_and_its_result(name: str) -> None:
    found = check_sections(METHODS[name])
    if parameters(METHODS[name]):
        check_call(METHODS[name], found)


STATED = re.compile(
    r"(?:[Bb]y default|[Dd]efaults? to|[Dd]efault:) (?P<value>``[^`]+``|\"[^\"]+\"|-?\d+(?:\.\d+)?|True|False|None)"
)
"""A default that a description states as a value."""


def stated_defaults(thing: Any) -> dict[str, tuple[Any, Any]]:
    """For each parameter whose description states its default: the stated value, and that of the signature."""
    described = entries(sections(thing.__doc__ or "").get("Parameters", []))
    given = inspect.signature(thing).parameters
    found = {name: STATED.search(text) for name, text in described.items()}
    return {
        name: (ast.literal_eval(match["value"].strip("`")), given[name].default)
        for name, match in found.items()
        if match
    }


@pytest.mark.parametrize("name", [*FUNCTIONS, *METHODS, *sorted(set(PLAIN) - BUILT_BY_US)])
def test_a_stated_default_is_that_of_the_signature(name: str) -> None:
    for parameter, (stated, default) in stated_defaults({**FUNCTIONS, **METHODS, **PLAIN}[name]).items():
        assert stated == default, parameter


def test_a_wrong_default_is_found() -> None:
    def add(count: int, more: int = 2) -> int:
        return count + more

    add.__doc__ = "Add.\n\nParameters\n----------\ncount\n    A number.\nmore\n    Another; by default 3."
    assert stated_defaults(add) == {"more": (3, 2)}


@pytest.mark.parametrize("name", sorted(set(PLAIN) - BUILT_BY_US))
def test_a_class_names_the_parameters_of_its_constructor(name: str) -> None:
    found = check_sections(PLAIN[name])
    assert list(entries(found.get("Parameters", []))) == parameters(PLAIN[name])


@pytest.mark.parametrize("name", sorted(BUILT_BY_US))
def test_a_result_describes_each_attribute(name: str) -> None:
    kind = PLAIN[name]
    found = check_sections(kind)
    described = {*entries(found.get("Attributes", [])), *attribute_docs(kind)}
    assert {each for each in kind.__annotations__ if not each.startswith("_")} <= described
    assert not attribute_docs(kind) & set(entries(found.get("Attributes", []))), "each is described once"
    assert described


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_property_says_what_it_is(name: str) -> None:
    check_sections(PROPERTIES[name])


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_says_when_it_is_raised(name: str) -> None:
    check_sections(ERRORS[name])


@pytest.mark.parametrize("name", [*FUNCTIONS, *PLAIN, *METHODS])
def test_the_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From nothing, so that a reader can copy them."""
    monkeypatch.chdir(tmp_path)
    thing = {**FUNCTIONS, **PLAIN, **METHODS}[name]
    found = doctest.DocTestParser().get_doctest(inspect.getdoc(thing) or "", {}, name, None, 0)
    assert doctest.DocTestRunner(verbose=False).run(found).failed == 0


def test_a_docstring_that_is_not_in_this_form_is_found() -> None:
    def without(count: int, more: int) -> int:
        return count + more

    without.__doc__ = "Add.\n\nParameters\n----------\ncount\n    A number.\n\nReturns\n-------\nint\n    The sum."

    with pytest.raises(AssertionError):
        check_call(without, check_sections(without))
    with pytest.raises(AssertionError, match="is not a section of numpydoc"):
        sections("Add.\n\nArguments\n---------\ncount\n    A number.")
    with pytest.raises(AssertionError, match="not as long"):
        sections("Add.\n\nReturns\n-----\nint\n    A number.")
