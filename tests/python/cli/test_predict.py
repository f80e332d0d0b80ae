"""`taskgrain predict`: what it shows, and what it refuses."""

import itertools
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
import results_folder
from command_line import Command, Result
from results_folder import change

ROOT = Path(__file__).resolve().parents[3]
PATTERNS = ["fft", "dom"]
OTHER_TASKS = "has no workload with the tasks of fft/width=16, and as many on each core"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return results_folder.big(tmp_path / "study", ["mpi", "starpu"], PATTERNS)


def test_json_has_what_the_table_shows(taskgrain: Command, folder: Path) -> None:
    words = ("predict", folder, "--workload", "fft/width=16", "--work", "1", "--steps", "10")
    document = json.loads(taskgrain(*words, "--cores", "1000,2e3", "--json").out)
    assert (document["work"], document["steps"]) == (1.0, 10)
    assert [cell["system"] for cell in document["cells"]] == ["mpi", "starpu"]
    first = document["cells"][0]
    assert [row["cores"] for row in first["scaled"]] == [1000, 2000]
    # 16 points on two cores are 8 tasks of a step on each.
    assert first["scaled"][0]["task_seconds"] == pytest.approx(1.0 / 10 / 8 / 1000)
    until = first["efficient_until"]
    assert until["low"] < until["value"] < until["high"]
    shown = taskgrain(*words, "--cores", "1000,2e3").out
    for text in ("fft/width=16", "50 % efficient up to, cores", "1000", "2000", "Measured on 2 cores"):
        assert text in shown


def test_cores_double_until_more_are_no_use(taskgrain: Command, folder: Path) -> None:
    words = ("predict", folder, "--workload", "fft/width=16", "--work", "10", "--json")
    cells = json.loads(taskgrain(*words).out)["cells"]
    counts = [row["cores"] for row in cells[0]["scaled"]]
    assert all(after == 2 * before for before, after in itertools.pairwise(counts))
    assert any(cell["scaled"][0]["measured"] for cell in cells)
    assert max(cell["no_gain_beyond"] or 0 for cell in cells) <= counts[-1]


def test_sizes_that_were_not_measured_are_marked(taskgrain: Command, folder: Path) -> None:
    words = ("predict", folder, "--workload", "fft/width=16", "--work", "2h", "--system", "mpi")
    shown = taskgrain(*words, "--cores", "1").out
    assert "≈" in shown
    assert "no tasks of this size were measured" in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--workload", "fft/width=16"), "Missing option '--work'"),
        (("--work", "1"), "--workload: DIR has several; give one of fft/width=16, dom/width=16"),
        (("--work", "1", "--cores", "2,x"), "--cores: x is not allowed"),
        (
            ("--work", "1e303", "--workload", "fft/width=16"),
            "--work: 1e303 is not allowed; allowed: a time above 0 to 1e15s, such as 90, 10m",
        ),
    ],
)
def test_bad_input_is_refused(taskgrain: Command, folder: Path, words: tuple[str, ...], message: str) -> None:
    assert message in taskgrain("predict", folder, *words).refusal()


def test_the_warnings_of_its_cells_are_said(taskgrain: Command, folder: Path) -> None:
    said = {"code": "runs_disturbed", "disturbed": 9, "runs": 9, "repeated": 3}
    change(folder, {"warnings": [said]}, kind=["metg"])
    words = ("predict", folder, "--work", "1", "--workload", "fft/width=16")
    shown = taskgrain(*words)
    cells = "mpi/fft/width=16, starpu/fft/width=16"
    assert f"taskgrain: {cells}: 9 of 9 runs stayed disturbed" in shown.err
    document = json.loads(taskgrain(*words, "--json").out)
    assert [cell["warnings"][0]["code"] for cell in document["cells"]] == ["runs_disturbed"] * 2


