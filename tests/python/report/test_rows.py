"""The rows that charts draw: numbers as short as a pixel needs, and words for what has none."""

import json
import math
from pathlib import Path

import pytest
import results_folder
from report_cells import cell, measured, point, results
from report_page import opened

from taskgrain.report import rows
from taskgrain.report.look import AT_LEAST, AT_MOST, SHAPES

CURVE = (
    point(10, 1e-6, 0.25, samples=(0.9e-6, 1.1e-6)),
    point(100, 2e-6, 0.75, samples=(1.9e-6, 2e-6, 2.1e-6), disturbed=(4e-6,)),
)


def test_systems_are_ranked_by_the_geometric_mean() -> None:
    found = results(
        *(measured("one", 1e-6, "fft"), measured("one", 1e-4, "dom")),  # mean 10 µs
        *(cell("none", "fft", ending="failed"), measured("two", 5e-6, "fft")),
        cell("open", "fft", ending="always_reached", high=6e-6),
    )
    assert found.ranked == ["two", "open", "one", "none"]
    assert results().ranked == []


def test_a_row_for_each_cell_in_order() -> None:
    found = results(
        measured("slow", 2e-6, floor=1.23456789e-7),
        measured("fast", 1.23456789e-6),
        cell("open", ending="always_reached", high=1e-7),
        cell("never", ending="never_reached", low=1e-3),
        cell("failed", ending="failed", rounds=None, run={"tasks": 1}),
    )
    slow, fast, open_, never, failed = rows.metg(found)
    assert [row["cell"] for row in rows.metg(found)] == [0, 1, 2, 3, 4]
    assert [row["rank"] for row in rows.metg(found)] == [2, 1, 0, 3, 4]
    assert (fast["x"], fast["metg"], fast["mark"]) == (1.2346e-6, 1.2346e-6, SHAPES[0])
    assert (slow["low"], slow["high"], slow["floor_at"]) == (1.8e-6, 2.2e-6, 1.2346e-7)
    assert (open_["x"], open_["metg"], open_["low"], open_["mark"]) == (1e-7, None, 0.0, AT_MOST)
    assert (never["x"], never["high"], never["mark"]) == (1e-3, rows.FAR, AT_LEAST)
    assert (failed["x"], failed["rounds"], failed["dependences"], failed["text"]) == (
        None,
        "–",
        "–",
        "failed",
    )
    assert never["ending"] == "never reached"
    json.dumps(rows.metg(found), allow_nan=False)


def test_a_point_has_a_rate_where_the_peak_is_known() -> None:
    first, second = rows.points(measured("a", 1.5e-6, curve=CURVE, peak_rate=4e9), 7)
    assert (first["cell"], first["iterations"], first["granularity"], first["rate"]) == (7, 10, 1e-6, 1e9)
    assert (second["rate"], second["rate_low"], second["rate_high"]) == (3e9, 2.7e9, 3.3e9)
    assert (second["reached"], second["speed"]) == ("75.0 % (67.5 – 82.5)", "3.00 GFLOP/s")
    (without, _) = rows.points(measured("a", 1.5e-6, curve=CURVE, peak_rate=None), 0)
    assert (without["rate"], without["speed"]) == (None, "–")


def test_few_samples_are_all_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    found = results(measured("a", 1e-6, curve=CURVE), measured("b", 1e-6))
    assert rows.most_samples(found) == 4
    monkeypatch.setattr(rows, "MOST_SAMPLES", 5)
    assert rows.most_samples(found) == 3
    assert rows.most_samples(results(cell())) == 0


def test_samples_are_thinned_evenly() -> None:
    samples = tuple(1e-6 * math.exp(i / 1000) for i in range(10))
    one = point(1, 1e-6, 0.5)
    assert rows.thinned(samples, one, 10) == [*range(10)]
    assert rows.thinned(samples, one, 5) == [0, 2, 4, 6, 8]
    assert rows.thinned(samples, one, 3) == [0, 3, 6]
    assert rows.thinned(samples[:2], one, 5) == [0, 1]
    assert rows.thinned(samples, one, 0) == rows.thinned((), one, 5) == []


def test_many_samples_of_a_folder_are_thinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = results_folder.cell_line("mpi", "stencil_1d")
    ended = results_folder.metg_line(str(started["cell"]), 4e-7)
    folder = results_folder.write(tmp_path, [started, *results_folder.run_lines(ended, 9), ended])

    def samples() -> list[int]:
        (one,) = json.loads(opened(folder).blocks["data"])["cells"]
        return [len(point[-2]) for point in one["points"]]

    assert samples() == [18] * 10
    monkeypatch.setattr(rows, "MOST_SAMPLES", 50)
    assert samples() == [5] * 10


def test_the_best_efficiency_is_that_of_the_shortest_sample() -> None:
    assert rows.best_efficiency(CURVE[1]) == pytest.approx(0.75 * 2 / 1.9)
    assert rows.best_efficiency(point(1, 1e-6, 0.5)) == 0.5


def test_the_dashed_lines() -> None:
    cells = [cell(threshold=0.8), cell(threshold=0.5), cell(threshold=0.8)]
    assert rows.thresholds(cells) == [{"value": 0.5, "text": "50 %"}, {"value": 0.8, "text": "80 %"}]
    rates = (1e9, None, 5e9, 2e9)
    assert rows.peaks(cell(peak_rate=rate) for rate in rates) == [{"value": 2e9, "text": "peak"}]
    assert rows.peaks([cell(peak_rate=None)]) == []
