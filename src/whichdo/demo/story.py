"""The demonstration, told step by step for somebody who has never heard of causal bandits.

A survey misleads; the graph says what doing would do; a campaign of experiments goes after what is left in doubt; the
town is simulated, so the truth is known and everybody's answer can be held against it.  At the end one edge is drawn
wrong, and the survey denies it.  Seeds are fixed: the story is the same each time.

The town is that of the infection example (the paper's Figure 1).  The well-off can work from home
and are infected less often for other reasons, so working from home looks far better than it is.
``problem.toml`` beside this file says what a learner may know of it; ``examples/infection`` has the
same problem with the survey as files.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from whichdo.campaign.campaign import Campaign
from whichdo.checking.check import check
from whichdo.checking.denial import denial
from whichdo.checking.edits import Edit
from whichdo.counting import count
from whichdo.demo.repeats import WAYS, experiment, mistaken, naive_best, scores
from whichdo.errors import StorageError
from whichdo.estimate.rank import ranking
from whichdo.evidence import Tally
from whichdo.files import Kind, write_file
from whichdo.policies.base import DOUBT_WHEN_NAMING
from whichdo.policy_names import policy
from whichdo.problem_file import read_problem
from whichdo.report.campaign_page import write_report
from whichdo.text import listed, visible
from whichdo.world.mechanism import bernoulli
from whichdo.world.network import CausalNetwork
from whichdo.world.sampler import World

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from whichdo.estimate.ranking import Ranking
    from whichdo.problem import Arm, Problem


ROWS = 4_000
SEED = 2022


def population() -> CausalNetwork:
    """The truth: what each measure, and each hidden background, does to the risk of infection."""
    risk = np.empty((2, 2, 2, 2))
    for distancing, mask, vaccination, wealth in np.ndindex(risk.shape):
        risk[distancing, mask, vaccination, wealth] = (
            0.65 - 0.10 * distancing - 0.04 * mask - 0.16 * vaccination - 0.32 * wealth
        )
    return CausalNetwork(
        {
            "economic background": bernoulli((), 0.5),
            "social background": bernoulli((), 0.5),
            "work from home": bernoulli(("economic background",), [0.15, 0.75]),
            "social distancing": bernoulli(("work from home",), [0.3, 0.6]),
            "face mask": bernoulli(("social background",), [0.2, 0.8]),
            "vaccination": bernoulli(("social background",), [0.25, 0.75]),
            "infection": bernoulli(("social distancing", "face mask", "vaccination", "economic background"), risk),
        },
        hidden={"economic background", "social background"},
    )


def write_problem_file(path: Path) -> None:
    """Write ``problem.toml``: what a learner may know."""
    _write(path, files("whichdo.demo").joinpath("problem.toml").read_text(encoding="utf-8"))


def write_logs(path: Path) -> None:
    """Ask the population what it does by itself."""
    rows = population().sample(ROWS, seed=SEED)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(rows)
    writer.writerows(zip(*(column.tolist() for column in rows.values()), strict=True))
    _write(path, text.getvalue())


def _write(path: Path, text: str) -> None:
    """Into a folder that somebody named: what is there is replaced if it is the same, as after another demo."""
    write_file(path, text, Kind("a file of the demo", lambda head, _end: text.encode().startswith(head)))


PULLS = 300
RUNS = 200
MISTAKEN = 100
"""Repeats with an edge that is drawn wrong."""
STOPS = 100
"""Experiments between two looks at the recommendation."""


@dataclass(frozen=True)
class Town:
    """What the story is about: the truth, what a learner may know of it, and where files go."""

    network: CausalNetwork
    problem: Problem
    folder: Path

    @property
    def truth(self) -> dict[Arm, float]:
        """The share of the infected under each arm, exact."""
        return dict(zip(self.problem.arms, self.network.means(self.problem).tolist(), strict=True))


def story(folder: Path) -> Iterator[str]:
    """The story, a heading, a paragraph or a table at a time; files go into ``folder``, which is made if need be.

    Told again in the same folder, a story that was broken off goes on with the campaign that it finds there.
    """
    for part in _parts(folder):
        yield part if part.endswith("\n") else f"{part}\n\n"


def _parts(folder: Path) -> Iterator[str]:
    """Those that are to be followed by an empty line do not end their last one."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{visible(folder)} cannot be made: {error.strerror}. Name another --folder.") from None
    yield from _question()
    write_problem_file(folder / "problem.toml")
    write_logs(folder / "logs.csv")
    town = Town(population(), read_problem(folder / "problem.toml"), folder)
    survey = count(town.problem, folder / "logs.csv")
    found = ranking(survey)
    yield from _trap(found)
    yield from _looking(found)
    campaign = Campaign.create(
        folder / "infection.db", "infection", policy("warm-halving"), town.problem, horizon=PULLS, seed=SEED
    )
    yield from _experiments(town, campaign)
    yield from _truth(town, campaign, survey)
    yield from _luck(town)
    yield from _mistake(town)
    yield from _where(town, campaign)


