"""The terms of a campaign: all that decides, as event 0 holds it and as it is read back.

They never change.  What changes later, such as arms that are forbidden, is an event of its own.
"""

from __future__ import annotations

import json
import unicodedata
from dataclasses import MISSING, Field, dataclass, fields
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo._version import __version__
from whichdo.campaign.audit import kept_for_audits
from whichdo.campaign.chain import canonical, new_seal
from whichdo.errors import DamagedError, TooNewError, UsageError, WhichdoError
from whichdo.evidence import whole_number
from whichdo.frames import picked
from whichdo.policies.registry import AbsentPolicy, absent_policy
from whichdo.policy_names import is_file_policy, policy_class
from whichdo.policy_names import policy as policy_named
from whichdo.problem import Problem
from whichdo.problem_file import problem_from_json, problem_to_json
from whichdo.session import Session
from whichdo.text import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whichdo.policies.base import Policy


FORMAT = 3
"""The latest form of events, counted up when an older program could not read them.

A campaign is written in the earliest form that can hold its terms, so that older programs go on with it where they can:
3 if its hashes have a key (`whichdo.campaign.chain`); 2 if the arms of its problem are listed (joint arms among
them), its reward is any number of a range, or it has bins, groups or labels; else 1.
"""

_PLAIN = ("budget", "horizon", "seed", "lease", "grace", "window")
_LATER: dict[str, Any] = {"stop": False, "margin": 0.0, "audit": 0.0}
"""Terms that the first logs do not have, as they were then."""


@dataclass(frozen=True)
class Terms:
    """What a campaign was started with; times in seconds, ``budget`` in cost units (pulls, where all costs are 1)."""

    name: str
    problem: Problem
    policy: Policy
    budget: float
    horizon: int | None = None
    seed: int = 0
    lease: float | None = None
    """How long a ticket may stay open; None is for ever."""
    grace: float | None = None
    """How long after its lease a ticket may still be told."""
    window: float | None = None
    """How long after the ask an outcome may still turn: a pull counts from its end on."""
    stop: bool = False
    """Whether to stop as soon as direct pulls make it sure which arm is best, or that nothing better by ``margin`` is
    left."""
    margin: float = 0.0
    audit: float = 0.0
    """What is kept of the budget, in cost units, for direct pulls of arms that lead by looking."""
    revision: int = 1
    """Of the policy, when the campaign began."""
    made_by: str = __version__
    lacks: tuple[str, ...] = ()
    """Parameters of the policy that were added since, so that event 0 does not name them."""
    hashes: Mapping[str, Any] | None = None
    """How its hashes are made, where they have a key."""

    def as_body(self) -> dict[str, Any]:
        """What event 0 holds."""
        named = {name: value for name, value in parameters(self.policy).items() if name not in self.lacks}
        return {
            "format": 3 if self.hashes is not None else 2 if _needs_second_form(self.problem) else 1,
            "made_by": made_by() | {"whichdo": self.made_by},
            "name": self.name,
            "problem": json.loads(problem_to_json(self.problem)),
            "policy": {
                "name": self.policy.name,
                "parameters": named,
                "revision": self.revision,
                **_origin(self.policy),
            },
            **picked(self, (*_PLAIN, *_LATER)),
            **({} if self.hashes is None else {"hashes": dict(self.hashes)}),
        }

    @classmethod
    def from_body(cls, body: dict[str, Any]) -> Terms:
        """Read back what `as_body` wrote."""
        try:
            if body["format"] > FORMAT:
                raise TooNewError(
                    f"Campaign {quoted(body.get('name'))} was written by whichdo {body['made_by']['whichdo']} in "
                    f"format {body['format']}; this is whichdo {__version__}, which reads formats up to {FORMAT}. "
                    f"Update whichdo."
                )
            for name, kinds in _KINDS.items():
                if name in body and not isinstance(body[name], kinds):
                    raise TypeError(f"{name} is {body[name]!r}")
            chosen = body["policy"]
            policy = _policy(body, chosen)
            return cls(
                name=body["name"],
                problem=problem_from_json(canonical(body["problem"])),
                policy=policy,
                **{name: body[name] for name in _PLAIN},
                **{name: body.get(name, default) for name, default in _LATER.items()},
                revision=revision_of(chosen),
                made_by=body["made_by"]["whichdo"],
                lacks=tuple(name for name in _fields(type(policy)) if name not in chosen["parameters"]),
                hashes=body.get("hashes"),
            )
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
            raise DamagedError(
                f"Event 0 does not contain the terms of a campaign: {type(error).__name__} {error}.", 0
            ) from None


