"""Reads the properties of a newcomer from its JoinGroup or first heartbeat, such as how long its client waits."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rebalance_agent.gateway.seats.rules.eligibility import Newcomer
from rebalance_agent.gateway.seats.rules.join_profile import JoinProfile, epoch_profile, read_profile
from rebalance_agent.gateway.seats.rules.wait_times import EPOCH_PATIENCE_SECONDS, WAITING_SHARE
from rebalance_agent.model.group import GroupType

__all__ = [
    "HELD_BYTES_MAX",
    "HELD_TOTAL_BYTES_MAX",
    "EpochSubscription",
    "HeldBytes",
    "epoch_newcomer",
    "newcomer",
    "patience_seconds",
]

HELD_BYTES_MAX = 32 * 1024
"""Largest JoinGroup (bytes) that is read for seats and held: a usual JoinGroup has a few hundred bytes, a JoinGroup
with a thousand topics 30,000."""

HELD_TOTAL_BYTES_MAX = 8 * 1024 * 1024
"""Maximum total bytes of the JoinGroups that a gateway holds; memory has up to four copies of each JoinGroup."""

CLIENT_ID_MAX = 200
"""Maximum number of characters of a client id kept with a held JoinGroup: clients choose ids of any length."""

UNKNOWN_PATIENCE_SECONDS = 24.0
"""Seconds for which an unknown client is assumed to wait: by default, sarama waits 30 s and aiokafka 40 s."""

_WAIT_FOR_REBALANCE_TIMEOUT = ("apache-kafka-java", "librdkafka", "confluent-kafka", "kafka-python")
"""Prefixes of the names (KIP-511) of clients that wait for a JoinGroup response slightly longer than their rebalance
timeout. That timeout is their max.poll.interval.ms (300 s by default)."""


class HeldBytes:
    """Counts the bytes of the JoinGroups that one gateway holds."""

    def __init__(self) -> None:
        """Start with nothing held."""
        self._held = 0

    @contextlib.contextmanager
    def room(self, size: int) -> Iterator[bool]:
        """Reserve ``size`` bytes for a JoinGroup during the block; yield whether there is room."""
        fits = self._held + size <= HELD_TOTAL_BYTES_MAX
        taken = size if fits else 0
        self._held += taken
        try:
            yield fits
        finally:
            self._held -= taken


def patience_seconds(software: str, rebalance_timeout_ms: int) -> float:
    """Return the number of seconds for which a JoinGroup of this client may be held."""
    rebalance_seconds = max(0, rebalance_timeout_ms) / 1000
    if software.startswith(_WAIT_FOR_REBALANCE_TIMEOUT):
        return rebalance_seconds * WAITING_SHARE
    return min(rebalance_seconds or UNKNOWN_PATIENCE_SECONDS, UNKNOWN_PATIENCE_SECONDS) * WAITING_SHARE


def newcomer(
    message: Any,  # noqa: ANN401 - kafka-python is untyped
    size: int,
    join: int,
    version: int,
    software: str,
    process: int,
    former: frozenset[int],
    *,
    was_member: bool,
    client_id: str = "",
) -> Newcomer:
    """Return the newcomer that a JoinGroup ``message`` describes; ``size``: bytes of the client's frame.

    A frame above `HELD_BYTES_MAX` is not read. The newcomer's profile is then unknown, so its JoinGroup is not held and
    no other consumer may succeed it.
    """
    profile = None
    if size <= HELD_BYTES_MAX:
        offers = [(protocol.name, bytes(protocol.metadata or b"")) for protocol in message.protocols or ()]
        profile = read_profile(message.protocol_type, offers, message.session_timeout_ms, message.rebalance_timeout_ms)
    return Newcomer(
        join=join,
        version=version,
        profile=profile,
        protocol_type=message.protocol_type,
        member_id=message.member_id or "",
        instance_id=message.group_instance_id,
        patience_seconds=patience_seconds(software, message.rebalance_timeout_ms),
        process=process,
        former=former,
        was_member=was_member,
        client_id=client_id[:CLIENT_ID_MAX],
    )


@dataclass(frozen=True, slots=True)
class EpochSubscription:
    """The subscription of a member (KIP-848). A heartbeat omits fields that have not changed since the last one."""

    topics: tuple[str, ...] = ()
    regex: str = ""
    rebalance_timeout_ms: int = -1

    def changed(self, message: Mapping[str, Any]) -> EpochSubscription:
        """Return the subscription after a heartbeat."""
        topics, regex, timeout = (
            message["subscribed_topic_names"],
            message.get("subscribed_topic_regex"),
            message["rebalance_timeout_ms"],
        )
        return EpochSubscription(
            self.topics if topics is None else tuple(topics),
            self.regex if regex is None else regex,
            self.rebalance_timeout_ms if timeout < 0 else timeout,
        )

    @property
    def profile(self) -> JoinProfile | None:
        """The profile that is compared with a successor's; None if the member has no subscription."""
        known = bool(self.topics or self.regex)
        return epoch_profile(self.topics, self.regex, self.rebalance_timeout_ms) if known else None


def epoch_newcomer(
    subscription: EpochSubscription,
    size: int,
    join: int,
    version: int,
    process: int,
    former: frozenset[int],
    *,
    member_id: str,
    was_member: bool,
    client_id: str,
) -> Newcomer:
    """Return the newcomer that sends a first heartbeat (KIP-848). ``member_id``: see `Newcomer`; others: `newcomer`."""
    return Newcomer(
        join=join,
        version=version,
        profile=subscription.profile if size <= HELD_BYTES_MAX else None,
        member_id=member_id,
        patience_seconds=EPOCH_PATIENCE_SECONDS,
        process=process,
        former=former,
        was_member=was_member,
        client_id=client_id[:CLIENT_ID_MAX],
        group_type=GroupType.CONSUMER,
    )
