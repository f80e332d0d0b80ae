"""Tests of what a terminal shows: whole lines, aligned tables, ASCII where it knows nothing else."""

import io
import json
from collections.abc import Callable

import compared_cells
import noisy_results
import pytest
from advice_answers import QUESTION, found
from command_line import on_terminal
from rich.console import Console

from taskgrain.answers import data
from taskgrain.cli import advice_table, compare_table, measuring
from taskgrain.cli.printer import Printer, print_json, printer
from taskgrain.results.cell import Cell
from taskgrain.words.breaks import NAME, parts


class Terminal:
    """A printer on a console of some width and encoding, and what it has shown."""

    def __init__(self, encoding: str = "utf-8", width: int = 60) -> None:
        self._bytes = io.BytesIO()
        self._encoding = encoding
        file = io.TextIOWrapper(self._bytes, encoding, write_through=True)
        self.printer = Printer(Console(file=file, width=width))

    @property
    def shown(self) -> str:
        return self._bytes.getvalue().decode(self._encoding)


def test_a_line_is_neither_wrapped_nor_marked_up() -> None:
    terminal = Terminal(width=20)
    line = "[bold]not bold[/bold] :smile: " + "long " * 10 + "{x}"
    terminal.printer.whole(line, "red")
    assert terminal.shown == line + "\n"
    assert terminal.printer.width == 20


def test_a_sentence_goes_on_between_words() -> None:
    terminal = Terminal(width=24)
    terminal.printer.text(
        "  rate        82 % (80 – 84) of 1.5 µs;\n`taskgrain report a` shows /a/long/path/of/words."
    )
    assert terminal.shown.splitlines() == [
        "  rate        82 %",
        "(80 – 84) of 1.5 µs;",
        "`taskgrain report a`",
        "shows",
        "/a/long/path/of/words.",
    ]


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> list[Cell]:
    return list(data.read(noisy_results.folder(tmp_path_factory.mktemp("r") / "noisy")).cells)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_answer_breaks_a_word_or_a_command(noisy: list[Cell], width: int) -> None:
    pair = compared_cells.comparison(compared_cells.cell(), compared_cells.LONG)
    answers = [found(name, 3e-6) for name in ("mpi", "taskgrain_graph")]
    shows: list[Callable[[Printer], object]] = [
        lambda out: advice_table.show(out, QUESTION, answers),
        lambda out: measuring.show_metg(out, noisy, 0.5),
        lambda out: measuring.show_warnings(out, noisy),
        lambda out: compare_table.show(out, pair),
        lambda out: out.text("tell `taskgrain report a/b` more " * 9),
    ]
    for show in shows:
        narrow, wide = (on_terminal(show, one).split("\n") for one in (width, 10_000))
        assert {word for line in narrow if not line.startswith(" ") for word in line.split()} <= {
            part for line in wide for word in line.split() for part in (word, *parts(word, NAME))
        }
        assert all(line.count("`") % 2 == 0 for line in narrow)
        assert max(map(len, narrow)) <= width


def test_an_ascii_terminal_gets_ascii() -> None:
    terminal = Terminal("ascii")
    terminal.printer.text("0.41 µs (0.39 – 0.44), ≤ 2 ×, …, né")
    assert terminal.shown == "0.41 us (0.39 - 0.44), <= 2 x, ..., n?\n"
    terminal = Terminal("utf-8")
    terminal.printer.text("0.41 µs (0.39 – 0.44), né")
    assert terminal.shown == "0.41 µs (0.39 – 0.44), né\n"


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_a_file_name_of_odd_bytes_is_shown(encoding: str) -> None:
    terminal = Terminal(encoding)
    terminal.printer.text(b"results/\xff.html".decode("utf-8", "surrogateescape"))
    assert terminal.shown == "results/?.html\n"


@pytest.mark.parametrize(("encoding", "rule"), [("utf-8", "─"), ("ascii", "-")])
def test_texts_are_on_the_left_and_numbers_on_the_right(encoding: str, rule: str) -> None:
    terminal = Terminal(encoding)
    terminal.printer.table(["name", "METG"], [["a", "1 ms"], ["longer name", "12.0 ms"]])
    lines = [line.strip(" |") for line in terminal.shown.splitlines()]
    assert any(rule * 5 in line for line in lines)
    rows = [line for line in lines if line.endswith("ms")]
    assert [row.split()[0] for row in rows] == ["a", "longer"]
    ends = [line.rindex("ms") for line in terminal.shown.splitlines() if "ms" in line]
    assert ends[0] == ends[1]
    starts = [
        line.index(name) for line in terminal.shown.splitlines() for name in ("a ", "longer") if name in line
    ]
    assert len(set(starts[1:])) == 1


