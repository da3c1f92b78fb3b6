"""Updates of a group's facts by subject, and counts of what several subjects share."""

from __future__ import annotations

from collections import Counter
from typing import TypeVar

from rebalance_agent.model.epoch_groups import EpochFact

__all__ = ["add_count", "set_fact"]

_Fact = TypeVar("_Fact", bound=EpochFact)
_Put = tuple[_Fact | None, _Fact | None]
_Counted = TypeVar("_Counted")


def set_fact(facts: dict[str, _Fact], subject: str, value: EpochFact | None, kind: type[_Fact]) -> _Put[_Fact]:
    """Set or remove the record of a subject; return the old and the new one."""
    old, new = facts.pop(subject, None), value if isinstance(value, kind) else None
    if new is not None:
        facts[subject] = new
    return old, new


def add_count(counts: Counter[_Counted], key: _Counted, by: int) -> bool:
    """Add ``by`` to a count; return whether ``key`` was added or removed thereby."""
    counts[key] += by
    if counts[key]:
        return counts[key] == by
    del counts[key]
    return True
