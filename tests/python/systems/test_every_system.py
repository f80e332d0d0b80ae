"""METG of every system that is set up here, all in one study, at low precision."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from driver_process import marked, runnable
from killable_study import finish, lines

SYSTEMS = runnable()


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A folder with a short name, for Ray's sockets are below it."""
    with tempfile.TemporaryDirectory("", "", "/tmp", ignore_cleanup_errors=True) as found:
        yield Path(found)


@pytest.mark.parametrize(
    ("every", "seconds"),
    [pytest.param(False, 1, marks=pytest.mark.slow), pytest.param(True, 6, marks=pytest.mark.deep)],
)
@pytest.mark.timeout(3600)
@pytest.mark.skipif(not SYSTEMS, reason="no system is built")
def test_metg_of_every_system(
    tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch, every: bool, seconds: int
) -> None:
    """`seconds` is the budget of each. Where starts or others take it, it grows until each has run.

    Unless `every` is true, without variants and systems that take seconds to start: their runs are tested in
    test_drivers.py, and the search does not know one system from another.
    """
    names = [name for name, one in SYSTEMS.items() if every or ("." not in name and one.patience == 1)]
    mark = f"taskgrain-test={tmp_path}"
    monkeypatch.setenv(*mark.split("=", 1))
    monkeypatch.setenv("TMPDIR", str(scratch))
    study, out = tmp_path / "s.toml", tmp_path / "out"
    table = {"systems": names, "patterns": ["stencil_1d"], "widths": [4], "min_rounds": 2, "max_rounds": 2}
    study.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items()))
    budget, measured = seconds * len(names), set[str]()
    while measured != set(names):  # pytest's own limit of time ends this
        found = finish(["study", str(study), "-o", str(out), "--budget", str(budget)])
        assert {cell["system"] for cell in found["cells"]} == set(names)
        assert not lines(out, "failure")
        measured = {line["cell"].split("/")[0] for line in lines(out, "run")}
        budget += len(names)
    for cell in found["cells"]:
        assert cell["curve"], cell
        if cell["rounds"] == 2:
            assert cell["floor"] > 0, cell
    assert not marked(mark), "processes were left behind"
    assert not [*scratch.iterdir()], "files were left behind"
