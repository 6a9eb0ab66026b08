"""A program of asks and tells that is killed at a chosen step, and a process that forks one for every trial.

Run as a program it reads lines of JSON from standard input, forks for each a child that runs `work` (or `migrated`, or
`updated`) and dies at the point ``die_at``, and answers with how the child ended.  Points are before and after every
statement, before every commit and after it, and in migrations around the backup.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import whichdo as wd
from tests.campaign.trials import PROBLEM
from whichdo.campaign import ledger
from whichdo.campaign.storage import migration, postgres, schema, sqlite

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS = 5
LOG = {"Z": [0, 1, 1, 0], "X": [0, 1, 0, 1], "W": [1, 1, 0, 0], "Y": [0, 1, 0, 1]}


class Points:
    """Counts what a database is asked to do, and dies at one of them."""

    def __init__(self, die_at: int) -> None:
        self.number, self.die_at = 0, die_at

    def __call__(self, *_: Any) -> None:
        self.number += 1
        if self.number == self.die_at:
            os.kill(os.getpid(), signal.SIGKILL)


def watch(points: Points) -> None:
    from sqlalchemy import Engine, event

    ledger.Ledger.write = between(points, ledger.Ledger.write)  # type: ignore[method-assign]
    for kind, what in ((sqlite.SqliteStorage, "_do"), (postgres.PostgresStorage, "_exchange")):
        setattr(kind, what, between(points, getattr(kind, what)))
    event.listen(Engine, "before_cursor_execute", points)
    event.listen(Engine, "after_cursor_execute", points)
    event.listen(Engine, "commit", points)


def work(database: str, name: str, acknowledged: Path) -> None:
    """Ask, tell, void and observe; each answer is noted when it has come.  Repeated, it is the same work."""

    def note(what: str, receipt: object) -> None:
        with acknowledged.open("a") as file:
            file.write(json.dumps([what, str(receipt)]) + "\n")

    campaign = wd.Campaign.create(database, name, wd.policy("ue"), PROBLEM, horizon=20)
    note("created", campaign.verify())
    for step in range(STEPS):
        (ticket,) = campaign.ask(1, client="me", key=f"ask {step}")
        note(f"asked {step}", ticket.id)
        if step == 2:
            note("voided", campaign.void(ticket, "lost"))
            (receipt,) = campaign.observe(LOG)
            note("observed", receipt)
        else:
            note(f"told {step}", campaign.tell(ticket, {"Y": step % 2}))
    campaign.close()


def updated(database: str, name: str, acknowledged: Path) -> None:
    """Go on at the next revision of the policy: with a pull that is owed, then with one that takes a decision."""
    wd.available_policies()["ue"].revision = 2
    campaign = wd.Campaign.open(database, name)
    for step in ("owed", "decided"):
        (ticket,) = campaign.ask(1, client="me", key=f"ask {step}")
        receipt = campaign.tell(ticket, {"Y": 1})
        with acknowledged.open("a") as file:
            file.write(json.dumps([f"{step} {ticket.id}", str(receipt)]) + "\n")
    campaign.close()


def know_next_form(scripts: Path, put: Callable[[object, str, object], None] = setattr) -> None:
    """As if this program knew one form of the tables more, which the scripts lead to."""
    put(schema, "FORM", 2)
    put(migration, "migrate", partial(migration.migrate, scripts=scripts))


def migrated(database: str, name: str, points: Points) -> None:
    """Bring a database to the next form by opening it, then ask and tell once."""
    for module, what in ((sqlite.SqliteStorage, "backup"), (os, "fsync"), (Path, "replace")):
        setattr(module, what, between(points, getattr(module, what)))
    campaign = wd.Campaign.open(database, name)
    ticket = campaign.ask(client="me", key="after")
    row = dict.fromkeys(campaign.problem.graph.nodes, 0)
    campaign.tell(ticket, row | dict(ticket.arm.settings))
    campaign.close()


def between(points: Points, function: Callable[..., Any]) -> Callable[..., Any]:
    def watched(*given: Any, **named: Any) -> Any:
        points()
        found = function(*given, **named)
        points()
        return found

    return watched


def cycle(database: str, client: str, times: int) -> None:
    """Ask and tell so often."""
    campaign = wd.Campaign.open(database, "spring")
    for number in range(times):
        ticket = campaign.ask(client=client)
        campaign.tell(ticket, {"Y": number % 2})
    campaign.close()


def serve() -> None:
    """The process that forks: it has done the work once, so that children find everything imported and compiled."""
    with tempfile.TemporaryDirectory() as folder:
        work(f"sqlite:///{folder}/warm.db", "warm", Path(folder) / "acknowledged")
    gc.collect()
    for line in sys.stdin:
        task = json.loads(line)
        children = [_forked(task, number) for number in range(task.get("children", 1))]
        ended = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        print(json.dumps(ended), flush=True)


def _forked(task: dict[str, Any], number: int) -> int:
    child = os.fork()
    if child:
        return child
    try:
        if "times" in task:
            cycle(task["database"], f"worker {number}", task["times"])
        else:
            if task.get("snapshots"):
                ledger.FEWEST_NEW, ledger.SHARE_NEW = 0, 10**9  # one after every event
            watch(points := Points(task["die_at"]))
            if "scripts" in task:
                know_next_form(Path(task["scripts"]))
                migrated(task["database"], task["name"], points)
            else:
                verbs = updated if task["update"] else work
                verbs(task["database"], task["name"], Path(task["acknowledged"]))
        os._exit(0)
    except BaseException as error:  # noqa: BLE001
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(1)


class Forker:
    """Starts `serve` and gives it tasks."""

    def __init__(self) -> None:
        root = Path(__file__).parents[2]
        paths = os.pathsep.join([str(root / "src"), str(root), os.environ.get("PYTHONPATH", "")])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.campaign.mortal"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root, env=os.environ | {"PYTHONPATH": paths},
        )  # fmt: skip

    def run(
        self,
        database: str,
        name: str,
        acknowledged: Path,
        die_at: int = 0,
        *,
        update: bool = False,
        snapshots: bool = False,
    ) -> int:
        """How a child that works ended; with ``update``, one that has the next revision of the policy.

        With ``snapshots`` one is kept after every event.
        """
        task = {"database": database, "name": name, "acknowledged": str(acknowledged), "die_at": die_at}
        task |= {"update": update, "snapshots": snapshots}
        (ended,) = self._answer(task)
        return ended

    def migrate(self, database: str, name: str, scripts: Path, die_at: int = 0) -> int:
        """How a child ended that knows the next form."""
        (ended,) = self._answer({"database": database, "name": name, "scripts": str(scripts), "die_at": die_at})
        return ended

    def cycles(self, database: str, children: int, times: int) -> list[int]:
        """How children ended that ask and tell at once."""
        return self._answer({"database": database, "children": children, "times": times})

    def _answer(self, task: dict[str, Any]) -> list[int]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(task) + "\n")
        self._process.stdin.flush()
        found: list[int] = json.loads(self._process.stdout.readline())
        return found

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(20)
        self._process.stdout.close()


if __name__ == "__main__":
    serve()
