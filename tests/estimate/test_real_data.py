"""Real data sets, against plain standardisation computed here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whichdo as wd
from whichdo.problem import Problem, do

pd = pytest.importorskip("pandas")
pytest.importorskip("causaldata", reason="the data sets come with the development tools")


def nhefs() -> Any:
    """Quitting smoking and death within ten years, with sex, race, age and how much was smoked."""
    from causaldata import nhefs as source

    data = source.load_pandas().data
    return pd.DataFrame(
        {
            "quit": data["qsmk"].astype(int),
            "death": data["death"].astype(int),
            "sex": data["sex"].astype(int),
            "race": data["race"].astype(int),
            "age": np.digitize(data["age"], [35, 45, 55]),
            "smoked": np.digitize(data["smokeintensity"], [15, 25]),
            "gain": data["wt82_71"],
        }
    )


CAUSES = ["sex", "race", "age", "smoked"]


def graph(reward: str) -> str:
    return f"{'; '.join(f'{cause} -> {{quit {reward}}}' for cause in CAUSES)}; quit -> {reward}"


def standardised(data: Any, reward: str, value: int) -> float:
    """Sum over strata of their share times the mean of those with the value; strata without any are left out."""
    strata = data.groupby(CAUSES)
    shares = strata.size() / len(data)
    means = data[data["quit"] == value].groupby(CAUSES)[reward].mean()
    known = shares.loc[means.index]
    return float((known * means).sum() / known.sum())


def test_quitting_and_death_within_a_hundredth_of_standardisation() -> None:
    """1,629 people: the difference is about -.01, where comparing quitters with others says +.05."""
    data = nhefs().drop(columns="gain")
    problem = Problem(graph("death"), "death", ["quit"], domains={"age": range(4), "smoked": range(3)}, goal="minimize")
    found = wd.rank(problem, data)
    for value in (0, 1):
        assert found[do(quit=value)].estimate == pytest.approx(standardised(data, "death", value), abs=0.01)
    naive = found[do(quit=1)].conditional - found[do(quit=0)].conditional
    effect = found[do(quit=1)].estimate - found[do(quit=0)].estimate
    assert naive > 0.04
    assert abs(effect) < 0.03
    assert found[do(quit=1)].low < standardised(data, "death", 1) < found[do(quit=1)].high


def test_weight_gained_after_quitting_in_kilograms() -> None:
    """Quitters gain about 3 kg more (Hernán and Robins, What If, chapter 13: 3.5 with all covariates)."""
    data = nhefs().drop(columns="death").dropna()
    problem = Problem(
        graph("gain"), "gain", ["quit"], domains={"age": range(4), "smoked": range(3)}, reward_range=(-45, 50)
    )
    found = wd.rank(problem, data)
    effect = found[do(quit=1)].estimate - found[do(quit=0)].estimate
    assert effect == pytest.approx(standardised(data, "gain", 1) - standardised(data, "gain", 0), abs=0.3)
    assert 2.2 < effect < 4.2
    assert found.best is not None
    assert found.best.arm == do(quit=1)
    assert found[do(quit=1)].effect_low > 0


def test_nine_covariates_by_models_as_the_textbook_has_it() -> None:
    """Hernán and Robins, What If: 3.5 kg by standardisation (2.6 to 4.5) and 3.4 by weighting, all covariates."""
    pytest.importorskip("sklearn", reason="models are an extra")
    from causaldata import nhefs as source

    causes = ["sex", "race", "age", "education", "smokeintensity", "smokeyrs", "exercise", "active", "wt71"]
    data = source.load_pandas().data[[*causes, "qsmk", "wt82_71"]].dropna()
    edges = "; ".join(f"{cause} -> {{qsmk wt82_71}}" for cause in causes)
    problem = wd.propose(data, f"{edges}; qsmk -> wt82_71", reward="wt82_71", intervene=["qsmk"])
    found = wd.rank(problem, data, model="logistic")
    one, nought = found[do(qsmk=1)], found[do(qsmk=0)]
    assert one.modelled is not None
    assert nought.modelled is not None
    assert one.modelled.estimate - nought.modelled.estimate == pytest.approx(3.45, abs=0.25)
    assert one.modelled.high - one.modelled.low < 3
    assert one.high - one.low > 20  # cells hold one row
    assert one.modelled.without_counterpart < 0.01
    assert found.best is one
