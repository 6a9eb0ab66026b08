"""`Campaign`: ask, tell, recommend, for weeks, losing nothing.

An acknowledged ask or tell survives ``kill -9`` and power loss; one that was not acknowledged is wholly there or wholly
absent; repeating it counts it once; and every recommendation can be recomputed from the log.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Self, overload

from whichdo.campaign import commands
from whichdo.campaign.advice import Advice, advised
from whichdo.campaign.asking import tickets_of
from whichdo.campaign.chain import in_chain
from whichdo.campaign.commands import Receipt
from whichdo.campaign.exchange import Verified, export_lines, read_export, understood, verified
from whichdo.campaign.ledger import Ledger, wall_clock
from whichdo.campaign.logs import logs_for, receipts_for
from whichdo.campaign.receipts import ReceiptFile
from whichdo.campaign.state import State
from whichdo.campaign.status import Status, status_of
from whichdo.campaign.storage import PATIENCE, open_storage
from whichdo.campaign.storage.locations import who_am_i
from whichdo.campaign.terms import agreed, plain_text
from whichdo.errors import BusyError, ConflictError, DamagedError, StorageError, UsageError
from whichdo.evidence import whole_number
from whichdo.files import EXPORT, write_file
from whichdo.policy_names import as_policy
from whichdo.problem import Arm, Problem
from whichdo.text import quoted

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence
    from datetime import timedelta

    from whichdo.campaign.chain import Event
    from whichdo.campaign.commands import Command
    from whichdo.campaign.ledger import Clock
    from whichdo.campaign.storage import Storage
    from whichdo.campaign.tallying import Log
    from whichdo.campaign.tickets import Ticket
    from whichdo.policies.base import Policy

    # Names of their own: inside the class, `list` is a verb.
    Names = list[str]
    Tickets = list[Ticket]
    Receipts = list[Receipt]
    Events = list[Event]
    Lines = Iterator[str]


MOST_TICKETS = 10_000
"""Of one ask."""


class Campaign:
    """A durable campaign in a database; make one with `create`, find it again with `open`.

    Every method that writes returns a `Receipt`, which is on the disk by then.  Many processes may work on one campaign
    at once, and many threads on one object.

    Parameters
    ----------
    store
        The database; `create` and `open` make it.
    name
        The name of the campaign.
    clock
        Returns the time.
    receipts
        A file outside the database to which every receipt is added.

    Examples
    --------
    >>> import whichdo as wd
    >>> problem = wd.Problem("X -> Y", "Y")
    >>> campaign = wd.Campaign.create("campaigns.db", "spring", "ue", problem, horizon=6)
    >>> ticket = campaign.ask(client="me")
    >>> receipt = campaign.tell(ticket, {"X": 1, "Y": 1, **ticket.arm.settings})
    >>> campaign.status().tickets["told"]
    1
    >>> campaign.close()
    """

    def __init__(
        self, store: Storage, name: str, clock: Clock = wall_clock, receipts: str | os.PathLike[str] | None = None
    ) -> None:
        self.name = name
        self._store = store
        self._ledger = Ledger(store, name, clock)
        if receipts is not None:
            self._ledger.receipts = ReceiptFile(Path(receipts))
        self.notes: tuple[str, ...] = ()
        """Remarks on the logs that it was created with, or on its import."""

    # ------------------------------------------------------------------------------------------- create, open and list

    @classmethod
    def create(
        cls,
        database: str | os.PathLike[str],
        name: str,
        policy: Policy | str | Problem,
        problem: Problem | Policy | str,
        *,
        horizon: int | None = None,
        budget: float | None = None,
        seed: int = 0,
        logs: object = None,
        missing: str = "error",
        lease: timedelta | float | None = None,
        grace: timedelta | float | None = None,
        window: timedelta | float | None = None,
        stop_when_sure: bool = False,
        margin: float = 0.0,
        audit: bool = True,
        clock: Clock = wall_clock,
        patience: float = PATIENCE,
        receipts: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Begin a campaign; on the same terms again, open the one that was begun.

        Parameters
        ----------
        database
            ``sqlite:///file.db``, a path, or ``postgresql://user@host/name``.
        name
            The name of the campaign in this database.
        policy
            What `whichdo.policy` makes, or a string such as ``"srm"`` or ``"causal-ts(doubt=0.1)"``.
        problem
            The graph, the arms and the reward.
        horizon
            The number of pulls, where every arm costs 1.
        budget
            The same in cost units, where arms cost differently.
        seed
            The seed of the policy's random choices.
        logs
            Logged observations, as for `observe`.
        missing
            What happens to missing values in the logs, as for `observe`.
        lease
            How long a ticket may stay open before its pull is owed again (seconds or a timedelta); forever, if not
            given.
        grace
            How long after the lease a tell still counts; by default as long again.
        window
            How long an outcome may still change after the ask; a pull counts once the window has closed.
        stop_when_sure
            Stop as soon as direct pulls make it sure which arm is best, or that no other arm is better by ``margin``.
        margin
            A difference of mean rewards that does not matter.
        audit
            Keep a tenth of the budget, a fifth where the policy trusts looking, to check whether the logs are up to
            date (fresh looks) and whether the graph is right (pulls of the recommended arm and of its rivals).
        clock
            Returns the time; for tests.
        patience
            Seconds to wait for a database that another process has locked.
        receipts
            A file outside the database to which every receipt is added, for `verify` to compare with.

        Returns
        -------
        Campaign
            The campaign; ``notes`` are remarks on its logs.

        Raises
        ------
        ConflictError
            If there is a campaign of this name on other terms.
        UnsuitableError
            If the policy cannot serve this problem with this budget.
        """
        policy, problem = _in_order(policy, problem)
        stretches = (lease, grace, window)
        terms = agreed(
            name,
            problem,
            as_policy(policy),
            horizon=horizon,
            budget=budget,
            seed=seed,
            stretches=stretches,
            stop=stop_when_sure,
            margin=margin,
            audit=audit,
            logs=logs is not None,
        )
        # Logs are refused before anything is begun.
        at_hand = [] if logs is None else logs_for(terms, terms.problem, logs, missing=missing)
        store = open_storage(str(database), create=True, patience=patience)
        campaign = cls(store, terms.name, clock, receipts)
        if campaign._ledger.receipts is not None:
            campaign._ledger.receipts.check()
        campaign._ledger.create(terms.as_body())
        known = tuple(campaign._ledger.state().logs) if at_hand else ()
        if known:  # it was begun before, and its logs may have grown since
            at_hand = logs_for(terms, terms.problem, logs, missing=missing, known=known)
        if at_hand:
            made = campaign._observe(at_hand, restart=False)
            campaign.notes = tuple(note for receipt in made for note in receipt.notes)
        return campaign

    @classmethod
    def open(
        cls,
        database: str | os.PathLike[str],
        name: str,
        *,
        clock: Clock = wall_clock,
        patience: float = PATIENCE,
        receipts: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Find a campaign by name.

        What is new in its log since the last snapshot is checked and replayed, or all of it where there is no
        snapshot.  `verify` checks everything from the first event on.

        Parameters
        ----------
        database
            ``sqlite:///file.db``, a path, or ``postgresql://user@host/name``.
        name
            The name of the campaign.
        clock
            Returns the time; for tests.
        patience
            Seconds to wait for a database that another process has locked.
        receipts
            A file outside the database to which every receipt is added.

        Returns
        -------
        Campaign
            The campaign.

        Raises
        ------
        UnknownCampaignError
            If the database has no campaign of this name.
        DamagedError
            If its log is damaged.
        """
        store = open_storage(str(database), patience=patience)
        campaign = cls(store, plain_text(name, "name of a campaign", 200), clock, receipts)
        campaign._ledger.state()
        return campaign

    @classmethod
    def list(cls, database: str | os.PathLike[str], *, patience: float = PATIENCE) -> Names:
        """List the names of the campaigns in a database.

        Parameters
        ----------
        database
            ``sqlite:///file.db``, a path, or ``postgresql://user@host/name``.
        patience
            Seconds to wait for a database that another process has locked.

        Returns
        -------
        list of str
            The names.
        """
        store = open_storage(str(database), patience=patience)
        found = store.run(store.names)
        store.close()
        return found

    def close(self) -> None:
        """Close the connections to the database; a verb opens them again."""
        self._store.close()

    def __enter__(self) -> Self:
        """``with Campaign.open(...) as campaign``: closed when it is left."""
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------------------------------------------------ the pulls

    @overload
    def ask(
        self, n: None = None, *, client: str | None = None, key: str | None = None, process: str = ""
    ) -> Ticket: ...

    @overload
    def ask(self, n: int, *, client: str | None = None, key: str | None = None, process: str = "") -> Tickets: ...

    def ask(
        self, n: int | None = None, *, client: str | None = None, key: str | None = None, process: str = ""
    ) -> Ticket | Tickets:
        """Ask for the next ticket, or for up to ``n`` tickets; they are on record before they are returned.

        What ``client`` still holds is handed out again first (the ticket's ``again`` says so), so an ask whose answer
        was lost can be repeated.

        Parameters
        ----------
        n
            How many tickets to hold; without it, one ticket is returned instead of a list.
        client
            Who asks; by default user@host:pid, this process.  A worker that wants its tickets back after a crash needs
            a name.
        key
            Your own name for this request: sent again with the same key, it is the same request.
        process
            Noted on the ticket, where several processes share one client name.

        Returns
        -------
        Ticket or list of Ticket
            The tickets; the list is empty once the campaign has finished.

        Raises
        ------
        WaitError
            If the policy must have the rows of open tickets before it can decide.
        ConflictError
            If the campaign is paused, or has finished and a single ticket was asked for.
        """
        wanted = 1 if n is None else whole_number(n, "number of tickets")
        if wanted > MOST_TICKETS:
            raise UsageError(
                f"{wanted:,} tickets were requested; at most {MOST_TICKETS:,} can be open at once, including those "
                f"still held. Ask for fewer, tell them, and ask again."
            )
        who = plain_text(who_am_i() if client is None else client, "client", 200)
        own_key = _key(key)
        with self._ledger.lock:
            order = commands.Ask(wanted, who, keyed=own_key is not None, process=process)
            state, receipt, _ = self._ledger.write(order, key=own_key)
            names = list(state.held.get(who, ()))[:wanted]
            if own_key is not None and receipt is not None and receipt.repeated:
                body = self._ledger.event(receipt.seq).content
                names = [*body.get("held", ()), *(each["id"] for each in body["tickets"])]
            new = None if receipt is None or receipt.repeated else receipt.seq
            found = tickets_of(state, names, new)
        if n is not None:
            return found
        if not found:
            raise ConflictError(f"Campaign {quoted(self.name)} is finished: nothing is left to ask. See `recommend`.")
        return found[0]

    def tell(
        self,
        ticket: str | Ticket,
        row: object,
        *,
        arm: str | Arm | None = None,
        key: str | None = None,
        client: str | None = None,
    ) -> Receipt:
        """Tell the outcome of a ticket: a row such as ``{"X": 1, "M": 0, "Y": 1}``.

        Parameters
        ----------
        ticket
            The ticket, or its id.
        row
            The values of the nodes; ``needed`` of the ticket lists those that must be there.
        arm
            What was done, to be compared with what the ticket asked for.
        key
            Your own name for this request: sent again with the same key, it is the same request.
        client
            Who tells.  The same row from another client means that two workers made one pull, and is refused.

        Returns
        -------
        Receipt
            Proof that it is on record.

        Raises
        ------
        ConflictError
            If the ticket was told another row before, was voided, or was for another arm.
        """
        name = _ticket_id(ticket)
        who = None if client is None else plain_text(client, "client", 200)
        return self._done(commands.Tell(name, row, arm, who), key)

    def void(self, ticket: str | Ticket, reason: str, *, key: str | None = None) -> Receipt:
        """Give up a ticket: its budget is returned and its pull is owed again.

        Parameters
        ----------
        ticket
            The ticket, or its id.
        reason
            Why, for the record.
        key
            Your own name for this request: sent again with the same key, it is the same request.

        Returns
        -------
        Receipt
            Proof that it is on record.

        Raises
        ------
        ConflictError
            If a row was told for it.
        """
        name, why = _ticket_id(ticket), plain_text(reason, "reason")
        return self._done(commands.Void(name, why), key)

    def amend(self, ticket: str | Ticket, row: object, reason: str, *, key: str | None = None) -> Receipt:
        """Correct the row of a ticket, or tell one that was voided or has expired.

        Estimates and recommendations use the new row from here on.  What the policy has already decided on the old one
        stands, since the pulls have been made (docs/decisions/0011-amending.md).

        Parameters
        ----------
        ticket
            The ticket, or its id.
        row
            The values of the nodes.
        reason
            Why, for the record.
        key
            Your own name for this request: sent again with the same key, it is the same request.

        Returns
        -------
        Receipt
            Proof that it is on record.
        """
        name, why = _ticket_id(ticket), plain_text(reason, "reason")
        return self._done(commands.Amend(name, row, why), key)

    # ---------------------------------------------------------------------------------------------------- the evidence

    def observe(
        self,
        data: object,
        *,
        name: str | None = None,
        counts: str | None = None,
        missing: str = "error",
        restart: bool = False,
        append: bool = False,
    ) -> Receipts:
        """Add logged observations, as `whichdo.count` takes them; they are kept as counts, all of them or none.

        They count in the recommendation at once.  The policy gets them when it begins: at once where nothing has been
        asked yet, otherwise when the play restarts.

        Parameters
        ----------
        data
            The logs: files, a frame, a dict of columns, a table of a database, or a Tally.  A file is known by its
            content; anything else by its counts and its ``name``.
        name
            The name of data that are not a file; other observations with equal counts need another name.
        counts
            The column that says how many rows each row stands for.
        missing
            What happens to missing values: ``"error"``, ``"drop"`` or ``"level"``.
        restart
            Restart the play now, with what is left of the budget.
        append
            Observe only what is new in a file that has grown, which is refused otherwise: its old rows would count
            twice.

        Returns
        -------
        list of Receipt
            One for each log.
        """
        terms, allowed, known = self._ledger.read(lambda state: (state.terms, state.allowed, tuple(state.logs)))
        logs = logs_for(terms, allowed, data, name=name, counts=counts, missing=missing, known=known, append=append)
        return self._observe(logs, restart=restart)

    def _observe(self, logs: Sequence[Log], *, restart: bool) -> Receipts:
        with self._ledger.lock:
            state, _, events = self._ledger.write(commands.Observe(tuple(logs), restart=restart))
            return receipts_for(state.logs, logs, events)

    def status(self, *, settle: bool = True) -> Status:
        """Report the status: tickets, budget, and who holds what.

        Parameters
        ----------
        settle
            Put on record first what the clock says (leases that ended, reward windows that closed).

        Returns
        -------
        Status
            The status.
        """
        notes = self._settled() if settle else ()
        return self._ledger.read(lambda state: status_of(state, notes))

    def recommend(self, *, confidence: float = 0.95, at: int | None = None) -> Advice:
        """Recommend an arm by all evidence, in numbers and in words.

        Parameters
        ----------
        confidence
            The confidence level of the intervals.
        at
            Answer as of the event with this number; derived from the log alone, the answer is the same on any day.

        Returns
        -------
        Advice
            The recommendation.
        """
        if at is None:
            notes = self._settled()
            return self._ledger.read(lambda state: advised(state, confidence=confidence, notes=notes))
        events = self._ledger.events()
        if not 0 <= whole_number(at, "event") < len(events):
            raise UsageError(f"There is no event {at}; the last is {len(events) - 1}.")
        state = State(events[0])
        for event in events[1 : at + 1]:
            state.apply(event)
        return advised(state, confidence=confidence)

    def events(self) -> Events:
        """The log as it is on record, from the first event on; `verify` checks it."""
        return self._ledger.events()

    @property
    def problem(self) -> Problem:
        """The problem it was begun with."""
        return self._ledger.state().terms.problem

    @property
    def finished(self) -> bool:
        """Whether nothing is left to ask: the policy is done and what it names was audited, or it is sure."""
        return self._ledger.read(lambda state: state.finished)

    # ------------------------------------------------------------------------------------------- the whole campaign

    def pause(self, reason: str, *, key: str | None = None) -> Receipt:
        """Hand out nothing more until `resume`; open tickets may be told.

        Parameters
        ----------
        reason
            Why, for the record.
        key
            Your own name for this request: sent again with the same key, it is the same request.

        Returns
        -------
        Receipt
            Proof that it is on record.
        """
        why = plain_text(reason, "reason")
        return self._done(commands.Pause(why), key)

    def resume(self, reason: str, *, key: str | None = None) -> Receipt:
        """Hand out tickets again after `pause`.

        Parameters
        ----------
        reason
            Why, for the record.
        key
            Your own name for this request: sent again with the same key, it is the same request.

        Returns
        -------
        Receipt
            Proof that it is on record.
        """
        why = plain_text(reason, "reason")
        return self._done(commands.Resume(why), key)

    def forbid(self, arm: str | Arm | Sequence[str | Arm], reason: str, *, key: str | None = None) -> Receipt:
        """Never pull an arm again, nor recommend it; the play restarts with what is left of the budget.

        Open tickets for it are voided.

        Parameters
        ----------
        arm
            An arm, its string, or a list of them.
        reason
            Why, for the record.
        key
            Your own name for this request: sent again with the same key, it is the same request.

        Returns
        -------
        Receipt
            Proof that it is on record.
        """
        return self._forbid(commands.Forbid, arm, reason, key)

    def allow(self, arm: str | Arm | Sequence[str | Arm], reason: str, *, key: str | None = None) -> Receipt:
        """Take back `forbid`; the play restarts with what is left of the budget.

        Parameters
        ----------
        arm
            An arm, its string, or a list of them.
        reason
            Why, for the record.
        key
            Your own name for this request: sent again with the same key, it is the same request.

        Returns
        -------
        Receipt
            Proof that it is on record.
        """
        return self._forbid(commands.Allow, arm, reason, key)

    def _forbid(
        self,
        order: type[commands.Forbid | commands.Allow],
        arm: str | Arm | Sequence[str | Arm],
        reason: str,
        key: str | None,
    ) -> Receipt:
        why = plain_text(reason, "reason")
        given = [arm] if isinstance(arm, (str, Arm)) or arm is None else [*arm]
        problem = self.problem.unpruned
        found = {each if isinstance(each, Arm) else problem.arm(each) for each in given}
        return self._done(order(tuple(sorted(found, key=problem.index)), why), key)

    def restart(self, reason: str, *, key: str | None = None) -> Receipt:
        """Let the policy start again with what is left of the budget and all evidence.

        Repeated for the same reason before anything was asked, it is the same restart.

        Parameters
        ----------
        reason
            Why, for the record.
        key
            Your own name for this request: sent again with the same key, it is the same request.

        Returns
        -------
        Receipt
            Proof that it is on record.
        """
        return self._done(commands.Restart(plain_text(reason, "reason"), keyed=key is not None), key)

    # -------------------------------------------------------------------------------------------- checking and copying

    def verify(
        self, receipt: str | Receipt | None = None, *, receipts: str | os.PathLike[str] | None = None
    ) -> Verified:
        """Check everything from the first event on: the chain, the replay, and that receipts are on record.

        Asks that another revision of the policy decided are not recomputed; ``notes`` of the result say which.

        Parameters
        ----------
        receipt
            A receipt that must be on record.
        receipts
            A file of receipts, all of which must be on record.

        Returns
        -------
        Verified
            The last receipt, as a string, with notes.

        Raises
        ------
        DamagedError
            At the first event that is damaged, or a receipt that is not on record.
        ReplayDivergedError
            At the first ask that the policy would not make now.
        """
        wanted = None if receipt is None else str(receipt)
        file = None if receipts is None else Path(receipts)
        return verified(self._store, self.name, wanted, self._ledger.known, file)

    def export(self, path: str | os.PathLike[str], *, force: bool = False) -> int:
        """Write the log into a file: one JSON event a line, a checksum at the end.

        Parameters
        ----------
        path
            The file.  An export that exists is replaced.  Only its owner may read it.
        force
            Replace any other file too, but never a database.

        Returns
        -------
        int
            The number of events.
        """
        written = 0

        def lines() -> Lines:
            nonlocal written
            for line in self.export_lines():
                yield line
                written += 1

        write_file(Path(path), lines(), EXPORT, force=force, private=True)
        return written - 1

    def export_lines(self) -> Lines:
        """Yield the lines of an export, the checksum last, read from the database as they are taken."""
        return export_lines(in_chain(self._ledger.stream()))

    @classmethod
    def import_(
        cls,
        database: str | os.PathLike[str],
        path: str | os.PathLike[str],
        *,
        clock: Clock = wall_clock,
        patience: float = PATIENCE,
    ) -> Self:
        """Take a campaign from an export into a database, replayed and with the same receipts.

        Parameters
        ----------
        database
            ``sqlite:///file.db``, a path, or ``postgresql://user@host/name``.
        path
            The export.
        clock
            Returns the time; for tests.
        patience
            Seconds to wait for a database that another process has locked.

        Returns
        -------
        Campaign
            The campaign.

        Raises
        ------
        InputError
            If the file is not a whole export.
        ConflictError
            If the database has another campaign of this name.
        """
        source = Path(path)
        state = understood(read_export(source))  # before anything is opened; then it is read once more, to be stored
        store = open_storage(str(database), create=True, patience=patience)
        campaign = cls(store, state.terms.name, clock)
        if campaign._ledger.restore(state, read_export(source)).repeated:
            campaign.notes = ("It was already there, the same to the last event; nothing was changed.",)
        return campaign

    def backup(self, path: str | os.PathLike[str]) -> Path:
        """Copy the whole database as it stands into a new file, while others work on it.

        Parameters
        ----------
        path
            The new file.

        Returns
        -------
        Path
            The file that was written.
        """
        return self._store.backup(Path(path))

    # ------------------------------------------------------------------------------------------------------- in common

    def __repr__(self) -> str:
        return f"<Campaign {self.name} in {self._store.name}>"

    def _done(self, order: Command, key: str | None) -> Receipt:
        state, receipt, _ = self._ledger.write(order, key=_key(key))
        return receipt or Receipt.of(state.receipt, repeated=True)

    def _settled(self) -> tuple[str, ...]:
        """Put on record what the clock says; where the database can only be read, say that it was not."""
        try:
            self._ledger.settle()
        except DamagedError:
            raise
        except (StorageError, BusyError) as error:
            return (f"Leases and reward windows that ended could not be recorded: {error}",)
        return ()


def _in_order(one: Policy | str | Problem, other: Policy | str | Problem) -> tuple[Policy | str, Problem]:
    """A policy and a problem, given in either order: nobody can take one for the other."""
    if isinstance(one, Problem) and not isinstance(other, Problem):
        return other, one
    if isinstance(other, Problem) and not isinstance(one, Problem):
        return one, other
    raise UsageError(f"A campaign needs a policy and a problem; found {one!r} and {other!r}.")


def _ticket_id(ticket: str | Ticket) -> str:
    return ticket if isinstance(ticket, str) else str(getattr(ticket, "id", ticket))


def _key(key: str | None) -> str | None:
    return None if key is None else plain_text(key, "key", 200)
