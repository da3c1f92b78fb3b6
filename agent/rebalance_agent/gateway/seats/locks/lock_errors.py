"""Maps errors of the coordinator to the loss of a lock."""

from __future__ import annotations

from rebalance_agent.gateway.seats.locks.lock_acts import LockLoss
from rebalance_agent.groupprotocol.wire.error_codes import (
    FENCED_INSTANCE_ID,
    GROUP_AUTHORIZATION_FAILED,
    UNKNOWN_MEMBER_ID,
    UNRELEASED_INSTANCE_ID,
    UNSUPPORTED_VERSION,
)

__all__ = ["loss_of", "loss_text"]

_LOSSES = {
    UNKNOWN_MEMBER_ID: LockLoss.LOST,
    GROUP_AUTHORIZATION_FAILED: LockLoss.FORBIDDEN,
    31: LockLoss.FORBIDDEN,  # CLUSTER_AUTHORIZATION_FAILED
    UNSUPPORTED_VERSION: LockLoss.UNSUPPORTED,
    69: LockLoss.LOST,  # GROUP_ID_NOT_FOUND: no lock exists
    81: LockLoss.FULL,  # GROUP_MAX_SIZE_REACHED
    FENCED_INSTANCE_ID: LockLoss.LOST,
    110: LockLoss.LOST,  # FENCED_MEMBER_EPOCH
    UNRELEASED_INSTANCE_ID: LockLoss.TAKEN,
}
_TEXTS = {
    LockLoss.TAKEN: "another gateway has the lock",
    LockLoss.LOST: "the coordinator ended the lock",
    LockLoss.NOT_CONFIRMED: "the coordinator did not respond in time",
    LockLoss.FULL: "there are too many locks",
    LockLoss.UNSUPPORTED: "the cluster has no consumer groups of KIP-848: it needs group.version 1 or higher",
    LockLoss.FORBIDDEN: "the consumers' user needs Read on this group",
    LockLoss.REFUSED: "the coordinator refused the lock",
}


def loss_of(error: int) -> LockLoss:
    """Return the loss that ``error`` means; ``error`` is neither `NO_ERROR` nor one of `COORDINATOR_MOVED`."""
    return _LOSSES.get(error, LockLoss.REFUSED)


def loss_text(helper_group: str, loss: LockLoss, error: int) -> str:
    """Return a sentence for a log: the helper group, the problem, and Kafka's error code if there is one."""
    return f"{helper_group}: {_TEXTS[loss]}{f' (error {error})' if error else ''}"
