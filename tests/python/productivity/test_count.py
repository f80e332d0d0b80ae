"""Counts of drivers: the rule for a line, counts by hand, and members that nobody has judged."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import system_folder

from taskgrain.drive.system import System
from taskgrain.drive.system_file import read
from taskgrain.productivity import tokens
from taskgrain.productivity.count import count, drivers, lines_of_code
from taskgrain.words.errors import InputError, UsageError

SYSTEMS = Path(__file__).parents[3] / "systems"


def lines(text: str, ending: str) -> list[int]:
    return sorted(lines_of_code(tokens.parse(text.encode(), tokens.LANGUAGES[ending])))


def test_a_line_counts_if_it_has_more_than_comments_and_brackets() -> None:
    text = """\
// License

#include <a>
namespace {
int f(int a,
      int b) {
  /* why */
  if (a) {
    return b;  // so
  } else {
    g([] {
    });
  }
}
}  // namespace
#pragma omp task depend(in : a) \\
    depend(out : b)
const char* text = R"(a

b)";
"""
    assert lines(text, ".cpp") == [3, 4, 5, 6, 8, 9, 10, 11, 16, 17, 18, 19, 20]


def test_a_docstring_is_no_code_in_python() -> None:
    text = '"""About.\n\nMore."""\nfrom a import (\n    b,\n)\n\nX = 1\n"""What it is."""\n\nf(\n    X\n)\n'
    assert lines(text, ".py") == [4, 5, 8, 11, 12]


BY_HAND = {
    "mpi": (
        {"mpi.cpp": 26},
        "MPI_Request MPI_Request_free MPI_Startall MPI_Waitall MPI_STATUSES_IGNORE MPI_Isend MPI_BYTE "
        "MPI_COMM_WORLD MPI_Recv_init MPI_Comm_get_attr MPI_TAG_UB MPI_THREAD_SINGLE",
    ),
    "openmp_task": (
        {"openmp_task.cpp": 57},
        "omp_get_max_threads taskwait depend parallel single task shared firstprivate omp_get_thread_num",
    ),
    "dask": (
        {"tasks.py": 24},
        "Worker name __version__ set LocalCluster host n_workers threads_per_worker dashboard_address "
        "silence_logs Client scheduler_address wait_for_workers timeout run get sync retries wait status "
        "result close Task TaskRef refresh",
    ),
    "ray_tasks": (
        {"driver.py": 38},
        "remote num_cpus resources options retry_exceptions get wait ObjectRef __version__ init "
        "include_dashboard get_runtime_context gcs_address _node_ip_address "
        "object_store_memory log_to_driver logging_level _system_config _temp_dir shutdown",
    ),
    "spark": (
        {"Spark.scala": 86},
        "SparkPlugin driverPlugin DriverPlugin executorPlugin ExecutorPlugin onTaskStart onTaskSucceeded "
        "onTaskFailed TaskFailedReason RDD flatMap partitionBy HashPartitioner mapPartitionsWithIndex "
        "SparkContext version defaultParallelism emptyRDD dependencies rdd localCheckpoint union foreach "
        "unpersist cleanShuffleDependencies parallelize barrier BarrierTaskContext get collect mapPartitions "
        "SparkConf setAppName setMaster set stop",
    ),
    "tbb": (
        {},
        "continue_node continue_msg current_thread_index task_scheduler_observer task_arena observe "
        "on_scheduler_entry graph make_edge execute parallel_for simple_partitioner TBB_runtime_version "
        "try_put wait_for_all global_control max_allowed_parallelism",
    ),
    "rayon": (
        {"rayon.rs": 49},
        "try_for_each_init par_chunks_exact_mut zip current_thread_index ThreadPool ThreadPoolBuilder new "
        "num_threads build broadcast index install par_iter_mut try_for_each",
    ),
    "goroutines": (
        {"goroutines.go": 140},
        "chan go Int32 Pointer Add Load Store WaitGroup Done Wait",
    ),
    "taskgrain_graph": (
        {"taskgrain_graph.cpp": 75},
        "Turn iteration worker TaskGraph Node task carried_edge edge version workers on_each_worker "
        "policy_from_name policy_names CompiledGraph launch iterations wait Runtime cores order Order oldest "
        "Pinned",
    ),
}
"""Lines of some sources, and the constructs, as a person counted them in the sources by the rules."""


@pytest.mark.parametrize("name", BY_HAND)
def test_the_parser_agrees_with_a_count_by_hand(name: str) -> None:
    by_hand, constructs = BY_HAND[name]
    counted = count(read(SYSTEMS / name))
    assert sorted(counted.constructs) == sorted(constructs.split())
    assert {source: counted.lines[source] for source in by_hand} == by_hand


def own_drivers() -> Iterator[System]:
    for file in sorted(SYSTEMS.glob("*/system.toml")):
        main = read(file.parent)
        yield from drivers([main, *main.variants])


_LIBRARIES = {
    "C++'s library, the system's, and hwloc's": (
        "append arrive_and_wait assign at back begin c_str clear contains count count_down data emplace "
        "emplace_back empty end erase f_bavail f_frsize fetch_add fetch_sub find first for_each front get "
        "get_future insert last load logical_index pop_back push_back reserve reset resize second set_value "
        "size store subspan substr swap try_emplace upper_bound what "
    ),
    "Python's library, and numpy's": (
        "Barrier CDLL argtypes bit_length c_int c_void_p cpu_count difference_update environ executable "
        "frombuffer gettempdir items local map mkdtemp parents path pathsep popleft rmtree rpartition "
        "sched_setaffinity setdefault sleep suppress uint8 union update values wait with_name "
    ),
    "Scala's library, and Java's": (
        "MaxValue SortedSet asInstanceOf clone deleteQuietly distinct emptyMap env err exists exit fill "
        "foldLeft getName getRuntime head indexOf indexWhere indices isEmpty iterator keySet length max "
        "maxMemory min mkString nanoTime notifyAll of readString setOut sortBy split toDouble toInt toMap "
        "toSeq toSet toString trim withInitial zip "
    ),
    "Rust's library": (
        "align_offset and as_mut_ptr as_ptr binary_search_by_key clear clone collect contains drain "
        "extend filter into_iter is_none iter len lock map_err map_or max ok_or ok_or_else or or_else "
        "push saturating_add set start step_by take try_reserve_exact unwrap unwrap_or with "
    ),
    "Go's library, without what its runtime is": "Sizeof Slice ",
    "taskgrain's, for drivers in Go": (
        "Allocate Deps ExecutePoint First Free Graph Init Last Memory OutputBytes Shape Steps System Width "
    ),
    "taskgrain's, for drivers; and an op that one registers": (
        "Unsupported add address after assemble before bindingOfThisThread binding_of_this_thread "
        "book_failure context contexts cores cores_of dag dependence_set dependence_sets deps distribute "
        "drive each_after_by_core each_before executePoint execute_point far far_before firstPoint "
        "fork_depth graph graphs hosts index inputs is_complete kernel lastPoint most_steps output "
        "outputBytes output_bytes owner period periods pinThisProcess pinThisThread pin_this_thread point "
        "points ready representatives reverseDeps reverse_deps root roots shared spec start_elsewhere steps "
        "taskgrain_enter tasks uniform width "
    ),
}
OTHERS = frozenset(" ".join(_LIBRARIES.values()).split())
"""Members that drivers use, and that are not of a runtime."""


@pytest.mark.parametrize("system", [*own_drivers()], ids=lambda one: one.name)
def test_somebody_has_judged_every_member(system: System) -> None:
    """A member that a driver uses is the runtime's, one of OTHERS, or a name that the driver has elsewhere.

    If this fails, your driver uses something new: add it to `constructs` of its `system.toml` or to OTHERS.
    """
    assert not unjudged(system) - OTHERS


def unjudged(system: System) -> set[str]:
    own, members = set(), set()
    for name in system.sources:
        found = tokens.read(system.folder / name, name).tokens
        for before, token in zip(["", *(one.text for one in found)], found, strict=False):
            if token.is_name:
                (members if before in (".", "->") else own).add(token.text)
    paths = {word for one in system.constructs for word in re.findall(r"\w+", one)}
    return {one for one in members - own - paths - {*count(system).constructs} if not one.startswith("_")}


def test_others_are_those_that_drivers_use() -> None:
    assert set().union(*map(unjudged, own_drivers())) == OTHERS


def made(folder: Path, text: str, **sources: str) -> System:
    system_folder.make(folder, f"{text}\n{system_folder.LEAST}")
    for name, content in sources.items():
        (folder / f"{name}.cpp").write_text(content)
    return read(folder)


def test_a_source_is_counted_once_and_names_over_all_sources(tmp_path: Path) -> None:
    text = 'sources = ["a.cpp", "b.cpp", "a.cpp"]\nconstructs = ["L_*"]'
    counted = count(made(tmp_path / "x", text, a="L_go(L_ON);\nL_go();\n", b="L_off();\nf();\n"))
    assert (dict(counted.lines), counted.total) == ({"a.cpp": 2, "b.cpp": 2}, 4)
    assert list(counted.constructs.items()) == [("L_go", 2), ("L_off", 1), ("L_ON", 1)]
    assert counted.lines_with_constructs == 3


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ('sources = ["a.cpp", "b.cpp"]', UsageError, r"system.toml: sources\[1\]: .*b.cpp: cannot be read"),
        (
            'sources = ["a.zig"]',
            InputError,
            r"system.toml: sources\[0\]: a.zig is not allowed; allowed: a file",
        ),
        ('constructs = ["L_*", "L-"]', InputError, r"system.toml: constructs\[1\]: L- is not allowed"),
    ],
)
def test_what_cannot_be_counted_is_refused_with_its_place(
    tmp_path: Path, text: str, kind: type[Exception], message: str
) -> None:
    system = made(tmp_path / "x", text, a="f();")
    with pytest.raises(kind, match=message):
        count(system)


def test_variants_with_the_same_sources_have_one_driver(tmp_path: Path) -> None:
    text = 'sources = ["a.cpp"]\n[variants.same]\n[variants.other]\nsources = ["b.cpp"]'
    main = made(tmp_path / "x", text)
    bare = made(tmp_path / "bare", "")
    assert [one.name for one in drivers([main, *main.variants, bare])] == ["x", "x.other"]
