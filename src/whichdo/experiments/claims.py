"""What the paper says of its experiments, and what we say of ours, each with the judge that looks at the results."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from whichdo.experiments.experiment import (
    CLEAR,
    Verdict,
    Word,
    claim,
    clearly_below,
    counted_word,
    difference,
    exponent,
    listed_points,
    starting_at,
    together,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whichdo.experiments.experiment import Line, Lines

SHARE = 1 / 6
"""Of the better of SRM and SR: what warm halving may come to, where those are above `SMALL`."""
SMALL = 0.02
FLAT = 0.05
"""A curve is flat that gains less than this share of itself in the second half of the rounds."""
LOWER_BOUND_BUDGET = 1600
"""The T of the lower-bound families."""
SAME_STAR = 12
"""From this m on Theorem 4.2 has one construction; below, its gap does not depend on m."""
NEAR_ROOT = 0.1
"""How far a fitted exponent may be from that of a square root."""


# -------------------------------------------------------------------------------------------------------- simple regret


@claim(
    "SRM-ALG has a much lower regret than uniform exploration and successive rejects.",
    "the paper, Experiment 1",
    ("srm", "ue", "sr"),
)
def srm_below_the_rest(panels: Mapping[str, Lines]) -> Verdict:
    (lines,) = panels.values()
    srm, rest = lines["srm"], [lines["ue"], lines["sr"]]
    good = clearly_below(srm, rest)
    last = len(srm.points) - 1
    numbers = "; ".join(
        f"T = {srm.points[at]:,}: " + ", ".join(f"{name} {lines[name].means[at]:.4f}" for name in ("srm", "sr", "ue"))
        for at in (0, last)
    )
    return Verdict(counted_word(good), numbers, f"clearly below both at {good.sum()} of {good.size} budgets")


@claim(
    "For fixed T the regret of SRM-ALG grows like the square root of m.",
    "the paper, Experiment 2",
    ("srm",),
)
def root_of_m(panels: Mapping[str, Lines]) -> Verdict:
    words, numbers = [], []
    for name, lines in panels.items():
        srm = lines["srm"]
        whole, error = exponent(srm.points.astype(float), srm)
        upper = starting_at(srm, int(np.median(srm.points)))
        late, late_error = exponent(upper.points.astype(float), upper)
        near, near_late = abs(whole - 0.5) <= NEAR_ROOT, abs(late - 0.5) <= NEAR_ROOT
        words.append(Word.HOLDS if near else Word.PART if near_late else Word.NOT)
        numbers.append(
            f"{name}: exponent {whole:.2f} ({error:.2f}) over all m, {late:.2f} ({late_error:.2f}) from m = "
            f"{upper.points[0]}; regret from {srm.means[0]:.3f} to {srm.means[-1]:.3f}"
        )
    return Verdict(
        together(words),
        "; ".join(numbers),
        "exponent b of regret = a m^b, fitted by weighted least squares; a square root has 0.5, and within "
        f"{NEAR_ROOT:g} of it counts (for the upper half of the m alone: in part)",
    )


@claim(
    "The regret of SRM-ALG depends on m and not on N, while that of UE and SR grows with N.",
    "the paper, Experiment 2",
    ("srm", "ue", "sr"),
)
def independent_of_n(panels: Mapping[str, Lines]) -> Verdict:
    small, large = panels["N=100"], panels["N=200"]
    numbers, grown = [], {}
    for name in ("srm", "ue", "sr"):
        one, two = small[name].networks.mean(axis=1), large[name].networks.mean(axis=1)
        error = float(np.hypot(one.std(ddof=1) / sqrt(len(one)), two.std(ddof=1) / sqrt(len(two))))
        grown[name] = (float(two.mean() - one.mean()), error, float(one.mean()))
        numbers.append(f"{name} {one.mean():.4f} -> {two.mean():.4f} ({two.mean() / one.mean() - 1:+.1%})")
    gap, error, level = grown["srm"]
    same = abs(gap) <= max(CLEAR * error, 0.1 * level)
    others = [grown[name][0] > CLEAR * grown[name][1] for name in ("ue", "sr")]
    word = Word.HOLDS if same and all(others) else Word.PART if same or any(others) else Word.NOT
    return Verdict(
        word,
        "mean over all m, N = 100 -> N = 200: " + ", ".join(numbers),
        "SRM: no clear change, or one below a tenth; UE and SR: clearly more",
    )


@claim(
    "With N = 200, SRM-ALG is strictly better for a wide range of m.",
    "the paper, Experiment 2",
    ("srm", "ue", "sr"),
)
def better_at_200(panels: Mapping[str, Lines]) -> Verdict:
    lines = panels["N=200"]
    good = clearly_below(lines["srm"], [lines["ue"], lines["sr"]])
    worse = clearly_below(lines["sr"], [lines["srm"]])
    share = float(good.mean())
    points = lines["srm"].points
    best, behind = listed_points(points[good], "m"), listed_points(points[worse], "m")
    numbers = f"SRM is clearly best at {best}; SR is clearly below SRM at {behind}"
    word = Word.HOLDS if share >= 0.75 else Word.PART if share >= 0.25 else Word.NOT
    return Verdict(
        word,
        numbers,
        f"clearly below both at {good.sum()} of {good.size} m; a wide range is three quarters, in part one",
    )


@claim(
    "SRM-ALG has a lower regret than propagating inference (CB-ALG).",
    "the paper, Experiment 4",
    ("srm", "cb"),
)
def srm_below_cb(panels: Mapping[str, Lines]) -> Verdict:
    (lines,) = panels.values()
    srm, cb = lines["srm"], lines["cb"]
    good, bad = clearly_below(srm, [cb]), clearly_below(cb, [srm])
    first = f"T = {srm.points[0]:,}: SRM {srm.means[0]:.4f}, CB {cb.means[0]:.4f}"
    numbers = f"{first}; CB is clearly below SRM at {listed_points(srm.points[bad], 'T')}"
    return Verdict(counted_word(good), numbers, f"SRM clearly below at {good.sum()} of {good.size} budgets")


@claim(
    "Warm halving has at most a sixth of the regret of the better of SRM-ALG and successive rejects.",
    "ours",
    ("warm-halving", "srm", "sr"),
)
def warm_halving_ahead(panels: Mapping[str, Lines]) -> Verdict:
    ratios: list[float] = []
    behind, where = 0, ""
    for name, lines in panels.items():
        ours, better = lines["warm-halving"].means, np.minimum(lines["srm"].means, lines["sr"].means)
        large = better > SMALL
        behind += int((ours[~large] > better[~large]).sum())
        found = ours[large] / better[large]
        if len(found) and found.max() >= max(ratios, default=-1.0):
            where = f"{name + ', ' if name else ''}at {lines['srm'].points[large][int(found.argmax())]:,}"
        ratios += found.tolist()
    good = np.array([ratio <= SHARE for ratio in ratios] + [False] * behind)
    numbers = f"largest ratio {max(ratios):.3f} ({where}); behind at {behind} of the other points"
    test = f"at most a sixth of the better of SRM and SR where that is above {SMALL:g}, and never above it elsewhere"
    return Verdict(counted_word(good), numbers, test)


@claim(
    "Under confounding, conditioning stays wrong however long it looks.",
    "ours",
    ("conditioning", "srm"),
)
def conditioning_stays_wrong(panels: Mapping[str, Lines]) -> Verdict:
    words, numbers = [], []
    for name, lines in panels.items():
        blind, ours = lines["conditioning"], lines["srm"]
        gap, error = difference(blind, ours)
        stays = blind.means[-1] >= 0.8 * blind.means[0]
        worse = gap[-1] > CLEAR * error[-1]
        words.append(Word.HOLDS if stays and worse else Word.PART if stays or worse else Word.NOT)
        numbers.append(
            f"{name}: conditioning {blind.means[0]:.4f} -> {blind.means[-1]:.4f}, "
            f"SRM {ours.means[0]:.4f} -> {ours.means[-1]:.4f}"
        )
    return Verdict(
        together(words),
        "first -> last T; " + "; ".join(numbers),
        "at the last T clearly above SRM, and not less than four fifths of what it was at the first",
    )


@claim(
    "The regret of SRM-ALG falls at least like the square root of 1/T under true confounding.",
    "ours",
    ("srm",),
)
def srm_falls(panels: Mapping[str, Lines]) -> Verdict:
    slopes = {name: exponent(lines["srm"].points.astype(float), lines["srm"]) for name, lines in panels.items()}
    good = np.array([slope - 2 * error <= -0.5 for slope, error in slopes.values()])
    numbers = "; ".join(f"{name}: {slope:.2f} ({error:.2f})" for name, (slope, error) in slopes.items())
    return Verdict(
        counted_word(good),
        f"exponents of T: {numbers}",
        "exponent b of regret = a T^b, fitted by weighted least squares; -0.5 or steeper within two standard errors",
    )


@claim(
    "Warm halving is nowhere behind the best of the others.",
    "ours",
    ("warm-halving",),
)
def warm_halving_never_behind(panels: Mapping[str, Lines]) -> Verdict:
    total, beyond = 0, []
    for name, lines in panels.items():
        ours = lines["warm-halving"]
        for at, point in enumerate(ours.points.tolist()):
            rivals = [
                (line.means[line.at(point)], line)
                for policy, line in lines.items()
                if policy != "warm-halving" and point in line.points
            ]
            least, rival = min(rivals, key=lambda pair: float(pair[0]))
            gap, error = difference(ours, rival)
            place = int(np.flatnonzero(np.intersect1d(ours.points, rival.points) == point)[0])
            total += 1
            if gap[place] > max(3 * error[place], 0.1 * float(least)):
                beyond.append(f"{name} at {point:,}: {ours.means[at]:.4f} against {least:.4f} of {rival.policy}")
    word = Word.HOLDS if not beyond else Word.PART if len(beyond) < total else Word.NOT
    return Verdict(
        word,
        "; ".join(beyond) or f"within it at all {total} points",
        "at most the best other mean and the larger of three standard errors and a tenth, at every point",
    )


@claim(
    "No policy's regret grows slower than the square root of m.",
    "the paper, Theorems 4.1 and 4.2",
    ("srm",),
)
def like_the_root(panels: Mapping[str, Lines]) -> Verdict:
    numbers, good = [], []
    for name, whole in panels.items():
        lines = {policy: starting_at(line, SAME_STAR) for policy, line in whole.items()} if name == "star" else whole
        least = {policy: float((line.means / np.sqrt(line.points)).min()) for policy, line in lines.items()}
        policy, ratio = min(least.items(), key=lambda pair: pair[1])
        slopes = {policy: exponent(line.points.astype(float), line)[0] for policy, line in lines.items()}
        good += [slope >= 0.5 - NEAR_ROOT for slope in slopes.values()]
        numbers.append(
            f"{name}: exponents of m {min(slopes.values()):.2f} to {max(slopes.values()):.2f}; the least regret is "
            f"{ratio * sqrt(LOWER_BOUND_BUDGET):.3f} times the root of m/T, of {policy}"
        )
    return Verdict(
        counted_word(np.array(good)),
        "; ".join(numbers),
        "exponent b of regret = a m^b for every policy, fitted by weighted least squares; a lower bound like a square "
        f"root asks for {0.5 - NEAR_ROOT:g} or more; of the stars from m = {SAME_STAR}, where they are of one kind",
    )


# ---------------------------------------------------------------------------------------------------- cumulative regret


def _late_share(line: Line) -> float:
    """What is lost in the second half of the rounds, as a share of all."""
    half = int(np.abs(line.points - line.points[-1] / 2).argmin())
    return float(1 - line.means[half] / line.means[-1])


@claim(
    "Where looking is best the regret of CRM-ALG becomes constant, while that of UCB goes on growing.",
    "the paper, Experiment 3",
    ("crm", "ucb"),
)
def crm_flat(panels: Mapping[str, Lines]) -> Verdict:
    words, numbers = [], []
    for name, lines in panels.items():
        crm, ucb = _late_share(lines["crm"]), _late_share(lines["ucb"])
        words.append(Word.HOLDS if crm < FLAT < ucb else Word.PART if crm < ucb / 2 else Word.NOT)
        numbers.append(
            f"{name}: CRM {lines['crm'].means[-1]:.0f}, of which {crm:.1%} in the second half of the rounds; "
            f"UCB {lines['ucb'].means[-1]:.0f}, of which {ucb:.1%}"
        )
    return Verdict(
        together(words),
        "; ".join(numbers),
        f"flat: less than {FLAT:.0%} of the regret comes in the second half of the rounds",
    )


@claim(
    "For large T, CRM-ALG has a lower cumulative regret than UCB.",
    "the paper, Experiment 5",
    ("crm", "ucb"),
)
def crm_below_ucb(panels: Mapping[str, Lines]) -> Verdict:
    good, numbers = [], []
    for name, lines in panels.items():
        crm, ucb = lines["crm"], lines["ucb"]
        late = crm.points >= crm.points[-1] / 2
        good.append(bool(clearly_below(crm, [ucb])[late].all()))
        numbers.append(f"{name + ': ' if name else ''}CRM {crm.means[-1]:.0f}, UCB {ucb.means[-1]:.0f}")
    last = int(next(iter(panels.values()))["crm"].points[-1])
    return Verdict(
        counted_word(np.array(good)),
        f"at t = {last:,}: {'; '.join(numbers)}",
        "clearly below in all recorded rounds of the second half",
    )


@claim(
    "Causal Thompson sampling has the lowest cumulative regret.",
    "ours",
    ("causal-ts", "crm"),
)
def ours_earn_more(panels: Mapping[str, Lines]) -> Verdict:
    good, numbers = [], []
    for name, lines in panels.items():
        ours = lines["causal-ts"]
        rest = {policy: line for policy, line in lines.items() if not policy.startswith("causal-")}
        good.append(bool(clearly_below(ours, rest.values())[-1]))
        best = min(rest, key=lambda policy: float(rest[policy].means[-1]))
        numbers.append(
            f"{name + ': ' if name else ''}causal-ts {ours.means[-1]:.1f}, {best} {rest[best].means[-1]:.1f}, "
            f"CRM {lines['crm'].means[-1]:.1f}"
        )
    return Verdict(
        counted_word(np.array(good)),
        "; ".join(numbers),
        "clearly below every policy but causal KL-UCB at the last round",
    )
