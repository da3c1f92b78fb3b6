"""Findings about the members: what a broker cannot take over from them, and what changes for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rebalance_agent.advice.client_kinds import ClientKind
from rebalance_agent.advice.migration.broker_checks import RESTART_ALL
from rebalance_agent.advice.migration.broker_limits import BrokerLimits
from rebalance_agent.advice.migration.client_checks import (
    NEW_PROTOCOL,
    client_findings,
    client_kinds,
    names_of,
)
from rebalance_agent.advice.migration.migrating_group import MigratingGroup
from rebalance_agent.advice.migration.migration_findings import MigrationFinding, Subject, Verdict
from rebalance_agent.advice.migration.re2_patterns import not_in_re2
from rebalance_agent.model.group import GroupType, is_cooperative

__all__ = ["member_findings"]


def member_findings(group: MigratingGroup, limits: BrokerLimits, patterns: Sequence[str]) -> Iterator[MigrationFinding]:
    """Yield the findings; ``patterns``: the topic patterns of the new members."""
    if group.group_type is GroupType.CLASSIC:
        yield from _unreadable(group)
        yield from _user_data(group)
        yield from _timeouts(group, limits)
    yield from _patterns(patterns)
    yield from client_findings(group)
    yield from _static(group)
    yield from _mixed(group, limits)


def _unreadable(group: MigratingGroup) -> Iterator[MigrationFinding]:
    if members := [member for member in group.members if member.malformed]:
        yield MigrationFinding(
            Subject.MALFORMED,
            Verdict.BLOCKS,
            f"Brokers cannot read the subscription or the assignment of {names_of(members)}",
            f"Restart {'it' if len(members) == 1 else 'them'} with one of Kafka's assignors, {RESTART_ALL}.",
            "partition.assignment.strategy=range",
        )


def _user_data(group: MigratingGroup) -> Iterator[MigrationFinding]:
    if members := [member for member in group.members if member.assignment_user_data]:
        yield MigrationFinding(
            Subject.USER_DATA,
            Verdict.BLOCKS,
            f"The leader writes user data into assignments of {group.assignor} (to {names_of(members)}). Brokers would "
            "lose this data, and therefore reject the change",
            *_without_user_data(group),
        )


def _without_user_data(group: MigratingGroup) -> tuple[str, str]:
    """Return what to do about user data in assignments, and the setting: it depends on the members' libraries.

    librdkafka's leader copies the user data of cooperative subscriptions into assignments.
    """
    rolling = (
        "two rolling restarts to an assignor without user data, such as range: first with both assignors in "
        "partition.assignment.strategy, then with the new assignor alone"
    )
    stop = f"stop all members and start them with {NEW_PROTOCOL}, which brokers always allow"
    kinds = list(client_kinds(group).values()) if is_cooperative(group.assignor or "") else []
    if not any(ClientKind.LIBRDKAFKA in some for some in kinds):
        return f"Use {rolling}; {RESTART_ALL}.", "partition.assignment.strategy=range"
    why = "librdkafka rejects a list of eager and cooperative assignors"
    if all(some == (ClientKind.LIBRDKAFKA,) for some in kinds):
        return f"{stop[0].upper()}{stop[1:]}: {why}.", NEW_PROTOCOL
    return f"If members use librdkafka, {stop}: {why}. Other clients: {rolling}.", NEW_PROTOCOL


def _timeouts(group: MigratingGroup, limits: BrokerLimits) -> Iterator[MigrationFinding]:
    timeouts = sorted({member.session_timeout_ms for member in group.members if member.session_timeout_ms})
    theirs = limits.session_timeout_ms
    if not timeouts or theirs is None or timeouts == [theirs]:
        return
    longest = timeouts[-1]
    was = f"{timeouts[0]} ms" if len(timeouts) == 1 else f"{timeouts[0]} ms to {longest} ms"
    text = f"The brokers decide the session timeout: {theirs} ms instead of {was}"
    bounds = limits.session_timeouts_ms
    setting = f"consumer.session.timeout.ms={longest}"
    command = f"set {setting} for the group (kafka-configs.sh --entity-type groups)"
    fix = f"To keep it, {command}."
    if bounds and not bounds[0] <= longest <= bounds[1]:
        end, name = (bounds[1], "max") if longest > bounds[1] else (bounds[0], "min")
        setting = f"group.consumer.{name}.session.timeout.ms={longest}"
        bound, change = ("at most", "raise") if name == "max" else ("at least", "lower")
        fix = f"Brokers allow {bound} {end} ms. To keep {longest} ms, first {change} that limit ({setting}), "
        fix += f"then {command}."
    yield MigrationFinding(Subject.TIMEOUTS, Verdict.CHANGES, text, fix, setting)


def _patterns(patterns: Sequence[str]) -> Iterator[MigrationFinding]:
    for pattern in patterns:
        if problem := not_in_re2(pattern):
            text = f"The pattern {pattern} has {problem}, which brokers do not support (RE2)"
            fix = "Write the pattern without it, or subscribe to topics by name."
            yield MigrationFinding(Subject.PATTERNS, Verdict.BLOCKS, text, fix)


def _static(group: MigratingGroup) -> Iterator[MigrationFinding]:
    if members := [member for member in group.of(GroupType.CLASSIC) if member.instance_id is not None]:
        yield MigrationFinding(
            Subject.STATIC,
            Verdict.CHANGES,
            "A new member with the instance id of a running member fences that member immediately "
            f"({names_of(members)})",
            "Stop each static member before its successor starts.",
        )


def _mixed(group: MigratingGroup, limits: BrokerLimits) -> Iterator[MigrationFinding]:
    classic, new = group.of(GroupType.CLASSIC), group.of(GroupType.CONSUMER)
    if classic and new:
        back = "; if the new ones leave, the group becomes classic again" if limits.downgrades else ""
        text = f"The migration is under way: {len(classic)} of {len(group.members)} members are classic{back}"
        yield MigrationFinding(Subject.MIXED, Verdict.CHANGES, text, "Replace the classic members, one by one.")
