"""Tests of the words of `taskgrain advise`: sentences, efficiencies, margins."""

from dataclasses import replace

import pytest
from advice_answers import QUESTION, found, other

from taskgrain.answers import advice_words
from taskgrain.answers.advise import Answer, Choice, answer, choice
from taskgrain.estimate.advice import Efficiency, Level
from taskgrain.study.workload import Workload
from taskgrain.words.endings import Ending
from taskgrain.words.interval import Interval


def said(*answers: Answer) -> list[str]:
    return list(advice_words.sentences(QUESTION, answers))


def once(one: Answer) -> Answer:
    assert one.curve
    points = {work: Interval(found.value) for work, found in one.curve.points.items()}
    return answer(QUESTION, one.system, replace(other(one.curve, ending=Ending.BUDGET), points=points))


def test_systems_are_said_by_the_highest_efficiency_that_is_sure() -> None:
    choice, first, second, third, fourth, fifth = said(
        found("quick", 0.5e-6),
        found("good", 3e-6),
        found("fair", 8e-6),
        found("wide", 5.5e-6, scatter=0.1),
        found("slow", 30e-6),
    )
    assert choice.startswith(
        "quick takes the least time of 5 systems. If you use another now, it saves this share"
    )
    assert choice.endswith(
        "share of your time: slow 59.0 % (58.4 – 59.6), 2 others less, good 11 % (10 – 12) at least."
    )
    assert first == "Tasks of 20 µs reach 90 % with quick."
    assert second == "Tasks of 20 µs reach 80 %, but not 90 %, with good."
    assert third == "Tasks of 20 µs reach 50 %, but not 80 %, with fair."
    assert fourth == "Tasks of 20 µs reach 50 % with wide; whether they reach 80 % is not known."
    assert fifth.startswith("Tasks of 20 µs are too short for 50 % with slow: they reach 40")
    assert fifth.endswith(" of work would be needed.")


def test_a_level_that_the_graph_does_not_allow_is_not_reached() -> None:
    good = found("good", 3e-6)
    never = replace(good.levels[2], verdict="never")
    sentences = said(replace(good, levels=(*good.levels[:2], never)))
    assert "Tasks of 20 µs reach 80 %, but not 90 %, with good." in sentences


def test_what_is_not_known_is_said_to_be() -> None:
    wide, nothing = found("wide", 18e-6, scatter=0.3), answer(QUESTION, "gone", None)
    unknown, none = said(wide, nothing)
    assert unknown.startswith("It is not known whether they reach 50 % with wide: 53 % (37 – 68)")
    assert none == "Nothing is known of gone: there is no result for these tasks; --measure measures them."
    assert said(answer(QUESTION, "gone", None, "it crashed")) == ["Nothing is known of gone: it crashed."]
    assert said() == ["No folder has a result for these tasks. --measure measures them."]


def test_a_disturbed_machine_is_said_first() -> None:
    one = found("slow", 30e-6)
    slow = answer(QUESTION, "slow", other(one.curve, disturbed=0.8))
    first, second = said(slow)
    assert first == (
        "The machine was busy: other programs disturbed 80 % of the runs. The systems may be more efficient "
        "than shown. Measure again on a quiet machine before you rely on this."
    )
    assert second == "It is not known whether they reach 50 % with slow: 40 % (40 – ?)."
    first, choice, *others = said(slow, found("late", 30e-6), found("good", 3e-6))
    assert ". slow may be more efficient than shown." in first
    quiet = [found(name, 3e-6) for name in "abc"]
    quiet = [replace(one, curve=one.curve and other(one.curve, disturbed=0.0)) for one in quiet]
    first, *_ = said(*quiet, slow)
    assert first.startswith("Others were busy beside the runs of slow. slow may be more efficient than")
    a_little = [replace(one, curve=one.curve and other(one.curve, others=0.2)) for one in quiet]
    first, *_ = said(*a_little)
    assert first == (
        "The machine was busy: others used 20 % of the cores' time during the runs. Measure again on a quiet "
        "machine before you rely on this."
    )
    assert choice.endswith("saves this share of your time: late 54.0 % (53.3 – 54.6)."), "slow may take less"
    assert [one for one in others if "too short" in one and "late" in one]
    assert not any("too short" in one and "slow" in one for one in others)


def test_what_the_graph_allows_at_most_is_said_before_any_system() -> None:
    question = replace(QUESTION, workload=Workload("stencil_1d", 4), cores=64)
    few_cores = found("quick", 0.5e-6)
    assert few_cores.curve and few_cores.curve.cores == 2
    assert "this graph allows" not in " ".join(advice_words.sentences(question, [few_cores]))
    all_cores = replace(few_cores, curve=replace(few_cores.curve, cores=64))
    first, *_ = advice_words.sentences(question, [all_cores])
    assert first.startswith("On 64 cores this graph allows an efficiency of at most 6 %, whatever the system")
    few = replace(question, workload=Workload("dom", 64), steps=16)
    assert few.most == 72 / (16 * 64)
    uneven = replace(few, workload=Workload("dom", 64, imbalance=1.0))
    assert uneven.most == 2 * few.most, "all tasks of the longest chain may be short ones"


