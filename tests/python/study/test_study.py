"""Study files: products, defaults, exclusions, bad fields named with their place."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

from taskgrain.study.study import Study, parse, read
from taskgrain.study.toml import Document, loads
from taskgrain.words.errors import InputError, UsageError

SYSTEMS = ["mpi", "omp"]


def study(text: str) -> Study:
    return parse(loads(text, Path("s.toml")), cores=2)


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


def test_lists_of_a_workload_are_multiplied_out_by_themselves() -> None:
    text = """
    systems = "mpi"
    patterns = ["fft"]
    [[workloads]]
    pattern = ["nearest", "spread"]
    radix = [0, 5]
    [[workloads]]
    pattern = "dom"
    """
    assert [one.name for one in study(text).workloads] == [
        "nearest/radix=0/width=2",
        "nearest/radix=5/width=2",
        "spread/radix=0/width=2",
        "spread/radix=5/width=2",
        "dom/width=2",
        "fft/width=2",
    ]


def test_defaults() -> None:
    text = """
    patterns = ["fft"]
    [defaults]
    radix = 5
    tasks_per_core = [1, 8]
    output_bytes = "1K"
    [[workloads]]
    pattern = "dom"
    width = 7
    radix = 3
    """
    assert [one.name for one in study(text).workloads] == [
        "dom/width=7/output_bytes=1024",
        "fft/radix=5/width=2/output_bytes=1024",
        "fft/radix=5/width=16/output_bytes=1024",
    ]


def test_exclude() -> None:
    text = """
    patterns = ["fft", "dom"]
    widths = [2, 16]
    exclude = [{ system = "mpi", pattern = "fft" }, { width = [16], pattern = "dom" }]
    """
    assert names(text) == ["omp/fft/width=2", "omp/fft/width=16", "mpi/dom/width=2", "omp/dom/width=2"]


def test_exclude_reads_values_as_the_workloads_do() -> None:
    text = """
    patterns = ["fft"]
    tasks_per_core = [1, 8]
    output_bytes = ["16", "64K"]
    exclude = [{ system = ["mpi"], tasks_per_core = 8 }, { output_bytes = "64KiB" }]
    """
    assert names(text) == ["mpi/fft/width=2", "omp/fft/width=2", "omp/fft/width=16"]


def test_a_written_study_reads_the_same() -> None:
    made = study("""
    title = "T"
    patterns = ["fft", "dom"]
    widths = [2]
    budget = "10m"
    exclude = [{pattern = "dom", width = [1, 2]}]
    defaults = {radix = [1, 2]}
    """)
    table = made.table(SYSTEMS, 2)
    assert table["exclude"] == [{"pattern": "dom", "width": [1, 2]}]
    again = parse(Document(tomllib.loads(tomli_w.dumps(table))), cores=7)
    assert again.workloads == made.workloads
    assert again.table(SYSTEMS, 2) == table
    assert again.settings.budget == 600.0


def test_dag_paths_do_not_part_a_name() -> None:
    assert names('patterns = ["dag"]\ndag = "/a/b/c.dag"\nwidths = [4]')[0] == "mpi/dag/dag=c.dag/width=4"


FFT = 'patterns = ["fft"]\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "s.toml: patterns: is missing"),
        (
            'pattern = "fft"\npatterns = ["fft"]',
            "s.toml:1:11: pattern: give this or patterns, not both",
        ),
        ("patterns = []", "s.toml:1:12: patterns: [] is not allowed; allowed: at least one value"),
        ('patterns = ["fft", 1]', "s.toml:1:20: patterns[1]: 1 is not allowed; allowed: text"),
        ('patterns = ["ring"]', "s.toml:1:13: patterns[0]: ring is not allowed; allowed: trivial, no_comm"),
        (FFT + 'kernel = "x"', "s.toml:2:10: kernel: x is not allowed; allowed: empty"),
        (
            FFT + "widths = [\n  2,\n  1.5,\n]",
            "s.toml:4:3: widths[1]: 1.5 is not allowed; allowed: an integer at least 1",
        ),
        (FFT + "widths = [0]", "s.toml:2:11: widths[0]: 0 is not"),
        (FFT + "widths = true", "s.toml:2:10: widths: True is not"),
        (FFT + 'widths = "x"', "s.toml:2:10: widths: x is not"),
        (
            FFT + "widths = [2]\ntasks_per_core = [1]",
            "s.toml:2:10: widths: give this or tasks_per_core, not both",
        ),
        (FFT + 'output_bytes = ["1KB"]', "s.toml:2:17: output_bytes[0]: 1KB"),
        (FFT + "output_bytes = 8", "s.toml:2:16: output_bytes: 8"),
        (FFT + "fraction = 1.1", "s.toml:2:12: fraction: 1.1 is not allowed; allowed: a number from 0 to 1"),
        (FFT + "threshold = 1.0", "s.toml:2:13: threshold: 1.0"),
        (FFT + "threshold = nan", "s.toml:2:13: threshold: nan"),
        (FFT + 'budget = "soon"', "s.toml:2:10: budget: soon is not allowed; allowed: seconds"),
        (
            FFT + 'validate = "maybe"',
            "s.toml:2:12: validate: maybe is not allowed; allowed: off, sample, full",
        ),
        (FFT + "min_rounds = 9\nmax_rounds = 3", "s.toml:2:14: min_rounds: 9"),
        (FFT + "sweep = 1", "s.toml:2:9: sweep: 1"),
        ('patterns = ["fft", "fft"]', "s.toml:1:12: patterns: fft/width=2 is there twice"),
        (FFT + '[[workloads]]\npattern = "fft"', "s.toml:1:12: patterns: fft/width=2 is there twice"),
        (FFT + "exclude = [{colour = 1}]", "s.toml:2:13: exclude[0].key: colour"),
        (FFT + 'exclude = [{radix = "x"}]', "s.toml:2:21: exclude[0].radix: x"),
        (FFT + "exclude = [{radix = []}]", "s.toml:2:21: exclude[0].radix: []"),
        (FFT + "exclude = [{radix = 1}, {}]", "s.toml:2:25: exclude[1]: {} is not allowed"),
        (FFT + 'exclude = "a"', "s.toml:2:11: exclude: a"),
        (FFT + "systems = []", "s.toml:2:11: systems: []"),
        ("workloads = 1", "s.toml:1:13: workloads: 1"),
        ("workloads = [1]", "s.toml:1:14: workloads[0]: 1 is not allowed; allowed: a table of pattern"),
        (
            '[[workloads]]\npattern = "fft"\nwidth = 1\ntasks_per_core = 1',
            "s.toml:3:9: workloads[0].width: give this or tasks_per_core, not both",
        ),
        ("[[workloads]]\nwidth = 1", "s.toml:1:3: workloads[0].pattern: is missing"),
        (
            '[[workloads]]\npattern = "fft"\nwidht = 1',
            "s.toml:3:1: workloads[0].key: widht is not allowed; allowed: pattern, width",
        ),
        ('radix = 3\n[[workloads]]\npattern = "fft"', "s.toml: patterns: is missing"),
        (FFT + "[defaults]\nwidht = 3", "s.toml:3:1: defaults.key: widht is not allowed"),
        (FFT + "[defaults]\nwidths = 3\nwidth = 1", "s.toml:3:10: defaults.widths: give this or width"),
        (FFT + "[defaults]\nseed = [1, -1]", "s.toml:3:12: defaults.seed[1]: -1"),
        (FFT + "widths = 1\ndefaults.width = 0", "s.toml:3:18: defaults.width: 0"),
        (FFT + "defaults = 3", "s.toml:2:12: defaults: 3"),
        (FFT + "include = [3]", "s.toml:2:12: include[0]: 3 is not allowed; allowed: the name of a file"),
        (FFT + 'include = ""', "s.toml:2:11: include: '' is not allowed"),
    ],
)
def test_bad_fields_are_named_with_their_place(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "s.toml"
    file.write_text(text)
    with pytest.raises((InputError, UsageError)) as caught:
        read(file, 2)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path}/{words}")
    assert "\n" not in message
    assert caught.value.exit_code == 2


WHOLE = """\
include = []
systems = ["mpi"]
patterns = ["fft", "dom"]
output_bytes = [16, "64K"]
exclude = [{ system = "mpi", pattern = "dom" }]
[defaults]
tasks_per_core = [1, 8]
[[workloads]]
pattern = "nearest"
radix = [1, 5]
"""
PIECES = st.sampled_from(
    ["[", "]", "{}", "=", '"', "\n", "[[exclude]]\n", "[a.b]\n", "1e400", "nan", "\0", "é"]
)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, len(WHOLE)), st.integers(0, 20), PIECES | st.text(max_size=3)), max_size=3
    )
)
def test_whatever_is_written_there_is_a_study_or_one_line_of_error(
    tmp_path_factory: pytest.TempPathFactory, edits: list[tuple[int, int, str]]
) -> None:
    file = tmp_path_factory.getbasetemp() / "s.toml"
    text = WHOLE
    for at, length, piece in edits:
        text = text[:at] + piece + text[at + length :]
    file.write_bytes(text.encode())
    try:
        made = read(file, 2)
    except (InputError, UsageError) as error:
        assert str(error).startswith(f"{file}:")
        assert "\n" not in str(error)
    else:
        assert len(set(made.workloads)) == len(made.workloads) > 0


def test_a_product_that_is_too_large_is_refused_at_once() -> None:
    wide: dict[str, Any] = {"patterns": ["fft"]}
    wide |= {key: list(range(1, 1000)) for key in ("widths", "graphs", "radix", "seed")}
    with pytest.raises(InputError, match="at most 10000"):
        parse(Document(wide), cores=1)


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no\.toml: cannot be read: No such file"):
        read(tmp_path / "no.toml", 2)
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="is not TOML"):
        read(tmp_path / "x.toml", 2)


def test_a_study_chooses_its_experiment() -> None:
    assert study(FFT).settings.experiment == "metg"
    assert study(FFT + 'experiment = "sweep"').settings.experiment == "sweep"
    assert study(FFT + "sweep = true").settings == study(FFT + 'experiment = "sweep"').settings
    assert study(FFT + "sweep = false").settings == study(FFT).settings
    with pytest.raises(UsageError, match=r"s\.toml:\d+:\d+: .*give this or (sweep|experiment), not both"):
        study(FFT + 'sweep = true\nexperiment = "sweep"')


def test_files_of_one_name_are_not_mixed_up(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text('patterns = "dag"\ndag = ["a/one.dag", "b/one.dag"]\n')
    with pytest.raises(UsageError, match=r"s\.toml:1:12: .*/width=2 names two workloads; rename one of the"):
        read(file, 2)
