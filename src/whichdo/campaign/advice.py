"""The recommendation in words: what is best, by how much, how sure, what it rests on, and what would change it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whichdo.campaign.status import forbidden_lines
from whichdo.campaign.tallying import pooled
from whichdo.estimate.rank import ranking
from whichdo.frames import html_lines, plain
from whichdo.monitoring.certainty import certainty
from whichdo.monitoring.staleness import disagreements, untrue_laws
from whichdo.problem import LOOK, Goal
from whichdo.text import counted, listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whichdo.campaign.state import State
    from whichdo.estimate.arm_rank import ArmRank
    from whichdo.estimate.ranking import Ranking
    from whichdo.monitoring.certainty import Certainty
    from whichdo.problem import Arm, Problem


@dataclass(frozen=True)
class Advice:
    """What a campaign recommends, derived from its log and from nothing else; `Campaign.recommend` makes it."""

    arm: Arm | None
    """The best arm that is allowed, by all evidence; None where nothing is known yet."""
    estimate: float
    """Its mean reward."""
    low: float
    """The lower end of its interval."""
    high: float
    """The upper end of its interval."""
    runner_up: Arm | None
    """The second-best arm."""
    margin: float
    """How much better than the runner-up, on the reward's own scale."""
    probability: float
    """How likely it is the best of the known arms; approximate."""
    looks_in_logs: int
    """Logged observations."""
    looks: int
    """Pulls of do() that the campaign asked for."""
    pulls: int
    """Direct pulls of arms other than do()."""
    policy_arm: Arm | None
    """What the policy itself names, once it is finished; None if that was forbidden or pruned since."""
    finished: bool
    """Whether nothing is left to ask."""
    answer: tuple[str, ...]
    """What is best, by how much, how sure, in sentences."""
    reasons: tuple[str, ...]
    """What that rests on, what would change it, and how far the campaign is."""
    warnings: tuple[str, ...]
    """What may be wrong with it, in sentences."""
    receipt: str
    """Of the last event that it takes in."""
    confidence: float
    """The confidence level of the intervals."""
    ranking: Ranking = field(repr=False, compare=False)
    """Every arm with its estimate by all evidence."""
    looked: Ranking = field(repr=False, compare=False)
    """The same by looks alone, logged or asked for."""
    certainty: Certainty = field(repr=False, compare=False)
    """What direct pulls alone make sure, at all times; the intervals of looking stand beside."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """The answer and its reasons."""
        return (*self.answer, *self.reasons)

    @property
    def legend(self) -> tuple[str, ...]:
        """What nodes are called, in a line; nothing where none has a label."""
        found = self.ranking.problem.arms_legend
        return (found,) if found else ()

    def __repr__(self) -> str:
        if self.arm is None:
            return "<Advice: nothing is known yet>"
        row = self.ranking[self.arm]
        interval = f"{row.written(self.low)} to {row.written(self.high)}"
        return f"<Advice: {self.arm}, {row.written(self.estimate)} ({interval})>"

    def __str__(self) -> str:
        return "\n".join([*self.sentences, *self.legend, *(f"! {line}" for line in self.warnings)])

    def _repr_html_(self) -> str:
        """For notebooks: the answer in bold, then what it rests on."""
        head, *rest = self.sentences
        notes = [f"Note: {line}" for line in self.warnings]
        return f"<div>{html_lines([*rest, *self.legend, *notes], title=head)}</div>"

    def to_dict(self) -> dict[str, Any]:
        """Everything but the table as JSON can hold it; what is not known is None."""
        return plain(
            {
                "best": self.arm,
                "runner_up": self.runner_up,
                "policy_names": self.policy_arm,
                "estimate": self.estimate,
                "low": self.low,
                "high": self.high,
                "margin": self.margin,
                "probability_best_approximate": self.probability,
                "confidence": self.confidence,
                "looks_in_logs": self.looks_in_logs,
                "looks": self.looks,
                "pulls": self.pulls,
                "finished": self.finished,
                "sentences": self.sentences,
                "warnings": self.warnings,
                "receipt": self.receipt,
                "certainty": _of_certainty(self.certainty),
            }
        )


def _of_certainty(sure: Certainty) -> dict[str, Any]:
    return {
        "standing": str(sure.standing),
        "words": sure.words,
        "margin": sure.margin,
        "more_pulls": sure.more_pulls,
        "arms": [
            {
                "arm": each.arm,
                "pulls": each.pulls,
                "low_at_all_times": each.low,
                "high_at_all_times": each.high,
                "looked_low": each.looked_low,
                "looked_high": each.looked_high,
            }
            for each in sure.arms
        ],
    }


def advised(state: State, *, confidence: float = 0.95, notes: tuple[str, ...] = ()) -> Advice:
    """What the log so far recommends; ``notes`` are remarks of the caller's."""
    problem = state.allowed
    found = state.ranked(confidence=confidence)
    looked = ranking(state.evidence(looks_alone=True), confidence=confidence)
    sure = certainty(problem, state.direct(), confidence=confidence, margin=state.terms.margin, looked=looked)
    known = list(found.contenders)
    best = known[0] if known else None
    second = known[1] if len(known) > 1 else None
    limits = _limits(found, best)
    in_logs = sum(log.looks for log in state.trusted)
    looks = state.pulled[LOOK]
    pulls = state.pulled.total() - looks
    final = state.recommendation
    return Advice(
        arm=best.arm if best else None,
        estimate=best.estimate if best else math.nan,
        low=limits[0],
        high=limits[1],
        runner_up=second.arm if second else None,
        margin=abs(best.estimate - second.estimate) if best and second else math.nan,
        probability=found.probability_best if best and second else math.nan,
        looks_in_logs=in_logs,
        looks=looks,
        pulls=pulls,
        policy_arm=None if final is None or final.arm not in problem.answers else final.arm,
        finished=state.finished,
        answer=_answer(found, known, sure.confidence),
        reasons=_reasons(state, found, known, (in_logs, looks, pulls), sure, looked),
        warnings=(*_warnings(state, found), *notes),
        receipt=state.receipt,
        confidence=confidence,
        ranking=found,
        looked=looked,
        certainty=sure,
    )


