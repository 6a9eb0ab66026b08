"""How each policy is drawn: the same colour, mark and stroke in every figure.

Colours are those of Okabe and Ito, which the colour-blind can tell apart; marks and strokes differ for print.  Policies
of simple and of cumulative regret are never in one figure, so the two kinds share colours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from whichdo.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


SOLID, DASHED, DOTTED, BROKEN = "-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5))
STROKES: tuple[Any, ...] = (DASHED, DOTTED, BROKEN, SOLID)
MARKERS = ("X", "d", "p", "*", "h", "8", "H", "<", ">")
SPARE = ("#6A3D9A", "#1a1a1a", "#56B4E9", "#E69F00", "#CC79A7")
LONGEST = 34
TRIES = len(SPARE) * len(MARKERS) * len(STROKES)
"""All looks there are for a policy that is not ours."""


class Look(NamedTuple):
    """What a policy is called and how it is drawn."""

    label: str
    colour: str
    marker: str
    stroke: Any = SOLID
    width: float = 1.5

    @property
    def line(self) -> dict[str, Any]:
        """Keywords of matplotlib for its line."""
        return {
            "color": self.colour,
            "marker": self.marker,
            "ls": self.stroke,
            "lw": self.width,
            "ms": 6,
            "mec": "white",
            "mew": 0.6,
            "zorder": 4 if self.width > 2 else 3,
            "clip_on": False,  # a marker at no regret stays whole
        }


LOOKS = {
    "srm": Look("SRM-ALG", "#0072B2", "o"),
    "srm(second_phase=rejects)": Look("SRM-ALG with rejects", "#56B4E9", "D", DASHED),
    "ue": Look("uniform exploration", "#767676", "v", DOTTED),
    "sr": Look("successive rejects", "#D55E00", "s", DASHED),
    "sh": Look("sequential halving", "#E69F00", "P", BROKEN),
    "cb": Look("CB-ALG (propagating inference)", "#CC79A7", "s", DASHED),
    "cb(eta=optimal)": Look("CB-ALG, eta optimal", "#E69F00", "P", DOTTED),
    "conditioning": Look("conditioning", "#CC79A7", "X", BROKEN),
    "parallel": Look("Lattimore's Algorithm 1", "#56B4E9", "<", DOTTED),
    "importance": Look("Lattimore's Algorithm 2", "#56B4E9", ">", BROKEN),
    "nb": Look("gamma-NB-ALG", "#1a1a1a", "D", BROKEN),
    "warm-halving": Look("warm halving (ours)", "#009E73", "^", SOLID, 2.4),
    "crm": Look("CRM-ALG", "#0072B2", "o"),
    "crm-nb": Look("CRM-NB-ALG", "#56B4E9", "<", DASHED),
    "ucb": Look("UCB", "#D55E00", "s", DASHED),
    "c-ucb": Look("C-UCB", "#767676", ">", BROKEN),
    "ts": Look("Thompson sampling", "#CC79A7", "D", BROKEN),
    "kl-ucb": Look("KL-UCB", "#E69F00", "P", DOTTED),
    "ts@pomis": Look("TS, possibly optimal arms", "#0072B2", "o"),
    "ts@mis": Look("TS, minimal arms", "#56B4E9", "D", BROKEN),
    "ts@all": Look("TS, all arms", "#CC79A7", "X", DOTTED),
    "kl-ucb@pomis": Look("KL-UCB, possibly optimal arms", "#D55E00", "s"),
    "kl-ucb@mis": Look("KL-UCB, minimal arms", "#E69F00", "P", BROKEN),
    "kl-ucb@all": Look("KL-UCB, all arms", "#767676", "<", DOTTED),
    "causal-ts": Look("causal Thompson sampling (ours)", "#009E73", "^", SOLID, 2.4),
    "causal-kl-ucb": Look("causal KL-UCB (ours)", "#1a1a1a", "v", DASHED),
}


def policy_label(policy: str) -> str:
    """What people call a policy; the policy as it is written where it is not one of ours, cut if it is long."""
    return LOOKS[policy].label if policy in LOOKS else cut(policy)


def policy_looks(policies: Iterable[str]) -> dict[str, Look]:
    """How each policy of a figure is drawn.

    One with other parameters has the colour of its kind.  Which mark and stroke it gets, and which colour a policy that
    is not ours, depends on its text alone, unless two of a figure would look the same or a free colour is left.
    """
    found: dict[str, Look] = {}
    names = list(policies)
    for policy in sorted(names, key=lambda name: name not in LOOKS):  # ours first: theirs are reserved
        look = LOOKS.get(policy)
        if look is None or _taken(look, found):
            spare = [_spare_look(policy, crc32(policy.encode()) + more) for more in range(TRIES)]
            free = [each for each in spare if not _taken(each, found)] or spare
            colours = {other.colour for other in found.values()}
            look = next((each for each in free if each.colour not in colours), free[0])
        found[policy] = look
    return {policy: found[policy] for policy in names}


def _taken(look: Look, found: Mapping[str, Look]) -> bool:
    return any(look[1:4] == other[1:4] for other in found.values())


def _spare_look(policy: str, number: int) -> Look:
    kind = LOOKS.get(policy.partition("(")[0])
    colour = SPARE[number % len(SPARE)] if kind is None else kind.colour
    return Look(cut(policy), colour, MARKERS[number // 5 % len(MARKERS)], STROKES[number // 45 % len(STROKES)])


def cut(name: str) -> str:
    """A name short enough to stand beside a line."""
    text = visible(name)
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
