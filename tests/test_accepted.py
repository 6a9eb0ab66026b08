"""Every public callable accepts what its docstring says: each parameter, each value that is named, each kind of data.

All docstring examples, the script of `tests/typed` and the calls below are run, and every public callable notes what it
was given and did not refuse.  A parameter that nothing gives, or a value in quotes in its description that is never
passed, fails.
"""

from __future__ import annotations

import doctest
import functools
import inspect
import re
import runpy
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import whichdo as wd
from tests.test_documented import BUILT_BY_US, FUNCTIONS, METHODS, PLAIN, entries, sections
from whichdo.policies.registry import registered
from whichdo.policy_names import available_policies

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SCRIPT = Path(__file__).parent / "typed" / "script.py"
OTHERS = {"Policy", "Campaign"}
"""A base class, and one that is made by its methods: nobody calls their constructors."""
ELSEWHERE = {"Policy.check", "Policy.play", "Policy.play_by_round", "Policy.numbers_read"}
"""What a policy's author writes; `tests/policies/test_conformance.py` calls it for every policy."""
BY_US = {("Batch.at", "course"), ("ArmRank.with_answer", "answer")}
"""Given by the package itself, with things that only it makes."""
CALLED = {
    name: thing
    for name, thing in {**FUNCTIONS, **METHODS, **PLAIN}.items()
    if name not in BUILT_BY_US | OTHERS | ELSEWHERE
}
Given = dict[str, dict[str, list[Any]]]
"""For each callable the values that each parameter was given by calls that returned."""


def described(thing: Any) -> dict[str, str]:
    return entries(sections(thing.__doc__ or "").get("Parameters", []))


def named_values(text: str) -> set[str]:
    """The strings that a description offers in quotes, but for those within code and the name of a missing value."""
    parts = text.split("``")
    code = [after for before, after in zip(parts[::2], parts[1::2], strict=False) if not before.endswith("such as ")]
    words = re.findall(r'(?<!called )"([\w-]+)"', " ".join(parts[::2]))
    return {*words, *(each[1:-1] for each in code if re.fullmatch(r'"[\w-]+"', each))} - {"missing"}


def place_of(name: str, thing: Any) -> tuple[Any, str]:
    """Where a call finds a callable: in the package, in its class, or, for a class, in what makes its objects."""
    if not inspect.isclass(thing):
        owner, _, key = name.rpartition(".")
        return (PLAIN[owner] if owner else wd), key
    written = [key for key in ("__init__", "__new__") if inspect.isfunction(getattr(thing, key))]
    return thing, written[0]


def recorder(called: Any, given: dict[str, list[Any]]) -> Any:
    """The same callable, which notes what it was given if it did not refuse it."""
    signature = inspect.signature(called)

    @functools.wraps(called)
    def noting(*args: Any, **kwargs: Any) -> Any:
        result = called(*args, **kwargs)
        for key, value in signature.bind(*args, **kwargs).arguments.items():
            given[key].append(value)
        return result

    return noting


def record(things: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch) -> Given:
    """Note from now on what callables are given."""
    given: Given = {name: defaultdict(list) for name in things}
    for name, thing in things.items():
        owner, key = place_of(name, thing)
        found = inspect.getattr_static(owner, key)
        wrap = type(found) if isinstance(found, (classmethod, staticmethod)) else lambda function: function
        monkeypatch.setattr(owner, key, wrap(recorder(getattr(found, "__func__", found), given[name])))
    return given


def within(value: Any) -> Iterator[Any]:
    """A value, and what it contains."""
    yield value
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, (list, tuple)):
        yield from value


# ------------------------------------------------------------------------------------------- calls beside the examples

GRAPH = wd.CausalGraph.parse("Z -> X; Z -> Y; X -> Y")
PROBLEM = wd.Problem(GRAPH, "Y", ["X", "Z"])
NETWORK = wd.CausalNetwork(
    {"Z": wd.bernoulli([], 0.4), "X": wd.bernoulli(["Z"], [0.3, 0.6]),
     "Y": wd.bernoulli(["Z", "X"], [[0.2, 0.5], [0.4, 0.7]])}
)  # fmt: skip


