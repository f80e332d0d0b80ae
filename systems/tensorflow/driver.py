"""A `tf.function` of all graphs unrolled: a task is an op (tasks.cpp), its inputs the tensors it needs."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path

from taskgrain import _core
from taskgrain.system import Run, System, drive

os.sched_setaffinity(0, _core.cores())  # of all threads that TensorFlow makes from now on

import tensorflow as tf  # noqa: E402

LIBRARY = str(Path(__file__).with_name("tasks.so"))
MOST_TASKS = 2**17
"""TensorFlow takes about 0.3 ms for each node of a new graph."""


class TensorFlow(System):
    name, version = "tensorflow", tf.__version__

    def __init__(self) -> None:
        self.cores = len(_core.cores())
        tf.config.threading.set_inter_op_parallelism_threads(self.cores)
        tf.config.threading.set_intra_op_parallelism_threads(1)
        # No rewriting can better an op of ours, but it would take out those whose outputs nobody reads.
        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
        self._ops = tf.load_op_library(LIBRARY)
        self._library = ctypes.CDLL(LIBRARY)
        self._library.taskgrain_use.argtypes = [ctypes.c_void_p]
        self._start = tf.zeros([0], tf.uint8)
        self._compile(self._enter)
        self._call()
        self.cores = sum(map(bool, self.binding()))  # threads that came

    def binding(self) -> list[list[int]]:
        processors = (ctypes.c_int * (os.cpu_count() or 1))()
        return [
            processors[: self._library.taskgrain_binding(k, processors, len(processors))]
            for k in range(self.cores)
        ]

    def prepare(self, run: Run) -> None:
        if run.tasks > MOST_TASKS:
            raise _core.Unsupported(f"{run.tasks} tasks; this system unrolls graphs of {MOST_TASKS} at most")
        graph = unrolled(run)
        self._compile(
            lambda start: tf.graph_util.import_graph_def(graph, {"start": start}, ["end:0"], name="")[0]
        )
        # Kernels are made in the first call, and few programs call but once.
        self._library.taskgrain_use(None)
        self._call()
        self._library.taskgrain_use(run.address)

    def execute(self, run: Run) -> None:
        self._call()

    def _enter(self, start: tf.Tensor) -> tf.Tensor:
        with tf.control_dependencies([self._ops.taskgrain_enter(start, k) for k in range(self.cores)]):
            return tf.identity(start)

    def _compile(self, body: Callable[[tf.Tensor], tf.Tensor]) -> None:
        """Anew for each request: what TensorFlow learns of how long an op takes must not be of another's."""
        signature = [tf.TensorSpec([0], tf.uint8)]
        self._function = tf.function(body, signature, autograph=False).get_concrete_function()

    def _call(self) -> None:
        try:
            self._function(self._start)
        except tf.errors.ResourceExhaustedError as error:
            raise MemoryError(error.message) from None


def unrolled(run: Run) -> tf.compat.v1.GraphDef:
    """The tasks of all graphs as nodes, to be imported: to trace them one by one takes five times as long."""
    graph = tf.compat.v1.GraphDef()
    graph.node.add(name="start", op="Placeholder").attr["dtype"].type = tf.uint8.as_datatype_enum
    ends = ["start"]
    for g in range(run.graphs):
        before: dict[int, str] = {}
        for step in range(run.steps(g)):
            first, last = run.points(g, step)
            now = {point: f"task_{g}_{step}_{point}" for point in range(first, last + 1)}
            unread = set(before)
            for point, name in now.items():
                deps = run.deps(g, step, point)
                unread.difference_update(deps)
                inputs = [before[j] for j in deps] or ["start"]
                node = graph.node.add(name=name, op="TaskgrainTask", input=inputs)
                node.attr["dependences"].i = len(deps)
                node.attr["starts"].i = 0 if deps else 1
                node.attr["task"].list.i.extend((g, step, point))
                node.attr["bytes"].i = run.output_bytes(g)
            ends += [f"^{before[j]}" for j in unread]
            before = now
        ends += [f"^{name}" for name in before.values()]
    graph.node.add(name="end", op="Identity", input=ends).attr["T"].type = tf.uint8.as_datatype_enum
    return graph


if __name__ == "__main__":
    drive(TensorFlow())
