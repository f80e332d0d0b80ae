"""The tasks of a Dask program, as Dask's scheduler tells them: those of the page on recording."""

import subprocess
import sys
from pathlib import Path

import pytest
from markdown_blocks import blocks

from taskgrain.graphs.dask_tasks import recorded
from taskgrain.graphs.files import read
from taskgrain.graphs.kinds import kinds
from taskgrain.words.errors import InputError

PAGE = Path(__file__).parents[3] / "docs/how-to/record-a-program.md"

pytest.importorskip("distributed", reason="Dask's tests need the Python package distributed")


def run(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-c", program]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120)


@pytest.mark.submission
def test_the_program_of_the_page_records_itself(tmp_path: Path) -> None:
    (program,) = (one.text for one in blocks(PAGE.read_text("utf-8")) if one.title == "squares.py")
    done = run(program, tmp_path)
    assert (done.returncode, done.stdout) == (0, "328350\n"), done.stderr
    graph = read(tmp_path / "graph.json")
    assert {one.name: one.tasks for one in kinds(graph)} == {"pow": 100, "sum": 1}
    last = graph.names.index("sum")
    assert sorted(graph.before[last]) == [*range(last), *range(last + 1, 101)]
    assert graph.dependences == 100 and graph.unit == "s" and min(graph.durations) >= 0.0
    assert graph.handed_on == sys.getsizeof(99 * 99)


def test_a_file_that_cannot_be_written_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a file that can be written"), recorded(None, tmp_path / "none/x"):
        pytest.fail("it has begun")


@pytest.mark.deep
def test_what_was_there_before_is_no_task(tmp_path: Path) -> None:
    program = """
import time
import dask
from dask.distributed import Client
from taskgrain.graphs.dask_tasks import recorded
with Client(processes=False, dashboard_address=None) as client:
    there = dask.delayed(pow)(2, 3).persist()
    there.compute()
    with recorded(client):
        (there + 1).compute()
    with recorded(client, "twice.json"):
        for _ in range(2):
            (dask.delayed(pow)(2, 5, dask_key_name="one") + 1).compute(optimize_graph=False)
    with recorded(client, "slow.json"):
        slow = client.submit(time.sleep, 0.5)
        client.submit(time.sleep, 1).cancel()
        failed = client.submit(pow, 0, -1)
        try:
            with recorded(client, "inner.json"):
                pass
        except ValueError as error:
            print(error)
    try:
        with recorded(client, "failed.json"):
            client.submit(pow, 2, 9).result()
            raise RuntimeError
    except RuntimeError:
        pass
    with recorded(client, "nothing.json"):
        pass
"""
    done = run(program, tmp_path)
    assert "tasks: 0 is not allowed; allowed: a program of which Dask executes a task" in done.stderr
    graph = read(tmp_path / "graph.json")
    assert (graph.names, graph.before) == (("add",), [()])
    assert done.stdout == (
        "recorded: a second one is not allowed; allowed: one recording of a cluster at a time\n"
    )
    slow = read(tmp_path / "slow.json")
    assert slow.names == ("sleep",) and slow.durations[0] >= 0.5
    twice = read(tmp_path / "twice.json")
    assert sorted(twice.names) == ["add", "add", "one", "one"]
    ends = [[*of] for name, of in zip(twice.names, twice.before, strict=True) if name == "add"]
    assert ends == [[place] for place, name in enumerate(twice.names) if name == "one"]
    assert {one.name for one in tmp_path.glob("*.json")} == {"graph.json", "twice.json", "slow.json"}
