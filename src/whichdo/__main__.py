"""``python -m whichdo`` is the command ``whichdo``."""

from whichdo.cli import main

main()
