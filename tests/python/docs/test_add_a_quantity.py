"""docs/how-to/add-a-quantity.md, followed: the terminal, JSON, the page and the export show its quantity."""

import csv
import json
from pathlib import Path

import pytest
from copied_package import CopiedPackage
from killable_study import FAKE
from markdown_blocks import blocks
from system_folder import simulated

PAGE = Path(__file__).parents[3] / "docs/how-to/add-a-quantity.md"
PLACES = {
    "lines.py": '    rounds: int | None = integer("complete rounds")\n',
    "columns.py": '    field("result.rounds", "Rounds", _FIRST),\n',
}
"""The lines above which the page puts its blocks, by the file."""


@pytest.mark.submission
def test_a_quantity_is_added_as_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_own_systems: None
) -> None:
    monkeypatch.setenv("TASKGRAIN_REFERENCE", str(FAKE))
    monkeypatch.setenv("COLUMNS", "120")
    package = CopiedPackage(tmp_path / "copy")
    for block in blocks(PAGE.read_text("utf-8")):
        place = PLACES.pop(block.title)
        package.edit(f"results/{block.title}", place, f"    {block.text.strip()}\n{place}")
    assert not PLACES

    system, folder = simulated(tmp_path / "systems/fake"), tmp_path / "out"
    metg = ("metg", "--systems", system.parent, "--system", "fake", "--max-rounds", "1", "-q", "-o", folder)
    assert package.run(*metg).returncode == 0
    runs = folder / "runs.jsonl"
    measured = runs.read_text("utf-8")
    runs.write_text(measured.replace(', "rounds"', ', "joules": 0.00125, "rounds"'), "utf-8")

    shown = package.run(*metg).stdout
    assert "energy of a task" in shown and "0.00125 J" in shown
    assert json.loads(package.run(*metg, "--json").stdout)["cells"][0]["joules"] == 0.00125
    reported = json.loads(package.run("report", folder, "--json").stdout)
    assert reported["cells"][0]["joules"] == 0.00125
    page = (folder / "report.html").read_text("utf-8")
    assert '<button type="button">Energy of a task</button>' in page
    assert '<td class="number" data-value="0.00125">0.00125 J</td>' in page
    (row,) = csv.DictReader(package.run("export", folder).stdout.splitlines())
    assert row["joules"] == "0.00125"
