#!/usr/bin/env python3
"""Runs a ring of tests, stage by stage.

    tools/rings.py test          `make test`: at most 15 minutes on two cores after set-up
    tools/rings.py submission    `make test-ci`: what a submission needs besides
    tools/rings.py deep          `make test-deep`: all the rest, for hours; called again, it goes on

A stage that fails does not end the others, because only all of them tell what is wrong; but a set-up that
fails ends all. What a stage prints goes into build/rings, and is shown if it fails. Ends with 1 if one
has failed.
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import hashlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import requirements

ROOT = Path(__file__).resolve().parents[1]
LOGS = ROOT / "build" / "rings"
SHOWN = 1000
"""The number of lines that are shown of a stage that failed."""
COUNTED = re.compile(r"\b\d{1,9} passed|tests passed|^(models|aarch64): ")
"""A line in which a tool says how much it has tested."""
FAILED = re.compile(
    r"^(FAILED|ERROR) |\((Failed|Timeout|Not Run|SEGFAULT|Subprocess aborted)\)|\berror:|NOT FOUND|WRONG"
)
"""A line in which a tool names what has failed."""
SKIPPED = re.compile(r"SKIPPED \[(\d+)\] \S+: (.*)|\d+ - (\S+) \((Skipped|Disabled)\)")
"""A line in which pytest or CTest names what it has skipped."""
OTHERS = re.compile(r"(GTEST|PYTEST|TASKGRAIN_TEST|MAKE|CTEST)")
"""The beginnings of names of variables that would change what the tests do."""
NOTHING = re.compile(r"NOT (TESTED|CHECKED)")
"""The words of a tool that lacks what it needs, and ends without an error."""
SET_UP = "set-up"
BUILD = ("CMakeLists.txt", "CMakePresets.json", "Makefile", "cmake", "tools/rings.py")
RUNTIME = (*BUILD, "include/taskgrain/rt.hpp", "include/taskgrain/rt", "src/rt", "tests/cpp", "examples/rt")


@dataclass(frozen=True)
class Stage:
    """A part of a ring: a command that ends with 0 if it passes."""

    name: str
    command: str
    minutes: float
    """The minutes that it takes on two quiet cores, with nothing compiled before."""
    reads: tuple[str, ...] = (".",)
    """Files and folders that decide whether it passes."""


@dataclass(frozen=True)
class Ring:
    """Some tests that run together, and what is told about those that do not."""

    stages: tuple[Stage, ...]
    left_out: str


NAMES = {"test-ci": "submission", "ci": "submission", "test-deep": "deep"}
"""The names of the rings as targets of make."""
RINGS = {
    "test": Ring(
        (
            Stage("lint", "make lint", 0.3),
            Stage("C++", "make test-cpp", 6.5),
            Stage("Python", "make test-python", 6),
            Stage("drivers", "make test-drivers", 3),
        ),
        "`make test-ci`: sanitizers, simulated schedules, models, apps/, installations, most slow tests and "
        "slow systems. `make test-deep`: rare schedules, the other MPI, METG of slow systems, statistics, "
        "many kills, mutations, 64-bit Arm.",
    ),
    "submission": Ring(
        (
            Stage("apps and installations", "make test-cpp RING=submission", 1.5),
            Stage("schedules", "make test-schedules", 1.5, RUNTIME),
            Stage("ThreadSanitizer", "make test-tsan", 6, RUNTIME),
            Stage("AddressSanitizer", "make test-asan", 5, RUNTIME),
            Stage("models", "make models", 0.7, ("models",)),
            Stage("Python", "make test-python RING=submission", 6),
            Stage("drivers", "make test-drivers RING=submission", 1.5),
            Stage("groups", "make test-python test-drivers RING=groups", 3),
        ),
        "`make test-deep`: rare schedules, sanitizers with more rounds, the other MPI, METG of slow "
        "systems, statistics, many kills, mutations, 64-bit Arm.",
    ),
    "deep": Ring(
        (
            Stage("Python", "make test-python RING=deep", 8),
            Stage("all examples in Python", "make test-python RING=examples", 4),
            Stage("drivers", "make test-drivers RING=deep", 10),
            Stage("C++", "make test-cpp RING=deep", 8),
            Stage("schedules", "make test-schedules RING=deep", 8, RUNTIME),
            Stage("ThreadSanitizer", "make test-tsan RING=deep", 12, RUNTIME),
            Stage("AddressSanitizer", "make test-asan RING=deep", 18, RUNTIME),
            Stage("mutations of schedules", "tests/cpp/rt/schedule/mutations --starts 1", 7, RUNTIME),
            Stage("mutations of ranks", "tests/cpp/rt/comm/mutations --starts 1", 3, RUNTIME),
            Stage("64-bit Arm", "make test-aarch64", 15),
        ),
        "speed, which `make bench` and `make bench-metg` measure, and what needs a GPU (`tools/gpu-check`).",
    ),
}


def digest(stage: Stage) -> str:
    """A digest of all that decides whether a stage passes: its command, the groups of systems, and the files
    that it reads.

    Empty where git does not know them.
    """
    names = git("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *stage.reads)
    if not names:
        return ""
    groups = ROOT / ".venv" / ".groups"
    found = hashlib.sha256(stage.command.encode())
    for file in [groups, *(ROOT / name for name in sorted(names.split("\0")) if name)]:
        if file.is_file():
            contents = hashlib.sha256(file.read_bytes()).digest()
            found.update(os.fsencode(f"{file}\0{file.stat().st_mode}\0") + contents)
    return found.hexdigest()


def git(*words: str) -> str | None:
    """The answer of git about this checkout, if it has one without an error."""
    try:
        where, done = (
            subprocess.run(["git", *one], cwd=ROOT, capture_output=True, text=True, errors="surrogateescape")
            for one in (("rev-parse", "--show-toplevel"), words)
        )
    except OSError:
        return None
    known = where.returncode == 0 and Path(where.stdout.rstrip("\n")).samefile(ROOT)
    return done.stdout.strip() if known and done.returncode == 0 else None


def tested_before() -> str | None:
    """The last commit that is known to have passed: a version, or where this branch left the default one."""
    tag = git("describe", "--tags", "--abbrev=0", "--match", "v[0-9]*")
    commit = git("rev-parse", f"{tag}^{{commit}}") if tag else git("merge-base", "HEAD", "origin/HEAD")
    return None if commit == git("rev-parse", "HEAD") else commit


def unchanged(stage: Stage, since: str) -> bool:
    new = git("ls-files", "--others", "--exclude-standard", "--", *stage.reads)
    return new == "" and git("diff", "--quiet", since, "--", *stage.reads) is not None


def clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02} min"


def run(stage: Stage, log: Path, environment: Mapping[str, str], lock: int) -> tuple[bool, float, float]:
    """Tells whether a stage passes, and its seconds by the clock and of processors; keeps `lock` open."""
    begun, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    with log.open("wb") as out:
        process = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", stage.command],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=(lock,),
        )
        try:
            passed = process.wait() == 0
        except BaseException:
            for sign in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(sign, signal.SIG_IGN)
            with suppress(ProcessLookupError, subprocess.TimeoutExpired):
                os.killpg(process.pid, signal.SIGINT)
                process.wait(10)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # also what does not hear interrupts
            raise
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return passed, time.monotonic() - begun, used


def adopt_orphans() -> None:
    """Makes all that a stage starts and leaves behind, from now on, a child of this process (Linux)."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def kill_orphans() -> None:
    """Kills what an interrupted stage has left in sessions of its own, and what that has started."""
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    with suppress(OSError):
        while left := children.read_text().split():
            for number in map(int, left):
                with suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
                with suppress(ChildProcessError):
                    os.waitpid(number, 0)