def _question() -> Iterator[str]:
    yield "1. THE QUESTION"
    yield (
        "Four measures may prevent infections: working from home, keeping distance, face masks, vaccination. A town\n"
        f"can promote one. Which? {ROWS:,} people have told what they do and whether they were infected. So why not\n"
        "compare those who do with those who do not?"
    )


def _trap(found: Ranking) -> Iterator[str]:
    measures = [row for row in found.values() if 1 in row.arm.settings.values()]
    naive = min(measures, key=lambda row: row.conditional)
    yield _table(
        ("among those with", "infected"),
        [
            (" ".join(row.arm.targets), f"{row.conditional:.1%}{'   <- looks best' if row is naive else ''}")
            for row in measures
        ],
    )
    yield (
        f"It is a trap. Those who can {' '.join(naive.arm.targets)} are mostly well-off, and the well-off are infected "
        "less often\n"
        "anyway: better housing, better health. Nobody asked about wealth. Such a hidden cause of both is called a\n"
        "confounder, and more answers of the same kind would not make it go away."
    )


def _looking(found: Ranking) -> Iterator[str]:
    problem = found.problem
    yield "2. SEEING IS NOT DOING"
    yield (
        "We want to know what happens if everybody does it, written do(work from home=1), not who happens to do it.\n"
        "For that, somebody who knows the town draws who acts on whom: -> is an effect, <-> a hidden common cause."
    )
    graph = problem.graph
    arrows = [f"   {tail} -> {head}" for tail, head in sorted(graph.directed)]
    arcs = [f"   {first} <-> {second}" for first, second in sorted(tuple(sorted(pair)) for pair in graph.bidirected)]
    yield "\n".join([*arrows, *arcs])
    yield ("From this graph whichdo works out which do() can be computed from the survey, and how. No experiment yet:")
    rows = [
        (
            "do nothing, do()" if row.arm.is_look else str(row.arm),
            "" if row.arm.is_look else f"{row.conditional:.1%}",
            f"{row.estimate:.1%}",
            f"{row.low:.1%} to {row.high:.1%}",
        )
        for row in found.ordered
    ]
    yield _table(("arm", "who happen to", "if all did", "95% interval"), rows)
    best, home = found.ordered[0], found[problem.arm("do(work from home=1)")]
    yield (
        f"Best by looking: {best.arm}, with a chance of about {found.probability_best:.0%}. Working from home comes\n"
        f"to {home.estimate:.1%}, not {home.conditional:.1%}: most of its charm was wealth. Each line is called an\n"
        "arm: something that can be done, do() among them, doing nothing."
    )


def _experiments(town: Town, campaign: Campaign) -> Iterator[str]:
    yield "3. EXPERIMENTS"
    yield (
        "Two doubts are left: the leaders lie close together, and the graph might be wrong. So we experiment: ask\n"
        f"somebody to do it, and see. We can pay for {PULLS}. A bandit algorithm spends them step by step, and what\n"
        "came so far decides what to try next; a causal one begins with what the survey has settled. (The name comes\n"
        "from slot machines, the one-armed bandits: which arm to pull next?)"
    )
    campaign.observe(town.folder / "logs.csv")
    people = {
        arm: town.network.sample(PULLS, do=arm.settings, seed=np.random.SeedSequence([SEED, place]))
        for place, arm in enumerate(town.problem.arms)
    }
    told = dict(campaign.status().by_arm)
    yield _so_far(campaign, sum(told.values()))
    while tickets := campaign.ask(10, client="demo"):
        for ticket in tickets:
            number = told[str(ticket.arm)]
            told[str(ticket.arm)] += 1
            campaign.tell(ticket, {name: int(column[number]) for name, column in people[ticket.arm].items()})
            if sum(told.values()) % STOPS == 0:
                yield _so_far(campaign, sum(told.values()))
    spent = ", ".join(f"{number} x {arm}" for arm, number in told.items() if number)
    yield (
        f"\nIt asked for {spent}.\n{_checked(campaign)}"
        "Every ask and every answer went into a database before the next, so a crash would have lost nothing."
    )


def _checked(campaign: Campaign) -> str:
    """What became of the pulls that were kept to check on the survey and on the graph."""
    kept = sum(sum(event.content["pulls"].values()) for event in campaign.events() if event.kind == "audited")
    if not kept:
        return ""
    status = campaign.status()
    heard = "they disagree, see below" if status.alarms or status.set_aside else "they agree, so there is no alarm"
    return (
        f"Of these, {kept} were kept for audits: is the survey still true, and does what comes of the arms agree with\n"
        f"what the graph makes of it? Here {heard}. The others went to every measure, since the\n"
        f"graph might be wrong, and the more the better a measure looked.\n"
    )


def _so_far(campaign: Campaign, pulls: int) -> str:
    advice = campaign.recommend()
    return (
        f"   after {pulls:>3} experiments: best {advice.arm}, infected {advice.estimate:.1%} ({advice.low:.1%} to "
        f"{advice.high:.1%}), chance {advice.probability:.0%}\n"
    )


