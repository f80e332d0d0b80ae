"""The report without a browser: reading a folder leniently, formatting, escaping, saving plots."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

import pytest
import results_folder

from taskgrain import quantity
from taskgrain.errors import InputError, UsageError
from taskgrain.report import data, draw, figures, look, page, plots, repeat, rows, summary, write

CELL = results_folder.cell_name("mpi", "stencil_1d")
SCRIPT = "</script></pre><script>alert('\u2028owned')</script><img src=x onerror=alert(1)>\"'{{ 7 * 7 }}"


class Page(HTMLParser):
    """The page as a browser would take it apart: its tags, its text, its script blocks."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.blocks: dict[str, str] = {}
        self.text = ""
        self._in_script = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._in_script = tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._in_script = False

    def handle_data(self, text: str) -> None:
        if self._in_script:
            self.blocks[self.tags[-1][1].get("id") or f"block {len(self.blocks)}"] = text
        else:
            self.text += text


def opened(folder: Path) -> Page:
    return Page(write(folder, folder / "page.html").read_text("utf-8"))


@pytest.mark.parametrize(
    ("value", "low", "high", "shown"),
    [
        (4.1e-7, 3.9e-7, 4.4e-7, "0.41 µs (0.39 – 0.44)"),
        (4.1e-7, 4.04e-7, 4.16e-7, "410 ns (404 – 416)"),
        (1.2e-7, 1.1e-7, 1.3e-7, "120 ns (110 – 130)"),
        (8.5e-5, 8.49e-5, 8.52e-5, "85.0 µs (84.9 – 85.2)"),
        (9.996e-7, 9.9e-7, 1.01e-6, "1.00 µs (0.99 – 1.01)"),
        (1.2e-8, 1.2e-8, 1.2e-8, "12.0 ns (12.0 – 12.0)"),
        (4e-7, 1e-7, 5e-6, "0.40 µs (0.10 – 5.00)"),
        (2.5, 2.4, 2.6, "2.50 s (2.40 – 2.60)"),
        (1.23e-6, None, None, "1.23 µs"),
        (None, None, None, "–"),
    ],
)
def test_interval(value: float | None, low: float | None, high: float | None, shown: str) -> None:
    assert quantity.interval(value, low, high) == shown


def test_quantities() -> None:
    assert [quantity.seconds(one) for one in (1.234e-6, 9.997e-7, 45e-3, 1.2e-11, 1234.0, 0.0)] == [
        "1.23 µs", "1.00 µs", "45.0 ms", "0.0120 ns", "1230 s", "0.00 s",
    ]  # fmt: skip
    assert [quantity.rate(one, "flop") for one in (5.123e10, 9.9999e8, 3.0)] == [
        "51.2 GFLOP/s", "1.00 GFLOP/s", "3.00 FLOP/s",
    ]  # fmt: skip
    assert quantity.rate(12.34e9, "byte") == "12.3 GB/s"
    assert [quantity.ratio(one) for one in (1.26, 34.2, 9.99, 871234.0)] == [
        "1.3 ×",
        "34 ×",
        "10 ×",
        "870 000 ×",
    ]
    assert [quantity.size(one) for one in (16, 65536, 1536 * 2**20)] == ["16 B", "64 KiB", "1.5 GiB"]
    assert quantity.percent(0.5) == "50 %"


def test_reads_a_cell(tmp_path: Path) -> None:
    lines = [
        results_folder.cell_line("mpi", "stencil_1d"),
        results_folder.run_line(CELL),
        results_folder.metg_line(CELL, 4.1e-7, warnings=["busy"]),
    ]
    results = data.read(results_folder.write(tmp_path, lines))
    (cell,) = results.cells
    assert (cell.system, cell.workload, cell.metg, cell.ending) == (
        "mpi",
        "stencil_1d/width=16",
        4.1e-7,
        "precise",
    )
    assert (cell.cores, cell.runs, cell.work_unit, cell.warnings) == (2, 1, "flop", ("busy",))
    assert len(cell.curve) == 10
    assert results.title == "example study"
    assert results.warnings == ()


