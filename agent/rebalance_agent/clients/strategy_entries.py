"""The entries of a client's ``partition_assignment_strategy``: names, strategies of one's own, the client's classes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rebalance_agent.assignors import Strategy, strategy
from rebalance_agent.errors import AssignmentError

__all__ = ["entries", "refuse_equal_names"]

OPTION = "partition_assignment_strategy"


def entries(wanted: Any) -> list[Any]:  # noqa: ANN401 - what the client takes, and names
    """What is ``wanted`` as a list, with strategies for their names; one may stand alone.

    Raises:
        AssignmentError: it is empty or no list, a name is unknown, or an entry has no ``assign``.
    """
    alone = isinstance(wanted, str | Strategy) or hasattr(wanted, "assign")
    if not alone and not isinstance(wanted, Iterable):
        raise AssignmentError(f"{OPTION}: must be names, strategies or the client's own assignors, not {wanted!r:.80}")
    listed = [strategy(each) if isinstance(each, str) else each for each in ([wanted] if alone else wanted)]
    if not listed:
        raise AssignmentError(f"{OPTION}: must name at least one strategy")
    for each in listed:
        if not hasattr(each, "assign"):
            raise AssignmentError(f"{OPTION}: {each!r:.80} is neither a name nor a strategy nor an assignor")
    return listed


def refuse_equal_names(assignors: Iterable[Any]) -> None:
    """Check that no two go under one name, of which the client would drop one.

    Raises:
        AssignmentError: two do.
    """
    names = [each.name for each in assignors]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise AssignmentError(f"{OPTION}: two entries are named {twice[0]!r}")
