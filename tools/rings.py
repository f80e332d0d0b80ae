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
import hashlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOGS = ROOT / "build" / "rings"
SHOWN = 1000
"""How many lines of a stage that failed are shown."""
COUNTED = re.compile(r"\d+ passed|tests passed|^(models|aarch64): ")
"""A line in which a tool says how much it has tested."""
NOTHING = re.compile(r"NOT (TESTED|CHECKED)")
"""What a tool says that lacks what it needs, and ends without an error."""
SET_UP = "set-up"
BUILD = ("CMakeLists.txt", "CMakePresets.json", "Makefile", "cmake", "tools/rings.py")
RUNTIME = (*BUILD, "include/taskgrain/rt.hpp", "include/taskgrain/rt", "src/rt", "tests/cpp", "examples/rt")


@dataclass(frozen=True)
class Stage:
    """A part of a ring: a command that ends with 0 if it passes."""

    name: str
    command: str
    minutes: float
    """What it takes on two quiet cores, with nothing compiled before."""
    reads: tuple[str, ...] = (".",)
    """Files and folders that decide whether it passes."""


@dataclass(frozen=True)
class Ring:
    """Some tests that run together, and what is told about those that do not."""

    stages: tuple[Stage, ...]
    left_out: str


RINGS = {
    "test": Ring(
        (
            Stage("lint", "make lint", 0.5),
            Stage("C++", "make test-cpp", 5),
            Stage("Python", "make test-python", 4),
            Stage("drivers", "make test-drivers", 2),
        ),
        "`make test-ci`: sanitizers, models, apps/, installations, most slow tests and slow systems. "
        "`make test-deep`: rare schedules, the other MPI, statistics, many kills, mutations, 64-bit Arm.",
    ),
    "submission": Ring(
        (
            Stage("apps and installations", "make test-cpp RING=submission", 3),
            Stage("schedules", "make test-schedules", 0.7, RUNTIME),
            Stage("ThreadSanitizer", "make test-tsan", 5, RUNTIME),
            Stage("AddressSanitizer", "make test-asan", 5, RUNTIME),
            Stage("models", "make models", 1.5, ("models",)),
            Stage("Python", "make test-python RING=submission", 2),
            Stage("drivers", "make test-drivers RING=submission", 4),
        ),
        "`make test-deep`: rare schedules, sanitizers with more rounds, the other MPI, statistics, many "
        "kills, mutations, 64-bit Arm.",
    ),
    "deep": Ring(
        (
            Stage("Python", "make test-python RING=deep", 10),
            Stage("drivers", "make test-drivers RING=deep", 15),
            Stage("C++", "make test-cpp RING=deep", 10),
            Stage("schedules", "make test-schedules RING=deep", 15, RUNTIME),
            Stage("ThreadSanitizer", "make test-tsan RING=deep", 12, RUNTIME),
            Stage("AddressSanitizer", "make test-asan RING=deep", 18, RUNTIME),
            Stage("mutations of schedules", "tests/cpp/rt/schedule/mutations --starts 1", 7, RUNTIME),
            Stage("mutations of ranks", "tests/cpp/rt/comm/mutations --starts 1", 10, RUNTIME),
            Stage("64-bit Arm", "make test-aarch64", 15),
        ),
        "speed, which `make bench` and `make bench-metg` measure, and what needs a GPU (`tools/gpu-check`).",
    ),
}


