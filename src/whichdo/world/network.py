"""Causal networks: a graph with a mechanism for every node, hidden ones included.

The learner sees the graph alone, hidden nodes projected out; all else here is the truth about it.
"""

from __future__ import annotations

from functools import cached_property
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from whichdo.errors import NetworkError, TooLargeError
from whichdo.frozen import Frozen
from whichdo.graph.admg import CausalGraph
from whichdo.graph.draft import checked_name
from whichdo.graph.projection import project
from whichdo.problem import BINARY, MAX_VALUES, Problem, Value, check_domain, plain_value
from whichdo.text import nearest, quoted
from whichdo.world.mechanism import Mechanism, checked_mechanism, essential

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from whichdo.arrays import Array, CodeArray, FloatArray


MAX_LAWS = 1 << 20
Kind = TypeVar("Kind")


class CausalNetwork(Frozen):
    """A causal graph with the probabilities of every node: a world to simulate.

    Parameters
    ----------
    mechanisms
        For each node its `Mechanism`.
    hidden
        Nodes that act but are never observed.
    domains
        The values of nodes whose values are not 0, 1, 2, ...

    Raises
    ------
    NetworkError
        If a parent has no mechanism, or a table does not fit its node.

    Examples
    --------
    >>> import whichdo as wd
    >>> network = wd.CausalNetwork({"X": wd.bernoulli((), 0.5), "Y": wd.bernoulli(("X",), [0.25, 0.75])})
    >>> network.means(network.problem("Y")).tolist()  # of do(), do(X=0) and do(X=1)
    [0.5, 0.25, 0.75]
    """

    mechanisms: Mapping[str, Mechanism]
    """The mechanism of every node, in topological order."""
    hidden: frozenset[str]
    """The nodes that are never observed."""
    domains: Mapping[str, tuple[Value, ...]]
    """The values of every node, hidden ones included, in topological order."""
    full: CausalGraph
    """The graph with hidden nodes as ordinary ones."""
    graph: CausalGraph
    """The graph a learner sees: hidden nodes projected out."""

    def __init__(
        self,
        mechanisms: Mapping[str, Mechanism],
        hidden: Iterable[str] = (),
        *,
        domains: Mapping[str, Iterable[Value]] | None = None,
    ) -> None:
        given = _by_name(mechanisms, "mechanisms")
        if not given:
            raise NetworkError("A network needs at least one node.")
        for name, mechanism in given.items():
            if not isinstance(mechanism, Mechanism):
                raise NetworkError(
                    f"{quoted(name)} has {mechanism!r} for a mechanism; use bernoulli(...) or Mechanism(...)."
                )
            for parent in mechanism.parents:
                if parent not in given:
                    raise NetworkError(
                        f"{quoted(name)} has the parent {quoted(parent)}, which has no mechanism."
                        f"{nearest(parent, given)}"
                    )
        full = CausalGraph(given, [(parent, name) for name, mechanism in given.items() for parent in mechanism.parents])
        concealed = frozenset(map(checked_name, [hidden] if isinstance(hidden, str) else hidden))
        for name in sorted(concealed - set(full.nodes)):
            raise NetworkError(f"The hidden node {quoted(name)} has no mechanism.{nearest(name, full.nodes)}")
        fill = self.__dict__
        fill["full"] = full
        fill["hidden"] = concealed
        fill["graph"] = project(full, [name for name in full.nodes if name not in concealed])
        fill["domains"] = MappingProxyType(_domains(full, given, _by_name(domains or {}, "domains")))
        fill["mechanisms"] = MappingProxyType(
            {name: checked_mechanism(name, given[name], self.domains) for name in full.nodes}
        )

    # ------------------------------------------------------------------------------------------------------- truth

    def problem(
        self, reward: str, intervene: Iterable[str] | Mapping[str, Iterable[Value]] | None = None, **more: Any
    ) -> Problem:
        """Make the problem that a learner faces here: the graph without hidden nodes, and this network's domains.

        Parameters
        ----------
        reward
            The node to improve.
        intervene
            The nodes that can be set, with the values they can be set to if not all; all but the reward by default.
        more
            Further arguments of `Problem`, such as ``goal`` or ``costs``.

        Returns
        -------
        Problem
            A problem that this network can answer.
        """
        domains = {name: values for name, values in self.domains.items() if name in self.graph and values != BINARY}
        return Problem(self.graph, reward, intervene, domains=domains, **more)

    def means(self, problem: Problem) -> FloatArray:
        """Compute the true mean reward of each arm.

        Parameters
        ----------
        problem
            A problem of this network.

        Returns
        -------
        ndarray
            The exact means in the order of ``problem.arms``, on the reward's own scale.
        """
        from whichdo.world.exact import reward_laws

        worth = np.array(list(problem.rewards.values()))
        means: FloatArray = reward_laws(self, problem) @ worth
        return means

    def rarity(self, problem: Problem) -> FloatArray:
        """Compute the true q of each target set: the probability of the rarest cell that looking must have seen.

        Parameters
        ----------
        problem
            A problem of this network.

        Returns
        -------
        ndarray
            A probability for each target set.
        """
        from whichdo.world.exact import true_rarity

        return true_rarity(self, problem)

    def hardness(self, problem: Problem) -> int:
        """Compute the true m(C) of the paper: how many nodes must be tried because looking sees them too rarely.

        Parameters
        ----------
        problem
            A problem of this network.

        Returns
        -------
        int
            At least 2.
        """
        from whichdo.estimate.rarity import c_sizes, hardness

        return hardness(self.rarity(problem), c_sizes(problem))

    def law(self, scope: Sequence[str], do: Mapping[str, Value] | None = None) -> FloatArray:
        """Compute the exact joint probabilities of some nodes.

        Parameters
        ----------
        scope
            The nodes, hidden ones allowed.
        do
            The nodes that are set, with their values; by default nothing is set.

        Returns
        -------
        ndarray
            An axis for each node, in the order of ``scope``.
        """
        from whichdo.world.exact import joint_law

        names = tuple(self.full.nodes[self.full.index(name)] for name in scope)
        if len(set(names)) < len(names):
            raise NetworkError(f"The scope {list(names)} lists a node twice.")
        return joint_law(self, names, self.codes_of(do or {}))

    def parent_laws(self, problem: Problem) -> FloatArray:
        """Compute the joint probabilities of the reward's parents under each arm, which `importance` and `c-ucb` need.

        Parameters
        ----------
        problem
            A problem of this network.

        Returns
        -------
        ndarray
            A row for each arm, a column for each joint value of ``problem.graph.parents(problem.reward)``, the last
            parent varying fastest.

        Raises
        ------
        TooLargeError
            If there would be more than 2**20 numbers.
        """
        from whichdo.world.exact import joint_law

        self.check(problem)
        parents = problem.graph.parents(problem.reward)
        numbers = len(problem.arms) * prod(self.sizes[name] for name in parents)
        if numbers > MAX_LAWS:
            raise TooLargeError(
                f"The {len(parents)} parents of {quoted(problem.reward)} have more than {MAX_LAWS:,} joint "
                f"probabilities under {len(problem.arms)} arms. Choose a policy that needs no laws, such as srm."
            )
        return np.stack([joint_law(self, parents, self.codes_of(arm.settings)).ravel() for arm in problem.arms])

    # ----------------------------------------------------------------------------------------------------- samples

    def sample(
        self,
        n: int,
        do: Mapping[str, Value] | None = None,
        seed: int | np.random.SeedSequence = 0,
        *,
        codes: bool = False,
    ) -> dict[str, Array]:
        """Draw rows of the observed nodes.

        Parameters
        ----------
        n
            The number of rows.  A larger number gives the same rows first.
        do
            The nodes that are set, with their values; by default nothing is set.
        seed
            The random seed; equal seeds give equal rows.
        codes
            Whether to leave every column as uint8, the position of each value in its domain, which is several times
            faster than writing strings.

        Returns
        -------
        dict of str to ndarray
            A column for each observed node: uint8 for 0/1 nodes, the declared values for others.
        """
        from whichdo.world.sampler import sample_rows

        rows = sample_rows(self, n, self.codes_of(do or {}), seed)
        return {name: rows[j] if codes else self.decoded(name, rows[j]) for j, name in enumerate(self.graph.nodes)}

    def decoded(self, name: str, codes: CodeArray) -> Array:
        """Translate codes 0, 1, 2, ... into the declared values of a node.

        Parameters
        ----------
        name
            The node.
        codes
            Positions in its domain.

        Returns
        -------
        ndarray
            The values.
        """
        values = self.domains[name]
        if values == tuple(range(len(values))):
            return codes
        mixed = len({isinstance(value, str) for value in values}) > 1  # numpy would turn the numbers into strings
        found: Array = np.array(values, dtype=object if mixed else None).take(codes, mode="clip")
        return found

    def codes_of(self, setting: Mapping[str, Value]) -> dict[str, int]:
        """Translate a setting of nodes from values into codes.

        Parameters
        ----------
        setting
            For each node its value.

        Returns
        -------
        dict of str to int
            For each node the position of the value in its domain.

        Raises
        ------
        NetworkError
            If a node does not have the value.
        """
        found = {}
        for name, value in setting.items():
            name = self.full.nodes[self.full.index(name)]
            domain = self.domains[name]
            plain = plain_value(value, name)
            if plain not in domain:
                allowed = ", ".join(map(str, domain[:12]))
                raise NetworkError(f"{quoted(name)} has no value {quoted(value)}. Allowed: {allowed}.")
            found[name] = domain.index(plain)
        return found

    def check(self, problem: Problem) -> None:
        """Refuse a problem with nodes or values that this network does not have.

        Parameters
        ----------
        problem
            The problem to compare with this network.

        Raises
        ------
        NetworkError
            If a node is missing, hidden, or has other values.
        """
        for name in problem.graph.nodes:
            if name not in self.graph:
                raise NetworkError(f"The network has no observed node {quoted(name)}.{nearest(name, self.graph.nodes)}")
            if problem.domains[name] != self.domains[name]:
                raise NetworkError(
                    f"{quoted(name)} takes {list(self.domains[name])} in the network and {list(problem.domains[name])} "
                    f"in the problem. Give both the same `domains`."
                )

    # --------------------------------------------------------------------------------------------------------- BIF

    @classmethod
    def read_bif(cls, path: str | os.PathLike[str], hidden: Iterable[str] = ()) -> CausalNetwork:
        """Read a network from a BIF file.

        Parameters
        ----------
        path
            The file, plain or gzipped.
        hidden
            Nodes to hide, beside those that the file marks as latent.

        Returns
        -------
        CausalNetwork
            Values that are 0, 1, 2, ... in order become numbers; others stay strings.
        """
        from whichdo.world.network_files import read_bif

        found = read_bif(path)
        mechanisms = {name: Mechanism(*law) for name, law in found.mechanisms.items()}
        return cls(mechanisms, hidden=found.hidden | set(hidden), domains=found.domains)

    def write_bif(self, path: str | os.PathLike[str]) -> None:
        """Write the network as a BIF file.

        Parameters
        ----------
        path
            The file.  Hidden nodes are marked ``property latent yes``.
        """
        from whichdo.world.network_files import write_bif

        write_bif(self, path)

    def __repr__(self) -> str:
        return f"<CausalNetwork of {len(self.graph.nodes)} observed and {len(self.hidden)} hidden nodes>"

    def __reduce__(self) -> tuple[object, ...]:
        return (_restore, (dict(self.mechanisms), self.hidden, dict(self.domains)))

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """The number of values of each node."""
        return MappingProxyType({name: len(values) for name, values in self.domains.items()})

    @cached_property
    def essentials(self) -> Mapping[str, tuple[tuple[str, ...], FloatArray]]:
        """Each mechanism's inputs and table without the inputs that its table does not change with."""
        return MappingProxyType({name: essential(mechanism) for name, mechanism in self.mechanisms.items()})


