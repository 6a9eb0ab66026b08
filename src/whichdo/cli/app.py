"""The ``whichdo`` command and its options; each verb has its own module, which is imported when it is called.

What the shell offers when the tab key is pressed: campaigns, tickets, arms and policies.

A completion never complains: if something is wrong, it offers nothing, and the command itself says why.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer

from whichdo._version import __version__
from whichdo.errors import WhichdoError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whichdo.campaign.campaign import Campaign


CAMPAIGNS = "Campaigns"
VERBS = {
    "init": "init", "inspect": "inspect", "rank": "rank", "check": "check", "what-if": "what_if",
    "simulate": "simulate", "reproduce": "reproduce", "demo": "demo",
    "start": "campaigns", "ask": "pulls", "tell": "pulls", "void": "pulls", "amend": "pulls", "observe": "campaigns",
    "status": "campaigns", "recommend": "campaigns", "report": "campaigns", "pause": "campaigns", "resume": "campaigns",
    "forbid": "campaigns", "allow": "campaigns", "restart": "campaigns", "verify": "campaigns",
    "export": "campaigns", "import": "campaigns", "backup": "campaigns",
}  # fmt: skip
"""Every verb, in the order of the help, and the module of this package that holds it."""
WITHOUT_CAMPAIGN = frozenset({"init", "inspect", "rank", "check", "what-if", "simulate", "reproduce", "demo"})


@dataclass
class State:
    """What the options before the verb set, and the database that was named, where the shell does not know of it."""

    debug: bool = False
    database: str = ""


state = State()


def make_app(verbs: Iterable[str] = VERBS, *, only_listed: bool = False) -> typer.Typer:
    """The command with some of its verbs: one where that is called, all of them, ``only_listed``, for its help."""
    app = typer.Typer(
        name="whichdo",
        help="Which do()? The best intervention from a causal graph, logs and few experiments.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(options)
    for verb in verbs:
        module = import_module(f"whichdo.cli.{VERBS[verb]}")
        function = getattr(module, "import_" if verb == "import" else verb.replace("-", "_"))
        panel = None if verb in WITHOUT_CAMPAIGN else CAMPAIGNS
        app.command(verb, rich_help_panel=panel, help=function.__doc__)(_no_options if only_listed else function)
    return app


def _no_options() -> None:
    """Stand for a verb where only its name and its help are read: typer takes a millisecond for the options of one."""


def _version(show: bool) -> None:  # noqa: FBT001 - typer hands the flag over by position
    if show:
        typer.echo(f"whichdo {__version__}")
        raise typer.Exit


def options(
    *,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[  # noqa: ARG001 - handled by its callback
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Read the options that stand before the verb, which begins after it."""
    gc.enable()
    state.debug = debug


PATIENCE = 0.5
"""Seconds to wait for a database that is locked: somebody has pressed a key."""


def campaigns(context: typer.Context, incomplete: str) -> list[str]:
    """The campaigns of the database that is named."""
    from whichdo.campaign.campaign import Campaign

    try:
        names = Campaign.list(context.params.get("db") or "", patience=PATIENCE)
    except WhichdoError:
        return []
    return [name for name in names if name.startswith(incomplete)]


def tickets(context: typer.Context, incomplete: str) -> list[str]:
    """The tickets of the campaign that are out."""
    with _campaign(context) as campaign:
        found = [] if campaign is None else campaign.status(settle=False).open
        return [each.id for each in found if each.id.startswith(incomplete)]


def arms(context: typer.Context, incomplete: str) -> list[str]:
    """The arms of the campaign, but for do()."""
    with _campaign(context) as campaign:
        found = [] if campaign is None else [str(arm) for arm in campaign.problem.offered if not arm.is_look]
        return [arm for arm in found if arm.startswith(incomplete)]


def policies(incomplete: str) -> list[str]:
    """The policies by name."""
    from whichdo.policy_names import available_policies

    return [name for name in available_policies() if name.startswith(incomplete)]


@contextmanager
def _campaign(context: typer.Context) -> Iterator[Campaign | None]:
    from whichdo.campaign.campaign import Campaign

    try:
        campaign = Campaign.open(context.params.get("db") or "", context.params.get("name") or "", patience=PATIENCE)
    except WhichdoError:
        yield None
        return
    try:
        yield campaign
    finally:
        campaign.close()
