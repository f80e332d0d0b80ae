"""bench/programs.py, with scripts in the place of the programs."""

import importlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import Result, called
from waiting import wait_until

ROOT = Path(__file__).resolve().parents[3]
RUN = [sys.executable, str(ROOT / "bench" / "programs.py")]
LINE = '{"size":100,"repeat":%d,"seconds":%s,"gflops":2.0,"efficiency":0.5,"error":%s}'
ENDLESS = "#!/bin/sh\nsleep 100\n"


def prints(*lines: str, code: int = 0, says: str = "") -> str:
    """A script that prints lines, says something on its error output, and ends with a code."""
    echo = "\n".join(f"echo '{line}'" for line in lines)
    return f"#!/bin/sh\n{echo}\necho '{says}' >&2\nexit {code}\n"


def right(*seconds: float) -> str:
    return prints(*(LINE % (repeat, one, "1e-15") for repeat, one in enumerate(seconds or (0.1, 0.1, 0.1))))


def install(folder: Path, **scripts: str) -> Path:
    """Under the names of programs, with `_` for `-`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, script in scripts.items():
        path = folder / name.replace("_", "-")
        path.write_text(script, encoding="utf-8")
        path.chmod(0o755)
    return folder


def run(suite: str, tmp_path: Path, *words: str) -> Result:
    """Calls it in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "bench")
        programs = importlib.import_module("programs")
    own = ("--build", tmp_path, "--rounds", "2")
    return called(suite, tmp_path / "out", *own, *words, program=programs.main)


SMALL = ("--spins", "1", "--dependences", "2")


@pytest.fixture
def apps(tmp_path: Path) -> Path:
    """Programs of which one is twice as slow; what it does first does not count."""
    slow = right(9.0, 0.2, 0.2)
    return install(tmp_path / "apps", overhead_taskgrain=right(), overhead_openmp=slow, overhead_starpu=slow)