def lines_of(log: Path, pattern: re.Pattern[str]) -> list[str]:
    found = (line.strip("= ")[:200] for line in printable(log))
    return [line for line in found if pattern.search(line)]


def printable(log: Path) -> list[str]:
    lines = log.read_text("utf-8", errors="replace").split("\n")
    return ["".join(one if one.isprintable() else " " for one in line[:2000]) for line in lines]


def groups_left_out() -> list[str]:
    """The groups of systems that are not set up in this checkout."""
    found = ROOT / ".venv" / ".groups"
    done = set(found.read_text().split()) if found.exists() else set()
    return sorted(set(requirements.lines("groups")) - done) if done else []


def remembered(file: Path) -> dict[str, str]:
    """The digests of stages that have passed, or nothing if the file does not have them."""
    with suppress(OSError, ValueError):
        found = json.loads(file.read_text())
        if isinstance(found, dict):
            return {str(name): str(one) for name, one in found.items()}
    return {}


def remember(file: Path, passed: dict[str, str]) -> None:
    whole = file.with_suffix(".part")
    try:
        whole.write_text(json.dumps(passed, indent=1))
        whole.replace(file)
    except OSError as error:
        print(f"    cannot be remembered: {error}")


class Call:
    """One call: runs stages, and tells how each has ended."""

    def __init__(self, name: str, left_out: str, groups: str) -> None:
        self.name, self.left_out = name, left_out
        self.ended: list[tuple[str, str]] = []
        self.skipped = Counter[str]()
        self.environment = {key: one for key, one in os.environ.items() if not OTHERS.match(key)}
        for key in sorted({*os.environ} - {*self.environment}):
            if not key.startswith("MAKE"):
                print(f"{key} of your shell does not count here")
        # What each stage calls of `make` sees it, and nothing of the `make` that has called this.
        self.environment["MAKEFLAGS"] = f"--no-print-directory GROUPS={groups}"

    def run(self, stages: Sequence[Stage], since: str | None, chosen: bool, anew: bool, lock: int) -> None:
        """All but those that are known to pass, unless they are `chosen` by name."""
        memory = LOGS / "deep.json"
        passed_before = remembered(memory)
        left = 60 * sum(stage.minutes for stage in stages)
        for number, stage in enumerate(stages, 1):
            left -= 60 * stage.minutes
            before = digest(stage) if self.name == "deep" and stage.name != SET_UP else ""
            if before and passed_before.get(stage.name) == before and not (chosen or anew):
                self.ended.append((stage.name, "has passed before"))
            elif since and stage.name != SET_UP and unchanged(stage, since):
                why = f"left out: nothing that it reads has changed since {since[:12]}"
                self.ended.append((stage.name, why))
            else:
                log = LOGS / f"{self.name}-{stage.name.replace(' ', '-')}.log"
                print(f"{number}/{len(stages)} {stage.name}: `{stage.command}` >{log.relative_to(ROOT)}")
                print(f"    takes about {clock(60 * stage.minutes)}, and then {clock(left)}", flush=True)
                self.ended.append((stage.name, "INTERRUPTED"))
                passed, seconds, used = run(stage, log, self.environment, lock)
                self.tell(stage, log, passed, f"in {clock(seconds)}, with {clock(used)} of processor time")
                if passed_before.pop(stage.name, ""):
                    remember(memory, passed_before)
                if before and self.ended[-1][1].startswith("passed") and digest(stage) == before:
                    passed_before[stage.name] = before
                    remember(memory, passed_before)
                if stage.name == SET_UP and not passed:
                    break

    def tell(self, stage: Stage, log: Path, passed: bool, took: str) -> None:
        how = f"{'passed' if passed else 'FAILED'} {took}"
        print(f"    {how}", *lines_of(log, COUNTED), sep="\n      ")
        for line in lines_of(log, SKIPPED):
            if found := SKIPPED.match(line):
                self.skipped[found[2] or f"{found[3]} (CTest)"] += int(found[1] or 1)
        if not passed:
            lines = printable(log)
            if len(lines) > SHOWN:
                print(f"… {len(lines) - SHOWN} lines more in {log}")
            print(*lines[-SHOWN:], sep="\n", flush=True)
            how = "\n      ".join([f"{how}: {log}", *lines_of(log, FAILED)[:20]])
        elif lacking := lines_of(log, NOTHING):
            how = f"NOT TESTED: {lacking[0]}"
        self.ended[-1] = (stage.name, how)

    def summary(self) -> int:
        print(f"\n{self.name}:")
        print(*(f"  {stage:24} {how}" for stage, how in self.ended), sep="\n")
        print(f"Not tested here: {self.left_out}")
        if self.skipped:
            reasons = (f"  {number:4} {why}" for why, number in sorted(self.skipped.items()))
            print("Skipped:", *reasons, sep="\n")
        if lacking := groups_left_out():
            print(f"Not set up, and so not tested: systems of {', '.join(lacking)} (GROUPS=all)")
        sys.stdout.flush()
        return 1 if any(how.startswith("FAILED") for _, how in self.ended) else 0


