"""Kafka's error codes that the agent acts on, under their names in Kafka."""

from __future__ import annotations

__all__ = [
    "COORDINATOR_MOVED",
    "FENCED_INSTANCE_ID",
    "FENCED_MEMBER_EPOCH",
    "GROUP_AUTHORIZATION_FAILED",
    "GROUP_ID_NOT_FOUND",
    "INCONSISTENT_GROUP_PROTOCOL",
    "INVALID_RECORD",
    "LEADER_NOT_AVAILABLE",
    "MEMBER_ID_REQUIRED",
    "NOT_COORDINATOR",
    "NO_ERROR",
    "REBALANCE_IN_PROGRESS",
    "STALE_MEMBER_EPOCH",
    "TELEMETRY_TOO_LARGE",
    "THROTTLING_QUOTA_EXCEEDED",
    "UNKNOWN_MEMBER_ID",
    "UNKNOWN_SUBSCRIPTION_ID",
    "UNRELEASED_INSTANCE_ID",
    "UNSUPPORTED_COMPRESSION_TYPE",
    "UNSUPPORTED_VERSION",
]

NO_ERROR = 0
LEADER_NOT_AVAILABLE = 5
"""Some partition of the topic has no leader at the moment."""
INCONSISTENT_GROUP_PROTOCOL = 23
NOT_COORDINATOR = 16
UNKNOWN_MEMBER_ID = 25
REBALANCE_IN_PROGRESS = 27
GROUP_AUTHORIZATION_FAILED = 30
UNSUPPORTED_VERSION = 35
GROUP_ID_NOT_FOUND = 69
"""The group does not exist, or has another protocol."""
UNSUPPORTED_COMPRESSION_TYPE = 76
MEMBER_ID_REQUIRED = 79
"""The answer to a first JoinGroup, with the member id to join with (KIP-394)."""
FENCED_INSTANCE_ID = 82
INVALID_RECORD = 87
THROTTLING_QUOTA_EXCEEDED = 89
FENCED_MEMBER_EPOCH = 110
"""The coordinator has another epoch of the member: it has to join again (KIP-848)."""
UNRELEASED_INSTANCE_ID = 111
"""A member, possibly the same one, has the instance id and has not left (KIP-848)."""
STALE_MEMBER_EPOCH = 113
"""A commit of an earlier epoch (KIP-848)."""
UNKNOWN_SUBSCRIPTION_ID = 117
"""The client pushed with an old subscription; it requests the new one at once (KIP-714)."""
TELEMETRY_TOO_LARGE = 118

COORDINATOR_MOVED = frozenset({14, 15, NOT_COORDINATOR})
"""COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR: the request had no effect; any frame may be
sent again."""
