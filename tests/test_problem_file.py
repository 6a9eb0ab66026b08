"""Problem files: read, written, refused; canonical JSON."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.soak import scaled
from tests.twins import letters
from whichdo.errors import GraphError, GraphSyntaxError, InputError, ProblemError, TooLargeError
from whichdo.graph.admg import CausalGraph
from whichdo.graph.draft import checked_name
from whichdo.problem import Problem, do
from whichdo.problem_file import problem_from_json, problem_to_json, problem_to_toml, read_problem, write_problem

if TYPE_CHECKING:
    from pathlib import Path

FULL = """
graph = "X -> M; M -> Y; X <-> Y; Z -> Y"
reward = "Y"
goal = "minimize"

[intervene]
X = [1]
M = ["low", "high"]

[domains]
M = ["low", "mid", "high"]
Y = [0, 0.5, 1]

[rewards]
0 = 0.1
"0.5" = 0.2
1 = 1

[costs]
"do()" = 0.5
"do(M=low)" = 5
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "problem.toml"


def refused(file: Path, text: str) -> str:
    """The words in which a file is refused."""
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_problem(file)
    return str(caught.value)


def test_a_full_file_is_read(file: Path) -> None:
    file.write_text(FULL)
    assert read_problem(file) == Problem(
        "X -> M; M -> Y; X <-> Y; Z -> Y",
        "Y",
        {"X": [1], "M": ["low", "high"]},
        goal="minimize",
        domains={"M": ["low", "mid", "high"], "Y": [0, 0.5, 1]},
        rewards={0: 0.1, 0.5: 0.2, 1: 1},
        costs={do(): 0.5, do(M="low"): 5},
    )


def test_a_short_file_takes_the_defaults(file: Path) -> None:
    file.write_text('graph = "X -> Y"\nreward = "Y"\n')
    assert read_problem(file) == Problem("X -> Y", "Y")
    assert read_problem(str(file)) == Problem("X -> Y", "Y")


def test_a_graph_file_is_looked_up_beside(file: Path) -> None:
    (file.parent / "g.txt").write_text("X -> Y\n")
    file.write_text('graph_file = "g.txt"\nreward = "Y"\n')
    assert read_problem(file) == Problem("X -> Y", "Y")
    assert "There is no file" in refused(file, 'graph_file = "none.txt"\nreward = "Y"\n')


@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "../g.txt", "below/../../g.txt", "..", r"..\\g.txt", r"C:\\g.txt", "C:g.txt", "//host/g.txt"],
)
def test_a_graph_file_elsewhere_is_not_opened(file: Path, name: str) -> None:
    words = refused(file, f'graph_file = {json.dumps(name)}\nreward = "Y"\n')
    assert "it must lie beside this file or in a folder below." in words
    assert "root" not in words


def test_a_graph_file_may_lie_in_a_folder_below_or_be_a_link(file: Path) -> None:
    (file.parent / "below").mkdir()
    (file.parent / "below" / "g.txt").write_text("X -> Y\n")
    file.write_text('graph_file = "below/g.txt"\nreward = "Y"\n')
    assert read_problem(file) == Problem("X -> Y", "Y")
    (file.parent / "link.txt").symlink_to(file.parent / "below" / "g.txt")
    file.write_text('graph_file = "./link.txt"\nreward = "Y"\n')
    assert read_problem(file) == Problem("X -> Y", "Y")


def test_an_arm_given_two_costs_is_refused(file: Path) -> None:
    text = 'graph = "X -> Y"\nreward = "Y"\n[costs]\n"do(X=1)" = 5\n"do( X=1)" = 6\n'
    assert refused(file, text).endswith("`costs` names do(X=1) twice. Keep one of the two.")


def test_too_many_values_are_told_with_the_file(file: Path) -> None:
    file.write_text(f'graph = "X -> Y"\nreward = "Y"\n[domains]\nX = {list(range(300))}\n')
    with pytest.raises(TooLargeError, match=r'^problem\.toml: "X" has 300 values'):
        read_problem(file)


def test_a_file_name_cannot_command_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "p\x1b[31m.toml"
    for text in ("graph =", "colour = 1", 'graph = "X -> X"', 'graph = "X -> Y"\nreward = "Q"', "a." * 200 + "b = 1"):
        path.write_text(text)
        with pytest.raises(InputError, match=r"^p\\x1b\[31m\.toml") as caught:
            read_problem(path)
        assert str(caught.value).isprintable()


