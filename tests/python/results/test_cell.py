"""Whoever reads a results folder says the same of each cell: its ending, METG, and the interval.

The logs are made at random from all kinds of lines, honest or not, and cut at any byte.
"""

import json
import os
import random
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import results_folder as make
from stored_cells import stored

import taskgrain.results
from taskgrain.answers import data
from taskgrain.answers.compare.cells import compare
from taskgrain.answers.compare.sides import Side
from taskgrain.cli import report_table
from taskgrain.drive import catalogue
from taskgrain.history.log import Log, from_json, measured
from taskgrain.measure.experiments.experiment import CellSettings
from taskgrain.measure.experiments.metg import MetgSearch
from taskgrain.measure.record import Record
from taskgrain.results import curves, ranking, reader
from taskgrain.results.builds import placed
from taskgrain.results.cell import Cell, cells
from taskgrain.results.export import frame
from taskgrain.results.lines import CellLine, MetgLine, SessionLine
from taskgrain.results.measurements import opened
from taskgrain.study.workload import REFERENCE, Workload
from taskgrain.study.workload import Cell as Asked
from taskgrain.words.endings import Ending
from taskgrain.words.errors import InputError, UsageError
from taskgrain.words.interval import Interval

STORED = Path(__file__).parents[3] / "docs/results"
LOGS = int(os.environ.get("TASKGRAIN_TEST_LOGS", "2000"))
SYSTEMS = ("mpi", "ray")
Said = tuple[str, float | None, float | None, float | None]
"""Ending, METG, low, high."""


def log(noise: random.Random) -> list[dict[str, Any]]:
    """Lines of two cells and two builds in any order, and some that make no sense."""
    machine = {"machine": "m", "cores": [0, 1]}
    found: list[dict[str, Any]] = []
    if noise.random() < 0.9:
        builds = [{"name": name, "build": "1" * 16} for name in (*SYSTEMS, REFERENCE)]
        found.append({"kind": "session", "session": "first", "systems": builds} | machine)
    found += [make.REFERENCE, *(make.cell_line(one, "fft", 4) for one in SYSTEMS)]
    for _ in range(noise.randrange(12)):
        system = noise.choice(SYSTEMS)
        cell = make.cell_name(system, "fft", 4)
        match noise.randrange(11):
            case 0:
                found.append(make.cell_line(system, "fft", 4))
            case 1:
                found.append(make.failure_line(cell, noise.choice(["crash", "unsupported"])))
            case 2:
                found.append({"kind": "crash", "cell": cell, "message": "ended"})
            case 3:
                found.append(make.run_line(cell) | {"kind": noise.choice(["run", "rejected"])})
            case 4:
                other = make.cell_name(SYSTEMS[system == SYSTEMS[0]], "fft", 4)
                found.append({"kind": "ratio", "cell": cell, "to": other, "value": 1.5, "low": 1.2})
            case 5:
                build = noise.choice("12") * 16
                restarted = [system] if noise.random() < 0.3 else []
                named = [{"name": system, "build": build}]
                line = {"kind": "session", "session": f"s{len(found)}", "systems": named}
                found.append(line | machine | {"restarted": restarted})
            case 6:
                found.append(
                    {"kind": "metg", "cell": cell, "ending": noise.choice(["", 3, "new", "precise"])}
                )
            case _:
                found.append(make.metg_line(cell, noise.uniform(1e-7, 1e-5), noise.choice(list(Ending))))
                if noise.random() < 0.2:
                    del found[-1][noise.choice(["metg", "low", "high", "curve", "threshold", "rounds"])]
    return on_nodes(found) if noise.random() < 0.3 else found


