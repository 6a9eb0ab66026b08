"""Many processes at one campaign: asks and tells a second and the longest wait, beside Optuna's storages.

``python -m benchmarks contention`` measures this room alone and writes its section of docs/benchmarks.md;
``python -m benchmarks.contention --seconds 2 --processes 1,8`` prints a short one.  All are measured in one run, each
for as long, on the same disk, the server's data included; PostgreSQL where it is installed.  Optuna's studies sample at
random, so that what is compared is storage.  The wait is the longest of any ask.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.campaign import PROBLEM, row
from benchmarks.measure import Line
from tests.campaign.servers import new_database, running, why_not
from whichdo.campaign.campaign import Campaign
from whichdo.policy_names import policy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TIMES = 10
"""How many times as many pairs a second as Optuna's database storage are asked for."""
LONGEST = 3.0
"""Seconds that an ask may wait."""
FORK = multiprocessing.get_context("fork")


class Measured(NamedTuple):
    """What some processes did."""

    rate: float
    worst: float
    share: tuple[int, int]
    """The fewest and the most pairs of a process."""

    def __str__(self) -> str:
        fewest, most = self.share
        shared = f", {fewest} to {most} a process" if fewest != most else ""
        return f"{self.rate:,.0f} pairs/s, longest ask {self.worst:.2f} s{shared}"


def ours(address: str, client: str) -> Any:
    campaign = Campaign.open(address, "many", patience=120)

    def pair(number: int) -> float:
        begin = time.perf_counter()
        ticket = campaign.ask(client=client)
        waited = time.perf_counter() - begin
        campaign.tell(ticket, row(ticket.arm, number))
        return waited

    return pair


def optunas(storage: Any) -> Any:
    import optuna

    optuna.logging.disable_default_handler()
    study = optuna.load_study(study_name="many", storage=storage(), sampler=optuna.samplers.RandomSampler())
    values = optuna.distributions.CategoricalDistribution([0, 1, 2, 3, 4])

    def pair(number: int) -> float:
        begin = time.perf_counter()
        trial = study.ask({"arm": values})
        waited = time.perf_counter() - begin
        study.tell(trial, number % 2)
        return waited

    return pair


def _work(make: Any, me: int, seconds: float, barrier: Any, found: Any) -> None:
    pair = make(f"worker {me}")
    pair(0)
    barrier.wait()
    ends, pairs, worst = time.monotonic() + seconds, 0, 0.0
    while time.monotonic() < ends:
        worst = max(worst, pair(pairs))
        pairs += time.monotonic() < ends
    found.put((pairs, worst))


def measure(make: Any, processes: int, seconds: float) -> Measured:
    """Pairs a second that ended in time, the longest wait for an ask, and how the pairs were shared."""
    barrier, found = FORK.Barrier(processes), FORK.SimpleQueue()
    workers = [FORK.Process(target=_work, args=(make, me, seconds, barrier, found)) for me in range(processes)]
    for worker in workers:
        worker.start()
    told = [found.get() for _ in workers]
    for worker in workers:
        worker.join()
    done = [pairs for pairs, _ in told]
    return Measured(sum(done) / seconds, max(worst for _, worst in told), (min(done), max(done)))


def _ours(address: str) -> Any:
    Campaign.create(address, "many", policy("ue"), PROBLEM, horizon=10**6).close()
    return lambda client: ours(address, client)


def _optuna(storage: Any) -> Any:
    import optuna

    optuna.logging.disable_default_handler()
    optuna.create_study(study_name="many", storage=storage())
    return lambda _client: optunas(storage)


def _database_of_optuna(address: str) -> Any:
    from optuna.storages import RDBStorage

    # As patient as ours: by default Optuna's SQLite gives up after 5 s, and its worker with it.
    more = {"connect_args": {"timeout": 120}} if address.startswith("sqlite") else {}
    return _optuna(lambda: RDBStorage(address, engine_kwargs={"pool_size": 1} | more))


def _journal_of_optuna(path: Path) -> Any:
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    return _optuna(lambda: JournalStorage(JournalFileBackend(str(path))))


def run(seconds: float = 5.0, counts: Sequence[int] = (1, 8, 64)) -> Iterator[Line]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(running(tempfile.gettempdir())) if why_not() is None else None

        def address(kind: str, name: str) -> str:
            if kind == "SQLite":
                return f"sqlite:///{folder / name}.db"
            return new_database(str(server), name).replace("postgresql://", "postgresql+psycopg://")

        for kind in ("SQLite", "PostgreSQL") if server is not None else ("SQLite",):
            for count in counts:
                mine = measure(_ours(address(kind, f"ours{count}")), count, seconds)
                theirs = measure(_database_of_optuna(address(kind, f"theirs{count}")), count, seconds)
                said = f"{mine}; Optuna RDB {theirs}"
                if kind == "SQLite":
                    said += f"; Optuna journal {measure(_journal_of_optuna(folder / f'log{count}'), count, seconds)}"
                yield Line(
                    f"ask and tell, {count} process{'es' if count > 1 else ''}, {kind}",
                    f"{said}: {mine.rate / max(theirs.rate, 1 / seconds):.1f} times Optuna RDB",
                    f"at least {TIMES} times Optuna RDB, no ask over {LONGEST:g} s",
                    mine.rate >= TIMES * theirs.rate and mine.worst < LONGEST,
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--processes", default="1,8,64")
    options = parser.parse_args()
    for line in run(options.seconds, [int(each) for each in options.processes.split(",")]):
        print(f"{line.what}: {line.figure} ({line.asked}: {'yes' if line.holds else 'no'})", flush=True)


if __name__ == "__main__":
    main()
