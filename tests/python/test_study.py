"""Study files: the product, the general form, a named error for every bad field; numbers."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from taskgrain import numbers
from taskgrain.errors import InputError, UsageError
from taskgrain.study import Study, parse, read
from taskgrain.system import System

SYSTEMS = [System("mpi", Path("/mpi"), "MPI"), System("omp", Path("/omp"), "OpenMP")]


def study(text: str) -> Study:
    return parse(tomllib.loads(text), "s.toml: ", cores=2)


def names(text: str) -> list[str]:
    return [cell.name for cell in study(text).cells(SYSTEMS)]


def test_lists_are_multiplied_out() -> None:
    text = """
    patterns = ["stencil_1d", "nearest"]
    tasks_per_core = [1, 8]
    graphs = [1, 4]
    radix = 5
    output_bytes = [16, "64K"]
    """
    found = names(text)
    assert len(found) == 32
    assert found[0] == "mpi/stencil_1d/radix=5/width=2"
    assert found[1] == "omp/stencil_1d/radix=5/width=2"
    assert "omp/nearest/radix=5/width=16/graphs=4/output_bytes=65536" in found
    assert len(set(found)) == 32


def test_the_general_form() -> None:
    text = """
    systems = ["mpi"]
    [[workloads]]
    pattern = "trivial"
    width = 1e6
    [[workloads]]
    pattern = "nearest"
    radix = 5
    tasks_per_core = 8
    kernel = "load_imbalance"
    imbalance = 1.0
    persistent = true
    """
    assert [one.name for one in study(text).workloads] == [
        "trivial/width=1000000",
        "nearest/radix=5/width=16/kernel=load_imbalance/imbalance=1/persistent=true",
    ]


def test_exclude() -> None:
    text = """
    patterns = ["a", "b"]
    widths = [2, 16]
    exclude = [{ system = "mpi", pattern = "a" }, { width = [16], pattern = "b" }]
    """
    assert names(text) == ["omp/a/width=2", "omp/a/width=16", "mpi/b/width=2", "omp/b/width=2"]


def test_a_written_study_reads_the_same() -> None:
    made = study(
        'title = "T"\npatterns = ["a", "b"]\nwidths = [2]\nbudget = "10m"\nexclude = [{pattern = "b"}]'
    )
    table = made.table(SYSTEMS, 2)
    again = parse(tomllib.loads(tomli_w.dumps(table)), "", cores=7)
    assert again.workloads == made.workloads
    assert again.table(SYSTEMS, 2) == table
    assert again.settings.budget == 600.0


def test_dag_paths_do_not_part_a_name() -> None:
    assert names('patterns = ["dag"]\ndag = "/a/b/c.dag"\nwidths = [4]')[0] == "mpi/dag/dag=c.dag/width=4"


def test_rounds_follow_one_another() -> None:
    assert study('patterns = ["a"]\nmax_rounds = 3').settings.min_rounds == 3
    assert study('patterns = ["a"]\nmin_rounds = 100').settings.max_rounds == 100


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "patterns: is missing"),
        ('pattern = ["a"]', "key: pattern is not allowed; allowed: title, systems, patterns"),
        ("patterns = []", "patterns: [] is not allowed; allowed: at least one value"),
        ("patterns = [1]", "pattern: 1 is not allowed; allowed: text"),
        ('patterns = [""]', "pattern: '' is not allowed"),
        ('patterns = ["a"]\nwidths = [1.5]', "width: 1.5 is not allowed; allowed: an integer at least 1"),
        ('patterns = ["a"]\nwidths = [0]', "width: 0 is not"),
        ('patterns = ["a"]\nwidths = [true]', "width: True is not"),
        ('patterns = ["a"]\nwidths = ["x"]', "width: x is not"),
        ('patterns = ["a"]\nwidths = [2]\ntasks_per_core = [1]', "widths and tasks_per_core"),
        ('patterns = ["a"]\noutput_bytes = ["1KB"]', "output_bytes: 1KB"),
        ('patterns = ["a"]\noutput_bytes = 8', "output_bytes: 8"),
        ('patterns = ["a"]\nfraction = 1.1', "fraction: 1.1 is not allowed; allowed: a number from 0 to 1"),
        ('patterns = ["a"]\nthreshold = 1.0', "threshold: 1.0"),
        ('patterns = ["a"]\nthreshold = nan', "threshold: nan"),
        ('patterns = ["a"]\nbudget = "soon"', "budget: soon is not allowed; allowed: seconds"),
        (
            'patterns = ["a"]\nvalidate = "maybe"',
            "validate: maybe is not allowed; allowed: off, sample, full",
        ),
        ('patterns = ["a"]\nmin_rounds = 9\nmax_rounds = 3', "min_rounds: 9"),
        ('patterns = ["a"]\nsweep = 1', "sweep: 1"),
        ('patterns = ["a", "a"]', "a/width=2 is there twice"),
        ('patterns = ["a"]\nexclude = [{colour = 1}]', "exclude: key: colour"),
        ('patterns = ["a"]\nexclude = "a"', "exclude: a"),
        ('patterns = ["a"]\nsystems = []', "systems: []"),
        ("workloads = [1]", "workloads"),
        ('[[workloads]]\npattern = "a"\nwidth = 1\ntasks_per_core = 1', "give one of the two"),
        ("[[workloads]]\nwidth = 1", "workloads[0].pattern"),
        (
            '[[workloads]]\npattern = "a"\nwidht = 1',
            "workloads[0].key: widht is not allowed; allowed: pattern, width",
        ),
        ('radix = 3\n[[workloads]]\npattern = "a"', "patterns: is missing"),
    ],
)
def test_bad_fields_are_named(text: str, words: str) -> None:
    with pytest.raises((InputError, UsageError)) as caught:
        study(text)
    assert words in str(caught.value)
    assert "s.toml" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_product_that_is_too_large_is_refused_at_once() -> None:
    wide: dict[str, Any] = {"patterns": ["a"]}
    wide |= {key: list(range(1, 1000)) for key in ("widths", "graphs", "radix", "seed")}
    with pytest.raises(InputError, match="at most 10000"):
        parse(wide, "", cores=1)


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no\.toml: cannot be read: No such file"):
        read(tmp_path / "no.toml", 2)
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="is not TOML"):
        read(tmp_path / "x.toml", 2)


@pytest.mark.parametrize(
    ("text", "value"),
    [("1000", 1000), ("1e6", 10**6), ("1.5e3", 1500), (" 7 ", 7), ("1_000", 1000), (2.0, 2), (1e6, 10**6)],
)
def test_integers(text: object, value: int) -> None:
    assert numbers.integer(text, "x") == value


@pytest.mark.parametrize(
    "text", ["1.5", "1e-3", "", "x", "1e99", "9" * 30, "nan", "inf", "1e999999999", None, [], 0.5]
)
def test_bad_integers(text: object) -> None:
    with pytest.raises(InputError, match=r"x: .* is not allowed; allowed: an integer at least 0"):
        numbers.integer(text, "x")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("64K", 65536),
        ("64KiB", 65536),
        ("1M", 2**20),
        ("1.5K", 1536),
        ("16", 16),
        (16, 16),
        ("2g", 2**31),
        ("16B", 16),
    ],
)
def test_sizes(text: object, value: int) -> None:
    assert numbers.size(text, "x") == value


@pytest.mark.parametrize("text", ["64KB", "K", "1.0001K", "-1K", "1X", "1KiBB", "9999999T", ""])
def test_bad_sizes(text: object) -> None:
    with pytest.raises(InputError, match="multiples of 1024"):
        numbers.size(text, "x")


@given(st.one_of(st.text(max_size=50), st.floats(), st.integers(), st.booleans(), st.none()))
def test_anything_is_a_number_or_a_named_error(value: object) -> None:
    for kind in (numbers.integer, numbers.real, numbers.size, numbers.seconds):
        try:
            assert kind(value, "field") >= 0
        except InputError as error:
            message = str(error)
        else:
            continue
        assert message.startswith("field: ")
        assert len(message.splitlines()) == 1
