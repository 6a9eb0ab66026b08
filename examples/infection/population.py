"""The simulated population behind the infection example, and the survey that `logs.csv` holds.

The network itself is in the package, where ``whichdo demo`` finds it too: `whichdo.demo.story`.
Run ``python examples/infection/population.py`` to write `logs.csv` again.
"""

from __future__ import annotations

from pathlib import Path

from whichdo.demo.story import population, write_logs

__all__ = ["population", "write_logs"]

if __name__ == "__main__":
    write_logs(Path(__file__).with_name("logs.csv"))
