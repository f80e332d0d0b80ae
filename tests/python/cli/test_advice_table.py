"""Tests of the output of `taskgrain advise`: a table, and the same for programs."""

import json
from dataclasses import replace

from advice_answers import QUESTION, SIZES, WORKLOAD, found, other
from command_line import on_terminal

from taskgrain.answers.advise import answer
from taskgrain.cli import advice_table
from taskgrain.words.origin import Origin


def test_the_table_says_how_each_number_is_known() -> None:
    answers = [
        found("quick", 0.5e-6),
        found("between", 0.5e-6, (5e-6, 80e-6)),
        found("small", 0.5e-6, (1e-6, 2e-6)),
        found("large", 5e-6, (80e-6,)),
        replace(found("now", 30e-6), measured_now=True),
    ]
    text = on_terminal(lambda terminal: advice_table.show(terminal, QUESTION, answers))
    rows = {line.split()[0]: line for line in text.splitlines() if line.strip()}
    assert "97.6 % (96.6 – 98.5)" in rows["quick"] and "day, 2023-11-14" in rows["quick"]
    assert "≈ 98 % (95 – 100)" in rows["between"] and "≥ 79 %, that of 2.0 µs" in rows["small"]
    assert "≤ 96 %, that of 80 µs" in rows["large"] and rows["large"].count("not known") == 3
    assert rows["now"].split()[-1] == "now" and "no, × 0.6" in rows["now"]
    assert "≈: between two sizes that were measured." in text


def test_what_is_alike_in_all_rows_is_said_once() -> None:
    curves = [
        found(name, 18e-6, (20e-6,), scatter=0.4).curve for name in ("taskgrain_graph", "taskgrain_stf")
    ]
    answers = [answer(QUESTION, one.cell.system, other(one, others=0.4)) for one in curves if one]
    text = on_terminal(lambda terminal: advice_table.show(terminal, QUESTION, answers), 60)
    said = " ".join(text.split())
    assert "Not known of any system: whether it reaches 50 %, 80 %, 90 %. All was measured in day" in said
    assert "Under 50" not in said and "not known " not in said.partition("system efficiency")[2]
    assert text.count("\n taskgrain_graph  ") == text.count("\n taskgrain_stf  ") == 1, "names are whole"
    both = [found("mpi", 1e-6), replace(found("tbb", 1e-6), measured_now=True)]
    text = on_terminal(lambda terminal: advice_table.show(terminal, QUESTION, both))
    assert "All was" not in text and "now" in text and "not known" not in text


def test_a_bound_that_is_not_known_is_explained() -> None:
    texts = []
    for sizes in (SIZES, (10e-6, 20e-6)):
        answers = [found("mpi", 18e-6, sizes, scatter=0.2)]
        texts.append(
            on_terminal(lambda terminal, known=answers: advice_table.show(terminal, QUESTION, known))
        )
    assert "?" not in texts[0]
    assert "(? –" in texts[1] or "– ?)" in texts[1]
    assert "?: the runs set no bound on this side of the interval." in texts[1]


def test_programs_get_the_same() -> None:
    value = advice_table.as_dict(QUESTION, [found("mpi", 3e-6)], {"mpi": "MPI"})
    assert json.loads(json.dumps(value, allow_nan=False))["schema"] == 1
    assert (value["question"]["at"], value["question"]["workload"]) == (20e-6, WORKLOAD.name)
    (one,) = value["answers"]
    assert (one["system"], one["title"], one["problem"]) == ("mpi", "MPI", None)
    assert one["efficiency"]["how"] == "measured" and one["efficiency"]["low"] < one["efficiency"]["value"]
    assert [(level["level"], level["verdict"]) for level in one["levels"]] == [
        (0.5, "yes"),
        (0.8, "yes"),
        (0.9, "no"),
    ]
    assert one["source"]["folder"] == "results/day" and one["source"]["now"] is False


def test_a_simulated_system_is_marked() -> None:
    one = found("mpi", 3e-6)
    marked = replace(one, curve=other(one.curve, origin=Origin(simulated=True)))
    text = on_terminal(lambda terminal: advice_table.show(terminal, QUESTION, [marked]))
    assert "95 %" not in text
    assert "with mpi (simulated)." in text and "measured" not in text.splitlines()[3]
    assert text.count("mpi (simulated)") >= 2
    assert advice_table.as_dict(QUESTION, [marked], {})["answers"][0]["simulated"] is True
    assert "simulated" not in advice_table.as_dict(QUESTION, [one], {})["answers"][0]
