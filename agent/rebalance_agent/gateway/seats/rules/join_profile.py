"""Compares consumers by their JoinGroups: an equal newcomer may take over the assignment of another consumer.

A static member that returns to a stable group keeps its assignment, whatever its JoinGroup contains (KIP-345): a
successor with a different subscription, rack or weight would not get what it requests. Therefore a successor must be
equal to its predecessor, except for the owned partitions.

A profile is always small: it contains only short hashes of topics, rack and user data.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from rebalance_agent.assignors import STRATEGIES
from rebalance_agent.errors import DecodeError, InvalidInputError
from rebalance_agent.gateway.seats.rules.short_hash import short_hash
from rebalance_agent.gateway.seats.rules.wait_times import EPOCH_SESSION_SECONDS
from rebalance_agent.groupprotocol.consumer_protocol import decode_subscription
from rebalance_agent.model.subscription import ConsumerSubscription

__all__ = [
    "JoinProfile",
    "OfferedAssignor",
    "ProfileDifference",
    "difference",
    "epoch_profile",
    "read_profile",
]

ASSIGNORS_MAX = 16
"""Maximum number of assignors of a comparable consumer: usual consumers offer one or two; our strategy is added before
them."""

NAME_MAX = 100
"""Maximum number of characters of a comparable consumer's assignor names and protocol type."""


class ProfileDifference(StrEnum):
    """The first property in which two consumers differ: a fixed set, for a counter's label."""

    PROTOCOL_TYPE = "protocol_type"
    ASSIGNORS = "assignors"
    """Different assignors, or a different order of assignors, which determines the member's vote."""
    TOPICS = "topics"
    RACK = "rack"
    USER_DATA = "user_data"
    """The member's settings of the assignor, for example its weight."""
    TIMEOUTS = "timeouts"
    """A different session timeout or rebalance timeout. The coordinator continues with the predecessor's session
    timeout (measured on 4.3.0: a member that returned with 7 s was removed after its predecessor's 20 s, and vice
    versa)."""


@dataclass(frozen=True, slots=True)
class OfferedAssignor:
    """One assignor that a member offers: the assignor's name, and short hashes of the rest.

    ``user_data``: a hash of the member's settings for the assignor, without owned partitions.
    """

    name: str
    topics: str
    rack: str
    user_data: str


@dataclass(frozen=True)
class JoinProfile:
    """A JoinGroup without the parts that change in each generation: member id, owned partitions, generation."""

    protocol_type: str
    assignors: tuple[OfferedAssignor, ...]
    session_timeout_ms: int
    rebalance_timeout_ms: int

    @cached_property
    def fingerprint(self) -> str:
        """A fingerprint of 32 hexadecimal digits, equal for equal profiles in all gateways of this version."""
        offers = [(offer.name, offer.topics, offer.rack, offer.user_data) for offer in self.assignors]
        return short_hash(repr((self.protocol_type, offers, self.session_timeout_ms, self.rebalance_timeout_ms)))


def read_profile(
    protocol_type: str, protocols: Sequence[tuple[str, bytes]], session_timeout_ms: int, rebalance_timeout_ms: int
) -> JoinProfile | None:
    """Read the profile of a JoinGroup that is sent to the coordinator.

    Return None if a subscription cannot be read, or if there are too many assignors or too long names.

    ``protocols``: names and subscriptions of the assignors, including those that the gateway puts first, since a rule's
    settings count, too.
    """
    names = [protocol_type, *(name for name, _ in protocols)]
    if len(protocols) > ASSIGNORS_MAX or any(len(name) > NAME_MAX for name in names):
        return None
    try:
        offers = tuple(_offer(name, decode_subscription(metadata)) for name, metadata in protocols)
    except DecodeError:
        return None
    return JoinProfile(protocol_type, offers, session_timeout_ms, rebalance_timeout_ms)


def epoch_profile(topics: Collection[str], regex: str, rebalance_timeout_ms: int) -> JoinProfile:
    """Return the profile of a KIP-848 member, from its first heartbeat.

    Rack and server assignor are not compared: the coordinator takes them from the successor without a new epoch
    (measured on 4.3.0). It also accepts different topics, but then the group gets a new epoch, so no rebalance would be
    spared.
    """
    subscribed = short_hash(repr((sorted(set(topics)), regex)))
    offers = (OfferedAssignor("", subscribed, "", ""),)
    return JoinProfile("consumer", offers, round(EPOCH_SESSION_SECONDS * 1000), rebalance_timeout_ms)


def difference(seat: JoinProfile, newcomer: JoinProfile) -> ProfileDifference | None:
    """Return the first property in which a newcomer differs from a seat's last member; None if they are equal."""
    if seat.protocol_type != newcomer.protocol_type:
        return ProfileDifference.PROTOCOL_TYPE
    if [offer.name for offer in seat.assignors] != [offer.name for offer in newcomer.assignors]:
        return ProfileDifference.ASSIGNORS
    pairs = tuple(zip(seat.assignors, newcomer.assignors, strict=True))
    if any(old.topics != new.topics for old, new in pairs):
        return ProfileDifference.TOPICS
    if any(old.rack != new.rack for old, new in pairs):
        return ProfileDifference.RACK
    if any(old.user_data != new.user_data for old, new in pairs):
        return ProfileDifference.USER_DATA
    session_equal = seat.session_timeout_ms == newcomer.session_timeout_ms
    equal = session_equal and seat.rebalance_timeout_ms == newcomer.rebalance_timeout_ms
    return None if equal else ProfileDifference.TIMEOUTS


def _offer(name: str, subscription: ConsumerSubscription) -> OfferedAssignor:
    topics = short_hash(repr(sorted(set(subscription.topics))))
    user_data = short_hash(_without_ownership(name, subscription.user_data))
    return OfferedAssignor(name, topics, short_hash(repr(subscription.rack_id)), user_data)


def _without_ownership(name: str, user_data: bytes | None) -> str:
    """Return user data without owned partitions and generation, as text; all user data if the format is unknown."""
    strategy = STRATEGIES.get(name)
    if not user_data or (strategy is not None and strategy.only_owned):
        return ""
    if strategy is not None and strategy.reader is not None:
        with contextlib.suppress(DecodeError, InvalidInputError):  # other clients may write other data for this name
            return repr(sorted(strategy.reader(user_data).settings.items()))
    return user_data.hex()
