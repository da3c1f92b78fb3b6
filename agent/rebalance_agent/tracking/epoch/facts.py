"""Updates a group's facts, each stored under its subject (a member id, or an empty string for the group)."""

from __future__ import annotations

from typing import TypeVar

from rebalance_agent.model.epoch_groups import EpochFact

__all__ = ["set_fact"]

_Fact = TypeVar("_Fact", bound=EpochFact)
_Put = tuple[_Fact | None, _Fact | None]


def set_fact(facts: dict[str, _Fact], subject: str, value: EpochFact | None, kind: type[_Fact]) -> _Put[_Fact]:
    """Set or remove the record of a subject; return the old record and the new record."""
    old, new = facts.pop(subject, None), value if isinstance(value, kind) else None
    if new is not None:
        facts[subject] = new
    return old, new