def test_roles_in_the_graph_name_the_reward_and_its_levels(file: Path) -> None:
    """[rewards] has text keys; the levels they mean are those of the outcome the graph marks."""
    file.write_text(
        'graph = "X [exposure]; Y [outcome]; X -> Y; Z -> Y"\n[domains]\nY = [0, 0.5, 2]\n'
        '[rewards]\n0 = 0\n"0.5" = 0.5\n2 = 1\n'
    )
    problem = read_problem(file)
    assert problem.reward == "Y"
    assert list(problem.intervene) == ["X"]
    assert problem.rewards == {0: 0.0, 0.5: 0.5, 2: 1.0}


def test_numbers_written_in_other_ways_are_the_same_values(file: Path) -> None:
    file.write_text(
        'graph = "X -> Y"\nreward = "Y"\n[domains]\nX = [false, true]\nY = [0.0, 1.0]\n'
        '[rewards]\n0 = 0\n1 = 0.5\n[costs]\n"do(X=1)" = 2\n'
    )
    problem = read_problem(file)
    assert problem == Problem("X -> Y", "Y", rewards={0: 0, 1: 0.5}, costs={do(X=1): 2})
    assert str(problem.arms[2]) == "do(X=1)"


# ---------------------------------------------------------------------------------------------------- what is refused

START = 'graph = "X -> Y"\nreward = "Y"\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (START + "rewrd = 1", ' has the unknown key "rewrd". Did you mean "reward" or "rewards"?'),
        (START + "zzz = 1", ' has the unknown key "zzz".'),
        ('reward = "Y"', ": give either `graph` (text) or `graph_file` (a path beside this file), one of them."),
        (
            START + 'graph_file = "g"',
            ": give either `graph` (text) or `graph_file` (a path beside this file), one of them.",
        ),
        ("graph = 3", ": `graph` is 3; it must be text."),
        ("graph_file = []", ": `graph_file` is []; it must be text."),
        (
            'graph = "X -> Y"',
            (": Which node is the reward? The graph does not say (it marks no outcome); give `reward`."),
        ),
        ('graph = "X -> Y"\nreward = 3', ": `reward` is 3; it must be a node's name."),
        (START + "goal = 1", ": `goal` is 1; it must be maximize or minimize."),
        (START + 'goal = "up"', ': The goal is "up"; it must be maximize or minimize.'),
        (START + "domains = 1", ": `domains` is 1; it must be a table of lists."),
        (START + "rewards = []", ": `rewards` is []; it must be a table of numbers."),
        (START + "costs = 2", ": `costs` is 2; it must be a table of numbers."),
        (START + 'intervene = "X"', ": `intervene` is 'X'; it must be a list of nodes or a table of lists."),
        (START + "intervene = [1]", ": `intervene` lists 1; it must list nodes by name."),
        (
            START + "[intervene]\nX = 2020-01-01",
            ': `intervene` gives "X" the value datetime.date(2020, 1, 1); it must be a list of values.',
        ),
        (
            START + "[intervene]\nX = [2020-01-01]",
            ': datetime.date(2020, 1, 1) is no value of "X": a value is a number or a text.',
        ),
        (START + "[intervene]\nX = [2]", ': "X" cannot be set to "2". Allowed: 0 and 1.'),
        (
            START + "[domains]\nX = 3",
            ': `domains` gives "X" the value 3; it must be a list of values.',
        ),
        (START + "[domains]\nX = [inf, 1]", ': inf is no value of "X": it must be finite.'),
        (START + "[domains]\nX = [[1]]", ': [1] is no value of "X": a value is a number or a text.'),
        (
            START + "[rewards]\n0 = 0",
            (': `rewards` must give a worth to each value of "Y" and to nothing else. Values: 0 and 1; found: "0".'),
        ),
        (START + '[rewards]\n0 = 0\n1 = "x"', ": The worth of Y=1 is 'x'; it must be a finite number."),
        (START + '[costs]\n"do(X=1)" = nan', ": The cost of do(X=1) is nan; it must be a finite number."),
        (
            START + f'[costs]\n"do(X=1)" = {"9" * 400}',
            ": The cost of do(X=1) is a number of 400 digits, which is too large.",
        ),
        (START + "[costs]\nX = 1", (': "X" is no arm of this problem. The arms are do(), do(X=0) and do(X=1).')),
        ('graph = "X -> Y"\nreward = "Yy"', ': The reward "Yy" is not in the graph. Did you mean "Y"?'),
        ('graph = "X -> Y"\nreward = "\\u001b[2J"', ': The reward "\\x1b[2J" is not in the graph.'),
        (
            'graph = "X -> Y; Y -> X"\nreward = "Y"',
            ", in `graph`: The graph has a cycle: X -> Y -> X (line 1). Remove one of these edges.",
        ),
        (START + "intervene = []", ': There is nothing to intervene on: "Y" is the reward and `intervene` is empty.'),
    ],
)
def test_a_file_is_refused_in_words(file: Path, text: str, words: str) -> None:
    assert refused(file, text) == "problem.toml" + words


