"""Steps on a machine that may have no network and few packages: tools/gpu-check and tools/many-cores.

`tools/gpu-check pack` fetches what both then use there.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
PACKAGES = REPOSITORY / "build" / "gpu-check" / "packages.tar.gz"
PROGRAMS_OF_THE_HARNESS = ("taskgrain-reference", "taskgrain-supervisor")
OPEN_MPI_TAKES = dict.fromkeys(("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"), "1")
OWN_PYTHON = REPOSITORY / ".venv" / "bin" / "python"  # that of `make setup`
PYTHON = str(OWN_PYTHON) if OWN_PYTHON.exists() else sys.executable


class Steps:
    """Steps within a time, each also where others fail. The folder `out` gets a log, and a summary after
    each step."""

    def __init__(self, name: str, out: Path, seconds: float) -> None:
        out.mkdir(parents=True, exist_ok=True)
        self.out, self.end = out.resolve(), time.monotonic() + seconds
        self.log = open(out / f"{name}.log", "w", encoding="utf-8", buffering=1)  # noqa: SIM115
        self.steps: list[dict[str, Any]] = []
        self.work = REPOSITORY / "build" / name / "work"
        self.source, self.build = REPOSITORY, self.work / "build"
        self.package = self.work / "python" / "taskgrain"  # as an installation has it
        self.systems = self.package / "systems"
        self.environment = os.environ | OPEN_MPI_TAKES
        self.put_first("PYTHONPATH", self.package.parent)
        self.put_first("PATH", Path("/usr/local/cuda/bin"))

    def put_first(self, variable: str, *places: Path) -> None:
        words = [*map(str, places), self.environment.get(variable)]
        self.environment[variable] = ":".join(filter(None, words))

    @property
    def left(self) -> float:
        """The seconds until the end."""
        return self.end - time.monotonic()

    def step(self, title: str, action: Callable[..., str], *arguments: Any) -> None:
        """Calls an action, which returns what it found, or raises."""
        self.say(f"\n=== {title}")
        start, ok = time.monotonic(), False
        try:
            if self.left < 5:
                raise RuntimeError("no time was left")
            found, ok = action(*arguments), True
        except Exception as error:
            found = f"{error}" if isinstance(error, RuntimeError) else repr(error)
        took = round(time.monotonic() - start, 1)
        self.steps.append({"step": title, "ok": ok, "seconds": took, "found": found})
        (self.out / "summary.json").write_text(json.dumps(self.steps, indent=1))
        self.say(f"{'ok' if ok else 'FAIL'}, {took} s: {found}")

    def say(self, text: str) -> None:
        print(text, flush=True)
        self.log.write(text + "\n")

    def call(self, *words: object, limit: float, text: str = "", interrupted: int = 0) -> str:
        """Returns the standard output of a command. The log has all of its output. A command that shows its
        results when it is interrupted ends at the limit with the code `interrupted`: no error."""
        self.log.write(f"$ {' '.join(map(str, words))}\n")
        # `timeout` ends whole groups of processes, such as those of mpirun.
        limit = max(1, min(limit, self.left))
        signal = ["--preserve-status", "--signal", "INT"] if interrupted else []
        shows = 3 if interrupted else 0  # seconds of the limit, in which it shows what it has
        times = [f"--kill-after={5 + shows}", *signal, str(max(1, limit - shows))]
        command = ["timeout", *times, *map(str, words)]
        done = subprocess.run(command, input=text, capture_output=True, text=True, errors="replace",
                              env=self.environment, cwd=self.work)  # fmt: skip
        self.log.write(done.stdout + done.stderr)
        if done.returncode not in (0, interrupted):
            first = (done.stderr.strip() or done.stdout.strip()).splitlines()[:1]
            raise RuntimeError(f"{Path(str(words[0])).name} ended with {done.returncode}: {''.join(first)}")
        return done.stdout

    def over(self) -> int:
        """Says which steps failed, and returns the exit code."""
        failed = [one["step"] for one in self.steps if not one["ok"]]
        self.say(f"\n{len(self.steps)} steps, {len(failed)} failed: {', '.join(failed) or '-'}")
        return 1 if failed else 0

    # The first steps, in their order.

    def unpack(self) -> str:
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)
        if not PACKAGES.exists():
            return "there is nothing; what this machine has must do"
        with tarfile.open(PACKAGES) as tar:
            tar.extractall(self.work, filter="tar")
        usr = self.work / "usr"
        libraries, blas = list(usr.glob("lib/*-linux-gnu")), list(usr.glob("lib/*-linux-gnu/openblas-serial"))
        self.put_first("PATH", usr / "bin")
        self.put_first("LD_LIBRARY_PATH", *libraries, *blas)
        self.put_first("CMAKE_LIBRARY_PATH", *blas)
        self.put_first("PKG_CONFIG_PATH", *(one / "pkgconfig" for one in libraries))
        self.put_first("CMAKE_PREFIX_PATH", usr)
        self.put_first("CPATH", usr / "include", *usr.glob("include/*-linux-gnu"))
        self.put_first("PYTHONPATH", usr / "site")
        return f"{sum(1 for _ in usr.rglob('*'))} files"

    def configure(self, *words: str) -> str:
        nanobind = self.call(PYTHON, "-m", "nanobind", "--cmake_dir", limit=20).strip()
        words += ("-DTASKGRAIN_PYTHON=ON", f"-DPython_EXECUTABLE={PYTHON}", f"-Dnanobind_DIR={nanobind}")
        words += ("-G", "Ninja") if shutil.which("ninja", path=self.environment["PATH"]) else ()
        self.call("cmake", "-S", self.source, "-B", self.build, *words, limit=60)
        return "done"

    def make(self, *targets: str) -> str:
        jobs = str(len(os.sched_getaffinity(0)))
        on = ("-k", "0") if (self.build / "build.ninja").exists() else ("-k",)  # also where a target fails
        self.call(
            "cmake", "--build", self.build, "--parallel", jobs, "--target", *targets, "--", *on, limit=600
        )
        return ", ".join(targets)

    def install(self, *systems: str) -> str:
        """Installs by hand: `cmake --install` wants all targets."""
        shutil.copytree(self.source / "python" / "taskgrain", self.package)
        (self.package / "bin").mkdir()
        facts = self.package.parent / "taskgrain-0.dist-info"
        facts.mkdir()
        (facts / "METADATA").write_text("Name: taskgrain\nVersion: 0\n")
        for name in systems:
            shutil.copytree(self.source / "systems" / name, self.systems / name)
            for driver in (self.build / "systems" / name).glob("driver*"):
                shutil.copy(driver, self.systems / name)
        for program in (*PROGRAMS_OF_THE_HARNESS, "cuda/taskgrain-reference-cuda"):
            if (built := self.build / "src" / program).exists():
                shutil.copy(built, self.package / "bin")
        for core in self.build.glob("src/_core*.so"):
            shutil.copy(core, self.package)
        return "done"
