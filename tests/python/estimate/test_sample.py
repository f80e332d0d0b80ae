"""One measurement, and what follows from it."""

from __future__ import annotations

import math
from dataclasses import replace

from taskgrain.estimate.sample import Sample


def test_a_sample_knows_its_granularity_rate_and_efficiency() -> None:
    sample = Sample(iterations=4, round=0, seconds=2.0, work=600.0, tasks=10, cores=2, peak=200.0)
    assert (sample.granularity, sample.rate, sample.efficiency) == (0.4, 300.0, 0.75)
    assert math.isnan(replace(sample, peak=math.nan).efficiency)