def test_the_unit_of_work_may_come_from_the_reference(tmp_path: Path) -> None:
    reference: results_folder.Line = {
        "kind": "reference",
        "kernel": "compute_bound",
        "rates": [1e9],
        "work_unit": "byte",
    }
    lines = [reference, results_folder.cell_line("mpi", "stencil_1d"), results_folder.metg_line(CELL, 1e-6)]
    assert data.read(results_folder.write(tmp_path, lines)).cells[0].work_unit == "byte"


def test_a_torn_last_line_is_a_warning(tmp_path: Path) -> None:
    lines = [results_folder.cell_line("mpi", "stencil_1d"), results_folder.metg_line(CELL, 4.1e-7)]
    folder = results_folder.write(tmp_path, lines, tail=b'{"schema":1,"kind":"ru\xff')
    results = data.read(folder)
    assert results.cells[0].metg == 4.1e-7
    assert [warning for warning in results.warnings if "line 3 is torn" in warning]
    assert "line 3 is torn" in opened(folder).text


def test_other_damage_is_a_warning(tmp_path: Path) -> None:
    folder = results_folder.write(tmp_path, [])
    good = json.dumps(results_folder.metg_line(CELL, 1e-6))
    deep = "[" * 100_000
    (folder / "runs.jsonl").write_text(
        f'nonsense\n[1]\n{deep}\n\n{{"schema":9,"kind":"new"}}\n{good}', "utf-8"
    )
    (folder / "machine.json").write_text("[]", "utf-8")
    (folder / "study.toml").write_text("= no toml", "utf-8")
    results = data.read(folder)
    assert [cell.name for cell in results.cells] == [CELL]
    assert len(results.warnings) == 5  # three lines, the schema, the machine
    assert results.title == folder.name
    assert opened(folder).text


def test_fields_of_the_wrong_type_are_missing_values(tmp_path: Path) -> None:
    line = results_folder.metg_line(CELL, 1e-6) | {
        "metg": "fast", "low": -1, "high": True, "rounds": 1.5, "curve": [1, {}, {"iterations": "x"}],
        "warnings": "no", "peak_rate": {}, "threshold": 7,
    }  # fmt: skip
    started = results_folder.cell_line("mpi", "stencil_1d") | {"cores": "many", "command": ["a"], "system": 5}
    folder = results_folder.write(
        tmp_path, [started, line], machine={"cpu": "x", "list": [{"a": [1, [2]]}], "none": None}
    )
    (cell,) = data.read(folder).cells
    assert (cell.metg, cell.low, cell.high, cell.rounds, cell.curve, cell.warnings) == (None,) * 4 + ((), ())
    assert (cell.threshold, cell.cores, cell.peak_rate) == (0.5, None, None)
    assert opened(folder).text


def test_numbers_that_json_does_not_know(tmp_path: Path) -> None:
    folder = results_folder.write(tmp_path, [])
    line = '{"kind":"metg","cell":"a/b","ending":"precise","metg":NaN,"low":1e999,"high":-Infinity,"x":%s}'
    (folder / "runs.jsonl").write_text(line % ("9" * 400) + "\n", "utf-8")
    assert data.read(folder).cells[0].metg is None
    (cell,) = json.loads(opened(folder).blocks["data"], parse_constant=pytest.fail)
    assert cell["row"]["low"] is None


def test_a_folder_without_results_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"runs\.jsonl"):
        write(tmp_path)
    folder = results_folder.write(tmp_path / "good", [])
    with pytest.raises(UsageError, match="cannot be written"):
        write(folder, tmp_path / "nowhere" / "report.html")


def test_an_empty_folder_makes_a_page(tmp_path: Path) -> None:
    target = write(results_folder.write(tmp_path, []))
    assert target == tmp_path / "report.html"
    assert "No cell has come to a METG" in target.read_text("utf-8")


