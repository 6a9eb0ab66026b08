"""Policies of other people: from a file, from an installed package, and campaigns that outlive them."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import venv
from importlib import import_module
from pathlib import Path
from shutil import copy
from typing import TYPE_CHECKING

import pytest

import whichdo as wd
from whichdo.policies.registry import registered
from whichdo.policy_names import VARIABLE, load_policy, policy_text, read_policy
from whichdo.report.campaign_page import write_report
from whichdo.world.instances import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(__file__).parents[1] / "third_party"
PROBLEM = wd.Problem("X -> Y", "Y")


@pytest.fixture
def policy_file(tmp_path: Path) -> Iterator[str]:
    """The policy of the package as a file, forgotten after the test."""
    known = dict(wd.available_policies())
    copy(PACKAGE / "first_arm.py", tmp_path / "mine.py")
    yield f"{tmp_path / 'mine.py'}:FirstArm"
    registered.clear()
    registered.update(known)


def test_a_policy_in_a_file_is_named_by_path_and_class(policy_file: str) -> None:
    made = wd.policy(policy_file, each=2)
    assert (made.name, made.origin) == ("FirstArm", "mine.py:FirstArm")
    assert read_policy(f"{policy_file}(each=2)") == made
    assert policy_text(made) == "FirstArm(each=2)"
    assert load_policy(policy_file) is type(made), "imported once"
    assert "FirstArm" in wd.available_policies()
    session = wd.Session(policy_file, PROBLEM, horizon=20)
    assert session.batch.counts == (4, 4, 4)


def test_parameters_are_read_whether_or_not_the_file_postpones_its_annotations(tmp_path: Path) -> None:
    """Without ``from __future__ import annotations`` the type of a field is a class, not its name."""
    text = (
        "from dataclasses import dataclass\nfrom typing import Literal\nfrom whichdo import Policy\n"
        "@dataclass(frozen=True)\nclass Plain(Policy):\n    epsilon: float = 0.1\n    rounds: int | None = None\n"
        "    eager: bool = False\n    kind: Literal['a', 'b'] = 'a'\n"
        "    def check(self, problem, budget): ...\n    def play(self, problem, budget, rng, seen): ...\n"
    )
    for name, head in (("plain", ""), ("postponed", "from __future__ import annotations\n")):
        (tmp_path / f"{name}.py").write_text(head + text.replace("Plain", name.title()), encoding="utf-8")
        file = f"{tmp_path / name}.py:{name.title()}"
        try:
            made = read_policy(f"{file}(epsilon=0.2, rounds=3, eager=true, kind=b)")
        finally:
            registered.pop(name.title(), None)
        assert repr(made) == f"{name.title()}(epsilon=0.2, rounds=3, eager=True, kind='b')"


def test_a_file_may_be_imported_and_named_by_its_path(
    tmp_path: Path, policy_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script imports its own policy and passes the path to others; both are the same policy."""
    path = tmp_path / "mine.py"
    text = path.read_text(encoding="utf-8").replace("@dataclass", '@register("first")\n@dataclass')
    path.write_text(text.replace("import numpy", "from whichdo import register\nimport numpy"), encoding="utf-8")
    assert wd.policy(policy_file).name == "first"
    monkeypatch.syspath_prepend(tmp_path)
    try:
        assert import_module("mine").FirstArm.name == "first"
    finally:
        sys.modules.pop("mine", None)
    assert wd.policy("first", each=2).name == "first"


def test_worker_processes_load_the_file_again(policy_file: str) -> None:
    made = wd.policy(policy_file, each=2)
    there = "import pickle, sys; print(pickle.loads(bytes.fromhex(sys.argv[1])))"
    told = subprocess.run(
        [sys.executable, "-c", there, pickle.dumps(made).hex()], capture_output=True, text=True, check=True
    )
    assert told.stdout == "FirstArm(each=2)\n"
    assert pickle.loads(pickle.dumps(wd.policy("srm", pool=True))) == wd.policy("srm", pool=True)


def test_it_is_simulated_like_any_other(policy_file: str) -> None:
    instance = canonical("frontdoor")
    found = wd.simulate(policy_file, instance.network, instance.problem, horizon=40, runs=20, seed=1)
    assert len(found.simple) == 20


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (None, "Mine", r"There is no file .*mine\.py, where a policy was to be found"),
        ("1 +", "Mine", r"mine\.py cannot be imported: SyntaxError"),
        ("raise OSError('disk')", "Mine", r"mine\.py cannot be imported: OSError: disk"),
        ("class Mine: pass", "Mine", r"is not a subclass of whichdo\.Policy"),
        ("import whichdo\nFirst = whichdo.Policy", "Fist", r'has no class "Fist"\. Did you mean "First"'),
    ],
)
def test_a_file_that_holds_no_such_policy_says_so(tmp_path: Path, content: str | None, name: str, message: str) -> None:
    if content is not None:
        (tmp_path / "mine.py").write_text(content, encoding="utf-8")
    with pytest.raises(wd.WhichdoError, match=message):
        wd.policy(f"{tmp_path / 'mine.py'}:{name}")


