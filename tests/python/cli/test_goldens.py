"""The answers that programs read of the stored results stay as they are, except for the tenth digit of a
number, in which processors differ.

`goldens.json` has a line of digests for each folder. After a change that is meant, and named in CHANGELOG.md,
call `TASKGRAIN_TEST_GOLDENS=write pytest tests/python/cli/test_goldens.py`.
"""

import hashlib
import json
import os
import re
from pathlib import Path

import pytest
from command_line import Command

from taskgrain.results import reader
from taskgrain.results.cell import cells

ROOT = Path(__file__).parents[3]
STORED = ROOT / "docs/results"
GOLDENS = Path(__file__).with_name("goldens.json")
BASELINE, CONTENDER = "2026-11-27-default", "2026-11-25-everything"
VERBS = {
    **{name: ("export", "--table", name) for name in ("cells", "curve", "runs", "reference", "sessions")},
    "report": ("report", "--json", "--at", "20us", "--output"),
    "advise": ("advise", "--json", "--at", "20us", "--pattern", "stencil_1d", "--cores", "2", "--from"),
    "predict": ("predict", "--json", "--work", "10m", "--cores", "2,64"),
    "compare": ("compare", "--json", BASELINE),
}


def workload(name: str) -> str:
    """The first that a folder has."""
    return next(iter(cells(reader.read(STORED / name).shown).values())).workload


def few_digits(text: str) -> str:
    return re.sub(r"\d+\.\d{9,}(e[-+]\d+)?", lambda found: f"{float(found[0]):.9g}", text)


SMALL = (BASELINE, "2026-11-24-rate", "2026-11-26-h200")
NAMES = [
    pytest.param(one.name, marks=pytest.mark.submission if one.name in SMALL else pytest.mark.deep)
    for one in sorted(STORED.glob("2*"))
]


@pytest.mark.parametrize("name", NAMES)
def test_stored_results_answer_as_before(
    taskgrain: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    monkeypatch.chdir(STORED)
    found = {}
    for verb, words in VERBS.items():
        if verb == "report":
            words = (*words, tmp_path / "report.html")
        if verb == "predict":
            words = (*words, "--workload", workload(name))
        called = taskgrain(*words, CONTENDER if verb == "compare" and name == BASELINE else name)
        assert called.code in (0, 1), called.err
        out = few_digits(called.out.replace(str(tmp_path), ""))
        found[verb] = hashlib.sha256(f"{called.code}\n{out}".encode()).hexdigest()[:16]
    before = json.loads(GOLDENS.read_text("utf-8"))
    if os.environ.get("TASKGRAIN_TEST_GOLDENS") == "write":
        before[name] = found
        lines = (f"{json.dumps(one)}: {json.dumps(before[one], sort_keys=True)}" for one in sorted(before))
        GOLDENS.write_text("{" + ",\n ".join(lines) + "}\n", "utf-8")
    assert found == before[name]