def test_what_is_no_toml_is_refused_with_line_and_column(file: Path) -> None:
    words = refused(file, 'graph = "X -> Y"\nreward = \n')
    assert words.startswith("problem.toml is no TOML: ")
    assert "line 2" in words


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 100_000,
        "a = " + "9" * 5_000,
        START + "[domains]\nX = [" + "9" * 5_000 + "]",
        START + "[domains]\nX = [0x" + "f" * 9_000 + "]",
        START + "[costs]\n'do(X=1)' = 0x" + "f" * 9_000,
        "graph = 0x" + "f" * 9_000,
        "a." * 30_000 + "b = 1",
        "[" + "a." * 30_000 + "b]",
        "'a' . " * 30_000 + "b = 1",
        "x = {" + "a." * 30_000 + "b = 1}",
        "x" * 1_000_000,
        '"' * 1_000_000,
        "",
        "\x00",
    ],
    ids=range(14),
)
def test_hostile_files_are_refused_briefly(file: Path, text: str) -> None:
    assert len(refused(file, text)) < 500


def test_files_that_cannot_be_read_are_refused(file: Path) -> None:
    with pytest.raises(InputError, match="There is no file"):
        read_problem(file)
    with pytest.raises(InputError, match="is a directory"):
        read_problem(file.parent)
    file.write_bytes(b'graph = "\xff"')
    with pytest.raises(InputError, match=r"problem\.toml is not UTF-8 text"):
        read_problem(file)


def test_errors_in_the_graph_keep_their_kind_and_name_the_file(file: Path) -> None:
    file.write_text('graph = "X -> X"\nreward = "X"\n')
    with pytest.raises(GraphSyntaxError, match=r"^problem\.toml, in `graph`, line 1, column 1.*self-loop"):
        read_problem(file)
    file.write_text(f'graph = "{"x" * 129} -> Y"\nreward = "Y"\n')
    with pytest.raises(TooLargeError, match="129 characters"):
        read_problem(file)


# ---------------------------------------------------------------------------------------------------------- round trips

#: Characters that some format of ours or of TOML and JSON gives a meaning to, and some that only look strange.
NASTY = "ab XY01_-><=;:,.\"'\\[](){}#/&|%$@!~^`+*?éßñ中😀ΩÅ"


def _is_name(text: str) -> bool:
    try:
        return checked_name(text) == text
    except InputError:
        return False


