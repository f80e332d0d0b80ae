"""Studies that include others: one table, and errors that name the file that is wrong."""

from pathlib import Path

import pytest

from taskgrain.study.includes import read_study
from taskgrain.study.study import read
from taskgrain.study.toml import Document
from taskgrain.words.errors import InputError, UsageError


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study whose parts lie in three folders."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "parts" / "deep").mkdir(parents=True)
    (tmp_path / "s.toml").write_text("""
include = ["parts/a.toml", "parts/b.toml"]
title = "own"
widths = [4]
[defaults]
radix = 5
[[workloads]]
pattern = "dom"
""")
    (tmp_path / "parts/a.toml").write_text("""
include = "deep/c.toml"
title = "a"
patterns = ["fft"]
tasks_per_core = [1, 2]
precision = 0.2
exclude = [{ pattern = "tree" }]
[defaults]
radix = 1
seed = 1
""")
    (tmp_path / "parts/b.toml").write_text("""
include = ["deep/c.toml"]
precision = 0.3
repeats = 5
[[workloads]]
pattern = "dag"
dag = "b.dag"
""")
    (tmp_path / "parts/deep/c.toml").write_text("""
repeats = 7
[[workloads]]
pattern = "tree"
[[workloads]]
pattern = "dag"
dag = "c.dag"
""")
    return tmp_path / "s.toml"


def test_includes_are_as_if_all_stood_in_one_file(files: Path) -> None:
    made = read(files, 2)
    assert made.title == "own"
    assert made.settings.precision == 0.3
    assert made.settings.repeats == 5  # c.toml counts where it comes first
    assert [one.name for one in made.workloads] == [
        "tree/radix=5/seed=1/width=2",
        "dag/radix=5/seed=1/dag=c.dag/width=2",
        "dag/radix=5/seed=1/dag=b.dag/width=2",
        "dom/radix=5/seed=1/width=2",
        "fft/radix=5/seed=1/width=4",
    ]
    assert [cell.workload.pattern for cell in made.cells(["mpi"])] == ["dag", "dag", "dom", "fft"]
    parts = files.parent / "parts"
    dags = [one["dag"] for one in made.workloads if one["dag"]]
    assert dags == [str(parts / "deep/c.dag"), str(parts / "b.dag")]


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        ("parts/b.toml", "repeats = 5", "repeats = 0", "parts/b.toml:4:11: repeats: 0 is not"),
        ("parts/b.toml", '"b.dag"', "3", "parts/b.toml:7:7: workloads[2].dag: 3 is not"),
        (
            "parts/deep/c.toml",
            '"tree"',
            '"ring"',
            "parts/deep/c.toml:4:11: workloads[0].pattern: ring is not",
        ),
        ("parts/a.toml", '"tree"', "1", "parts/a.toml:7:24: exclude[0].pattern: 1 is not"),
        ("parts/a.toml", "seed = 1", "seed = -1", "parts/a.toml:10:8: defaults.seed: -1 is not"),
        ("parts/a.toml", "[defaults]", "[default]", "parts/a.toml:8:2: key: default is not"),
        ("parts/a.toml", "precision", "precision =", "parts/a.toml:6:13: is not TOML: Invalid value"),
        ("s.toml", '"dom"', '"dom"\nwidth = "x"', "s.toml:9:9: workloads[3].width: x is not"),
        (
            *("parts/a.toml", "deep/c.toml", "deep/no.toml"),
            "parts/a.toml:2:11: include: s.toml includes parts/a.toml includes parts/deep/no.toml: "
            "cannot be read: No such file or directory",
        ),
        (
            *("parts/deep/c.toml", "repeats = 7", 'include = ["../../parts/b.toml"]'),
            "parts/deep/../../parts/b.toml:2:12: include[0]: s.toml includes parts/a.toml includes "
            "parts/deep/c.toml includes parts/deep/../../parts/b.toml includes "
            "parts/deep/../../parts/deep/c.toml: is a circle",
        ),
        (
            *("parts/a.toml", "deep/c.toml", "."),
            "parts/a.toml:2:11: include: s.toml includes parts/a.toml includes parts: cannot be read: Is a",
        ),
        (
            *("parts/a.toml", "deep/c.toml", "../s.toml"),
            "parts/a.toml:2:11: include: s.toml includes parts/a.toml includes parts/../s.toml: is a circle",
        ),
    ],
)
def test_errors_name_the_file_that_is_wrong(files: Path, name: str, old: str, new: str, words: str) -> None:
    file = files.parent / name
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))
    with pytest.raises((InputError, UsageError)) as caught:
        read(Path("s.toml"), 2)
    assert str(caught.value).startswith(words)
    assert caught.value.exit_code == 2


def test_a_long_chain_of_files(tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / f"{number}.toml").write_text(f'include = "{number + 1}.toml"')
    with pytest.raises(
        UsageError, match=r"31\.toml:1:11: include: .*/32\.toml: is included through more than 32"
    ):
        read(tmp_path / "0.toml", 2)


def test_a_study_overrules_the_experiment_of_one_that_it_includes(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text('patterns = ["fft"]\nexperiment = "sweep"\n')
    (tmp_path / "own.toml").write_text('include = "base.toml"\nexperiment = "metg"\n')
    assert read(tmp_path / "base.toml", 2).settings.experiment == "sweep"
    assert read(tmp_path / "own.toml", 2).settings.experiment == "metg"


def tables(folder: Path, **files: str) -> Document:
    """The document of `s.toml`, together with the other files."""
    for name, text in files.items():
        (folder / f"{name}.toml").write_text(text)
    return read_study(folder / "s.toml")


def test_arrays_are_put_one_behind_the_other_and_each_element_keeps_its_place(tmp_path: Path) -> None:
    found = tables(
        tmp_path,
        a='exclude = [{ width = 1 }]\n[[workloads]]\npattern = "fft"\n',
        s='include = "a.toml"\nexclude = [{ width = 2 }]\n[[workloads]]\npattern = "dom"\n',
    )
    assert found.table == {
        "exclude": [{"width": 1}, {"width": 2}],
        "workloads": [{"pattern": "fft"}, {"pattern": "dom"}],
    }
    assert found.value("exclude", 0, "width") == f"{tmp_path}/a.toml:1:22: exclude[0].width"
    assert found.value("exclude", 1, "width") == f"{tmp_path}/s.toml:2:22: exclude[1].width"
    assert found.value("workloads", 1, "pattern") == f"{tmp_path}/s.toml:4:11: workloads[1].pattern"
    assert found.file_of("workloads", 0, "pattern") == tmp_path / "a.toml"


def test_a_later_file_wins_also_where_it_says_it_in_another_way(tmp_path: Path) -> None:
    found = tables(
        tmp_path,
        a='patterns = ["fft"]\nwidths = [1]\n[defaults]\nradix = 1\ntasks_per_core = 2\n',
        s='include = ["a.toml"]\npattern = "dom"\n[defaults]\nwidth = 3\n',
    )
    assert found.table == {"pattern": "dom", "widths": [1], "defaults": {"radix": 1, "width": 3}}
    assert found.value("patterns") == f"{tmp_path}/s.toml: patterns", "nothing is left of the one it replaces"
    assert found.value("defaults", "radix").startswith(f"{tmp_path}/a.toml:4:9: ")


def test_a_link_to_a_file_is_that_file(tmp_path: Path) -> None:
    (tmp_path / "link.toml").symlink_to("s.toml")
    with pytest.raises(UsageError, match=r"link\.toml: is a circle"):
        tables(tmp_path, s='include = "link.toml"\n')