def test_what_it_cannot_do_costs_no_results(apps: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    kept = tmp_path / "out" / "overhead.jsonl"
    kept.write_text("before")
    assert (run("overhead", tmp_path, *SMALL).code, kept.read_text()) == (2, "before")
    kept.unlink()
    (tmp_path / "out").rmdir()
    (tmp_path / "out").write_text("a file")
    done = run("overhead", tmp_path, *SMALL)
    assert (done.code, "cannot be made: File exists" in done.err) == (2, True)


def test_prints_tables_draws_plots_and_keeps_lines(apps: Path, tmp_path: Path) -> None:
    done = run("overhead", tmp_path, "--spins", "1,10", "--dependences", "2", "--cores", "2").printed()
    assert "overhead: tasks without dependences" in done
    openmp = next(line for line in done.splitlines() if "OpenMP" in line)
    assert "200 ms" in openmp and "2.00 (2.00 – 2.00)" in openmp and "0.5" in openmp
    lines = [json.loads(line) for line in (tmp_path / "out" / "overhead.jsonl").read_text().splitlines()]
    # rounds, repeats; threads × spins × systems, and the grid
    assert len(lines) == 2 * 3 * (2 * 2 * 5 + 2 * 3)
    assert {line["title"] for line in lines} >= {"taskgrain", "OpenMP", "StarPU, STF"}
    for name in ("independent", "dependences"):
        assert (tmp_path / "out" / f"overhead-{name}.svg").read_text().startswith("<svg")


def test_tables_need_no_altair(apps: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    done = run("overhead", tmp_path, *SMALL, "--tables-only").printed()
    assert "overhead: tasks without dependences" in done
    assert not list((tmp_path / "out").glob("*.svg"))


@pytest.mark.parametrize(
    ("openmp", "code", "words"),
    [
        (None, 0, "NOT MEASURED: OpenMP: there is no overhead-openmp"),
        (prints(code=2, says="overhead: threads: 2 is not allowed; allowed: 1"), 0,
         "NOT MEASURED: OpenMP (1 of its points): threads: 2 is not allowed"),
        (prints(code=7, says="ouch"), 1, "exit code 7"),
        (prints(LINE % (0, 0.1, 0.5)), 1, "its result is wrong: error 0.5"),
        (prints(), 1, "it prints nothing"),
        (prints("{"), 1, "it prints no JSON"),
        (ENDLESS, 1, "it did not end within 1 s"),
    ],
)  # fmt: skip
def test_tells_what_is_not_measured_and_goes_on(
    apps: Path, tmp_path: Path, openmp: str | None, code: int, words: str
) -> None:
    if openmp is None:
        (apps / "overhead-openmp").unlink()
    else:
        install(apps, overhead_openmp=openmp)
    patience = ["--timeout", "1"] if openmp == ENDLESS else []
    done = run("overhead", tmp_path, *SMALL, "--cores", "1", *patience)
    assert done.code == code, done.err
    assert words in done.out and "StarPU, task" in done.out
    assert ("ouch" in (tmp_path / "out" / "overhead.log").read_text()) == (words == "exit code 7")


def test_ctrl_c_keeps_what_was_measured(apps: Path, tmp_path: Path) -> None:
    install(apps, overhead_openmp=ENDLESS)
    out = tmp_path / "out"
    words = [*RUN, "overhead", str(out), "--build", str(tmp_path), *SMALL, "--cores", "1"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    lines = out / "overhead.jsonl"
    wait_until(lambda: lines.exists() and "insertion apart" in lines.read_text())
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate()
    assert process.returncode == 130
    assert "100 ms" in output and "interrupted" in output


# What another thread gets does not end the main thread's wait; nor does what comes just before it.
MISSED = f"""
import signal, sys, threading, time
sys.path.insert(0, {str(ROOT / "bench")!r})
signal.signal(signal.SIGINT, signal.default_int_handler)
import programs

def interrupt():
    time.sleep(0.5)
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)

threading.Thread(target=interrupt).start()
programs.run(("sleep", "1000"), 1000)
"""


def test_an_interrupt_just_before_a_wait_is_not_missed() -> None:
    done = subprocess.run([sys.executable, "-c", MISSED], capture_output=True, text=True)
    assert done.stderr.endswith("KeyboardInterrupt\n")


@pytest.mark.parametrize(
    "words, field",
    [
        (["--rounds", "0"], "--rounds: '0' is not allowed; allowed: a whole number from 1"),
        (["--blocks", "x"], "--blocks: 'x' is not allowed; allowed: whole numbers from 1 to 1048576"),
        (["--block", "0"], "--block: '0' is not allowed; allowed: whole numbers from 1 to 1048576"),
        (["--sizes", "64,1.5"], "--sizes: '64,1.5' is not allowed; allowed: whole numbers from 1"),
        (["--systems", "MKL"], "--systems: 'MKL' is not allowed; allowed: taskgrain, 2D, large;"),
    ],
)
def test_names_what_is_wrong(tmp_path: Path, words: list[str], field: str) -> None:
    assert field in run("gemm", tmp_path, *words).refusal()


@pytest.mark.parametrize(
    "suite, words, field",
    [
        (
            "cg",
            ["--sizes", "1000,100"],
            "100 is not allowed; allowed with --cores 2 and --points 8e+06: 1000 or more",
        ),
        ("cg", ["--sizes", "100", "--points", "1"], "with --cores 2 and --points 1: 129 or more"),
        (
            "stencil",
            ["--sizes", "64,0"],
            "--sizes: '64,0' is not allowed; allowed: whole numbers from 5 to 30000",
        ),
        ("aero", ["--sizes", "4", "--cores", "5"], "--cores 5 and --points 400000: 5 or more"),
        ("cg", ["--cores", "10000"], "--cores: 10000 is not allowed; allowed: 1 to 8, what"),
        ("overhead", ["--dependences", "33"], "whole numbers from 1 to 32"),
        ("overhead", ["--spins", "nan"], "'nan' is not allowed; allowed: numbers from 0"),
    ],
)
def test_refuses_what_cannot_be_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, suite: str, words: list[str], field: str
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    done = run(suite, tmp_path, "--cores", "2", *words)
    assert (done.code, done.out, (tmp_path / "out").exists()) == (2, "", False)
    assert field in done.err


def with_mpirun(tmp_path: Path, script: str, *words: str) -> tuple[str, list[str]]:
    """The output, and the calls of a script in the place of mpirun and taskgrain-run."""
    told = f"#!/bin/sh\nprintf '%s\\n' \"$*\" >>{tmp_path}/calls\n" + script.removeprefix("#!/bin/sh")
    path = os.pathsep.join([str(install(tmp_path / "bin", mpirun=told)), os.environ["PATH"]])
    install(tmp_path / "src" / "rt", taskgrain_run=told)
    command = [*RUN, words[0], str(tmp_path / "out"), "--build", str(tmp_path), "--rounds", "1", *words[1:]]
    done = subprocess.run(command, env=os.environ | {"PATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, (tmp_path / "calls").read_text().splitlines()


def test_runs_ranks_by_mpirun(tmp_path: Path) -> None:
    install(tmp_path / "apps", cholesky_taskgrain="", cholesky_starpu="")
    small = ["--sizes", "64", "--blocks", "16", "--block", "16", "--rhos", "1,2", "--cores", "2"]
    output, calls = with_mpirun(tmp_path, right(), "cholesky", *small)
    assert "NOT MEASURED: ScaLAPACK" in output
    assert len(calls) == len(set(calls)), "a table runs again what another has run"
    assert any(call.startswith("-n 2 --bind-to none") and "--rho 2 --threads 1" in call for call in calls)
    assert any(call.startswith("-n 1 --bind-to none") and "--threads 2" in call for call in calls)
    assert all(call.endswith("--validate") for call in calls)


def test_a_program_may_print_what_several_systems_do(tmp_path: Path) -> None:
    install(tmp_path / "bench" / "messages", taskgrain_messages_taskgrain="")
    line = '{"system":"%s","measure":"%s","bytes":16,"seconds":%s}'
    sent = prints(line % ("message", "latency", 2e-6), line % ("large", "latency", 6e-6))
    output, calls = with_mpirun(tmp_path, sent, "messages")
    assert len(calls) == 1 and "there is no taskgrain-messages-mpi" in output
    rows = [row.split() for row in output.splitlines()]
    assert ["16", "message", "2.00", "µs"] in rows and ["large", "6.00", "µs", "3.0", "×"] in rows