def _truth(town: Town, campaign: Campaign, survey: Tally) -> Iterator[str]:
    advice, truth = campaign.recommend(), town.truth
    yield "4. THE ANSWER, AND THE TRUTH"
    yield "\n".join(f"   {sentence}" for sentence in (*advice.sentences[:3], *advice.warnings))
    yield "The town is simulated, so for once we know what each advice would really have come to:"
    world = World(town.network, town.problem, np.random.SeedSequence([SEED, PULLS]))
    uniform = experiment(policy("ue"), world, PULLS, Tally.empty(town.problem), SEED).arm
    named = [
        ("compare those who happen to", naive_best(town.problem, survey)),
        (f"{PULLS} experiments spread evenly", uniform),
        (f"whichdo: survey, graph, {PULLS} experiments", advice.arm or uniform),
        ("the truth", min(truth, key=truth.__getitem__)),
    ]
    yield _table(("way", "advice", "infected"), [(way, str(arm), f"{truth[arm]:.1%}") for way, arm in named])


def _luck(town: Town) -> Iterator[str]:
    yield "5. LUCK?"
    yield f"Once may be luck. The same {RUNS} times over, each time with a new survey and new experiments:"
    found = scores(town.network, town.problem, looks=ROWS, pulls=PULLS, runs=RUNS, seed=SEED)
    rows = [(WAYS[way], f"{score.right} of {RUNS}", f"{1000 * score.worse:.1f}") for way, score in found.items()]
    yield _table(("way", "right", "needless infections per 1,000"), rows)
    looking, both = found["looking"].right, found["campaign"].right
    yield (
        f"Where the graph is right and the survey large, looking does nearly all of it: {looking} of {RUNS}, and\n"
        f"{both} with experiments, most of which whichdo spends in case the graph is wrong. Experiments are what you\n"
        "have where there is no survey, where looking cannot settle a measure, and where the graph is a guess."
    )


def _mistake(town: Town) -> Iterator[str]:
    yield "6. A MISTAKE IN THE DRAWING"
    graph, survey = town.problem.graph, town.folder / "logs.csv"
    forgotten = Edit(adds=False, hidden=True, tail="work from home", head="infection")
    wrong = town.problem.but(graph=forgotten.apply(graph))
    named = ranking(count(wrong, survey)).ordered[0]
    yield (
        "Suppose that nobody had thought of wealth, and the hidden cause of working from home and infection were not\n"
        f"drawn. The survey read with that graph names {named.arm}, at {named.estimate:.1%}: the trap again. But\n"
        "a graph says more than it is used for, and the survey can deny it before the first experiment:"
    )
    found = check(wrong, survey)
    yield "\n".join(f"   {sentence}" for sentence in found.summary[:4])
    suspect = found.suspects[0][0].edit
    mended = ranking(count(wrong.but(graph=suspect.apply(wrong.graph)), survey)).ordered[0]
    truth = town.truth
    yield (
        f"`whichdo check` says so. With {suspect.edge}, the first that it suspects, drawn again the best is\n"
        f"{mended.arm}, which comes to {truth[mended.arm]:.1%} in truth; {named.arm} would have come to "
        f"{truth[named.arm]:.1%}."
    )
    doubted = denial(wrong, count(wrong, survey), DOUBT_WHEN_NAMING)
    arms = [str(arm) for arm, chance in zip(wrong.arms, doubted.chances, strict=True) if chance]
    found_out = mistaken(town.network, town.problem, wrong, looks=ROWS, pulls=PULLS, runs=MISTAKEN, seed=SEED + 1)
    both, looking = found_out["campaign"], found_out["looking"]
    yield (
        "And if nobody asks? Experiments chosen by whichdo begin by asking the survey the same, and doubt from the\n"
        f"start what it says of {listed(arms)}.\n"
        f"With that drawing and {MISTAKEN} new surveys, looking alone names the best measure {looking.right} times,\n"
        f"and with {PULLS} experiments it is {both.right} times; what is named costs {1000 * both.worse:.0f} needless "
        f"infections per\n1,000 instead of {1000 * looking.worse:.0f}. Better to mend the drawing, but it is not lost."
    )


def _where(town: Town, campaign: Campaign) -> Iterator[str]:
    page = write_report(campaign, town.folder / "report.html")
    yield "7. YOURS"
    yield (
        f"The report for those who have to decide: {visible(page)}\n"
        "   Open it in a browser; it needs no network.\n"
        f"The problem, the survey and the campaign lie beside it. Try\n"
        f"   whichdo inspect {visible(town.folder / 'problem.toml')}\n"
        f"   whichdo recommend infection --db {visible(town.folder / 'infection.db')}"
    )


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Columns as wide as their widest cell, the first to the left."""
    widths = [max(len(row[column].split("   ")[0]) for row in [head, *rows]) for column in range(len(head))]
    lines = []
    for row in [head, *rows]:
        cells = []
        for column, (cell, width) in enumerate(zip(row, widths, strict=True)):
            text, mark, rest = cell.partition("   ")
            cells.append((text.ljust(width) if column == 0 else text.rjust(width)) + mark + rest)
        lines.append("   " + "   ".join(cells).rstrip())
    return "\n".join(lines)
