"""`taskgrain history`: from results folders to the store, the table, the files and the exit code."""

import json
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import history_store as made
import pytest
from command_line import Command

from taskgrain.history import store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return made.folder(tmp_path / "results", made.metg("mpi", 1e-6, made.BEGIN))


@pytest.fixture
def slower(tmp_path: Path) -> Path:
    path = made.grown(tmp_path / "h.jsonl", made.scattered((15, 1.0), (6, 1.2)))
    return made.grown(path, made.scattered((20, 1.0)), "limit")


def test_a_session_is_added_and_shown(taskgrain: Command, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "new" / "h.jsonl"
    result = taskgrain("history", path, "--add", folder, "--label", "abc", "--time", "2026-11-24T14:40Z")
    assert (result.code, result.err) == (0, f"taskgrain: {path}: added abc, 1 cell\n")
    assert result.out.startswith("1 series by METG: 1 too few sessions. The margin is 5 %.\n")
    (session,) = store.read(path).logs
    assert (session.label, session.time) == ("abc", 1795531200.0)
    again = taskgrain("history", path, "--add", folder, "--label", "abc")
    assert again.code == 0 and "has this session already, as abc; not added again" in again.err
    assert len(store.read(path).logs) == 1


def test_the_label_is_the_commit_of_the_current_folder(
    taskgrain: Command, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    taskgrain("history", tmp_path / "a", "--add", folder)
    assert store.read(tmp_path / "a").logs[0].label == "2026-05-28 20:26", "there is no commit"
    who = ["-c", "user.name=me", "-c", "user.email=me@localhost"]
    for words in (["init", "-q"], [*who, "commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", *words], check=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout
    taskgrain("history", tmp_path / "b", "--add", folder)
    label = store.read(tmp_path / "b").logs[0].label
    assert len(label) == 12 and head.startswith(label)


def test_another_host_is_named_and_not_called_a_regression(taskgrain: Command, tmp_path: Path) -> None:
    hosts = ["vm"] * 15 + ["runner-7"] * 6
    path = made.grown(tmp_path / "h.jsonl", made.scattered((15, 1.0), (6, 1.4)), on=hosts)
    result = taskgrain("history", path, "--fail-on-regression", "--junit", tmp_path / "junit.xml").printed()
    assert "1 other host" in result
    assert "measured on another host since c15 (2026-06-12): vm → runner-7." in " ".join(result.split())
    assert "--across-hosts" in result
    assert "(vm → runner-7)" in (tmp_path / "junit.xml").read_text("utf-8")
    across = taskgrain("history", path, "--fail-on-regression", "--across-hosts")
    assert across.code == 1 and "vm → runner-7." in " ".join(across.out.split())
    (series,) = json.loads(taskgrain("history", path, "--json").out)["series"]
    assert [one["hosts"] for one in series["changes"]] == ["vm → runner-7"]
    assert [one["host"] for one in series["sessions"]] == hosts


def test_a_regression_ends_with_1_if_asked(taskgrain: Command, slower: Path) -> None:
    fail = "--fail-on-regression"
    assert taskgrain("history", slower, fail).code == 1
    assert taskgrain("history", slower, fail, "--margin", "30%").code == 0
    assert taskgrain("history", slower, fail, "--system", "limit").code == 0
    assert taskgrain("history", slower, fail, "--known", "c15").code == 0
    assert taskgrain("history", slower, fail, "--known", "2026-06-13").code == 0
    assert taskgrain("history", slower, fail, "--known", "c14").code == 1
    assert taskgrain("history", slower, fail, "--since", "c15").code == 0


def test_a_check_of_no_series_fails(taskgrain: Command, slower: Path) -> None:
    later = ("history", slower, "--since", "2099-01-01")
    assert taskgrain(*later).code == 0
    assert taskgrain(*later, "--fail-on-regression").code == 1
    assert "nothing was compared" in taskgrain(*later, "--fail-on-regression").err


def test_a_later_change_hides_no_earlier_one(taskgrain: Command, tmp_path: Path) -> None:
    path = made.grown(tmp_path / "h.jsonl", made.scattered((14, 1.0), (14, 2.0), (14, 1.5)))
    failed = taskgrain("history", path, "--fail-on-regression")
    assert failed.code == 1 and failed.out.startswith("1 series by METG: 1 faster; 1 slower over all.")
    (said,) = [line for line in failed.out.splitlines() if "over all: METG is 1.4" in line]
    assert said.endswith("times as large as in c13 (2026-06-10).")
    found = json.loads(taskgrain("history", path, "--json").out)["series"][0]
    assert (found["verdict"], found["regression"]) == ("faster", True)
    assert (found["over_all"]["before"], found["over_all"]["verdict"]) == (13, "slower")
    assert taskgrain("history", path, "--fail-on-regression", "--known", "c14").code == 0


def test_a_check_that_passes_says_what_it_did_not_see(taskgrain: Command, tmp_path: Path) -> None:
    path = made.grown(tmp_path / "h.jsonl", made.scattered((4, 1.0)))
    made.grown(path, made.scattered((3, 1.0)), "limit")
    passed = taskgrain("history", path, "--fail-on-regression")
    assert passed.code == 0 and "the newest session lacks 1 cell" in passed.out.splitlines()[0]
    assert "2 cells without a verdict" in passed.err and "1 cell missing" in passed.err
    assert taskgrain("history", path, "--fail-on-missing").code == 1
    assert taskgrain("history", path, "--fail-on-undecided").code == 1
    assert taskgrain("history", path, "--fail-on-missing", "--system", "mpi").code == 0


def test_a_metg_without_an_upper_bound_is_no_level(taskgrain: Command, tmp_path: Path) -> None:
    folder = made.folder(tmp_path / "r", made.metg("mpi", 1e-6, made.BEGIN, high=None, ending="budget"))
    shown = taskgrain("history", tmp_path / "h.jsonl", "--add", folder, "--label", "c0")
    (row,) = [line for line in shown.out.splitlines() if "mpi/" in line]
    assert "1.00 µs (0.98 – ?)" in row


def test_since_leaves_out_what_was_before(taskgrain: Command, slower: Path) -> None:
    for since in ("c15", "2026-06-12"):
        found = json.loads(taskgrain("history", slower, "--since", since, "--json", "--system", "mpi").out)
        assert [one["label"] for one in found["series"][0]["sessions"]] == [f"c{n}" for n in range(15, 21)]


def test_files_are_written(taskgrain: Command, slower: Path, tmp_path: Path) -> None:
    xml, page = tmp_path / "junit.xml", tmp_path / "h.html"
    words = ("--junit", xml, "-o", page, "--by", "overhead", "--workload", "stencil_1d/width=4")
    result = taskgrain("history", slower, *words)
    assert result.code == 0
    assert ElementTree.parse(xml).getroot().get("failures") == "1"
    assert "overhead is 1.2" in page.read_text()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["folders", "h.html", "h.jsonl", "junit.xml"]


def test_what_is_odd_about_the_store_is_said(taskgrain: Command, slower: Path) -> None:
    with slower.open("a") as file:
        file.write('{"sch')
    result = taskgrain("history", slower)
    assert result.code == 0
    assert result.err == f"taskgrain: {slower}: the last line of h.jsonl is torn (5 bytes); it is skipped\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "Missing argument 'STORE'"),
        (("nowhere",), "STORE: nowhere is not allowed; allowed: a history's store"),
        (("{h}", "--label", "a"), "--label is for --add DIR"),
        (("{h}", "--time", "2026-01-01"), "--time is for --add DIR"),
        (("{h}", "--junit", "no/such/x.xml"), "--junit: no/such/x.xml is not allowed; allowed: a file"),
        (("{h}", "-o", "{h}"), "--output: "),
        (("{n}", "--add", "{r}", "-o", "{r}/runs.jsonl"), "a name that is not one of a results"),
        (("{n}", "--add", "{r}", "--junit", "{r}/study.toml"), "a name that is not one of a"),
        (("{n}", "--add", "{r}", "--junit", "x", "-o", "./x"), "another file than that of --output"),
        (("{n}", "--add", "nowhere"), "--add: nowhere is not allowed; allowed: a results folder"),
        (("{n}", "--add", "{r}", "--time", "noon"), "--time: noon is not allowed; allowed: a date or a time"),
        (("{n}", "--add", "{r}", "--label", " "), "--label: ' ' is not allowed; allowed: a text of 1 to"),
        (("{n}", "--add", "{r}", "--label", "x" * 101), "a text of 1 to 100 characters"),
        (("{n}", "--add", "{r}", "--margin", "x"), "--margin: x"),
        (("{n}", "--add", "{r}", "-o", "no/such.html"), "--output: no/such.html"),
        (("{n}", "--add", "{r}", "--add", "{n}"), "--add: "),
        (("{r}", "--add", "{r}"), "STORE: "),
    ],
)
def test_refusals(
    taskgrain: Command, slower: Path, folder: Path, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    new, before = tmp_path / "new.jsonl", slower.read_bytes()
    result = taskgrain("history", *(word.format(h=slower, r=folder, n=new) for word in words)).refusal()
    assert message in result
    assert slower.read_bytes() == before and not new.exists(), "nothing was written"
