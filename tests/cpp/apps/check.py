"""Whether a program of apps/ does what it says.

check.py COMMAND …          ends with 0, and its lines of JSON are those of a right result
check.py --refuses FIELD COMMAND …   ends with 2, and names the field
check.py --same COMMAND COMMAND …    each in one word: all end with 0, and have the same bits for a result
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys

FIELDS = {"program", "system", "ranks", "threads", "size", "seconds", "tasks", "error"}
WITHOUT_TASKS = ("mpi", "petsc", "scalapack")


def same(commands: list[list[str]]) -> str:
    if wrong := [f"{shlex.join(one)}: {why}" for one in commands if (why := main([*one, "--repeats", "1"]))]:
        return "\n".join(wrong)
    found = {shlex.join(one): json.loads(subprocess.check_output(one))["digest"] for one in commands}
    return "" if len(set(found.values())) == 1 else f"results differ: {found}"


def main(words: list[str]) -> str:
    field = None
    if words[0] == "--same":
        return same([shlex.split(one) for one in words[1:]])
    if words[0] == "--refuses":
        field, words = words[1], words[2:]
    done = subprocess.run(words, capture_output=True, text=True)
    said = f"\n{done.stdout}\n{done.stderr}"
    if field is not None:
        return "" if done.returncode == 2 and field in done.stderr else f"no refusal, {done.returncode}{said}"
    if done.returncode != 0:
        return f"exit code {done.returncode}{said}"
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    repeats = int(words[len(words) - words[::-1].index("--repeats")])  # the last one counts
    if len(lines) != repeats:
        return f"{len(lines)} lines, not {repeats}{said}"
    for line in lines:
        if not line.keys() >= FIELDS:
            return f"fields are missing: {FIELDS - line.keys()}"
        if not line["seconds"] > 0 or (line["tasks"] == 0) != (line["system"] in WITHOUT_TASKS):
            return f"no seconds or tasks: {line}"
        if "--validate" in words and not line["error"] <= 1e-13 * line["size"]:
            return f"wrong result: {line}"
        if "allowed" in line and not line["error"] <= line["allowed"]:
            return f"wrong result: {line}"
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) or 0)
