"""A policy by its name: one of ours, of an installed package, or of a file; with parameters, as a string.

An installed package offers a policy by an entry point of the group ``whichdo.policies``, whose name is the policy's.  A
user names a file as ``path/to/file.py:Name``, in a call or in the environment variable
``WHICHDO_POLICIES``.  Nothing is imported because a log says so: a log may come from anywhere.

``srm(second_phase=rejects)`` is read without ever running what is written.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import Field, fields
from functools import partialmethod
from hashlib import sha256
from importlib.util import module_from_spec, spec_from_file_location
from inspect import formatannotation
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from whichdo.errors import InputError, UsageError
from whichdo.policies.base import Policy
from whichdo.policies.registry import own_policies, register, registered
from whichdo.text import nearest, quoted, visible

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.metadata import EntryPoint
    from types import ModuleType


GROUP = "whichdo.policies"
VARIABLE = "WHICHDO_POLICIES"
FILE = re.compile(r"(?P<path>.+\.py):(?P<name>[A-Za-z_]\w*)", re.DOTALL)
WHOLE = re.compile(r"([^()]+)(?:\((.*)\))?")
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
LONGEST = 1_000

_refused: dict[str, str] = {}
"""Why the entry point of a name does not serve."""


def available_policies() -> Mapping[str, type[Policy]]:
    """List all policies that can be named: ours, those of installed packages, and those of ``WHICHDO_POLICIES``.

    Returns
    -------
    Mapping[str, type[Policy]]
        The class of each policy by its name, sorted by name.

    Examples
    --------
    >>> import whichdo as wd
    >>> wd.available_policies()["ue"].objective.value
    'simple'
    """
    from importlib.metadata import entry_points

    own_policies()
    for entry in entry_points(group=GROUP):
        _register_entry(entry)
    for text in _listed_files():
        load_policy(text)
    return MappingProxyType(dict(sorted(registered.items())))


def policy(name: str, **parameters: Any) -> Policy:
    """Make a policy by name, with its parameters.

    Parameters
    ----------
    name : str
        A name from `available_policies`, or a class in a file: ``"path/to/file.py:Name"``.
    **parameters
        The fields of the policy; those not given have their defaults.

    Returns
    -------
    Policy
        Ready to be played.

    Raises
    ------
    UsageError
        There is no such policy, or it has no such parameter.

    Examples
    --------
    >>> import whichdo as wd
    >>> wd.policy("srm", second_phase="rejects")
    SRM(second_phase='rejects', pool=False, prune_parents=True)
    """
    kind = policy_class(name)
    try:
        return kind(**parameters)
    except TypeError as error:
        raise UsageError(f"The policy {name} does not take these parameters: {error}.") from None


def policy_class(name: str) -> type[Policy]:
    """Find the class of a policy; an installed package is asked only for a name that is not one of ours."""
    if is_file_policy(name):
        return load_policy(name)
    if name in own_policies():
        return registered[name]
    known = available_policies()
    if name in known:
        return known[name]
    if name in _refused:
        raise UsageError(f"The policy {quoted(name)} cannot be used: {_refused[name]}.")
    raise UsageError(f"There is no policy {quoted(name)}.{nearest(name, known)} Known: {', '.join(known)}.")


# -------------------------------------------------------------------------------------------------- installed packages


def _register_entry(entry: EntryPoint) -> None:
    """Take in what a package offers; one that cannot be used is refused when somebody asks for it by name."""
    package = "a package" if entry.dist is None else f"package {entry.dist.name} {entry.dist.version}"
    try:
        kind = entry.load()
        _register_kind(kind, entry.name, package)
    except Exception as error:  # noqa: BLE001 - the import of somebody else's package may raise anything
        _refused[entry.name] = f"{package} offers it as {entry.value}, and {type(error).__name__}: {error}".rstrip(".")


def _register_kind(kind: object, name: str | None, origin: str) -> type[Policy]:
    if not isinstance(kind, type) or not issubclass(kind, Policy):
        raise UsageError(f"{quoted(kind)} is not a subclass of whichdo.Policy.")
    own = kind.__dict__.get("name", name or kind.__name__)
    if name is not None and own != name:
        raise UsageError(f"it registers itself as {quoted(own)}")
    register(own)(kind)
    kind.origin = origin
    return kind


# --------------------------------------------------------------------------------------------------------------- files


def is_file_policy(text: str) -> bool:
    """Whether a name is a class in a file, ``path/to/file.py:Name``."""
    return FILE.fullmatch(text) is not None


def load_policy(text: str) -> type[Policy]:
    """Import a policy from a file, ``path/to/file.py:Name``, and make it known by its name.

    That is the name it registers itself by, or else the name of its class.  The same file is imported once.
    """
    match = FILE.fullmatch(text)
    if match is None:
        raise UsageError(f"{quoted(text)} does not name a class in a file; write path/to/file.py:Name.")
    own_policies()
    path, name = Path(match["path"]), match["name"]
    module = _module_of(path)
    kind = vars(module).get(name)
    if kind is None:
        classes = [key for key, value in vars(module).items() if isinstance(value, type) and issubclass(value, Policy)]
        raise UsageError(f"{visible(path)} has no class {quoted(name)}.{nearest(name, classes)}")
    found = _register_kind(kind, None, f"{path.name}:{name}")
    found.__reduce_ex__ = partialmethod(_file_and_parameters, f"{path.resolve()}:{name}")  # type: ignore[method-assign, assignment]
    return found


def _file_and_parameters(made: Policy, file: str, protocol: object) -> tuple[Any, ...]:  # noqa: ARG001
    """How a policy of a file is sent to a worker process, which loads the file itself."""
    return _from_file, (file, {each.name: getattr(made, each.name) for each in fields(made) if each.init})  # type: ignore[arg-type]


def _from_file(file: str, parameters: dict[str, Any]) -> Policy:
    return load_policy(file)(**parameters)


def _module_of(path: Path) -> ModuleType:
    where = Path(os.path.realpath(path))
    title = f"whichdo_policy_{where.stem}_{sha256(str(where).encode()).hexdigest()[:12]}"
    if title in sys.modules:
        return sys.modules[title]
    if not os.path.isfile(where):  # noqa: PTH113 - nor where its name is too long
        raise InputError(f"There is no file {visible(path)}, where a policy was to be found.")
    spec = spec_from_file_location(title, where)
    if spec is None or spec.loader is None:
        raise InputError(f"{visible(path)} cannot be imported as Python.")
    module = module_from_spec(spec)
    sys.modules[title] = module  # where dataclasses look annotations up
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[title]
        raise InputError(
            f"{visible(path)} cannot be imported: {type(error).__name__}: {str(error).rstrip('.')}."
        ) from error
    return module


def _listed_files() -> list[str]:
    """What the environment variable names, separated by commas."""
    return [text for part in os.environ.get(VARIABLE, "").split(",") if (text := part.strip())]


# -------------------------------------------------------------------------------------------------------- as a string


def read_policy(text: str) -> Policy:
    """The policy that a text names, with its parameters.

    >>> read_policy("srm(second_phase=rejects)")
    SRM(second_phase='rejects', pool=False, prune_parents=True)
    """
    whole = WHOLE.fullmatch(text.strip()) if len(text) <= LONGEST else None
    if whole is None:
        raise UsageError(
            f"{quoted(text)} is not a policy; write a name or, with parameters, srm(second_phase=rejects)."
        )
    name, listed = whole[1].strip(), (whole[2] or "").strip()
    known = {each.name: each for each in fields(policy_class(name))}  # type: ignore[arg-type]
    given: dict[str, Any] = {}
    for part in listed.split(",") if listed else ():
        key, equals, value = (word.strip() for word in part.partition("="))
        if not equals or not key or not value:
            raise UsageError(f"In {quoted(text)}, {quoted(part.strip())} is not a parameter; write name=value.")
        if key not in known:
            raise UsageError(f"{name} has no parameter {quoted(key)}.{nearest(key, known)}{_listed(known)}")
        if key in given:
            raise UsageError(f"In {quoted(text)}, {key} is given twice.")
        given[key] = _value(name, known[key], value)
    return policy(name, **given)


def as_policy(given: object) -> Policy:
    """A policy as it is given anywhere: itself, or what `read_policy` reads."""
    made = read_policy(given) if isinstance(given, str) else given
    if not isinstance(made, Policy):
        found = f"A {type(given).__name__}" if type(given).__module__.startswith("whichdo.") else quoted(given)
        raise UsageError(f'{found} is not a policy; give a name such as "srm", or what whichdo.policy makes.')
    return made


def policy_text(made: Policy) -> str:
    """The text that names a policy: parameters that are not the default, but for large ones.

    >>> policy_text(policy("srm", second_phase="rejects")), policy_text(policy("srm"))
    ('srm(second_phase=rejects)', 'srm')
    """
    parameters: tuple[Field[Any], ...] = tuple(getattr(made, "__dataclass_fields__", {}).values())
    changed = {each.name: getattr(made, each.name) for each in parameters if each.repr}
    defaults = {each.name: each.default for each in parameters}
    said = [
        f"{key}={str(value).lower() if isinstance(value, bool) else value}"
        for key, value in changed.items()
        if value != defaults[key]
    ]
    return f"{made.name}({', '.join(said)})" if said else made.name


def _listed(known: dict[str, Field[Any]]) -> str:
    return f" It has {', '.join(known)}." if known else " It has none."


def _value(name: str, parameter: Field[Any], text: str) -> Any:
    """A value of the kind that the parameter is declared to be.

    Its annotation is a string where the file postpones annotations, and the type itself where it does not.
    """
    declared = parameter.type if isinstance(parameter.type, str) else formatannotation(parameter.type)
    kinds = {kind.strip() for kind in declared.split("|")}
    place = f"{name}: {parameter.name} is {quoted(text)}; it must be"
    if "bool" in kinds:
        if text not in ("true", "false"):
            raise UsageError(f"{place} true or false.")
        return text == "true"
    if kinds & {"int", "float"}:
        whole = "float" not in kinds
        if not NUMBER.fullmatch(text) or (whole and not text.lstrip("+-").isdigit()):
            raise UsageError(f"{place} a {'whole ' if whole else ''}number.")
        return int(text) if whole else float(text)
    if "str" in kinds or declared.startswith("Literal["):
        return text
    raise UsageError(
        f"{name}: {parameter.name} cannot be written as a string; in Python, "
        f'whichdo.policy("{name}", {parameter.name}=...).'
    )
