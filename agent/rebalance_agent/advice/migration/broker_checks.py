"""Findings about the brokers' settings: what brokers refuse, and what they decide instead of the members."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_agent.advice.migration.broker_limits import POLICY, BrokerLimits
from rebalance_agent.advice.migration.migrating_group import MigratingGroup
from rebalance_agent.advice.migration.migration_findings import MigrationFinding, Subject, Verdict
from rebalance_agent.model.group import GroupType

__all__ = ["broker_findings"]

RESTART_ALL = "or stop all members and start the new ones, which brokers always allow"


def broker_findings(group: MigratingGroup, limits: BrokerLimits, assignor: str | None) -> Iterator[MigrationFinding]:
    """Yield the findings for ``group``; ``assignor``: the new members' assignor, None for the brokers' default."""
    yield from _protocol(limits)
    if group.members:
        yield from _policy(group, limits)
        yield from _size(group, limits)
    yield from _assignor(group, limits, assignor)


def _protocol(limits: BrokerLimits) -> Iterator[MigrationFinding]:
    upgrade = "kafka-features.sh upgrade --feature group.version=1"
    if limits.supported is None:
        yield MigrationFinding(
            Subject.PROTOCOL,
            Verdict.UNKNOWN,
            "The cluster's feature group.version must be 1 or more, but its value could not be read"
            f"{f': {limits.version_problem}' if limits.version_problem else ''}",
            f"`kafka-features.sh describe` shows the value. If it is 0, run `{upgrade}`.",
        )
    elif limits.supported is False and limits.excluded:
        text = "The brokers do not run the consumer protocol"
        setting = "group.coordinator.rebalance.protocols=classic,consumer"
        yield MigrationFinding(Subject.PROTOCOL, Verdict.BLOCKS, text, f"Start the brokers with {setting}.", setting)
    elif limits.supported is False:
        text = "The cluster does not allow the consumer protocol: its feature group.version is 0"
        yield MigrationFinding(Subject.PROTOCOL, Verdict.BLOCKS, text, f"Run `{upgrade}`.", "group.version=1")


def _policy(group: MigratingGroup, limits: BrokerLimits) -> Iterator[MigrationFinding]:
    classic = group.group_type is GroupType.CLASSIC
    setting = f"{POLICY}=bidirectional"
    if classic and limits.upgrades is None:
        yield MigrationFinding(
            Subject.POLICY,
            Verdict.UNKNOWN,
            f"The brokers' {POLICY} could not be read",
            "It must be bidirectional (the default) or upgrade. To read it, this principal needs DescribeConfigs on "
            "the cluster.",
        )
    elif classic and not limits.upgrades:
        text = f"The brokers do not allow a change to the consumer protocol: {POLICY} is {limits.policy}"
        fix = f"Start the brokers with {setting}, {RESTART_ALL}."
        yield MigrationFinding(Subject.POLICY, Verdict.BLOCKS, text, fix, setting)
    if limits.downgrades is False:
        text = (
            f"Members cannot go back one by one: {POLICY} is {limits.policy}, so the group does not become classic "
            "again"
        )
        fix = f"Start the brokers with {setting}; otherwise stop all members before you go back."
        yield MigrationFinding(Subject.WAY_BACK, Verdict.CHANGES, text, fix, setting)


def _size(group: MigratingGroup, limits: BrokerLimits) -> Iterator[MigrationFinding]:
    size, size_max = len(group.members), limits.max_size
    if size_max is None or size < size_max:
        return
    setting = f"group.consumer.max.size={size + 1}"
    text = f"The group has {size} members, and brokers allow at most {size_max} in a group of the consumer protocol"
    if size > size_max:
        fix = f"Start the brokers with {setting}, or stop members, {RESTART_ALL}."
        yield MigrationFinding(Subject.SIZE, Verdict.BLOCKS, text, fix, setting)
    elif all(member.instance_id is not None for member in group.members):
        if not limits.counts_successors:
            return
        text += ". A static member stays in the group until its session ends, so its successor is an additional member"
        yield MigrationFinding(
            Subject.SIZE, Verdict.BLOCKS, text, f"Start the brokers with {setting}, {RESTART_ALL}.", setting
        )
    else:
        fix = f"Stop each member before its successor starts, or start the brokers with {setting}."
        yield MigrationFinding(Subject.SIZE, Verdict.CHANGES, text, fix, setting)


def _assignor(group: MigratingGroup, limits: BrokerLimits, assignor: str | None) -> Iterator[MigrationFinding]:
    names = limits.assignors
    if assignor is not None and names and assignor not in names:
        yield MigrationFinding(
            Subject.ASSIGNOR,
            Verdict.BLOCKS,
            f"The brokers have no assignor {assignor}; they have {', '.join(names)}",
            f"Use one of these in group.remote.assignor, or install {assignor} and add it to group.consumer.assignors.",
            f"group.remote.assignor={names[0]}",
        )
        return
    chosen = assignor or (names[0] if names else "uniform")
    if group.assignor is None or group.assignor == chosen:
        return
    keep = group.assignor in names
    setting = f"group.remote.assignor={group.assignor}" if keep else None
    fix = f"The new members keep it with {setting}." if keep else ""
    text = f"The brokers assign with {chosen}; the members' {group.assignor} is no longer used"
    yield MigrationFinding(Subject.ASSIGNOR, Verdict.CHANGES, text, fix, setting)
