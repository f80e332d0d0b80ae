"""The cells that a prediction rests on, and where it stops to be worth more cores."""

from pathlib import Path

import pytest
import results_folder
from report_cells import measured, point, results

from taskgrain.answers import data
from taskgrain.answers.predict import chosen, doubled, predictions
from taskgrain.words.errors import UsageError

SAID = "b: left out, because it used one core where there were several: more are no use to it"


def test_a_system_that_uses_one_core_does_not_scale() -> None:
    """Its METG is on both cores, of which it uses one."""
    curve = [point(10, 2e-6, 0.5)]
    both, one = (
        measured(name, 1e-6, cores=cores, curve=curve, fields={"pattern": "fft", "width": 4, "cores": 2})
        for name, cores in (("a", 2), ("b", 1))
    )
    said: list[str] = []
    assert chosen(results(both, one), None, ("a", "b"), said.append) == ("fft/width=4", [both])
    assert said == [SAID]
    with pytest.raises(UsageError, match=SAID):
        chosen(results(both, one), None, ("b",), said.append)


def test_nothing_is_predicted_from_a_cell_that_failed(tmp_path: Path) -> None:
    name = results_folder.cell_name("mpi", "fft")
    never = results_folder.metg_line(name, 4e-6, "never_reached")
    lines = [results_folder.cell_line("mpi", "fft"), results_folder.run_line(name), never]
    _, cells = chosen(data.read(results_folder.write(tmp_path / "r", lines)), None, None, print)
    (found,) = predictions(cells, 1.0, 1000)
    assert found.until is None and not found.simulated_on(4)
    assert doubled([found])[0] >= 1
    results_folder.write(tmp_path / "r", [*lines, results_folder.failure_line(name)])
    with pytest.raises(UsageError, match="no curve to predict from"):
        chosen(data.read(tmp_path / "r"), None, None, print)
