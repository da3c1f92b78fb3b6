"""Decides whether a group can change to the consumer protocol (KIP-848) online, and with what effects. Pure.

The brokers' refusals were measured on Kafka 4.3.0 and 4.4.0; ``tests/slow/migration`` repeats the measurement,
and ``docs/migrate.md`` lists the refusals. A group without members can always change, because brokers replace the empty
group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rebalance_agent.advice.migration.broker_checks import broker_findings
from rebalance_agent.advice.migration.broker_limits import BrokerLimits
from rebalance_agent.advice.migration.client_checks import none_able
from rebalance_agent.advice.migration.member_checks import member_findings
from rebalance_agent.advice.migration.migrating_group import MigratingGroup
from rebalance_agent.advice.migration.migration_findings import MigrationFinding, Subject, Verdict
from rebalance_agent.groupprotocol.classic_group import CONSUMER_PROTOCOL_TYPE
from rebalance_agent.model.group import GroupType

__all__ = ["MigrationReadiness", "MigrationWishes", "readiness"]


@dataclass(frozen=True, slots=True)
class MigrationWishes:
    """The wishes for the new members: their ``assignor`` (None: the brokers' default) and topic ``patterns``."""

    assignor: str | None = None
    patterns: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class MigrationReadiness:
    """The answer for one ``group``. ``findings``: what was found, blocking findings first.

    ``online``: whether the members can be replaced one by one while the others work; None if that is not known.
    ``done``: all members already use the consumer protocol. ``none_able``: each classic member is known to have a
    client without the consumer protocol; ``online`` considers only the brokers. ``online_back``: whether the group
    becomes classic when its last member with the consumer protocol leaves; None if that is not known.
    """

    group: MigratingGroup
    findings: tuple[MigrationFinding, ...]
    online: bool | None
    done: bool
    none_able: bool = False
    online_back: bool | None = None

    @property
    def can_change(self) -> bool | None:
        """Whether at least one member can change, with its client; None if a requirement is unknown."""
        if self.done:
            return True
        if self.online is False or self.none_able:
            return False
        return None if self.online is None or self.of(Verdict.UNKNOWN) else True

    def of(self, verdict: Verdict) -> tuple[MigrationFinding, ...]:
        """Return the findings with this ``verdict``."""
        return tuple(finding for finding in self.findings if finding.verdict is verdict)


def readiness(group: MigratingGroup, limits: BrokerLimits, wishes: MigrationWishes | None = None) -> MigrationReadiness:
    """Return whether ``group`` can change to the consumer protocol online under ``limits``."""
    wishes = wishes or MigrationWishes()
    findings = [*_of_type(group)]
    if not findings:
        findings = [
            *broker_findings(group, limits, wishes.assignor),
            *member_findings(group, limits, wishes.patterns),
        ]
    order = list(Verdict)
    findings.sort(key=lambda finding: order.index(finding.verdict))
    blocked = any(finding.verdict is Verdict.BLOCKS for finding in findings)
    sure = limits.upgrades is not None or not group.members or group.group_type is GroupType.CONSUMER
    done = group.group_type is GroupType.CONSUMER and not group.of(GroupType.CLASSIC)
    online = False if blocked else True if sure else None
    return MigrationReadiness(group, tuple(findings), online, done, none_able(group), limits.downgrades)


def _of_type(group: MigratingGroup) -> Iterator[MigrationFinding]:
    """Yield the finding for groups that do not consist of consumers; nothing else is checked for them."""
    if group.group_type in {GroupType.SHARE, GroupType.STREAMS}:
        yield MigrationFinding(
            Subject.GROUP_TYPE,
            Verdict.BLOCKS,
            f"It is a {group.group_type} group, not a consumer group",
            "Only consumer groups can migrate to the consumer protocol.",
        )
    elif group.group_type is GroupType.CLASSIC and group.members and group.protocol_type != CONSUMER_PROTOCOL_TYPE:
        yield MigrationFinding(
            Subject.PROTOCOL_TYPE,
            Verdict.BLOCKS,
            f"Its members are not consumers: the type of their protocol is {group.protocol_type or 'empty'}",
            "Such groups stay classic.",
        )