def on_nodes(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same cells on two nodes."""
    of_kind = {
        "session": {"hosts": [{"host": "a"}, {"host": "b"}]},
        "reference": {"nodes": 2, "rates": [make.PEAK] * 2 * make.CORES},
        "cell": {"nodes": 2, "cores": 2 * make.CORES},
        "run": {"cores": 2 * make.CORES, "busy_hosts": [0.0, 0.1]},
    }
    named = ({key: f"{line[key]}/nodes=2" for key in ("cell", "to") if key in line} for line in lines)
    return [line | of_kind.get(line["kind"], {}) | names for line, names in zip(lines, named, strict=True)]


def said(cell: Cell) -> Said:
    return str(cell.ending), cell.metg.value, cell.metg.low, cell.metg.high


def by_harness(folder: Path) -> dict[str, Said]:
    """The cells as `metg` and `study` would go on."""
    nodes = 2 if b"/nodes=2" in (folder / "runs.jsonl").read_bytes() else 1
    asked = [Asked(one, Workload("fft", 4, nodes=nodes)) for one in SYSTEMS]
    record = Record(asked, lambda _: MetgSearch(CellSettings()), 2, {})
    for one in placed(reader.read(folder).stored):
        if not one.earlier:
            try:
                record.take(one.line)
            except ValueError:
                continue
    return {name: said(state.stored) for name, state in record.cells.items()}


def by_export(folder: Path) -> dict[str, Said]:
    table = frame(reader.read(folder), "cells").with_columns(pl.col("ending").fill_null(""))
    return {row["cell"]: (row["ending"], row["metg"], row["low"], row["high"]) for row in table.to_dicts()}


def by_report(results: data.Results) -> dict[str, Said]:
    found = report_table.as_json(results)["cells"]
    return {row["cell"]: (row["ending"], row["metg"], row["low"], row["high"]) for row in found}


def by_curves(folder: Path) -> dict[str, Said]:
    """The cells as `advise` knows them: only those that have ended."""
    every = curves.opened(folder)[0]
    return {one.cell.name: ("", *said(one.cell)[1:]) for one in every}


def by_history(folder: Path) -> dict[str, Said]:
    """Only cells that have ended, as the line in the store says."""
    try:
        made, _ = measured(folder, "now", 1.0)
    except UsageError:
        return {}
    stored = from_json(json.loads(json.dumps(made.to_json(), allow_nan=False)), Counter())
    assert isinstance(stored, Log)
    return {f"{one.system}/{one.workload}": said(one.cell) for one in stored.measurements}


def check(folder: Path) -> None:
    """Holds all readers to one."""
    contents = reader.read(folder)
    one = cells(contents.shown)
    truth = {name: said(cell) for name, cell in one.items()}
    assert by_export(folder) == truth
    assert {one.name: said(one) for one in taskgrain.results.read(folder).cells} == truth
    results, measurements = data.read(folder), opened(folder).measurements
    assert by_report(results) == truth
    for name, cell in one.items():
        row = cell.to_json(0.5)
        assert (row["ending"], row["metg"], row["low"], row["high"]) == truth[name]
    report = {cell.name: cell for cell in results.cells}
    for here in ranking.by_workload(one.values()).values():
        best = ranking.best(here)
        assert [
            name for name, cell in report.items() if cell.best is cell and cell.workload == here[0].workload
        ] == ([best.name] if best else [])
    for name, (_, *numbers) in by_curves(folder).items():
        assert truth[name][0] != Ending.UNFINISHED and numbers == list(truth[name][1:]), name
    for measurement in measurements:
        name = f"{measurement.system}/{measurement.workload}"
        if name in truth and not measurement.earlier:
            assert said(measurement.cell) == truth[name], name
    kept = by_history(folder)
    if kept or any(isinstance(line, SessionLine) and REFERENCE in line.builds for line in contents.stored):
        now = {one.cell.name: one for one in measurements if not one.earlier}
        ended = [name for name in now if truth.get(name, ("unfinished",))[0] != Ending.UNFINISHED]
        assert kept == {name: truth[name] for name in ended if one[name].error != "unsupported"}


def check_comparison(folder: Path) -> None:
    """A comparison leaves out what has failed, and nothing else for that reason."""
    truth = {name: said(cell) for name, cell in cells(reader.read(folder).shown).items()}
    measurements = tuple(one for one in opened(folder).measurements if not one.earlier)
    both = compare([Side("a", measurements), Side("b", measurements)])
    for compared in both.cells:
        name = f"{compared.system}/{compared.workload}"
        assert not compared.failed and (truth.get(name, [""])[0] == "failed") <= ("failed" in compared.why)


@pytest.mark.parametrize(
    "part", [pytest.param(one, marks=pytest.mark.submission if one > 4 else ()) for one in range(10)]
)
def test_any_log_is_read_alike_by_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    # What there is does not matter, and takes most of the time.
    monkeypatch.setattr(catalogue, "discover", dict)
    for number in range(LOGS // 10):
        noise = random.Random(f"{part} {number}")
        folder = make.write(tmp_path / "results", log(noise))
        whole = (folder / "runs.jsonl").read_bytes()
        (folder / "runs.jsonl").write_bytes(whole[: noise.randint(whole.find(b"\n") + 1, len(whole))])
        check(folder)
        check_comparison(folder)
        truth = {name: said(one) for name, one in cells(reader.read(folder).shown).items()}
        for name, expected in by_harness(folder).items():
            assert expected == truth.get(name, ("unfinished", None, None, None)), f"{part} {number}: {name}"


def by_size(folder: Path) -> Any:
    """The folder as a parameter; large ones, which take seconds, in later rings only."""
    size = (folder / "runs.jsonl.zst").stat().st_size
    ring = pytest.mark.deep if size > 400_000 else pytest.mark.submission
    return pytest.param(folder, id=folder.name, marks=ring if size > 100_000 else ())


@pytest.mark.parametrize("stored", [by_size(one) for one in sorted(STORED.glob("2*"))])
def test_stored_results_are_read_alike_by_all(stored: Path) -> None:
    check(stored)


def test_a_cell_that_goes_on_is_unfinished(tmp_path: Path) -> None:
    """It ended on its budget, a second call measured more, and was interrupted."""
    cell = make.cell_name("mpi", "fft", 4)
    begun: list[Mapping[str, Any]] = [make.REFERENCE, make.cell_line("mpi", "fft", 4), make.run_line(cell)]
    lines = [*begun, make.metg_line(cell, 1e-6, "budget"), make.run_line(cell)]
    folder = make.write(tmp_path / "results", json.loads(json.dumps(lines)))
    assert by_export(folder) == {cell: ("unfinished", None, None, None)}
    assert by_report(data.read(folder)) == by_export(folder)
    assert by_harness(folder)[cell] == by_export(folder)[cell]
    assert by_curves(folder) == {}


def test_a_ratio_is_to_the_build_that_it_was_measured_beside(tmp_path: Path) -> None:
    mpi, ray = (make.cell_name(one, "fft", 4) for one in SYSTEMS)
    build = {"kind": "session", "machine": "m", "cores": [0, 1]}
    first = build | {"systems": [{"name": one, "build": "1" * 16} for one in SYSTEMS]}
    second = build | {"systems": [{"name": "mpi", "build": "2" * 16}]}
    lines = [first, *(make.cell_line(one, "fft", 4) for one in SYSTEMS), make.metg_line(mpi, 1e-6)]
    lines += [make.metg_line(ray, 2e-6), {"kind": "ratio", "cell": ray, "to": mpi, "value": 2.0, "low": 1.9}]
    folder = make.write(
        tmp_path, [*lines, second, make.cell_line("mpi", "fft", 4), make.metg_line(mpi, 1e-7)]
    )
    found = cells(reader.read(folder).shown)
    assert found[ray].ratio_to(mpi) is None
    assert found[ray].ratio_to(f"mpi@11111111/{mpi.partition('/')[2]}") is not None


def test_a_cell_is_shown_in_a_line_and_names_its_numbers() -> None:
    cell = stored("mpi", "fft")
    assert repr(cell) == "<Cell mpi/fft: precise, 0 runs>"
    with pytest.raises(
        InputError, match="name: nonsense is not allowed; allowed: metg, work, overhead, floor, start"
    ):
        cell.number("nonsense")


def test_numbers_of_a_failed_cell_mean_nothing() -> None:
    cell = Cell("mpi/fft")
    cell.take(MetgLine(cell=cell.name, ending=Ending.FAILED, floor=1e-7, metg=1e-6))
    assert (cell.ending, cell.error, cell.metg, cell.number("floor")) == (
        "failed",
        "unknown",
        Interval(),
        Interval(),
    )
    cell.take(CellLine(cell=cell.name))
    assert (cell.ending, cell.error, cell.failure) == ("unfinished", "", None)


def test_few_rounds_are_enough_for_a_simulation() -> None:
    said = ({"code": "few_rounds", "rounds": 2, "needed": 5}, {"code": "no_bound"})
    for simulated, codes in ((False, ["few_rounds", "no_bound"]), (True, ["no_bound"])):
        assert [one.code for one in stored(simulated=simulated, warnings=said).warnings] == codes
