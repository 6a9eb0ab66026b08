"""The command line: verbs that call the library and print what it says.  No logic lives here."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper

__all__ = ["main"]


def main() -> None:
    """Run ``whichdo``; a user's mistake ends in a message and an exit code, never in a traceback."""
    from whichdo.cli.app import app, state
    from whichdo.errors import WhichdoError

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal without the letters of a name gets their codes instead
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except WhichdoError as error:
        if state.debug:
            raise
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # The reader (head, less) has gone; point stdout elsewhere so that Python's last flush is silent too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
