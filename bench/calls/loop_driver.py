"""A driver that calls one task after the other: what is left of a run is what the calls cost."""

from __future__ import annotations

from taskgrain._core import Run, binding_of_this_thread, cores, pin_this_thread
from taskgrain.system import System, drive


class Loop(System):
    name, version = "loop", "1"

    def __init__(self) -> None:
        pin_this_thread(cores()[0])

    def binding(self) -> list[list[int]]:
        return [binding_of_this_thread()]

    def prepare(self, run: Run) -> None:
        self.outputs = [[bytearray(run.output_bytes()) for _ in range(run.width())] for _ in range(2)]
        self.calls = [
            (
                step,
                point,
                self.outputs[step % 2][point],
                [self.outputs[1 - step % 2][j] for j in run.deps(0, step, point)],
            )
            for step in range(run.steps())
            for point in range(run.points(0, step)[0], run.points(0, step)[1] + 1)
        ]

    def execute(self, run: Run) -> None:
        for step, point, output, inputs in self.calls:
            run.execute_point(0, 0, step, point, output, inputs)


if __name__ == "__main__":
    drive(Loop())
