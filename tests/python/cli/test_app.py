"""The command line: what it accepts, how it refuses, and what programs read from it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import results_folder

from taskgrain.cli.main import main

FAKE = Path(__file__).parents[1] / "drivers" / "fake.py"
pytestmark = pytest.mark.usefixtures("no_own_systems")


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


@pytest.fixture
def systems(tmp_path: Path) -> Path:
    """One system that works, two with a fault in one pattern, one that is not installed."""
    faults = {"fast": "=", "faulty": "tree=validation", "picky": "dom=invalid", "absent": "="}
    for name, fault in faults.items():
        folder = tmp_path / "systems" / name
        folder.mkdir(parents=True)
        words = ["{python}", str(FAKE), "1e-6", "0.02", fault]
        probe = '[probe]\nprograms = ["no-such-x"]\ninstall = "apt-get x"\n' if name == "absent" else ""
        text = f'title = "Fake {name}"\nsimulated = true\n{probe}[launch]\ncommand = {words}\n'
        (folder / "system.toml").write_text(("default = true\n" if name == "fast" else "") + text)
    return tmp_path / "systems"


def process(*words: object, **env: str) -> Result:
    """As a person calls it."""
    environment = dict(os.environ) | {"TASKGRAIN_REFERENCE": str(FAKE), "COLUMNS": "100"} | env
    command = [sys.executable, "-m", "taskgrain", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)
    return Result(done.returncode, done.stdout, done.stderr)


Command = Callable[..., Result]


@pytest.fixture
def taskgrain(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """The same in this process, which is quicker."""
    monkeypatch.setenv("TASKGRAIN_REFERENCE", str(FAKE))
    monkeypatch.setenv("COLUMNS", "100")

    def call(*words: object) -> Result:
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        said = capsys.readouterr()
        return Result(int(ended.value.code or 0), said.out, said.err)

    return call


BAD = [
    (["--width", "1.5"], "--width: 1.5 is not allowed; allowed: an integer at least 1"),
    (["--width", "0"], "--width: 0"),
    (["--radix", "-1"], "--radix: -1"),
    (["--output-bytes", "64KB"], "--output-bytes: 64KB"),
    (["--fraction", "2"], "--fraction: 2 is not allowed; allowed: a number from 0 to 1"),
    (["--cores", "1000000"], "--cores: 1000000 is not allowed; allowed: 1 to"),
    (["--validate", "no"], "--validate: no is not allowed; allowed: off, sample, full"),
    (["--isa", "mmx"], "--isa: mmx is not allowed; allowed: auto, avx512"),
    (["--graphs", "x"], "--graphs: x"),
    (["--system", "nope"], "--system: nope is not allowed; allowed:"),
    (["--system", "absent"], "absent cannot run here: no program no-such-x; install: apt-get x"),
    (["--wdith", "4"], "No such option: --wdith"),
    (["--systems", "/nowhere"], "--systems: /nowhere"),
    (["extra"], "extra"),
    (["--width"], "--width"),
    (["--iterations", "1e-3"], "--iterations: 1e-3"),
    (["--pattern", ""], "--pattern"),
]


@pytest.mark.parametrize(("words", "message"), BAD)
def test_bad_options_end_with_one_line_and_code_2(
    taskgrain: Command, systems: Path, words: list[str], message: str
) -> None:
    command = "metg" if len(words[0]) % 2 else "run"  # both share these options
    result = taskgrain(command, "--systems", systems, *words)
    assert result.code == 2
    assert message in result.err
    assert result.err.count("\n") == 1
    assert not result.out


def test_two_references_must_not_share_a_name(taskgrain: Command, tmp_path: Path) -> None:
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "system.toml").write_text('[launch]\ncommand = ["true"]\nreference = ["{dir}/peak"]\n')
    result = taskgrain("metg", "--systems", tmp_path, "--system", "one,two")
    assert result.code == 2
    assert result.err == "taskgrain: two: launch.reference: peak is something else's name; rename it\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["metg", "--threshold", "1"], "--threshold: 1"),
        (["metg", "--budget", "soon"], "--budget: soon"),
        (["metg", "--experiment", "wobble"], "--experiment: wobble is not allowed; allowed: metg, sweep"),
        (["metg", "--experiment", "metg", "--sweep"], "--sweep: give this or --experiment, not both"),
        (["metg", "--min-rounds", "9", "--max-rounds", "3"], "--min-rounds: 9"),
        (["metg", "--pattern", "wrong"], "--pattern: wrong is not allowed; allowed: trivial, no_comm"),
        (["metg", "--pattern", "spread", "--period", "9"], "period: '9' is not allowed; allowed: at most 1"),
        (
            ["run", "--pattern", "dom", "--system", "picky"],
            "pattern: dom is not allowed; allowed: others",
        ),
        (["run", "--repeats", "0"], "--repeats: 0"),
        (["study", "nowhere.toml"], "nowhere.toml: cannot be read"),
        (["report", "nowhere"], "nowhere"),
        (["report", ".", "--format", "pdf"], "--figures"),
        (["frobnicate"], "frobnicate"),
    ],
)
def test_other_refusals(taskgrain: Command, systems: Path, words: list[str], message: str) -> None:
    folders = [] if words[0] in ("report", "frobnicate") else ["--systems", systems]
    result = taskgrain(*words, *folders)
    assert result.code == 2
    assert message in result.err
    assert "Traceback" not in result.err
    assert len(result.err.strip().splitlines()[-1]) < 400


def test_metg_table_and_json(taskgrain: Command, systems: Path, tmp_path: Path) -> None:
    result = taskgrain("metg", "--systems", systems, "--width", "1e1", "-o", tmp_path / "out", "--quiet")
    assert result.code == 0, result.err
    assert "Fake fast" in result.out
    assert "µs" in result.out
    assert not result.err
    assert (tmp_path / "out" / "runs.jsonl").exists()
    words = ("metg", "--systems", systems, "--width", "10", "-o", tmp_path / "out", "-q")
    ascii_only = process(*words, PYTHONIOENCODING="ascii")
    assert ascii_only.code == 0
    assert ascii_only.out.isascii()
    assert " us" in ascii_only.out
    again = taskgrain("metg", "--systems", systems, "--width", "10", "-o", tmp_path / "out", "--json")
    value = json.loads(again.out)
    assert value["cells"][0]["metg"] == pytest.approx(2e-6, rel=0.1)
    other = taskgrain("metg", "--systems", systems, "--width", "12", "-o", tmp_path / "out")
    assert other.code == 2
    assert "differs in workloads" in other.err


@pytest.mark.parametrize("words", [["--sweep"], ["--experiment", "sweep"]], ids=" ".join)
def test_both_spellings_measure_the_whole_curve(taskgrain: Command, systems: Path, words: list[str]) -> None:
    result = taskgrain(
        "metg", "--systems", systems, "--width", "4", "--max-rounds", "1", "--json", "-q", *words
    )
    (cell,) = json.loads(result.out)["cells"]
    assert [point["iterations"] for point in cell["curve"]][:5] == [1, 2, 4, 8, 16]
    said = {one["code"]: one for one in cell["warnings"]}
    assert said["one_round"] == {
        "code": "one_round",
        "needed": 6,
        "text": "The interval is missing, because there was only one round. Allow at least 6 rounds, or a "
        "larger budget.",
    }


def test_a_failed_cell_gives_code_1(taskgrain: Command, systems: Path) -> None:
    result = taskgrain(
        "metg", "--systems", systems, "--system", "fast,faulty", "--pattern", "tree", "--json", "-q"
    )
    assert result.code == 1
    value = json.loads(result.out)
    assert [cell["ending"] for cell in value["cells"]] == ["precise", "failed"]
    assert value["failures"][0]["error"] == "validation"
    single = taskgrain("run", "--systems", systems, "--system", "faulty", "--pattern", "tree")
    assert single.code == 1
    assert "validation: pattern: tree" in single.out


def test_run_prints_every_sample(taskgrain: Command, systems: Path) -> None:
    words = ["run", "--systems", systems, "--iterations", "1e2", "--steps", "1e2", "--repeats", "3"]
    assert "granularity" in taskgrain(*words).out
    value = json.loads(taskgrain(*words, "--json", "--graphs", "2").out)
    one = value["runs"][0]
    assert len(one["seconds"]) == 3
    assert one["tasks"] == 100 * 2 * one["cores"]
    assert one["granularity"] == pytest.approx(7.4e-6, rel=0.1)


def test_dry_run_measures_nothing(taskgrain: Command, systems: Path, tmp_path: Path) -> None:
    study = tmp_path / "s.toml"
    study.write_text('systems = "all"\npatterns = ["stencil_1d", "fft"]\n')
    output = tmp_path / "out"
    result = taskgrain("study", study, "--systems", systems, "-o", output, "--dry-run")
    assert result.code == 0, result.err
    assert not output.exists()
    assert re.search(r"^6 cells, about \d+ s on a quiet machine$", result.out, re.MULTILINE)
    assert re.search(r"^ *fast/fft/width=\d+ +2 s *$", result.out, re.MULTILINE)
    value = json.loads(taskgrain("metg", "--systems", systems, "--dry-run", "--json").out)
    assert value["cells"][0]["cell"].startswith("fast/stencil_1d/")
    assert value["commands"]["fast"][1] == str(FAKE)
    assert taskgrain("run", "--systems", systems, "--dry-run").code == 0


def test_the_dry_run_knows_budgets(taskgrain: Command, systems: Path, tmp_path: Path) -> None:
    study = tmp_path / "s.toml"
    study.write_text('systems = "fast"\npatterns = ["dom", "fft"]\nbudget = "10m"\n')
    words = ("study", study, "--systems", systems, "--dry-run")
    shown = taskgrain(*words).out
    assert "2 cells, about 5 s on a quiet machine; the budget ends it after 10 min 0 s" in shown
    plan = json.loads(taskgrain(*words, "--json").out)
    assert plan["budget"] == 600.0
    study.write_text(study.read_text() + "steps = 1_000_000\n")
    longer = json.loads(taskgrain(*words, "--json").out)
    assert longer["seconds"] > 100 * plan["seconds"]  # fixed steps leave no choice
    study.write_text('systems = "fast"\npatterns = ["fft"]\nsweep = true\n')
    assert json.loads(taskgrain(*words, "--json").out)["seconds"] > 2 * plan["cells"][1]["seconds"]


def test_the_schema_is_printed_for_editors(taskgrain: Command) -> None:
    result = taskgrain("study", "--schema")
    assert (result.code, result.err) == (0, "")
    assert json.loads(result.out)["title"] == "taskgrain study"


def test_export(taskgrain: Command, tmp_path: Path) -> None:
    results = tmp_path / "r"
    results.mkdir()
    (results / "runs.jsonl").write_text('{"kind":"cell","cell":"a/fft","system":"a"}\n{"ki')
    result = taskgrain("export", results)
    assert result.code == 0
    assert result.out.splitlines()[0].startswith("cell,system,")
    assert result.out.splitlines()[1].startswith("a/fft,a,,")
    assert result.err.startswith(f"taskgrain: {results}: the last line of runs.jsonl is torn")
    file = tmp_path / "t.parquet"
    assert taskgrain("export", results, "--table", "runs", "-o", file).code == 0
    assert file.read_bytes()[:4] == b"PAR1"
    for words, message in (
        ((tmp_path,), "there is no such file"),
        ((results, "--table", "x"), "--table: x is not allowed; allowed: runs, cells, curve, reference"),
        ((results, "-o", tmp_path / "t.xlsx"), "a name that ends in .csv or .parquet"),
    ):
        refused = taskgrain("export", *words)
        assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
        assert message in refused.err


def test_systems_and_doctor(taskgrain: Command, systems: Path) -> None:
    listed = {
        one["name"]: one for one in json.loads(taskgrain("systems", "--systems", systems, "--json").out)
    }
    assert listed["fast"]["available"]
    assert listed["absent"]["missing"] == ["program no-such-x"]
    assert "no program no-such-x" in " ".join(taskgrain("systems", "--systems", systems).out.split())
    value = json.loads(taskgrain("doctor", "--systems", systems, "--json").out)
    assert value["machine"]["cpu"]["physical_cores"] >= 1
    assert 0.0 <= value["state"]["busy_share"] <= 1.0
    assert "apt-get x" in taskgrain("doctor", "--systems", systems).out


def test_help_has_examples_and_version(taskgrain: Command) -> None:
    for command in ("run", "metg", "study", "report", "export", "systems", "doctor"):
        result = taskgrain(command, "--help")
        assert result.code == 0
        assert "Example: taskgrain " + command in " ".join(result.out.split())
        assert "<bool>" not in result.out
    assert "<bool>" not in taskgrain("--help").out
    assert taskgrain("--version").out.startswith("taskgrain 0.")
    assert taskgrain().code == 2


@pytest.mark.slow
def test_a_report_with_figures(taskgrain: Command, tmp_path: Path) -> None:
    folder = results_folder.big(tmp_path / "study", ["mpi"], ["fft"])
    done = taskgrain("report", folder, "--figures", tmp_path / "figures", "--format", "svg,pdf", "--json")
    assert done.code == 0
    made = json.loads(done.out)
    assert made["report"] == str(folder / "report.html")
    names = {Path(one).name for one in made["figures"]}
    stems = ("metg", "efficiency", "rate")
    assert names == {f"{stem}-fft-width=16.{kind}" for stem in stems for kind in ("svg", "pdf")}
    assert all(Path(one).stat().st_size for one in made["figures"])
    wrong = taskgrain("report", folder, "--figures", tmp_path / "figures", "--format", "gif")
    assert wrong.code == 2
    assert "svg, png, pdf" in wrong.err