def graphs_and_problems(folder: Path) -> None:
    wd.bins([18, 65], missing=True)
    wd.bins([18, 65, "missing"])
    wd.Bins((18, 65), missing=True)
    for kind in ("adjustment", "component", "general", "same", "try", "pruned", "choice", "plain"):
        wd.draw_svg(GRAPH, marks={"X": kind}, title="A graph", adapts=False)
    for kind in ("rests", "vouched", "idle"):
        wd.draw_svg(GRAPH, edges={("X", "Y", False): kind}, missing=[("X", "Y", True)])
    wd.minimal_sets(GRAPH, "Y", fixed=["Z"])
    wd.possibly_optimal(GRAPH, "Y", at_once=1)
    for suffix in (".txt", ".dag", ".dagitty", ".dot", ".gv", ".gml", ".json", ".bif", ".dot.gz"):
        wd.write_graph(GRAPH, folder / f"graph{suffix}")
        assert wd.read_graph(folder / f"graph{suffix}") == GRAPH
    wd.write_graph(GRAPH, folder / "graph", format="dot")
    wd.CausalGraph(["U", "X", "Y"], [("U", "X"), ("U", "Y")], hidden=["U"], exposures=["X"], outcomes=["Y"])
    GRAPH.with_values({"X": ("low", "high")})
    wd.Problem(
        GRAPH, "Y", {"X": [1]}, at_once=None, goal="minimize", reward_range=(0, 60_000), domains={"Z": ["a", "b"]}
    )
    problem = wd.Problem("Z -> X -> Y", labels={"Y": "weight (kg)"}, reward="Y", at_once=2, goal="maximize")
    problem.arm("do(X=1)")
    problem.arm_label(wd.do(X=1))
    problem.in_unit("estimate")
    problem.find_arm("do(X=1)")
    problem.but(arms=[wd.do(X=1)], prune=True)
    problem.but(domains={"X": [0, 1, 2]})


def networks(folder: Path) -> None:
    wd.bernoulli(["Z"], [0.2, 0.7], parents=["Z", "X"])
    wd.CausalNetwork({"X": wd.bernoulli([], 0.5)}, domains={"X": ["no", "yes"]})
    NETWORK.rarity(PROBLEM)
    NETWORK.hardness(PROBLEM)
    NETWORK.law(["X", "Y"], do={"Z": 1})
    NETWORK.parent_laws(PROBLEM)
    NETWORK.sample(5, do={"X": 1}, codes=True)
    NETWORK.write_bif(folder / "network.bif")
    wd.CausalNetwork.read_bif(folder / "network.bif", hidden=["Z"])
    wd.World(NETWORK, PROBLEM, seed=7, marks=np.array([4])).next_rows(position=1, count=4)
    for detail in (wd.TABLES, wd.ROWS):
        wd.observe(9, detail=detail, scopes=[("X", "Y")])
        wd.pull(wd.do(X=1), 9, detail=detail, scopes=[("X", "Y")])
        wd.spread(9, PROBLEM.arms, detail=detail)
        wd.Batch.at(PROBLEM, np.array([0, 1]), np.array([3, 4]), detail=detail, scopes=(("X", "Y"),))
    wd.Batch([wd.do()], [9], wd.TABLES, scopes=[("X", "Y")])
    wd.Recommendation(wd.do(X=1), np.array([0.5, 0.5, 0.6, 0.5, 0.5]), notes=("A remark.",))


