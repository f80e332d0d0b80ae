"""The verdict: how busy the machine was, how well numbers are known, and which orders hold."""

from dataclasses import replace
from typing import Any

import pytest
from stored_cells import stored

from taskgrain.answers.verdict import verdict
from taskgrain.results.cell import Cell
from taskgrain.results.lines import RunLine
from taskgrain.words.endings import Ending


def judged(
    system: str,
    workload: str = "fft",
    ratio: tuple[float | None, float | None] | None = None,
    **fields: Any,
) -> Cell:
    """A cell; `ratio` are the bounds of that to system a."""
    ratios = {"a": (1.5, *ratio)} if ratio else {}
    metg = 1e-6 if system == "a" else 1.5e-6
    plain = {"metg": metg, "low": 0.9 * metg, "high": 1.1 * metg, "ending": Ending.BUDGET}
    if "slowdown" in fields:
        fields |= {"peak_rate": 1.0, "best_rate": fields.pop("slowdown")}
    if "disturbed" in fields:
        fields["disturbed_runs"] = round(100 * fields.pop("disturbed"))
    others = fields.pop("others", 0.0)
    found = stored(system, workload, ratios=ratios, **(plain | fields))
    found.runs.append(RunLine(cell=found.name, busy=others))
    return found


def test_a_quiet_machine_and_a_winner() -> None:
    cells = [judged("a"), judged("b", ratio=(1.9, 2.1)), judged("c", ratio=(2.8, 3.2))]
    first, second = verdict(cells)
    assert first == (
        "The machine seemed quiet. METG is known within ±11 %, and its ratio to the best system within ±6 % "
        "(medians over the cells)."
    )
    assert second == "fft: a is the best of 3."


def test_a_bound_is_not_the_best_but_what_the_best_is_measured_by() -> None:
    best = stored("a", ratios={"limit": (1.25, 1.2, 1.3)})
    limit = stored("limit", metg=0.8e-6, bound=True, ratios={"a": (0.8, 0.77, 0.83)})
    _, second = verdict([limit, best, judged("b", ratio=(1.9, 2.1))])
    assert second == "fft: a is the best of 2; a is at 1.25 (1.20 – 1.30) times the bound limit."


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"slowdown": 2.0}, "beside the runs the kernel alone reached 50 % of its best."),
        ({"disturbed": 0.3}, "other programs disturbed 30 % of the runs."),
        ({"others": 0.4}, "others used 40 % of the cores' time during the runs."),
        ({"slowdown": 2.0, "disturbed": 0.3}, "of its best, and other programs disturbed 30 % of the runs."),
    ],
)
def test_a_busy_machine(fields: dict[str, float], said: str) -> None:
    (first, _) = verdict([judged("a", **fields), judged("b", ratio=(1.9, 2.1), **fields)])
    assert first.startswith("The machine was busy: ") and said in first


def test_what_is_hardly_known_is_a_factor_or_has_no_bounds() -> None:
    (wide, *_) = verdict([judged("a", low=0.4e-6, high=2.0e-6)])
    assert "METG is known within a factor of 2.5" in wide, "the longer side"
    (useless, *_) = verdict([judged("a", low=1e-9, high=1e-4)])
    assert "within a factor of 1000" in useless
    (open_, *_) = verdict([judged("a", high=None), judged("b", low=None), judged("c")])
    assert "METG is known with one bound at most" in open_


def test_a_bound_beside_one_round_is_at_the_quotient() -> None:
    limit, a = (
        stored("limit", metg=1e-6, bound=True),
        stored("a", metg=1.5e-6, ratios={"limit": (1.0, None, None)}),
    )
    *_, said = verdict([limit, a, stored("b", metg=9e-6, ratios={"a": (6.0, 5.0, 7.0)})])
    assert said.endswith("a is at 1.5 times the bound limit.")


def test_no_winner_without_a_ratio_that_clears_one() -> None:
    cells = [judged("a"), judged("b", ratio=(0.9, 2.1)), judged("c", ratio=(None, 9.0))]
    assert verdict(cells)[1] == "fft: a has the smallest METG, but no difference to b and c is shown."
    cells.append(judged("d", ratio=(1.1, None)))
    assert verdict(cells)[1].endswith("is shown; 1 other is slower.")
    cells.append(judged("e", metg=None, low=None, high=None))
    assert verdict(cells)[1].endswith("; without a number: e.")
    cells.append(judged("f", ratio=(None, None)))
    assert "; not compared: f;" in verdict(cells)[1]


def test_who_was_not_compared_has_a_number_all_the_same() -> None:
    """As in an interrupted study, which has no ratios yet."""
    cells = [judged("a"), judged("b"), judged("c", metg=None, low=None, high=None)]
    said = "fft: no system could be compared; a has the smallest value; without a number: c."
    assert verdict(cells)[1] == said
    assert verdict([cells[0], cells[2]])[1] == "fft: a has the only METG; without a number: c."


def test_where_most_runs_were_disturbed_an_order_is_in_doubt() -> None:
    cells = [judged("a", disturbed=0.9), judged("b", ratio=(1.9, 2.1), disturbed=0.9)]
    assert "Measure again before you rely on an order of systems." in verdict(cells)[0]
    (only,) = verdict([judged("a", metg=None, low=None, high=None, disturbed=0.9)])
    assert only.startswith("The machine was busy: other programs disturbed 90 % of the runs.")


def test_where_metg_rests_on_disturbed_runs_it_is_said() -> None:
    cells = [judged("a", disturbed=0.4, warnings=({"code": "crossing_disturbed"},)), judged("b")]
    (first, *_) = verdict(cells)
    assert " In 1 of 2 cells METG rests on disturbed runs, and may be too large. " in first


def test_a_system_on_fewer_cores_is_no_match() -> None:
    cells = [judged("serial", cores=1, metg=1e-8), judged("a"), judged("b", ratio=(1.9, 2.1))]
    assert verdict(cells)[1] == "fft: a is the best of 2."


def test_each_workload_has_its_order_and_nothing_is_said_of_nothing() -> None:
    cells = [judged(name, workload=one, ratio=None if name == "a" else (2.0, 3.0))
             for one in ("fft", "dom") for name in ("a", "b")]  # fmt: skip
    assert [one.partition(":")[0] for one in verdict(cells)[1:]] == ["fft", "dom"]
    assert verdict([judged("a", metg=None, low=None, high=None)]) == [] == verdict([])
    assert len(verdict([judged("a")])) == 1, "alone there is no order"


def test_a_simulation_says_nothing_of_a_machine() -> None:
    cells = [judged("a", simulated=True), judged("b", ratio=(1.9, 2.1), simulated=True)]
    first, second = verdict(cells)
    assert "simulated: no machine was measured. The results do not say how far the simulation is" in first
    assert "quiet" not in first and "known within" not in first
    assert second == "fft: a is the best of 2."
    assert verdict([*cells, judged("c")])[0].startswith("The machine")


def test_the_error_of_a_simulation_is_said_and_in_its_intervals() -> None:
    cell = judged("a", simulated=True)
    assert cell.started
    cell.started = replace(cell.started, simulation_error=2.0)
    said = "the simulation's own error, a factor of 2 for two ranks, and no confidence intervals"
    assert said in verdict([cell])[0]
    shown = cell.to_json(0.5)
    for known in (cell.metg.low, cell.metg.high), (shown["low"], shown["high"]):
        assert known == pytest.approx((0.45e-6, 2.2e-6))
    assert shown["simulation_error"] == 2.0