def test_unfinished_cells_are_shown(tmp_path: Path) -> None:
    folder = results_folder.write(
        tmp_path, [results_folder.cell_line("mpi", "fft"), results_folder.run_line("mpi/fft/width=16")]
    )
    assert data.read(folder).cells[0].ending == "unfinished"
    shown = opened(folder).text
    assert "1 is unfinished" in shown
    assert "fft/width=16" in shown


def test_failures_are_shown(tmp_path: Path) -> None:
    message = "rank 3 did not answer " * 20
    lines = [
        results_folder.cell_line("mpi", "fft"),
        results_folder.failure_line(
            "mpi/fft/width=16", "timeout", message, "\x1b[31mred\x1b[0m tail\x00\r\nend"
        ),
    ]
    folder = results_folder.write(tmp_path, lines)
    (failure,) = data.read(folder).failures
    assert (failure.error, failure.log, failure.superseded) == ("timeout", "red tail\ufffd\nend", False)
    assert data.read(folder).cells[0].ending == "failed"
    shown = opened(folder).text
    assert "timeout" in shown
    assert message in shown
    assert "red tail" in shown


def test_a_failure_that_a_later_attempt_mended(tmp_path: Path) -> None:
    lines = [
        results_folder.cell_line("mpi", "stencil_1d"),
        results_folder.failure_line(CELL),
        results_folder.metg_line(CELL, 1e-6, "failed"),
        results_folder.metg_line(CELL, 1e-6),
    ]
    results = data.read(results_folder.write(tmp_path, lines))
    assert results.failures[0].superseded
    assert results.cells[0].metg == 1e-6


def test_a_driver_that_was_started_again(tmp_path: Path) -> None:
    crash: results_folder.Line = {"kind": "crash", "cell": CELL, "message": "ended with 9", "log": "the tail"}
    lines = [results_folder.cell_line("mpi", "stencil_1d"), crash, results_folder.metg_line(CELL, 1e-6)]
    results = data.read(results_folder.write(tmp_path, lines))
    (failure,) = results.failures
    assert (failure.error, failure.message, failure.superseded) == ("crash", "ended with 9", True)
    assert results.cells[0].error == ""
    assert "the tail" in opened(tmp_path).text


@pytest.mark.parametrize(
    ("ending", "short", "trouble"),
    [
        ("never_reached", "> ", "1 never reached the threshold"),
        ("always_reached", "≤ ", "1 gave only an upper bound"),
        ("several_crossings", "no one value", "1 crossed the threshold more than once"),
        ("failed", "failed", "1 failed"),
        ("a_new_one", "none", "1 gave no number"),
    ],
)
def test_endings_without_a_number(tmp_path: Path, ending: str, short: str, trouble: str) -> None:
    lines = [results_folder.cell_line("mpi", "stencil_1d"), results_folder.metg_line(CELL, 1e-6, ending)]
    folder = results_folder.write(tmp_path, lines)
    results = data.read(folder)
    assert results.cells[0].metg is None
    assert rows.short_result(results.cells[0]).startswith(short)
    assert trouble in summary.troubles(results)
    assert trouble in opened(folder).text


def summary_of(folder: Path, cells: dict[str, tuple[float, str]]) -> summary.Best:
    lines = []
    for system, (metg, ending) in cells.items():
        name = results_folder.cell_name(system, "fft")
        lines += [results_folder.cell_line(system, "fft"), results_folder.metg_line(name, metg, ending)]
    (best,) = summary.best(data.read(results_folder.write(folder, lines)))
    return best


def test_the_best_system(tmp_path: Path) -> None:
    best = summary_of(
        tmp_path, {"slow": (5e-5, "precise"), "fast": (1e-6, "precise"), "mid": (3e-6, "budget")}
    )
    assert (best.systems, best.limit, best.lost, best.measured) == (("fast",), "1.00 µs", "half", 3)
    assert (best.runner_up, best.runner_up_times, best.worst, best.worst_times) == (
        "mid",
        "3.0 ×",
        "slow",
        "50 ×",
    )


