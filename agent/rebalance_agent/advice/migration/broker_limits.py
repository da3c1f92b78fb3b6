"""The brokers' settings that limit groups of the consumer protocol (KIP-848)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["POLICY", "BrokerLimits"]

POLICY = "group.consumer.migration.policy"
"""Which changes of a group's protocol the brokers allow while the group has members."""

_MAX_SIZE = "group.consumer.max.size"
_ASSIGNORS = "group.consumer.assignors"
_PROTOCOLS = "group.coordinator.rebalance.protocols"
_SINCE_4_4 = "group.streams.assignors"
"""A setting that identifies brokers since 4.4, because no admin API returns the version of a broker."""
_SESSION = "consumer.session.timeout.ms"
_HEARTBEAT = "consumer.heartbeat.interval.ms"

_UPWARD = frozenset({"bidirectional", "upgrade"})
_BACK = frozenset({"bidirectional", "downgrade"})


@dataclass(frozen=True, slots=True)
class BrokerLimits:
    """Settings of one broker and of one group by name; a setting that was not read is unknown.

    ``consumer_groups``: whether the cluster has a group of the consumer protocol, so that ``group.version`` allows it.
    ``group_version``: the level of that feature, 0 if it is not enabled; None if the cluster did not report it.
    ``version_problem``: the reason if ``group_version`` is None; otherwise empty.
    """

    broker: Mapping[str, str]
    group: Mapping[str, str]
    consumer_groups: bool = False
    group_version: int | None = None
    version_problem: str = ""

    @property
    def policy(self) -> str | None:
        """The policy in lower case; None if it is not known."""
        value = self.broker.get(POLICY)
        return None if value is None else value.lower()

    @property
    def upgrades(self) -> bool | None:
        """Whether a classic group with members may become a group of the consumer protocol."""
        return None if self.policy is None else self.policy in _UPWARD

    @property
    def downgrades(self) -> bool | None:
        """Whether a group becomes classic again if its last member with the consumer protocol leaves."""
        return None if self.policy is None else self.policy in _BACK

    @property
    def max_size(self) -> int | None:
        """The maximum number of members of a group."""
        return _whole(self.broker.get(_MAX_SIZE))

    @property
    def counts_successors(self) -> bool:
        """Whether a static member's successor counts additionally, so that a full group has no room (before 4.4)."""
        return _SINCE_4_4 not in self.broker

    @property
    def assignors(self) -> tuple[str, ...]:
        """The brokers' assignors; the first is the default."""
        return tuple(name.strip() for name in self.broker.get(_ASSIGNORS, "").split(",") if name.strip())

    @property
    def supported(self) -> bool | None:
        """Whether the brokers support the consumer protocol at all; None if that is not known."""
        if self.consumer_groups:
            return True
        if self.excluded:
            return False
        return None if self.group_version is None else self.group_version >= 1

    @property
    def excluded(self) -> bool:
        """Whether the brokers are configured without the consumer protocol."""
        listed = self.broker.get(_PROTOCOLS)
        return listed is not None and "consumer" not in listed.lower()

    @property
    def session_timeout_ms(self) -> int | None:
        """The group's session timeout in milliseconds."""
        return _whole(self.group.get(_SESSION) or self.broker.get(f"group.{_SESSION}"))

    @property
    def heartbeat_interval_ms(self) -> int | None:
        """The group's heartbeat interval in milliseconds."""
        return _whole(self.group.get(_HEARTBEAT) or self.broker.get(f"group.{_HEARTBEAT}"))

    @property
    def session_timeouts_ms(self) -> tuple[int, int] | None:
        """The minimum and the maximum of the group's session timeout, in milliseconds."""
        bounds = [_whole(self.broker.get(f"group.consumer.{end}.session.timeout.ms")) for end in ("min", "max")]
        return None if None in bounds else (bounds[0] or 0, bounds[1] or 0)


def _whole(value: str | None) -> int | None:
    return int(value) if value and value.isascii() and value.lstrip("-").isdigit() else None