def _answer(found: Ranking, known: list[ArmRank], confidence: float) -> tuple[str, ...]:
    if not known and any(row.is_known for row in found.values()):
        return ("Too little is known yet: no arm was seen often enough to be judged.",)
    if not known:
        return ("Nothing is known yet: no log has been observed and no pull counts.",)
    problem, best = found.problem, known[0]
    better = "less is better" if problem.goal is Goal.MINIMIZE else "more is better"
    low, high = _limits(found, best)
    interval = f"{confidence:.0%} interval {best.written(low)} to {best.written(high)}"
    mean = f"{best.arm}, mean {problem.label(problem.reward)} {best.written(best.estimate)} ({interval}; {better})"
    if len(known) == 1:
        return (f"So far only {mean}. Too little was seen of all other arms to compare them with it.",)
    second = known[1]
    apart = best.low > second.high or best.high < second.low
    interval = f"{second.written(second.estimate)}, {second.interval}"
    overlap = f"their intervals {'do not overlap' if apart else 'overlap'}"
    return (
        f"Best: {mean}.",
        f"By {as_shown(best, second)} over {second.arm} ({interval}); {overlap}.{_against_nothing(best)}",
        f"It is the best of all arms with probability {found.probability_best:.0%}, approximately.",
    )


def _limits(found: Ranking, best: ArmRank | None) -> tuple[float, float]:
    """The interval of the arm that is named, corrected for its having been chosen where it was."""
    if best is None:
        return math.nan, math.nan
    chosen = found.best is not None and found.best.arm == best.arm
    return (found.best_low, found.best_high) if chosen else (best.low, best.high)


def as_shown(one: ArmRank, other: ArmRank) -> str:
    """How far two estimates are apart, as a reader works it out from their digits."""
    digits = min(one.decimals, other.decimals)
    return f"{abs(round(one.estimate, digits) - round(other.estimate, digits)):,.{digits}f}"


def _against_nothing(best: ArmRank) -> str:
    """The effect of the best arm, where it is known and do() is not what it was compared with anyway."""
    return "" if best.arm.is_look or math.isnan(best.effect) else f" Against doing nothing: {best.effect_text}."


def _reasons(
    state: State,
    found: Ranking,
    known: list[ArmRank],
    numbers: tuple[int, int, int],
    sure: Certainty,
    looked: Ranking,
) -> tuple[str, ...]:
    if not known:
        return (_progress(state, None),)
    best = known[0]
    rests_on = (_rests_on(best, numbers), *_pulled_away(best, looked[best.arm], sure))
    likelier = found.likelier_words if found.best is best and len(known) > 1 else ()
    alone = f"By direct pulls alone: {sure.words}"
    return *likelier, alone, *rests_on, *_would_change(found, known), _progress(state, best)


def _pulled_away(best: ArmRank, looked: ArmRank, sure: Certainty) -> Iterator[str]:
    """Why an estimate is not what looks and logs say: a few pulls may move it far where these are doubted."""
    own = next((each for each in sure.arms if each.arm == best.arm), None)
    if own is None or not own.pulls or not looked.is_known or looked.low <= best.estimate <= looked.high:
        return
    low, high = sorted((looked.estimate, own.mean))
    if low < best.estimate < high:
        yield (
            f"Looks and logs together put {best.arm} at {looked.written(looked.estimate)} ({looked.interval}), its "
            f"{counted(own.pulls, 'pull')} in this campaign at {best.written(own.mean)}. Either may mislead, so the "
            f"estimate lies between them; more pulls will decide."
        )


