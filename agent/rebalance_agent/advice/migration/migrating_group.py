"""The facts that decide whether a group can change to the consumer protocol (KIP-848), from the group's records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.classic_group import CONSUMER_PROTOCOL_TYPE
from rebalance_agent.groupprotocol.consumer_protocol import decode_assignment, decode_subscription
from rebalance_agent.groupprotocol.records import Record
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.reported.member_software import ClientSoftware

__all__ = ["MigratingGroup", "MigratingGroupRecords", "MigratingMember"]

_T = TypeVar("_T")

_STABLE = 0
"""The state of a member that has received its assignment."""

_OTHER_TYPES = {
    "share_group_metadata": GroupType.SHARE,
    "streams_group_metadata": GroupType.STREAMS,
}
"""Kind of record -> the type of group that the record describes, for groups that do not consist of consumers."""


@dataclass(frozen=True, slots=True)
class MigratingMember:
    """One member. ``protocol``: the protocol of its requests, which may be classic in a group of type consumer.

    ``topics``: None if the subscription cannot be decoded, empty if the member subscribes only by a pattern.
    ``malformed``: the member's subscription or assignment is not in the consumer protocol's form.
    ``assignment_user_data``: bytes of user data that the assignor wrote for the member. ``user_data``: bytes of user
    data in the subscription. ``settled``: in a group of type consumer, the member has its assignment of the newest
    epoch, and nothing to revoke. ``software``: the client library, if it is reported.
    """

    member_id: str
    client_id: str
    protocol: GroupType
    instance_id: str | None = None
    topics: tuple[str, ...] | None = ()
    session_timeout_ms: int | None = None
    malformed: bool = False
    assignment_user_data: int = 0
    user_data: bytes | None = None
    settled: bool = True
    software: ClientSoftware | None = None


@dataclass(frozen=True, slots=True)
class MigratingGroup:
    """The state of a group according to its last records; a group without ``members`` is empty.

    ``protocol_type`` and ``assignor`` describe a classic group; the assignors of other groups are not read.
    """

    group: str
    group_type: GroupType
    members: tuple[MigratingMember, ...] = ()
    protocol_type: str = CONSUMER_PROTOCOL_TYPE
    assignor: str | None = None

    def of(self, protocol: GroupType) -> tuple[MigratingMember, ...]:
        """Return the members that use ``protocol``."""
        return tuple(member for member in self.members if member.protocol is protocol)

    def with_software(self, software: Mapping[str, ClientSoftware]) -> MigratingGroup:
        """Return the group with the client libraries of its members, by member id."""
        members = (replace(member, software=software.get(member.member_id)) for member in self.members)
        return replace(self, members=tuple(members))


@dataclass(slots=True)
class MigratingGroupRecords:
    """Processes the records of the group ``name``; records of other groups are ignored."""

    name: str
    _classic: MigratingGroup | None = None
    _epoch: int | None = None
    _settled: dict[str, int] = field(default_factory=dict)
    _members: dict[str, MigratingMember] = field(default_factory=dict)
    _other: GroupType | None = None

    @property
    def epoch(self) -> int | None:
        """The group epoch; None if the group does not have the consumer protocol."""
        return self._epoch

    @property
    def present(self) -> MigratingGroup | None:
        """The group after the records so far; None if there is no group of that name."""
        if self._epoch is not None:
            members = (
                replace(member, settled=self._settled.get(member_id) == self._epoch)
                for member_id, member in self._members.items()
            )
            return MigratingGroup(self.name, GroupType.CONSUMER, tuple(members))
        if self._other is not None:
            return MigratingGroup(self.name, self._other)
        return self._classic

    def apply(self, record: Record) -> bool:
        """Process a ``record``; return whether it may have changed `present`."""
        if record.group != self.name or record.unknown:
            return False
        if record.kind == "group_metadata":
            self._classic = None if record.value is None else _classic(self.name, record.value)
        elif record.kind == "consumer_group_metadata":
            self._epoch = None if record.value is None else record.value["epoch"]
        elif record.kind == "consumer_group_target_assignment_metadata" and record.tombstone:
            # The brokers delete the group; the tombstones of its members and of its epoch follow.
            self._epoch = None
        elif record.kind == "consumer_group_member_metadata":
            member_id = str(record.key["member_id"])
            self._members.pop(member_id, None)
            if record.value is not None:
                self._members[member_id] = _epoch_member(member_id, record.value)
        elif record.kind == "consumer_group_current_member_assignment":
            self._settled.pop(str(record.key["member_id"]), None)
            if record.value is not None and record.value["state"] == _STABLE:
                self._settled[str(record.key["member_id"])] = record.value["member_epoch"]
        elif record.kind in _OTHER_TYPES:
            self._other = None if record.tombstone else _OTHER_TYPES[record.kind]
        else:
            return False
        return True


def _classic(group: str, value: Mapping[str, Any]) -> MigratingGroup:
    protocol_type = value["protocol_type"]
    consumers = protocol_type == CONSUMER_PROTOCOL_TYPE
    return MigratingGroup(
        group,
        GroupType.CLASSIC,
        tuple(_classic_member(fields, consumers=consumers) for fields in value["members"]),
        protocol_type,
        value["protocol"],
    )


def _classic_member(fields: Mapping[str, Any], *, consumers: bool) -> MigratingMember:
    subscription = _read(decode_subscription, fields["subscription"]) if consumers else None
    assigned = fields["assignment"]
    assignment = _read(decode_assignment, assigned) if consumers else None
    return MigratingMember(
        fields["member_id"],
        fields["client_id"],
        GroupType.CLASSIC,
        fields.get("group_instance_id"),
        subscription.topics if subscription else None,
        session_timeout_ms=fields["session_timeout"],
        # A member without an assignment has no bytes, which a broker accepts.
        malformed=consumers and (subscription is None or bool(assigned and assignment is None)),
        assignment_user_data=len(assignment.user_data or b"") if assignment else 0,
        user_data=subscription.user_data if subscription else None,
    )


def _epoch_member(member_id: str, value: Mapping[str, Any]) -> MigratingMember:
    # Kafka reads an absent tag as an empty struct, so that only a member with protocols is a classic one.
    classic = value["classic_member_metadata"]
    is_classic = bool(classic and classic["supported_protocols"])
    return MigratingMember(
        member_id,
        value["client_id"],
        GroupType.CLASSIC if is_classic else GroupType.CONSUMER,
        value["instance_id"],
        tuple(value["subscribed_topic_names"] or ()),
        classic["session_timeout_ms"] if is_classic else None,
    )


def _read(decode: Callable[[bytes], _T], data: bytes) -> _T | None:
    try:
        return decode(data)
    except DecodeError:
        return None
