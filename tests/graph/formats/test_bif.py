from __future__ import annotations

import contextlib
import gzip
import random
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.wheels import pgmpy_models
from whichdo.errors import GraphError, GraphSyntaxError, Place, TooLargeError, WhichdoError
from whichdo.graph.admg import CausalGraph
from whichdo.graph.formats.bif import parse_bif, read_bif_graph, write_bif, write_bif_graph
from whichdo.graph.formats.bif_tables import BifFile, BifVariable

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Variables and parameters (free probabilities) as the bnlearn repository lists them.
REPOSITORY = {
    "alarm": (37, 509),
    "andes": (223, 1157),
    "asia": (8, 18),
    "barley": (48, 114005),
    "cancer": (5, 10),
    "child": (20, 230),
    "diabetes": (413, 429409),
    "earthquake": (5, 10),
    "hailfinder": (56, 2656),
    "hepar2": (70, 1453),
    "insurance": (27, 1008),
    "link": (724, 14211),
    "mildew": (35, 540150),
    "munin": (1041, 80592),
    "munin1": (186, 15622),
    "munin2": (1003, 69431),
    "munin3": (1041, 71059),
    "munin4": (1038, 80352),
    "pathfinder": (109, 72079),
    "pigs": (441, 5618),
    "sachs": (11, 178),
    "survey": (6, 21),
    "water": (32, 10083),
    "win95pts": (76, 574),
}

SMALL = """network "small one" { property author "A; B"; }
variable A { type discrete [ 2 ] { a0, a1 }; }   // a comment with { and "
variable B { type discrete [ 3 ] { <1, 1-2.5, "over 2,5" }; property position = (1, 2); }
/* a comment
   over two lines */
variable X { type discrete { no, yes }; }
probability ( A ) { table 0.25, 0.75; }
probability ( B ) { table .5, 25e-2, 0.25; }
probability(X|A, B) {
  (a0, <1) 0.1, 0.9;
  (a1, "over 2,5") 1, 0;
  default 0.5, 0.5;
}
"""


def model(name: str) -> str:
    return gzip.decompress((pgmpy_models() / f"{name}.bif.gz").read_bytes()).decode()


def variable(name: str, *values: str, more: str = "") -> str:
    return f"variable {name} {{ type discrete [ {len(values)} ] {{ {', '.join(values)} }}; {more} }}\n"


AB = variable("A", "a", "b") + variable("B", "a", "b")


def table_of(text: str, name: str = "B") -> Any:
    return next(found.table for found in parse_bif(text).variables if found.name == name)


# -------------------------------------------------------------------------------------------------------------- reading


def test_reads_names_values_comments_table_rows_and_default() -> None:
    file = parse_bif(SMALL)
    assert file.name == "small one"
    a, b, x = file.variables
    assert (a.name, a.values, a.parents, a.hidden, a.place) == ("A", ("a0", "a1"), (), False, Place(2, 10))
    assert b.values == ("<1", "1-2.5", "over 2,5")
    assert b.properties == ("position = (1, 2)",)
    assert x.parents == ("A", "B")
    assert x.place == Place(6, 10)
    assert a.table is not None
    assert a.table.tolist() == [0.25, 0.75]
    assert x.table is not None
    half = [0.5, 0.5]
    assert x.table.tolist() == [[[0.1, 0.9], half, half], [half, half, [1.0, 0.0]]]


def test_table_with_parents_lists_the_child_first_and_the_last_parent_fastest() -> None:
    """P(light-on | family-out) of the format's own example: 0.6 and 0.05, then their complements."""
    text = AB + "probability ( A ) { table 0.5, 0.5; } probability ( B | A ) { table 0.6, 0.05, 0.4, 0.95; }"
    assert table_of(text).tolist() == [[0.6, 0.4], [0.05, 0.95]]


