"""Rewrites responses so that they name the client's own assignor and contain no data of our strategy."""

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

__all__ = [
    "Election",
    "elected",
    "plain_subscription",
    "rename",
    "restore_assignment",
    "restore_join",
    "translate_assignments",
]


@dataclass(frozen=True, slots=True)
class Election:
    """The members of the generation that this member leads, with the members' subscriptions for our strategy.

    ``member_ids`` includes members whose subscription cannot be read, since each member must get an assignment.
    """

    generation: int
    members: tuple[MemberSubscription, ...]
    member_ids: tuple[str, ...]


def elected(response: Any) -> Election | None:  # noqa: ANN401 - kafka-python is untyped
    """Return the election in a JoinGroup response; None for a follower, and for a leader that must not assign.

    A static leader that returns without a rebalance must not assign again (KIP-814).
    """
    if response.leader != response.member_id or response.skip_assignment:
        return None
    read = (
        read_member(member.member_id, member.group_instance_id, bytes(member.metadata)) for member in response.members
    )
    return Election(
        response.generation_id,
        tuple(member for member in read if member is not None),
        tuple(member.member_id for member in response.members),
    )


def restore_join(response: Any, offer: Offer) -> None:  # noqa: ANN401
    """Rewrite a JoinGroup response that names our strategy into a response for the client's own assignor."""
    response.protocol_name = offer.client_name
    for member in response.members:
        member.metadata = plain_subscription(bytes(member.metadata), offer.version)


def plain_subscription(metadata: bytes, version: int) -> bytes:
    """Return a member's subscription in ``version`` without our user data, or without topics if it is unreadable."""
    try:
        subscription = decode_subscription(metadata)
    except DecodeError:
        subscription = ConsumerSubscription(version, ())
    return encode_subscription(replace(subscription, version=version, user_data=None))


def rename(message: Any, old: str, new: str) -> None:  # noqa: ANN401
    """Replace the assignor's name ``old`` by ``new`` in a SyncGroup request or response (since v5, KIP-559)."""
    if message.protocol_name == old:
        message.protocol_name = new


def translate_assignments(request: Any, answers: Mapping[str, bytes], election: Election) -> None:  # noqa: ANN401
    """Replace the assignments in the leader's request; a member without an entry in ``answers`` is assigned nothing."""
    kind = type(request).SyncGroupRequestAssignment
    nothing = encode_assignment(ConsumerAssignment(NEWEST_VERSION, {}))
    request.assignments = [
        kind(version=request.version, member_id=name, assignment=answers.get(name, nothing))
        for name in election.member_ids
    ]


def restore_assignment(response: Any, given: ConsumerAssignment) -> None:  # noqa: ANN401
    """Remove our strategy's user data from a SyncGroup response; ``given``: the response's assignment."""
    if given.user_data is not None:
        response.assignment = encode_assignment(
            replace(given, version=min(given.version, NEWEST_VERSION), user_data=None)
        )
