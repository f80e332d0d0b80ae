"""The options that verbs share: what they accept, how they refuse, and their help."""

import inspect
import re
from pathlib import Path

import pytest
from command_line import Command

from taskgrain.cli.options import (
    GraphOptions,
    Measuring,
    graph_options,
    help_of,
    measuring_options,
    split_names,
)
from taskgrain.machine.topology import choose_cores
from taskgrain.study.fields import GIVEN
from taskgrain.study.settings import SETTINGS
from taskgrain.words.errors import InputError

BAD = [
    (["--width", "1.5"], "--width: 1.5 is not allowed; allowed: an integer at least 1"),
    (["--cores", "1000000"], "--cores: 1000000 is not allowed; allowed: 1 to"),
    (["--isa", "mmx"], "--isa: mmx is not allowed; allowed: auto, avx512"),
    (["--system", ""], "--system: '' is not allowed; allowed: a name, or several with commas"),
    (["--system", ",", "--system", " "], "--system: , is not allowed; allowed: a name"),
    (["--system", "absent"], "absent cannot run here: no program no-such-x; install: apt-get x"),
    (["--wdith", "4"], "No such option: --wdith"),
    (["--systems", "/nowhere"], "--systems: /nowhere"),
    (["extra"], "extra"),
    (["--width"], "--width"),
]


@pytest.mark.parametrize("verb", ["run", "metg"])
@pytest.mark.parametrize(("words", "message"), BAD)
def test_bad_options_end_with_one_line_and_code_2(
    taskgrain: Command, systems: Path, verb: str, words: list[str], message: str
) -> None:
    said = taskgrain(verb, "--systems", systems, *words).refusal()
    assert message in said and said.count("\n") == 1


def test_what_is_not_given_has_its_default() -> None:
    nothing = GraphOptions({})
    assert nothing.cores == choose_cores(0)
    assert (nothing.validate, nothing.isa) == (SETTINGS["validate"].default, SETTINGS["isa"].default)
    assert nothing.count("steps", 7) == 7
    workload = nothing.workload
    assert (workload.pattern, workload.width) == ("stencil_1d", len(nothing.cores))


def test_what_is_given_is_taken() -> None:
    options = GraphOptions({"pattern": "fft", "width": "1e2", "steps": "2e3", "cores": "1", "isa": "avx2"})
    assert options.cores == choose_cores(1)
    assert (options.workload.pattern, options.workload.width) == ("fft", 100)
    assert options.count("steps", 7) == 2000
    assert options.isa == "avx2"
    with pytest.raises(InputError, match=r"--steps: 2e3 .* an integer at least 3000"):
        options.count("steps", 7, low=3000)


def test_the_width_may_be_for_each_core() -> None:
    assert GraphOptions({"tasks_per_core": "3", "cores": "1"}).workload.width == 3


def test_an_imbalance_means_the_kernel_that_has_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert GraphOptions({"imbalance": "0.5"}).workload["kernel"] == "load_imbalance"
    assert GraphOptions({"like": "particle-exchange", "imbalance": "1"}).workload["imbalance"] == 1.0
    assert capsys.readouterr().err == ""
    assert GraphOptions({"imbalance": "0.5", "kernel": "compute_bound"}).workload["kernel"] == "compute_bound"
    said = "taskgrain: warning: --imbalance: kernel compute_bound does not use it\n"
    assert capsys.readouterr().err == said


def test_a_file_is_found_from_other_folders_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.json").write_text('{"step":0,"width":1,"dependences":[[]]}\n')
    assert GraphOptions({"pattern": "dag", "dag": "g.json"}).workload.fields()["dag"] == str(
        tmp_path / "g.json"
    )


def test_a_verb_gets_its_options_in_one_parameter() -> None:
    got = {}

    @graph_options()
    @measuring_options
    def verb(graph: GraphOptions, how: Measuring, own: str = "x") -> None:
        got.update(graph=graph, how=how, own=own)

    parameters = inspect.signature(verb).parameters
    assert {"own", "budget", "as_json", "pattern", "iterations", "isa"} <= set(parameters)
    assert not {"graph", "how"} & set(parameters)
    left_out = {name: one.default for name, one in parameters.items()}
    verb(**left_out | {"pattern": "fft", "retry": True, "own": "y"})
    assert got == {"graph": GraphOptions({"pattern": "fft"}), "how": Measuring(retry=True), "own": "y"}


@pytest.mark.parametrize("name", GIVEN)
def test_help_is_a_sentence_and_says_the_default(name: str) -> None:
    field = GIVEN[name]
    shown = help_of(field)
    assert shown.endswith(".") and not shown.endswith("..")
    assert shown.startswith(field.text[:-1])
    assert "(default )" not in shown and "None" not in shown


def test_help_of_an_option_whose_default_is_chosen() -> None:
    assert help_of(GIVEN["width"]).endswith("(default one for each core).")
    assert help_of(GIVEN["pattern"]).endswith("(default stencil_1d).")


def test_names_are_split_at_commas() -> None:
    assert split_names(None) == ["default"]
    assert split_names(["a,b", " c ", "d,"]) == ["a", "b", "c", "d"]
    with pytest.raises(InputError, match="--format: , is not allowed"):
        split_names([","], "--format")


@pytest.mark.parametrize("verb", ["run", "metg", "faults", "graph", "study"])
@pytest.mark.parametrize(("steps", "code"), [(2, 0), (3, 2)])
def test_steps_beside_a_dag_are_those_of_its_file(
    taskgrain: Command, systems: Path, tmp_path: Path, verb: str, steps: int, code: int
) -> None:
    file, study = tmp_path / "d.json", tmp_path / "s.toml"
    file.write_text('{"steps": [{"width": 1, "dependences": [[]]}, {"width": 1, "dependences": [[]]}]}')
    study.write_text(f'systems = "fast"\npattern = "dag"\ndag = "{file}"\nsteps = {steps}\n')
    words = ("study", study) if verb == "study" else (verb, "--dag", file, "--steps", steps)
    more = ("--systems", systems, "--dry-run") if verb != "graph" else ()
    found = taskgrain(*words, *more)
    assert found.code == code
    assert code == 0 or f"steps: {steps} is not allowed; allowed: nothing, or 2, the steps" in found.err


@pytest.mark.parametrize("verb", ["run", "metg"])
def test_a_bad_dag_is_no_fault_of_a_system(
    taskgrain: Command, systems: Path, tmp_path: Path, verb: str
) -> None:
    file = tmp_path / "d.json"
    file.write_text("{")
    found = taskgrain(verb, "--dag", file, "--systems", systems, "--system", "fast").refusal()
    assert re.match(rf"taskgrain: (--)?dag: '{file}, line 1", found)
