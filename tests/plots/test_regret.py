"""The plot of regrets: what it shows, and that names never touch."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

import whichdo as wd
from whichdo.plots.regret import LINE, _spread
from whichdo.world.instances import canonical

pytest.importorskip("matplotlib")

if TYPE_CHECKING:
    from pathlib import Path


def found(*policies: str, horizons: object = (30, 60, 600), runs: int = 20) -> wd.Comparison:
    instance = canonical("frontdoor")
    return wd.compare(policies, instance.network, instance.problem, horizons=horizons, runs=runs)  # type: ignore[arg-type]


def words(path: Path) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", path.read_text(encoding="utf-8"))


def test_every_policy_has_its_name_and_the_bands_are_explained(tmp_path: Path) -> None:
    found("ue", "srm", "parallel").plot(tmp_path / "regret.svg")
    said = words(tmp_path / "regret.svg")
    assert {"ue", "srm", "30", "60", "600", "mean simple regret (lower is better)"} <= set(said)
    assert "20 runs a point; bands: 95% intervals of the mean. Not played: parallel." in said
    assert "parallel" not in said


def test_a_band_is_a_95_percent_interval_of_the_mean() -> None:
    result = found("ue", horizons=(30, 60), runs=20)
    (band,) = result.plot().axes[0].collections
    edges = band.get_paths()[0].vertices
    for cell in result.cells:
        heights = edges[edges[:, 0] == cell.horizon][:, 1]
        assert max(heights) == pytest.approx(cell.regret + 1.96 * cell.error)
        assert min(heights) == pytest.approx(max(0.0, cell.regret - 1.96 * cell.error))


@pytest.mark.parametrize(("horizons", "runs"), [(30, 20), ((30, 60), 1), (range(30, 60), 2)])
def test_few_and_many_points_are_drawn(tmp_path: Path, horizons: object, runs: int) -> None:
    found("ue", "srm", horizons=horizons, runs=runs).plot(tmp_path / "regret.png", title="$ of 1 %")
    assert (tmp_path / "regret.png").stat().st_size > 5_000


def test_the_same_comparison_is_drawn_alike(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        found("ue", "srm").plot(tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


@pytest.mark.parametrize("ends", [[0.0] * 5, [0.0, 0.01, 0.5, 0.51, 0.52, 1.0], [0.3], [0.5, 0.55, 0.58, 0.62]])
def test_names_keep_their_order_and_a_line_apart(ends: list[float]) -> None:
    heights = list(_spread({str(number): end for number, end in enumerate(ends)}).values())
    assert all(above - below > LINE - 1e-9 for below, above in pairwise(heights))
    assert min(heights) >= 0
