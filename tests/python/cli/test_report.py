"""`taskgrain report`: where the page and the figures go, and what is refused before anything is written."""

import json
from pathlib import Path

import compared_folders
import pytest
import results_folder
from command_line import Command
from report_page import Page

from taskgrain.answers.compare import text as words
from taskgrain.estimate.ratio import Ratio


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return results_folder.big(tmp_path / "study", ["mpi"], ["fft"])


def test_the_page_lies_in_the_folder_or_where_you_wish(
    taskgrain: Command, folder: Path, tmp_path: Path
) -> None:
    done = taskgrain("report", folder)
    assert (done.code, done.out) == (0, f"{folder / 'report.html'}\n")
    other = tmp_path / "other.html"
    assert taskgrain("report", folder, "-o", other).out == f"{other}\n"
    assert other.read_text("utf-8") == (folder / "report.html").read_text("utf-8")


def test_a_system_of_your_own_is_of_the_kind_that_its_description_says(
    taskgrain: Command, systems: Path, tmp_path: Path
) -> None:
    with (systems / "fast" / "system.toml").open("r+") as file:
        text = file.read()
        file.seek(0)
        file.write('parallelism = "implicit"\n' + text)
    results = tmp_path / "r"
    words = ("--systems", systems, "--system", "fast,picky", "--width", "4", "--max-rounds", "1")
    assert taskgrain("metg", *words, "-q", "--output", results).code == 0
    shown = [line.strip() for line in taskgrain("report", results, "--show").out.splitlines()]
    kind, plain = shown.index("One node, implicit parallelism:"), shown.index("One node:")
    assert shown[kind + 1].startswith("fast") and shown[plain + 1].startswith("picky")


def test_figures_are_counted_and_named_for_programs(taskgrain: Command, folder: Path, tmp_path: Path) -> None:
    figures = tmp_path / "figures"
    words = ("report", folder, "--figures", figures, "--format", "svg")
    assert taskgrain(*words).out == f"{folder / 'report.html'}\n{figures}: 3 figures\n"
    made = json.loads(taskgrain(*words, "--json").out)
    assert made["report"] == str(folder / "report.html")
    drawn = {figures / f"{stem}-fft-width=16.svg" for stem in ("metg", "efficiency", "rate")}
    assert {Path(one) for one in made["figures"]} == {*figures.iterdir()} == drawn


def test_the_terminal_and_programs_get_what_the_page_says(taskgrain: Command, folder: Path) -> None:
    shown = taskgrain("report", folder, "--at", "20us", "--show").printed()
    assert "Times the best system" in shown and "Efficiency of tasks of 20 µs" in shown
    made = json.loads(taskgrain("report", folder, "--at", "20us", "--json").out)
    assert [one["cell"] for one in made["cells"]] == ["mpi/fft/width=16"]
    assert made["at"]["seconds"] == 20e-6
    assert made["checks"] and made["changes"] == {}
    assert '"start":2e-05' in (folder / "report.html").read_text("utf-8")


def test_folders_before_the_last_are_what_it_is_compared_with(taskgrain: Command, tmp_path: Path) -> None:
    old, again = (
        compared_folders.measured(tmp_path / name, {"mpi": 40e-9, "tbb": 90e-9}, time=time)
        for name, time in (("old", 0.0), ("again", compared_folders.DAY))
    )
    slower, later = {"mpi": 80e-9, "tbb": 90e-9}, 2 * compared_folders.DAY
    new = compared_folders.measured(tmp_path / "new", slower, build="b" * 16, time=later)
    for baseline in (f"{old},{again}", str(old)):
        made = json.loads(taskgrain("report", baseline, new, "--json").out)
        assert made["report"] == str(new / "report.html")
        alone = json.loads(taskgrain("compare", baseline, new, "--json").out)
        assert made["changes"] == {baseline: alone}
        said, text = (
            taskgrain("compare", baseline, new).out,
            Page((new / "report.html").read_text("utf-8")).text,
        )
        assert "What changed?" in text and said.splitlines()[0] in text
        for cell in alone["cells"]:
            assert cell["verdict"] in text and (cell["why"] or "") in text
            for name in ("metg", "efficiency"):
                ratio = cell["ratios"].get(name)
                assert ratio is None or words.shown(Ratio(**ratio)) in text
    assert [one["verdict"] for one in alone["cells"]] == ["slower", "same"]
    assert f"What changed against {old}?" in taskgrain("report", old, new, "--show").out
    first = taskgrain("compare", old, new).out.splitlines()[0]
    assert taskgrain("report", old, new).out.splitlines() == [
        str(new / "report.html"),
        f"against {old}: {first}",
    ]


