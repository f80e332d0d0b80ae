"""Every driver of this machine as a process: it runs every graph right, says what is wrong, and serves on."""

import json
import math
import os
import resource
import secrets
import subprocess
import sys
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path

import pytest
from driver_process import CORES, Answer, DriverProcess, command_of, environment_of, marked, runnable
from waiting import wait_until

from taskgrain._core import kernels, patterns
from taskgrain.drive.session import Session
from taskgrain.drive.system import System

SYSTEMS = runnable()
if not SYSTEMS:
    pytest.skip("no driver is installed, nor in TASKGRAIN_SYSTEMS_BUILD", allow_module_level=True)

PATTERNS = tuple(patterns())
WIDTHS = (1, 2, 3, 5, 17)  # fewer points than cores, and numbers that they do not divide
BIG = 2**20
FLAGS = {"Rust": "-C opt-level=3", "Go": "-compiler=gc"}
"""The flags by language, where they are not those that CMake gives to C++."""
MOST_POINTS = {"ray_compiled.each_task": 512}
"""The most points of systems that refuse more in a run."""
Graph = dict[str, object]


def marks(system: System) -> list[pytest.MarkDecorator]:
    """Who needs patience mostly waits while it starts; conftest.py says when each of its tests runs."""
    limit = pytest.mark.timeout(1800 * system.patience)
    return [limit] if system.patience == 1 else [limit, pytest.mark.waits]


@pytest.fixture(
    scope="module", params=[pytest.param(name, marks=marks(one)) for name, one in sorted(SYSTEMS.items())]
)
def system(request: pytest.FixtureRequest) -> System:
    return SYSTEMS[request.param]


@pytest.fixture(scope="module")
def shared(system: System) -> Iterator[list[DriverProcess]]:
    """The one driver that the tests of a system share, as a list so that a broken one can be replaced."""
    place: list[DriverProcess] = []
    yield place
    for driver in place:
        driver.end()


@pytest.fixture
def driver(
    system: System, shared: list[DriverProcess], request: pytest.FixtureRequest
) -> Iterator[DriverProcess]:
    if not shared:
        shared.append(DriverProcess(system))
    failed = request.session.testsfailed
    yield shared[0]
    if request.session.testsfailed > failed:
        shared.pop().end()


