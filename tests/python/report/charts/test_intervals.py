"""Intervals in charts: which ends the rows have, where axes end, and what is told of a missing bound."""

import math
from dataclasses import replace

import noisy_results
import pytest
from report_cells import measured, point

from taskgrain.answers import data
from taskgrain.answers.data import Results
from taskgrain.report import look, rows
from taskgrain.report.charts import efficiency, metg


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return data.read(noisy_results.folder(tmp_path_factory.mktemp("noisy")))


def test_axes_follow_numbers_and_bounds_near_to_them() -> None:
    assert look.near(1.0, 0.5, 2.0) == [0.5, 1.0, 2.0]
    assert look.near(1.0, None, None) == look.near(1.0, 1e-6, 1e6) == [0.2, 1.0, 5.0]
    assert look.near(None, 1.0, 2.0) == []
    low, high = look.domain([1e-6, 2e-6, 0.0, -1.0, math.nan, math.inf, None])
    assert 0.5e-6 < low < 1e-6
    assert 2e-6 < high < 4e-6


def test_missing_bounds_reach_beyond_every_axis(results: Results) -> None:
    for cell, row in zip(results.cells, rows.metg(results), strict=True):
        low, high = cell.metg.low, cell.metg.high
        if cell.metg.value is None:
            continue
        assert row["low"] == (rows.short(low) if low is not None else 0.0)
        assert row["high"] == (rows.short(high) if high is not None else rows.FAR)
        assert row["certain"] == (low is not None and high is not None)
        told = str(row["METG"])
        assert ("no upper bound" in told) == (high is None and low is not None)
        assert ("no lower bound" in told) == (low is None and high is not None)
        assert ("no interval" in told) == (low is None and high is None)


def test_a_point_without_bounds_has_no_interval() -> None:
    bounds = ("granularity_low", "granularity_high", "efficiency_low", "efficiency_high")
    bare = replace(point(64, 2e-6, 0.5), **dict.fromkeys(bounds))
    (row,) = rows.points(measured("a", 2e-6, curve=[bare]), 0)
    assert row["granularity_low"] is row["granularity_high"] is row["rate_high"] is None
    assert row["certain"] is False
    assert str(row["lasts"]).endswith("no interval")


@pytest.mark.parametrize("chart", [metg.panel, efficiency.chart])
def test_logarithmic_axes_begin_above_zero(chart: object, results: Results) -> None:
    spec = chart(results, look.PAPER, 200).to_dict()  # type: ignore[operator]
    scales = [
        channel["scale"]
        for layer in spec["layer"]
        for channel in layer["encoding"].values()
        if isinstance(channel, dict) and (channel.get("scale") or {}).get("type") == "log"
    ]
    assert scales
    for scale in scales:
        low, high = scale["domain"]
        assert 1e-15 < low < high < 1e4
        assert scale["clamp"]
