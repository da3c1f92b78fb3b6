"""Divides a confluent-kafka configuration between the member, the data consumer and this package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rebalance_agent.assignors import Strategy, strategy
from rebalance_agent.clients.confluent_assignors.config.config_values import flag, text, whole
from rebalance_agent.clients.confluent_assignors.config.security import security
from rebalance_agent.clock import Clock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.group import RebalanceProtocol

__all__ = ["MEMBERSHIP", "OURS", "REFUSED", "ClientSettings"]

INT32_MAX = 2**31 - 1
DAY_MS = 86_400_000  # librdkafka's largest max.poll.interval.ms

MEMBERSHIP: Mapping[str, str] = {
    "group.id": "`group_id`; the data consumer also uses it, to read committed offsets",
    "group.instance.id": "`group_instance_id`",
    "heartbeat.interval.ms": "`heartbeat_interval_ms`",
    "max.poll.interval.ms": "`max_poll_interval_ms`, which is also the member's rebalance timeout; this class measures "
    "the time between polls",
    "partition.assignment.strategy": "`partition_assignment_strategy`: names of this package's strategies",
    "session.timeout.ms": "`session_timeout_ms`",
}
"""Settings that only the member gets -> their kafka-python names."""

_SHARED: Mapping[str, tuple[str, int, int, int]] = {
    "reconnect.backoff.max.ms": ("reconnect_backoff_max_ms", 10_000, 0, 3_600_000),
    "reconnect.backoff.ms": ("reconnect_backoff_ms", 100, 0, 3_600_000),
}
"""Settings of both clients -> kafka-python's name, default, minimum and maximum."""

OURS: Mapping[str, str] = {
    "auto.commit.interval.ms": "how often the member commits stored offsets",
    "enable.auto.commit": "whether the member commits stored offsets; always off in the data consumer",
    "enable.auto.offset.store": "whether a delivered record's offset is stored; always off in the data consumer",
    "on_commit": "called from `poll` after asynchronous commits",
    "topic.metadata.refresh.interval.ms": (
        "kafka-python's `metadata_max_age_ms`; also how often patterns are matched against topics"
    ),
}
"""Settings that this package implements itself."""

REFUSED: Mapping[str, str] = {
    "group.protocol": "only `classic`: under `consumer` (KIP-848) the broker assigns",
    "group.protocol.type": "only `consumer`",
    "group.remote.assignor": "only for group.protocol=consumer, where the broker assigns",
    "topic.blacklist": "subscribe with a pattern that does not match these topics",
}
"""Settings that contradict the purpose of this class -> the reason."""


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """The divided configuration: ``data`` for ``confluent_kafka.Consumer``, ``member`` for kafka-python's consumer."""

    data: Mapping[str, Any]
    member: Mapping[str, Any]
    group: str
    instance_id: str | None
    cooperative: bool
    max_poll_interval_ms: int
    auto_commit_seconds: float | None
    auto_store: bool
    on_commit: Callable[..., object] | None
    refresh_seconds: float

    @classmethod
    def of(cls, config: Mapping[str, Any], assignor_config: Mapping[str, object], clock: Clock) -> ClientSettings:
        """Divide ``config``.

        Raises:
            InvalidInputError: a setting, or its value, cannot be used here; the text names it.
            AssignmentError: an unknown strategy, or an unknown setting of a strategy.
        """
        _refuse(config)
        group = text(config, "group.id", "")
        if not group:
            raise InvalidInputError("group.id", "must be set")
        chosen = _strategies(config)
        max_poll = whole(config, "max.poll.interval.ms", 300_000, 1, DAY_MS)
        session = whole(config, "session.timeout.ms", 45_000, 1, 3_600_000)
        heartbeat = whole(config, "heartbeat.interval.ms", 3_000, 1, 3_600_000)
        if heartbeat >= session:
            raise InvalidInputError("heartbeat.interval.ms", f"must be below session.timeout.ms, {session}")
        if max_poll < session:
            raise InvalidInputError("max.poll.interval.ms", f"must be at least session.timeout.ms, {session}")
        refresh = whole(config, "topic.metadata.refresh.interval.ms", 300_000, -1, 3_600_000)
        instance_id = text(config, "group.instance.id", "") or None
        member = {
            "bootstrap_servers": _servers(config),
            "group_id": group,
            "group_instance_id": instance_id,
            "client_id": text(config, "client.id", "rdkafka"),
            "client_rack": text(config, "client.rack", ""),
            "session_timeout_ms": session,
            "heartbeat_interval_ms": heartbeat,
            "max_poll_interval_ms": max_poll,
            "partition_assignment_strategy": list(chosen),
            "assignor_config": dict(assignor_config),
            "allow_auto_create_topics": flag(config, "allow.auto.create.topics", False),
            "metadata_max_age_ms": refresh if refresh > 0 else INT32_MAX,
            "client_dns_lookup": text(config, "client.dns.lookup", "use_all_dns_ips"),
            **{ours: whole(config, name, *bounds) for name, (ours, *bounds) in _SHARED.items()},
            **security(config, clock),
            **_FIXED,
        }
        return cls(
            data=_data(config),
            member=member,
            group=group,
            instance_id=instance_id,
            cooperative=all(assignor.protocol is RebalanceProtocol.COOPERATIVE for assignor in chosen.values()),
            max_poll_interval_ms=max_poll,
            auto_commit_seconds=_auto_commit(config),
            auto_store=flag(config, "enable.auto.offset.store", True),
            on_commit=config.get("on_commit"),
            refresh_seconds=(refresh if refresh > 0 else INT32_MAX) / 1000,
        )


_FIXED: Mapping[str, Any] = {
    "enable_auto_commit": False,  # the member has no position of its own
    "metrics_enabled": False,
    "retry_backoff_ms": 50,  # kafka-python also sleeps this long between checks of a rebalance when it fetches nothing
    "bootstrap_timeout_ms": 10_000,
}


def _refuse(config: Mapping[str, Any]) -> None:
    allowed = {"group.protocol": "classic", "group.protocol.type": "consumer"}
    for name, reason in REFUSED.items():
        if name in config and text(config, name, "").lower() != allowed.get(name):
            raise InvalidInputError(name, f"cannot be used with a custom assignor: {reason}")


def _data(config: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in config.items() if name not in MEMBERSHIP and name != "on_commit"}
    return kept | {
        "group.id": config["group.id"],
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "max.poll.interval.ms": DAY_MS,  # has no effect without a subscription; PollInterval applies the setting
    }


def _auto_commit(config: Mapping[str, Any]) -> float | None:
    milliseconds = whole(config, "auto.commit.interval.ms", 5_000, 0, DAY_MS)
    enabled = flag(config, "enable.auto.commit", True) and milliseconds > 0
    return milliseconds / 1000 if enabled else None


def _strategies(config: Mapping[str, Any]) -> dict[str, Strategy]:
    names = [name.strip() for name in text(config, "partition.assignment.strategy", "range,roundrobin").split(",")]
    return {name: strategy(name) for name in names if name}


def _servers(config: Mapping[str, Any]) -> list[str]:
    for name in ("bootstrap.servers", "metadata.broker.list"):
        if servers := [server.strip() for server in text(config, name, "").split(",") if server.strip()]:
            return servers
    raise InvalidInputError("bootstrap.servers", "must be set")
