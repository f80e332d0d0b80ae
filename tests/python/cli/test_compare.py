"""`taskgrain compare`: from folders to the table, the document and the exit code."""

import json
import shutil
from pathlib import Path

import compared_folders as made
import pytest
import system_folder
from command_line import Command


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return made.measured(tmp_path / "r", {"limit": 1e-7, "mpi": 1.5e-7, "openmp": 1e-7}, noise=0.003)


def test_systems_of_a_folder(taskgrain: Command, folder: Path) -> None:
    result = taskgrain("compare", folder, "--system", "limit,mpi,openmp")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("2 cells by METG: 1 slower, 1 same. The margin is 5 %.\n")
    assert f"{folder}@mpi against {folder}@limit" in result.out
    assert "1.5" in result.out and "slower" in result.out


def test_names_behind_the_folder_are_the_same(taskgrain: Command, folder: Path) -> None:
    words = ("--json", "--by", "floor", "--margin", "0.1")
    result = taskgrain("compare", f"{folder}@limit", f"{folder}@mpi", *words)
    assert result.out == taskgrain("compare", folder, "--system", "limit", "--system", "mpi", *words).out
    found = json.loads(result.out)
    assert (found["schema"], found["by"], found["margin"], found["regressions"]) == (1, "floor", 0.1, 1)
    (cell,) = found["cells"]
    assert (cell["system"], cell["baseline_system"], cell["verdict"]) == ("mpi", "limit", "slower")
    assert cell["ratios"]["metg"]["value"] == pytest.approx(1.5, rel=0.05)


def test_a_regression_ends_with_1_if_asked(taskgrain: Command, folder: Path) -> None:
    words = ("compare", f"{folder}@limit", f"{folder}@mpi")
    assert taskgrain(*words).code == 0
    failed = taskgrain(*words, "--fail-on-regression")
    assert failed.code == 1 and "slower" in failed.out
    assert taskgrain(*words, "--fail-on-regression", "--margin", "70%").code == 0
    turned = ("compare", f"{folder}@mpi", f"{folder}@limit", "--fail-on-regression")
    assert taskgrain(*turned).code == 0


def test_a_check_that_passes_says_what_it_did_not_see(
    taskgrain: Command, folder: Path, tmp_path: Path
) -> None:
    """One session of each side shows no change of 15 %, and two of three systems are gone."""
    later = made.measured(tmp_path / "s", {"limit": 1.15e-7}, build="bbbb2222", time=made.DAY)
    words = ("compare", folder, later, "--fail-on-regression")
    passed = taskgrain(*words)
    assert (passed.code, passed.out.splitlines()[0]) == (
        0, "1 cell by METG: 1 undecided; 2 cells of the first side missing. The margin is 5 %.",
    )  # fmt: skip
    assert passed.err == (
        "taskgrain: --fail-on-regression: none is shown, but 1 cell without a verdict (--fail-on-undecided "
        "fails) and 2 cells missing (--fail-on-missing fails)\n"
    )
    for option, why in (("undecided", "1 cell without a verdict"), ("missing", "2 cells missing")):
        failed = taskgrain(*words, f"--fail-on-{option}")
        assert (failed.code, failed.err) == (1, f"taskgrain: --fail-on-{option}: {why}\n")
    found = json.loads(taskgrain(*words, "--json").out)
    assert (found["undecided"], found["missing"]) == (1, 2)


def test_folders_that_cannot_be_compared_fail_where_a_regression_does(
    taskgrain: Command, folder: Path, tmp_path: Path
) -> None:
    other = made.measured(tmp_path / "s", {"limit": 3e-7}, build="bbbb2222", cores=[0, 2])
    assert taskgrain("compare", folder, other).code == 0
    result = taskgrain("compare", folder, other, "--fail-on-regression")
    assert result.code == 1
    assert result.err == "taskgrain: --fail-on-regression: nothing was compared\n"
    assert "1 cell by METG: 1 not comparable; 2 cells of the first side missing." in result.out
    assert "Not comparable: other processors" in result.out
    assert f"{folder} has 2 cells that the other side lacks." in result.out


def test_sides_without_a_shared_cell_fail_where_a_regression_does(
    taskgrain: Command, folder: Path, tmp_path: Path
) -> None:
    other = made.measured(tmp_path / "s", {"tbb": 3e-7})
    result = taskgrain("compare", folder, other, "--fail-on-regression")
    assert (result.code, result.out.splitlines()[0]) == (
        1,
        "The sides share no cell; 3 cells of the first side missing.",
    )
    assert "nothing was compared" in result.err


