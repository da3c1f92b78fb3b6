"""Writes how the members of a group change to another assignor, in sentences. Pure.

The steps depend on the members' client libraries, and on whether the members or a gateway run the assignor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rebalance_agent.advice.client_kinds import (
    Change,
    ClientKind,
    PossibleClients,
    change_behind_gateway,
    change_to,
    is_adapted,
    own_assignor,
)
from rebalance_agent.advice.figures import WhatIf
from rebalance_agent.model.group import is_cooperative

__all__ = ["joined", "steps"]

_OUR_CLASS = "confluent-kafka with our consumer class"
"""The only way in which a client with librdkafka runs a strategy of this package itself."""

_REFUSES = "librdkafka rejects a list with both assignors"


@dataclass(frozen=True, slots=True)
class _Libraries:
    """The libraries of some members, by the way in which they change. ``sure``: the library of each member is known."""

    by_change: Mapping[Change, Sequence[ClientKind]]
    sure: bool

    @classmethod
    def of(cls, clients: Iterable[PossibleClients], change: Callable[[ClientKind], Change]) -> _Libraries:
        clients = tuple(clients)
        changes = {kind: change(kind) for kinds in clients for kind in kinds}
        by_change = {each: [kind for kind in ClientKind if changes.get(kind) is each] for each in Change}
        return cls(by_change, all(len(kinds) == 1 for kinds in clients))

    def only(self, change: Change) -> bool:
        """Whether all members change in this way."""
        return all(not kinds for each, kinds in self.by_change.items() if each is not change)


def steps(what_if: WhatIf, new: str) -> Iterator[str]:
    """Yield how the group's clients and gateways change to the strategy ``new``, and the cost of the change."""
    old = what_if.assignor
    if what_if.clients or not what_if.gateway_clients:
        yield from _own_steps(what_if, new, _Libraries.of(what_if.clients, lambda kind: change_to(kind, old, new)))
    if what_if.gateway_clients:
        libraries = _Libraries.of(what_if.gateway_clients, lambda kind: change_behind_gateway(kind, old, new))
        yield from _gateway_steps(what_if, new, libraries)


def _own_steps(what_if: WhatIf, new: str, libraries: _Libraries) -> Iterator[str]:
    """Yield the steps of members that run the assignor themselves."""
    if libraries.only(Change.ROLLING):
        yield (
            "The change takes two rolling restarts: first with both assignors in each member's "
            f"partition.assignment.strategy, then with {new} alone."
        )
    elif libraries.only(Change.STOP):
        yield (
            f"{_REFUSES}: stop all members, change the assignor, and start the members again; {_cost(what_if, new)}. "
            "To avoid the stop, use group.protocol=consumer (KIP-848), which needs Kafka 4.0 and librdkafka 2.12 or "
            "newer."
        )
    else:
        adapted = is_adapted(what_if.assignor or "")
        rolling = (
            "two rolling restarts, first with both assignors in each member's partition.assignment.strategy, then with "
            f"{new} alone"
        )
        yield from _by_library(what_if, new, libraries, rolling, our_class=adapted)


def _gateway_steps(what_if: WhatIf, new: str, libraries: _Libraries) -> Iterator[str]:
    """Yield the steps of members for which a gateway runs the assignor: its rule changes, and its clients if needed.

    A client that lists an eager and a cooperative assignor is eager. Without both in its list it would have no assignor
    in common with members that have changed already.
    """
    own = own_assignor(new)
    whose = "some members" if what_if.clients else "the members"
    yield f"A gateway runs {what_if.assignor} for {whose}."
    rule = f"the rule in gateway_groups to {new}"
    rolling = (
        f"two rolling restarts of the members, first with their present assignor and {own} in "
        "partition.assignment.strategy, then"
    )
    stopping = [str(kind) for kind in libraries.by_change[Change.STOP]]
    if libraries.only(Change.RULE):
        yield f"Change {rule}, and restart the gateways one by one; the clients need no change."
    elif libraries.only(Change.ROLLING):
        yield f"The change takes {rolling} with {own} alone and with {rule.replace(' to ', ' changed to ')}."
    elif libraries.only(Change.STOP):
        yield (
            f"Stop all members, change {rule} and the clients' partition.assignment.strategy to {own}, restart the "
            f"gateways, and start the members again; {_cost(what_if, new)}. A client of {joined(stopping)} cannot list "
            f"its present assignor and {own} together."
        )
    else:
        yield f"Change {rule} and the clients' own assignor to {own}."
        yield from _by_library(what_if, new, libraries, f"{rolling} with {own} alone and the new rule", our_class=False)


def _by_library(what_if: WhatIf, new: str, libraries: _Libraries, rolling: str, *, our_class: bool) -> Iterator[str]:
    """Yield the way of each library; ``our_class``: librdkafka's members use this package's consumer class."""
    if not libraries.sure:
        yield "The steps depend on the members' client library, which is unknown."
    ways = {
        Change.ROLLING: rolling,
        Change.STOP: f"all members must stop at the same time, and {_cost(what_if, new)}",
        Change.IMPOSSIBLE: f"not possible (no {'cooperative' if is_cooperative(new) else 'such'} assignor)",
    }
    for change, way in ways.items():
        if kinds := libraries.by_change[change]:
            names = [_OUR_CLASS if our_class and kind is ClientKind.LIBRDKAFKA else str(kind) for kind in kinds]
            yield f"{joined(names)}: {way}."


def _cost(what_if: WhatIf, new: str) -> str:
    """Return the cost of one second in which all members are stopped, and after how many rebalances it is saved."""
    cost = f"each second of the stop costs {what_if.partitions} partition-seconds"
    own = what_if.predicted
    outcomes = (outcome for outcome in what_if.outcomes if outcome.strategy == new)
    saved = sum(own.stalled_partition_seconds - outcome.figures.stalled_partition_seconds for outcome in outcomes)
    if not own.stalls or saved <= 0:
        return cost
    rebalances = what_if.partitions * own.stalls / saved
    if rebalances < 1:
        return f"{cost}, less than the change saves in one rebalance"
    number = math.ceil(rebalances)
    return f"{cost}, as much as the change saves in {number:,} {'rebalance' if number == 1 else 'rebalances'}"


def joined(texts: Sequence[str]) -> str:
    """Return the texts as a list in a sentence."""
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)
