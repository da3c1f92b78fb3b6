"""Reads from a recorded rebalance which members joined and left, and when, and compares members' profiles. Pure.

In KIP-848 groups one rebalance may have several epochs. A rebalance with a single epoch began when its member joined or
left. For other rebalances, only the period in which the members joined or left is known.
"""

from __future__ import annotations

from dataclasses import dataclass

from rebalance_agent.advice.replay.recorded_history import RecordedRebalance
from rebalance_agent.gateway.seats.rules.join_profile import JoinProfile, epoch_profile, read_profile
from rebalance_agent.groupprotocol.consumer_protocol import NEWEST_VERSION, encode_subscription
from rebalance_agent.model.episode import Source, Trigger
from rebalance_agent.model.events import GenerationEvent, MemberSnapshot
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.member_changes import member_changes
from rebalance_agent.model.subscription import ConsumerSubscription

__all__ = ["RecordedChange", "member_profile", "recorded_change"]

_DEPLOYS = frozenset({Trigger.MEMBER_LEFT, Trigger.MEMBER_JOINED})


@dataclass(frozen=True, slots=True)
class RecordedChange:
    """A rebalance, the members that joined and left, and bounds on the times of these changes (epoch ms)."""

    rebalance: RecordedRebalance
    joined: tuple[MemberSnapshot, ...]
    gone: tuple[MemberSnapshot, ...]

    @property
    def started_ms(self) -> int | None:
        """When the rebalance began (epoch ms); None if unknown."""
        return self.rebalance.generations[0].phases.started_ms

    @property
    def ended_ms(self) -> int:
        """When the rebalance's last generation was complete (epoch ms)."""
        return self.rebalance.closing.timestamp_ms

    @property
    def generations(self) -> int:
        """The rebalance's number of generations or epochs; 0 if the generation before is not known."""
        before = self.rebalance.before
        return self.rebalance.closing.generation - before.generation if before else 0

    @property
    def happened_ms(self) -> int:
        """The time by which the members had joined or left at the latest (epoch ms)."""
        closing, started_ms = self.rebalance.closing, self.started_ms
        epochs = closing.group_type is GroupType.CONSUMER and closing.source is Source.RECORDS
        return started_ms if epochs and self.generations == 1 and started_ms is not None else self.ended_ms

    @property
    def deploys(self) -> bool:
        """Whether the rebalance's start is known, and its only causes are members that joined or left by themselves."""
        before, causes = self.rebalance.before, self.rebalance.closing.causes
        known = before is not None and bool(before.members) and self.started_ms is not None
        mixed = before is not None and (_has_both(before) or _has_both(self.rebalance.closing))
        return known and bool(causes) and set(causes) <= _DEPLOYS and not self.rebalance.returned and not mixed


def recorded_change(rebalance: RecordedRebalance) -> RecordedChange:
    """Return the members that joined and left in a rebalance."""
    before = rebalance.before.members if rebalance.before else ()
    changes = member_changes(before, rebalance.closing.members)
    return RecordedChange(rebalance, changes.joined, changes.gone)


def member_profile(member: MemberSnapshot, rebalance: RecordedRebalance) -> JoinProfile | None:
    """Return the profile that is compared with those of successors; None for members that get no seats.

    In KIP-848 groups the topics of a pattern are compared instead of the pattern: events do not contain patterns.
    """
    if member.instance_id is not None:
        return None
    if rebalance.closing.group_type is GroupType.CONSUMER:
        known = bool(member.topics) and member.rebalance_timeout_ms is not None
        return epoch_profile(member.topics, "", member.rebalance_timeout_ms or 0) if known else None
    assignor = rebalance.closing.assignor or (rebalance.before and rebalance.before.assignor)
    if not assignor or assignor.startswith("stream"):
        return None
    subscription = ConsumerSubscription(NEWEST_VERSION, member.topics, member.user_data, rack_id=member.rack or None)
    timeouts = member.session_timeout_ms or 0, member.rebalance_timeout_ms or 0
    return read_profile("consumer", [(assignor, encode_subscription(subscription))], *timeouts)


def _has_both(event: GenerationEvent) -> bool:
    """Whether a KIP-848 group has members of the classic protocol: only these members state a session timeout."""
    epochs = event.group_type is GroupType.CONSUMER
    return epochs and any(member.session_timeout_ms is not None for member in event.members)
