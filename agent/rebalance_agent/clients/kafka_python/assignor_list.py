"""Creates kafka-python's assignors from the entries of ``partition_assignment_strategy``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor, RebalanceProtocol

from rebalance_agent.assignors import Strategy
from rebalance_agent.clients.strategy_entries import refuse_equal_names

__all__ = ["all_cooperative", "assignors", "strategies"]


def strategies(entries: Sequence[Any]) -> dict[str, Strategy]:
    """Name -> strategy, for those ``entries`` that are strategies."""
    return {entry.name: entry for entry in entries if isinstance(entry, Strategy)}


def assignors(entries: Sequence[Any], ours: Callable[[Strategy], Any]) -> list[Any]:
    """Return an assignor instance for every entry; ``ours`` makes that of a strategy.

    Raises:
        AssignmentError: two entries have the same name. kafka-python would drop one.
    """
    made = [ours(entry) if isinstance(entry, Strategy) else _instance(entry) for entry in entries]
    refuse_equal_names(made)
    return made


def all_cooperative(assignors: Sequence[Any]) -> bool:
    """Whether a consumer with ``assignors`` uses the cooperative protocol: if all of them support it (KIP-429)."""
    return all(RebalanceProtocol.COOPERATIVE in assignor.supported_protocols() for assignor in assignors)


def _instance(assignor: Any) -> Any:  # noqa: ANN401 - an assignor of kafka-python, or its class
    return assignor if isinstance(assignor, AbstractPartitionAssignor) else assignor()
