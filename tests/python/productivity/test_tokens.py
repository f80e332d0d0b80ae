"""Tokens of sources: what is one, on which lines it is, and what imports bring."""

from pathlib import Path

import pytest

from taskgrain.productivity import tokens
from taskgrain.productivity.tokens import LANGUAGES, Source
from taskgrain.words.errors import InputError, UsageError


def parsed(text: str, ending: str) -> Source:
    return tokens.parse(text.encode(), LANGUAGES[ending], Path(f"x{ending}"))


def words(text: str, ending: str) -> list[str]:
    return [one.text for one in parsed(text, ending).tokens]


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        (".cpp", "/// about\nint f(); /* f() */ // f"),
        (".c", "/* about\n */ int f();"),
        (".ci", "// about\nint f();"),
        (".jdf", "/* about */ int f();"),
        (".java", "/** about */ int f(); // f"),
        (".rs", "/// about\nint f(); /* f() */ // f"),
        (".go", "// about\nint f(); /* f() */"),
    ],
)
def test_comments_are_no_tokens(ending: str, text: str) -> None:
    assert words(text, ending) == ["int", "f", "(", ")", ";"]


def test_docstrings_are_no_tokens_and_other_texts_are() -> None:
    text = '"""About."""\nx = 1\n"""About x."""\ndef f():\n    """About f."""\n    return """a\nb"""\n'
    source = parsed(text, ".py")
    assert [one.text for one in source.tokens if '"""' in one.text] == ['"""', '"""']
    assert max(one.last for one in source.tokens) == 7


def test_scala_has_comments_too() -> None:
    assert words("/** about */ val x = f() // x", ".scala") == ["val", "x", "=", "f", "(", ")"]


def test_a_directive_is_one_token_over_all_of_its_lines() -> None:
    source = parsed("int x;\n#pragma omp task depend(in : a) \\\n    depend(out : b)\nf();\n", ".cpp")
    directive = next(one for one in source.tokens if one.text.startswith("#"))
    assert (directive.first, directive.last) == (2, 3)
    assert "depend(out : b)" in directive.text


@pytest.mark.parametrize(
    ("ending", "text", "imported"),
    [
        (".py", "import ray", {"ray": ("ray",)}),
        (".py", "import dask.threaded", {"dask": ("dask",)}),
        (".py", "import numpy as np, a.b as c", {"np": ("numpy",), "c": ("a", "b")}),
        (
            ".py",
            "from ray.dag import (\n  A,\n  B as C,\n)",
            {"A": ("ray", "dag", "A"), "C": ("ray", "dag", "B")},
        ),
        (".scala", "import a.b.C", {"C": ("a", "b", "C")}),
        (".scala", "import a.{B, C => D}", {"B": ("a", "B"), "D": ("a", "C")}),
        (".scala", "import a._", {"_": ("a", "_")}),
        (".java", "import a.b.C;", {"C": ("a", "b", "C")}),
        (".java", "import static a.B.c;", {"c": ("a", "B", "c")}),
        (".java", "import a.b.*;", {}),
        (".cpp", "using tbb::flow::graph;", {"graph": ("tbb", "flow", "graph")}),
        (".cpp", "using R::A, R::B;", {"A": ("R", "A"), "B": ("R", "B")}),
        (".cpp", "namespace tf = tensorflow;", {"tf": ("tensorflow",)}),
        (".cpp", "using namespace std;", {}),
        (".cpp", "#include <tbb/flow_graph.h>", {}),
        (".rs", "use a::b::C;", {"C": ("a", "b", "C")}),
        (".rs", "use a::{B, C as D};", {"B": ("a", "B"), "D": ("a", "C")}),
        (".rs", "use a::prelude::*;", {}),
        (".go", 'import (\n\t"sync"\n\t"sync/atomic"\n)', {}),
    ],
)
def test_an_import_says_what_its_names_stand_for(
    ending: str, text: str, imported: dict[str, tuple[str, ...]]
) -> None:
    source = parsed(text, ending)
    assert source.imported == imported
    lines = text.split("\n")
    assert source.import_lines == {n for n, line in enumerate(lines, 1) if line != ")"}
    assert source.tokens == ()


def test_functions_and_arguments_by_name_have_a_role() -> None:
    texts = {
        ".cpp": "void A::f(int f) { g(f); }",
        ".scala": "def f(x: Int) = g(f)",
        ".py": "def f(x): g(f=x)",
        ".rs": "fn f(x: i32) { g(f); }",
        ".go": "func (x X) f() { g(f) }",
    }
    roles = {
        ending: [(one.text, one.role) for one in parsed(text, ending).tokens if one.text in "fgx"]
        for ending, text in texts.items()
    }
    assert roles[".cpp"] == [("f", "function"), ("f", ""), ("g", ""), ("f", "")]
    assert roles[".scala"] == [("f", "function"), ("x", ""), ("g", ""), ("f", "")]
    assert roles[".rs"] == [("f", "function"), ("x", ""), ("g", ""), ("f", "")]
    assert roles[".go"] == [("x", ""), ("f", "function"), ("g", ""), ("f", "")]
    assert roles[".py"] == [("f", "function"), ("x", ""), ("g", ""), ("f", "keyword"), ("x", "")]


def test_keywords_are_names_where_the_language_is_the_runtime() -> None:
    found = parsed("package p\nfunc f(x chan int) { go g(x) }", ".go").tokens
    assert [one.text for one in found if one.is_name] == ["f", "x", "chan", "int", "go", "g", "x"]


def test_what_the_grammar_does_not_understand_has_tokens() -> None:
    assert "entry" in words("mainmodule m {\n  array [1D] C { entry [expedited] void go(); };\n};", ".ci")


def test_bytes_that_are_no_text_do_no_harm(tmp_path: Path) -> None:
    file = tmp_path / "x.cpp"
    file.write_bytes(b"int x; // \xff\nint \xfe;")
    assert tokens.read(file, "sources[0]").tokens[0].text == "int"


def test_another_language_is_refused_with_what_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "x.zig").write_text("fn main() {}")
    with pytest.raises(
        InputError, match=r"sources\[0\]: x.zig is not allowed; allowed: a file that ends with .c, "
    ):
        tokens.read(tmp_path / "x.zig", "sources[0]")


def test_a_source_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"sources\[0\]: .*x.cpp: cannot be read: No such file"):
        tokens.read(tmp_path / "x.cpp", "sources[0]")