def data(folder: Path) -> None:
    """Each kind of data that `rank` and `count` name, and each of their options."""
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    ibis, csv = pytest.importorskip("ibis"), pytest.importorskip("pyarrow.csv")
    columns = {name: column.tolist() for name, column in NETWORK.sample(400, seed=1).items()}
    table = pyarrow.table(columns)
    csv.write_csv(table, folder / "rows.csv")
    tally = wd.count(PROBLEM, columns, scopes=[("X", "Y", "Z")], progress=lambda done, whole: None)
    kinds = [columns, pandas.DataFrame(columns), polars.DataFrame(columns), table, table.to_batches(),
             table.to_reader(), folder / "rows.csv", str(folder / "*.csv"), [folder / "rows.csv"],
             ibis.memtable(table), wd.count(PROBLEM, columns)]  # fmt: skip
    means = [wd.rank(PROBLEM, kind)[wd.do(X=1)].estimate for kind in kinds]
    assert means == pytest.approx([means[0]] * len(kinds))
    assert wd.count(PROBLEM, tally) is tally
    more = {**columns, "how often": [2] * 400, "weight": [0.5] * 400, "done": ["do()", ""] * 200}
    lacking = {**columns, "Z": [None, *columns["Z"][1:]]}
    for missing in ("error", "drop", "level"):
        wd.count(PROBLEM, more, counts="how often", arm="done", missing=missing)
        wd.rank(PROBLEM, more, counts="how often", arm="done", missing=missing)
        wd.what_if(PROBLEM, more, counts="how often", missing=missing)
    for missing in ("error", "drop"):
        wd.check(PROBLEM, more, counts="how often", arm="done", missing=missing, progress=lambda done, whole: None)
    wd.rank(PROBLEM, lacking, missing="drop")
    wd.rank(PROBLEM.but(domains={"Z": [0, 1, "missing"]}), lacking, missing="level")
    for reading in ("robust", "graph", "paper"):
        wd.rank(PROBLEM, columns, reading=reading)
    found = wd.rank(PROBLEM, more, weights="weight", confidence=0.9, shrinkage=0.0, progress=lambda done, whole: None)
    wd.rank(PROBLEM, columns, reading="paper", threshold=2.0, sampled=100)
    for reading in ("robust", "graph"):
        changed = wd.what_if(PROBLEM, columns, among=["X", "Z"], reading=reading, progress=lambda done, whole: None)
    wd.what_if(PROBLEM, more, weights="weight", shrinkage=0.0)
    tables: list[Any] = [found, wd.check(PROBLEM, columns), changed, played()]
    for backend in ("pandas", "polars", "pyarrow"):
        for each in tables:
            each.to_frame(backend, labels=True)
    found.get(wd.do(X=7), "nothing")
    changed.written(0.5)
    changed.write_svg(folder / "edges.svg", force=True)
    words = {"age": range(20, 60), "paid": ["no", "yes"] * 20}
    for goal in ("maximize", "minimize"):
        wd.propose(words, "age -> paid", "paid", intervene=["age"], goal=goal, good=["yes"], labels={"paid": "paid?"})


def played() -> wd.Comparison:
    wd.simulate("srm", NETWORK, PROBLEM, budget=60.5, runs=2, seed=3, workers=2, progress=lambda done, whole: None)
    wd.simulate("causal-ts(doubt=0.1)", NETWORK, PROBLEM, horizon=60, runs=2, rounds=[10, 60])
    wd.compare(["srm", "srm(second_phase=rejects)"], NETWORK, PROBLEM, budgets=60.5, runs=2)
    return wd.compare("ue", NETWORK, PROBLEM, horizons=60, runs=2, seed=3, workers=2, progress=lambda done, whole: None)


