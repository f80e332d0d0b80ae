"""`taskgrain.system.processes`: tasks in processes of the runtime's own: bound, added up and ended."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from driver_process import runnable
from waiting import wait_until

from taskgrain import _core
from taskgrain.drive.answers import DriverError
from taskgrain.drive.launch.launch import Launch
from taskgrain.drive.session import Session
from taskgrain.machine.processes import runs

CORES = tuple(sorted(os.sched_getaffinity(0))[:2])
DRIVER = """
from multiprocessing import get_context
from taskgrain.system import drive
from taskgrain.system.processes import ProcessSystem, join

def worker(number, tasks, done):
    join(number)
    done.put(None)
    for graph, step, point, inputs in iter(tasks.get, None):
        MUTATION
        done.put((graph, point, join().run.execute(0, graph, step, point, inputs)))

class Pool(ProcessSystem):
    name, version = "pool", "1"

    def __init__(self):
        super().__init__()
        context = get_context("spawn")
        self.tasks, self.done = context.Queue(), context.Queue()
        for k in range(self.cores):
            context.Process(target=worker, args=(k, self.tasks, self.done), daemon=True).start()
            self.done.get()

    def execute(self, run):
        for g in range(run.graphs):
            before = {}
            for step in range(run.steps(g)):
                first, last = run.points(g, step)
                for point in range(first, last + 1):
                    inputs = [before[j] for j in run.deps(g, step, point)]
                    self.tasks.put((g, step, point, inputs))
                before = dict(self.done.get()[1:] for _ in range(first, last + 1))

if __name__ == "__main__":
    drive(Pool)
