"""``whichdo inspect``: what it prints, how it fails, and that it never shows a traceback."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import whichdo as wd
from tests.cli.calling import Call
from whichdo.cli import main
from whichdo.errors import GraphError

if TYPE_CHECKING:
    from pathlib import Path

PRICE = """Price -> Demand
A -> Sales
Demand -> Sales
Price <-> A
A <-> Demand
Sales -> Stock
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "price.dag").write_text(PRICE, encoding="utf-8")
    (tmp_path / "problem.toml").write_text(
        'graph_file = "price.dag"\nreward = "Sales"\ngoal = "minimize"\nintervene = ["Price", "A", "Stock"]\n',
        encoding="utf-8",
    )
    return tmp_path


@pytest.fixture
def whichdo(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return Call(monkeypatch, capsys)


def flat(text: str) -> str:
    """Text with every run of blanks and line ends as one blank."""
    return " ".join(text.split())


# --------------------------------------------------------------------------------------------------------------- tables


def test_a_problem_as_a_table(whichdo: Call) -> None:
    answer = whichdo("inspect", "problem.toml")
    assert answer.code == 0
    assert answer.err == ""
    lines = answer.out.splitlines()
    assert lines[0] == "problem.toml: 5 nodes, 4 ->, 2 <->"
    assert "Reward: Sales (minimize)" in lines
    assert "Arms: 7, on 3 nodes: 1 equal to do(), 1 by c-component, 1 must be tried" in lines
    text = flat(answer.out)
    assert "Price 0, 1 must be tried the effect of Price cannot be computed by looking" in text
    assert "A 0, 1 by c-component through its c-component {Price, Demand, A}" in text
    assert "equal to do(): Stock does not act on Sales" in text
    assert (
        "! The effect of Price cannot be computed by looking: Price <-> A <-> Demand and Price -> Demand. "
        "Its arms will be tried instead."
    ) in text
    assert "! Stock does not act on Sales: these arms equal do(). They stay listed and share do()'s evidence." in text


def test_a_bare_graph_is_judged_by_assumption_3(whichdo: Call) -> None:
    text = flat(whichdo("inspect", "price.dag").out)
    assert "Reward: not given (--reward NAME judges the arms; below is Assumption 3 for each node)" in text
    assert "Price no Price <-> A <-> Demand and Price -> Demand" in text
    assert "Demand yes no hidden path to a child" in text


def test_the_headline_names_the_format_of_a_bare_graph(whichdo: Call, folder: Path) -> None:
    (folder / "d.dag").write_text("dag { X -> Y }")
    (folder / "g.gv").write_text("digraph { X -> Y }")
    assert whichdo("inspect", "d.dag").out.startswith("d.dag: dagitty, 2 nodes, 1 ->, 0 <->\n")
    assert whichdo("inspect", "g.gv").out.startswith("g.gv: dot, 2 nodes")
    assert whichdo("inspect", "price.dag").out.startswith("price.dag: text, 5 nodes")
    assert json.loads(whichdo("inspect", "d.dag", "-f", "json").out)["format"] == "dagitty"


def test_the_roles_that_a_file_marks_are_named(whichdo: Call, folder: Path) -> None:
    (folder / "g.txt").write_text("X [exposure]; Y [outcome]; Z [outcome]; X -> Y -> Z")
    text = whichdo("inspect", "g.txt").out
    assert "Marked: exposure X; outcomes Y and Z\n" in text
    assert "Reward: not given (the file marks two outcomes: Y and Z; choose with --reward; below is" in flat(text)
    (folder / "g.txt").write_text("X [exposure]; Y [outcome]; X -> Y")
    text = whichdo("inspect", "g.txt").out
    assert "Marked: exposure X; outcome Y\n" in text
    assert "Reward: Y (maximize)\n" in text
    assert "Marked" not in whichdo("inspect", "price.dag").out


def test_a_node_without_arms_is_not_said_to_be_settled(whichdo: Call) -> None:
    text = flat(whichdo("inspect", "problem.toml", "--node", "Sales", "--node", "Demand").out)
    assert "Sales is the reward what the arms are to improve" in text
    assert "Demand cannot be set the problem does not list it" in text
    verdicts = json.loads(whichdo("inspect", "problem.toml", "--node", "Sales", "-f", "json").out)["verdicts"]
    assert verdicts == [
        {
            "node": "Sales", "arms": [], "route": None, "identified": None,
            "reason": "is the reward: what the arms are to improve",
        }
    ]  # fmt: skip


def test_a_reward_that_does_not_fit_a_graph_of_one_node_is_an_error(whichdo: Call, folder: Path) -> None:
    (folder / "one.txt").write_text("X")
    assert whichdo("inspect", "one.txt").code == 0
    answer = whichdo("inspect", "one.txt", "--reward", "Nope")
    assert (answer.code, answer.err) == (3, 'ProblemError: The reward "Nope" is not in the graph.\n')
    assert "nothing to intervene on" in whichdo("inspect", "one.txt", "--reward", "X").err


def test_a_problem_is_known_by_its_suffix_in_capitals_or_packed(whichdo: Call, folder: Path) -> None:
    content = (folder / "problem.toml").read_bytes()
    (folder / "P.TOML").write_bytes(content)
    (folder / "t.toml.gz").write_bytes(gzip.compress(content))
    for name in ("P.TOML", "t.toml.gz"):
        assert "Reward: Sales (minimize)" in whichdo("inspect", name).out


def test_a_file_name_cannot_command_the_terminal(whichdo: Call, folder: Path) -> None:
    (folder / "a\x1b[31m.txt").write_text("X -> Y")
    answer = whichdo("inspect", "a\x1b[31m.txt", "--svg", "b\x1b[31m.svg")
    assert answer.code == 0
    assert answer.out.startswith(r"a\x1b[31m.txt: text, 2 nodes")
    assert r"Drawn into b\x1b[31m.svg." in answer.out
    answers = [answer, whichdo("inspect", "none\x1b[31m.txt"), whichdo("inspect", "a\x1b[31m.txt", "--reward", "Q\x1b")]
    assert not any("\x1b" in each.out + each.err for each in answers)


def test_a_reward_can_be_named(whichdo: Call) -> None:
    text = flat(whichdo("inspect", "price.dag", "--reward", "Demand").out)
    assert "Reward: Demand (maximize)" in text
    assert "Arms: 9, on 4 nodes" in text


def test_the_reward_may_be_repeated_but_not_contradicted(whichdo: Call) -> None:
    assert whichdo("inspect", "problem.toml", "--reward", "Sales").code == 0
    answer = whichdo("inspect", "problem.toml", "--reward", "Demand")
    assert answer.code == 3
    assert answer.err == "ProblemError: problem.toml names Sales as its reward; --reward Demand disagrees.\n"


def test_chosen_nodes_only(whichdo: Call) -> None:
    answer = whichdo("inspect", "problem.toml", "--node", "A", "--node", "Stock", "-f", "json")
    assert [verdict["node"] for verdict in json.loads(answer.out)["verdicts"]] == ["A", "Stock"]
    text = flat(whichdo("inspect", "problem.toml", "--node", "Stock").out)
    assert "Stock 0, 1 equal to do()" in text
    assert "Price 0, 1" not in text


def test_an_unknown_node_is_named_with_the_nearest(whichdo: Call) -> None:
    answer = whichdo("inspect", "problem.toml", "--node", "Prise")
    assert answer.code == 3
    assert answer.out == ""
    assert answer.err == 'GraphError: The graph has no node "Prise". Did you mean "Price"?\n'


def test_names_are_text_and_never_markup(whichdo: Call, folder: Path) -> None:
    (folder / "g.txt").write_text('"[red]X[/red]" -> ":smile: Y"\n', encoding="utf-8")
    text = whichdo("inspect", "g.txt", "--reward", ":smile: Y").out
    assert "[red]X[/red]" in text
    assert ":smile: Y" in text


def test_hidden_nodes_and_what_was_done_to_them(whichdo: Call, folder: Path) -> None:
    (folder / "g.txt").write_text("H [latent]; U [latent]\nA -> H -> B; U -> {A B C}\n", encoding="utf-8")
    text = whichdo("inspect", "g.txt").out
    assert "Hidden: H and U" in text
    assert "! Hidden node H has causes of its own: it was projected out." in text
    assert "! Hidden node U has 3 children: it was projected out." in text


def test_long_lists_are_cut_with_the_number_left_out(whichdo: Call, folder: Path) -> None:
    (folder / "g.txt").write_text(" -> ".join(f"N{i}" for i in range(120)), encoding="utf-8")
    text = whichdo("inspect", "g.txt").out
    assert "... and 70 more nodes (--node NAME shows one, -f json all)." in text
    assert len(json.loads(whichdo("inspect", "g.txt", "-f", "json").out)["verdicts"]) == 120


# ----------------------------------------------------------------------------------------------------------------- JSON


def test_a_problem_as_json(whichdo: Call) -> None:
    answer = whichdo("inspect", "problem.toml", "-f", "json")
    found = json.loads(answer.out)
    assert (answer.code, answer.err) == (0, "")
    assert found["source"] == "problem.toml"
    assert set(found["nodes"]) == {"Price", "Demand", "A", "Sales", "Stock"}
    assert ["Price", "Demand"] in found["directed"]
    assert found["bidirected"] == [["A", "Demand"], ["A", "Price"]]
    assert (found["reward"], found["goal"]) == ("Sales", "minimize")
    assert [arm["text"] for arm in found["arms"]] == [
        "do()", "do(Price=0)", "do(Price=1)", "do(A=0)", "do(A=1)", "do(Stock=0)", "do(Stock=1)",
    ]  # fmt: skip
    assert found["verdicts"][0] == {
        "node": "Price",
        "arms": [wd.do(Price=0).to_dict(), wd.do(Price=1).to_dict()],
        "route": "try",
        "identified": False,
        "rescued": False,
        "given": ["Demand", "A"],
        "path": ["Price", "A", "Demand"],
        "reason": "the effect of Price cannot be computed by looking: Price <-> A <-> Demand and Price -> Demand",
    }
    assert [verdict["route"] for verdict in found["verdicts"]] == ["try", "component", "same"]
    assert len(found["warnings"]) == 2
    assert found["reasons_left_out"] is False


def test_a_bare_graph_as_json(whichdo: Call) -> None:
    found = json.loads(whichdo("inspect", "price.dag", "--format", "json").out)
    assert found["reward"] is found["arms"] is found["goal"] is None
    by_node = {verdict["node"]: verdict for verdict in found["verdicts"]}
    assert by_node["Price"] == {
        "node": "Price", "arms": [], "assumption_3": False, "path": ["Price", "A", "Demand"],
    }  # fmt: skip
    assert by_node["A"] == {"node": "A", "arms": [], "assumption_3": True, "path": None}


@pytest.mark.slow("0.4 s: 20,000 edges; finds a document that is indented however long it is")
def test_a_long_document_is_written_at_once(whichdo: Call, folder: Path) -> None:
    """Indented for people while short; 20,000 edges stand on one line."""
    assert whichdo("inspect", "price.dag", "-f", "json").out.startswith('{\n  "source": "price.dag",\n')
    (folder / "wide.txt").write_text("\n".join(f"N{i} -> N{i + j}" for i in range(2_000) for j in range(1, 11)))
    answer = whichdo("inspect", "wide.txt", "-f", "json")
    assert answer.out.count("\n") == 1
    assert len(json.loads(answer.out)["directed"]) == 20_000


# ------------------------------------------------------------------------------------------------------------------ SVG


def test_the_graph_is_drawn_into_a_file(whichdo: Call, folder: Path) -> None:
    answer = whichdo("inspect", "problem.toml", "--svg", "out.svg")
    assert answer.code == 0
    assert "Drawn into out.svg." in answer.out
    drawing = (folder / "out.svg").read_text(encoding="utf-8")
    assert drawing.startswith(("<svg", "<?xml"))
    assert all(name in drawing for name in ("Price", "Demand", "Sales", "Stock"))


def test_json_stays_json_when_a_drawing_is_made(whichdo: Call, folder: Path) -> None:
    assert json.loads(whichdo("inspect", "price.dag", "--svg", "out.svg", "-f", "json").out)
    assert (folder / "out.svg").exists()


def test_a_graph_too_large_to_draw_is_shown_and_its_parts_can_be_drawn(whichdo: Call, folder: Path) -> None:
    (folder / "long.txt").write_text(" -> ".join(f"N{i}" for i in range(301)))
    answer = whichdo("inspect", "long.txt", "--svg", "out.svg")
    assert answer.code == 3
    assert answer.out.startswith("long.txt: text, 301 nodes")
    assert "Drawn" not in answer.out
    assert answer.err.startswith("TooLargeError: The graph has 301 nodes")
    assert answer.err.endswith("On the command line, --node NAME draws the part around a node.\n")
    assert whichdo("inspect", "long.txt", "--svg", "out.svg", "--node", "N7", "--reward", "N300").code == 0
    drawing = (folder / "out.svg").read_text(encoding="utf-8")
    assert set(re.findall(r'data-name="(\w+)"', drawing)) == {"N6", "N7", "N8"}


def test_a_drawing_never_replaces_the_file_that_is_inspected(whichdo: Call, folder: Path) -> None:
    (folder / "link.svg").symlink_to(folder / "price.dag")
    for name in ("price.dag", "./price.dag", "link.svg"):
        answer = whichdo("inspect", "price.dag", "--svg", name)
        assert (answer.code, answer.out) == (2, "")
        assert "would overwrite the file that is inspected. Name another file." in answer.err
    assert (folder / "price.dag").read_text(encoding="utf-8") == PRICE


def test_a_drawing_that_cannot_be_written_is_an_error(whichdo: Call) -> None:
    answer = whichdo("inspect", "price.dag", "--svg", "no/such/folder.svg")
    assert answer.code == 3
    assert "cannot be written" in answer.err


# --------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.dag", "", 'GraphSyntaxError: empty.dag is empty: expected a graph such as "X -> Y".'),
        ("blank.dag", " \n# nothing\n", 'GraphSyntaxError: blank.dag is empty: expected a graph such as "X -> Y".'),
        (
            "cycle.dag",
            "A -> B\nPrice -> Demand\n\nDemand -> Price\n",
            "The graph has a cycle: Price -> Demand -> Price (lines 2, 4). Remove one of these edges.",
        ),
        ("loop.dag", "A -> B\nX -> X\n", "loop.dag, line 2, column 1"),
        ("bad.toml", "graph = \n", "ProblemError: bad.toml is no TOML: "),
        ("bad.toml", 'graph = "X -> Y"\nreward = "y"\n', 'ProblemError: bad.toml: The reward "y" is not in the graph.'),
        ("deep.json", "[" * 100_000, "GraphSyntaxError: deep.json"),
    ],
)
def test_bad_input_is_told_in_words_with_exit_code_3(
    whichdo: Call, folder: Path, name: str, content: str, message: str
) -> None:
    (folder / name).write_text(content, encoding="utf-8")
    answer = whichdo("inspect", name)
    assert answer.code == 3
    assert answer.out == ""
    assert message in answer.err


