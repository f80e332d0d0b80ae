"""Studies that survive: `kill -9` of anything at any moment, Ctrl-C, and the same command again."""

import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest
from driver_process import runnable
from killable_study import (
    DRIVERS,
    OVERHEADS,
    Forker,
    assert_nothing_twice,
    drivers_below,
    finish,
    lines,
    program,
    size,
    wait_for_growth,
    wait_for_none,
    write_study,
    write_system,
)

from taskgrain._core import descendants
from taskgrain.machine.processes import runs
from taskgrain.results import reader

SUBMISSION, DEEP = pytest.mark.submission, pytest.mark.deep


class Killer:
    """Kills a study's processes again and again, and holds the folder to what it held before."""

    def __init__(self, out: Path, forker: Forker, words: Sequence[str], seed: int) -> None:
        self._out, self._forker, self._words = out, forker, words
        self._dice = random.Random(seed)
        self._harness = 0
        self._stored: tuple[object, ...] = ()
        self.runs_at_risk = 0
        """Runs that were in flight when they were killed."""

    def kill(self, what: str, most_wait: float) -> None:
        """Kills the `harness`, a `driver`, or the whole `group` at some moment."""
        record = self._out / "runs.jsonl"
        before = size(record)
        if not self._harness:
            self._harness = self._forker.start(self._words)
        if self._dice.random() < 0.7:  # else perhaps before it has measured anything
            wait_for_growth(record, before)
        time.sleep(self._dice.uniform(0.0, most_wait))
        assert runs(self._harness), "the study is too short for so many kills"
        self.runs_at_risk += 1
        if what == "driver":
            if drivers := drivers_below(self._harness):
                self._kill([self._dice.choice(drivers)])
            return
        below = descendants([self._harness])
        doomed = [self._harness, *(below if what == "group" else [])]
        self._dice.shuffle(doomed)
        self._kill(doomed)
        wait_for_none([self._harness, *below])
        self._harness = 0
        self._check()

    @staticmethod
    def _kill(pids: Sequence[int]) -> None:
        for pid in pids:
            if psutil.pid_exists(pid):
                os.kill(pid, signal.SIGKILL)

    def _check(self) -> None:
        if not self._stored and not (self._out / "runs.jsonl").exists():
            return  # killed before it had begun
        found = reader.read(self._out)
        assert not found.damaged
        assert found.lines[: len(self._stored)] == self._stored
        self._stored = found.lines
        assert_nothing_twice(self._out)


def table(found: object) -> list[object]:
    assert isinstance(found, dict)
    return [{k: v for k, v in cell.items() if k not in ("time", "elapsed")} for cell in found["cells"]]


def assert_the_record_implies(out: Path, words: Sequence[str], cells: list[object]) -> None:
    """The same command again, and one on a copy that holds nothing but runs, come to the same table."""
    content = (out / "runs.jsonl").read_bytes()
    assert table(finish(words)) == cells
    assert (out / "runs.jsonl").read_bytes() == content

    copy = out.with_name("copy")
    copy.mkdir()
    shutil.copy(out / "study.toml", copy)
    kept = [line for line in content.splitlines(True) if b'"kind": "metg"' not in line]
    (copy / "runs.jsonl").write_bytes(b"".join(kept))
    assert table(finish([str(copy) if word == str(out) else word for word in words])) == cells
    assert len(lines(copy, "run")) == len(lines(out, "run"))


@pytest.mark.usefixtures("simulated")
@pytest.mark.parametrize(
    ("kills", "rounds"), [pytest.param(6, 8, marks=pytest.mark.slow), pytest.param(100, 40, marks=DEEP)]
)
def test_killed_again_and_again_it_loses_nothing(tmp_path: Path, kills: int, rounds: int) -> None:
    words = write_study(tmp_path, min_rounds=rounds, max_rounds=rounds)
    out, journal = tmp_path / "out", tmp_path / "journal"
    with Forker({**os.environ, "FAKE_JOURNAL": str(journal)}, tmp_path / "errors") as forker:
        killer = Killer(out, forker, words, seed=3)
        for number in range(kills):
            killer.kill(("harness", "driver", "group")[number % 3], 0.05)
    cells = table(finish(words, env={**os.environ, "FAKE_JOURNAL": str(journal)}))
    assert "Traceback" not in (tmp_path / "errors").read_text()
    assert_nothing_twice(out)
    assert not lines(out, "failure")
    answered, stored = len(journal.read_text().splitlines()), len(lines(out, "run", "rejected"))
    assert stored <= answered <= stored + killer.runs_at_risk
    assert len(cells) == 4
    for cell in cells:
        assert isinstance(cell, dict)
        assert cell["metg"] == pytest.approx(2 * OVERHEADS[cell["system"]], rel=0.1)
        assert cell["rounds"] == rounds
    assert_the_record_implies(out, words, cells)


