"""Tests of second measurements of slower cells: only a cell that is slower each time fails a job."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import called
from killable_study import FAKE

from taskgrain.measure import again
from taskgrain.measure.again import measured_again

FAIL = ("--fail-on-regression", "--again", "-q")


@pytest.fixture(scope="module", autouse=True)
def _reference() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TASKGRAIN_REFERENCE", str(FAKE))
        patch.setenv("TASKGRAIN_PREFIX", "/nothing")
        yield


def system(place: Path, name: str, overhead: float) -> Path:
    """A simulated system; the file that is returned holds its overhead, which is no part of its build."""
    folder, speed = place / name, place / f"{name}.speed"
    folder.mkdir(parents=True)
    speed.write_text(str(overhead))
    (folder / "driver.py").write_text(
        f"import runpy, sys\nsys.argv = ['x', open({str(speed)!r}).read(), '0.02', '=']\n"
        f"runpy.run_path({str(FAKE)!r}, run_name='__main__')\n"
    )
    words = ["{python}", "{dir}/driver.py"]
    (folder / "system.toml").write_text(f"simulated = true\n[launch]\ncommand = {words}\n")
    return speed


@pytest.fixture
def before_again(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path, float], list[int]]:
    """Gives a system another overhead between the two measurements; the list gets the cells said."""

    def change(speed: Path, overhead: float) -> list[int]:
        said: list[int] = []

        def say(cells: int) -> None:
            said.append(cells)
            speed.write_text(str(overhead))

        def changed(*words: Any) -> Any:
            return measured_again(*words[:-1], say)

        monkeypatch.setattr(again, "measured_again", changed)
        return said

    return change


@pytest.mark.slow
def test_two_builds(tmp_path: Path, before_again: Callable[[Path, float], list[int]]) -> None:
    system(tmp_path / "old", "mine", 1e-6)
    new = system(tmp_path / "new", "mine", 2e-6)
    said = before_again(new, 1e-6)
    words = ("compare", "--build", tmp_path / "old", tmp_path / "new", "--width", "4", "--margin", "40%")
    ended = called(*words, *FAIL)
    assert (ended.code, said) == (0, [1])
    assert re.search(r"at first slower, .*; now same, .*\. It is no regression\.", ended.out)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """Two folders of one build, in the later of which its tasks took twice as long, and the file of that."""
    tmp_path = tmp_path_factory.mktemp("again")
    speed = system(tmp_path / "systems", "mine", 1e-6)
    system(tmp_path / "systems", "other", 1e-6)
    words = ("metg", "--systems", tmp_path / "systems", "--width", "4", "-q")
    words += ("--min-rounds", "6", "--max-rounds", "6", "-o")
    for name, overhead in (("a", 1e-6), ("b", 2e-6)):
        speed.write_text(str(overhead))
        assert called(*words, tmp_path / name, "--system", "mine,other").code == 0
    return tmp_path / "a", tmp_path / "b", speed


@pytest.mark.parametrize(("now", "code"), [(2e-6, 1), (1e-6, 0)])
def test_cells_of_two_folders(
    folders: tuple[Path, Path, Path],
    before_again: Callable[[Path, float], list[int]],
    now: float,
    code: int,
) -> None:
    first, second, speed = folders
    said = before_again(speed, now)
    before = (second / "runs.jsonl").read_bytes()
    words = ("compare", first, second, "--systems", speed.parent)
    found = json.loads((ended := called(*words, *FAIL, "--json")).out)
    assert (ended.code, said, found["regressions"]) == (code, [1], code), "other was the same"
    cells = {cell["system"]: cell for cell in found["cells"]}
    assert cells["other"]["again"] is None and cells["mine"]["verdict"] == "slower"
    again = cells["mine"]["again"]
    assert (again["verdict"] == "slower", again["together"]) == (bool(code), False)
    assert (second / "runs.jsonl").read_bytes() == before


def test_two_systems_of_a_folder_take_turns_again(
    folders: tuple[Path, Path, Path], before_again: Callable[[Path, float], list[int]]
) -> None:
    _, second, speed = folders
    said = before_again(speed, 1e-6)
    words = ("compare", second, "--system", "other,mine", "--systems", speed.parent)
    ended = called(*words, *FAIL, "--json")
    (cell,) = json.loads(ended.out)["cells"]
    assert (ended.code, said) == (0, [1])
    assert (cell["again"]["verdict"], cell["again"]["together"]) == ("same", True)


def test_a_system_with_variables_of_a_study_is_known_by_its_name(
    tmp_path: Path, before_again: Callable[[Path, float], list[int]]
) -> None:
    speed, study = system(tmp_path / "systems", "mine", 1e-6), tmp_path / "s.toml"
    study.write_text('systems = ["mine"]\npattern = "fft"\nmax_rounds = 6\nenv = [{X = "1"}]\n')
    for name, overhead in (("a", 1e-6), ("b", 2e-6)):
        speed.write_text(str(overhead))
        words = ("study", study, "--systems", speed.parent, "-q", "-o", tmp_path / name)
        assert called(*words).code == 0
    before_again(speed, 1e-6)
    ended = called("compare", tmp_path / "a", tmp_path / "b", "--systems", speed.parent, *FAIL, "--json")
    found = {cell["system"]: cell["again"]["verdict"] for cell in json.loads(ended.out)["cells"]}
    assert (ended.code, found) == (0, {"mine+X=1": "same"})


def test_a_workload_of_all_cores_is_not_taken_for_one_of_as_many(
    tmp_path: Path, before_again: Callable[[Path, float], list[int]]
) -> None:
    speed, study = system(tmp_path / "systems", "mine", 1e-6), tmp_path / "s.toml"
    text = 'systems = ["mine"]\ncores = 1\nmax_rounds = 6\n[[workloads]]\npattern = "fft"\nwidth = 4\n'
    for name, overhead in (("a", 1e-6), ("b", 2e-6)):
        speed.write_text(str(overhead))
        study.write_text(text)
        text += '[[workloads]]\npattern = "fft"\nwidth = 4\ncores = 1\n'
        assert called("study", study, "--systems", speed.parent, "-q", "-o", tmp_path / name).code == 0
    said = before_again(speed, 1e-6)
    ended = called("compare", tmp_path / "a", tmp_path / "b", "--systems", speed.parent, *FAIL)
    assert (ended.code, said) == (0, [1])


def test_another_build_is_not_taken_for_the_one_that_was_slower(folders: tuple[Path, Path, Path]) -> None:
    first, second, speed = folders
    driver = speed.parent / "mine" / "driver.py"
    before = driver.read_text()
    driver.write_text(before + "# another\n")
    ended = called("compare", first, second, "--systems", speed.parent, *FAIL)
    driver.write_text(before)
    assert (ended.code, ended.out) == (2, "")
    assert f"{second}: --again: mine is of build " in ended.err


def test_where_nothing_became_slower_nothing_is_measured(folders: tuple[Path, Path, Path]) -> None:
    first, second, _ = folders
    ended = called("compare", second, first, *FAIL)
    assert ended.code == 0 and "Measured again" not in ended.out and "again" not in ended.err
    assert "--again is for --fail-on-regression" in called("compare", second, first, "--again").refusal()
