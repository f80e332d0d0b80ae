"""Tries whether `taskgrain compare` finds the one cell that got slower, on this machine.

    python bench/one_slower.py FOLDER [--sessions 3] [--budget 60] [--times 1.2]

Measures a study in sessions of two builds, in turn, and compares them. It has one system more, `subject`: the
driver of taskgrain_ptg behind a relay. In the new build a task of one pattern costs more, so that METG of
this cell is so many times as large: the relay holds answers back, and adds that time to theirs. All other
cells are the same. Prints the verdict on the slower cell, and how many of the others have which.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

from arguments import count, positive

from taskgrain._core import patterns
from taskgrain.drive.catalogue import discover
from taskgrain.results import reader
from taskgrain.results.lines import MetgLine

ROOT = Path(__file__).resolve().parents[1]
COMMAND = str(Path(sys.executable).with_name("taskgrain"))
THRESHOLD = 0.5
RELAY = """
import json, subprocess, sys, time
PATTERN, MORE = {pattern!r}, {more!r}  # seconds of a core that a task costs more
cores, driver = 1, subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
for line in sys.stdin.buffer:
    driver.stdin.write(line)
    driver.stdin.flush()
    answer = driver.stdout.readline()
    while answer and not answer.startswith(b"@taskgrain "):
        sys.stdout.buffer.write(answer)
        answer = driver.stdout.readline()
    found = json.loads(answer.removeprefix(b"@taskgrain ") or "{{}}")
    cores = found.get("cores", cores)  # of the answer to hello
    if found.get("event") == "result" and json.loads(line)["graphs"][0]["pattern"] == PATTERN:
        more = MORE * found["tasks"] / cores
        time.sleep(more * len(found["seconds"]))
        found["seconds"] = [one + more for one in found["seconds"]]
        answer = b"@taskgrain " + json.dumps(found).encode() + b"\\n"
    sys.stdout.buffer.write(answer)
    sys.stdout.buffer.flush()
"""


def write(folder: Path, driver: str, pattern: str, more: float) -> Path:
    """A build of the subject whose tasks of a pattern cost so much more."""
    folder.mkdir(parents=True)
    (folder / "relay.py").write_text(RELAY.format(pattern=pattern, more=more))
    command = json.dumps(["{python}", "{dir}/relay.py", driver])
    (folder / "system.toml").write_text(f"default = true\n[launch]\ncommand = {command}\n")
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="for the results; must not exist")
    parser.add_argument("--sessions", type=count, default=3, help="of each build")
    parser.add_argument("--budget", type=positive, default=60.0, help="seconds of a session")
    parser.add_argument("--times", type=positive, default=1.2, help="METG of the slower cell")
    parser.add_argument("--study", type=Path, default=ROOT / "studies" / "default.toml")
    parser.add_argument("--pattern", choices=patterns(), default="nearest", help="of the slower cell")
    options = parser.parse_args()
    if options.folder.exists():
        parser.error(f"argument folder: {options.folder} is not allowed; allowed: a new one")
    driver, pattern = str(discover()["taskgrain_ptg"].folder / "driver"), options.pattern
    builds = {"old": write(options.folder / "old" / "subject", driver, pattern, 0.0)}
    for session in range(options.sessions):
        for name in ("old", "new"):
            output = options.folder / f"{name}-{session}"
            if name not in builds:
                first = reader.read(options.folder / "old-0").lines
                metg = next(
                    one.metg
                    for one in reversed(first)
                    if isinstance(one, MetgLine) and one.cell.startswith(f"subject/{pattern}/") and one.metg
                )
                more = (options.times - 1.0) * (1.0 - THRESHOLD) * metg
                builds[name] = write(options.folder / name / "subject", driver, pattern, more)
            words = [COMMAND, "study", options.study, "--output", output, "--systems", builds[name], "-q"]
            words += ["--budget", options.budget]
            subprocess.run([*map(str, words)], stdout=sys.stderr, check=True)
    sides = [
        ",".join(str(options.folder / f"{name}-{session}") for session in range(options.sessions))
        for name in ("old", "new")
    ]
    done = subprocess.run([COMMAND, "compare", *sides, "--json"], stdout=subprocess.PIPE, check=False)
    cells = json.loads(done.stdout)["cells"]
    slower = [one for one in cells if one["system"] == "subject" and pattern in one["workload"]]
    for one in slower:
        ratio = one["ratios"].get("metg") or {}
        ends = ", ".join(f"{end} {ratio[end]:.3f}" for end in ("value", "low", "high") if ratio.get(end))
        print(f"{one['system']}/{one['workload']}: {one['verdict']} ({ends})")
    others = Counter(one["verdict"] for one in cells if one not in slower)
    print(f"{others.total()} others: " + ", ".join(f"{found} {verdict}" for verdict, found in others.items()))


if __name__ == "__main__":
    main()