def _needs_second_form(problem: Problem) -> bool:
    named = problem.bins or problem.groups or problem.labels
    return problem.has_listed_arms or problem.prune or problem.reward_range is not None or bool(named)


def made_by() -> dict[str, str]:
    """The versions that an event is written by."""
    return {"whichdo": __version__, "numpy": np.__version__}


def revision_of(body: dict[str, Any]) -> int:
    """The revision of a policy that is on record; a ValueError where it is not a number from 1 on."""
    found = body["revision"]
    if type(found) is not int or found < 1:
        raise ValueError(f"revision is {found!r}")
    return found


def _origin(policy: Policy) -> dict[str, str]:
    """Where a policy came from, if it is not one of ours: for those who lack it."""
    return {} if policy.origin is None else {"origin": policy.origin}


def _policy(body: dict[str, Any], chosen: dict[str, Any]) -> Policy:
    """The policy of event 0; a parameter that the log lacks has the value that goes on as before it was added.

    One that is not installed is represented by what cannot play: its data can be read all the same.
    """
    name, given, origin = chosen["name"], chosen["parameters"], chosen.get("origin")
    if not isinstance(given, dict):
        raise TypeError(f"parameters is {given!r}")
    if not isinstance(name, str) or not isinstance(origin, str | None):
        raise TypeError(f"policy is {chosen!r}")
    if is_file_policy(name):
        raise ValueError(f"the policy is named {name!r}")  # a log names no file to be run
    try:
        kind = policy_class(name)
    except UsageError:
        return absent_policy(name, given, origin)
    known = _fields(kind)
    unknown = [quoted(each) for each in given if each not in known]
    if unknown:
        raise TooNewError(
            f"Campaign {quoted(body['name'])} was written by whichdo {body['made_by']['whichdo']} with parameters of "
            f"{name} that this program, whichdo {__version__}, does not know: {', '.join(unknown)}. Update whichdo."
        )
    return policy_named(name, **{**kind.when_absent, **given})


def _fields(kind: type[Policy]) -> dict[str, Field[Any]]:
    """The parameters of a policy by name."""
    return {each.name: each for each in fields(kind) if each.init}  # type: ignore[arg-type]


_KINDS: dict[str, Any] = {
    "name": str,
    "budget": (int, float),
    "seed": int,
    "lease": (int, float, type(None)),
    "grace": (int, float, type(None)),
    "window": (int, float, type(None)),
    "margin": (int, float),
    "audit": (int, float),
}
"""What the terms of event 0 are; an import may come from anywhere."""


NOT_CHOSEN = frozenset({"made_by", "format", "hashes"})
"""What follows from the program, the problem or the environment."""


