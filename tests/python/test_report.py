"""The report without a browser: reading a folder leniently, formatting, escaping, saving plots."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
import results_folder

from taskgrain import quantity
from taskgrain.errors import InputError, UsageError
from taskgrain.report import data, plots, summary, write

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


def page(folder: Path) -> Page:
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
    assert "line 3 is torn" in page(folder).text


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
    assert page(folder).text


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
    assert page(folder).text


def test_numbers_that_json_does_not_know(tmp_path: Path) -> None:
    folder = results_folder.write(tmp_path, [])
    line = '{"kind":"metg","cell":"a/b","ending":"precise","metg":NaN,"low":1e999,"high":-Infinity,"x":%s}'
    (folder / "runs.jsonl").write_text(line % ("9" * 400) + "\n", "utf-8")
    assert data.read(folder).cells[0].metg is None
    embedded = json.loads(page(folder).blocks["metg-lines"], parse_constant=pytest.fail)
    assert embedded[0]["low"] is None


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
    shown = page(folder).text
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
    shown = page(folder).text
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
    assert len(results.metg_lines) == 1


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
    assert plots.short_result(results.cells[0]).startswith(short)
    assert trouble in summary.troubles(results)
    assert trouble in page(folder).text


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
    ]:
        evil = hostile(line)
        assert isinstance(evil, dict)
        lines.append(evil | {key: line[key] for key in ("kind", "ending") if key in line})
    results_folder.write(folder, lines, machine=hostile(results_folder.MACHINE))
    (folder / "study.toml").write_text(f"name = '''{SCRIPT}'''", "utf-8")
    return folder


def test_everything_is_escaped(tmp_path: Path) -> None:
    folder = hostile_folder(tmp_path)
    shown = page(folder)
    scripts = [attributes for tag, attributes in shown.tags if tag == "script"]
    assert [one.get("id") for one in scripts] == ["charts", "points", "metg-lines", None, None]
    assert not [tag for tag, _ in shown.tags if tag == "img"]
    assert not [
        name
        for _, attributes in shown.tags
        for name in attributes
        if name.startswith("on") or name == "style"
    ]
    assert "{{ 7 * 7 }}" in shown.text
    for block in ("charts", "points", "metg-lines"):
        assert "<" not in shown.blocks[block]
        json.loads(shown.blocks[block])
    # Cell, system, workload, command, warning, failures, machine and study: all of it is there, as text.
    assert shown.text.count("onerror=alert(1)") > 20


def test_no_untrusted_text_in_expressions(tmp_path: Path) -> None:
    results = data.read(hostile_folder(tmp_path))
    specs = [plots.efficiency(results, plots.PAGE), plots.rate(results, plots.PAGE)]
    specs += [plots.metg_panel(results, workload, plots.PAGE) for workload in results.workloads]

    def expressions(value: object) -> list[str]:
        if isinstance(value, list):
            return [one for item in value for one in expressions(item)]
        if isinstance(value, dict):
            own = [one for key, one in value.items() if key in ("expr", "labelExpr", "filter", "calculate")]
            return [str(one) for one in own] + [one for item in value.values() for one in expressions(item)]
        return []

    found = [
        one for spec in specs for one in expressions({key: spec[key] for key in spec if key != "datasets"})
    ]
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


def test_a_big_page_is_small(tmp_path: Path) -> None:
    target = write(results_folder.big(tmp_path))
    assert target.stat().st_size < 3_000_000


def test_every_cell_has_its_command(tmp_path: Path) -> None:
    shown = page(results_folder.big(tmp_path, ["mpi", "ray"], ["fft", "dom"]))
    for system in ("mpi", "ray"):
        for pattern in ("fft", "dom"):
            assert f"taskgrain metg --system {system} --pattern {pattern} --width 16" in shown.text


@pytest.mark.parametrize(("suffix", "start"), [(".svg", b"<svg"), (".png", b"\x89PNG"), (".pdf", b"%PDF")])
def test_save(tmp_path: Path, suffix: str, start: bytes) -> None:
    folder = results_folder.big(tmp_path, ["mpi", "ray"], ["fft", "dom"])
    written = plots.save(folder, tmp_path / f"metg{suffix}")
    assert written.read_bytes().startswith(start)


def test_save_draws_every_system(tmp_path: Path) -> None:
    folder = results_folder.big(tmp_path, ["mpi", "ray"], ["fft", "dom"])
    svg = plots.save(folder, tmp_path / "metg.svg").read_text("utf-8")
    for text in ("mpi", "ray", "fft/width=16", "dom/width=16", "example study"):
        assert f">{text}</text>" in svg


def test_save_refuses_other_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.svg, \.pdf or \.png"):
        plots.save(results_folder.big(tmp_path), tmp_path / "metg.gif")


def test_looks_are_different() -> None:
    looks = [plots.style(i, plots.PAPER) for i in range(42)]
    assert len(set(looks)) == 42
