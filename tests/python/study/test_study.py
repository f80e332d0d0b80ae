"""Study files: products, defaults, exclusions, bad fields named with their place."""

import contextlib
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from taskgrain.study.fields import GIVEN, PLURALS
from taskgrain.study.settings import SETTINGS
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


def test_a_list_of_cores_is_for_every_workload() -> None:
    text = """
    cores = [1, 2]
    systems = ["mpi"]
    [[workloads]]
    pattern = "fft"
    tasks_per_core = 8
    [[workloads]]
    pattern = "dom"
    width = 6
    [[workloads]]
    pattern = "tree"
    cores = 2
    """
    made = study(text)
    assert [one.name for one in made.workloads] == [
        "fft/width=8/cores=1",
        "fft/width=16/cores=2",
        "dom/width=6/cores=1",
        "dom/width=6/cores=2",
        "tree/width=2/cores=2",
    ]
    assert made.settings.cores == 2
    assert (
        parse(Document(tomllib.loads(tomli_w.dumps(made.table(["mpi"], 2)))), cores=7).workloads
        == made.workloads
    )


def test_one_number_of_cores_at_the_top_is_what_the_study_has() -> None:
    made = study('cores = 1\npatterns = ["fft"]\ntasks_per_core = 8')
    assert (made.settings.cores, made.workloads[0].name) == (1, "fft/width=8")
    swept = study('patterns = ["fft"]\n[defaults]\ncores = [1, 2]')
    assert swept.settings.cores == 0 and [one.cores for one in swept.workloads] == [1, 2]
    assert study('cores = [0]\npatterns = ["fft"]').settings.cores == 0, "all that there are"
    with pytest.raises(InputError, match=r"cores\[0\]: 0 is not allowed; allowed: 1 or more"):
        study('cores = [0, 1]\npatterns = ["fft"]')


