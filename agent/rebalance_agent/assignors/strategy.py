"""A strategy: a plan under the name that the coordinator knows it by, with all that clients and help texts need."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rebalance_agent.assignors.placement import best
from rebalance_agent.assignors.promise import Promise, by_count
from rebalance_agent.assignors.roster import Plan, Reader, Roster, call_the_roll
from rebalance_agent.assignors.settings import Setting
from rebalance_agent.assignors.withholding import withhold
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.model.subscription import GroupAssignment, GroupSubscription

__all__ = ["Strategy", "Writer"]

Writer = Callable[[Mapping[str, int], TopicPartitions], bytes]
"""Encodes a member's settings (by name) and owned partitions as a strategy's user data."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """An assignor. Immutable, and pure: equal groups get equal assignments.

    ``name`` travels in JoinGroup; eager and cooperative forms have different names. ``config`` lists the settings that
    a consumer may be configured with. ``reader`` and ``writer`` are None where members send no user data.
    """

    name: str
    protocol: RebalanceProtocol
    summary: str
    plan: Callable[[Roster], Plan]
    promise: Callable[[Roster], Promise] = by_count
    config: tuple[Setting, ...] = ()
    reader: Reader | None = None
    writer: Writer | None = None

    def user_data(self, config: Mapping[str, str], owned: TopicPartitions) -> bytes | None:
        """What a member with this ``config`` that owns ``owned`` sends in its subscription; None for nothing.

        Raises:
            AssignmentError: a setting is not a whole number within its bounds.
        """
        if self.writer is None:
            return None
        return self.writer({setting.name: setting.of(config) for setting in self.config}, owned)

    def roster(self, group: GroupSubscription) -> Roster:
        """``group`` as this strategy reads it.

        Raises:
            AssignmentError: a member id appears twice, or a configured value is out of bounds.
        """
        return call_the_roll(group, self.config, self.reader)

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        """Decide who owns what. What is wrong with one member's user data, or a topic, is reported and never raised.

        Raises:
            AssignmentError: as `roster`.
        """
        roster = self.roster(group)
        plan = self.plan(roster)
        target = _by_member_id(roster, plan)
        members, revoking = target, {}
        if self.protocol is RebalanceProtocol.COOPERATIVE:
            now, held = withhold(roster, plan)
            members = _by_member_id(roster, now)
            revoking = {member: topics for member, topics in _by_member_id(roster, held).items() if topics}
        return GroupAssignment(
            members=members,
            target=target,
            revoking=revoking,
            unknown_topics=roster.unknown_topics,
            user_data_errors=roster.user_data_errors,
        )

    def targets(self, group: GroupSubscription) -> dict[str, int]:
        """Member id -> the most partitions it has in an assignment that keeps this strategy's promise.

        Raises:
            AssignmentError: as `roster`.
        """
        roster = self.roster(group)
        promise = self.promise(roster)
        kept = best(roster, promise)
        targets = promise.floors if kept is None else promise.targets(kept[0])
        return {member.member_id: target for member, target in zip(roster.members, targets, strict=True)}


def _by_member_id(roster: Roster, plan: Plan) -> dict[str, TopicPartitions]:
    return {
        member.member_id: {topic: given[topic] for topic in sorted(given)}
        for member, given in zip(roster.members, plan, strict=True)
    }
