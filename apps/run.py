"""GEMM, Cholesky and the overhead of tasks: the runtime beside OpenMP, StarPU and ScaLAPACK.

    python apps/run.py gemm FOLDER [--sizes 512,1024,2048] [--blocks 32,64,128,256] [--systems "StarPU"]

It builds the programs, runs all systems in turn, prints a table for each question and draws its plot: FOLDER
gets every line that the programs print (gemm.jsonl), a picture for each table (gemm-block.svg), and what
programs that crashed have said (gemm.log). Times are medians over rounds, with 95 % of the median over
resampled rounds; ratios are of the same round. Ctrl-C shows what there is by then.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import measure
import tables
from experiments import SYSTEMS, Experiment, System, matrices, overhead
from rich.console import Console

HERE = Path(__file__).resolve().parent
T = TypeVar("T", int, float)


def numbers(kind: type[T], low: T, high: T) -> Callable[[str], list[T]]:
    """The type of a flag: numbers with commas."""

    def parse(text: str) -> list[T]:
        try:
            found = [kind(word) for word in text.split(",")]
        except ValueError:
            found = []
        if not found or not all(low <= one <= high for one in found):
            allowed = f"{low:g} to {high:g}, with commas"
            raise argparse.ArgumentTypeError(f"'{text}' is not allowed; allowed: {allowed}")
        return found

    return parse


def number(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isdecimal() or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"'{text}' is not allowed; allowed: {low} to {high}")
        return int(text)

    return parse


def parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="apps/run.py", description=(__doc__ or "").splitlines()[0])
    programs = parser.add_subparsers(dest="program", required=True)
    for name, systems in SYSTEMS.items():
        one = programs.add_parser(name, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
        one.add_argument("folder", type=Path, help="for the results")
        titles = ";".join(system.title for system in systems)
        one.add_argument("--systems", default=titles, help="with semicolons; ratios are to the first")
        one.add_argument("--rounds", type=number(1, 1000), default=3)
        one.add_argument(
            "--repeats", type=number(1, 1000), default=2, help="in a round, after one to warm up"
        )
        one.add_argument("--cores", type=number(1, 4096), default=len(os.sched_getaffinity(0)))
        one.add_argument("--timeout", type=number(1, 86400), default=120, help="seconds for one run")
        one.add_argument("--programs", type=Path, help="their folder, if they are built already")
        if name == "overhead":
            one.add_argument("--spins", type=numbers(float, 0.0, 1e6), default="1,10,100", help="µs")
            one.add_argument("--dependences", type=numbers(int, 1, 32), default="1,4,16")
        else:
            side = numbers(int, 1, 1 << 20)
            one.add_argument("--sizes", type=side, default="512,1024,2048", help="of matrices")
            one.add_argument("--blocks", type=side, default="32,64,128,256")
            one.add_argument("--block", type=number(1, 1 << 20), default=128, help="where it stays the same")
        if name == "cholesky":
            one.add_argument("--rhos", type=numbers(float, 1.0, 2.0), default="1,1.25,1.5,1.75,2")
    options = parser.parse_args(words)
    known = {system.title: system for system in SYSTEMS[options.program]}
    options.systems = [title.strip() for title in options.systems.split(";")]
    for title in options.systems:
        if title not in known:
            parser.error(f"argument --systems: '{title}' is not allowed; allowed: {'; '.join(known)}")
    options.systems = [known[title] for title in options.systems]
    return options


def experiments_of(options: argparse.Namespace) -> list[Experiment]:
    if options.program == "overhead":
        return overhead(options.systems, options.cores, options.spins, options.dependences)
    rhos = options.rhos if options.program == "cholesky" else []
    return matrices(options.systems, options.cores, options.sizes, options.blocks, options.block, rhos)


def build() -> Path:
    """The folder of the programs."""
    for words in (["cmake", "--preset", "release"], ["cmake", "--build", "--preset", "apps"]):
        done = subprocess.run(words, cwd=HERE.parent, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(words)} failed:\n{done.stdout}\n{done.stderr}")
    return HERE.parent / "build" / "release" / "apps"


def report(
    options: argparse.Namespace, found: measure.Measured, experiments: list[Experiment], out: Console
) -> None:
    baseline: System = options.systems[0]
    for experiment in experiments:
        out.print(tables.table(options.program, experiment, found, baseline))
        picture = options.folder / f"{options.program}-{experiment.name}.svg"
        if tables.plot(options.program, experiment, found, picture):
            out.print(f"{picture}\n", highlight=False, soft_wrap=True)
    reasons: dict[tuple[str, str], int] = {}
    for point, why in found.refused.items():
        key = (point.system.title, why)
        reasons[key] = reasons.get(key, 0) + 1
    for (title, why), times in reasons.items():
        out.print(f"NOT MEASURED: {title} ({times} of its points): {why}", markup=False, highlight=False)
    log = options.folder / f"{options.program}.log"
    if found.failed:
        said = (f"== {point}\n{why}\n" for point, why in found.failed.items())
        log.write_text("".join(said), encoding="utf-8")
    for point, why in found.failed.items():
        out.print(f"FAILED: {point}: {why.splitlines()[0]} ({log})", markup=False, highlight=False)
    if found.interrupted:
        out.print("interrupted: this is what was measured until then")


def main(words: list[str]) -> int:
    options = parse(words)
    try:
        programs = options.programs or build()
    except KeyboardInterrupt:
        return 130
    options.folder.mkdir(parents=True, exist_ok=True)
    out = Console(width=None if sys.stdout.isatty() else 160)
    telling = Console(stderr=True)
    absent = [system for system in options.systems if not (programs / system.program).exists()]
    for system in absent:
        why = f"there is no {system.program}; apps/README.md says what it needs"
        out.print(f"NOT MEASURED: {system.title}: {why}", markup=False, highlight=False, soft_wrap=True)
    options.systems = [system for system in options.systems if system not in absent]
    if not options.systems:
        return 1
    experiments = experiments_of(options)
    points = [entry.point for one in experiments for entry in one.entries if entry.point.system not in absent]
    with (
        (options.folder / f"{options.program}.jsonl").open("w", encoding="utf-8") as lines,
        telling.status("") as status,
    ):

        def keep(line: measure.Line) -> None:
            lines.write(json.dumps(line) + "\n")
            lines.flush()

        found = measure.measure(
            points, programs, options.rounds, options.repeats, options.timeout, keep, status.update
        )
    report(options, found, experiments, out)
    return 130 if found.interrupted else 1 if found.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