def test_a_folder_without_curves_is_refused(taskgrain: Command, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "runs.jsonl").write_text(json.dumps(results_folder.cell_line("mpi", "fft")) + "\n", "utf-8")
    assert "has no curve to predict from" in taskgrain("predict", bare, "--work", "1").refusal()
    assert taskgrain("predict", tmp_path / "nowhere", "--work", "1").code == 2


def test_a_study_of_several_numbers_of_cores_is_predicted_as_a_whole(taskgrain: Command) -> None:
    folder = ROOT / "docs" / "results" / "2026-11-24-weak"
    words = ("predict", folder, "--work", "10", "--cores", "1,2,8")
    document = json.loads(taskgrain(*words, "--json").out)
    cells = {cell["system"]: cell for cell in document["cells"]}
    assert "serial" not in cells, "it leaves a core unused on two, and so says nothing on one"
    assert {cell["workload"] for cell in cells.values()} == {"stencil_1d/tasks_per_core=8"}
    assert cells["mpi"]["measured_cores"] == 2
    alone = ("--workload", "stencil_1d/width=8/cores=1", "--system", "mpi", "--json")
    (on_one,) = json.loads(taskgrain(*words, *alone).out)["cells"]
    first, *others = cells["mpi"]["scaled"]
    assert first == on_one["scaled"][0] and others != on_one["scaled"][1:]
    shown = taskgrain(*words).out
    named = taskgrain(*words, "--workload", "stencil_1d/tasks_per_core=8", "--json").out
    assert json.loads(named) == document, "the name that it prints is one that it takes"
    refused = taskgrain(*words, "--workload", "stencil_1d").err
    assert "stencil_1d/width=8/cores=1" in refused and "stencil_1d/tasks_per_core=8" in refused
    assert "Measured on 1 and 2 cores" in shown and shown.startswith("stencil_1d/tasks_per_core=8")


def test_nodes_are_told_from_cores(taskgrain: Command, folder: Path) -> None:
    change(folder, {"nodes": 2}, kind=["cell"])
    shown = taskgrain("predict", folder, "--work", "10", "--workload", "fft/width=16").out
    assert "Measured on 2 nodes of 1 core." in shown


@pytest.fixture
def simulation(folder: Path) -> Path:
    """A folder of `fft` and `dom` on four simulated nodes, with as many tasks on each core as `folder`."""
    other = results_folder.big(folder.parent / "simulated", ["mpi_simulated"], PATTERNS)
    nodes = {"nodes": 4, "width": 64, "simulated": True, "simulation_error": 2.0}
    change(other, nodes, kind=["cell"])
    change(other, {"cores": 8}, kind=["cell", "run"])
    return other


def test_more_nodes_than_were_measured_may_be_simulated(
    taskgrain: Command, folder: Path, simulation: Path
) -> None:
    words = ("predict", folder, "--workload", "fft/width=16", "--work", "1m", "--cores", "2,4,8")
    words = (*words, "--simulate", simulation)
    (cell,) = json.loads(taskgrain(*words, "--json", "--system", "mpi").out)["cells"]
    assert (cell["system"], cell["measured_cores"], "simulated" in cell) == ("mpi", 2, False)
    assert cell["simulated_cores"] > 2
    assert [one.get("simulated", False) for one in cell["scaled"]] == [False, False, True]
    shown = taskgrain(*words, "--system", "mpi")
    assert shown.out.count("(simulated)") == 1 and "a factor of 2 for two ranks" in shown.out
    assert "Measured on 2 cores and simulated on 4 nodes of 2 cores" in shown.out
    assert "predicted from" not in shown.err


def predicted(taskgrain: Command, folder: Path, simulation: Path, *more: str) -> Result:
    words = ("--workload", "fft/width=16", "--work", "1m", "--cores", "8", "--json")
    return taskgrain("predict", folder, *words, "--simulate", simulation, *more)


