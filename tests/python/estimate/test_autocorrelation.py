"""The autocorrelation of rounds."""

from __future__ import annotations

import numpy as np
import pytest

from taskgrain.estimate.autocorrelation import inflated


@pytest.mark.parametrize(("rho", "least", "most"), [(0.0, 1.0, 1.25), (0.5, 2.2, 4.5), (0.9, 8.0, 19.1)])
def test_rounds_that_are_alike_inflate_the_variance(rho: float, least: float, most: float) -> None:
    rng = np.random.default_rng(5)
    series = np.zeros(2000)
    for k in range(1, 2000):
        series[k] = rho * series[k - 1] + rng.normal()
    assert least <= inflated(series) <= most
    assert inflated(series[:3]) == 1.0 == inflated(np.zeros(20)) == inflated(1e-12 * series)


def test_few_rounds_inflate_less_than_they_seem_to_be_alike() -> None:
    rng = np.random.default_rng(5)
    independent = [inflated(rng.normal(size=10)) for _ in range(200)]
    assert np.median(independent) < 1.3 and np.quantile(independent, 0.9) < 2.5
