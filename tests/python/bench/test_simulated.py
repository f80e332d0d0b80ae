"""The numbers that bench/simulated.py fits are those that make the steps."""

from pathlib import Path

import pytest
import simulated as bench

pytestmark = pytest.mark.uses("mpi_simulated")
GIVEN = {
    "task_seconds": 2e-8,
    "byte_seconds": 2e-11,
    "message_seconds": 4e-7,
    "message_byte_seconds": 3e-10,
    "latency": 3e-6,
}


@pytest.mark.deep
@pytest.mark.parametrize(
    ("place", "bandwidth"),  # many large messages wait for the cores, and those of a slow link for that
    [("--nodes 2 --cores 1", 5e9), ("--nodes 2 --cores 1", 5e8), ("--cores 2", 5e9)],
)
def test_what_a_platform_is_made_of_is_what_is_fitted_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, bandwidth: float
) -> None:
    monkeypatch.setattr(bench, "_REPEATS", 1)
    given = GIVEN | {"bandwidth": bandwidth}
    bench.platform(tmp_path / "fitted", given)
    system = ["--systems", str(tmp_path / "fitted"), "--system", "fitted"]
    assert bench.fit(system, place.split(), limited=bandwidth == 5e8) == pytest.approx(given, rel=0.1)