def test_a_name_of_ours_is_not_taken_by_others(tmp_path: Path) -> None:
    text = (PACKAGE / "first_arm.py").read_text(encoding="utf-8")
    text = text.replace("@dataclass", '@register("ue")\n@dataclass').replace(
        "from whichdo.policies.base", "from whichdo.policies.registry import register\nfrom whichdo.policies.base", 1
    )
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    with pytest.raises(
        wd.InputError, match=r'policy "ue", whichdo\.policies\.uniform.* Register mine\.py:FirstArm by another name\.$'
    ):
        wd.policy(f"{tmp_path / 'mine.py'}:FirstArm")
    assert type(wd.policy("ue")).__name__ == "UniformExploration"


# ----------------------------------------------------------------------------------------------------------- campaigns


def test_a_campaign_outlives_its_policy(tmp_path: Path, policy_file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the file that it began with, all can be read, told and exported, and an ask says what is missing."""
    database = tmp_path / "campaigns.db"
    with wd.Campaign.create(database, "spring", f"{policy_file}(each=3)", PROBLEM, horizon=30) as campaign:
        ticket, *others = campaign.ask(3)
        campaign.tell(ticket.id, {"X": 0, "Y": 1})
        policy = campaign.events()[0].content["policy"]
        assert policy == {"name": "FirstArm", "parameters": {"each": 3}, "revision": 1, "origin": "mine.py:FirstArm"}
    registered.pop("FirstArm")
    with wd.Campaign.open(database, "spring") as campaign:
        status = campaign.status()
        assert status.policy == "FirstArm(each=3)"
        assert status.phase == "stuck"
        assert "not installed here (it came from mine.py:FirstArm)" in " ".join(status.sentences + status.notes)
        campaign.tell(others[0].id, {"X": 0, "Y": 0})
        assert [each.id for each in campaign.ask(2)] == [others[1].id], "what is out is handed out again"
        campaign.void(others[1].id, reason="lost")
        assert [str(each.arm) for each in campaign.ask(1)] == [str(others[1].arm)], "what came back goes out again"
        with pytest.raises(
            wd.TooNewError, match=rf"FirstArm, which is not installed .* {VARIABLE}=path/to/file\.py:Name"
        ):
            campaign.ask(2, client="another")
        assert campaign.recommend().arm is not None
        assert "decided by revision 1 of FirstArm" in campaign.verify().notes[0]
        campaign.export(tmp_path / "spring.jsonl")
        assert "FirstArm(each=3)" in write_report(campaign, tmp_path / "spring.html").read_text(encoding="utf-8")
        campaign.forbid([wd.do(X=0)], reason="too expensive")
    monkeypatch.setenv(VARIABLE, policy_file)
    with wd.Campaign.open(database, "spring") as campaign:
        assert campaign.status().phase == "running"
        assert {str(each.arm) for each in campaign.ask(6, client="another")} == {"do()", "do(X=1)"}
    with wd.Campaign.import_(tmp_path / "second.db", tmp_path / "spring.jsonl") as campaign:
        assert campaign.verify().notes == ()


# ---------------------------------------------------------------------------------------------------------- a package


@pytest.mark.slow("15 s: builds and installs a package into an environment of its own, then calls the command line")
def test_an_installed_package_adds_a_policy(tmp_path: Path) -> None:
    home = tmp_path / "environment"
    venv.create(home, with_pip=False)
    (packages,) = home.glob("lib/python*/site-packages")
    shared = [path for path in sys.path if path and not path.endswith(".zip") and Path(path).is_dir()]
    (packages / "shared.pth").write_text("\n".join(shared), encoding="utf-8")
    python = home / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    source = tmp_path / "source"
    source.mkdir()
    for name in ("pyproject.toml", "first_arm.py"):
        copy(PACKAGE / name, source / name)
    subprocess.run([*install, "--disable-pip-version-check", str(source)], check=True, capture_output=True)
    (tmp_path / "problem.toml").write_text('graph = "X -> Y"\nreward = "Y"\n', encoding="utf-8")

    def call(interpreter: str, *words: str) -> tuple[int, str]:
        done = subprocess.run(
            [interpreter, "-m", "whichdo", *words],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "WHICHDO_DB": "campaigns.db", "COLUMNS": "200"},
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    there, here = str(python), sys.executable
    code, said = call(there, "simulate", "bows", "--policy", "first-arm(each=2)", "--horizon", "60", "--runs", "5")
    assert (code, "first-arm(each=2)" in said) == (0, True), said
    code, said = call(there, "start", "spring", "problem.toml", "--policy", "first-arm", "--horizon", "30")
    assert code == 0, said
    code, said = call(there, "ask", "spring")
    assert (code, "do" in said) == (0, True), said
    code, said = call(there, "status", "spring")
    assert (code, "first-arm" in said, "not installed" in said) == (0, True, False), said
    code, said = call(here, "status", "spring")
    assert (code, "came from package whichdo-first-arm 0.3" in said) == (0, True), said
    code, said = call(there, "start", "summer", "problem.toml", "--policy", "broken", "--horizon", "30")
    assert (code, "whichdo-first-arm 0.3 offers it as first_arm:Missing, and AttributeError" in said) == (2, True), said
    code, said = call(there, "start", "summer", "problem.toml", "--policy", "ue", "--horizon", "30")
    assert (code, "ue, 0 of 30" in said) == (0, True), said