def _restore(
    mechanisms: dict[str, Mechanism], hidden: frozenset[str], domains: dict[str, tuple[Value, ...]]
) -> CausalNetwork:
    return CausalNetwork(mechanisms, hidden, domains=domains)


def _by_name(table: Mapping[str, Kind], what: str) -> dict[str, Kind]:
    """A table by checked names; two spellings of one name are refused."""
    found = {checked_name(name): each for name, each in table.items()}
    if len(found) < len(table):
        raise NetworkError(f"`{what}` names a node twice, in two spellings that Unicode treats as one.")
    return found


def _domains(
    full: CausalGraph, mechanisms: Mapping[str, Mechanism], given: Mapping[str, Iterable[Value]]
) -> dict[str, tuple[Value, ...]]:
    for name in given:
        if name not in mechanisms:
            raise NetworkError(f"`domains` names {quoted(name)}, which has no mechanism.{nearest(name, mechanisms)}")
    domains: dict[str, tuple[Value, ...]] = {}
    for name in full.nodes:
        size = mechanisms[name].size
        if size > MAX_VALUES:
            raise TooLargeError(f"{quoted(name)} has {size:,} values; {MAX_VALUES} are allowed.")
        named = given.get(name, range(size))
        if isinstance(named, (str, set, frozenset)):
            raise NetworkError(f"The domain of {quoted(name)} must be a list of values, in order; found {named!r}.")
        values = tuple(plain_value(value, name) for value in named)
        if len(values) != size:
            raise NetworkError(f"{quoted(name)} has {size} values in its table and {len(values)} in `domains`.")
        check_domain(name, values)
        domains[name] = values
    return domains
