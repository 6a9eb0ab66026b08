"""``whichdo ask``, ``tell``, ``void``, ``amend``: the pulls of a campaign, one by one."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whichdo.cli.app import tickets
from whichdo.cli.databases import (
    ROW,
    ClientOption,
    DatabaseOption,
    KeyOption,
    NameArgument,
    ReasonOption,
    ReceiptsOption,
    lines_of,
    one_row,
    opened,
    print_lines,
    print_receipts,
)
from whichdo.cli.output import Format, FormatOption, command, console, print_json
from whichdo.errors import InputError, UsageError, WaitError, WhichdoError
from whichdo.remedies import Message
from whichdo.text import quoted, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whichdo.campaign.commands import Receipt


TicketArgument = Annotated[str, typer.Argument(help="The ticket's id.", show_default=False, autocompletion=tickets)]
RowArgument = Annotated[
    str,
    typer.Argument(help='JSON such as {"X": 1, "Y": 0}, a file with it, or - for standard input.', show_default=False),
]


TOLD = '{"ticket": "1-ab", "row": {"Y": 1}}'
"""What a line of many tells looks like."""


def ask(
    name: NameArgument,
    *,
    n: Annotated[int, typer.Option("-n", min=0, help="How many tickets, those that are still held included.")] = 1,
    client: ClientOption = None,
    key: KeyOption = None,
    receipts: ReceiptsOption = None,
    db: DatabaseOption = None,
    format: FormatOption = Format.TABLE,  # noqa: A002 - the option is called --format
) -> None:
    """Ask what to do next: tickets, each with an arm to pull; none once the campaign is finished.

    Exits with code 6 if open tickets must be told first.
    """
    from whichdo.campaign.storage.locations import user_at_host

    campaign = opened(db, name, receipts)
    try:
        own = {} if client is not None else {"process": str(os.getpid())}
        tickets = campaign.ask(n, client=user_at_host() if client is None else client, key=key, **own)
    except WaitError as wait:
        if format is not Format.JSON:
            raise
        print_json({"tickets": [], "finished": False, "wait": list(wait.tickets)})
        raise typer.Exit(wait.exit_code) from None
    if format is Format.JSON:
        print_json({"tickets": [ticket.to_dict() for ticket in tickets], "finished": campaign.finished})
        return
    out = console()
    labels = campaign.problem.labels if tickets else {}
    for ticket in tickets:
        needed = (f"{name}: {labels[name]}" if name in labels else name for name in ticket.needed)
        out.print(f"{ticket.id}  {ticket.arm}  (tell {', '.join(needed)})", soft_wrap=True)
    if not tickets and campaign.finished:
        out.print(f"Finished: nothing is left to ask. See: {visible(command('recommend', name))}", soft_wrap=True)
    elif 0 < len(tickets) < n:
        out.print(
            f"{len(tickets)} of {n:,}: the policy needs the outcomes of open tickets before it asks for more.",
            soft_wrap=True,
        )
    new = {ticket.receipt for ticket in tickets if not ticket.again}
    for receipt in new:
        print(f"Receipt: {receipt}", file=sys.stderr)  # standard output has a line for each ticket and no other
    for ticket in tickets:
        if ticket.again:
            said = f"{ticket.id} was {ticket.again}. If that is another worker, let each ask under its own name"
            print(f"! {visible(said)}: --client NAME.", file=sys.stderr)


def tell(
    name: NameArgument,
    ticket: Annotated[
        str,
        typer.Argument(
            help='The ticket\'s id; or a file or - with lines {"ticket": ..., "row": {...}}.',
            show_default=False,
            autocompletion=tickets,
        ),
    ],
    row: Annotated[str | None, RowArgument.__metadata__[0]] = None,
    *,
    arm: Annotated[str | None, typer.Option(help="What was done, to compare with the ticket: do(X=1).")] = None,
    client: Annotated[
        str | None,
        typer.Option(help="Who tells; the same ticket told by another client is a conflict.", show_default=False),
    ] = None,
    key: KeyOption = None,
    receipts: ReceiptsOption = None,
    db: DatabaseOption = None,
    format: FormatOption = Format.TABLE,  # noqa: A002 - the option is called --format
) -> None:
    """Tell the outcome of one ticket or many; repeating it changes nothing."""
    campaign = opened(db, name, receipts)
    if row is not None:
        done = None if arm is None else campaign.problem.unpruned.arm(arm)
        receipt = campaign.tell(ticket, one_row(row), arm=done, key=key, client=client)
        print_receipts([({"ticket": ticket}, f"Told {ticket}", receipt)], format)
        return
    if key is not None or arm is not None:
        raise UsageError("--key and --arm go with one ticket and its row.")
    if re.fullmatch(r"[0-9]+-[a-z]{2}", ticket) and not Path(ticket).exists():
        raise UsageError(f"The row is missing: {command('tell', name, ticket, ROW)}. Nothing was stored.")
    stored: list[tuple[dict[str, str], str, Receipt]] = []
    for number, line in _lines(ticket, stored):
        try:
            if not isinstance(line.get("ticket"), str) or set(line) - {"ticket", "row"} or "row" not in line:
                raise InputError(f"found {quoted(json.dumps(line))}, where {TOLD} is expected.")
            told = campaign.tell(line["ticket"], line["row"], client=client)
            stored.append(({"ticket": line["ticket"]}, f"Told {line['ticket']}", told))
        except WhichdoError as error:
            said = error.message.removesuffix(" Nothing was stored.")
            error.args = (Message(f"Line {number}: ", said, f" {_stored(len(stored))}"),)
            raise
    print_receipts(stored, format)
    if not stored and format is not Format.JSON:
        print_lines(("Found no row; nothing was stored.",))


def _lines(source: str, receipts: Sequence[object]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The lines of a file; one that cannot be read is an error that says what was stored before it."""
    try:
        yield from lines_of(source, TOLD)
    except InputError as error:
        error.add(after=f" {_stored(len(receipts))}")
        raise


def _stored(lines: int) -> str:
    if not lines:
        return "Nothing was stored."
    if lines == 1:
        return "It was not stored; the line before it was, and telling that again changes nothing."
    return f"It was not stored; the {lines:,} lines before it were, and telling them again changes nothing."


def void(
    name: NameArgument,
    ticket: TicketArgument,
    *,
    reason: ReasonOption,
    key: KeyOption = None,
    receipts: ReceiptsOption = None,
    db: DatabaseOption = None,
    format: FormatOption = Format.TABLE,  # noqa: A002 - the option is called --format
) -> None:
    """Return a ticket without an outcome; its pull is due again."""
    receipt = opened(db, name, receipts).void(ticket, reason, key=key)
    print_receipts([({"ticket": ticket}, f"Voided {ticket}", receipt)], format)


def amend(
    name: NameArgument,
    ticket: TicketArgument,
    row: RowArgument,
    *,
    reason: ReasonOption,
    key: KeyOption = None,
    receipts: ReceiptsOption = None,
    db: DatabaseOption = None,
    format: FormatOption = Format.TABLE,  # noqa: A002 - the option is called --format
) -> None:
    """Correct the row of a ticket, or tell one that was voided or has expired."""
    receipt = opened(db, name, receipts).amend(ticket, one_row(row), reason, key=key)
    print_receipts([({"ticket": ticket}, f"Amended {ticket}", receipt)], format)
