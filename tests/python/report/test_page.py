"""The report's page without a browser: escaping, embedded data and links, commands, the machine in words."""

import csv
import io
import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
import results_folder
from report_cells import cell, measured, results
from report_page import Page, opened

from taskgrain.answers import data
from taskgrain.report import page
from taskgrain.report.page import write
from taskgrain.study.workload import REFERENCE


def test_everything_is_escaped(tmp_path: Path) -> None:
    folder = results_folder.hostile(tmp_path)
    shown = opened(folder)
    scripts = [attributes for tag, attributes in shown.tags if tag == "script"]
    assert [one.get("id") for one in scripts] == ["charts", "data", "answers", "files", "raw", None, None]
    assert not [tag for tag, _ in shown.tags if tag == "img"]
    assert not [
        name
        for _, attributes in shown.tags
        for name in attributes
        if name.startswith("on") or name == "style"
    ]
    assert "{{ 7 * 7 }}" in shown.text
    for block in ("charts", "data"):
        assert "<" not in shown.blocks[block]
        json.loads(shown.blocks[block])
    # Cell, system, workload, command, warning, failures, machine and study: all of it is there, as text.
    assert shown.text.count("onerror=alert(1)") > 20


def test_the_page_loads_nothing(tmp_path: Path) -> None:
    html = write(data.read(results_folder.big(tmp_path))).read_text("utf-8")
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


def test_a_folder_may_have_a_name_that_is_no_utf_8(tmp_path: Path) -> None:
    folder = results_folder.write(tmp_path / os.fsdecode(b"f\xfc"), [results_folder.cell_line("mpi", "fft")])
    assert "<title>" in write(data.read(folder), tmp_path / "page.html").read_text("utf-8")


def test_raw_data_too_large_for_a_page_stay_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = results_folder.big(tmp_path, ["mpi"], ["fft"])
    assert "is too large for this file" not in opened(folder).text
    monkeypatch.setattr(page, "MOST_RAW", 100)
    shown = opened(folder)
    assert "raw" not in shown.blocks or not shown.blocks["raw"]
    assert "is too large for this file" in shown.text


def test_every_cell_has_its_command(tmp_path: Path) -> None:
    shown = opened(results_folder.big(tmp_path, ["mpi", "ray"], ["fft", "dom"]))
    for system in ("mpi", "ray"):
        for pattern in ("fft", "dom"):
            assert f"taskgrain metg --system {system} --pattern {pattern} --width 16" in shown.text


def test_a_row_for_each_cell_in_si_units(tmp_path: Path) -> None:
    files = page.files(data.read(results_folder.big(tmp_path, ["mpi", "ray"], ["fft"])))
    rows = [*csv.DictReader(io.StringIO(files["cells.csv"]))]
    assert [row["cell"] for row in rows] == ["mpi/fft/width=16", "ray/fft/width=16"]
    assert 1e-9 < float(rows[0]["metg"]) < 1e-6


def test_study_and_machine_are_as_in_the_folder(tmp_path: Path) -> None:
    folder = results_folder.big(tmp_path, ["mpi"], ["fft"])
    files = page.files(data.read(folder))
    assert files["study.toml"] == (folder / "study.toml").read_text("utf-8")
    assert json.loads(files["machine.json"]) == results_folder.MACHINE


def test_the_page_begins_with_the_best_system_and_the_order_of_the_others() -> None:
    shown = page.render(results(measured("slow", 5e-6), measured("fast", 1e-6, threshold=0.8)), {})
    assert "waste more than 20 % of the machine with <strong" in shown and ">fast</strong>" in shown
    assert "fft/width=4: no system could be compared; fast has the smallest value." in shown
    assert "No system that you can choose" in page.render(results(measured("limit", 1e-7, bound=True)), {})


@pytest.mark.parametrize(("count", "folded"), [(5, 0), (7, 2)])
def test_the_table_is_not_far_below_the_best_of_many_workloads(count: int, folded: int) -> None:
    cells = (measured(one, 1e-6, f"fft/width={n}") for n in range(count) for one in ("a", "b"))
    lead = page.render(results(*cells), {}).partition('<table id="matrix"')[0]
    seen, _, rest = lead.partition("<details>")
    assert [one.count("<li>fft/width=") for one in (seen, rest)] == [min(count, 5), folded]
    assert ("<summary>2 more workloads</summary>" in rest) == (folded > 0)


def test_simulated_nodes_are_not_called_this_machine() -> None:
    pages = [page.render(results(measured("a", 1e-6, simulated=one)), {}) for one in (True, False)]
    assert "On the simulated nodes, tasks shorter than" in pages[0] and "On this machine" not in pages[0]
    assert "waste more than half of them" in pages[0] and "seemed quiet" not in pages[0]
    assert ["Times the best, simulated: <" in one for one in pages] == [True, False]
    assert "On this machine, tasks shorter than" in pages[1] and "half of the machine" in pages[1]
    assert ["95 % interval" in one.partition("<script")[0] for one in pages] == [False, True]
    assert "> METG with its interval<" in pages[0]
    own, narrow = "the interval is the simulation&#39;s own error", "the interval is as narrow as was asked"
    assert (own in pages[0], narrow in pages[1], ">Measured</dt>" in pages[0]) == (True, True, False)


def test_a_line_has_the_processor_and_the_cores() -> None:
    of_reference = {"reference": REFERENCE}
    found = replace(
        results(cell(**of_reference), cell("b", cores=1, **of_reference)), machine={"cpu": {"model": "X9"}}
    )
    assert page.machine_in_a_line(found) == "X9, 1 to 2 cores used"
    assert page.machine_in_a_line(replace(found, machine={"cpu": "old"})) == "old, 1 to 2 cores used"
    assert page.machine_in_a_line(results()) == ""


def test_cores_of_another_reference_are_none_of_this_machine() -> None:
    assert page.machine_in_a_line(results(cell(reference="of-a-gpu"))) == ""


def test_tables_become_rows() -> None:
    machine = {
        "cpu": {"model": "X9", "l1d_bytes": 32768, "smt": False},
        "caches": [{"level": 1, "kib": 32}, {"level": 2, "kib": 512}],
        "flags": ["-O3", "-g"],
        "time": 1.7e9,
        "load": None,
    }
    assert page.listed(machine) == [
        ("cpu: model", "X9"),
        ("cpu: l1d", "32 KiB"),
        ("cpu: smt", "no"),
        ("caches", "level 1, kib 32; level 2, kib 512"),
        ("flags", "-O3, -g"),
        ("time", "2023-11-14 22:13 UTC"),
    ]