def test_a_block_without_numbers_gives_no_table_however_many_parents() -> None:
    names = [f"P{number}" for number in range(100)]
    text = "".join(variable(name, "0", "1") + f"probability ( {name} ) {{ }}" for name in names)
    text += variable("X", "0", "1") + f"probability ( X | {', '.join(names)} ) {{ }}"
    assert table_of(text, "X") is None
    assert len(CausalGraph.of(read_bif_graph(text)).parents("X")) == 100


def test_rounded_rows_are_made_to_sum_to_one_and_exact_ones_stay() -> None:
    third = "0.3333333"
    text = variable("X", "a", "b", "c") + f"probability ( X ) {{ table {third}, {third}, {third}; }}"
    assert table_of(text, "X").sum() == pytest.approx(1, abs=1e-15)
    text = variable("X", "a", "b", "c") + "probability ( X ) { table 0.7, 0.2, 0.1; }"
    assert table_of(text, "X").tolist() == [0.7, 0.2, 0.1]


def test_a_table_cannot_be_written_to() -> None:
    table = table_of(SMALL, "X")
    with pytest.raises(ValueError, match="read-only"):
        table[0, 0, 0] = 1


def test_reading_the_graph_passes_over_the_numbers() -> None:
    text = AB + "probability ( A ) { table 7, 8; } probability ( B | A ) { nonsense }"
    assert read_bif_graph(text) == CausalGraph(directed=[("A", "B")])


# ----------------------------------------------------------------------------------------------------------- real files


@pytest.mark.slow("3 s: every network of the repository")
@pytest.mark.parametrize("name", REPOSITORY)
def test_reads_the_bnlearn_repository(name: str) -> None:
    text = model(name)
    file = parse_bif(text)
    graph = CausalGraph.of(read_bif_graph(text))
    variables, parameters = REPOSITORY[name]
    assert len(file.variables) == variables
    assert set(graph.nodes) == {found.name for found in file.variables}
    free = 0
    for found in file.variables:
        assert found.table is not None
        free += found.table.size // len(found.values) * (len(found.values) - 1)
        assert np.abs(found.table.sum(axis=-1) - 1).max() < 1e-13
        assert set(graph.parents(found.name)) == set(found.parents)
    assert free == parameters