@pytest.mark.parametrize(
    ("kinds", "fields", "said"),
    [
        ("cell", {"simulated": False}, "has no simulated cells"),
        ("cell", {"output_bytes": 64}, OTHER_TASKS),
        ("cell", {"width": 32}, OTHER_TASKS),
        ("cell run", {"cores": 2, "nodes": 1, "width": 16}, "simulates no more cores than were measured"),
        ("run metg", {"kind": "other"}, "its simulated cells have no curve"),
    ],
)  # fmt: skip
def test_what_a_simulation_lacks_is_said(
    taskgrain: Command, folder: Path, simulation: Path, kinds: str, fields: Mapping[str, object], said: str
) -> None:
    change(simulation, fields, kind=kinds.split())
    refused = predicted(taskgrain, folder, simulation, "--system", "mpi")
    assert refused.code == 2
    assert refused.err.splitlines()[-1].startswith(f"taskgrain: --simulate: {simulation}: {said}")
    if said == OTHER_TASKS:
        assert "; it simulates fft/tasks_per_core=" in refused.err


def test_a_simulation_of_other_drivers_or_of_none_is_refused(
    taskgrain: Command, folder: Path, simulation: Path, tmp_path: Path
) -> None:
    refused = predicted(taskgrain, folder, simulation, "--system", "starpu")
    assert (
        refused.code,
        "simulated: does not simulate the driver of starpu; it simulates" in refused.err,
    ) == (2, True)
    refused = predicted(taskgrain, folder, tmp_path / "no")
    assert (refused.code, "no is not allowed; allowed: a results folder" in refused.err) == (2, True)
    refused = predicted(taskgrain, folder, tmp_path)
    assert (refused.code, f"is {tmp_path} a results folder?" in refused.err) == (2, True)
    (tmp_path / "runs.jsonl").write_text("not JSON\n")
    refused = predicted(taskgrain, folder, tmp_path)
    assert f"--simulate: {tmp_path}: has no results" in refused.err
    change(folder, {"simulated": True}, kind=["cell"])
    refused = predicted(taskgrain, folder, simulation)
    assert (refused.code, "mpi, starpu: simulated, too, and not measured" in refused.err) == (2, True)


def test_damaged_lines_of_a_simulation_are_said(taskgrain: Command, folder: Path, simulation: Path) -> None:
    file = simulation / "runs.jsonl"
    file.write_text("damaged\n" + file.read_text())
    done = predicted(taskgrain, folder, simulation)
    said = f"taskgrain: {simulation}: runs.jsonl cannot be read in line 1; skipped\n"
    assert (done.code, said in done.err) == (0, True)


def test_of_two_simulations_of_a_driver_the_one_that_counts_is_said(
    taskgrain: Command, folder: Path, simulation: Path
) -> None:
    alone = predicted(taskgrain, folder, simulation)
    file = simulation / "runs.jsonl"
    before = file.read_text()
    change(simulation, {"floor": 1e-3}, kind=["metg"])
    file.write_text(before + file.read_text().replace("mpi_simulated", "mpi_simulated.dragonfly"))
    both = predicted(taskgrain, folder, simulation)
    assert both.out == alone.out
    said = "mpi is predicted from mpi_simulated, and not from mpi_simulated.dragonfly: that needs a folder"
    assert said in both.err


def test_what_is_simulated_is_marked_and_not_beside_what_is_measured(
    taskgrain: Command, folder: Path
) -> None:
    words = ("predict", folder, "--workload", "fft/width=16", "--work", "1")
    assert "simulated" not in json.loads(taskgrain(*words, "--json").out)["cells"][0]
    change(folder, {"simulated": True}, system=["starpu"])
    shown = taskgrain(*words)
    assert "taskgrain: starpu: left out, as simulated and not measured like the others" in shown.err
    assert "starpu" not in shown.out and "Measured on 2 cores" in shown.out
    alone = taskgrain(*words, "--system", "starpu")
    assert "starpu (simulated)" in alone.out and "Simulated on 2 cores" in alone.out
    (cell,) = json.loads(taskgrain(*words, "--system", "starpu", "--json").out)["cells"]
    assert cell["simulated"] is True