@pytest.fixture(scope="module")
def dag(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Layers of different widths that start at different points, with tasks of different lengths."""
    layers = [
        {"width": 3, "first_point": 2},
        {
            "width": 5,
            "first_point": 0,
            "dependences": [[2], [3, 4], [], [2, 4], [2, 3, 4]],
            "weights": [3, 0, 1, 2, 7],
        },
        {"width": 1, "first_point": 6, "dependences": [[0, 1, 4]]},
        {"width": 4, "first_point": 1, "dependences": [[6], [6], [], [6]]},
        {"width": 4, "first_point": 1, "dependences": [[3, 4], [], [1], [1, 2, 3, 4]]},
    ]
    path = tmp_path_factory.mktemp("dag") / "graph.json"
    path.write_text(json.dumps({"steps": layers}))
    return str(path)


def graph(pattern: str, dag: str = "", **fields: object) -> Graph:
    sizes: Graph = {"steps": 9, "width": 5}
    return sizes | fields | {"pattern": pattern, "dag": dag if pattern == "dag" else ""}


def check(answer: Answer) -> Answer:
    assert answer["event"] == "result", answer
    assert answer["executed"] == answer["tasks"]
    return answer


def check_error(answer: Answer, kind: str, *words: str) -> None:
    assert answer["event"] == "error", answer
    assert answer["kind"] == kind, answer
    for word in words:
        assert word in answer["message"]


# ---- hello


def test_hello(system: System, driver: DriverProcess) -> None:
    ready = driver.ask({"op": "hello"})
    assert ready["event"] == "ready"
    assert ready["protocol"] == 1
    assert ready["system"] == system.folder.name
    assert ready["version"]
    assert ready["nodes"] == 1
    assert ready["cores"] == len(system.cores_of(CORES))
    assert ready["compiler"] and ready["isa"]
    assert FLAGS.get(system.language, "-O3 -DNDEBUG") in ready["flags"]


@pytest.mark.uses("openmp_for", "openmp_for.libomp")
def test_another_compiler_is_named_with_its_own_flags() -> None:
    said = {}
    for name in ("openmp_for", "openmp_for.libomp"):
        with DriverProcess(SYSTEMS[name]) as driver:
            said[name] = driver.ask({"op": "hello"})
    assert "-fopenmp" in said["openmp_for"]["flags"].split()
    assert "-fopenmp=libomp" in said["openmp_for.libomp"]["flags"].split()
    assert said["openmp_for.libomp"]["compiler"].startswith("Clang")


def test_every_worker_is_bound_to_a_core_of_its_own(system: System, driver: DriverProcess) -> None:
    cores = system.cores_of(CORES)
    binding = driver.ask({"op": "hello"})["binding"]
    if system.language == "Go":  # whose threads move
        assert binding == [[*cores]] * len(cores)
    else:
        assert binding == [[core] for core in cores]


def test_its_worker_is_on_the_only_processor_that_it_is_given(system: System) -> None:
    last = max(CORES)
    with Session(system.name, system.launch((last,))) as session:
        ready = session.start()
        found = session.run([graph("stencil_1d")], repeats=1, validate="full")
    assert (ready.cores, found.binding or ready.binding, ready.warnings) == (1, ((last,),), ())


# ---- graphs that run


@pytest.mark.parametrize("pattern", PATTERNS)
def test_pattern(system: System, driver: DriverProcess, pattern: str, dag: str) -> None:
    widths = (1,) if pattern == "dag" else WIDTHS
    few = ((1, 1), (min(5, widths[-1]), 9))  # for slow systems, which compile or ship every graph
    for width, steps in product(widths, (1, 9)) if system.patience == 1 else few:
        check(driver.run(graph(pattern, dag, width=width, steps=steps, fraction=0.6)))


@pytest.mark.parametrize("pattern", ("stencil_1d", "fft", "random", "tree"))
@pytest.mark.parametrize("output_bytes", (17, 40, 4096, 65544))
def test_output_of_any_size(driver: DriverProcess, pattern: str, output_bytes: int) -> None:
    check(driver.run(graph(pattern, width=6, output_bytes=output_bytes)))


def test_dependences_are_counted(driver: DriverProcess) -> None:
    answer = check(driver.run(graph("stencil_1d", steps=10, width=8), repeats=2))
    assert answer["tasks"] == 80
    assert answer["dependencies"] == 9 * (3 * 8 - 2)


def test_all_patterns_at_once_with_repeats(system: System, driver: DriverProcess, dag: str) -> None:
    graphs = [
        graph(
            pattern,
            dag,
            width=1 if pattern == "stencil_1d" else 3 + number % 4,
            steps=4 + number,
            output_bytes=16 + 24 * number,
        )
        for number, pattern in enumerate(PATTERNS)
    ]
    answer = check(driver.run(*graphs, repeats=3, warmup=1, id=77))
    assert answer["id"] == 77
    assert len(answer["seconds"]) == 3
    assert all(seconds > 0 for seconds in answer["seconds"])
    assert answer["peak_rss_bytes"] > 0


def test_sampled_and_unchecked_runs(driver: DriverProcess) -> None:
    for validate in ("sample", "off"):
        check(driver.run(graph("fft", width=8), graph("dom"), repeats=3, validate=validate))


def test_thousands_of_points_on_each_core(system: System, driver: DriverProcess) -> None:
    if system.name in MOST_POINTS:
        most = MOST_POINTS[system.name]
        check_error(driver.run(graph("stencil_1d", width=most + 1)), "unsupported", f"{most} points at most")
        check(driver.run(graph("stencil_1d", width=most // 2), graph("fft", width=most // 2, steps=2)))
        return
    # Legion's analysis, for one, grows with the square of the points.
    for pattern in ("stencil_1d", "fft", "spread", "no_comm")[: 4 if system.patience == 1 else 1]:
        check(driver.run(graph(pattern, width=2000, steps=2)))


def test_large_outputs(driver: DriverProcess) -> None:
    for pattern in ("stencil_1d_periodic", "all_to_all"):
        check(driver.run(graph(pattern, width=4, steps=4, output_bytes=BIG), repeats=2))


def test_imbalance_is_the_same_on_every_system(driver: DriverProcess) -> None:
    kernel = {"name": "load_imbalance", "iterations": 1000, "imbalance": 1.5}
    answer = check(driver.run(graph("stencil_1d", steps=20, width=6, kernel=kernel)))
    assert answer["work_unit"] == "flop"
    assert answer["work"] == answer["flops"] == 128 * 120387


def test_weights_are_the_same_on_every_system(driver: DriverProcess, dag: str) -> None:
    answer = check(driver.run(graph("dag", dag, kernel={"name": "compute_bound", "iterations": 2500})))
    assert answer["tasks"] == 17  # whose weights are 25 together
    assert answer["work"] == 128 * 17 * 2500


@pytest.mark.parametrize("name", kernels())
def test_kernel(driver: DriverProcess, name: str) -> None:
    kernel = {"name": name, "iterations": 3, "scratch_bytes": 65536}
    answer = driver.run(graph("stencil_1d", width=4, kernel=kernel))
    if answer.get("kind") == "unsupported" and "BLAS" in answer["message"]:
        pytest.skip(answer["message"])
    per_unit = {"flop": "flops", "byte": "bytes"}.get(check(answer)["work_unit"], "work")
    assert answer["work"] == answer[per_unit]
    assert (answer["work"] > 0) == (name != "empty")


def test_longest_period(driver: DriverProcess) -> None:
    """As long as integers go: it may be refused, but not crash."""
    answer = driver.run(graph("random", steps=6, width=3, period=2**63 - 1))
    assert answer["event"] == "result" or answer["kind"] in ("invalid", "unsupported"), answer
    check(driver.run(graph("random")))


def test_more_ranks_than_points_and_cores(system: System) -> None:
    if not system.distributed:
        pytest.skip("it has no ranks")
    with DriverProcess(system, (*CORES, *CORES)[:3]) as driver:
        # Three ranks spin on what may be two cores: few and short runs.
        check(driver.run(graph("stencil_1d", steps=3, width=2), graph("all_to_all", steps=3, width=4)))


# ---- requests that are wrong

# One of each kind: the core refuses all others in the same place (tests/cpp/request_test.cpp).
GOOD: Graph = {"pattern": "stencil_1d", "steps": 4, "width": 4}
INVALID: dict[str, tuple[object, tuple[str, ...]]] = {
    "no JSON": ("{run", ("JSON",)),
    "no object": ("[1, 2]", ("JSON object",)),
    "no op": ({"id": 1}, ("op",)),
    "op is no text": ({"op": 3}, ("op",)),
    "unknown op": ({"op": "walk"}, ("op", "walk")),
    "unknown pattern": ({"op": "run", "graphs": [GOOD | {"pattern": "ring"}]}, ("ring", "stencil_1d")),
    "no graphs": ({"op": "run", "graphs": []}, ("graphs",)),
    "steps": ({"op": "run", "graphs": [GOOD | {"steps": 0}]}, ("steps", "0")),
    "mixed units": (
        {"op": "run", "graphs": [GOOD, GOOD | {"kernel": {"name": "memory_bound"}}]},
        ("kernel",),
    ),
    "no such dag": ({"op": "run", "graphs": [GOOD | {"pattern": "dag", "dag": "/nowhere"}]}, ("/nowhere",)),
}


@pytest.mark.parametrize("what", INVALID)
def test_invalid_request(driver: DriverProcess, what: str) -> None:
    request, words = INVALID[what]
    if isinstance(request, dict):
        request = request | {"id": 5}
    assert isinstance(request, dict | str)
    answer = driver.ask(request)
    check_error(answer, "invalid", *words)
    assert answer["id"] == (5 if isinstance(request, dict) else None)
    check(driver.run(GOOD))


def test_missing_instruction_set_is_unsupported(driver: DriverProcess) -> None:
    foreign = "avx2" if os.uname().machine == "aarch64" else "neon"
    check_error(driver.run(GOOD, isa=foreign), "unsupported", foreign)
    check(driver.run(GOOD, isa="portable"))


def test_what_does_not_fit_into_memory_is_unsupported(driver: DriverProcess) -> None:
    check_error(driver.run(GOOD | {"width": 10**6, "output_bytes": 2**40}), "unsupported")
    check_error(driver.run(GOOD | {"width": 10**15}), "unsupported", "memory")
    check(driver.run(GOOD))


def test_what_one_rank_alone_cannot_hold_is_an_error_of_all(system: System) -> None:
    """Its memory is limited; the others must not wait for what it will never send."""
    if not system.distributed or not system.language.startswith("C++"):
        pytest.skip("it has no ranks that are the driver itself")
    with DriverProcess(system) as driver:
        check(driver.run(GOOD))
        ranks = driver.ranks()
        if len(ranks) < 2:
            pytest.skip("it has one rank here")
        for rank in ranks:
            pages = int(Path(f"/proc/{rank}/statm").read_text().split()[0])
            most = pages * resource.getpagesize() + 2**25
            before = resource.prlimit(rank, resource.RLIMIT_AS)
            resource.prlimit(rank, resource.RLIMIT_AS, (most, before[1]))
            answer = driver.run(GOOD | {"width": 4, "output_bytes": 3 * 2**24})
            if answer["event"] == "error":
                assert answer["kind"] in ("system", "unsupported"), answer
            else:  # the outputs lie in memory that the ranks share, which it has mapped before
                check(answer)
            resource.prlimit(rank, resource.RLIMIT_AS, before)
            check(driver.run(GOOD))


def test_a_task_that_fails_is_an_error_and_no_end_but_the_end_of_input_is(system: System) -> None:
    """The kernel throws in some worker in the middle of the run; all must get out of it."""
    kernel = {"name": "io_bound", "iterations": 1}
    # Not even mpirun can make this folder, so it gets another one for itself.
    folders = {"TMPDIR": "/proc/nowhere", "OMPI_MCA_orte_tmpdir_base": "/tmp"}
    with DriverProcess(system, extra=folders) as driver:
        check(driver.run(GOOD))
        check_error(driver.run(GOOD | {"kernel": kernel}), "system", "/proc/nowhere")
        check(driver.run(GOOD))
        # Now on one core alone.
        check_error(driver.run(GOOD | {"width": 1, "kernel": kernel}), "system", "/proc/nowhere")
        check(driver.run(GOOD))
        assert driver.hang_up() == 0


# ---- the end


def test_quit_ends_it_without_an_error_whatever_happened(
    driver: DriverProcess, shared: list[DriverProcess]
) -> None:
    """After all the wrong requests of the tests above."""
    check_error(driver.ask({"op": "walk"}), "invalid")
    assert driver.quit() == 0
    shared.clear()
    driver.end()


PARENT = """
import json, subprocess, sys, time
driver = subprocess.Popen(json.loads(sys.argv[1]), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
driver.stdin.write(b'{"op":"hello"}\\n')
driver.stdin.flush()
while not driver.stdout.readline().startswith(b"@taskgrain"):
    pass
print("ready", flush=True)
time.sleep(600)
"""


def test_nothing_stays_when_its_parent_is_killed(system: System) -> None:
    mark = secrets.token_hex(16)
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, json.dumps(command_of(system))],
        env=environment_of(system, extra={"TASKGRAIN_TEST": mark}), stdout=subprocess.PIPE,
    )  # fmt: skip
    assert parent.stdout
    assert parent.stdout.readline() == b"ready\n"
    assert len(marked(mark)) >= 2
    parent.kill()
    parent.wait()
    wait_until(lambda: not marked(mark))
    parent.stdout.close()


# ---- by hand


BY_HAND = {
    (one.folder, one.command[-1]): name
    for name, one in sorted(SYSTEMS.items(), reverse=True)
    if one.language in ("C++", *FLAGS)
}
"""One of the variants that are the same program."""
READ_FLAGS = [name for name in ("limit", "rayon", "goroutines") if name in SYSTEMS]
"""One of each language, as all of a language read their flags by the same code."""


@pytest.fixture(params=sorted(BY_HAND.values()))
def by_hand(request: pytest.FixtureRequest) -> System:
    return SYSTEMS[request.param]


@pytest.fixture(params=READ_FLAGS)
def reads_flags(request: pytest.FixtureRequest) -> System:
    return SYSTEMS[request.param]


def called(
    system: System, *arguments: str, extra: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command_of(system, arguments), env=environment_of(system, extra=extra), capture_output=True,
        text=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def test_flags_run_a_graph_for_a_person(by_hand: System) -> None:
    done = called(
        by_hand, "--pattern", "stencil_1d", "--steps", "1e1", "--width", "4", "--output-bytes", "1kiB"
    )
    assert done.returncode == 0, done.stderr
    assert "40, each executed once" in done.stdout
    assert "granularity" in done.stdout


def test_json_gives_the_harness_answer(reads_flags: System) -> None:
    done = called(
        reads_flags, "--steps", "10", "--graphs", "2", "--repeats", "2", "--validate", "full", "--json"
    )
    assert done.returncode == 0, done.stderr
    answer = check(json.loads(done.stdout.removeprefix("@taskgrain ")))
    assert answer["tasks"] == 80
    assert len(answer["seconds"]) == 2


def test_batch_runs_a_file_of_requests(by_hand: System, tmp_path: Path) -> None:
    file = tmp_path / "requests.jsonl"
    requests = [
        {"op": "hello"},
        {"op": "run", "id": 1, "graphs": [GOOD]},
        {"op": "run", "id": 2, "graphs": [GOOD]},
    ]
    file.write_text("\n".join(map(json.dumps, requests)) + "\n\n")
    done = called(by_hand, "--batch", str(file))
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line.removeprefix("@taskgrain ")) for line in done.stdout.splitlines()]
    assert [answer["event"] for answer in answers] == ["ready", "result", "result"]
    assert [answer.get("id") for answer in answers] == [None, 1, 2]


def test_help_names_the_flags(reads_flags: System) -> None:
    done = called(reads_flags, "--help")
    assert done.returncode == 0
    for flag in ("--pattern", "--steps", "--kernel", "--validate", "--batch", "stencil_1d", "compute_bound"):
        assert flag in done.stdout


@pytest.mark.parametrize(
    "arguments",
    (
        ("--hight", "3"), ("--steps", "1.5"), ("--steps", "0"), ("--pattern", "ring"), ("--kernel", "fma"),
        ("--output-bytes", "8"), ("--batch", "/nowhere"), ("--repeats", "0"),
    ),
    ids=" ".join,
)  # fmt: skip
def test_wrong_flags_are_named(reads_flags: System, arguments: tuple[str, str]) -> None:
    done = called(reads_flags, *arguments)
    assert done.returncode == 2, done.stderr
    assert arguments[0].removeprefix("--").replace("-", "_") in done.stderr.replace("-", "_")


@pytest.mark.parametrize("cores", ("x", "0,,1"))
def test_what_is_no_list_of_cores_ends_it_with_a_message(reads_flags: System, cores: str) -> None:
    done = called(reads_flags, "--steps", "2", extra={"TASKGRAIN_CORES": cores})
    assert done.returncode == 2, done.stderr
    assert cores in done.stderr


def test_a_core_that_is_not_there_ends_it_with_a_message(by_hand: System) -> None:
    done = called(by_hand, "--steps", "2", extra={"TASKGRAIN_CORES": "0,99999"})
    if done.returncode == 0:
        return  # it has another way to know its cores
    assert done.returncode in (1, 2, 9), done.stderr  # 9: MPICH tells of the rank that it killed then
    assert "99999" in done.stderr
    assert "terminate called" not in done.stderr


def test_a_processor_that_is_named_twice_is_used_or_refused(by_hand: System) -> None:
    done = called(by_hand, "--steps", "2", extra={"TASKGRAIN_CORES": f"{CORES[0]},{CORES[0]}"})
    assert done.returncode in (0, 1, 2), done.stderr
    assert done.returncode == 0 or done.stderr
    assert "terminate called" not in done.stderr


def test_median_is_of_all_repeats(reads_flags: System) -> None:
    done = called(reads_flags, "--steps", "2", "--repeats", "3")
    assert "median of 3" in done.stdout
    assert math.isfinite(float(done.stdout.split("seconds")[1].split()[0]))


@pytest.mark.uses("taskgrain_graph")
def test_a_variant_that_its_driver_does_not_know() -> None:
    done = subprocess.run(
        [*SYSTEMS["taskgrain_graph"].launch(CORES).command, "--steps", "5"],
        env=dict(os.environ) | {"TASKGRAIN_GRAPH_POLICY": "fifo"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "TASKGRAIN_GRAPH_POLICY: 'fifo'" in done.stderr
    assert "allowed: in_order, ready_queue, stealing" in done.stderr