def _rests_on(best: ArmRank, numbers: tuple[int, int, int]) -> str:
    in_logs, looks, pulls = numbers
    whole = [
        *([f"{counted(in_logs, 'look')} from logs"] if in_logs else []),
        *([f"{counted(looks, 'look')} that {'was' if looks == 1 else 'were'} asked for"] if looks else []),
        *([counted(pulls, "direct pull")] if pulls else []),
    ]
    if best.arm.is_look:
        return f"It rests on {_and(whole)}."
    worth = best.effective_n - best.direct
    own = [
        *([counted(best.direct, "direct pull")] if best.direct else []),
        *([f"{_others(best)} worth {counted(round(worth), 'pull')}"] if worth >= 0.5 else []),
    ]
    return f"It rests on {_and(whole)}; {best.arm} itself on {_and(own) or 'hardly anything'}."


def _others(row: ArmRank) -> str:
    """What an arm is known by besides its direct pulls."""
    names = {each.source for each in row.sources} - {"direct"}
    if names == {"looks"}:
        return "looks"
    return "looks and pulls of other arms" if "looks" in names else "pulls of other arms"


def _would_change(found: Ranking, known: list[ArmRank]) -> tuple[str, ...]:
    best = known[0]
    what = []
    if not best.direct and not best.arm.is_look:
        what.append(
            f"direct pulls of {best.arm} that disagree with what looking says (a hidden cause that the graph lacks)"
        )
    rivals = [row for row in known[1:] if max(row.low, best.low) <= min(row.high, best.high)]
    if rivals:
        what.append(f"evidence on {listed(str(row.arm) for row in rivals)}, which could still be better")
    untried = [_with_bounds(row) for row in found.values() if not row.is_ranked and not row.is_worse]
    if untried:
        what.append(f"pulls of {listed(untried)}, of which too little is known")
    return (f"What would change it: {_and(what)}.",) if what else ()


def _with_bounds(row: ArmRank) -> str:
    """An arm, with its bounds where it has them."""
    return f"{row.arm} ({row.interval})" if row.is_bounded else str(row.arm)


def _progress(state: State, best: ArmRank | None) -> str:
    name, budget = state.terms.policy.name, state.terms.budget
    spent = f"{state.spent:g} of the budget of {budget:g} is spent"
    final = state.recommendation
    if state.stopped is not None:
        return f"It was stopped ({spent}). {state.stopped}"
    if final is not None:
        named = f"{final.arm}{', which is forbidden by now' if final.arm in state.forbidden else ''}"
        if best is not None and best.arm != final.arm and final.arm not in state.forbidden:
            named += _why_not(state, best)
        if state.auditing and not state.finished:
            return f"{name} names {named} ({spent}); what looking says is being audited."
        rest = "; the rest was kept for audits, and no more are needed" if _unneeded(state) else ""
        return f"{name} is finished ({spent}{rest}) and names {named}."
    return f"{name} {_stands(state, spent)}"


def _stands(state: State, spent: str) -> str:
    """How far a policy is that has named nothing."""
    if state.failure is not None:
        return f"cannot go on ({spent}): {state.failure}"
    if state.resumes and not state.finished:
        return f"goes on once fresh looks have shown whether the logs are up to date ({spent})."
    if state.auditing or state.finished:  # another revision decided, and what it named is not derived again
        how = "is finished" if state.finished else "is done, and what looking says is being audited"
        return f"{how} ({spent}). Another revision of it decided: the arm that it named is not recomputed."
    return f"is not finished: {spent}."


def _why_not(state: State, best: ArmRank) -> str:
    """Why the arm that the policy names is not the one that all evidence says."""
    since = [
        *([] if state.terms.policy.looks else ["what looking says"]),
        *(["audits"] if state.auditing else []),
        *(["outcomes that came after it was done"] if any(state.tickets.extra) else []),
        *(["corrections"] if state.tickets.amended else []),
        *(["logs that came after it began"] if len(state.logs) > state.logs_known else []),
    ]
    why = f"it did not use {_and(since)}" if since else "it weighs the same evidence by its own rule"
    return f"; all evidence together says {best.arm} ({why})"


def _unneeded(state: State) -> bool:
    """Whether part of the budget that was kept for audits is left."""
    return state.audits.over and state.left > 1e-9


def _warnings(state: State, found: Ranking) -> tuple[str, ...]:
    said = [*(each.text for each in state.set_aside), *(each.text for each in state.alarms)]
    said += state.denial().words
    said += _unlike_logs(state, found.problem)
    said += untrue_laws(state.evidence())
    said += forbidden_lines(state.forbidden)
    waiting = int(state.tickets.waiting().sum())
    if waiting:
        said.append(f"Told, but not counted until the reward window closes: {counted(waiting, 'pull')}.")
    final = state.recommendation
    if final is not None:
        said += final.notes
    return tuple(said)


def _unlike_logs(state: State, problem: Problem) -> tuple[str, ...]:
    """Where fresh looks disagree with the logs."""
    looks = state.tickets.outcomes(looks_alone=True)
    if not state.trusted or not len(looks):
        return ()
    nodes = state.nodes
    before, now = pooled(problem, state.trusted, [], nodes=nodes), pooled(problem, [], looks, nodes=nodes)
    return disagreements(before.tables[LOOK], now.tables[LOOK])


def _and(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""
