"""Derives which implementation of an assignor made a decision, and whether the decision can be reproduced.

One name may have several implementations: Kafka and kafka-python have their own `sticky`, and the implementations
choose differently among equal balances. The result is defined for every partition only for `range`, `roundrobin` and
this library's strategies.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from rebalance_agent.advice.replay.eligible_strategies import family, library_strategy
from rebalance_agent.assignors.replay_limits import ReplayLimits
from rebalance_agent.model.events import AssignEvent, GenerationEvent, MemberSnapshot
from rebalance_agent.model.group import GroupType

__all__ = ["LIBRARY", "ImplementationVerdict", "instrumented_generations", "members_with_claims", "verdict"]

LIBRARY = "kafka-rebalance-agent"
"""This library, in any client."""

ANY = "any client"
"""Any client: the result does not depend on the implementation."""

_GENERATION_BYTES = 4
"""Bytes of a cooperative member's user data that contains only a generation."""


class ImplementationVerdict(NamedTuple):
    """``implementation``: its name; ``reason``: why decisions need not be reproducible, None if they must be."""

    implementation: str
    reason: str | None


def instrumented_generations(events: Collection[AssignEvent]) -> frozenset[int]:
    """Return the generations for which an instrumented leader reported an assignment."""
    return frozenset(event.generation for event in events if event.error is None)


def members_with_claims(events: Iterable[GenerationEvent]) -> frozenset[str]:
    """Return the ids of eager members that, in any generation, stated in their subscriptions what they owned.

    In Kafka's clients eager members own nothing when they join; members with this library state to the leader what they
    owned.
    """
    return frozenset(member.member_id for event in events for member in event.members if _claims(member))


def verdict(
    event: GenerationEvent, instrumented: Collection[int] = (), claiming: Collection[str] = frozenset()
) -> ImplementationVerdict:
    """Return which implementation assigned in this generation.

    ``instrumented``: see `instrumented_generations`; ``claiming``: see `members_with_claims`.
    """
    name = event.assignor or ""
    if event.group_type is not GroupType.CLASSIC:
        return ImplementationVerdict("the broker", "the broker assigns, and its rules may change with its version")
    strategy = library_strategy(name)
    if strategy is None:
        # The text omits the assignor's name, which may be very long.
        return ImplementationVerdict("another client", "its assignor is not a strategy of this library")
    if name in {"range", "roundrobin"}:
        if name == "range" and any(member.rack for member in event.members):
            return ImplementationVerdict(ANY, "members have racks, and the racks of the partitions are not recorded")
        return ImplementationVerdict(ANY, None)
    if any(member.user_data_bytes for member in event.members):
        return ImplementationVerdict("an unknown client", "members' user data is longer than an event may contain")
    if family(name) != "sticky":
        return ImplementationVerdict(LIBRARY, _unrecorded(event, strategy.replay_limits))
    return _sticky(event, claiming, instrumented=event.generation in instrumented)


def _unrecorded(event: GenerationEvent, limits: ReplayLimits) -> str | None:
    if limits.unrecorded_with_user_data and not any(member.user_data for member in event.members):
        return None
    return limits.unrecorded


def _sticky(event: GenerationEvent, claiming: Collection[str], *, instrumented: bool) -> ImplementationVerdict:
    others = "each client's sticky assignor may choose another of several equally good assignments"
    if event.assignor == "sticky":
        if instrumented or any(_claims(member) or member.member_id in claiming for member in event.members):
            mixed = any(_claims_only_in_user_data(member) for member in event.members)
            return (
                ImplementationVerdict(LIBRARY, None)
                if not mixed or instrumented
                else ImplementationVerdict("several clients", others)
            )
        return ImplementationVerdict("Kafka's Java client, or a similar client", others)
    kinds = {len(member.user_data or b"") for member in event.members}
    if kinds == {_GENERATION_BYTES}:
        if instrumented:
            return ImplementationVerdict(LIBRARY, None)
        return ImplementationVerdict(
            "Kafka's Java client, or kafka-rebalance-agent",
            f"no leader reported that it uses kafka-rebalance-agent; {others}",
        )
    return ImplementationVerdict(
        "several clients" if len(kinds) > 1 and _GENERATION_BYTES in kinds else "librdkafka or another client", others
    )


def _claims(member: MemberSnapshot) -> bool:
    return any(member.owned.values())


def _claims_only_in_user_data(member: MemberSnapshot) -> bool:
    """Return whether the member states what it owns only in its user data, not in its subscription."""
    data = member.user_data or b""
    return len(data) > 2 * _GENERATION_BYTES and not _claims(member)
