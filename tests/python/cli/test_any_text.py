"""Any text as the value of any option is accepted, or refused in one line that names option, value and what
is allowed. Refusals for a reason of their own have rows in the tests of their verbs."""

import json
import re
from pathlib import Path
from typing import Any

import compared_folders
import history_store
import pytest
import results_folder
import typer
from command_line import called
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from taskgrain.cli.app import EXAMPLES, app

Words = list[str]


@pytest.fixture
def words(systems: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Words]:
    """The other words with which each verb is called, so that it measures nothing."""
    monkeypatch.chdir(tmp_path)
    folder = str(compared_folders.measured(tmp_path / "r", {"limit": 1e-7, "mpi": 2e-7}))
    store = str(history_store.grown(tmp_path / "h.jsonl", history_store.scattered((3, 1.0))))
    (tmp_path / "s.toml").write_text('systems = "fast"\npatterns = ["fft"]\n')
    curves = str(results_folder.big(tmp_path / "b", ["mpi"], ["fft"]))
    figures = ["--figures", str(tmp_path / "nothing" / "there")]
    plan = ["--systems", str(systems), "--dry-run"]
    return {
        "advise": ["--at", "20us", *plan[:2], "--from", folder],
        "compare": [folder, folder + "@mpi"],
        "export": [folder],
        "faults": plan,
        "graph": ["--stats", "--json"],
        "history": [store],
        "metg": plan,
        "predict": [curves, "--work", "1"],
        "productivity": [curves, *plan[:2], *figures],
        "report": [folder, *figures],
        "run": plan,
        "study": [str(tmp_path / "s.toml"), *plan],
        "submit": [str(tmp_path / "s.toml"), "--time", "1h", "--dry-run"],
    }


NO_TEXT = {"doctor", "open", "presets", "record", "systems"}
"""Verbs without options that take a text."""


def options(verb: str) -> Words:
    """The options of a verb that take a text, but for that of a file, and read it themselves."""
    group: Any = typer.main.get_command(app)
    found = [one for one in group.commands[verb].params if one.param_type_name == "option"]
    names = [one.opts[0] for one in found if one.type.name == "str" and one.name != "dag"]
    # A graph of any size would be counted, or printed.
    return names if verb != "graph" else [one for one in names if one not in options("run")]


NUMBER = r"[-+]?[0-9.]{0,4}(e[-+]?[0-9]{1,3})?( ?%|[KMG](iB|B)?|us|ms|[smhd]|:[0-9]{2}|-[0-9]{2})?"
TEXTS = (
    st.sampled_from(
        ["", " ", ",", "0", "1", "-1", "1.5", "nan", "1e999", "64KB", "٣", "a\nb", "mpy", "fast,", "--x"]
    )
    | st.from_regex(NUMBER, fullmatch=True)
    | st.text(max_size=9)
)


def shows(value: str, text: str) -> bool:
    """True if a value is the text, or one of the names or the number in it."""
    return value in " ".join(f"{text} {text!r}".split()) or float(value) == float(text)


def files(folder: Path) -> dict[Path, bytes]:
    return {one: one.read_bytes() for one in folder.rglob("*") if one.is_file()}


def test_every_verb_is_here(words: dict[str, Words]) -> None:
    assert set(words) == set(EXAMPLES) - NO_TEXT
    assert options("graph") == ["--format"] and "--output-bytes" in options("run")


@pytest.mark.parametrize("verb", sorted(set(EXAMPLES) - NO_TEXT))
def test_any_text_is_accepted_or_refused(
    verb: str, words: dict[str, Words], systems: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if verb == "submit":  # a job has the project's systems alone
        (tmp_path / "prefix").mkdir()
        (tmp_path / "prefix" / "systems").symlink_to(systems)
        monkeypatch.setenv("TASKGRAIN_PREFIX", str(tmp_path / "prefix"))

    @settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.sampled_from(options(verb)), TEXTS)
    def holds(option: str, text: str) -> None:
        before = files(tmp_path)
        result = called(verb, *words[verb], f"{option}={text}")
        assert result.code in (0, 1, 2), result
        if result.code != 2:  # 1: there is no answer
            assert "is not allowed" not in result.err, result
            return
        *warnings, line = result.err.splitlines()
        as_json = "--json" in words[verb]
        assert (bool(result.out), files(tmp_path)) == (as_json, before)
        assert all(one.startswith("taskgrain: ") for one in warnings)
        if as_json:
            assert json.loads(result.out)["error"] == line.removeprefix("taskgrain: ")
        name = option.strip("-").replace("-", "[-_]")
        assert re.search(rf"\b{name}\b", line) and line.isprintable(), line
        if "is not allowed" in line:
            value = re.search(rf"{name}: (.*?) is not allowed(; |\. Did you mean ).", line)
            assert value and shows(value[1].strip("'\""), text), line

    holds()


WRITTEN = {"TIME", "X", "SHARE", "BYTES"}
"""The words for values that people write with more than digits."""


@pytest.mark.parametrize("verb", sorted(set(EXAMPLES) - NO_TEXT))
def test_what_a_message_recommends_is_accepted(verb: str, words: dict[str, Words], tmp_path: Path) -> None:
    words["report"] = [str(tmp_path)]  # has no results, which are read after the options
    group: Any = typer.main.get_command(app)
    metavars = {name: one.metavar for one in group.commands[verb].params for name in one.opts}
    for option in options(verb):
        refused = called(verb, *words[verb], f"{option}=?").err
        such = re.search(r"such as (.*?)(?: \(.*)?$", refused)
        # Others are refused for a reason of their own: `--budget is for --build`.
        assert such or metavars[option] not in WRITTEN or "is not allowed" not in refused, refused
        for recommended in re.split(", | or ", such[1]) if such else ():
            then = called(verb, *words[verb], f"{option}={recommended}")
            assert f"{option}: {recommended} is not allowed" not in then.err, (refused, then)