def test_the_same_results_are_not_compared_with_themselves(
    taskgrain: Command, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(folder)
    shutil.copytree(folder, tmp_path / "copy")
    for other in (folder, f"{folder}/", tmp_path / "link", tmp_path / "copy"):
        result = taskgrain("compare", folder, other).refusal()
        assert f"{folder} and {other} are the same results: there is nothing to compare" in result


def test_a_folder_of_which_nothing_can_be_read_says_so(taskgrain: Command, folder: Path) -> None:
    bad = folder.parent / "bad"
    shutil.copytree(folder, bad)
    (bad / "runs.jsonl").write_text("garbage\nmore\n")
    result = taskgrain("compare", folder, bad).refusal()
    assert f"{bad}: has no cells" in result
    assert f"taskgrain: {bad}: runs.jsonl cannot be read in line 1, 2; skipped\n" in result


def test_what_is_odd_about_a_folder_is_said_once(taskgrain: Command, folder: Path) -> None:
    with (folder / "runs.jsonl").open("a") as file:
        file.write("{")
    result = taskgrain("compare", folder, "--system", "limit,mpi")
    assert result.code == 0
    assert result.err.count("\n") == 1 and result.err.startswith(f"taskgrain: {folder}: the last line")


@pytest.fixture
def builds(tmp_path: Path) -> tuple[Path, Path]:
    """A simulated system, and one whose tasks cost half as much again."""
    for name, overhead in (("old", 1e-6), ("new", 1.5e-6)):
        system_folder.simulated(tmp_path / name / "mine", overhead)
    return tmp_path / "old", tmp_path / "new"


def test_two_builds_are_measured_side_by_side(
    taskgrain: Command, builds: tuple[Path, Path], tmp_path: Path
) -> None:
    words = ("compare", "--build", *builds, "--width", "4", "-q", "-o", tmp_path / "r")
    result = taskgrain(*words, "--fail-on-regression")
    assert result.code == 1, "slower"
    assert f"{builds[1]} against {builds[0]}" in result.out
    found = json.loads(taskgrain(*words, "--json").out)
    assert (found["output"], found["interrupted"]) == (str(tmp_path / "r"), False)
    (cell,) = found["cells"]
    assert (cell["system"], cell["verdict"], cell["together"]) == ("mine", "slower", True)
    kept = taskgrain("compare", tmp_path / "r", "--system", "mine.old,mine.new", "--json")
    assert json.loads(kept.out)["cells"][0]["verdict"] == "slower", "the folder is one like others"


def test_two_builds_need_no_folder(taskgrain: Command, builds: tuple[Path, Path]) -> None:
    old, new = builds
    result = taskgrain("compare", "--build", new, old, "--width", "4", "-q", "--by", "overhead").printed()
    assert "1 cell by overhead: 1 faster." in result


def test_interrupted_builds_are_kept_only_with_a_folder(
    taskgrain: Command, builds: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("taskgrain.measure.runner.Runner._measure_round", interrupt)
    words = ("compare", "--build", *builds, "--width", "4", "-q")
    assert taskgrain(*words).err == "taskgrain: interrupted; nothing is kept without --output\n"
    kept = taskgrain(*words, "-o", tmp_path / "r")
    assert (kept.code, kept.err) == (130, "taskgrain: interrupted; the same command goes on from here\n")


def test_a_build_that_fails_is_an_error(
    taskgrain: Command, builds: tuple[Path, Path], tmp_path: Path
) -> None:
    file = builds[1] / "mine" / "system.toml"
    file.write_text(file.read_text().replace("'='", "'stencil_1d=validation'"))
    result = taskgrain("compare", "--build", *builds, "--width", "4", "-q")
    assert result.code == 1
    assert "mine.new/stencil_1d/width=4: validation" in result.err
    assert "1 not comparable" in result.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("{r}",), "give two sides at least"),
        ((), "give two sides at least"),
        (("{r}", "{r}@mpii"), "Did you mean mpi?"),
        (("{r}", "nowhere"), "SIDE: nowhere is not allowed; allowed: a results folder"),
        (("{r}", "--build", "{o}", "{n}"), "give results folders or --build OLD NEW, not both"),
        (("{r}", "{r}", "--width", "4"), "--width is for --build OLD NEW"),
        (("{r}", "{r}", "--budget", "9"), "--budget is for --build"),
        (("--build", "{o}", "nowhere"), "--build: "),
        (("--build", "{o}", "{n}", "--system", "min"), "--system: min is not allowed; allowed: mine"),
        (("--build", "{o}", "{n}", "--threshold", "2"), "--threshold: 2"),
        (("--build", "{o}", "{n}", "--budget", ""), "--budget: ''"),
    ],
)
def test_refusals(
    taskgrain: Command, folder: Path, builds: tuple[Path, Path], words: tuple[str, ...], message: str
) -> None:
    old, new = builds
    assert message in taskgrain("compare", *(word.format(r=folder, o=old, n=new) for word in words)).refusal()
