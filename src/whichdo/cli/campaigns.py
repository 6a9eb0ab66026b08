"""The verbs of whole campaigns: start, observe, status, recommend, report, pause, resume, forbid, allow, restart,
verify, export, import and backup.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whichdo.cli.app import arms, campaigns, policies
from whichdo.cli.databases import (
    DatabaseOption,
    KeyOption,
    NameArgument,
    ReasonOption,
    ReceiptsOption,
    address,
    database,
    opened,
    print_lines,
    print_receipts,
    stretch,
)
from whichdo.cli.output import ForceOption, Format, FormatOption, command, console, print_json, say_when_compiling
from whichdo.cli.tables import ExplainOption, LogsArgument, TableOption, WhereOption, explained, given_logs
from whichdo.errors import UsageError
from whichdo.text import visible

if TYPE_CHECKING:
    from whichdo.campaign.advice import Advice


MissingOption = Annotated[
    str, typer.Option(help="Missing values in logs: error, drop (their rows) or level (as a value).")
]
FileArgument = Annotated[Path, typer.Argument(help="The file.", show_default=False)]
ArmsArgument = Annotated[
    list[str], typer.Argument(help="Arms such as do(X=1).", show_default=False, autocompletion=arms)
]


def start(
    name: Annotated[str, typer.Argument(help="The new campaign.", show_default=False)],
    problem: Annotated[Path, typer.Argument(help="The problem, a .toml file.", show_default=False)],
    logs: Annotated[list[str] | None, typer.Argument(help="Logs of looks, as for observe.", show_default=False)] = None,
    *,
    missing: MissingOption = "error",
    policy: Annotated[
        str,
        typer.Option(
            help='The policy, such as causal-ts, my_policy.py:MyPolicy or "srm(second_phase=rejects)".',
            autocompletion=policies,
        ),
    ] = "warm-halving",
    horizon: Annotated[
        int | None, typer.Option(help="How many pulls the campaign may make.", show_default=False)
    ] = None,
    budget: Annotated[
        float | None, typer.Option(help="What all pulls may cost together, instead of --horizon.", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the policy's random choices.")] = 0,
    lease: Annotated[
        str | None, typer.Option(help="How long a ticket may stay open: 7d, 12h. Default: no limit.")
    ] = None,
    grace: Annotated[
        str | None, typer.Option(help="How long after its lease a ticket can be told. Default: as long as the lease.")
    ] = None,
    window: Annotated[
        str | None, typer.Option(help="How long an outcome may still change; a pull counts after that.")
    ] = None,
    stop_when_sure: Annotated[
        bool, typer.Option("--stop-when-sure", help="Stop as soon as direct pulls make it sure which arm is best.")
    ] = False,
    margin: Annotated[float, typer.Option(help="A difference of mean rewards that does not matter.")] = 0.0,
    audit: Annotated[
        bool, typer.Option("--audit/--no-audit", help="Keep a part of the budget to check on logs and graph.")
    ] = True,
    receipts: ReceiptsOption = None,
    db: DatabaseOption = None,
    format: FormatOption = Format.TABLE,  # noqa: A002 - the option is called --format
) -> None:
    """Start a campaign; repeating it with the same terms changes nothing."""
    from whichdo.campaign.campaign import Campaign
    from whichdo.problem_file import read_problem

    where, asked = address(db), read_problem(problem)
    say_when_compiling()
    campaign = Campaign.create(
        where,
        name,
        policy,
        asked,
        horizon=horizon,
        budget=budget,
        seed=seed,
        lease=stretch(lease, "--lease"),
        grace=stretch(grace, "--grace"),
        window=stretch(window, "--window"),
        stop_when_sure=stop_when_sure,
        margin=margin,
        audit=audit,
        logs=list(logs) if logs else None,
        missing=missing,
        receipts=receipts,
    )
    found, notes = campaign.status(), (*campaign.notes, *asked.warnings)
    if format is Format.JSON:
        print_json(replace(found, notes=(*found.notes, *notes)).to_dict())
    else:
        print_lines((*found.sentences, f"Next: {command('ask', name)}"), notes)


def observe(
    name: NameArgument,
    logs: LogsArgument,
    *,
    table: TableOption = None,
    where: WhereOption = None,
    explain: ExplainOption = False,
    counts: Annotated[str | None, typer.Option(help="Column that says how often each row counts.")] = None,
    missing: MissingOption = "error",
    restart: Annotated[bool, typer.Option("--restart", help="Restart the policy with them.")] = False,
    append: Annotated[
        bool, typer.Option("--append", help="Read only the rows added since the file was last observed.")
    ] = False,
    receipts: ReceiptsOption = None,
    db: DatabaseOption = None,
    format: FormatOption = Format.TABLE,  # noqa: A002 - the option is called --format
) -> None:
    """Add logs of looks; a file that was added before changes nothing, and a note says so."""
    campaign = opened(db, name, receipts)
    source = given_logs(list(logs), table, where)
    with explained(explain):
        made = campaign.observe(source, counts=counts, missing=missing, restart=restart, append=append)
    print_receipts([({"log": receipt.notes[0]}, "Observed", receipt) for receipt in made], format)


def status(
    name: Annotated[
        str | None,
        typer.Argument(help="The campaign; without it, all are listed.", show_default=False, autocompletion=campaigns),
    ] = None,
    *,
    top: Annotated[int, typer.Option(min=1, help="How many open tickets to show.")] = 20,
    db: DatabaseOption = None,
    format: FormatOption = Format.TABLE,  # noqa: A002 - the option is called --format
) -> None:
    """Show the state of a campaign: tickets, budget, who holds what."""
    if name is None:
        names = database(db)
        if format is Format.JSON:
            print_json({"campaigns": names})
        else:
            print_lines(tuple(names) or ("No campaign yet.",))
        return
    found = opened(db, name).status()
    if format is Format.JSON:
        print_json(found.to_dict())
        return
    print_lines(found.sentences, found.warnings)
    out = console()
    for each in found.open[:top]:
        ends = f", lease ends {each.lease_ends}" if each.lease_ends else ""
        out.print(f"  {each.id}  {each.arm}  {visible(each.client)}, asked {each.asked}{ends}", soft_wrap=True)
    if len(found.open) > top:
        out.print(f"  ... and {len(found.open) - top:,} more (--top, or -f json).")


def recommend(
    name: NameArgument,
    *,
    confidence: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    at: Annotated[int | None, typer.Option(help="State of the campaign after this event.", show_default=False)] = None,
    top: Annotated[int, typer.Option(min=1, help="How many arms to show.")] = 20,
    db: DatabaseOption = None,
    format: FormatOption = Format.TABLE,  # noqa: A002 - the option is called --format
) -> None:
    """Recommend an arm: how much better it is, how sure, what that rests on and what would change it."""
    campaign = opened(db, name)
    say_when_compiling()
    found = campaign.recommend(confidence=confidence, at=at)
    if format is Format.JSON:
        print_json(found.to_dict())
        return
    print_lines(found.sentences)
    _print_arms(found, top)
    print_lines((*found.legend, f"From the log up to {found.receipt}."), found.warnings)


def _print_arms(found: Advice, top: int) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("arm", overflow="fold")
    estimate = found.ranking.problem.in_unit("estimate")
    for title in (estimate, f"{found.confidence:.0%} interval", "direct pulls", "worth pulls"):
        table.add_column(title, justify="right", no_wrap=True)
    for row in found.ranking.ordered[:top]:
        known = row.is_known
        cells = [
            str(row.arm),
            row.written(row.estimate) if known else "?",
            row.interval if known else "?",
            f"{found.looks if row.arm.is_look else row.direct:,}",
            f"{row.effective_n:,.0f}",
        ]
        table.add_row(*(Text(cell) for cell in cells), style="bold" if row.arm == found.arm else "")
    console().print(table)


def report(
    name: NameArgument,
    *,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The file to write; by default NAME.html.", show_default=False)
    ] = None,
    force: ForceOption = False,
    db: DatabaseOption = None,
    format: FormatOption = Format.TABLE,  # noqa: A002 - the option is called --format
) -> None:
    """Write one offline HTML page: the decision and how sure it is, every arm, the budget, assumptions, audit trail."""
    from whichdo.files import PAGE, check_target
    from whichdo.report.campaign_page import write_report

    campaign = opened(db, name)
    target = _file_of(name) if output is None else output
    check_target(target, PAGE, force=force)
    say_when_compiling()
    status = campaign.status()  # puts on record what the clock says
    written = write_report(campaign, target, force=force)
    if format is Format.JSON:
        print_json({"campaign": name, "file": str(written), "receipt": campaign.events()[-1].receipt})
    else:
        print_lines((f"The report on {visible(name)} is in {visible(written)}.",), status.notes)


def _file_of(name: str) -> Path:
    """A file in the current folder, named after a campaign whose name may hold anything."""
    plain = re.sub(r"[^\w.-]+", "-", name).strip("-.")[:60]  # letters of four bytes fit too
    return Path(f"{plain or 'campaign'}.html")


def pause(
    name: NameArgument,
    *,
    reason: ReasonOption,
    key: KeyOption = None,
    receipts: ReceiptsOption = None,
    db: DatabaseOption = None,
    format: FormatOption = Format.TABLE,  # noqa: A002 - the option is called --format
) -> None:
    """Hand out no tickets until resume; open tickets can still be told."""
    print_receipts([({}, f"Paused {visible(name)}", opened(db, name, receipts).pause(reason, key=key))], format)


def resume(
    name: NameArgument,
    *,
    reason: ReasonOption,
    key: KeyOption = None,
    receipts: ReceiptsOption = None,
    db: DatabaseOption = None,
    format: FormatOption = Format.TABLE,  # noqa: A002 - the option is called --format
) -> None:
    """Resume a paused campaign."""
    print_receipts([({}, f"Resumed {visible(name)}", opened(db, name, receipts).resume(reason, key=key))], format)


def forbid(
    name: NameArgument,
    arms: ArmsArgument,
    *,
    reason: ReasonOption,
    key: KeyOption = None,
    receipts: ReceiptsOption = None,
    db: DatabaseOption = None,
    format: FormatOption = Format.TABLE,  # noqa: A002 - the option is called --format
) -> None:
    """Never pull or recommend these arms again; the policy restarts with the rest of the budget."""
    campaign = opened(db, name, receipts)
    chosen = [campaign.problem.unpruned.arm(text) for text in arms]
    about = {"arms": [arm.to_dict() for arm in chosen]}
    print_receipts([(about, f"Forbidden {', '.join(arms)}", campaign.forbid(chosen, reason, key=key))], format)


def allow(
    name: NameArgument,
    arms: ArmsArgument,
    *,
    reason: ReasonOption,
    key: KeyOption = None,
    receipts: ReceiptsOption = None,
    db: DatabaseOption = None,
    format: FormatOption = Format.TABLE,  # noqa: A002 - the option is called --format
) -> None:
    """Allow forbidden arms again; the policy restarts with the rest of the budget."""
    campaign = opened(db, name, receipts)
    chosen = [campaign.problem.unpruned.arm(text) for text in arms]
    about = {"arms": [arm.to_dict() for arm in chosen]}
    print_receipts([(about, f"Allowed {', '.join(arms)}", campaign.allow(chosen, reason, key=key))], format)


def restart(
    name: NameArgument,
    *,
    reason: ReasonOption,
    key: KeyOption = None,
    receipts: ReceiptsOption = None,
    db: DatabaseOption = None,
    format: FormatOption = Format.TABLE,  # noqa: A002 - the option is called --format
) -> None:
    """Restart the policy with the rest of the budget and all evidence so far."""
    print_receipts([({}, f"Restarted {visible(name)}", opened(db, name, receipts).restart(reason, key=key))], format)


def verify(
    name: NameArgument,
    *,
    receipt: Annotated[
        str | None, typer.Option(help="Also check that this receipt is on record.", show_default=False)
    ] = None,
    receipts: Annotated[
        Path | None, typer.Option(help="Also check that all receipts in this file are on record.", show_default=False)
    ] = None,
    db: DatabaseOption = None,
    format: FormatOption = Format.TABLE,  # noqa: A002 - the option is called --format
) -> None:
    """Check the whole log, hash chain and replay; name the first bad event."""
    last = opened(db, name).verify(receipt, receipts=receipts)
    if format is Format.JSON:
        print_json(last.to_dict())
    else:
        asks = "every other ask" if last.notes else "every ask"
        print_lines((f"Intact: the hash chain is valid, and {asks} is what the policy asks. Last: {last}",), last.notes)


def export(
    name: NameArgument,
    file: FileArgument,
    *,
    force: ForceOption = False,
    db: DatabaseOption = None,
    format: FormatOption = Format.TABLE,  # noqa: A002 - the option is called --format
) -> None:
    """Write the log into a file, or to standard output (-): one JSON event per line, with a checksum at the end."""
    if str(file) == "-":
        for line in opened(db, name).export_lines():
            typer.echo(line.encode(), nl=False)  # bytes: in UTF-8, whatever the terminal
        return
    events = opened(db, name).export(file, force=force)
    if format is Format.JSON:
        print_json({"campaign": name, "file": str(file), "events": events})
    else:
        print_lines((f"{events:,} events written into {visible(file)}.",))


def import_(
    file: FileArgument,
    *,
    db: DatabaseOption = None,
    format: FormatOption = Format.TABLE,  # noqa: A002 - the option is called --format
) -> None:
    """Import a campaign from an export, checked and replayed."""
    from whichdo.campaign.campaign import Campaign
    from whichdo.campaign.exchange import Verified

    campaign = Campaign.import_(address(db), file)
    last = campaign.verify()
    notes = (*campaign.notes, *last.notes)
    if format is Format.JSON:
        print_json(Verified(campaign.name, last, notes).to_dict())
    else:
        print_lines((f"Imported {visible(campaign.name)}: {last}",), notes)


def backup(
    file: FileArgument,
    *,
    db: DatabaseOption = None,
    format: FormatOption = Format.TABLE,  # noqa: A002 - the option is called --format
) -> None:
    """Copy the whole database into a new file, while others may use it."""
    from whichdo.campaign.storage import open_storage

    if not str(file).strip():
        raise UsageError("Name the file to write.")
    made = open_storage(address(db)).backup(file)
    if format is Format.JSON:
        print_json({"file": str(made)})
    else:
        print_lines((f"Copied into {visible(made)}.",))