def digest(stage: Stage) -> str:
    """What decides whether a stage passes: its command, the groups of systems, and the files that it reads.

    Empty where git does not know them.
    """
    names = git("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *stage.reads)
    if names is None:
        return ""
    groups = ROOT / ".venv" / ".groups"
    found = hashlib.sha256(stage.command.encode())
    for file in [groups, *(ROOT / name for name in sorted(names.split("\0")) if name)]:
        if file.is_file():
            found.update(f"{file}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return found.hexdigest()


def git(*words: str) -> str | None:
    """What git says, if it says it without an error."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def tested_before() -> str | None:
    """The last commit that is known to have passed: a tag, or where this branch left the default one."""
    tag = git("describe", "--tags", "--abbrev=0")
    commit = git("rev-parse", f"{tag}^{{commit}}") if tag else git("merge-base", "HEAD", "origin/HEAD")
    return None if commit == git("rev-parse", "HEAD") else commit


def unchanged(stage: Stage, since: str) -> bool:
    new = git("ls-files", "--others", "--exclude-standard", "--", *stage.reads)
    return new == "" and git("diff", "--quiet", since, "--", *stage.reads) is not None


def clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}"


def run(stage: Stage, log: Path) -> tuple[bool, float, float]:
    """Whether a stage passes, and its seconds: by the clock, and of processors."""
    begun, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    with log.open("wb") as out:
        words = ["bash", "-euo", "pipefail", "-c", stage.command]
        process = subprocess.Popen(
            words,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            passed = process.wait() == 0
        except KeyboardInterrupt:
            with suppress(ProcessLookupError, subprocess.TimeoutExpired):
                os.killpg(process.pid, signal.SIGINT)
                process.wait(10)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # also what does not hear interrupts
            raise
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return passed, time.monotonic() - begun, used


def told(log: Path, passed: bool) -> str:
    """What the last lines of a stage say, if it passed; else its output."""
    lines = log.read_text("utf-8", errors="replace").splitlines()
    if passed:
        return "".join(f"\n      {line.strip('= ')}" for line in lines if COUNTED.search(line.strip("= ")))
    left = f"… {len(lines) - SHOWN} lines more in {log}\n" if len(lines) > SHOWN else ""
    return "\n" + left + "\n".join(lines[-SHOWN:])


def run_all(name: str, stages: Sequence[Stage], since: str | None, anew: bool, left_out: str) -> int:
    """Runs stages but those that are known to pass, and tells how each has ended."""
    LOGS.mkdir(parents=True, exist_ok=True)
    memory = LOGS / "deep.json"
    passed_before: dict[str, str] = {}
    if name == "deep" and not anew and memory.exists():
        passed_before = json.loads(memory.read_text())
    ended: list[tuple[str, str]] = []
    left = 60 * sum(stage.minutes for stage in stages)
    for number, stage in enumerate(stages, 1):
        heading = f"{number}/{len(stages)} {stage.name}"
        left -= 60 * stage.minutes
        now = digest(stage) if name == "deep" and stage.name != SET_UP else ""
        if now and passed_before.get(stage.name) == now:
            ended.append((stage.name, "has passed before"))
        elif since and unchanged(stage, since):
            ended.append((stage.name, f"left out: nothing that it reads has changed since {since[:12]}"))
        else:
            takes = f"about {clock(60 * stage.minutes)}, then {clock(left)}"
            print(f"{heading}: `{stage.command}`, {takes}", flush=True)
            log = LOGS / f"{name}-{stage.name.replace(' ', '-')}.log"
            passed, seconds, used = run(stage, log)
            took = f"in {clock(seconds)}, with {clock(used)} of processor time"
            how = f"{'passed' if passed else 'FAILED'} {took}"
            print(f"    {how}{told(log, passed)}", flush=True)
            lacking = passed and NOTHING.search(log.read_text("utf-8", errors="replace"))
            ended.append((stage.name, f"{how}, but {lacking[0]}" if lacking else how))
            if now and passed and not lacking:
                passed_before[stage.name] = now
                whole = memory.with_suffix(".part")
                whole.write_text(json.dumps(passed_before, indent=1))
                whole.replace(memory)
            if stage.name == SET_UP and not passed:
                break
    print(f"\n{name}:")
    print(*(f"  {stage:24} {how}" for stage, how in ended), sep="\n")
    print(f"Not tested here: {left_out}")
    return 1 if any(how.startswith("FAILED") for _, how in ended) else 0


def main(words: Sequence[str] | None = None, rings: Mapping[str, Ring] = RINGS) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ring", choices=rings)
    parser.add_argument(
        "stages", nargs="*", metavar="STAGE", help="only these of its stages, without a set-up"
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
        "default since the last tag, or since this branch has left that of `origin`; `nothing`: none",
    )
    parser.add_argument("--anew", action="store_true", help="in the deep ring, forget what has passed")
    asked = parser.parse_args(words)
    ring = rings[asked.ring]
    names = [stage.name for stage in ring.stages]
    for name in asked.stages:
        if name not in names:
            parser.error(f"STAGE: '{name}' is not allowed; allowed: {', '.join(names)}")
    stages = [stage for stage in ring.stages if not asked.stages or stage.name in asked.stages]
    if asked.list:
        print(
            *(f"{one.name:24} {clock(60 * one.minutes):>6} min   {one.command}" for one in stages), sep="\n"
        )
        return 0
    since = asked.since or (tested_before() if asked.ring == "submission" else None)
    if (
        since
        and since != "nothing"
        and git("rev-parse", "--verify", "--quiet", f"{since}^{{commit}}") is None
    ):
        parser.error(f"--since: '{since}' is not allowed; allowed: a commit that git knows, and `nothing`")
    if not asked.stages:
        stages.insert(0, Stage(SET_UP, "make setup-dev", 5))
    # What each stage calls of `make` sees it, and nothing of the `make` that has called this.
    os.environ["MAKEFLAGS"] = f"--no-print-directory GROUPS={asked.groups}"
    return run_all(asked.ring, stages, None if since == "nothing" else since, asked.anew, ring.left_out)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("interrupted; the deep ring goes on from here if you call it again", file=sys.stderr)
        sys.exit(130)