@pytest.mark.slow("5 s: imports pgmpy and reads four networks twice; finds tables whose columns are permuted")
@pytest.mark.parametrize("name", ["asia", "alarm", "child", "insurance"])
def test_tables_agree_with_pgmpy(name: str) -> None:
    pytest.importorskip("pgmpy")
    text = model(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pgmpy.readwrite import BIFReader

        reader = BIFReader(string=text)
    for found in parse_bif(text).variables:
        assert found.table is not None
        assert list(found.values) == reader.variable_states[found.name]
        assert list(found.parents) == reader.variable_parents[found.name]
        expected = np.asarray(reader.variable_cpds[found.name]).T.reshape(found.table.shape)
        np.testing.assert_allclose(found.table, expected, rtol=0, atol=1e-4)


# -------------------------------------------------------------------------------------------------------------- writing


@pytest.mark.parametrize("name", ["sachs", "child", "munin1"])
def test_writing_and_reading_a_network_changes_nothing(name: str) -> None:
    assert_same(parse_bif(model(name)))


def test_writing_and_reading_strange_names_and_awkward_numbers_changes_nothing() -> None:
    file = parse_bif(SMALL)
    assert_same(file)
    table = np.random.default_rng(1).dirichlet([0.1] * 5, size=40)
    strange = ("a b", "//", "Ünïcödé", "{;}", "0.5")
    one = BifVariable("the //cause", tuple(map(str, range(40))), (), np.full(40, 1 / 40), True, Place(1, 1))
    two = BifVariable("x,y|z", strange, ("the //cause",), table, False, Place(1, 1), ('note "a; b"',))
    assert_same(parse_bif(write_bif(BifFile("", (one, two)))))


def assert_same(file: BifFile) -> None:
    again = parse_bif(write_bif(file))
    assert again.name == file.name
    for found, expected in zip(again.variables, file.variables, strict=True):
        for part in ("name", "values", "parents", "hidden"):
            assert getattr(found, part) == getattr(expected, part)
        assert found.properties in (expected.properties, ("latent yes", *expected.properties))
        assert found.table is not None
        assert expected.table is not None
        np.testing.assert_array_equal(found.table, expected.table)


def test_graphs_come_back_as_they_were() -> None:
    random.seed(7)
    names = ["X", "face mask", "U1", "ß.é", "a//b", "it's", "x|y", "variable", "0", "<-"]
    for _ in range(200):
        nodes = random.sample(names, random.randint(1, len(names)))
        pairs = [(nodes[i], nodes[j]) for i in range(len(nodes)) for j in range(i + 1, len(nodes))]
        graph = CausalGraph(
            nodes=nodes,
            directed=[pair for pair in pairs if random.random() < 0.3],
            bidirected=[pair for pair in pairs if random.random() < 0.2],
            hidden=random.sample(["U2", "H 1", "H2"], random.randint(0, 3)),
            exposures=random.sample(nodes, 1),
            outcomes=random.sample(nodes, 1),
        )
        assert read_bif_graph(write_bif_graph(graph)) == graph


def test_a_confounder_is_an_edge_in_a_graph_and_hidden_in_a_network() -> None:
    text = write_bif_graph(CausalGraph(directed=[("X", "Y")], bidirected=[("X", "Y")]))
    assert "property confounder yes;" in text
    assert read_bif_graph(text).hidden == frozenset()
    assert [(found.name, found.hidden) for found in parse_bif(text).variables] == [
        ("X", False),
        ("Y", False),
        ("U1", True),
    ]


def test_a_latent_variable_is_projected_and_remembered() -> None:
    text = AB + variable("U", "0", "1", more="property latent = yes;")
    text += "probability ( U ) { } probability ( A | U ) { } probability ( B | U ) { }"
    graph = CausalGraph.of(read_bif_graph(text))
    assert graph.bidirected == {frozenset("AB")}
    assert graph.hidden == {"U"}


@pytest.mark.parametrize("name", ['a "b"', "a\\b"])
def test_a_name_that_bif_cannot_hold_is_refused(name: str) -> None:
    with pytest.raises(GraphError, match="cannot be written as BIF"):
        write_bif_graph(CausalGraph(nodes=[name]))


# --------------------------------------------------------------------------------------------------------------- errors

A = "probability ( A ) { table 0.5, 0.5; }\n"


def rows(*lines: str, parents: str = " | A") -> str:
    """Two variables; the rows of B begin on line 5."""
    return AB + A + f"probability ( B{parents} ) {{\n" + "\n".join(lines) + "\n}\n"


ERRORS: Sequence[tuple[str, str, Place]] = [
    (rows("(a) 0.1, 0.9;", "(b) 0.2, 0.7;"), 'of "B" in the row (b) sum to 0.9, not to 1.', Place(6, 5)),
    (rows("(a) 0.1, 0.9;"), '"B" has 1 of 2 rows; the first that is missing is (b).', Place(4, 15)),
    (rows("(a) 0.1, 0.9;", "(b) 1, 0;", "(a) 0, 1;"), 'the row (a) of "B" is already on line 5.', Place(7, 1)),
    (rows("(a) 0.1, 0.9;", "(c) 1, 0;"), '"c" is not a value of the parent "A". Its values are a, b.', Place(6, 2)),
    (rows("(a, b) 0.1, 0.9;"), '"B" has 1 parents (A), but this row names more.', Place(5, 2)),
    (rows("(a) 0.1, 0.8, 0.1;"), 'expected 2 numbers, found 3: "B" has 2 values.', Place(5, 5)),
    (rows("(a) ;"), "expected 2 numbers, found 0", Place(5, 5)),
    (rows("(a) 0.1, -0.9;"), 'expected a number between 0 and 1, found "-0.9".', Place(5, 10)),
    (rows("(a) 0.1, 1_0;"), 'found "1_0".', Place(5, 10)),
    (rows("(a) \uff11, 0;"), 'found "\uff11".', Place(5, 5)),
    (rows("(a) 0,\u00a01;"), 'found "<U+00A0>1".', Place(5, 7)),
    (rows("(a) nan, 0;"), 'found "nan".', Place(5, 5)),
    (rows("(a) 0, inf;"), 'found "inf".', Place(5, 8)),
    (rows("(a) 0, 1e400;"), 'found "1e400".', Place(5, 8)),
    (rows("(a) 0,, 1;"), "expected 2 numbers, found 3", Place(5, 5)),
    (rows("(a) 0, ;"), "found nothing.", Place(5, 8)),
    (rows("(a) 0.1 0.9;"), "expected 2 numbers, found 1", Place(5, 5)),
    (rows("(a) 0.1, 0.9", "(b) 1, 0;"), 'expected numbers up to a ";", found "(b) 1, 0;".', Place(6, 1)),
    (rows("a 0.1, 0.9;"), 'expected a row such as "(a, b) 0.1, 0.9;"', Place(5, 1)),
    (rows("default 1, 0;", "default 1, 0;"), 'a second "default" for "B".', Place(6, 1)),
    (rows("table 1, 0, 0, 1;", "(a) 1, 0;"), '"B" has a table and other rows too.', Place(5, 1)),
    (rows("table 1, 1, 0, 0.5;"), 'in the row "table" at (b) sum to 1.5, not to 1.', Place(5, 7)),
    (rows("table 0.5, 0.5;"), 'expected 4 numbers, found 2: "B" has 2 values and 2 rows.', Place(5, 7)),
    (rows("(a) 1, 0;", parents=""), '"B" has no parents: write "table', Place(5, 1)),
    (rows("}", "{"), 'expected "network", "variable" or "probability", found "{".', Place(6, 1)),
    (rows("table 1, 0;", parents=" | AA"), 'the parent "AA" of "B" is not declared as a variable. Did', Place(4, 19)),
    (rows("table 1, 0;", parents=" | A, A"), '"A" is a parent of "B" twice.', Place(4, 15)),
    (rows("table 1, 0;", parents=", A"), 'expected "|" before the parents, or ")", found ", A ) {".', Place(4, 16)),
    (AB + A + A, 'the probabilities of "A" are given on line 3 already.', Place(4, 15)),
    (AB + A, '"B" has no probabilities. Add', Place(2, 10)),
    (AB + A + "probability ( C ) { }", '"C" is not declared as a variable.', Place(4, 15)),
    (AB + AB, 'the variable "A" is declared on line 1 already.', Place(3, 10)),
    (AB + A + 'probability ( B ) { table 1, 0; "', 'expected "}" to close the probabilities of "B"', Place(4, 33)),
    (variable("A", "a", "a"), 'the value "a" of "A" is listed twice.', Place(1, 39)),
    (variable("A", "very low", "b"), 'with blanks needs double quotes), found "low, b };  }".', Place(1, 41)),
    ("variable A { type discrete [ 3 ] { a, b }; }", '"A" declares 3 values and lists 2.', Place(1, 30)),
    ("variable A { type continuous; }", 'expected "type discrete', Place(1, 14)),
    ("variable A { }", 'the variable "A" has no "type discrete', Place(1, 10)),
    (
        variable("A", "a", more="property latent maybe;"),
        'the property "latent" of "A" must be yes or no.',
        Place(1, 50),
    ),
    (variable("A", "a\u202eb"), "U+202E", Place(1, 36)),
    ("/* never ends", 'a comment begins here with "/*" and never ends.', Place(1, 1)),
    ("digraph { A -> B }", 'expected "network", "variable" or "probability", found "digraph', Place(1, 1)),
]


@pytest.mark.parametrize(("text", "message", "place"), ERRORS, ids=range(len(ERRORS)))
def test_an_error_says_what_is_wrong_and_where(text: str, message: str, place: Place) -> None:
    with pytest.raises(GraphSyntaxError) as caught:
        parse_bif(text)
    assert message in str(caught.value)
    assert caught.value.place == place
    assert str(caught.value).startswith(f"{place}: ")


def test_an_empty_text_is_said_to_be_empty() -> None:
    for text in ("", "  // nothing\n", "network unknown { }"):
        with pytest.raises(GraphSyntaxError, match="The network is empty: expected a variable such as"):
            parse_bif(text)


def test_a_cycle_is_shown_by_both_readers() -> None:
    text = AB + "probability ( A | B ) { }\nprobability ( B | A ) { }"
    for read in (parse_bif, read_bif_graph):
        with pytest.raises(GraphError, match=r"cycle: A -> B -> A \(lines 3, 4\)"):
            read(text)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ("probability ( A | U ) { } probability ( B ) { } probability ( U ) { }", "has 1 children"),
        ("probability ( A | U ) { } probability ( B | U ) { } probability ( U | C ) { }", 'has the parent "C"'),
    ],
)
def test_a_confounder_must_be_one_edge(edges: str, message: str) -> None:
    text = AB + variable("C", "0", "1") + variable("U", "0", "1", more="property confounder yes;")
    with pytest.raises(GraphSyntaxError, match=message):
        read_bif_graph(text + edges + "probability ( C ) { }")


