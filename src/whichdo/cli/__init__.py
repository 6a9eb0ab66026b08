"""The command line: verbs that call the library and print what it says.  No logic lives here."""

from __future__ import annotations

import gc
import os
import sys
import warnings
from io import TextIOWrapper
from pathlib import Path

INTERRUPTED = 130
STORAGE = 5
COMPLETION = "_WHICHDO_COMPLETE"
"""Set where a shell asks for the words that may follow, which needs all verbs."""


def main() -> None:
    """Run ``whichdo``; a mistake, a full disk or a reader that has gone ends in an exit code, never in a traceback."""
    try:
        _run()
    except (KeyboardInterrupt, SystemError) as error:
        from whichdo.errors import is_interrupt

        if not is_interrupt(error):
            raise
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        _end_output()
        sys.exit(0)
    except OSError as error:
        _end_output()
        what = "The output" if error.filename is None else ascii(error.filename)
        print(f"{what} cannot be read or written: {error.strerror or error}.", file=sys.stderr)
        sys.exit(STORAGE)
    except SystemExit as ended:
        if isinstance(ended.__context__, BrokenPipeError):  # as typer answers a reader that has gone
            _end_output()
            sys.exit(0)
        raise


def _run() -> None:
    """Call the verb and see that what it printed has left; typer always ends in an exception."""
    gc.disable()  # until the verb begins: nothing of what is imported is garbage
    from whichdo.cli.app import VERBS, make_app, state
    from whichdo.errors import WhichdoError

    if sys.stdout is None:  # closed by the caller
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - until the process ends
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal without the letters of a name gets their codes instead
            stream.reconfigure(errors="backslashreplace")
    warnings.showwarning = _show_warning
    try:
        called = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
        if COMPLETION in os.environ:
            make_app()()
        elif called in VERBS:
            make_app([called])()
        else:  # the help, or a verb that does not exist
            make_app(only_listed=True)()
    except WhichdoError as error:
        if state.debug:
            raise
        from whichdo.cli.output import worded

        print(f"{type(error).__name__}: {worded(error.message)}", file=sys.stderr)
        sys.exit(error.exit_code)
    finally:
        state.database = ""  # of this call, not of what its caller does next
        gc.enable()
        sys.stdout.flush()


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """A warning without the line of code it comes from."""
    print(f"! {message}", file=sys.stderr)


def _end_output() -> None:
    """Point standard output where everything can be written, so that Python's last flush is silent too."""
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
