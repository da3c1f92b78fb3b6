"""The rights (ACLs) that each role needs, why, and what fails without them. Docs and `check` use this list.

Read and Write imply Describe (in Kafka's own authorizer), which is therefore not listed with them. Describe on Cluster
is never needed: brokers list the groups that a principal may describe.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rebalance_agent.cluster.acls import allow_command
from rebalance_agent.groupprotocol.coordinator_partition import OFFSETS_TOPIC
from rebalance_agent.runtime.settings.roles import AgentSettings, ObserverSettings

__all__ = ["ADMIN_ONLY", "EVERYTHING", "Right", "acl_command", "agent_rights"]

ADMIN_ONLY = "admin-only"
"""The degraded mode without the right to read the offsets topic."""

EVERYTHING = "*"
"""The resource name of a right to every topic or group."""


@dataclass(frozen=True, slots=True)
class Right:
    """One ACL, with what it is needed for (``why``) and what is ``lost`` without it.

    ``mode``: the degraded mode without it; several rights may have the same. ``some_do``: where the right is for
    `EVERYTHING`, rights to some resources (by prefix) are enough for these.
    """

    operation: Literal["Create", "Describe", "DescribeConfigs", "Read", "Write"]
    resource: Literal["Group", "Topic"]
    name: str
    mode: str
    why: str
    lost: str
    prefixed: bool = False
    some_do: bool = False

    def __str__(self) -> str:
        """The right in words, such as ``Read on Topic 'orders'``."""
        prefixed = "prefix " if self.prefixed else ""
        return f"{self.operation} on {self.resource} {prefixed}'{self.name}'"


def agent_rights(settings: AgentSettings) -> tuple[Right, ...]:
    """The rights that a role with these settings needs, most important first."""
    if isinstance(settings, ObserverSettings):
        return (
            *_group_rights(settings),
            *_event_rights(settings.events_topic, read=True),
            *_replica_rights(settings.replicas_group),
            *_state_rights(settings.state_topic),
            *_baselines_rights(settings.baselines_topic),
        )
    return _event_rights(settings.events_topic, read=False)


def _group_rights(settings: ObserverSettings) -> tuple[Right, ...]:
    some_do = settings.groups_allow != ".*"
    return (
        Right(
            "Read",
            "Topic",
            OFFSETS_TOPIC,
            ADMIN_ONLY,
            "the coordinator's own log: generations, assignments, what moved, when it ended",
            'groups are only described, source="admin": no generations, no aborted rebalances, no stalls',
        ),
        Right(
            "Describe",
            "Group",
            EVERYTHING,
            "groups-hidden",
            "sees classic rebalances begin (ListGroups), describes groups until the log was read",
            "a classic rebalance is seen only when it ends, so its stall is a wider bound; nothing is described; "
            "no skew by lag",
            some_do=some_do,
        ),
        Right(
            "Describe",
            "Topic",
            EVERYTHING,
            "topics-hidden",
            "partition counts and topic ids",
            "counts of hidden topics come from assignments: unassigned partitions and topic growth are not seen; "
            "topics of consumer, share and streams groups show by id",
            some_do=some_do,
        ),
        Right(
            "DescribeConfigs",
            "Topic",
            OFFSETS_TOPIC,
            "limit-unknown",
            "the largest record that the log may hold",
            "how near a group's record is to that limit is not shown (rebalance_agent_offsets_message_max_bytes)",
        ),
    )


def _event_rights(topic: str, *, read: bool) -> tuple[Right, ...]:
    if not topic:
        return ()
    write = Right(
        "Write",
        "Topic",
        topic,
        "events-unpublished",
        "publishes the events",
        "events are counted as dropped (rebalance_agent_events_dropped_total); metrics and log go on",
    )
    create = Right(
        "Create",
        "Topic",
        topic,
        "events-unpublished",
        "creates the topic where it is missing",
        "no events until somebody creates the topic",
    )
    read_reports = Right(
        "Read",
        "Topic",
        topic,
        "members-unheard",
        "reads what sidecars report of their members",
        "members' own times are not known: stalls stay bounds, callbacks and pods are not told",
    )
    return (write, read_reports, create) if read else (write, create)


def _replica_rights(group: str) -> tuple[Right, ...]:
    if not group:
        return ()
    why = "shares the groups to report with the other replicas"
    lost = "this replica gets no share and reports no group: /readyz is 503, part `ownership`"
    return (Right("Read", "Group", group, "unshared", why, lost),)


def _state_rights(topic: str) -> tuple[Right, ...]:
    if not topic:
        return ()
    lost = "each start reads the whole offsets topic, and rebalances that ended unwatched or unsettled are not told"
    return (
        Right("Write", "Topic", topic, "state-unsaved", "keeps snapshots to go on from after a restart", lost),
        Right("Read", "Topic", topic, "state-unsaved", "takes up the snapshots of its predecessor", lost),
        Right("Create", "Topic", topic, "state-unsaved", "creates the topic where it is missing", lost),
    )


def _baselines_rights(topic: str) -> tuple[Right, ...]:
    if not topic:
        return ()
    why = "takes up what the pipeline says is normal for each group, where one runs"
    return (Right("Read", "Topic", topic, "baselines-unread", why, "kafka_rebalance_stall_baseline_seconds is absent"),)


def acl_command(right: Right, principal: str, servers: str) -> str:
    """The ``kafka-acls.sh`` command that grants ``right`` to ``principal``."""
    return allow_command(right.operation, right.resource, right.name, principal, servers, prefixed=right.prefixed)