def test_what_is_not_known_is_said_once() -> None:
    one, two = found("slow", 18e-6, scatter=0.3), found("wide", 19e-6, scatter=0.3)
    nothing = [answer(QUESTION, name, None, "the budget ended") for name in ("a", "b", "c")]
    _, unknown, none = said(one, nothing[0], two, *nothing[1:])
    assert unknown.startswith("It is not known whether they reach 50 % with slow: 53 % (37 – 68); wide: 51 %")
    assert none == "Nothing is known of a, b and c: the budget ended."


def test_why_there_is_no_curve_is_said() -> None:
    one = found("slow", 30e-6)
    assert one.curve
    failed = answer(QUESTION, "slow", replace(one.curve, points={}, problem="crash: it ended"))
    assert said(failed) == ["Nothing is known of slow: crash: it ended (results/day)."]


def test_an_order_that_contradicts_itself_is_not_known() -> None:
    """By common rounds the best is the slower one, and nothing tells how sure that is."""
    best, one = found("mpi", 1e-6), found("tbb", 5e-6)
    assert advice_words.saved(one, Choice(best, {"tbb": Interval()}, ())) == "not known"
    assert advice_words.saved(one, Choice(best, {"tbb": Interval(None, -0.2)}, ())) == "no difference"


def test_what_only_has_a_bound_may_be_the_best() -> None:
    """The bound of `quick` is above the efficiency of `slow`, which alone was measured near this time."""
    slow, quick = found("slow", 20e-6), found("quick", 0.1e-6, (1e-6, 2e-6))
    first, *_ = said(slow, quick)
    assert first.startswith(
        "Which system takes the least time is not known, as quick was not measured near this time. quick has "
        "the highest lower bound. It takes less time than slow. If you use another now, it saves this share "
        "of your time: slow over 4"
    )
    worst = found("worst", 20e-6, (80e-6,))
    first, *_ = said(found("mpi", 1e-6), worst)
    assert first.startswith("mpi takes the least time of 2 systems. If") and first.endswith(
        "worst over 14 %."
    )
    for order in ((slow, quick), (quick, slow)):
        found_one = choice(order)
        assert found_one and found_one.best is quick


@pytest.mark.parametrize("one", [found("near", 1.5e-6), once(found("near", 1.5e-6))])
def test_what_is_less_than_the_least_that_counts_is_no_difference(one: Answer) -> None:
    chosen = choice([found("mpi", 1e-6), one])
    assert chosen and advice_words.saved(one, chosen) == "no difference"
    assert said(found("mpi", 1e-6), one)[0] == "No difference in time between mpi and near is shown."


def test_a_margin_is_as_sure_as_its_bounds() -> None:
    assert (
        advice_words.level(Level(0.5, "yes", Interval(), Interval(3.0, 2.0, 4.0))) == "yes, × 3.0 (2.0 – 4.0)"
    )
    assert advice_words.level(Level(0.5, "yes", Interval(), Interval(low=8.0))) == "yes, over 8.0 ×"
    assert advice_words.level(Level(0.5, "no", Interval(), Interval(high=0.25))) == "no, under 0.25 ×"
    assert advice_words.level(Level(0.5, "unknown", Interval(), Interval())) == "not known"
    assert advice_words.level(Level(0.5, "yes", Interval(), Interval(3.0))) == "yes, about 3.0 ×"
    assert advice_words.efficiency(Efficiency("unknown")) == "not known"


def test_nobody_is_told_to_choose_a_bound() -> None:
    limit, mpi = found("limit", 1e-7), found("mpi", 1e-6)
    bound = replace(limit, curve=other(limit.curve, bound=True))
    first, last = said(bound, mpi)
    assert first == "Tasks of 20 µs reach 90 % with mpi."
    assert last.startswith("Nobody can choose a bound, which shows what could be reached: limit (bound) 99")


def test_one_round_is_an_answer() -> None:
    mpi, tbb = (once(found(name, overhead)) for name, overhead in (("mpi", 1e-6), ("tbb", 5e-6)))
    choice, rough, more = said(mpi, replace(tbb, measured_now=True))
    assert choice == "mpi seems to take the least time of 2 systems, but that is not sure."
    assert rough.startswith("Tasks of 20 µs reach about 95 % with mpi and about 80 % with tbb, by one round")
    assert more.endswith("A larger --budget makes this surer.")
    assert advice_words.level(tbb.levels[0]) == "about 4.0 ×"


def test_systems_that_tie_are_not_told_apart() -> None:
    first, *_ = said(found("mpi", 1e-6), found("tbb", 1.1e-6))
    assert first == "No difference in time between mpi and tbb is shown."
