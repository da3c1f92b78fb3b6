"""What the client is told instead: its own assignor's name, and nothing that it did not bring itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rebalance_agent.clients.participant import read_member
from rebalance_agent.errors import DecodeError
from rebalance_agent.gateway.groups.offered_protocols import Offer
from rebalance_agent.groupprotocol.consumer_protocol import (
    NEWEST_VERSION,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription, MemberSubscription

__all__ = ["Election", "elected", "rename", "tell_assignment", "tell_join", "tell_own", "translate_assignments"]


@dataclass(frozen=True, slots=True)
class Election:
    """Who is in the generation that this member leads, as they described themselves for our strategy.

    ``member_ids`` are all, also those whose subscription cannot be read: each is to get an answer.
    """

    generation: int
    members: tuple[MemberSubscription, ...]
    member_ids: tuple[str, ...]


def elected(response: Any) -> Election | None:  # noqa: ANN401 - kafka-python is untyped
    """The election that a JoinGroup's answer announces; None in a follower, and where the leader is not to assign.

    A static leader that comes back without a rebalance must not assign again (KIP-814).
    """
    if response.leader != response.member_id or response.skip_assignment:
        return None
    read = (read_member(each.member_id, each.group_instance_id, bytes(each.metadata)) for each in response.members)
    return Election(
        response.generation_id,
        tuple(member for member in read if member is not None),
        tuple(each.member_id for each in response.members),
    )


def tell_join(response: Any, offer: Offer) -> None:  # noqa: ANN401
    """Make the answer to JoinGroup, in which our strategy was chosen, one for the client's own assignor."""
    response.protocol_name = offer.told
    for each in response.members:
        each.metadata = tell_own(bytes(each.metadata), offer.version)


def tell_own(metadata: bytes, version: int) -> bytes:
    """A member's subscription in ``version`` and without our user data; one that cannot be read wants nothing."""
    try:
        subscription = decode_subscription(metadata)
    except DecodeError:
        subscription = ConsumerSubscription(version, ())
    return encode_subscription(replace(subscription, version=version, user_data=None))


def rename(message: Any, known: str, other: str) -> None:  # noqa: ANN401
    """In a SyncGroup or its answer that names ``known`` as the group's assignor (v5, KIP-559), name ``other``."""
    if message.protocol_name == known:
        message.protocol_name = other


def translate_assignments(request: Any, answers: Mapping[str, bytes], election: Election) -> None:  # noqa: ANN401
    """Replace what the leader's client assigned; every member gets an answer."""
    kind = type(request).SyncGroupRequestAssignment
    nothing = encode_assignment(ConsumerAssignment(NEWEST_VERSION, {}))
    request.assignments = [
        kind(version=request.version, member_id=name, assignment=answers.get(name, nothing))
        for name in election.member_ids
    ]


def tell_assignment(response: Any, given: ConsumerAssignment) -> None:  # noqa: ANN401
    """Take out of a SyncGroup's answer what is meant for our strategy alone; ``given`` is what it gives."""
    if given.user_data is not None:
        response.assignment = encode_assignment(
            replace(given, version=min(given.version, NEWEST_VERSION), user_data=None)
        )
