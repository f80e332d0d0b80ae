"""`taskgrain productivity`: what it counts, sets beside it and draws, and what it refuses."""

import json
from pathlib import Path

import pytest
import results_folder
import system_folder
from command_line import Command

WORKLOAD = "fft/width=16"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return results_folder.big(tmp_path / "study", ["mpi", "starpu", "rt_ptg"], ["fft", "dom"])


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    text = f'language = "C++"\nsources = ["a.cpp"]\nconstructs = ["L_*"]\n{system_folder.LEAST}'
    place = system_folder.make(tmp_path / "mine", text)
    (place / "a.cpp").write_text('#include "l.h"\nint main() {\n  L_go();\n}\n')
    return place


def test_it_counts_each_driver_once(taskgrain: Command) -> None:
    found = {one["system"]: one for one in json.loads(taskgrain("productivity", "--json").out)["systems"]}
    assert found["mpi"]["lines"] == sum(found["mpi"]["sources"].values())
    assert "MPI_Isend" in found["mpi"]["constructs"]
    assert {"serial", "dask.threads", "taskgrain_graph.ranks"} <= {*found}
    assert "legion.untraced" not in found


def test_your_systems_are_counted_by_the_same_rules(taskgrain: Command, mine: Path) -> None:
    words = ("productivity", "--systems", mine, "--system", "mine,serial")
    (own, serial) = json.loads(taskgrain(*words, "--json").out)["systems"]
    assert (own["lines"], own["lines_with_constructs"], own["constructs"]) == (3, 1, {"L_go": 1})
    assert (serial["system"], serial["constructs"]) == ("serial", {})
    shown = taskgrain(*words).out.splitlines()
    assert [line.split() for line in shown if " C++ " in line] == [
        ["mine", "C++", "3", "1", "1"],
        ["serial", "C++", str(serial["lines"]), "–", "–"],
    ]


def test_metg_stands_beside_the_counts(taskgrain: Command, folder: Path) -> None:
    words = ("productivity", folder, "--workload", WORKLOAD)
    done = taskgrain(*words, "--json")
    assert "rt_ptg: no system of this name is here" in done.err
    (workload,) = json.loads(done.out)["workloads"]
    assert workload["workload"] == WORKLOAD
    assert {one["system"]: one["unbeaten"]["lines"] for one in workload["systems"]}["mpi"] == "yes"
    shown = taskgrain(*words).out
    for text in (WORKLOAD, "frontier", "METG", "mpi", "starpu", "lines, constructs"):
        assert text in shown
    assert "dom" not in shown
    assert taskgrain(*words, "--markdown").out.startswith(f"**{WORKLOAD}**\n\n| system |")


def test_several_folders_may_have_one_workload(taskgrain: Command, folder: Path, tmp_path: Path) -> None:
    other = results_folder.big(tmp_path / "other", ["mpi"], ["fft"])
    found = json.loads(taskgrain("productivity", folder, other, "--json").out)["workloads"]
    assert [one["workload"] for one in found] == [WORKLOAD, "dom/width=16", f"{WORKLOAD} ({other})"]


def test_constructs_are_listed_and_markdown_is_a_page_s(taskgrain: Command, mine: Path) -> None:
    words = ("productivity", "--systems", mine, "--system", "mine", "--constructs")
    assert "L_go" in taskgrain(*words).out
    assert taskgrain(*words, "--markdown").out == (
        "| system | language | lines | with constructs | constructs |\n"
        "| --- | --- | --: | --: | --: |\n"
        "| `mine` | C++ | 3 | 1 | 1 |\n"
        "\n"
        "| system | constructs |\n"
        "| --- | --- |\n"
        "| `mine` | `L_go` |\n"
    )


@pytest.mark.submission
def test_figures_are_named(taskgrain: Command, folder: Path, tmp_path: Path) -> None:
    words = ("productivity", folder, "--figures", tmp_path / "figures", "--format", "svg")
    made = sorted(tmp_path / "figures" / f"productivity-{one}-width=16.svg" for one in ("dom", "fft"))
    assert sorted(json.loads(taskgrain(*words, "--json").out)["figures"]) == [*map(str, made)]
    assert all(str(one) in taskgrain(*words).out for one in made)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--workload", "fft"), "--workload is for RESULTS: give a results folder too"),
        (("--figures", "x"), "--figures is for RESULTS: give a results folder too"),
        (("--format", "svg"), "--format is for figures: give --figures DIR too"),
        (("--json", "--markdown"), "--markdown is for people, and --json for programs: give one of them"),
        (("no-such",), "RESULTS: no-such is not allowed; allowed: a results folder"),
        (
            ("FOLDER", "--workload", "fft"),
            "--workload: fft is not allowed. Did you mean fft/width=16? Allowed: fft/width=16, dom",
        ),
    ],
)
def test_bad_input_is_named_and_ends_with_2(
    taskgrain: Command, folder: Path, words: tuple[str, ...], message: str
) -> None:
    done = taskgrain("productivity", *(str(folder) if one == "FOLDER" else one for one in words))
    assert done.code == 2 and (not done.out or "--json" in words)
    assert message in done.err


def test_a_system_without_sources_cannot_be_counted(taskgrain: Command, tmp_path: Path) -> None:
    bare = system_folder.make(tmp_path / "bare", system_folder.LEAST)
    assert taskgrain("productivity", "--systems", bare).code == 0
    done = taskgrain("productivity", "--systems", bare, "--system", "bare").refusal()
    assert "--system: bare: " in done
    assert "names no `sources` to count" in done


def test_a_bad_pattern_is_named_with_its_file(taskgrain: Command, mine: Path) -> None:
    file = mine / "system.toml"
    file.write_text(file.read_text().replace("L_*", "L-*"))
    done = taskgrain("productivity", "--systems", mine).refusal()
    assert f"{file}: constructs[0]: L-* is not allowed; allowed: a name, MPI_*; " in done
