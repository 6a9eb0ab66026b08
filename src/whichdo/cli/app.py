"""The ``whichdo`` command and its options; each verb has a file of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from whichdo._version import __version__
from whichdo.cli import campaigns, pulls
from whichdo.cli.demo import demo
from whichdo.cli.inspect import inspect
from whichdo.cli.rank import rank
from whichdo.cli.report import report
from whichdo.cli.reproduce import reproduce
from whichdo.cli.simulate import simulate

__all__ = ["app", "state"]


@dataclass
class State:
    """What the options before the verb set."""

    debug: bool = False


state = State()
app = typer.Typer(
    name="whichdo",
    help="Which do()? The best single intervention from a causal graph, logs and few experiments.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(show: bool) -> None:  # noqa: FBT001 - typer hands the flag over by position
    if show:
        typer.echo(f"whichdo {__version__}")
        raise typer.Exit


@app.callback()
def options(
    *,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[  # noqa: ARG001 - handled by its callback
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Read the options that stand before the verb."""
    state.debug = debug


app.command("inspect")(inspect)
app.command("rank")(rank)
app.command("simulate")(simulate)
app.command("reproduce")(reproduce)
app.command("demo")(demo)

CAMPAIGNS = "Campaigns"
for verb in (
    campaigns.start, pulls.ask, pulls.tell, pulls.void, pulls.amend, campaigns.observe, campaigns.status,
    campaigns.recommend, report, campaigns.pause, campaigns.resume, campaigns.forbid, campaigns.allow,
    campaigns.restart, campaigns.verify, campaigns.export, campaigns.import_, campaigns.backup,
):  # fmt: skip
    app.command(verb.__name__.rstrip("_"), rich_help_panel=CAMPAIGNS)(verb)
