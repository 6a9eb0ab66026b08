"""Many processes at one campaign: asks and tells a second and the worst wait, beside Optuna's storages.

``python -m benchmarks.contention`` prints the table; ``--seconds 2 --processes 1,8`` makes it short.  All are measured
in one run, each for as long, on the same disk; PostgreSQL where it is installed.  Optuna's studies sample at random, so
that what is compared is storage.  The wait is the longest of any ask.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.campaign import PROBLEM, row
from tests.campaign.servers import new_database, running, why_not
from whichdo.campaign.campaign import Campaign
from whichdo.policy_names import policy

STORAGES = (
    "whichdo, SQLite",
    "Optuna RDB, SQLite",
    "Optuna journal",
    "whichdo, PostgreSQL",
    "Optuna RDB, PostgreSQL",
)
FORK = multiprocessing.get_context("fork")


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
    barrier.wait()
    ends, pairs, worst = time.monotonic() + seconds, 0, 0.0
    while time.monotonic() < ends:
        worst = max(worst, pair(pairs))
        pairs += 1
    found.put((pairs, worst))


def measure(make: Any, processes: int, seconds: float) -> tuple[float, float]:
    """Pairs a second, and the longest wait for an ask."""
    barrier, found = FORK.Barrier(processes), FORK.SimpleQueue()
    workers = [FORK.Process(target=_work, args=(make, me, seconds, barrier, found)) for me in range(processes)]
    for worker in workers:
        worker.start()
    told = [found.get() for _ in workers]
    for worker in workers:
        worker.join()
    return sum(pairs for pairs, _ in told) / seconds, max(worst for _, worst in told)


def _ours(address: str) -> Any:
    Campaign.create(address, "many", PROBLEM, policy("ue"), horizon=10**6).close()
    return lambda client: ours(address, client)


def _optuna(storage: Any) -> Any:
    import optuna

    optuna.logging.disable_default_handler()
    optuna.create_study(study_name="many", storage=storage())
    return lambda _client: optunas(storage)


def _patient(address: str) -> dict[str, Any]:
    """As long as ours: by default Optuna's SQLite gives up after 5 s, and its worker with it."""
    return {"pool_size": 1} | ({"connect_args": {"timeout": 120}} if address.startswith("sqlite") else {})


def main() -> None:
    from optuna.storages import JournalStorage, RDBStorage
    from optuna.storages.journal import JournalFileBackend

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--processes", default="1,8,64")
    options = parser.parse_args()
    counts = [int(each) for each in options.processes.split(",")]
    print(f"| storage | {' | '.join(f'{count} at once' for count in counts)} |\n|---|{'---|' * len(counts)}")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(running()) if why_not() is None else None

        def database(name: str) -> str:
            return new_database(str(server), name).replace("postgresql://", "postgresql+psycopg://")

        for what in (
            "whichdo, SQLite",
            "Optuna RDB, SQLite",
            "Optuna journal",
            "whichdo, PostgreSQL",
            "Optuna RDB, PostgreSQL",
        ):
            if "PostgreSQL" in what and server is None:
                continue
            cells = []
            for count in counts:
                name = f"{what.replace(', ', '_').replace(' ', '_').lower()}_{count}"
                address = database(name) if "PostgreSQL" in what else f"sqlite:///{folder / name}.db"
                if what.startswith("whichdo"):
                    make = _ours(address)
                elif "journal" in what:
                    make = _optuna(lambda name=name: JournalStorage(JournalFileBackend(str(folder / name))))
                else:
                    make = _optuna(lambda address=address: RDBStorage(address, engine_kwargs=_patient(address)))
                rate, worst = measure(make, count, options.seconds)
                cells.append(f"{rate:,.0f} pairs/s, worst {worst:.2f} s")
            print(f"| {what} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