def test_sides_without_common_cells_are_said_to_have_none_and_have_no_table(
    taskgrain: Command, tmp_path: Path
) -> None:
    old = compared_folders.measured(tmp_path / "old", {"mpi": 40e-9})
    new = compared_folders.measured(tmp_path / "new", {"tbb": 40e-9})
    said = f"{old} has 1 cell that the other side lacks."
    (_, shown) = taskgrain("report", old, new).out.splitlines()
    assert shown.startswith(f"against {old}: The sides share no cell") and said in shown
    text = Page((new / "report.html").read_text("utf-8")).text
    assert "The sides share no cell" in text and said in text and "Verdict" not in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nowhere",), "DIR: nowhere is not allowed; allowed: a results folder"),
        (("{r}/runs.jsonl",), "allowed: a results folder"),
        (("{tmp}",), "runs.jsonl"),
        (("{r}", "--format", "pdf"), "--format is for figures: give --figures DIR too"),
        (("{r}", "--figures", "{tmp}/f", "--format", "svg,gif"), "gif is not allowed; allowed: svg, png"),
        (("nowhere", "{r}"), "SIDE: nowhere is not allowed"),
        (("{r}", "-o", "{tmp}"), "cannot be written"),
        (("{r}", "-o", "{r}/runs.jsonl"), "allowed: a file that is not the results' own"),
        (("{r}", "{r}", "-o", "{r}/runs.jsonl"), "allowed: a file that is not the results' own"),
        (("{r}/x,{r}@mpi", "{r}", "-o", "{r}/x/runs.jsonl"), "allowed: a file that is not the results' own"),
        (("{r}", "-o", "{r}/../study/study.toml"), "allowed: a file that is not the results' own"),
    ],
)  # fmt: skip
def test_refusals_write_nothing(
    taskgrain: Command, folder: Path, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    before = {one: one.read_bytes() for one in tmp_path.rglob("*") if one.is_file()}
    assert message in taskgrain("report", *(word.format(tmp=tmp_path, r=folder) for word in words)).refusal()
    assert {one: one.read_bytes() for one in tmp_path.rglob("*") if one.is_file()} == before


def test_what_is_odd_about_the_folder_is_printed(taskgrain: Command, tmp_path: Path) -> None:
    stray = results_folder.run_line("mpi/fft/width=16")
    folder = results_folder.write(tmp_path / "r", [stray], tail=b"{")
    (folder / "study.toml").unlink()
    done = taskgrain("report", folder)
    assert (done.code, done.out) == (0, f"{folder / 'report.html'}\n")
    assert "<title>r" in (folder / "report.html").read_text("utf-8"), "it is named after the folder"
    assert done.err.splitlines() == [
        f"taskgrain: {folder}: the last line of runs.jsonl is torn (1 bytes); it is skipped",
        f"taskgrain: {folder}: runs.jsonl: lines of unknown cells, left out: mpi/fft/width=16 (1)",
        f"taskgrain: {folder}: study.toml: cannot be read: No such file or directory",
    ]


def test_a_file_of_which_no_line_can_be_read_makes_no_report(taskgrain: Command, tmp_path: Path) -> None:
    (tmp_path / "runs.jsonl").write_text("garbage\nmore")
    for verb in ("report", "export"):
        result = taskgrain(verb, tmp_path).refusal()
        assert (
            f"{tmp_path / 'runs.jsonl'}: not one line can be read; is {tmp_path} a results folder?" in result
        )
    assert not (tmp_path / "report.html").exists()