names = st.one_of(
    st.text(st.sampled_from(NASTY), min_size=1, max_size=8),
    st.text(st.characters(categories=["L", "N", "P", "S", "M"]), min_size=1, max_size=6),
    st.sampled_from(["graph", "dag", "digraph", "node", "latent", "inf", "nan", "true", "1", "1.0", "do()", "network"]),
).filter(_is_name)
texts = st.text(st.sampled_from(NASTY), min_size=1, max_size=8).filter(lambda text: bool(text.strip()))
values = st.one_of(
    texts, st.integers(-3, 300), st.integers(10**17, 10**25), st.floats(allow_nan=False, allow_infinity=False, width=32)
).filter(lambda value: len(str(value)) < 30)
domains = st.lists(values, min_size=1, max_size=4)
worths = st.floats(0, 1)
prices = st.floats(1e-9, 1e12) | st.integers(1, 9)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Problems with strange names and values, hidden nodes, roles, rewards and costs."""
    nodes = draw(st.lists(names, min_size=2, max_size=6, unique_by=lambda name: name.replace(" ", "")))
    pairs = [(a, b) for i, a in enumerate(nodes) for b in nodes[i + 1 :]]
    hidden = draw(st.lists(names, max_size=2, unique=True).map(lambda found: [n for n in found if n not in nodes]))
    graph = CausalGraph(
        nodes,
        draw(st.lists(st.sampled_from(pairs), unique=True)),
        draw(st.lists(st.sampled_from(pairs), unique=True)),
        hidden=hidden,
        exposures=draw(st.lists(st.sampled_from(nodes), unique=True)),
        outcomes=draw(st.lists(st.sampled_from(nodes), unique=True)),
    )
    reward = draw(st.sampled_from(nodes))
    others = draw(st.lists(st.sampled_from([n for n in nodes if n != reward]), min_size=1, unique=True))
    given_domains = {node: draw(domains) for node in draw(st.lists(st.sampled_from(nodes), unique=True))}
    levels = given_domains.get(reward, [0, 1])
    rewards = {level: draw(worths) for level in levels}
    intervene: Any = others
    if draw(st.booleans()):
        intervene = {n: draw(st.lists(st.sampled_from(given_domains.get(n, [0, 1])), min_size=1)) for n in others}
    rest: dict[str, Any] = {
        "domains": given_domains,
        "rewards": rewards,
        "goal": draw(st.sampled_from(["maximize", "minimize"])),
    }
    try:
        plain = Problem(graph, reward, intervene, **rest)
    except ProblemError as error:
        if "lists a value twice" not in str(error) and "read alike" not in str(error):
            raise
        return Problem(graph, reward, others)
    costs = {arm: draw(prices) for arm in draw(st.lists(st.sampled_from(plain.arms), unique=True))}
    return Problem(graph, reward, intervene, costs=costs, **rest)


@pytest.mark.slow("1 s: 60 problems with strange names and values; finds characters that do not survive")
@pytest.mark.soak
@settings(max_examples=scaled(300, 60), suppress_health_check=[HealthCheck.too_slow])
@given(problems())
def test_a_problem_written_is_the_problem_read(tmp_path_factory: pytest.TempPathFactory, problem: Problem) -> None:
    file = tmp_path_factory.getbasetemp() / "round trip.toml"
    write_problem(problem, file)
    again = read_problem(file)
    assert again == problem
    assert list(map(str, again.arms)) == list(map(str, problem.arms))
    assert problem_to_toml(again) == problem_to_toml(problem)


@pytest.mark.slow("2 s: 60 problems with strange names and values; finds characters that do not survive")
@pytest.mark.soak
@settings(max_examples=scaled(300, 60), suppress_health_check=[HealthCheck.too_slow])
@given(problems())
def test_canonical_json_gives_the_problem_back_and_the_same_bytes(problem: Problem) -> None:
    text = problem_to_json(problem)
    again = problem_from_json(text)
    assert again == problem
    assert problem_to_json(again) == text
    assert list(map(str, again.arms)) == list(map(str, problem.arms))


def test_canonical_json_is_these_bytes() -> None:
    """What a log holds must not change from version to version."""
    problem = Problem(
        letters("XMY", "XM MY", "XY", hidden=["U"], outcomes="Y"),
        "Y",
        {"X": [1], "M": ["low", "é"]},
        domains={"M": ["low", "é"], "Y": [0, 0.5]},
        costs={do(X=1): 5},
    )
    assert problem_to_json(problem) == (
        '{"costs":{"do(X=1)":5.0},"domains":{"M":["low","é"],"Y":[0,0.5]},"goal":"maximize",'
        '"graph":{"bidirected":[["X","Y"]],"directed":[["X","M"],["M","Y"]],"exposures":[],"hidden":["U"],'
        '"nodes":["X","M","Y"],"outcomes":["Y"]},'
        '"intervene":[["X",[1]],["M",["low","é"]]],"reward":"Y","rewards":[[0,0.0],[0.5,0.5]]}'
    )


def test_equal_problems_give_equal_bytes() -> None:
    one = Problem(letters("XY", "XY"), "Y", domains={"X": (0, 1, 2)}, costs={do(X=1): 2, do(): 3})
    two = Problem(
        letters("", "XY"), "Y", ["X"], domains={"X": (False, 1.0, 2.0)}, costs={do(): 3.0, do(X=1): 2, do(X=0): 1}
    )
    assert one == two
    assert problem_to_json(one) == problem_to_json(two)
    assert problem_to_toml(one) == problem_to_toml(two)


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", "null", "3", '"x"', "{", "[" * 100_000, "9" * 5_000,
        '{"graph": {}}',
        '{"graph": {"nodes": ["X", "Y"]}, "reward": "Y"}',
    ],
    ids=range(11),
)  # fmt: skip
def test_other_json_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        problem_from_json(text)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("key", ["costs", "domains", "goal", "graph", "intervene", "reward", "rewards"])
@pytest.mark.parametrize("value", [None, 3, "x", [], [1], [[1]], {"a": 1}, [["X", None]], [[[1], 1]], {"X": None}])
def test_damaged_json_is_refused_or_read_but_never_a_traceback(key: str, value: object) -> None:
    content = json.loads(problem_to_json(Problem("X -> Y", "Y", costs={do(X=1): 2})))
    content[key] = value
    with suppress(InputError):
        assert isinstance(problem_from_json(json.dumps(content)), Problem)


def test_writing_to_a_place_that_is_none_changes_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be written.*Nothing was changed"):
        write_problem(Problem("X -> Y", "Y"), tmp_path / "no such folder" / "problem.toml")
    assert list(tmp_path.iterdir()) == []


def test_a_cycle_in_a_graph_file_is_a_graph_error(file: Path) -> None:
    (file.parent / "g.txt").write_text("A -> B\nB -> A\n")
    file.write_text('graph_file = "g.txt"\nreward = "A"\n')
    with pytest.raises(GraphError, match=r"A -> B -> A \(lines 1, 2\)"):
        read_problem(file)
