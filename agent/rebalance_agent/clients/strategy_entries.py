"""Reads ``partition_assignment_strategy``: names, strategies, and assignors of the client."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rebalance_agent.assignors import Strategy, strategy
from rebalance_agent.assignors.strategy_registry import checked
from rebalance_agent.errors import AssignmentError

__all__ = ["entries", "refuse_equal_names"]

OPTION = "partition_assignment_strategy"


def entries(option: Any) -> list[Any]:  # noqa: ANN401 - names, strategies, the client's own assignors
    """Return the entries of ``option``, a list or one entry; names are replaced by their strategies.

    Strategies that are not this package's are guarded: their results are checked before they are used.

    Raises:
        AssignmentError: ``option`` is empty or no list, a name is unknown, or an entry has no ``assign``.
    """
    single = isinstance(option, str | Strategy) or hasattr(option, "assign")
    if not single and not isinstance(option, Iterable):
        raise AssignmentError(f"{OPTION}: must be names, strategies or the client's own assignors, not {option!r:.80}")
    made = [strategy(entry) if isinstance(entry, str) else entry for entry in ([option] if single else option)]
    if not made:
        raise AssignmentError(f"{OPTION}: must contain at least one strategy")
    for entry in made:
        if not hasattr(entry, "assign"):
            raise AssignmentError(f"{OPTION}: {entry!r:.80} is neither a name nor a strategy nor an assignor")
    return [checked(entry) if isinstance(entry, Strategy) else entry for entry in made]


def refuse_equal_names(assignors: Iterable[Any]) -> None:
    """Check that the names of ``assignors`` differ. The client would drop one of two assignors with the same name.

    Raises:
        AssignmentError: two have the same name.
    """
    names = [assignor.name for assignor in assignors]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise AssignmentError(f"{OPTION}: two entries are named {twice[0]!r}")