def arguments(words: Sequence[str] | None, rings: Mapping[str, Ring]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ring", choices=rings, type=lambda name: NAMES.get(name, name))
    parser.add_argument(
        "stages",
        nargs="*",
        metavar="STAGE",
        help="only these of its stages, in any case and without a set-up",
    )
    parser.add_argument(
        "--list", action="store_true", help="show the stages, how long each takes, and what it runs"
    )
    parser.add_argument(
        "--groups", default="default", help="the systems to set up first, such as `default,ray` or `all`"
    )
    parser.add_argument(
        "--since",
        metavar="COMMIT",
        help="in a submission, leave out each stage that reads no file which has changed since then; by "
        "default since the last version, or since this branch has left that of `origin`; `nothing`: none",
    )
    parser.add_argument("--anew", action="store_true", help="in the deep ring, also run what has passed")
    asked = parser.parse_intermixed_args(words)
    names = [stage.name for stage in rings[asked.ring].stages]
    for name in asked.stages:
        if name not in names:
            parser.error(f"STAGE: '{name}' is not allowed; allowed: {', '.join(names)}")
    if not re.fullmatch(r"[a-z0-9_]+(,[a-z0-9_]+)*", asked.groups):
        parser.error(f"--groups: '{asked.groups}' is not allowed; allowed: `all`, and names with commas")
    asked.since = asked.since or (tested_before() if asked.ring == "submission" else None)
    if asked.since == "nothing":
        asked.since = None
    elif asked.since and git("rev-parse", "--verify", "--quiet", f"{asked.since}^{{commit}}") is None:
        parser.error(
            f"--since: '{asked.since}' is not allowed; allowed: `nothing`, and a commit that git knows"
        )
    return asked


def main(words: Sequence[str] | None = None, rings: Mapping[str, Ring] = RINGS) -> int:
    asked = arguments(words, rings)
    ring = rings[asked.ring]
    stages = [stage for stage in ring.stages if not asked.stages or stage.name in asked.stages]
    if not asked.stages:
        stages.insert(0, Stage(SET_UP, "make setup-dev", 5))
    if asked.list:
        for one in [*stages, Stage("all", "", sum(stage.minutes for stage in stages))]:
            print(f"{one.name:24} {clock(60 * one.minutes):>10}   {one.command}")
        return 0
    LOGS.mkdir(parents=True, exist_ok=True)
    with (LOGS / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("rings: another ring runs in this checkout, or what one has left", file=sys.stderr)
            return 1
        call = Call(asked.ring, ring.left_out, asked.groups)
        adopt_orphans()
        try:
            call.run(stages, asked.since, bool(asked.stages), asked.anew, lock.fileno())
        except KeyboardInterrupt:
            kill_orphans()  # also a stage that was just being started
            call.summary()
            raise
        return call.summary()


if __name__ == "__main__":
    for sign in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(sign, signal.default_int_handler)
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("rings: interrupted", file=sys.stderr)
        sys.exit(130)
    except OSError as error:
        sys.exit(f"rings: {error}")