def differences(then: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """What two events 0 do not agree on, whichever version of whichdo or of the policy wrote them.

    A parameter that was added since agrees where nobody chose it now, or chose what the log is read with.
    """
    same = then["policy"]["name"] == now["policy"]["name"]
    named = then["policy"]["parameters"]

    def kept(body: dict[str, Any]) -> dict[str, Any]:
        said = {
            name: value
            for name, value in body["policy"]["parameters"].items()
            if not same or name in named or not _is_usual(body["policy"]["name"], name, value)
        }
        policy = {"name": body["policy"]["name"], "parameters": said}
        return {name: each for name, each in body.items() if name not in NOT_CHOSEN} | {"policy": policy}

    before, after = kept(then), kept(now)
    found = [name for name in after if before.get(name) != after[name]]
    if "audit" in found and (after["audit"] or not policy_class(after["policy"]["name"]).looks):
        found.remove("audit")  # how much is kept is not chosen, only whether anything is
    if "horizon" in found or "budget" in found:  # what follows from them is not worth a word
        found = [name for name in found if name != "audit" and (name != "budget" or "horizon" not in found)]
    return [
        "the problem"
        if name == "problem"
        else f"{name} {_short(before.get(name))} on record, {_short(after[name])} now"
        for name in found
    ]


def _is_usual(policy: str, parameter: str, value: Any) -> bool:
    """Whether a parameter has its default, or the value that stands for its absence."""
    kind = policy_class(policy)
    field = _fields(kind)[parameter]
    default = field.default if field.default_factory is MISSING else field.default_factory()
    usual = [default, kind.when_absent.get(parameter, MISSING)]
    return any(canonical(each) == canonical(value) for each in usual if each is not MISSING)


def _short(value: Any) -> str:
    if isinstance(value, dict):
        inside = ", ".join(f"{name}={each}" for name, each in value.get("parameters", {}).items())
        return f"{value.get('name')}({inside})" if inside else str(value.get("name"))
    return "none" if value is None else str(value)


def parameters(policy: Policy) -> dict[str, Any]:
    """The parameters of a policy as JSON holds them; refused where they would not come back the same."""
    found = {name: getattr(policy, name) for name in _fields(type(policy))}
    if isinstance(policy, AbsentPolicy):
        return found
    try:
        kept: dict[str, Any] = json.loads(canonical(found))
        same = policy_named(policy.name, **kept) == policy
    except (TypeError, ValueError, WhichdoError):
        same = False
    if not same:
        raise UsageError(
            f"The policy {policy!r} cannot be kept in a log: it is not registered by name, or one of its parameters is "
            f"not a plain number, string or list. Register it (docs/add-a-policy.md)."
        )
    return kept


def agreed(
    name: str,
    problem: Problem,
    policy: Policy,
    *,
    horizon: int | None,
    budget: float | None,
    seed: int,
    stretches: tuple[object, object, object],
    stop: bool = False,
    margin: float = 0.0,
    audit: bool = True,
    logs: bool = False,
) -> Terms:
    """Terms that hold together: the policy can serve the problem for this budget, and can be read back.

    ``stretches``: lease, grace and reward window, in seconds or as timedeltas.
    """
    if not isinstance(problem, Problem):
        raise UsageError(f"A campaign needs a Problem; found {quoted(problem)}.")
    session = Session(policy, problem, horizon=horizon, budget=budget, seed=seed)
    parameters(policy)
    lease, grace, window = stretches
    if lease is None and grace is not None:
        raise UsageError("The grace begins when a lease ends, and there is no lease. Give both.")
    terms = Terms(
        name=plain_text(name, "name of a campaign", 200),
        problem=problem,
        policy=policy,
        budget=float(session.left),
        horizon=None if horizon is None else int(horizon),
        seed=whole_number(seed, "seed"),
        lease=seconds_of(lease, "lease"),
        grace=seconds_of(grace, "grace") or seconds_of(lease, "lease"),
        window=seconds_of(window, "reward window"),
        stop=bool(stop),
        margin=_margin(margin),
        audit=kept_for_audits(policy, problem, float(session.left), logs=logs) if audit else 0.0,
        revision=policy.revision,
        hashes=new_seal(plain_text(name, "name of a campaign", 200)).get("hashes"),
    )
    if terms.lease is not None and terms.window is not None and terms.lease < terms.window:
        raise UsageError(
            f"The lease ({in_units(terms.lease)}) ends before the reward window ({in_units(terms.window)}): pulls "
            f"whose outcome comes late would be given up, and what is left would look better than it is. Make the "
            f"lease longer."
        )
    return terms


def _margin(value: object) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1:
        return float(value)
    raise UsageError(
        f"The margin is {quoted(value)}; it must be a difference of mean rewards that does not matter, such as 0.01: "
        f"at least 0, below 1."
    )


def plain_text(value: object, what: str, most: int = 500) -> str:
    """A user's text that may go on record: something, printable, not too long."""
    if not isinstance(value, str):
        raise UsageError(f"The {what} is {quoted(value)}; it must be a string.")
    text = unicodedata.normalize("NFC", value).strip()
    if not text:
        raise UsageError(f"The {what} is empty. Say it in a few words.")
    if not text.isprintable():
        raise UsageError(f"The {what} {quoted(text)} contains invisible characters. Use visible ones.")
    if len(text) > most:
        raise UsageError(f"The {what} has {len(text):,} characters; at most {most:,} are kept.")
    return text


def seconds_of(value: object, what: str) -> float | None:
    """A stretch of time: a timedelta or a number of seconds, above 0; None stays None."""
    if value is None:
        return None
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    if not number or not 0 < seconds < 1e10:  # type: ignore[operator]
        raise UsageError(f"The {what} is {quoted(value)}; it must be a timedelta or a number of seconds above 0.")
    return float(seconds)  # type: ignore[arg-type]


def in_units(seconds: float) -> str:
    """A stretch of time as it is written: 7d, 12h, 90s."""
    for unit, size in (("w", 604_800), ("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= size and not seconds % size:
            return f"{seconds / size:g}{unit}"
    return f"{seconds:g}s"