@pytest.mark.slow("0.5 s: a thousand parents of 256 values; finds a table that is made before it is refused")
def test_sizes_are_checked_before_anything_is_allocated() -> None:
    values = [str(number) for number in range(256)]
    names = [f"P{number}" for number in range(1000)]
    text = "".join(variable(name, *values) + f"probability ( {name} ) {{ }}" for name in names)
    text += variable("X", "0", "1")
    with pytest.raises(TooLargeError, match='the table of "X" has 8,589,934,592 cells'):
        parse_bif(text + "probability ( X | P0, P1, P2, P3 ) { default 1, 0; }")
    with pytest.raises(TooLargeError, match=r'the table of "X" has about 10\^2408 cells \(1000 parents\)'):
        parse_bif(text + f"probability ( X | {', '.join(names)} ) {{ default 1, 0; }}")
    with pytest.raises(TooLargeError, match='the variable "X" has 257 values; at most 256 are read'):
        parse_bif(variable("X", *values, "256"))


N = 1_000_000
HOSTILE = {
    "blanks": "variable X { type discrete" + " " * N + "x",
    "brackets": variable("X", "a", "b") + "probability ( X ) { " + "(" * N + " }",
    "quotes": 'variable "' + '"' * N,
    "comments": "/*/" * (N // 3),
    "digits": "variable X { type discrete [" + "1" * N,
    "values": "variable X { type discrete {" + "a," * (N // 2) + "a};}",
    "parents": "probability ( X | " + "a," * (N // 2),
    "numbers": variable("X", "a", "b") + "probability ( X ) { table " + "0," * (N // 2) + "0; }",
    "rows": AB + A + "probability ( B | A ) { " + '("a") 1,0;' * (N // 10) + "}",
    "variables": "".join(f"variable X{number} {{type discrete {{0,1}};}}" for number in range(N // 38)),
}


@pytest.mark.slow("2 s: long hostile files; finds steps that take the square of their length")
@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_text_is_refused_in_linear_time(kind: str) -> None:
    with pytest.raises(WhichdoError):
        parse_bif(HOSTILE[kind])


def test_damaged_files_are_read_or_refused_and_nothing_else() -> None:
    random.seed(3)
    for source in (SMALL, model("cancer"), write_bif_graph(CausalGraph(bidirected=[("X", "Y")]))):
        for _ in range(300):
            text = list(source)
            for _ in range(random.randint(1, 3)):
                place = random.randrange(len(text))
                text[place : place + random.randint(0, 3)] = random.choice([*'{}()[],;|"/*0a- .\\\n\x00', ""])
            for read in (parse_bif, read_bif_graph):
                with contextlib.suppress(WhichdoError):
                    read("".join(text))
