"""The judged groups: client, settings, and the changes that their members can play."""

from __future__ import annotations

from dataclasses import dataclass, field

PARTITIONS, MORE_PARTITIONS = 6, 3
"""Partitions of a group's first topic, and of its second, to which it subscribes at times."""

SHORT, LONG = 6_000, 20_000
"""Session timeouts (ms)."""

CLASSIC = ("start", "start", "leave", "leave", "kill", "zombie", "slow", "rolling", "partitions")
STATIC = ("start", "leave", "within", "within", "after", "kill", "rolling", "partitions", "rack")


@dataclass(frozen=True)
class Group:
    """A judged group. ``kind``: the client's name in the report; ``rest_s``: time between changes (from, to)."""

    name: str
    kind: str
    program: str
    settings: dict = field(default_factory=dict)
    commit_ms: int = 1_000
    session_ms: int = SHORT
    poll_ms: int = 8_000
    changes: tuple[str, ...] = CLASSIC
    members: int = 3
    rest_s: tuple[float, float] = (14.0, 34.0)
    static: bool = False
    pattern: bool = False
    type: str = "classic"
    coordinator: dict = field(default_factory=dict)

    @property
    def topics(self):
        """The topics that its members subscribe to at first."""
        return [f"{self.name}-t"]


def _librdkafka(session_ms, assignor):
    return {
        "partition.assignment.strategy": assignor,
        "session.timeout.ms": session_ms,
        "heartbeat.interval.ms": 1_000,
        "max.poll.interval.ms": session_ms + 2_000,
    }


def _java(session_ms, assignor):
    return {
        "group.protocol": "classic",
        "partition.assignment.strategy": f"org.apache.kafka.clients.consumer.{assignor}",
        "session.timeout.ms": session_ms,
        "heartbeat.interval.ms": 1_000,
        "max.poll.interval.ms": session_ms + 2_000,
    }


PYTHON = {"session_timeout_ms": SHORT, "heartbeat_interval_ms": 1_000, "max_poll_interval_ms": SHORT + 2_000}
GO = {"session_timeout_ms": SHORT, "heartbeat_interval_ms": 1_000, "rebalance_timeout_ms": SHORT + 2_000}
KICKED = (*CLASSIC, "kick", "subscribe")
JAVA_REST_S = (20.0, 45.0)
STATIC_REST_S = (8.0, 20.0)
"""Rest (seconds) of groups with static members: changes that only they have must come often enough."""
SESSION = "session.timeout.ms"

GROUPS = (
    Group("ck-range", "librdkafka range", "librdkafka", _librdkafka(SHORT, "range"), changes=KICKED, members=4),
    Group("ck-range5", "librdkafka range", "librdkafka", _librdkafka(LONG, "range"), 5_000, LONG, LONG + 2_000,
          changes=(*CLASSIC, "topic"), pattern=True),
    Group("ck-coop", "librdkafka cooperative", "librdkafka", _librdkafka(SHORT, "cooperative-sticky"),
          changes=KICKED, members=4),
    Group("ck-coop5", "librdkafka cooperative", "librdkafka", _librdkafka(SHORT, "cooperative-sticky"), 5_000,
          changes=(*CLASSIC, "kick", "topic"), pattern=True),
    Group("ck-static", "librdkafka static", "librdkafka", _librdkafka(SHORT, "range"), changes=STATIC, static=True,
          rest_s=STATIC_REST_S),
    Group("ck-cons", "librdkafka consumer", "librdkafka", {"group.protocol": "consumer", "max.poll.interval.ms": 8_000},
          changes=KICKED, members=4, type="consumer", coordinator={f"consumer.{SESSION}": SHORT}),
    Group("ck-cons5", "librdkafka consumer", "librdkafka", {"group.protocol": "consumer"}, 5_000, LONG, LONG,
          type="consumer", coordinator={f"consumer.{SESSION}": LONG}),
    Group("kp", "kafka-python pattern", "kafka_python_member", PYTHON, changes=(*CLASSIC, "kick", "topic"),
          pattern=True),
    Group("ak", "aiokafka", "aiokafka_member", PYTHON, 5_000, changes=(*CLASSIC, "kick")),
    Group("go", "franz-go cooperative", "go", {**GO, "balancer": "cooperative-sticky"}),
    Group("go5", "franz-go range", "go", {**GO, "balancer": "range"}, 5_000),
    Group("j-range", "Java range", "java_member", _java(SHORT, "RangeAssignor"), changes=(*CLASSIC, "kick"),
          rest_s=JAVA_REST_S),
    Group("j-coop", "Java cooperative", "java_member", _java(SHORT, "CooperativeStickyAssignor"), 5_000,
          changes=(*CLASSIC, "kick"), rest_s=JAVA_REST_S),
    Group("j-static", "Java static", "java_member", _java(SHORT, "RangeAssignor"), changes=STATIC, static=True,
          rest_s=JAVA_REST_S, members=2),
    Group("j-cons", "Java consumer", "java_member", {"group.protocol": "consumer", "max.poll.interval.ms": 8_000},
          changes=(*CLASSIC, "kick"), rest_s=JAVA_REST_S, type="consumer", coordinator={f"consumer.{SESSION}": SHORT}),
    Group("streams", "Java streams", "streams_member", {}, rest_s=JAVA_REST_S, type="streams", session_ms=SHORT,
          changes=("start", "start", "leave", "leave", "kill", "zombie", "slow", "rolling", "partitions"),
          coordinator={f"streams.{SESSION}": SHORT}),
)  # fmt: skip