"""


def session(folder: Path, mutation: str = "pass") -> Session:
    file = folder / "driver.py"
    file.write_text(DRIVER.replace("MUTATION", mutation))
    made = Session("pool", Launch((sys.executable, str(file)), {}, CORES), folder / "log")
    made.start()
    return made


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[Session]:
    made = session(tmp_path)
    yield made
    made.close()


def graph(pattern: str, **fields: object) -> dict[str, object]:
    return {"pattern": pattern, "steps": 6, "width": 5, "output_bytes": 40} | fields


def test_every_task_is_counted_wherever_it_ran(pool: Session) -> None:
    for pattern in ("trivial", "stencil_1d", "dom", "random"):
        for validate in ("full", "sample", "off"):
            result = pool.run([graph(pattern), graph("tree")], repeats=2, warmup=1, validate=validate)
            assert len(result.seconds) == 2
    kernel = {"name": "compute_bound", "iterations": 2}
    assert pool.run([graph("fft", kernel=kernel)], repeats=1).work == 256 * 30


def test_workers_are_bound_in_order(pool: Session) -> None:
    assert pool.ready is not None
    assert [list(processors) for processors in pool.ready.binding] == [[core] for core in CORES]


@pytest.mark.parametrize(
    ("mutation", "kind"),
    [
        ("inputs = inputs[::-1]", "wrong_producer"),
        ("inputs = inputs[:-1]", r"missing_input: graph 0, step 1, point \d, input \d: .*, got none$"),
        ("if (step, point) == (5, 2): join().run.execute(0, graph, step, point, inputs)", "repeated"),
        (
            "step, point = (5, 2) if (step, point) == (5, 3) else (step, point)",
            "repeated|skipped|wrong_producer",
        ),
    ],
)
def test_a_wrong_execution_is_named(tmp_path: Path, mutation: str, kind: str) -> None:
    broken = session(tmp_path, mutation)
    with pytest.raises(DriverError, match=kind):
        broken.run([graph("stencil_1d")], repeats=1)
    broken.close()


def test_outputs_that_no_machine_holds_are_refused(pool: Session) -> None:
    with pytest.raises(DriverError, match="not enough memory"):
        pool.run([graph("trivial", width=10**6, output_bytes=2**40)], repeats=1)
    assert pool.run([graph("fft")], repeats=1).tasks == 30


def test_workers_end_with_a_driver_that_is_killed(tmp_path: Path) -> None:
    file = tmp_path / "driver.py"
    file.write_text(DRIVER.replace("MUTATION", "pass"))
    driver = subprocess.Popen([sys.executable, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert driver.stdin and driver.stdout
    driver.stdin.write(b'{"op":"hello"}\n')
    driver.stdin.flush()
    driver.stdout.readline()
    children = psutil.Process(driver.pid).children(recursive=True)
    assert len(children) >= len(CORES)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    wait_until(lambda: not any(runs(one.pid) for one in children))


def workers_of(session: Session, words: str) -> list[psutil.Process]:
    processes = [psutil.Process(pid) for pid in session.pids()]
    return [one for one in processes if words in " ".join(one.cmdline())]


def test_workers_that_ended_are_missed(pool: Session) -> None:
    workers = workers_of(pool, "spawn_main")
    for worker in workers:
        worker.kill()
    while any(worker.status() != psutil.STATUS_ZOMBIE for worker in workers):  # the driver waits for none
        time.sleep(0.01)
    with pytest.raises(DriverError, match="one of 2 worker processes has ended"):
        pool.run([graph("fft")], repeats=1)


STRANGER = "from taskgrain.system.processes import join; print(join().number, flush=True); input()"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        pytest.param("dask", "spawn_main", marks=pytest.mark.submission),
        pytest.param("ray_tasks", "ray::IDLE", marks=pytest.mark.deep),
    ],
)
def test_workers_come_and_go_between_runs(tmp_path: Path, name: str, words: str) -> None:
    """As Ray has it, which now and then starts one too many, and ends others that are idle."""
    if name not in runnable():
        pytest.skip(f"{name} is not set up")
    with Session(name, runnable()[name].launch(CORES), tmp_path / "log") as session:
        session.start()
        for _ in range(2):
            session.resume()  # the driver is parked after a request, and would not let the stranger in
            victim = workers_of(session, words)[0]
            stranger = subprocess.Popen(
                [sys.executable, "-c", STRANGER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                env=os.environ | {"TASKGRAIN_DRIVER": victim.environ()["TASKGRAIN_DRIVER"]},
            )  # fmt: skip
            with stranger:
                assert stranger.stdout and int(stranger.stdout.readline()) >= len(CORES)
                victim.kill()
                victim.wait()
                result = session.run([graph("stencil_1d")], repeats=2)
                assert stranger.wait()
            assert [list(processors) for processors in result.binding] == [[core] for core in CORES]


def test_a_worker_that_is_killed_in_a_run_with_a_fault_is_replaced_on_its_core(tmp_path: Path) -> None:
    driver = Path(__file__).parents[1] / "drivers" / "retrying.py"
    with Session("retrying", Launch((sys.executable, str(driver)), {}, CORES), tmp_path / "log") as session:
        session.start()
        fault = {"kind": "kill", "step": 3, "point": 2, "times": 2}
        found = session.disturbed([graph("stencil_1d")], fault)
        assert (found.strikes, found.result.executed - found.result.tasks) == (2, 2)
        assert [list(processors) for processors in found.result.binding] == [[core] for core in CORES]
        assert session.run([graph("stencil_1d")], repeats=2).executed == 30


def test_a_worker_that_ends_without_a_fault_is_an_error(tmp_path: Path) -> None:
    driver = tmp_path / "driver.py"
    retrying = Path(__file__).parents[1] / "drivers" / "retrying.py"
    ended = "if (step, point) == (3, 2) and not os.path.exists(__file__ + 'x'): "
    ended += "open(__file__ + 'x', 'w').close(); os._exit(1)"
    text = retrying.read_text().replace("import sys", "import os\nimport sys")
    driver.write_text(
        text.replace(
            "        try:\n            driver.send(",
            f"        {ended}\n        try:\n            driver.send(",
        )
    )
    with Session("retrying", Launch((sys.executable, str(driver)), {}, CORES), tmp_path / "log") as session:
        session.start()
        with pytest.raises(DriverError, match=r"worker process . has ended|skipped"):
            session.run([graph("stencil_1d")], repeats=1)
        assert (tmp_path / "driver.pyx").exists()


REQUEST = '{"graphs": [{"pattern": "trivial", "steps": 2, "width": 2}], "validate": "full"}'


def test_books_add_up() -> None:
    first, second, both = (_core.Run(REQUEST) for _ in range(3))
    for run, tasks in ((first, [(0, 0), (1, 1)]), (second, [(0, 1), (1, 0)])):
        run.distribute()
        for step, point in tasks:
            assert len(run.execute(0, 0, step, point, [])) == 16
        both.add(run.books())
    assert both.verify() is None
    assert both.accounts()["executed"] == 4
    both.clear()
    both.add(first.books())
    violation = both.verify()
    assert violation is not None
    assert (violation["kind"], violation["step"], violation["point"]) == ("skipped", 0, 1)


def test_books_of_another_request_are_refused() -> None:
    run, other = _core.Run(REQUEST), _core.Run(REQUEST.replace('"width": 2', '"width": 3'))
    with pytest.raises(_core.InvalidSpec, match="books"):
        run.add(other.books())


def test_books_tell_failures_and_violations(monkeypatch: pytest.MonkeyPatch) -> None:
    run, sum_ = _core.Run(REQUEST), _core.Run(REQUEST)
    run.execute(0, 0, 0, 0, [b"0" * 16])
    sum_.add(run.books())
    violation = sum_.verify()
    assert violation is not None
    assert violation["kind"] == "surplus_input"
    monkeypatch.setenv("TMPDIR", "/proc/nowhere")
    request = REQUEST.replace("}]", ', "kernel": {"name": "io_bound", "iterations": 1}}]')
    run, sum_ = _core.Run(request), _core.Run(request)
    run.execute(0, 0, 0, 0, [])
    sum_.add(run.books())
    with pytest.raises(RuntimeError, match="/proc/nowhere"):
        sum_.verify()
