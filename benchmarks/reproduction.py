"""Run all nine experiments at full size and write ``docs/reproduction.md`` with its figures: ``make reproduction``.

``python -m benchmarks.reproduction 9`` runs some of them, and puts their sections, figures and verdicts into the page
in place of those that are there; ``--folder`` keeps the results, or goes on with those that it holds.

First the paper's five with the paper's policies, timed; then everything else beside them, in the same folder, timed
together.  A run of the straightforward implementation in ``benchmarks/straightforward.py`` says how long the paper's
first experiment would take with code of that kind.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.straightforward import Model, srm, successive_rejects, uniform
from benchmarks.wrapping import wrapped
from whichdo.crew import cores
from whichdo.experiments.cells import EXPERIMENTS
from whichdo.experiments.executors import Processes
from whichdo.experiments.reproduce import Plan, chosen_policies, reproduce
from whichdo.policy_names import policy
from whichdo.report.reproduction import markdown
from whichdo.simulation import simulate
from whichdo.world.instances import experiment_1

if TYPE_CHECKING:
    from collections.abc import Callable

    from whichdo.experiments.reproduce import Reproduction

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "docs" / "reproduction.md"
PICTURES = ROOT / "docs" / "images"
PEERS = {"srm": srm, "sr": successive_rejects, "ue": uniform}
MIDDLE = 1500
DIFFERS = "## What differs from the paper, and why"
NUMBERED = re.compile(r"## Experiment (\d+):")

PAGE = """\
# Reproduction

Written by `make reproduction`: `whichdo reproduce all` at full size. {together}

{content}
## What differs from the paper, and why

- **Experiment 4.** The paper's figure shows CB-ALG (propagating inference, Yabe et al. 2018) far behind SRM-ALG; here
  it is not. `cb` is a reconstruction, since no code was published. Equation 4 of CB-ALG leaves out rows of mechanisms
  that no arm reaches often enough; with the published constants it leaves out every row for any budget below ten
  thousand million, and nothing is learned. That it was left on is the likely cause of the figure; here it is off.
  `eta` is how the last third of the budget is spread over the arms.
- **Experiment 2, a wide range of m.** SRM-ALG spreads its second phase evenly over the rare arms, about 2m of them.
  From some m on that is worse than successive rejects over all arms, which knows nothing of the graph. An option of
  `srm` has rejects in its second phase: `whichdo reproduce 2 --policies "srm,sr,srm(second_phase=rejects)"`.
- **Experiment 2, the square root.** The bound of the paper's theorem is a square root of m. The regret itself grows
  faster: it cannot rise above epsilon = 0.3, and it is small where few rare arms leave many pulls for each, so that the
  chance to mistake one falls exponentially.
- **Experiments 3 and 5** come out. Thompson sampling, which is not in the paper, is below CRM-ALG in both.
- **Experiment 9** is Lee and Bareinboim's. Their policies are played over the same three lists of arms; where do() is
  not possibly optimal it is not pulled. KL-UCB explores at the level ln t here, without the 3 ln ln t of its proof.
- What the paper leaves open, and this run settles: the number of parents of a node is uniform on 0, 1, ... up to the
  stated maximum; Experiment 2 uses the same graphs for all m; ties are broken at random.

Regrets of the paper's policies are compared with an independent re-run, number by number, in
`tests/policies/test_reference.py` and `tests/policies/test_crm_reference.py`.

## How long it takes

On {cores} cores: the paper's five experiments with the paper's policies {paper:.0f} s, all nine with every policy
{whole:.0f} s.

The straightforward implementation in `benchmarks/straightforward.py` (rows in data frames, a call a pull, sampling from
learned networks), one run of Experiment 1 at T = {middle:,} on one core, against a run here:

| policy | straightforward | here | ratio | Experiment 1, straightforward | here |
|---|---:|---:|---:|---:|---:|
{peers}

