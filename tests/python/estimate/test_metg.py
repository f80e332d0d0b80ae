"""The estimator against systems whose METG is known."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_system import (
    QUIET,
    WORK,
    Noise,
    SimulatedSystem,
    bump,
    constant,
    growing,
    runs_of_both_lengths,
    samples_of,
)

from taskgrain.estimate.metg import Metg, estimate
from taskgrain.estimate.ratio import ratio
from taskgrain.estimate.sample import Sample
from taskgrain.words.interval import Interval

OVERHEAD = 1e-7  # 100 iterations
SIZES = (25, 42, 59, 84, 119, 168, 390, 900)

SETTINGS = {
    "quiet": Noise(run=0.01, repeat=0.005),
    "noisy": Noise(run=0.1, repeat=0.05),
    "outliers": Noise(run=0.03, outliers=0.05, outlier_runs=0.02),
    "two placements": Noise(run=0.02, slow_state=0.25, slow_share=0.3),
    "uncertain reference": Noise(run=0.02, reference=0.05),
}

LEAST = {"two placements": 0.8}
"""A median of few draws from two states is now and then in the other one."""


def codes(found: Metg) -> list[str]:
    return [one.code for one in found.warnings]


def measured(noise: Noise, rounds: int, seed: int, resamples: int = 400) -> tuple[Metg, SimulatedSystem]:
    system = SimulatedSystem(constant(OVERHEAD), noise, seed=seed)
    found = estimate(samples_of(system, SIZES, rounds), resamples=resamples, seed=seed)
    return found, system


def coverage(noise: Noise, rounds: int, seeds: range) -> tuple[float, float, float]:
    """Share of intervals that hold the truth, their median half-width, the furthest miss in half-widths."""
    held, widths, furthest = 0, [], 0.0
    truth = SimulatedSystem(constant(OVERHEAD), noise).true_metg()
    for seed in seeds:
        found, _ = measured(noise, rounds, seed)
        low, high = found.metg.ends
        widths.append(found.metg.half_width)
        held += found.metg.contains(truth)
        furthest = max(furthest, max(low - truth, truth - high) / (found.metg.number * found.metg.half_width))
    return held / len(seeds), float(np.median(widths)), furthest


@pytest.mark.parametrize(
    ("name", "rounds"),
    [
        ("noisy", 8),
        ("two placements", 12),
        ("uncertain reference", 8),
        pytest.param("quiet", 8, marks=pytest.mark.slow),
        pytest.param("noisy", 20, marks=pytest.mark.deep),
        pytest.param("outliers", 12, marks=pytest.mark.deep),
    ],
)
def test_the_interval_holds_the_truth_in_nine_of_ten_cases_at_least(name: str, rounds: int) -> None:
    held, width, furthest = coverage(SETTINGS[name], rounds, range(50))
    assert held >= LEAST.get(name, 0.90)
    assert furthest < 1.5, "an interval was wrong and narrow"
    assert width < {"quiet": 0.04, "uncertain reference": 0.2, "outliers": 0.1}.get(name, 0.3), "useless"


@pytest.mark.deep
@pytest.mark.parametrize(
    ("name", "rounds"), sorted({*product(SETTINGS, (5, 12, 40))} - {("two placements", 12), ("outliers", 12)})
)
def test_coverage_study(name: str, rounds: int) -> None:
    held, width, furthest = coverage(SETTINGS[name], rounds, range(50))
    print(f"| {name} | {rounds} | {held:.3f} | {width:.3f} | {furthest:.2f} |")
    assert held >= LEAST.get(name, 0.90)


@pytest.mark.parametrize("spacing", [math.sqrt(2.0), 2.0, 4.0])
def test_without_noise_a_constant_overhead_is_found_exactly_at_any_spacing(spacing: float) -> None:
    system = SimulatedSystem(constant(OVERHEAD))
    sizes = tuple(sorted({round(25 * spacing**k) for k in range(12)}))
    found = estimate(samples_of(system, sizes, 8))
    assert found.metg.value == pytest.approx(2.0 * OVERHEAD, rel=1e-9)
    assert found.iterations == pytest.approx(100.0, rel=2e-2)
    assert found.metg.half_width < 1e-9


@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("exponent", [-0.2, 0.0, 0.2, 0.5])
def test_other_overheads_and_thresholds(threshold: float, exponent: float) -> None:
    system = SimulatedSystem(growing(10.0 * OVERHEAD, exponent))
    sizes = tuple(sorted({round(2.0 ** (k / 2.0)) for k in range(44)}))
    found = estimate(samples_of(system, sizes, 6), threshold=threshold)
    truth = system.true_metg(threshold)
    assert found.metg.value == pytest.approx(truth, rel=0.04 if truth > 2.0 * system.granularity(1) else 0.15)
    assert (found.metg.low or 0.0) * (1.0 - 1e-9) <= truth <= (found.metg.high or math.inf) * (1.0 + 1e-9)


@pytest.mark.parametrize("depth", [0.04, 0.5])
def test_a_clock_that_drifts_moves_metg_as_it_moves_all_times(depth: float) -> None:
    held = held_work = 0
    for seed in range(50):
        phase = 0.37 * seed

        def clock(position: int, phase: float = phase) -> float:
            return math.exp(depth * math.sin(phase + position / 15.0))

        system = SimulatedSystem(constant(OVERHEAD), Noise(run=0.02), clock, seed=seed)
        found = estimate(samples_of(system, SIZES, 12), resamples=400)
        held += found.metg.contains(2.0 * OVERHEAD)
        assert found.metg.value == pytest.approx(2.0 * OVERHEAD, rel=max(0.12, 0.8 * depth))
        held_work += found.work.contains(100.0 * WORK)
        assert found.iterations == pytest.approx(100.0, rel=0.05), "work against work does not know the clock"
        assert found.work.value == pytest.approx(100.0 * WORK, rel=0.05)
    assert held >= 46 and held_work >= 46


def test_a_clock_that_changes_twice_leaves_the_time_at_the_usual_one_and_the_work_as_it_is() -> None:
    """16 rounds of 40 were at another clock, in one piece: the interval of the time knows, that of the work
    need not."""
    system = SimulatedSystem(
        constant(OVERHEAD), Noise(run=0.1), lambda position: 1.6 if 10 <= position // len(SIZES) < 26 else 1.0
    )
    found = estimate(samples_of(system, SIZES, 40))
    assert found.metg.number == pytest.approx(2.0 * OVERHEAD, rel=0.1) and found.metg.contains(2.0 * OVERHEAD)
    assert found.work.contains(100.0 * WORK) and found.work.half_width < 0.1 < found.metg.half_width


def test_outliers_move_nothing_and_are_counted() -> None:
    system = SimulatedSystem(constant(OVERHEAD), Noise(run=0.01))
    clean = samples_of(system, SIZES, 12)
    hit = [replace(s, seconds=s.seconds * 50.0) if k % 29 == 3 else s for k, s in enumerate(clean)]
    before, after = (estimate(s) for s in (clean, hit))
    assert after.metg.value == pytest.approx(before.metg.number, rel=0.01)
    assert before.warnings == ()
    count = len([k for k in range(len(clean)) if k % 29 == 3])
    (said,) = after.warnings
    assert said.code == "few_outliers"
    assert (said.values["outliers"], said.values["repeats"]) == (count, len(clean))
    assert said.values["worst"] == pytest.approx(50.0, rel=0.1)
    # The same where a disturbance lasts for a whole run, in three of the twelve rounds of every size.
    whole = [replace(s, seconds=s.seconds * 50.0) if s.round % 4 == 1 else s for s in clean]
    after = estimate(whole)
    assert after.metg.value == pytest.approx(before.metg.value, rel=0.03)
    assert after.metg.ends[0] > 0.9 * before.metg.ends[0] > 0.0
    assert after.warnings[0].code == "many_outliers"
    assert after.warnings[0].values["share"] == 0.25


@pytest.mark.parametrize(
    ("sizes", "ending"), [((1, 2, 4, 8), "never_reached"), ((400, 800, 1600), "always_reached")]
)
def test_a_threshold_outside_of_the_sizes(sizes: tuple[int, ...], ending: str) -> None:
    system = SimulatedSystem(constant(OVERHEAD), Noise())
    found = estimate(samples_of(system, sizes, 8))
    assert (found.ending, found.metg.value, found.iterations) == (ending, None, None)
    largest, smallest = (pytest.approx(system.granularity(sizes[k]), rel=0.05) for k in (-1, 0))
    assert found.metg == (Interval(low=largest) if ending == "never_reached" else Interval(high=smallest))


@pytest.mark.parametrize("noise", [QUIET, Noise(run=0.05)])
def test_a_curve_that_falls_below_again_is_not_given_a_number(noise: Noise) -> None:
    system = SimulatedSystem(bump(OVERHEAD, 300, 20.0), noise)
    sizes = (25, 50, 100, 200, 290, 600, 1200, 2500, 5000)
    assert estimate(samples_of(system, sizes, 8)).ending == "several_crossings"
    # Falling through the threshold is enough: the rise before it lies below the sizes measured.
    assert estimate(samples_of(system, sizes[3:6], 8)).ending == "several_crossings"
    # Up to where it falls, it is an ordinary curve.
    assert estimate(samples_of(system, sizes[:5], 8)).ending == "budget"


@pytest.mark.parametrize(
    "overhead", [constant(OVERHEAD), growing(OVERHEAD, 1.0)], ids=["rising", "flat at 0.5"]
)
def test_noise_alone_never_makes_several_crossings(overhead: object) -> None:
    for seed in range(40):
        system = SimulatedSystem(overhead, Noise(run=0.1, outliers=0.1), seed=seed)  # type: ignore[arg-type]
        found = estimate(samples_of(system, SIZES, 8), resamples=400, seed=seed)
        assert found.ending != "several_crossings", seed


def test_too_few_rounds_never_give_a_narrow_interval() -> None:
    one, _ = measured(Noise(run=0.1), 1, 0)
    assert one.metg == Interval(one.metg.number) and one.metg.half_width == math.inf
    assert one.warnings[0].code == "one_round"
    for rounds in (2, 3, 4):
        assert coverage(SETTINGS["noisy"], rounds, range(40))[0] >= 0.90


@pytest.mark.parametrize(("apart", "bounded"), [(2.0, True), (4.0, False)])
def test_a_bound_that_bounds_nothing_is_none(apart: float, bounded: bool) -> None:
    """Two rounds that lie a factor apart, of whose root the interval takes the power 12.7."""
    samples = samples_of(SimulatedSystem(constant(OVERHEAD), Noise()), SIZES, 2)
    samples = [replace(s, seconds=s.seconds * apart**s.round) for s in samples]
    for point in estimate(samples).curve:
        assert point.granularity.known == bounded == (point.granularity.factor < math.inf)


def test_a_size_added_late_joins_once_it_means_something() -> None:
    system = SimulatedSystem(constant(OVERHEAD), Noise(run=0.02))
    base = samples_of(system, (25, 50, 200, 400), 12)
    late = [s for s in samples_of(system, (100,), 12) if s.round < 2]
    wrong = [replace(s, seconds=s.seconds * 3.0) for s in late]
    assert estimate(base + wrong).metg.value == pytest.approx(2.0 * OVERHEAD, rel=0.1)
    assert [p.iterations for p in estimate(base + wrong).curve] == [25, 50, 100, 200, 400]
    grown = base + [s for s in samples_of(system, (100,), 12) if s.round >= 4]
    found = estimate(grown)
    assert found.metg.value == pytest.approx(2.0 * OVERHEAD, rel=0.05) and found.metg.half_width < 0.1


def test_the_curve_is_what_was_measured() -> None:
    found, system = measured(Noise(), 9, 1)
    assert [p.iterations for p in found.curve] == list(SIZES) and found.rounds == 9
    for p in found.curve:
        assert p.repeats == 27
        assert p.granularity.number == pytest.approx(system.granularity(p.iterations), rel=0.04)
        assert p.efficiency.number == pytest.approx(1.0 / (1.0 + 100.0 / p.iterations), rel=0.05)
        for one in (p.granularity, p.efficiency):
            assert one.known and one.contains(one.number)
        assert p.efficiency.number == pytest.approx(
            128.0 * p.iterations / (p.granularity.number * found.peak_rate), rel=0.01
        )


def test_a_disturbed_reference_shows_as_efficiency_above_one() -> None:
    samples = samples_of(SimulatedSystem(constant(OVERHEAD)), SIZES, 8)
    found = estimate([replace(one, peak=one.peak / 1.4) for one in samples])
    (said,) = found.warnings
    assert said.code == "efficiency_above_one" and said.values["efficiency"] == pytest.approx(1.26)


def test_the_floor() -> None:
    system = SimulatedSystem(constant(OVERHEAD), Noise(run=0.05, outliers=0.05))
    samples = samples_of(system, (0,), 12)
    base = estimate(samples_of(system, SIZES, 8), floor_samples=samples).floor
    assert base.known and base.contains(base.number) and base.value == pytest.approx(OVERHEAD, rel=0.05)


@pytest.mark.parametrize(
    "change", [{"seconds": 0.0}, {"seconds": math.nan}, {"tasks": 0}, {"work": 0.0}, {"peak": math.nan}]
)
def test_impossible_samples_are_refused(change: dict[str, float]) -> None:
    sample = Sample(1, 0, 1.0, 1.0, 1, 1, 1.0)
    with pytest.raises(ValueError, match="positive"):
        estimate([replace(sample, **change)])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least one"):
        estimate([])


# -- properties ---------------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e6), st.integers(0, 50), st.permutations(range(16)))
def test_units_and_order_do_not_matter(
    time_unit: float, work_unit: float, seed: int, order: list[int]
) -> None:
    system = SimulatedSystem(constant(OVERHEAD), Noise(run=0.05), seed=seed)
    samples = samples_of(system, (50, 80, 120, 200), 4, repeats=1)
    base = estimate(samples, resamples=100)
    scaled = [
        replace(
            samples[k],
            seconds=samples[k].seconds * time_unit,
            work=samples[k].work * work_unit,
            peak=samples[k].peak * work_unit / time_unit,
        )
        for k in order
    ]
    found = estimate(scaled, resamples=100)
    assert found.ending == base.ending
    of_both = [(one.metg.value, one.metg.low, one.metg.high, one.iterations) for one in (base, found)]
    units = time_unit, time_unit, time_unit, 1.0
    for before, after, unit in zip(*of_both, units, strict=True):
        assert (before is None and after is None) or after == pytest.approx(before * unit, rel=1e-6)


@settings(max_examples=25)
@given(st.floats(1.05, 3.0), st.integers(0, 50))
def test_a_slower_reference_makes_metg_smaller(factor: float, seed: int) -> None:
    system = SimulatedSystem(constant(OVERHEAD), Noise(run=0.05), seed=seed)
    samples = samples_of(system, SIZES, 4, repeats=1)
    slower = [replace(one, peak=one.peak / factor) for one in samples]
    fast, slow = (estimate(side, resamples=50) for side in (samples, slower))
    assert slow.metg.value is None or slow.metg.value < fast.metg.number


def test_start_and_end_that_are_most_of_a_run_leave_no_number() -> None:
    system = SimulatedSystem(constant(1e-7), Noise(run=0.02), start_seconds=1e-3)  # 0.4 ms of tasks
    runs = runs_of_both_lengths(system, (50, 71, 100, 141, 200), 12)
    found = estimate(runs)
    assert found.metg == Interval()
    (said,) = (one for one in found.warnings if one.code == "start_dominates")
    assert said.values["share"] > 0.6
    assert ratio(runs, samples_of(SimulatedSystem(constant(1e-7)), (50, 71, 100, 141, 200), 12)).value is None


def test_short_runs_alone_are_no_samples() -> None:
    system = SimulatedSystem(constant(1e-7))
    runs = runs_of_both_lengths(system, (50, 100, 200), 6)
    with pytest.raises(ValueError, match="not of a short run"):
        estimate([one for one in runs if one.short])
    kept = [one for one in runs if one.short or one.iterations != 100]  # a short run of a size without others
    assert estimate(kept).start.value is None
