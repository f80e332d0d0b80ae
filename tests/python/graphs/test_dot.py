"""The parts of DOT that people write."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskgrain.graphs.dot import read_dot
from taskgrain.words.errors import InputError


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        ("digraph { a -> b }", {"ab"}),
        ("strict DIGRAPH name { a -> b; a -> b a->b, }", {"ab"}),
        ("digraph { a -> b -> c }", {"ab", "bc"}),
        ("digraph { {a b} -> {c d} }", {"ac", "ad", "bc", "bd"}),
        ("digraph { a -> subgraph cluster_1 { label = x; b -> c } -> d }", {"ab", "ac", "bc", "bd", "cd"}),
        ("digraph { subgraph { a -> b } c }", {"ab"}),
        ("digraph { a:port:nw -> b:x [weight=9 style=bold; color=\"red\"] [label=<<i>x</i>>] }", {"ab"}),
        ("// -> x\n/* y -> z */\n# 1 \"file\"\ndigraph {\na /* -> c */ -> b // -> d\n}", {"ab"}),
        ("digraph { rankdir=LR; node [shape=box] edge [color=blue]; graph [pad=1]; a -> b }", {"ab"}),
        ('digraph { "a" -> "b" ; 1 -> -2.5 }', {"ab", "1-2.5"}),
        ('digraph { "a" + "b" -> c }', {"abc"}),
        ("digraph { subgraph x { a b } subgraph x -> c; subgraph y -> d }", {"ac", "bc"}),
        ("digraph {\n  # x -> y\n a -> b\r\n }\r\n", {"ab"}),
        ('digraph { "say \\"a\\" -> b" -> é }', {'say "a" -> bé'}),
    ],
)  # fmt: skip
def test_edges(text: str, edges: set[str]) -> None:
    graph = read_dot(text)
    found = {
        f"{graph.names[other]}{graph.names[task]}" for task, one in enumerate(graph.before) for other in one
    }
    assert found == edges


def test_times_of_nodes_and_not_of_edges() -> None:
    graph = read_dot('digraph { a [size=1 weight="2.5"]; b [time=.5]; a -> c [weight=7]; d [label=8] }')
    assert (graph.unit, graph.untimed) == ("", 2)
    assert dict(zip(graph.names, graph.durations, strict=True)) == {"a": 2.5, "b": 0.5, "c": 0.0, "d": 0.0}
    graph = read_dot("digraph { a -> b }")
    assert (graph.unit, graph.untimed, graph.durations) == ("task", 2, [1.0, 1.0])


def test_defaults_hold_for_the_nodes_that_appear_after_them_in_their_scope() -> None:
    graph = read_dot(
        "digraph { a; node [weight=5]; b; subgraph { node [weight=7] c; b } d; e [weight=1e-3]; a }"
    )
    assert dict(zip(graph.names, graph.durations, strict=True)) == {"a": 0, "b": 5, "c": 7, "d": 5, "e": 1e-3}


def test_words_of_the_language_are_names_in_quotes() -> None:
    graph = read_dot('digraph { "node" [time=9]; "subgraph" -> "edge" }')
    assert (graph.names, graph.durations) == (("node", "subgraph", "edge"), [9.0, 0.0, 0.0])


NAMES = st.sampled_from(
    ["a", "b", "_c", '"a"', '"d e"', '"node"', '"Edge"', "7", '"7"', "nodes", '""', '"x->y;"']
)
TAIL = st.sampled_from(
    ["", " [weight=3]", ' [label="t [1]"]', " [a=b, duration=.5]", "[time=2;\n size=1e-1 ]", " []"]
)
END = st.sampled_from([";", "\n", " ;\n", "; "])
PLAIN = st.builds(
    lambda names, tail, end: " -> ".join(names) + tail + end,
    st.lists(NAMES, min_size=1, max_size=3),
    TAIL,
    END,
)
OTHER = st.sampled_from(
    ["node [weight=4];", "subgraph s {a; b} -> c;", "{b -> c}", "edge [x=1]\n", "x=y;", "// a\n"]
)


@given(st.lists(PLAIN | OTHER, max_size=8))
def test_statements_that_are_read_at_once_mean_what_their_tokens_do(statements: list[str]) -> None:
    at_once = "digraph {" + "".join(statements) + "}"
    by_tokens = re.sub(r'("[^"]*"|//.*)|(->|\[|;|\n|=)', lambda one: one[1] or f"/**/{one[2]}/**/", at_once)

    def found(text: str) -> object:
        try:
            return read_dot(text)
        except InputError as error:
            return error.field.partition(" ")[0], error.allowed

    assert found(at_once) == found(by_tokens)


def test_a_statement_that_is_not_plain_is_soon_known_not_to_be() -> None:
    attributes = " \n".join(f"x{n}=1" for n in range(100))
    assert read_dot(f"digraph {{ a [{attributes}\n\n label=<b>] \n{' ' * 10_000} ; }}").names == ("a",)


def test_a_task_hands_on_the_bytes_of_its_largest_edge() -> None:
    found = read_dot(
        'digraph { a -> b [size=100]; b [size=7]\n a -> c -> b [bytes="2e3", label=x]\n'
        'c -> d [data="A[3]"]; b -> d [weight=9]; e -> {d f} [data=5]; }'
    )
    sizes = dict(zip(found.names, found.outputs, strict=True))
    assert sizes == {"a": 2000, "b": None, "c": 2000, "d": None, "e": 5, "f": None}
    assert found.durations[found.names.index("b")] == 7 and found.handed_on == 2000 and found.unsized == 1
