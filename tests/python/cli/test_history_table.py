"""A history in a terminal: bars, names, what is said below; and the document for programs."""

import io
import json
from dataclasses import replace
from pathlib import Path

import history_store as made
import pytest
from command_line import on_terminal
from history_store import history
from results_folder import change
from rich.console import Console

from taskgrain.cli.history_table import as_json, bars, show
from taskgrain.cli.printer import Printer
from taskgrain.history import store
from taskgrain.history.log import measured
from taskgrain.history.page import render
from taskgrain.history.text import summary, title
from taskgrain.history.trends import History, Trend


def printed(found: History, width: int) -> list[str]:
    return on_terminal(lambda terminal: show(terminal, found), width).splitlines()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    values: list[float | None] = [*made.scattered((20, 1.0), (8, 1.2))]
    values[4] = 2e-6
    found = made.grown(tmp_path / "h.jsonl", values)
    made.grown(found, [1e-6, 1e-6], machine="ffff0000")
    return made.grown(found, [1e-6, None], "taskgrain_taskflow")


def test_eighty_columns_are_enough(path: Path) -> None:
    lines = printed(history(path), 80)
    table = [line for line in lines if "mpi" in line and ":" not in line]
    assert max(map(len, table)) <= 80
    assert any("1.2" in line and "slower" in line for line in table)


def test_sessions_have_their_dates(path: Path) -> None:
    assert "c20 (2026-06-17)" in "\n".join(printed(history(path), 100))


def test_what_else_there_is_to_know_stands_below(path: Path) -> None:
    text = "\n".join(printed(history(path), 200))
    assert "mpi/stencil_1d/width=4 #2: apart, other machine (other caches, cores or memory)." in text
    assert "mpi/stencil_1d/width=4: far from their level, and not counted: c4 (2026-06-01)." in text
    assert "taskgrain_taskflow/stencil_1d/width=4: failed in c1 (2026-05-29): validation." in text
    assert text.count("A change can be seen from 13 sessions on.") == 1
    assert "scatter by" in text


def test_a_simulated_series_is_marked(tmp_path: Path) -> None:
    found = []
    for simulated in (True, False):
        time = made.BEGIN
        folder = made.folder(tmp_path / f"{simulated}", made.metg("mpi", 1e-6, time))
        change(folder, {"simulated": simulated}, kind=["cell"])
        store.add(tmp_path / f"{simulated}.jsonl", [measured(folder)[0]])
        found.append(history(tmp_path / f"{simulated}.jsonl"))
    texts = ["\n".join(printed(each, 100)) for each in found]
    assert ["mpi/stencil_1d/width=4 (simulated)" in one for one in texts] == [True, False]
    assert [as_json(each)["series"][0].get("simulated") for each in found] == [True, None]
    error = "Intervals of simulated series do not hold the simulation's own error."
    assert [error in summary(each) for each in found] == [True, False]
    assert ["95 % interval" in render(each, "h") for each in found] == [False, True]
    titles = [title(each.trends[0].series) for each in found]
    assert titles == ["stencil_1d/width=4, simulated", "stencil_1d/width=4"]


def one(path: Path, values: list[float | None]) -> Trend:
    (found,) = history(made.grown(path, values)).trends
    return found


def test_bars_are_the_sessions_on_a_logarithmic_scale(tmp_path: Path) -> None:
    assert bars(one(tmp_path / "a", [1e-6, 2e-6, 4e-6, 8e-6, None]), 9) == "▁▃▆█x"
    assert bars(one(tmp_path / "b", [1e-6, 2e-6, 4e-6, 8e-6]), 2) == "▁█"


def test_noise_is_no_mountain(tmp_path: Path) -> None:
    assert set(bars(one(tmp_path / "a", [1.00e-6, 1.02e-6, 1.01e-6]), 9)) <= {"▄", "▅"}
    assert bars(one(tmp_path / "b", [1e-6]), 9) == "▅"
    assert bars(one(tmp_path / "c", [None]), 9) == "x"


def test_bars_in_ascii(path: Path) -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    show(Printer(Console(file=out, width=100)), history(path))
    out.seek(0)
    text = out.read()
    assert "?" not in text and "#" in text


def test_no_session_is_a_sentence(path: Path) -> None:
    assert printed(replace(history(path), trends=()), 80) == ["No session has such a cell."]


def test_the_document_has_all_of_it(path: Path) -> None:
    found = json.loads(json.dumps(as_json(history(path)), allow_nan=False))
    assert (found["schema"], found["by"], found["unit"], found["margin"]) == (1, "metg", "s", 0.05)
    assert (found["sessions_needed"], found["regressions"]) == (13, 2)
    first, second, failed = found["series"]
    assert (first["system"], first["machine"], first["verdict"]) == ("mpi", "abcd1234", "slower")
    assert (second["machine"], second["apart"][:13], first["apart"]) == ("ffff0000", "other machine", None)
    (change,) = first["changes"]
    assert (change["before"], change["after"], change["verdict"]) == (19, 20, "slower")
    assert change["ratio"]["low"] < 1.2 < change["ratio"]["high"]
    assert [(level["first"], level["last"]) for level in first["levels"]] == [(0, 19), (20, 27)]
    assert [place for place, each in enumerate(first["sessions"]) if each["outlying"]] == [4]
    session = first["sessions"][0]
    assert session["value"] == pytest.approx(1e-6, rel=0.1) and session["low"] < session["value"]
    assert (failed["sessions"][1]["error"], failed["sessions"][1]["value"]) == ("validation", None)
