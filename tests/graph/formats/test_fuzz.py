"""Damaged files: whatever is done to a file, reading it ends soon, in a graph or in one of our errors."""

from __future__ import annotations

import random
import re
import time
import zlib
from typing import TYPE_CHECKING

import pytest

from tests.graph.formats.strategies import FORMATS, NASTY
from tests.soak import FULL, scaled
from whichdo.errors import InputError
from whichdo.graph.admg import CausalGraph, read_graph
from whichdo.graph.formats import format_graph, parse_graph

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FILES = scaled(5_000)
EVERY = (*FORMATS, "bif")
SECONDS = 2.0

WORDS = """
-> <- <-> -- @-> o-> o-o { } [ ] ( ) ; , = : | " ' \\ # // /* */ < > & &#34; &#0; &#1114112; + - . 0 1 -1 1e400
dag digraph graph strict subgraph node edge latent observed dir=both dir=none directed id label source target network
variable probability property type discrete table default nodes hidden null NaN true [latent] [selected] X Y U bb="1,2"
\\u202e \\ud800 {} [] {X Y}
"""
TOKENS = (*WORDS.split(), "\n", "\r", " ", "\t", "\0", "\u200b", "\u202e", "\ufeff", "é", "→", "\u2028")

DOT = r"""strict digraph g { rankdir=LR; node [shape=box]; edge [dir=both]; A:n -> B; U [observed="no"]; U -> A // y
# z
subgraph c { edge [dir=back] C -> D /* x */ } -> E [dir=forward]; "q \" \\" -> B }"""
GML = """graph[directed 1 node[id "X" label "X"] node[id "U" label "U &amp; V" observed "no"] node[id 3 graphics [x 1]]
edge[source "X" target 3] edge [source "U" target "X" dir "both"]]"""
BIF = """network unknown { }
variable A { type discrete [ 2 ] { yes, no }; }
variable B { type discrete [ 2 ] { a, b }; }
probability ( A ) { table 0.2, 0.8; }
probability ( B | A ) { (yes) 0.1, 0.9; (no) 0.5, 0.5; }"""
MORE = {
    "text": ['A -> B <- C; {A B} -> {D "e f"}; U [latent, pos="0,1"]; U -> A # note\nA <-> D', "face-mask -> Y // x"],
    "dagitty": ['dag "g" { bb="0,0,1,1" A [pos="0,1",e] A -> B [beta=.3] B [o] {A C} -> B A <-> B U [l] U->{A C} }'],
    "dot": [DOT],
    "gml": [GML],
    "json": ['{"directed": [["A", "B"]], "hidden": ["U"]}'],
    "bif": [BIF],
}


def graph(rng: random.Random) -> CausalGraph:
    names = rng.sample(sorted({*NASTY, *"ABCDEFGHIJ"}), rng.randint(2, 12))
    pairs = [(one, two) for position, one in enumerate(names) for two in names[position + 1 :]]
    return CausalGraph(
        names,
        rng.sample(pairs, rng.randint(0, len(pairs))),
        rng.sample(pairs, rng.randint(0, min(3, len(pairs)))),
        hidden=["hidden one"][: rng.randint(0, 1)],
        outcomes=names[-rng.randint(0, 1) :][:1],
    )


def plain(rng: random.Random) -> CausalGraph:
    """BIF has no way to write every name."""
    names = list("ABCDEFGH")
    return CausalGraph(names, [(one, two) for one in names for two in names if one < two and rng.random() < 0.3])


def flip(data: bytes, rng: random.Random) -> bytes:
    position = rng.randrange(len(data))
    return data[:position] + bytes([data[position] ^ 1 << rng.randrange(8)]) + data[position + 1 :]


def delete(data: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(data))
    return data[:start] + data[start + rng.randint(1, 10) :]


def double(data: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(data))
    end = start + rng.randint(1, 40)
    return data[:end] + data[start:end] * rng.choice((1, 1, 1, 300)) + data[end:]


def cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(1, len(data) + 1)]


def insert(data: bytes, rng: random.Random) -> bytes:
    position = rng.randrange(len(data) + 1)
    token = rng.choice(TOKENS) * rng.choice((1, 1, 1, 1, 2_000))
    return data[:position] + token.encode("utf-8", "surrogatepass") + data[position:]


def exchange(data: bytes, rng: random.Random) -> bytes:
    """One token in place of another of the same text."""
    words = re.findall(rb"\w+|[^\w\s]+", data) or [data]
    return data.replace(rng.choice(words), rng.choice(words), rng.randint(1, 3))


DAMAGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (flip, delete, double, cut, insert, exchange)


def damaged(name: str, rng: random.Random) -> bytes:
    def sample(of: str) -> bytes:
        if rng.random() < 0.3:
            return rng.choice(MORE[of]).encode()
        return format_graph(plain(rng) if of == "bif" else graph(rng), of).encode()

    data = sample(name)
    if rng.random() < 0.1:
        other = sample(rng.choice(EVERY))
        data = data[: rng.randrange(len(data))] + other[rng.randrange(len(other)) :]
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        data = rng.choice(DAMAGES)(data or b"X", rng)
    return data


@pytest.mark.soak
@pytest.mark.parametrize("name", EVERY)
def test_damaged_files(name: str, tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """`FILES` in all, a sixth in each format.  What still is a graph is written and read back equal, in each format."""
    rng = random.Random(f"damage {name}")
    path = tmp_path / f"graph.{name}"
    read = 0
    for number in range(-(-FILES // len(EVERY))):
        data = damaged(name, rng)
        path.write_bytes(data)
        began = time.process_time()
        try:
            found = read_graph(path)
        except InputError as error:
            str(error).encode()  # it can be printed
        else:
            read += 1
            for other in FORMATS:
                assert parse_graph(format_graph(found, other)) == found, (number, data)
        assert time.process_time() - began < SECONDS, data
    assert read > 0 or not FULL
    record_property("files", -(-FILES // len(EVERY)))
    record_property("still graphs", read)
    record_property("seed", f'"damage {name}"')


@pytest.mark.soak
def test_damaged_gzip(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    record_property("files", FILES // 10)
    record_property("seed", 7)
    rng = random.Random(7)
    path = tmp_path / "graph.txt.gz"
    whole = zlib.compress(b"X -> Y; Y -> Z", wbits=31)
    for _ in range(FILES // 10):
        path.write_bytes(whole[:2] + rng.choice((flip, delete, cut))(whole[2:], rng))
        try:
            read_graph(path)
        except InputError:
            continue


@pytest.mark.parametrize(
    "text",
    [
        "{" * 300_000,
        "[" * 300_000,
        '"' * 300_001,
        "\\" * 300_000,
        "A -> " * 100_000,
        "A-" * 100_000 + "A",
        "-" * 300_000,
        "<" * 300_000,
        "/*" * 150_000,
        "dag {" + "{" * 300_000,
        "dag " * 100_000,
        "digraph {" + "subgraph {" * 30_000,
        "digraph {" + "/* " * 100_000,
        'digraph {"' + "\\" * 300_000,
        "graph [" + "x [" * 100_000,
        'graph [ node [ id "' + "&" * 300_000,
        "graph [ node [ id 1" + " label" * 50_000,
        '{"a":' * 100_000,
        "A " * 150_000,
        "\n" * 300_000 + "=",
        "network " * 50_000,
    ],
    ids=lambda text: text[:12] + "...",
)
def test_long_repetitions_end_soon(text: str) -> None:
    began = time.process_time()
    with pytest.raises(InputError):
        parse_graph(text)
    assert time.process_time() - began < SECONDS