def test_more_columns_may_be_texts() -> None:
    terminal = Terminal()
    terminal.printer.table(["a", "b"], [["x", "y"], ["x", "longer"]], texts=2)
    rows = [line for line in terminal.shown.splitlines() if line.strip().startswith("x")]
    assert rows[0].index("y") == rows[1].index("longer")


def test_a_cell_too_wide_is_folded_and_not_cut() -> None:
    terminal = Terminal(width=20)
    name = "abcdefghijklmnopqrstuvwxyz"
    terminal.printer.table(["name", "n"], [[name, "1"]])
    assert "".join(line.split()[0] for line in terminal.shown.splitlines()[3:] if line.strip()) == name


def test_a_row_of_another_length_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="zip"):
        Terminal().printer.table(["a"], [["1", "2"]], [[True]])


def test_json_is_one_value_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"µ": [1.5, None], "path": "\udcff"})
    shown = capsys.readouterr().out
    assert shown.isascii() and shown.endswith("}\n")
    assert json.loads(shown) == {"µ": [1.5, None], "path": "\udcff"}
    print_json([float("nan"), {"x": (float("inf"), 2**63)}])
    assert json.loads(capsys.readouterr().out) == [None, {"x": [None, 2**63]}]


LONG = "a_system_with_a_long_name"
ROW = [LONG, "a title of many words " * 4]


def test_a_table_for_a_program_is_not_wrapped(capsys: pytest.CaptureFixture[str]) -> None:
    printer().table(["name", "title"], [ROW], texts=2)
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "title of many" in line)
    assert line.split() == " ".join(ROW).split()


def test_names_are_whole_in_a_narrow_terminal() -> None:
    terminal = Terminal(width=40)
    terminal.printer.table(["name", "title"], [ROW], texts=2)
    lines = terminal.shown.splitlines()
    assert max(map(len, lines)) <= 40
    assert sum(LONG in line for line in lines) == 1
    assert sum("title" in line for line in lines) > 2


def test_numbers_are_whole_as_long_as_names_can_go_on_behind_a_slash() -> None:
    terminal = Terminal(width=44)
    terminal.printer.table(["cell", "METG"], [["taskgrain_graph/nearest/radix=5", "0.41 µs (0.39 – 0.44)"]])
    assert "0.41 µs (0.39 – 0.44)" in terminal.shown
    assert [line.split()[0] for line in terminal.shown.splitlines()[3:5]] == [
        "taskgrain_graph/",
        "nearest/radix=5",
    ]


NAMES = (
    "mpi+OMP_NUM_THREADS=2+STARPU_SCHED=dm+UCX_TLS=sm_self_tcp",
    "taskgrain_graph.ready_queue/stencil_1d_periodic/width=16/output_bytes=4096",
    "mpi@ab12cd34 (simulated)",
)
HEADS = ("system", "stencil_1d/width=16", "nearest/radix=5/graphs=4", "all_to_all", "a title of words")


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("width", [26, 40, 60, 80, 120])
def test_no_width_breaks_a_word(encoding: str, width: int) -> None:
    def words(shown: str) -> set[str]:
        lines = (line.replace("|", " ") for line in shown.splitlines() if line.strip("|+─- "))
        return {part for line in lines for word in line.split() for part in parts(word, NAME)}

    rows = [[name, "1.25 ×, 0.41 µs (0.39 – 0.44)", "a/b.c", "2.5", "not comparable"] for name in NAMES]
    for count in range(1, 6):
        for texts in (1, 2):
            narrow, wide = Terminal(encoding, width), Terminal(encoding, 10_000)
            for terminal in (narrow, wide):
                terminal.printer.table(HEADS[:count], [row[:count] for row in rows], texts=texts)
            assert words(narrow.shown) == words(wide.shown)
            assert max(map(len, narrow.shown.splitlines())) <= width


def test_a_table_that_is_too_wide_becomes_several_with_the_names_in_each() -> None:
    terminal = Terminal(width=40)
    heads = ["system", *(f"workload_{number}" for number in range(9))]
    terminal.printer.table(heads, [[name, *["10.5 × (9.1 – 12.4)"] * 9] for name in ("mpi", "tbb")])
    lines = [line.split() for line in terminal.shown.splitlines()]
    assert sum(line[:1] == ["mpi"] for line in lines) == sum(line[:1] == ["system"] for line in lines) > 1
    assert sum(line.count("10.5") for line in lines) == 2 * 9