def campaigns(folder: Path) -> None:
    logs = {name: column.tolist() for name, column in NETWORK.sample(200, seed=1).items()}
    receipts = folder / "receipts.jsonl"

    def now() -> datetime:
        return datetime(2026, 3, 1, 12, tzinfo=UTC)

    database = f"sqlite:///{folder / 'accepted.db'}"
    campaign = wd.Campaign.create(
        database, "accepted", "ue", PROBLEM, budget=60.5, seed=3, logs=logs, missing="drop",
        lease=timedelta(days=7), grace=3600.0, window=60.0, stop_when_sure=True, margin=0.01, audit=False, clock=now,
        patience=20.0, receipts=receipts,
    )  # fmt: skip
    first, second, third = campaign.ask(3, client="lab", key="k1", process="7")
    row = {"Z": 0, "X": 0, "Y": 1}
    told = campaign.tell(first, {**row, **first.arm.settings}, arm=str(first.arm), key="k2", client="lab")
    campaign.tell(second.id, {**row, **second.arm.settings}, arm=second.arm)
    campaign.void(third.id, reason="lost", key="k3")
    campaign.amend(first, {**row, **first.arm.settings, "Y": 0}, reason="misread", key="k4")
    for missing in ("error", "drop", "level"):
        more = {**logs, "how often": [2] * 200}
        campaign.observe(more, name=f"spring {missing}", counts="how often", missing=missing, restart=True)
    wd.rank(PROBLEM, logs)
    (folder / "grows.csv").write_text("Z,X,Y\n0,1,1\n")
    campaign.observe(folder / "grows.csv")
    (folder / "grows.csv").write_text("Z,X,Y\n0,1,1\n1,1,0\n")
    campaign.observe(folder / "grows.csv", append=True)
    campaign.pause(reason="holiday", key="k5")
    campaign.resume(reason="back", key="k6")
    campaign.forbid(["do(X=1)", wd.do(Z=1)], reason="unsafe", key="k7")
    campaign.allow("do(X=1)", reason="safe again", key="k8")
    campaign.restart(reason="new rules", key="k9")
    campaign.status(settle=False)
    campaign.recommend(confidence=0.9, at=5)
    wd.write_report(campaign, folder / "report.html", force=True)
    campaign.verify(told, receipts=receipts)
    campaign.verify(str(told))
    campaign.export(folder / "export.jsonl", force=True)
    campaign.backup(folder / "backup.db")
    wd.Campaign.import_(folder / "other.db", folder / "export.jsonl", clock=now, patience=20.0).close()
    wd.Campaign.open(database, "accepted", clock=now, patience=20.0, receipts=receipts).close()
    wd.Campaign.list(database, patience=20.0)
    wd.Receipt.of(str(told), repeated=True, notes=("A remark.",))
    campaign.close()
    session = wd.Session("srm", PROBLEM, budget=60.0, seed=3, seen=wd.count(PROBLEM, logs))
    session.ask(3)


def models(_: Path) -> None:
    pytest.importorskip("sklearn")
    rows = {name: column.tolist() for name, column in NETWORK.sample(600, seed=1).items()}
    wd.rank(PROBLEM, rows, model="logistic").model_rows(3)


@pytest.mark.slow("7 s: all examples once more and every option; finds a documented value that is refused")
def test_every_parameter_and_every_value_that_a_docstring_names_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = set(available_policies())
    given = record(CALLED, monkeypatch)
    for name, thing in CALLED.items():
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.chdir(folder)
        example = doctest.DocTestParser().get_doctest(inspect.getdoc(thing) or "", {}, name, None, 0)
        doctest.DocTestRunner(verbose=False).run(example)
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(SCRIPT))
    for calls in (graphs_and_problems, networks, data, campaigns, models):
        calls(tmp_path)
    for name in set(registered) - before:  # what examples and the script added
        del registered[name]
    wanted = {(name, key) for name, thing in CALLED.items() for key in described(thing)} - BY_US
    assert wanted - {(name, key) for name, keys in given.items() for key in keys} == set()
    named = {(name, key, each) for name, key in wanted for each in named_values(described(CALLED[name])[key])}
    passed = {(name, key, each) for name, keys in given.items() for key, values in keys.items() for value in values
              for each in within(value) if isinstance(each, str)}  # fmt: skip
    assert len(named) > 40
    assert named - passed == set()


def test_a_parameter_that_is_never_given_is_found() -> None:
    def double(number: int, kind: str = "plain") -> int:
        if kind == "wrong":
            raise ValueError(kind)
        return 2 * number

    given: dict[str, list[Any]] = defaultdict(list)
    noting = recorder(double, given)
    noting(3)
    with pytest.raises(ValueError, match="wrong"):
        noting(number=4, kind="wrong")
    assert given == {"number": [3]}
    assert named_values('"error" to refuse, or "drop"; a value called "other"') == {"error", "drop"}
    assert named_values('``"level"`` or ``{"X": ["low"]}``') == {"level"}
