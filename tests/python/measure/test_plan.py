"""Tests of what a plan asks of cells whose nodes are simulated."""

from taskgrain.measure.plan import cell_settings
from taskgrain.study.settings import Settings
from taskgrain.study.workload import Workload


def test_a_simulation_of_nodes_is_not_repeated_and_no_longer_than_it_has_to_be() -> None:
    width = Workload(pattern="fft", width=128)
    real, simulated = (cell_settings(Settings(), width, one) for one in (False, True))
    assert (simulated.repeats, simulated.warmup, simulated.min_rounds, simulated.max_rounds) == (1, 0, 5, 5)
    assert simulated.clamped_steps(1e6, 128) == 8 * 7 < real.clamped_steps(1e6, 128)  # eight periods
    assert cell_settings(Settings(steps=1000), width, True).clamped_steps(1e6, 128) == 1000
    wide = Workload(pattern="fft", width=512, graphs=4)
    assert cell_settings(Settings(), wide, True).clamped_steps(1e6, 2048) == 6 * 9
    narrow = Workload(pattern="fft", width=16)
    assert cell_settings(Settings(), narrow, True).clamped_steps(1e6, 16) == 256
    assert cell_settings(Settings(steps=4), wide, True).clamped_steps(1e6, 2048) == 4
