"""Pages with what commands print and what results hold: no page of this repository is stale."""

import re
import subprocess
import textwrap
from pathlib import Path

import filled_page
import pytest

PAGES = [page for page in filled_page.pages() if "<!-- begin: " in page.read_text("utf-8")]


@pytest.mark.submission
@pytest.mark.parametrize("page", PAGES, ids=lambda one: one.stem)
def test_a_page_says_what_its_commands_print(page: Path) -> None:
    """If this fails, call `make docs-tables`, and draw the figures of the page anew."""
    text = page.read_text("utf-8")
    assert filled_page.filled(text) == text


def test_excerpts_are_as_their_sources() -> None:
    """If this fails, call `make docs-tables`."""
    shown = {page: page.read_text("utf-8") for page in filled_page.pages()}
    assert [page for page, text in shown.items() if filled_page.with_excerpts(text) != text] == []
    assert sum(text.count("<!-- excerpt: ") for text in shown.values()) > 40


def excerpt(words: str, indent: str = "") -> str:
    """The text of a page after it was filled."""
    begin, end = f"a\n{indent}<!-- excerpt: {words} -->\n{indent}```cpp\n", f"{indent}```\nb\n"
    shown = filled_page.with_excerpts(f"{begin}{indent}old\n{end}")
    assert shown.startswith(begin) and shown.endswith(end)
    return shown.removeprefix(begin).removesuffix(end)


SOURCE = """\
int main() {
  const int a = 1;
  loop(2, [&] {

    step(a);
  });

  while (more())
    step(0);
  return 0;
}
"""


@pytest.mark.parametrize(
    ("words", "first", "last"),
    [
        ("", 1, 11),
        (", from const int a", 2, 2),
        (", from loop", 3, 6),
        (", from while", 8, 9),
        (", from const int a to loop", 2, 6),
        (", from int main", 1, 11),
    ],
)
def test_an_excerpt_is_a_file_or_its_statements(
    words: str, first: int, last: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filled_page, "ROOT", tmp_path)
    (tmp_path / "a.cpp").write_text(SOURCE)
    meant = textwrap.dedent("\n".join(SOURCE.splitlines()[first - 1 : last])) + "\n"
    assert excerpt(f"a.cpp{words}") == meant
    assert excerpt(f"a.cpp{words}", "    ") == textwrap.indent(meant, "    ")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("no.cpp", "'no.cpp' is not allowed; allowed: FILE or FILE, from TEXT to TEXT"),
        ("a.cpp, loop", "'a.cpp, loop' is not allowed"),
        ("a.cpp, from for", "0 lines of a.cpp begin with 'for'"),
        ("a.cpp, from step", "2 lines of a.cpp begin with 'step'"),
        ("a.cpp, from while to loop", "no line of a.cpp after 'while' begins with 'loop'"),
    ],
)
def test_an_excerpt_that_is_not_there_is_named(
    words: str, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filled_page, "ROOT", tmp_path)
    (tmp_path / "a.cpp").write_text(SOURCE)
    with pytest.raises(ValueError, match=re.escape(complaint)):
        excerpt(words)


def test_a_part_is_replaced_and_the_rest_stays() -> None:
    text = "a\n<!-- begin: taskgrain --version -->\nold\n\nold\n<!-- end -->\nb\n<!-- end -->\n"
    begin, version, end = filled_page.filled(text).partition("\ntaskgrain ")
    assert begin == "a\n<!-- begin: taskgrain --version -->\n"
    assert end.endswith("\n\n<!-- end -->\nb\n<!-- end -->\n")
    assert "old" not in version + end


def test_a_command_that_fails_is_not_taken_for_a_page() -> None:
    with pytest.raises(subprocess.CalledProcessError):
        filled_page.filled("<!-- begin: taskgrain no-such-verb -->\n<!-- end -->\n")


def test_a_part_of_another_kind_is_named() -> None:
    with pytest.raises(
        ValueError,
        match="begin: 'restul' is not allowed; allowed: taskgrain, results, result, patterns, programs",
    ):
        filled_page.filled("<!-- begin: restul x -->\n<!-- end -->\n")


def test_a_table_has_the_chosen_rows_and_what_workloads_differ_by() -> None:
    words = "result 2026-11-27-default metg rounds system=mpi,limit pattern=stencil_1d"
    lines = filled_page.filled(f"<!-- begin: {words} -->\n<!-- end -->\n").splitlines()[2:-2]
    assert lines[0] == "| system | width=2, metg | width=2, rounds | width=16, metg | width=16, rounds |"
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| `mpi`", "| `limit` (bound)"]
    assert lines[2].split(" | ")[1] == "0.76 µs (0.73 – 0.78)"


def test_the_results_are_small_enough_for_a_checkout() -> None:
    """One result of each kind: a clone has all of them, with every version."""
    files = [file for file in filled_page.RESULTS.rglob("*") if file.is_file() and file.name != "report.html"]
    assert sum(file.stat().st_size for file in files) < 4e6
