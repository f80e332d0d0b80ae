"""METG of every system that is set up here, all in one study, at low precision."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from driver_process import marked, runnable
from killable_study import finish, lines

SYSTEMS = runnable()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(not SYSTEMS, reason="no system is built")
def test_metg_of_every_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = f"taskgrain-test={tmp_path}"
    monkeypatch.setenv(*mark.split("=", 1))
    study, out = tmp_path / "s.toml", tmp_path / "out"
    table = {"systems": "all", "patterns": ["stencil_1d"], "widths": [4], "min_rounds": 2, "max_rounds": 2}
    table |= {"budget": 10 * len(SYSTEMS)}  # a busy machine may need more, and then measures less
    study.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items()))
    found = finish(["study", str(study), "-o", str(out)], timeout=850)
    assert {cell["system"] for cell in found["cells"]} == set(SYSTEMS)
    assert not lines(out, "failure")
    assert {line["cell"].split("/")[0] for line in lines(out, "run")} == set(SYSTEMS)
    for cell in found["cells"]:
        assert cell["curve"], cell
        if cell["rounds"] == 2:
            assert cell["floor"] > 0, cell
    assert not marked(mark), "processes were left behind"
