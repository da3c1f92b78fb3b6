"""The entries of ``partition_assignment_strategy``: names, strategies of one's own, and kafka-python's assignors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor, RebalanceProtocol

from rebalance_agent.assignors import Strategy
from rebalance_agent.clients.strategy_entries import refuse_equal_names

__all__ = ["all_cooperative", "assignors", "strategies"]


def strategies(entries: Sequence[Any]) -> dict[str, Strategy]:
    """Those of ``entries`` that are strategies, by name."""
    return {each.name: each for each in entries if isinstance(each, Strategy)}


def assignors(entries: Sequence[Any], ours: Callable[[Strategy], Any]) -> list[Any]:
    """An instance for every entry; ``ours`` makes those of our strategies.

    Raises:
        AssignmentError: two entries go under one name, of which kafka-python would drop one.
    """
    made = [
        ours(each) if isinstance(each, Strategy) else each if isinstance(each, AbstractPartitionAssignor) else each()
        for each in entries
    ]
    refuse_equal_names(made)
    return made


def all_cooperative(assignors: Sequence[Any]) -> bool:
    """Whether a consumer with these speaks the cooperative protocol: if all support it, as in Kafka's own (KIP-429)."""
    return all(RebalanceProtocol.COOPERATIVE in each.supported_protocols() for each in assignors)
