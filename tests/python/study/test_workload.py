"""A workload: its name, the request that a driver gets, and the flags that give it again."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskgrain.study.field import Field
from taskgrain.study.fields import CORE, WORKLOAD
from taskgrain.study.workload import Cell, Workload


def test_a_workload_is_told_as_the_core_takes_it() -> None:
    workload = Workload("nearest", 8, radix=5, imbalance=0.5, graphs=2)
    (one, other) = workload.request(3, 10)
    assert one == other
    assert set(one) == {name for name, field in CORE.items() if not field.of_kernel} | {"kernel"}
    assert workload.request(0, 10)[0]["kernel"] == {"name": "empty", "iterations": 0}


def test_fields_that_are_not_given_have_their_defaults() -> None:
    workload = Workload("fft", 16)
    assert workload.fields() == {name: one.default for name, one in WORKLOAD.items()} | {
        "pattern": "fft",
        "width": 16,
    }
    assert workload.name == "fft/width=16"
    with pytest.raises(TypeError, match="a workload has no colour, shape"):
        Workload("fft", 16, shape=1, colour=2)


def test_equal_workloads_are_one() -> None:
    one, same, other = Workload("fft", 16), Workload("fft", 16, graphs=1), Workload("fft", 16, graphs=2)
    assert len({one, same, other}) == 2
    assert one == same != other
    assert one != "fft/width=16"


def test_the_kernel_and_what_its_peak_depends_on() -> None:
    workload = Workload("fft", 4, kernel="load_imbalance", imbalance=0.5, persistent=True)
    assert workload.kernel()["name"] == "load_imbalance"
    assert workload.kernel()["imbalance"] == 0.5
    assert workload.reference().keys() == workload.kernel().keys() - {"imbalance", "persistent"}


def test_tasks_are_counted() -> None:
    assert (
        Workload("trivial", 8, graphs=3).tasks(10) == Workload("trivial", 8, graphs=3).exact_tasks(10) == 240
    )
    tree = Workload("tree", 8)
    exact = tree.exact_tasks(10)
    assert exact is not None
    assert 10 < exact < tree.tasks(10), "a tree begins with one task"
    assert Workload("trivial", 2**40).exact_tasks(2**20) == 2**60, "without memory for each"


def values_of(field: Field) -> st.SearchStrategy[object]:
    low, high = field.low, min(field.high, 2**40)
    match field.type:
        case "integer" | "bytes":
            return st.integers(int(low), int(high))
        case "number":
            return st.floats(low, high)
        case "flag":
            return st.booleans()
        case "choice":
            return st.sampled_from(field.choices)
        case _:
            names = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Zs"]), max_size=8)
            return names.filter(str.isprintable)  # others are refused


VALUES = st.fixed_dictionaries({name: values_of(one) for name, one in WORKLOAD.items()})


@given(VALUES)
def test_the_flags_give_the_same_workload(values: dict[str, object]) -> None:
    workload = Workload(**values)  # type: ignore[arg-type]
    words = iter(shlex.split(workload.options()))
    read: dict[str, object] = {}
    for word in words:
        one = next(one for one in WORKLOAD.values() if one.flag == word)
        read[one.name] = True if one.type == "flag" else one.read(next(words), word)
    assert Workload(**read) == workload  # type: ignore[arg-type]


@given(VALUES, st.sampled_from([name for name, one in WORKLOAD.items() if not one.is_file]), st.data())
def test_a_name_means_one_workload(values: dict[str, object], name: str, data: st.DataObject) -> None:
    one = Workload(**values)  # type: ignore[arg-type]
    other = Workload(**values | {name: data.draw(values_of(WORKLOAD[name]))})  # type: ignore[arg-type]
    assert (one.name == other.name) == (one == other)


@pytest.mark.parametrize(
    ("value", "shown"), [(1.0, "1"), (0.25, "0.25"), (0.333333, "0.333333"), (1 / 3, "0.3333333333333333")]
)
def test_numbers_are_short_where_that_is_exact(value: float, shown: str) -> None:
    assert Workload("nearest", 8, imbalance=value).name == f"nearest/width=8/imbalance={shown}"


def test_a_file_is_named_without_its_folder_and_given_with_it() -> None:
    cell = Cell("mpi", Workload("dag", 4, dag="/a b/c/it's.dag"))
    assert cell.name == "mpi/dag/dag=it's.dag/width=4"
    assert shlex.split(cell.workload.options())[:4] == ["--pattern", "dag", "--dag", "/a b/c/it's.dag"]