def test_a_rule_knows_the_cores_of_each_workload() -> None:
    assert names('cores = [1, 2]\nwidths = [2, 4]\npatterns = ["fft"]\nexclude = [{tasks_per_core = 2}]') == [
        *("mpi/fft/width=2/cores=2", "omp/fft/width=2/cores=2"),
        *("mpi/fft/width=4/cores=1", "omp/fft/width=4/cores=1"),
    ]
    text = 'cores = [1, 2]\npatterns = ["fft"]\nexclude = [{tasks_per_core = 1, cores = 2}]'
    assert names(text) == ["mpi/fft/width=1/cores=1", "omp/fft/width=1/cores=1"]
    assert names('cores = 2\npatterns = ["fft"]\nexclude = [{cores = 2, system = "mpi"}]') == [
        "omp/fft/width=2"
    ]
    text = 'cores = [1, 2]\npatterns = ["fft"]\nexclude = [{cores = 1, system = "mpi"}]'
    assert names(text) == ["omp/fft/width=1/cores=1", "mpi/fft/width=2/cores=2", "omp/fft/width=2/cores=2"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('experiment = "strong"', "cores: strong scaling compares numbers of cores; give a list"),
        ('experiment = "weak"\ncores = 2', "cores: weak scaling compares numbers of cores; give a list"),
        (
            'experiment = "weak"\ncores = [1, 2]\nwidth = 8',
            "tasks_per_core: weak scaling keeps the tasks of each",
        ),
    ],
)
def test_scaling_needs_workloads_that_scale(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        checked_experiment(study('pattern = "fft"\n' + text))


def test_workloads_that_scale_are_taken() -> None:
    for text in ('experiment = "strong"\nwidth = 8', 'experiment = "weak"\ntasks_per_core = 4'):
        made = study('pattern = "fft"\ncores = [1, 2]\n' + text)
        checked_experiment(made)
        table = tomllib.loads(tomli_w.dumps(made.table(["mpi"], 2)))
        assert parse(Document(table), cores=2).workloads == made.workloads


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


def test_the_width_of_a_dag_is_that_of_its_file(tmp_path: Path) -> None:
    file = tmp_path / "d.json"
    steps = [{"width": width, "dependences": [[]] * width} for width in (3, 5)]
    file.write_text(json.dumps({"steps": steps}))
    for size, refused in (("widths = [5, 4]", "widths[1]: 4"), ("tasks_per_core = 8", "tasks_per_core: 8")):
        with pytest.raises(InputError, match=rf": {re.escape(refused)} is not .*width 5, which {file} has"):
            study(f'pattern = "dag"\ndag = "{file}"\n{size}')
    for size in ("width = 5", ""):
        one = study(f'pattern = "dag"\ndag = "{file}"\n{size}').workloads[0]
        assert one.width == 5
        assert one.name == f"dag/dag=d.json/dag_hash={one['dag_hash']}/width=5"


FFT = 'patterns = ["fft"]\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "s.toml: patterns: is missing"),
        (
            'pattern = "fft"\npatterns = ["fft"]',
            "s.toml:1:11: pattern: give this or patterns, not both",
        ),
        (FFT + "cores = [1, -1]", "s.toml:2:13: cores[1]: -1 is not allowed; allowed: an integer at least 0"),
        (
            FFT + "[defaults]\ncores = 3",
            "s.toml:3:9: defaults.cores: 3 is not allowed; allowed: 1 to 2, what",
        ),
        (
            FFT + "widths = [2]\ntasks_per_core = [1]",
            "s.toml:2:10: widths: give this or tasks_per_core, not both",
        ),
        (FFT + "min_rounds = 9\nmax_rounds = 3", "s.toml:2:14: min_rounds: 9"),
        ('patterns = ["fft", "fft"]', "s.toml:1:20: patterns[1]: fft/width=2 is there twice"),
        (FFT + '[[workloads]]\npattern = "fft"', "s.toml:1:12: patterns: fft/width=2 is there twice"),
        (FFT + "exclude = [{colour = 1}]", "s.toml:2:13: exclude[0].key: colour"),
        (FFT + 'exclude = [{radix = "x"}]', "s.toml:2:21: exclude[0].radix: x"),
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
            '[[workloads]]\npattern = "fft"\nbudget = "60s"',
            "s.toml:3:1: workloads[0].key: budget is a setting of the study: it goes above the first [[w",
        ),
        (
            FFT + '[defaults]\nprecision = 0.1\n[[workloads]]\npattern = "dom"',
            "s.toml:3:1: defaults.key: precision is a setting of the study: it goes above [defaults] and",
        ),
        (
            '[[workloads]]\npattern = "fft"\nwidht = 1',
            "s.toml:3:1: workloads[0].key: widht is not allowed. Did you mean width",
        ),
        ('radix = 3\n[[workloads]]\npattern = "fft"', "s.toml:1:9: radix: needs `patterns` beside it"),
        (FFT + "[defaults]\nwidht = 3", "s.toml:3:1: defaults.key: widht is not allowed"),
        (FFT + "[defaults]\nwidths = 3\nwidth = 1", "s.toml:3:10: defaults.widths: give this or width"),
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


WORDS = st.sampled_from(["64KB", "soon", "1e3", "fft", ""]) | st.text(max_size=4)
VALUES = st.booleans() | st.integers() | st.floats() | WORDS
FIELDS = [*GIVEN, *PLURALS, *SETTINGS, *(f"defaults.{name}" for name in GIVEN)]


@given(st.sampled_from(FIELDS), VALUES | st.lists(VALUES, max_size=2))
def test_any_value_of_any_field_is_taken_or_refused_with_its_place(field: str, value: Any) -> None:
    name = field.removeprefix("defaults.")
    pattern = "" if field in ("pattern", "patterns", "like") else 'patterns = ["fft"]\n'
    try:
        made = study(pattern + field.removesuffix(name) + tomli_w.dumps({name: value}))
    except (InputError, UsageError) as error:
        said = re.fullmatch(rf"s\.toml:\d+:\d+: .*?{name}(?:\[\d\])?: (.+)", str(error))
        assert said, str(error)
        if refused := re.match(r"(.*?) is not allowed; allowed: .", said[1]):
            shown = refused[1].strip("'\"")
            if shown not in f"{value} {value!r}":  # a number is shown in another way, one in a text, too
                listed = value if isinstance(value, list) else [value]
                assert float(shown) in [_number(one) for one in listed], str(error)
    else:
        assert made.workloads


