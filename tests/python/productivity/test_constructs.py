"""Constructs: what each form of a pattern finds, and what it leaves alone."""

from pathlib import Path

import pytest

from taskgrain.productivity import tokens
from taskgrain.productivity.constructs import find, pattern
from taskgrain.words.errors import InputError


def found(text: str, patterns: list[str], name: str = "x.cpp") -> list[str]:
    source = tokens.parse(text.encode(), tokens.LANGUAGES[Path(name).suffix], Path(name))
    return [one for one, _ in find(source, [pattern(each, "constructs") for each in patterns])]


@pytest.mark.parametrize(
    ("patterns", "text", "names"),
    [
        (["MPI_*"], "#include <MPI_x.h>\nMPI_Send(a, MPI_INT); // MPI_Recv\nf(\"MPI_Bcast\");",
         ["MPI_Send", "MPI_INT"]),
        (["starpu_?*"], "starpu_.x = starpu_init();", ["starpu_init"]),
        ([".submit"], "a.submit(b); p->submit(); submit(); ns::submit();", ["submit", "submit"]),
        ([".cores"], "Runtime r{.cores = cores};", ["cores"]),
        (["tbb::*", "tbb::flow::*"], "tbb::flow::graph g; tbb::task_arena a;", ["graph", "task_arena"]),
        (["tbb::*"], "tbb::flow::graph g; graph h; own::tbb::x();", ["flow", "graph"]),
        (["R::*"], "using R::Event; Event e = Event::merge(R::Event::NONE);",
         ["Event", "Event", "merge", "Event", "NONE"]),
        (["tensorflow::*"], "namespace tf = tensorflow; tf::Tensor t; tensorflow::Op o;", ["Tensor", "Op"]),
        (["std::atomic*"], "std::atomic<int> a; std::atomic_flag b; std::vector<int> c;",
         ["atomic", "atomic_flag"]),
        (["map_task()"], "void map_task(int x) {} void f() { map_task(1); }", ["map_task"]),
        (["run()"], "struct A { int run; void run(int run) const { this->run = run; } };", ["run"]),
        (["a_*", "!a_own"], "a_lib(); a_own();", ["a_lib"]),
        (["*.ci: entry"], "int entry;", []),
        (["#pragma omp"], "#pragma omp parallel for schedule(static, f(x)) nowait\nfor (;;) {}",
         ["parallel", "for", "schedule", "nowait"]),
        (["#pragma omp"], "#pragma once\n#pragma GCC unroll 4\nfor (;;) {}", []),
        ([], "f();", []),
    ],
)  # fmt: skip
def test_in_cpp(patterns: list[str], text: str, names: list[str]) -> None:
    assert found(text, patterns) == names


@pytest.mark.parametrize(
    ("patterns", "text", "names"),
    [
        (["ray.*"], "import ray\n@ray.remote\ndef f(): ray.get(ray)", ["remote", "get"]),
        (["ray.*"], "from ray.dag import InputNode as I\nI()", ["InputNode"]),
        (["dask.*", "dask.config.*"], "import dask\ndask.config.set(x)", ["set"]),
        (["dask.*"], "import dask\ndask.config.set(x)", ["config", "set"]),
        (["ray.*"], "import numpy as np\nnp.ray.get()", []),
        ([".get"], "self.client.get(x).get(); get()", ["get", "get"]),
        (["ray.*", ".x"], "import ray\ndef f() -> ray.ObjectRef: return x", ["ObjectRef"]),
        (["num_cpus="], "f(num_cpus=1); num_cpus = 2", ["num_cpus"]),
    ],
)
def test_in_python(patterns: list[str], text: str, names: list[str]) -> None:
    assert found(text, patterns, "x.py") == names


def test_in_scala() -> None:
    text = (
        "import org.apache.spark.{SparkConf, SparkContext}\nimport org.apache.spark.rdd.RDD\n"
        'def go(x: RDD[Int]) = new SparkConf().set(s"a${x.id}").map(x => x.id)'
    )
    assert found(text, ["org.apache.spark.*", ".set", ".id"], "x.scala") == [
        "RDD",
        "SparkConf",
        "set",
        "id",
        "id",
    ]


def test_in_java() -> None:
    text = "import a.b.Lib;\nclass X extends Lib { @Override public void onStart() { Lib.go(); go(); } }"
    assert found(text, ["a.b.*", "onStart()"], "x.java") == ["Lib", "onStart", "Lib", "go"]


def test_a_file_may_have_patterns_of_its_own() -> None:
    assert found("group G { entry G(); };", ["*.ci: entry", "*.ci: group"], "x.ci") == ["group", "entry"]


@pytest.mark.parametrize(
    "text", ["", "a b", "tbb::", "#pragma", "#include x", ".a.b", "a()b", "a::b.*", "!", "*.ci:x"]
)
def test_what_is_no_pattern_is_refused_with_the_forms(text: str) -> None:
    with pytest.raises(
        InputError, match=r"constructs\[1\]: .* is not allowed; allowed: a name, MPI_\*; a member"
    ):
        pattern(text, "constructs[1]")
