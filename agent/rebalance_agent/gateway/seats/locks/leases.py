"""The locks of seats as Kubernetes ``Lease`` objects (coordination.k8s.io/v1): a beat changes one object.

The API server refuses a change to an object with an outdated resource version; this serves as compare-and-set. A
gateway that has a lock changes the lock's Lease every few seconds. A Lease counts as expired if this gateway has seen
no change of it for `LEASE_SECONDS`, so the clocks of other machines do not matter.

The answers have the same error codes as the helper group's (`rebalance_agent.gateway.seats.locks`), so that the same
state machine handles them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rebalance_agent.gateway.seats.locks.lock_acts import CLAIM, RELEASE, LockAnswer, LockBeat
from rebalance_agent.gateway.seats.locks.lock_frames import NOTE_CHARACTERS_MAX, LockHolder
from rebalance_agent.groupprotocol.wire.error_codes import (
    FENCED_INSTANCE_ID,
    NO_ERROR,
    UNKNOWN_MEMBER_ID,
    UNRELEASED_INSTANCE_ID,
)

__all__ = ["GROUP_LABEL", "LEASE_SECONDS", "LeaseChange", "group_label", "lease_change", "lease_name", "lock_holder"]

LEASE_SECONDS = 45
"""Seconds without a change after which another gateway may take a lock: as long as a session in the helper group."""

GROUP_LABEL = "rebalance-agent/seats-of-group"
"""Name of the label of all locks of one group; the label's value is `group_label`."""

_INSTANCE, _MEMBER, _NOTE, _GROUP = (f"rebalance-agent/{name}" for name in ("seat", "member", "note", "group"))
_HASH_CHARACTERS = 40
_GRANTED_EPOCH = 1


@dataclass(frozen=True, slots=True)
class LeaseChange:
    """``lease``: the object to be stored, None for no change; ``answer``: the answer to the beat once it is stored."""

    answer: LockAnswer
    lease: dict[str, Any] | None = None


def group_label(group: str) -> str:
    """Return the label value for a group; the group's name itself may contain characters that labels cannot."""
    return hashlib.sha256(group.encode()).hexdigest()[:_HASH_CHARACTERS]


def lease_name(group: str, instance_id: str) -> str:
    """Return the name of the object for a lock."""
    digest = hashlib.sha256(f"{group}\0{instance_id}".encode()).hexdigest()
    return f"rebalance-agent-seat-{digest[:_HASH_CHARACTERS]}"


def lease_change(
    lease: Mapping[str, Any] | None, group: str, beat: LockBeat, now: str, *, expired: bool = False
) -> LeaseChange:
    """Return the change that ``beat`` makes to the current ``lease`` (None if there is none), and the beat's answer.

    ``now``: the time in Kubernetes' format. ``expired``: the lease did not change for `LEASE_SECONDS`.
    """
    holder = None if lease is None else lease.get("spec", {}).get("holderIdentity")
    if beat.epoch == CLAIM:
        if holder not in (None, "", beat.member_id) and not expired:
            return LeaseChange(LockAnswer(UNRELEASED_INSTANCE_ID))
        return LeaseChange(LockAnswer(NO_ERROR, _GRANTED_EPOCH), _lease(lease, group, beat, beat.member_id, now))
    if lease is None:
        return LeaseChange(LockAnswer(UNKNOWN_MEMBER_ID))
    if holder != beat.member_id:
        return LeaseChange(LockAnswer(FENCED_INSTANCE_ID if beat.epoch == RELEASE else UNKNOWN_MEMBER_ID))
    keeps = None if beat.epoch == RELEASE else beat.member_id
    return LeaseChange(LockAnswer(NO_ERROR, beat.epoch), _lease(lease, group, beat, keeps, now))


def lock_holder(lease: Mapping[str, Any]) -> LockHolder | None:
    """Return the lock that an object describes; None if the object is damaged or belongs to another program."""
    notes = lease.get("metadata", {}).get("annotations") or {}
    instance_id, member_id = notes.get(_INSTANCE), notes.get(_MEMBER)
    if not (isinstance(instance_id, str) and isinstance(member_id, str)):
        return None
    note = notes.get(_NOTE)
    known = isinstance(note, str) and len(note) <= NOTE_CHARACTERS_MAX
    return LockHolder(instance_id, member_id, not lease.get("spec", {}).get("holderIdentity"), note if known else None)


def _lease(
    before: Mapping[str, Any] | None, group: str, beat: LockBeat, holder: str | None, now: str
) -> dict[str, Any]:
    metadata = dict((before or {}).get("metadata", {}))
    notes = dict(metadata.get("annotations") or {})
    notes |= {_INSTANCE: beat.instance_id, _MEMBER: beat.member_id, _GROUP: group}
    if beat.note is not None:
        notes[_NOTE] = beat.note
    elif beat.epoch == CLAIM:
        notes.pop(_NOTE, None)
    metadata |= {"name": lease_name(group, beat.instance_id), "annotations": notes}
    metadata["labels"] = {**(metadata.get("labels") or {}), GROUP_LABEL: group_label(group)}
    spec = {"leaseDurationSeconds": LEASE_SECONDS, "renewTime": now}
    if holder is not None:
        spec["holderIdentity"] = holder
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
