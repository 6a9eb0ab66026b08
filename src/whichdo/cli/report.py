"""``whichdo report``: a campaign as one page for those who have to act on it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from whichdo.cli.databases import DatabaseOption, NameArgument, opened, print_lines
from whichdo.cli.output import ForceOption, Format, FormatOption, print_json, say_when_compiling
from whichdo.text import visible


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
