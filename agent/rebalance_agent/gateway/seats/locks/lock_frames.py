"""Encodes and decodes the frames for locks: ConsumerGroupHeartbeat and ConsumerGroupDescribe of the helper group."""

from __future__ import annotations

from dataclasses import dataclass

from rebalance_agent.gateway.seats.locks.lock_acts import CLAIM, RELEASE, LockAnswer, LockBeat
from rebalance_agent.groupprotocol.coordinator_partition import with_the_coordinator_of
from rebalance_agent.groupprotocol.requests.consumer_group_describe import decode_description
from rebalance_agent.groupprotocol.requests.consumer_group_heartbeat import CONSUMER_HEARTBEAT, UNCHANGED
from rebalance_agent.groupprotocol.wire.error_codes import GROUP_ID_NOT_FOUND, NO_ERROR
from rebalance_agent.model.group import SEAT_LOCKS_PREFIX

__all__ = ["LockHolder", "heartbeat_frame", "helper_group", "holders", "read_heartbeat_answer"]

VERSION = CONSUMER_HEARTBEAT.versions[-1]
"""The first version in which members choose their own ids (KIP-1082); brokers since Kafka 4.0 have it."""

_JOINS = {"rebalance_timeout_ms": 60_000, "subscribed_topic_names": []}
"""Required fields of a member that joins; the coordinator never waits for a member without partitions."""
NOTE_CHARACTERS_MAX = 1_000
"""Longest note (characters); longer notes are ignored, since a description contains the notes of all locks."""


@dataclass(frozen=True, slots=True)
class LockHolder:
    """A lock that the coordinator has. ``released``: the next claim gets the lock, although the session continues.

    ``note``: the note of the lock's holder (`LockBeat`); None if there is none.
    """

    instance_id: str
    member_id: str
    released: bool
    note: str | None = None


def helper_group(group: str) -> str:
    """Return the id of the helper group with the locks of the seats of ``group``.

    The helper group has the same coordinator as ``group``, so that it can be reached on clients' connections.
    """
    return with_the_coordinator_of(group, f"{SEAT_LOCKS_PREFIX}{group}.")


def heartbeat_frame(group: str, beat: LockBeat, correlation_id: int, client_id: str) -> bytes:
    """Encode the request for a lock of ``group`` as a frame without its length.

    Raises:
        InvalidInputError: a name is too long.
    """
    fields = {
        **UNCHANGED,
        "group_id": helper_group(group),
        "member_id": beat.member_id,
        "member_epoch": beat.epoch,
        "instance_id": beat.instance_id,
        "rack_id": beat.note,
        **(_JOINS if beat.epoch == CLAIM else {}),
        # With none named, the member's previous epoch is accepted, too: an answer with a new one may be lost.
        "topic_partitions": None if beat.epoch == RELEASE else [],
    }
    return CONSUMER_HEARTBEAT.encode_request(VERSION, correlation_id, client_id, fields)


def read_heartbeat_answer(frame: bytes) -> LockAnswer:
    """Decode the response to `heartbeat_frame`, a frame without its length.

    Raises:
        DecodeError: the bytes are not such a response.
    """
    answer = CONSUMER_HEARTBEAT.decode_answer(VERSION, frame)
    return LockAnswer(answer["error_code"], answer["member_epoch"], answer["heartbeat_interval_ms"] / 1_000)


def holders(frame: bytes) -> tuple[LockHolder, ...] | None:
    """Read the locks from the response to a description of one helper group; None if the coordinator refused the lock.

    Raises:
        DecodeError: the bytes are not such a response.
    """
    groups = decode_description(frame)
    # The helper group exists once a gateway has claimed a lock.
    if len(groups) != 1 or groups[0]["error_code"] not in (NO_ERROR, GROUP_ID_NOT_FOUND):
        return None
    return tuple(
        LockHolder(
            member["instance_id"], member["member_id"], member["member_epoch"] == RELEASE, _note(member["rack_id"])
        )
        for member in groups[0]["members"]
        if member["instance_id"] is not None
    )


def _note(rack_id: str | None) -> str | None:
    return rack_id if rack_id is not None and len(rack_id) <= NOTE_CHARACTERS_MAX else None
