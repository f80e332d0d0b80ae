"""docs/how-to/add-an-experiment.md, followed: its experiment measures a simulated study."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from killable_study import OVERHEADS
from markdown_blocks import blocks
from simulated_world import ITERATION, STUDY, World, comparable, measure, result

from taskgrain.measure.experiments.experiment import Experiment
from taskgrain.measure.experiments.table import EXPERIMENTS
from taskgrain.study.settings import Settings

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "add-an-experiment.md"
SETTINGS = Settings(cores=2, experiment="at_one_size", first_iterations=100)


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The page's module, in the table under the page's name."""
    (block,) = (one for one in blocks(PAGE.read_text("utf-8")) if one.title)
    file = tmp_path / block.title
    file.write_text(block.text, "utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made: type[Experiment] = module.AtOneSize
    monkeypatch.setitem(EXPERIMENTS, "at_one_size", made)
    return file


def test_a_study_measures_it(tmp_path: Path, added: Path) -> None:
    world = World()
    states = measure(tmp_path / "out", world, SETTINGS, STUDY)
    for state in states:
        assert result(state).metg is None
        (point,) = result(state).curve
        work = 100 * ITERATION
        expected = work / (work + OVERHEADS[state.cell.system])
        assert (point.iterations, point.repeats) == (100, 3 * (result(state).rounds or 0))
        assert point.efficiency == pytest.approx(expected, rel=0.03)
        assert result(state).ending == ("always_reached" if expected >= 0.5 else "never_reached")
    again = World()
    assert comparable(measure(tmp_path / "out", again, SETTINGS, STUDY)) == comparable(states)
    assert again.runs == 0, "what is stored is told again"


def test_the_page_tries_it_without_a_system(added: Path) -> None:
    program, output = (one for one in blocks(PAGE.read_text("utf-8"))[1:3])
    done = subprocess.run(
        [sys.executable, "-"],
        input=program.text,
        cwd=added.parent,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, output.text), done.stderr
