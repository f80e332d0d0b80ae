"""Weak scaling: the same sizes of tasks on each number of cores, so that each core keeps its work."""

from __future__ import annotations

from taskgrain.measure.experiments.sweep import Sweep


class Weak(Sweep):
    """The sweep of one cell: its sizes are powers of two, which other numbers of cores have too."""