def _number(value: Any) -> float | None:
    with contextlib.suppress(ValueError):
        return float(value)
    return None


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


def test_a_preset_is_a_key_of_a_workload() -> None:
    text = """
    [[workloads]]
    like = ["halo-2d", "tree-reduction"]
    output_bytes = [16, "4K"]
    [[workloads]]
    like = "halo-1d"
    width = 5
    """
    assert [one.name for one in study(text).workloads] == [
        "stencil_2d/width=16",
        "stencil_2d/width=16/output_bytes=4096",
        "v_cycle/width=16",
        "v_cycle/width=16/output_bytes=4096",
        "stencil_1d/width=5/output_bytes=1024",
    ]
    assert names('like = "fft"') == [f"{one}/fft/width=16/output_bytes=16384" for one in SYSTEMS]


def test_a_preset_and_a_pattern_say_the_same() -> None:
    with pytest.raises(UsageError, match=r"s.toml:1:8: like: give this or pattern, not both"):
        study('like = "fft"\npattern = "fft"')
    text = 'defaults.like = "fft"\n[[workloads]]\npattern = "tree"\n[[workloads]]\ngraphs = 2'
    assert [one.pattern for one in study(text).workloads] == ["tree", "fft"]
    with pytest.raises(InputError, match=r"s.toml:1:8: like: halo is not allowed.*Did you mean halo-1d"):
        study('like = "halo"')
    with pytest.raises(InputError, match=r"exclude.0..key: like is not allowed"):
        study('like = "fft"\nexclude = [{like = "fft"}]')


def test_neighbours_are_others_than_the_point_itself() -> None:
    text = 'pattern = "nearest"\nwidth = 16\nneighbours = [0, 5]\nexclude = [{neighbours = 0, system="omp"}]'
    assert names(text) == [
        "mpi/nearest/radix=1/width=16",
        "mpi/nearest/radix=6/width=16",
        "omp/nearest/radix=6/width=16",
    ]
    with pytest.raises(UsageError, match=r"s.toml:2:14: neighbours: give this or radix, not both"):
        study('pattern = "nearest"\nneighbours = 5\nradix = 5')
    with pytest.raises(UsageError, match=r"neighbours: 5 need a width of at least 6, and it is 2"):
        study('pattern = "nearest"\nneighbours = 5')
    with pytest.raises(UsageError, match=r"pattern fft has neighbours of its own; choose one of near"):
        study('pattern = "fft"\nwidth = 16\nneighbours = 5')


def checked_experiment(found: Study) -> None:
    """The study is checked against its experiment before it is measured."""
    from taskgrain.measure.experiments.table import experiment_named

    experiment_named(found.settings.experiment).check(found, 2)


def test_a_study_names_task_times() -> None:
    found = study(FFT + 'at = "50us, 20us"').settings
    assert (found.experiment, found.task_seconds) == ("at", (20e-6, 50e-6))
    with pytest.raises(UsageError, match=r"s.toml:2:6: at: give this or the experiment metg, not both"):
        checked_experiment(study(FFT + 'at = "50us"\nexperiment = "metg"'))
    with pytest.raises(UsageError, match=r"at: is missing; give the task times"):
        checked_experiment(study(FFT + 'experiment = "at"'))
    with pytest.raises(InputError, match=r"s.toml:2:6: at: 50 is not allowed; allowed: a time above 0"):
        study(FFT + 'at = "50"')


def test_hosts_are_a_list_or_a_text_and_their_file_is_beside_the_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert study('patterns = ["fft"]\nhosts = ["a", "b"]').settings.hosts == "a,b"
    assert study('patterns = ["fft"]\nhosts = "a,b"').settings.hosts == "a,b"
    with pytest.raises(InputError, match=r"s.toml:2:9: hosts: 1 is not allowed; allowed: text"):
        study('patterns = ["fft"]\nhosts = ["a", 1]')
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "base.toml").write_text('hostfile = "hosts.txt"\n')
    (tmp_path / "s.toml").write_text('include = "deep/base.toml"\npatterns = ["fft"]\n')
    assert read(Path("s.toml"), 2).settings.hostfile == str(tmp_path / "deep" / "hosts.txt")