@pytest.mark.parametrize("reward", ["Sale", "Price; rm", "\x1b[31mred"])
def test_an_unknown_reward_is_told_without_control_characters(whichdo: Call, reward: str) -> None:
    answer = whichdo("inspect", "price.dag", "--reward", reward)
    assert answer.code == 3
    assert answer.err.startswith('ProblemError: The reward "')
    assert answer.err.rstrip("\n").isprintable()


def test_a_file_that_is_not_there(whichdo: Call) -> None:
    answer = whichdo("inspect", "none.dag")
    assert answer.code == 3
    assert "There is no file" in answer.err
    assert "none.dag" in answer.err
    assert whichdo("inspect", "none.toml").code == 3
    assert whichdo("inspect", ".").code == 3


@pytest.mark.parametrize(
    "words",
    [
        ["inspect"],
        ["inspect", "price.dag", "-f", "xml"],
        ["inspect", "price.dag", "--nodes", "A"],
        ["inspct"],
        ["--what"],
    ],
)
def test_wrong_usage_ends_with_exit_code_2(whichdo: Call, words: list[str]) -> None:
    answer = whichdo(*words)
    assert answer.code == 2
    assert answer.err


def test_version_and_help(whichdo: Call) -> None:
    import whichdo as package

    assert whichdo("--version").out == f"whichdo {package.__version__}\n"
    assert "inspect" in whichdo("--help").out
    for flag in ("-h", "--help"):
        text = whichdo("inspect", flag).out
        assert all(option in text for option in ("--reward", "--node", "--svg", "--format"))