The last two columns take 50 networks, 100 runs and nine budgets of the mean length, on one core.
"""


def timed(names: str, numbers: tuple[int, ...], folder: Path) -> float:
    """How long the command takes, from its start to its end."""
    command = [
        sys.executable,
        "-m",
        "whichdo",
        "reproduce",
        *map(str, numbers),
        "--policies",
        names,
        "--out",
        str(folder),
    ]
    before = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - before


def busy(job: Callable[[], object]) -> float:
    before = time.process_time()
    job()
    return time.process_time() - before


def compared() -> str:
    """A row a policy: one run by straightforward code, and one of ours."""
    instance = experiment_1(1, 0)[0]
    runs = 50 * 100 * 9
    rows = []
    for name, peer in PEERS.items():
        theirs = min(busy(lambda p=peer: p(Model.of(instance.network, "Y", 1), MIDDLE)) for _ in range(2))  # type: ignore[misc]
        simulate(policy(name), instance.network, instance.problem, horizon=MIDDLE, runs=10)
        ours = (
            min(
                busy(lambda n=name: simulate(policy(n), instance.network, instance.problem, horizon=MIDDLE, runs=200))  # type: ignore[misc]
                for _ in range(5)
            )
            / 200
        )
        rows.append(
            f"| {name} | {theirs:.3f} s | {ours * 1e6:.0f} µs | {theirs / ours:,.0f} | "
            f"{theirs * runs / 3600:,.1f} hours | {ours * runs:.0f} s |"
        )
    return "\n".join(rows)


def main() -> None:
    """Run, time, and write the page; of some experiments alone, their parts of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("numbers", nargs="*", type=int, choices=EXPERIMENTS, help="default: all, timed")
    parser.add_argument("--folder", type=Path, help="where results are kept")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = chosen.folder or Path(name)
        if chosen.numbers:
            _write_parts(tuple(sorted(chosen.numbers)), folder)
        else:
            _write_all(folder)


def _write_all(folder: Path) -> None:
    paper = timed("paper", (1, 2, 3, 4, 5), folder)
    whole = paper + timed("all", tuple(EXPERIMENTS), folder)
    done = _done(tuple(EXPERIMENTS), folder)
    versions = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["versions"]
    together = "With " + ", ".join(f"{each} {versions[each]}" for each in ("python", "numpy", "numba")) + "."
    page = PAGE.format(
        together=together,
        content=markdown(done, _pictures(tuple(EXPERIMENTS))),
        cores=cores(),
        paper=paper,
        whole=whole,
        middle=MIDDLE,
        peers=compared(),
    )
    PLACE.write_text(wrapped(page), encoding="utf-8")


def _write_parts(numbers: tuple[int, ...], folder: Path) -> None:
    timed("all", numbers, folder)
    page = PLACE.read_text(encoding="utf-8")
    for number in numbers:
        page = renewed(page, markdown(_done((number,), folder), _pictures((number,))), number)
    start, end = DIFFERS, "## How long it takes"
    page = page[: page.index(start)] + PAGE[PAGE.index(start) : PAGE.index(end)] + page[page.index(end) :]
    PLACE.write_text(wrapped(page), encoding="utf-8")


def _pictures(numbers: tuple[int, ...]) -> dict[int, str]:
    return {number: f"images/reproduction-{number}.svg" for number in numbers}


def _done(numbers: tuple[int, ...], folder: Path) -> Reproduction:
    """What the folder holds of some experiments, their figures copied."""
    done = reproduce(Plan(chosen_policies("all", numbers), 0, quick=False), folder, Processes(1))  # all is at hand
    for number in numbers:
        drawn = folder / "figures" / f"{EXPERIMENTS[number].name}.svg"
        shutil.copy(drawn, PICTURES / f"reproduction-{number}.svg")
    return done


def renewed(page: str, part: str, number: int) -> str:
    """The page with the verdicts and the section of one experiment replaced by those of another page, or added."""
    verdicts = [line for line in part.splitlines() if line.startswith(f"| {number} |")]
    section = part[part.index(f"## Experiment {number}:") :].rstrip("\n") + "\n\n\n"
    head, rest = page.split("\n## Experiment", 1)
    lines = [line for line in head.splitlines() if not line.startswith(f"| {number} |")]
    rows = [place for place, line in enumerate(lines) if line.startswith("| ") and line[2].isdigit()]
    after = max((place for place in rows if int(lines[place].split()[1]) < number), default=rows[0] - 1)
    lines[after + 1 : after + 1] = verdicts
    sections = re.split(r"^(?=## )", f"## Experiment{rest}", flags=re.MULTILINE)
    sections = [each for each in sections if not each.startswith(f"## Experiment {number}:")]
    before = [
        place for place, each in enumerate(sections) if (found := NUMBERED.match(each)) and int(found[1]) < number
    ]
    sections.insert(before[-1] + 1 if before else 0, section)
    return "\n".join(lines) + "\n\n" + "".join(sections)


if __name__ == "__main__":
    main()