REAL = [name for name in ("limit", "mpi", "openmp_task") if name in runnable()]


@pytest.mark.parametrize(
    ("systems", "kills", "rounds"),
    [pytest.param(REAL[:1], 3, 4, marks=SUBMISSION), pytest.param(REAL, 9, 6, marks=DEEP)],
)
@pytest.mark.skipif(not REAL, reason="no system is built")
def test_real_systems_killed_lose_nothing(
    tmp_path: Path, systems: Sequence[str], kills: int, rounds: int
) -> None:
    out = tmp_path / "out"
    words = ["metg", "--system", ",".join(systems), "--width", "8", "-o", str(out)]
    words += ["--min-rounds", str(rounds), "--max-rounds", str(rounds)]
    with Forker(os.environ, tmp_path / "errors") as forker:
        killer = Killer(out, forker, words, seed=5)
        for number in range(kills):
            killer.kill(("harness", "driver", "group")[number % 3], 0.2)
    cells = table(finish(words))
    assert "Traceback" not in (tmp_path / "errors").read_text()
    assert_nothing_twice(out)
    assert not lines(out, "failure")
    assert [cell["system"] for cell in cells if isinstance(cell, dict)] == systems
    assert_the_record_implies(out, words, cells)


@SUBMISSION
@pytest.mark.usefixtures("simulated")
def test_a_killed_driver_is_started_again_and_told_of(tmp_path: Path) -> None:
    words = write_study(tmp_path)
    out = tmp_path / "out"
    with subprocess.Popen(
        [*program(words), "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as harness:
        wait_for_growth(out / "runs.jsonl", 20_000)
        for pid in drivers_below(harness.pid):  # the reference too
            os.kill(pid, signal.SIGKILL)
        _, said = harness.communicate()
    assert harness.returncode == 0, said
    crashes = lines(out, "crash")
    assert 1 <= len(crashes) <= len(OVERHEADS)
    assert "killed by signal 9" in crashes[0]["message"]
    assert "it is tried again" in said
    warnings = {line["cell"]: line["warnings"] for line in lines(out, "metg")}
    for line in crashes:
        assert {"code": "driver_crashed", "crashes": 1} in warnings[line["cell"]]
    assert_nothing_twice(out)


# -- Ctrl-C -----------------------------------------------------------------------------------------------


def stopped(
    words: Sequence[str],
    moment: Path | float,
    numbers: Sequence[signal.Signals] = (signal.SIGINT,),
    lines: int = 10,
) -> tuple[str, str]:
    """Interrupts the command once the file `moment` has got so many lines, or after so many seconds.

    Returns what it shows on standard output, and what it says on standard error. It must end without asking
    its drivers, and leave no process.
    """
    before = size(moment) if isinstance(moment, Path) else 0
    with subprocess.Popen(
        program(words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as harness:
        if isinstance(moment, Path):
            wait_for_growth(moment, before + 300 * (lines - 1))
            moment = 0.3
        time.sleep(moment)
        below = descendants([harness.pid])
        for number in numbers:
            harness.send_signal(number)
            time.sleep(0.02)
        shown, said = harness.communicate()
    assert harness.returncode in (130, -signal.SIGINT), said
    # Python itself ends with a trace until it has come to the program.
    assert "Traceback" not in said or "python/taskgrain/" not in said
    wait_for_none(below)
    return shown, said


@pytest.mark.usefixtures("simulated")
@pytest.mark.parametrize(
    "numbers",
    [
        pytest.param((signal.SIGINT,), marks=pytest.mark.slow, id="int"),
        pytest.param((signal.SIGTERM,), marks=SUBMISSION, id="term"),
        pytest.param((signal.SIGHUP,), marks=DEEP, id="hup"),
        pytest.param((signal.SIGINT,) * 5, marks=DEEP, id="five"),
    ],
)
def test_an_interrupt_says_how_to_go_on(tmp_path: Path, numbers: Sequence[signal.Signals]) -> None:
    words = write_study(tmp_path, min_rounds=40)
    _, said = stopped(words, tmp_path / "out" / "runs.jsonl", numbers)
    assert "taskgrain: interrupted; the same command goes on from here" in said
    assert not reader.read(tmp_path / "out").torn
    if len(numbers) > 1:
        finish(words)
        assert_nothing_twice(tmp_path / "out")


@pytest.mark.usefixtures("simulated")
@pytest.mark.parametrize(
    "number", [pytest.param(signal.SIGINT, marks=SUBMISSION), pytest.param(signal.SIGTERM, marks=DEEP)]
)
def test_an_interrupt_shows_the_table_so_far(tmp_path: Path, number: signal.Signals) -> None:
    write_system(tmp_path, "bad", str(DRIVERS / "hostile.py"), "hangs", "1000000")
    words = write_study(tmp_path, systems=["fast", "slow", "bad"], min_rounds=1000, max_rounds=1000)
    runs = tmp_path / "out" / "runs.jsonl"
    shown, said = stopped([*words, "--json"], runs, (number,), lines=100)
    assert "taskgrain: interrupted; the same command goes on from here" in said
    found = json.loads(shown)
    assert found["interrupted"] and found["output"] == str(tmp_path / "out") and not found["failures"]
    assert {cell["ending"] for cell in found["cells"]} == {"unfinished"} and len(found["cells"]) == 6
    for cell in found["cells"]:
        if cell["metg"] is not None and cell["system"] in OVERHEADS:
            assert cell["metg"] == pytest.approx(2 * OVERHEADS[cell["system"]], rel=0.3)
        assert not [one for one in cell["warnings"] if one["code"].startswith("budget_")]
    assert any(cell["metg"] for cell in found["cells"])
    written = {line["cell"]: line for line in lines(tmp_path / "out", "metg")}
    for cell in found["cells"]:  # what is shown is what the folder says
        line = written.get(cell["cell"], {"ending": "unfinished", "metg": None})
        assert (line["ending"], line["metg"]) == (cell["ending"], cell["metg"])

    shown, _ = stopped(words, runs, (number,), lines=5)
    assert "not measured" in shown or "unfinished" in shown or "µs" in shown
    assert f"results: {tmp_path / 'out'}" in shown
    assert_nothing_twice(tmp_path / "out")


@SUBMISSION
@pytest.mark.usefixtures("simulated")
def test_an_interrupt_in_a_pipe_whose_reader_has_gone(tmp_path: Path) -> None:
    words = write_study(tmp_path, min_rounds=1000, max_rounds=1000)
    read, write = os.pipe()
    with subprocess.Popen(program(words), stdout=write, stderr=subprocess.PIPE, text=True) as harness:
        os.close(write)
        wait_for_growth(tmp_path / "out" / "runs.jsonl", 3_000)
        os.close(read)
        harness.send_signal(signal.SIGINT)
        _, said = harness.communicate()
    assert harness.returncode == 130, said
    assert "Traceback" not in said and "Exception" not in said
    assert said.endswith("taskgrain: interrupted; the same command goes on from here\n")


@SUBMISSION
@pytest.mark.usefixtures("simulated")
@pytest.mark.parametrize("mode", ["hangs", "ignores_quit", "spinning", "hangs_at_start"])
def test_an_interrupt_ends_drivers_that_do_not_listen(tmp_path: Path, mode: str) -> None:
    write_system(tmp_path, "bad", str(DRIVERS / "hostile.py"), mode, "0" if mode == "hangs" else "1000000")
    words = write_study(tmp_path, systems=["bad"], min_rounds=1000, max_rounds=1000)
    _, said = stopped(words, tmp_path / "out" / "runs.jsonl", lines=1)
    assert "taskgrain: interrupted" in said
    assert not lines(tmp_path / "out", "failure"), "it has not waited until their time was over"
    logs = [file.read_text() for file in (tmp_path / "out" / "logs").iterdir()]
    assert logs and not any("asked to quit" in log for log in logs)


@SUBMISSION
@pytest.mark.usefixtures("simulated")
def test_an_interrupt_of_a_single_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_system(tmp_path, "bad", str(DRIVERS / "hostile.py"), "hangs", "0")
    words = ["run", "--system", "bad", "--systems", str(tmp_path / "systems")]
    monkeypatch.setenv("HOSTILE_JOURNAL", str(tmp_path / "journal"))
    assert stopped(words, tmp_path / "journal", lines=1)[1] == "taskgrain: interrupted\n"


@SUBMISSION
@pytest.mark.usefixtures("simulated")
def test_an_interrupt_at_any_moment_of_the_start(tmp_path: Path) -> None:
    words = write_study(tmp_path, min_rounds=100, max_rounds=100)
    for seconds in (0.2, 0.4, 0.6, 0.8, 1.0):
        stopped(words, seconds)


@SUBMISSION
@pytest.mark.skipif(not REAL, reason="no system is built")
def test_an_interrupt_of_real_systems(tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ["metg", "--system", ",".join(REAL), "--width", "8", "-o", str(out), "--budget", "60"]
    for _ in range(3):
        shown, said = stopped(words, out / "runs.jsonl")
        assert "the same command goes on from here" in said
        assert "METG(50 %)" in shown and "unfinished" in shown
    assert_nothing_twice(out)