def test_debug_shows_the_error_itself(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["whichdo", "--debug", "inspect", "price.dag", "--node", "Q"])
    with pytest.raises(GraphError, match='no node "Q"'):
        main()
    monkeypatch.setattr(sys, "argv", ["whichdo", "inspect", "price.dag", "--node", "Q"])
    with pytest.raises(SystemExit):
        main()


# ------------------------------------------------------------------------------------------------------ as a process


def run(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", "from whichdo.cli import main; main()", *words],
        cwd=folder, env={**os.environ, **environment}, capture_output=True, check=False, timeout=60,
    )  # fmt: skip


def test_the_process_ends_with_the_code_and_no_traceback(folder: Path) -> None:
    (folder / "cycle.dag").write_text("A -> B; B -> A")
    ended = run(folder, "inspect", "cycle.dag")
    assert ended.returncode == 3
    assert ended.stdout == b""
    assert ended.stderr.startswith(b"GraphError: ")
    assert b"Traceback" not in ended.stderr
    ended = run(folder, "--debug", "inspect", "cycle.dag")
    assert ended.returncode == 1
    assert b"Traceback" in ended.stderr


@pytest.mark.slow("2 s: starts the command four times, with another encoding")
@pytest.mark.parametrize("words", [("inspect", "accents.txt"), ("inspect", "accents.txt", "-f", "json")])
def test_a_terminal_that_knows_only_ascii_gets_no_traceback(folder: Path, words: tuple[str, ...]) -> None:
    (folder / "accents.txt").write_text("Größe -> 温度", encoding="utf-8")
    ended = run(folder, *words, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert b"Traceback" not in ended.stderr
    assert ended.returncode == 0
    assert ended.stdout.isascii()
    if "json" in words:
        assert json.loads(ended.stdout)["nodes"] == ["Größe", "温度"]
    ended = run(folder, "inspect", "accents.txt", "--node", "Groß", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert b"Traceback" not in ended.stderr
    assert ended.returncode == 3


def test_a_reader_that_goes_away_gets_no_traceback(folder: Path) -> None:
    (folder / "long.txt").write_text("\n".join(f"N{i} -> N{i + 1}" for i in range(5_000)))
    process = subprocess.Popen(
        [sys.executable, "-c", "from whichdo.cli import main; main()", "inspect", "long.txt", "-f", "json"],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 0
    assert errors == b""


@pytest.mark.slow("1 s: starts the command twice, with a closed pipe")
@pytest.mark.parametrize("words", [("inspect", "price.dag"), ("--help",)])
def test_a_reader_that_was_never_there_is_no_failure(folder: Path, words: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as output:
        ended = subprocess.run(
            [sys.executable, "-c", "from whichdo.cli import main; main()", *words],
            cwd=folder, stdout=output, stderr=subprocess.PIPE, check=False, timeout=60,
        )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.slow("2 s: starts the command three times, on a full disk")
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a disk that is always full")  # noqa: PTH110
@pytest.mark.parametrize("words", [("inspect", "price.dag"), ("inspect", "price.dag", "-f", "json"), ("--help",)])
def test_output_that_cannot_be_written_ends_with_exit_code_5(folder: Path, words: tuple[str, ...]) -> None:
    with open("/dev/full", "wb") as output:  # noqa: PTH123
        ended = subprocess.run(
            [sys.executable, "-c", "from whichdo.cli import main; main()", *words],
            cwd=folder, stdout=output, stderr=subprocess.PIPE, check=False, timeout=60,
        )  # fmt: skip
    assert ended.returncode == 5
    assert ended.stderr == b"The output cannot be read or written: No space left on device.\n"


def test_output_that_is_closed_is_no_failure(folder: Path) -> None:
    code = "import os; os.close(1); import sys; sys.stdout = None; from whichdo.cli import main; main()"
    ended = subprocess.run(
        [sys.executable, "-c", code, "inspect", "price.dag"], cwd=folder, capture_output=True, check=False, timeout=60
    )
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_an_interrupt_ends_with_exit_code_130(whichdo: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("whichdo.report.inspection.inspect_file", interrupted)
    answer = whichdo("inspect", "price.dag")
    assert (answer.code, answer.out, answer.err) == (130, "", "")


@pytest.mark.slow(
    "4 s: the largest graphs there may be, in both forms; finds steps that take the square of their number"
)
@pytest.mark.parametrize("link", ["->", "<->"])
@pytest.mark.parametrize("form", ["table", "json"])
def test_a_graph_of_ten_thousand_nodes_is_inspected(whichdo: Call, folder: Path, link: str, form: str) -> None:
    lines = [f"N{i} {link} N{i + 1}" for i in range(9_998)] + ["N9998 -> Y", "N0 -> Y"]
    (folder / "large.txt").write_text("\n".join(lines))
    answer = whichdo("inspect", "large.txt", "--reward", "Y", "-f", form)
    assert answer.code == 0


PRUNED = 'graph = "Z -> X -> Y; X <-> Y; X -> Q; W -> Y"\nreward = "Y"\nat_once = 2\nprune = true\n'


def test_what_was_pruned_is_listed_by_which_and_why(whichdo: Call, folder: Path) -> None:
    (folder / "pruned.toml").write_text(PRUNED, encoding="utf-8")
    shown = whichdo("inspect", "pruned.toml", "--svg", "pruned.svg").out
    assert "Pruned: 9 of 17 arms can never be the only best; do() among them stays a look" in shown
    flat = " ".join(shown.split())
    assert "pruned at least as good why" in flat
    assert "do(Z=0) the best of do(W=0, Z=0) and" in flat
    drawn = (folder / "pruned.svg").read_text(encoding="utf-8")
    assert "pruned: setting it is never better than other arms" in drawn
    found = json.loads(whichdo("inspect", "pruned.toml", "-f", "json").out)
    assert len(found["arms"]) == 9
    entries = {entry["arm"]["text"]: entry for entry in found["pruned"]}
    assert set(entries) == {
        "do()", *(f"do({name}={value})" for name in "XZQW" for value in (0, 1)),
    }  # fmt: skip
    assert entries["do(Z=1)"]["among"] == [wd.do(W=0, Z=1).to_dict(), wd.do(W=1, Z=1).to_dict()]
    assert entries["do(Z=1)"]["by"] == wd.do(W=0, Z=1).to_dict()
    assert entries["do(Z=1)"]["reason"].startswith("Once Z is set, nothing ties W to Y but what it does")
    assert entries["do(Q=1)"]["reason"].startswith("The same as do(): Q does not act on Y")


def test_a_chosen_node_is_shown_with_the_pruned_arms_that_set_it(whichdo: Call, folder: Path) -> None:
    (folder / "pruned.toml").write_text(PRUNED, encoding="utf-8")
    flat = " ".join(whichdo("inspect", "pruned.toml", "--node", "Q").out.split())
    assert "Q pruned setting it is never better than other arms" in flat
    assert "do(Q=0)" in flat
    assert "do(Z=0) the best of" not in flat


def test_nothing_to_prune_is_said(whichdo: Call, folder: Path) -> None:
    (folder / "bow.toml").write_text('graph = "X -> Y; X <-> Y"\nreward = "Y"\nprune = true\n', encoding="utf-8")
    assert "Pruned: none, any arm can be the best" in whichdo("inspect", "bow.toml").out


def test_a_graph_that_only_complete_identification_settles_is_drawn(whichdo: Call, folder: Path) -> None:
    (folder / "napkin.dag").write_text("W -> R -> X -> Y; W <-> X; W <-> Y", encoding="utf-8")
    whichdo("inspect", "napkin.dag", "--reward", "Y", "--svg", "napkin.svg")
    assert "settled by complete identification" in (folder / "napkin.svg").read_text(encoding="utf-8")
