"""Lists the permissions (ACLs) that each role needs, with purposes and losses. Docs and `check` use this list.

In Kafka's own authorizer, Read and Write imply Describe, which is therefore not listed in addition. Describe on Cluster
is never needed: brokers list the groups that a principal may describe.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from rebalance_agent.cluster.acls import allow_command
from rebalance_agent.groupprotocol.coordinator_partition import OFFSETS_TOPIC
from rebalance_agent.runtime.settings.roles import AgentSettings, ObserverSettings

__all__ = [
    "ADMIN_ONLY",
    "BLIND_MODES",
    "EPOCHS_HIDDEN",
    "EVERYTHING",
    "Right",
    "acl_command",
    "agent_rights",
    "may_be_blind",
]

ADMIN_ONLY = "admin-only"
"""The degraded mode of an observer without permission to read the offsets topic."""

EPOCHS_HIDDEN = "epochs-hidden"
"""The degraded mode of an observer that reads no records of groups and cannot describe groups with epochs."""

BLIND_MODES = (ADMIN_ONLY, "groups-hidden")
"""The degraded modes that together leave no way to see a group."""

EVERYTHING = "*"
"""The resource name of a permission on every topic or group."""


@dataclass(frozen=True, slots=True)
class Right:
    """One ACL, with its purpose (``why``) and the loss without it (``lost``).

    ``mode``: the degraded mode without the permission; several permissions may have the same mode. It is empty if the
    permission is optional. ``some_do``: if the permission is for `EVERYTHING`, permissions on some resources (with a
    prefix) suffice for these resources.
    """

    operation: Literal["Create", "Describe", "DescribeConfigs", "Read", "Write"]
    resource: Literal["Group", "Topic"]
    name: str
    mode: str
    why: str
    lost: str
    prefixed: bool = False
    some_do: bool = False

    @property
    def optional(self) -> bool:
        """Whether the role is complete without the permission, for example because few clusters need it."""
        return not self.mode

    def __str__(self) -> str:
        """The permission in words, such as ``Read on Topic 'orders'``."""
        prefixed = "prefix " if self.prefixed else ""
        return f"{self.operation} on {self.resource} {prefixed}'{self.name}'"


def agent_rights(settings: AgentSettings) -> tuple[Right, ...]:
    """Return the permissions that a role with these settings needs, most important first."""
    events = _event_rights(settings.published_topic)
    if isinstance(settings, ObserverSettings):
        write, create = events
        lost = "members' own measurements are missing: stalls are bounds; callback times and pods are unknown"
        why = "reads the sidecars' reports about their members"
        read = Right("Read", "Topic", settings.events_topic, "members-unheard", why, lost)
        of_groups = [right for right in _group_rights(settings) if settings.reads_log or right.name != OFFSETS_TOPIC]
        events = (*of_groups, write, read, create, *_topic_rights(settings), _settings_right(settings))
    return tuple(right for right in events if right.name)


def _group_rights(settings: ObserverSettings) -> tuple[Right, ...]:
    some_do = _shows_some(settings)
    return (
        Right(
            "Read",
            "Topic",
            OFFSETS_TOPIC,
            ADMIN_ONLY,
            "reads the coordinator's own log: generations, assignments, moved partitions, end times",
            'classic groups are only polled, source="admin": no generations, no aborted rebalances, no stalls',
        ),
        Right(
            "Describe",
            "Group",
            EVERYTHING,
            "groups-hidden",
            "detects the start of classic rebalances (ListGroups); shows groups before the log is read completely; "
            "requests the lag of share groups",
            "a classic rebalance is detected only when it ends, so its stall has wider bounds; groups are not "
            "described; no skew by lag; no lag of share groups",
            some_do=some_do,
        ),
        Right(
            "Describe",
            "Topic",
            EVERYTHING,
            "topics-hidden",
            "reads partition counts, topic ids, and the times of the last records that departed members read",
            "partition counts of hidden topics come from assignments: unassigned and new partitions are not detected; "
            "topics of consumer, share and streams groups appear as ids; stalls after a member left have higher upper "
            "bounds",
            some_do=some_do,
        ),
        Right(
            "DescribeConfigs",
            "Topic",
            OFFSETS_TOPIC,
            "limit-unknown",
            "reads the size limit of the log's records",
            "the limit is unknown: the metric rebalance_agent_offsets_message_max_bytes is absent",
        ),
    )


def _settings_right(settings: ObserverSettings) -> Right:
    """Return the optional permission. It is the last, since kafka-acls.sh of Kafka 3.9 refuses its command."""
    return Right(
        "DescribeConfigs",
        "Group",
        EVERYTHING,
        "",
        "reads which share groups have a dead letter queue (Kafka 4.4)",
        "dead letter queues of share groups are not shown",
        some_do=_shows_some(settings),
    )


def _shows_some(settings: ObserverSettings) -> bool:
    return settings.groups_allow != ".*"


def _event_rights(topic: str) -> tuple[Right, ...]:
    mode = "events-unpublished"
    lost = "events are counted as dropped (rebalance_agent_events_dropped_total); metrics and logs still work"
    uncreated = "no events until the topic is created"
    return (
        Right("Write", "Topic", topic, mode, "publishes the events", lost),
        Right("Create", "Topic", topic, mode, "creates the topic if it is missing", uncreated),
    )


def _topic_rights(settings: ObserverSettings) -> tuple[Right, ...]:
    """Return the permissions on the replicas' group and the observer's own topics; unused ones have no name."""
    group, state, baselines = settings.replicas_group, settings.snapshots_topic, settings.baselines_topic
    shares = "shares the groups with the other replicas"
    unshared = "this replica owns no partition and reports no group: /readyz responds with 503 (part `ownership`)"
    lost = (
        "each start reads the whole offsets topic; rebalances that ended or settled while the observer was down are "
        "not reported"
    )
    normal = "reads each group's baselines, if the pipeline runs"
    absent = "kafka_rebalance_stall_baseline_seconds is absent"
    return (
        Right("Read", "Group", group, "unshared", shares, unshared),
        Right("Write", "Topic", state, "state-unsaved", "writes snapshots for the next start", lost),
        Right("Read", "Topic", state, "state-unsaved", "reads the snapshots of the previous process", lost),
        Right("Create", "Topic", state, "state-unsaved", "creates the topic if it is missing", lost),
        Right("Read", "Topic", baselines, "baselines-unread", normal, absent),
    )


def may_be_blind(rights: Iterable[Right]) -> bool:
    """Return whether no group is visible if all these ``rights`` are missing."""
    return {*BLIND_MODES} <= {right.mode for right in rights}


def acl_command(right: Right, principal: str, servers: str) -> str:
    """Return the ``kafka-acls.sh`` command that grants ``right`` to ``principal``."""
    return allow_command(right.operation, right.resource, right.name, principal, servers, prefixed=right.prefixed)
