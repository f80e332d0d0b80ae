"""Cells of a comparison, as a test wishes."""

from taskgrain.answers.compare.cells import Compared, Comparison, Question, Verdict
from taskgrain.estimate.ratio import Ratio

RATIOS = {
    "metg": Ratio(1.234, 1.11, 1.37, 12),
    "overhead": Ratio(1.2, 1.1, 1.3, 12),
    "floor": Ratio(1.31, 1.28, 1.345, 4),
    "rate": Ratio(0.91, 0.88, 0.935, 12),
    "efficiency": Ratio(0.912, 0.881, 0.936, 12),
}


def cell(system: str = "mpi", workload: str = "stencil_1d/width=16", verdict: Verdict = "slower") -> Compared:
    return Compared("new", "old", system, system, workload, verdict, ratios=RATIOS)  # type: ignore[arg-type]


def comparison(*cells: Compared) -> Comparison:
    return Comparison(Question(), 0.975, cells, ())


LONG = cell("taskgrain_graph", "nearest/radix=5/width=16/graphs=4", "undecided")