def test_the_best_system_cannot_be_told(tmp_path: Path) -> None:
    best = summary_of(
        tmp_path, {"one": (1e-6, "precise"), "other": (1.02e-6, "precise"), "open": (9e-6, "always_reached")}
    )
    assert best.systems == ("one", "other")
    assert best.perhaps == ("open ≤ 10.3 µs",)
    assert (best.runner_up, best.worst) == ("", "")


def test_the_best_system_is_only_bounded(tmp_path: Path) -> None:
    best = summary_of(tmp_path, {"open": (1e-7, "always_reached"), "closed": (1e-6, "precise")})
    assert (best.systems, best.at_most, best.limit) == (("open",), True, "115 ns")
    assert best.worst == "closed"


def hostile(value: object) -> object:
    """The same with a script in every text, also in the names of unknown fields."""
    if isinstance(value, str):
        return value + SCRIPT
    if isinstance(value, dict):
        return {key: hostile(one) for key, one in value.items()} | {SCRIPT: SCRIPT}
    if isinstance(value, list):
        return [hostile(one) for one in value]
    return value


def hostile_folder(folder: Path) -> Path:
    lines = []
    for line in [
        results_folder.cell_line("mpi", "stencil_1d"),
        results_folder.run_line(CELL),
        results_folder.metg_line(CELL, 1e-6, warnings=["careful"]),
        results_folder.failure_line(CELL),
        results_folder.cell_line("ray", "fft"),
        results_folder.metg_line("ray/fft/width=16", 1e-3, "failed"),
        results_folder.failure_line("ray/fft/width=16"),
        results_folder.REFERENCE,
        results_folder.cell_line("dask", "fft"),
        results_folder.metg_line("dask/fft/width=16", 1e-4, "unheard-of"),
    ]:
        evil = hostile(line)
        assert isinstance(evil, dict)
        known = ("kind", "ending") if line.get("ending") != "unheard-of" else ("kind",)
        lines.append(evil | {key: line[key] for key in known if key in line})
    results_folder.write(folder, lines, machine=hostile(results_folder.MACHINE))
    (folder / "study.toml").write_text(f"name = '''{SCRIPT}'''\nisa = '''{SCRIPT}'''", "utf-8")
    return folder


def test_everything_is_escaped(tmp_path: Path) -> None:
    folder = hostile_folder(tmp_path)
    shown = opened(folder)
    scripts = [attributes for tag, attributes in shown.tags if tag == "script"]
    assert [one.get("id") for one in scripts] == ["charts", "data", "files", "raw", None, None]
    assert not [tag for tag, _ in shown.tags if tag == "img"]
    assert not [
        name
        for _, attributes in shown.tags
        for name in attributes
        if name.startswith("on") or name == "style"
    ]
    assert "{{ 7 * 7 }}" in shown.text
    for block in ("charts", "data", "files"):
        assert "<" not in shown.blocks[block]
        json.loads(shown.blocks[block])
    # Cell, system, workload, command, warning, failures, machine and study: all of it is there, as text.
    assert shown.text.count("onerror=alert(1)") > 20


def test_no_untrusted_text_in_expressions(tmp_path: Path) -> None:
    results = data.read(hostile_folder(tmp_path))
    drawn = [chart(results, look.PAGE) for chart in (plots.metg_panel, plots.efficiency, plots.rate)]
    drawn.append(plots.dependences(results, look.PAGE, cells=results.cells))
    specs = [plots.page_spec(one) for one in drawn]

    def expressions(value: object) -> list[str]:
        if isinstance(value, list):
            return [one for item in value for one in expressions(item)]
        if isinstance(value, dict):
            own = [one for key, one in value.items() if key in ("expr", "labelExpr", "filter", "calculate")]
            return [str(one) for one in own] + [one for item in value.values() for one in expressions(item)]
        return []

    found = [one for spec in specs for one in expressions(spec)]
    assert len(found) > 10
    assert not [one for one in found if "alert" in one]


