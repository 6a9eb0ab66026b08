"""What the shell offers when the tab key is pressed: campaigns, tickets, arms and policies.

A completion never complains: if something is wrong, it offers nothing, and the command itself says why.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer  # noqa: TC002 - typer reads the annotations

from whichdo.errors import WhichdoError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whichdo.campaign.campaign import Campaign


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