def test_the_page_loads_nothing(tmp_path: Path) -> None:
    html = write(results_folder.big(tmp_path)).read_text("utf-8")
    shown = Page(html)
    policy = next(
        one["content"] for tag, one in shown.tags if one.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    links = [one.get("src") or one.get("href") or "" for tag, one in shown.tags if tag not in ("svg", "path")]
    assert not [link for link in links if link and not link.startswith("#")]
    style = next(text for text in shown.blocks.values() if ":root" in text)
    assert not re.search(r"url\(|@import", style)


def test_the_page_of_ten_thousand_runs_is_small(tmp_path: Path) -> None:
    folder = results_folder.big(tmp_path, rounds=7, repeats=3)
    assert sum(cell.runs for cell in data.read(folder).cells) > 10_000
    target = write(folder)
    assert target.stat().st_size < 3_000_000
    assert len(Page(target.read_text("utf-8")).blocks["raw"]) > 100_000


def test_raw_data_too_large_for_a_page_stay_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = results_folder.big(tmp_path, ["mpi"], ["fft"])
    assert "runs.jsonl is" not in opened(folder).text
    monkeypatch.setattr(page, "MOST_RAW", 100)
    shown = opened(folder)
    assert "raw" not in shown.blocks or not shown.blocks["raw"]
    assert "is too large for this file" in shown.text


def test_every_cell_has_its_command(tmp_path: Path) -> None:
    shown = opened(results_folder.big(tmp_path, ["mpi", "ray"], ["fft", "dom"]))
    for system in ("mpi", "ray"):
        for pattern in ("fft", "dom"):
            assert f"taskgrain metg --system {system} --pattern {pattern} --width 16" in shown.text


def test_a_command_has_the_settings_of_its_study() -> None:
    study: dict[str, object] = {"cores": 2, "threshold": 0.5, "precision": 0.05, "sweep": True, "budget": 9.0}
    study |= {
        "repeats": 3,
        "isa": "avx2; rm -rf /",
        "validate": ["full"],
        "first_iterations": 100,
        "steps": 0,
    }
    made = repeat.command("taskgrain metg --system mpi --iterations 5", study)
    added = made.removeprefix("taskgrain metg --system mpi --iterations 5")
    assert added == " --cores 2 --precision 0.05 --sweep --isa 'avx2; rm -rf /'"
    assert repeat.command("", study) == ""


def test_the_samples_behind_a_curve(tmp_path: Path) -> None:
    ended = results_folder.metg_line(CELL, 4e-7)
    lines = [
        results_folder.cell_line("mpi", "stencil_1d"),
        results_folder.run_line(CELL, 64, phase="bracket"),
    ]
    folder = results_folder.write(tmp_path, [*lines, *results_folder.run_lines(ended, 3), ended])
    (cell,) = data.read(folder).cells
    assert [len(point.samples) for point in cell.curve] == [6] * 10
    for point in cell.curve:
        assert all(abs(one / point.granularity - 1) < 0.3 for one in point.samples)
    embedded = json.loads(opened(folder).blocks["data"])
    assert [len(point[-2]) for point in embedded[0]["points"]] == [6] * 10
    first = cell.curve[0]
    shown = [first.granularity * math.exp(one / 1000) for one in embedded[0]["points"][0][-2]]
    assert shown == pytest.approx(list(first.samples), rel=1e-3)


def test_many_samples_are_thinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = results_folder.metg_line(CELL, 4e-7)
    lines = [results_folder.cell_line("mpi", "stencil_1d"), *results_folder.run_lines(ended, 9), ended]
    folder = results_folder.write(tmp_path, lines)
    assert "an even selection" not in opened(folder).text
    monkeypatch.setattr(rows, "MOST_SAMPLES", 50)
    shown = opened(folder)
    assert "all cells have 180" in shown.text
    assert "an even selection" in shown.text
    assert [len(point[-2]) for point in json.loads(shown.blocks["data"])[0]["points"]] == [5] * 10


@pytest.mark.parametrize("phase", ["measure", "sweep", "bracket"])
def test_a_cell_that_was_cut_off_has_the_curve_of_its_runs(tmp_path: Path, phase: str) -> None:
    sizes = {32: 2e-7, 64: 2.4e-7, 128: 3.2e-7}
    lines = [results_folder.REFERENCE, results_folder.cell_line("mpi", "stencil_1d")]
    lines += [results_folder.run_line(CELL, size, grain, phase) for size, grain in sizes.items()]
    lines += [results_folder.run_line(CELL, 0, 1e-7, "floor")]
    if phase != "bracket":  # does not count beside the others
        lines += [results_folder.run_line(CELL, 8, 1.9e-7, "bracket")]
    (cell,) = data.read(results_folder.write(tmp_path, lines)).cells
    assert [point.iterations for point in cell.curve] == [32, 64, 128]
    for point, grain in zip(cell.curve, sizes.values(), strict=True):
        assert point.granularity == pytest.approx(grain, rel=0.15)
        assert point.efficiency * point.granularity == pytest.approx(point.iterations * 2e-9)
    assert cell.metg is None
    assert cell.work_unit == "flop"


def radix_study(folder: Path, radices: Sequence[int] = (1, 3, 5, 9)) -> Path:
    lines = [results_folder.REFERENCE]
    for system, cost in (("limit", 1e-8), ("mpi", 4e-8)):
        for radix in radices:
            pattern = f"nearest/radix={radix}"
            cell = results_folder.cell_name(system, pattern)
            ending = "never_reached" if (system, radix) == ("mpi", 5) else "precise"
            lines.append(results_folder.cell_line(system, pattern))
            lines.append(results_folder.metg_line(cell, cost * (2 + radix), ending))
        lines.append(results_folder.cell_line(system, "stencil_1d"))
        lines.append(results_folder.metg_line(results_folder.cell_name(system, "stencil_1d"), cost * 5))
    return results_folder.write(folder, lines)


def test_a_study_of_the_radix_is_drawn(tmp_path: Path) -> None:
    folder = radix_study(tmp_path)
    groups = rows.radix_groups(data.read(folder))
    assert {name: [cell.radix for cell in cells] for name, cells in groups.items()} == {
        "nearest/width=16": [1, 3, 5, 9] * 2
    }
    shown = opened(folder)
    assert "METG against dependences per task" in shown.text
    assert "dependences-0" in json.loads(shown.blocks["charts"])["charts"]
    other = results_folder.big(tmp_path / "other", ["mpi"], ["fft", "dom"])
    assert "METG against dependences per task" not in opened(other).text


SIZES = {".svg": rb'<svg[^>]* width="([\d.]+)pt"', ".pdf": rb"/MediaBox ?\[ ?0 0 ([\d.]+)"}


@pytest.mark.parametrize("suffix", [".svg", ".pdf", ".png"])
def test_figures_fit_their_columns(tmp_path: Path, suffix: str) -> None:
    drawn = draw(radix_study(tmp_path / "study", (1, 5)), tmp_path / "new" / "folder", [suffix[1:]])
    names = [one.name for one in drawn]
    assert f"metg{suffix}" in names
    assert f"metg-nearest-radix=5-width=16{suffix}" in names
    assert f"efficiency-stencil_1d-width=16{suffix}" in names
    assert f"rate-stencil_1d-width=16{suffix}" in names
    assert f"dependences-nearest-width=16{suffix}" in names
    for one in drawn:
        content = one.read_bytes()
        wished = figures.BOTH_COLUMNS if one.stem == "metg" else figures.ONE_COLUMN
        if suffix == ".png":
            assert content.startswith(b"\x89PNG")
            width = int.from_bytes(content[16:20], "big") * 72 / figures.PIXELS
        else:
            found = re.search(SIZES[suffix], content)
            assert found is not None
            width = float(found[1])
        assert wished - 4 <= width <= wished + 1, one.name


def test_figures_name_what_they_show(tmp_path: Path) -> None:
    draw(radix_study(tmp_path / "study", (1, 9)), tmp_path / "figures", ["svg"])
    for name, texts in {
        "metg": ("mpi", "limit", "nearest/radix=9/width=16", "30.0 ns"),
        "efficiency-stencil_1d-width=16": ("mpi", "limit", "task granularity", "efficiency", "50 %"),
        "rate-stencil_1d-width=16": ("mpi", "limit", "problem size: iterations per task", "FLOP/s per core"),
        "dependences-nearest-width=16": ("mpi", "limit", "dependences per task (radix)", "METG"),
    }.items():
        svg = (tmp_path / "figures" / f"{name}.svg").read_text("utf-8")
        for text in texts:
            assert f">{text}</text>" in svg, (name, text)


def test_figures_of_hostile_results_stay_in_their_folder(tmp_path: Path) -> None:
    folder = hostile_folder(tmp_path / "study")
    drawn = draw(folder, tmp_path / "figures", ["svg", "svg"])
    assert len(drawn) == len(set(drawn)) > 2
    assert {one.parent for one in drawn} == {tmp_path / "figures"}
    assert not [one for one in drawn if "<script" in one.read_text("utf-8")]


def test_a_spreadsheet_takes_no_text_for_a_formula(tmp_path: Path) -> None:
    started = results_folder.cell_line("mpi", "stencil_1d") | {"system": "=1+1", "command": "@SUM(A1)"}
    files = json.loads(opened(results_folder.write(tmp_path, [started])).blocks["files"])
    (row,) = csv.DictReader(io.StringIO(files["cells.csv"]))
    assert row["system"] == "'=1+1"
    assert row["command"].startswith("'@SUM(A1)")


def test_figures_refuse_other_formats(tmp_path: Path) -> None:
    folder = results_folder.big(tmp_path, ["mpi"], ["fft"])
    with pytest.raises(InputError, match="svg, png, pdf"):
        draw(folder, tmp_path / "figures", ["gif"])
    with pytest.raises(UsageError, match="cannot be written"):
        draw(folder, folder / "runs.jsonl", ["svg"])


# Machado, Oliveira and Fernandes, IEEE TVCG 15(6), 2009, linear RGB: protanopia, deuteranopia, tritanopia.
DEFICIENCIES = (
    ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
)


def lightness_and_hue(colour: str, matrix: tuple[tuple[float, ...], ...]) -> tuple[float, ...]:
    """CIE L*a*b* of a colour as eyes with a deficiency see it."""
    srgb = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in srgb]
    r, g, b = (min(1.0, max(0.0, sum(m * c for m, c in zip(row, linear, strict=True)))) for row in matrix)
    xyz = (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505,
        0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089,
    )
    x, y, z = (one ** (1 / 3) if one > 0.008856 else 7.787 * one + 16 / 116 for one in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def palettes() -> list[list[str]]:
    """That of paper, and those of the page: light, dark."""
    css = Path(page.__file__).with_name("page.css").read_text("utf-8")
    found = re.findall(r"--series-\d: (#[0-9a-f]{6})", css)
    count = len(look.PAPER.palette)
    return [list(look.PAPER.palette), found[:count], found[count:]]


def test_colours_or_shapes_differ_for_every_eye() -> None:
    for palette in palettes():
        assert len(palette) == len(look.PAPER.palette)
        for matrix in DEFICIENCIES:
            seen = [lightness_and_hue(colour, matrix) for colour in palette]
            for i, one in enumerate(seen):
                for j, other in enumerate(seen[:i]):
                    same_shape = look.style(i, look.PAPER)[1] == look.style(j, look.PAPER)[1]
                    # 2.3 is what an eye can just tell side by side; marks lie apart.
                    assert math.dist(one, other) > (20 if same_shape else 8), (palette[i], palette[j])


def test_looks_are_different() -> None:
    looks = [look.style(i, look.PAPER) for i in range(42)]
    assert len(set(looks)) == 42
