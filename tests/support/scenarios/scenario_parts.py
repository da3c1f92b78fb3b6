"""The parts of a scenario: members' settings, the actions of each step, and the expected episodes."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

SESSION_S = 5.0
REPORTING = ("kafka-python", "confluent-instrumented")
"""Clients whose members report to a sidecar."""

BROKER = {
    "group.min.session.timeout.ms": "1000",
    "group.initial.rebalance.delay.ms": "0",
    **{
        f"group.{kind}.{name}": value
        for kind in ("consumer", "share", "streams")
        for name, value in {
            "session.timeout.ms": f"{SESSION_S * 1000:.0f}",
            "min.session.timeout.ms": "1000",
            "heartbeat.interval.ms": "300",
            "min.heartbeat.interval.ms": "100",
        }.items()
    },
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.consumer.heartbeat.interval.ms": "1500",
}
"""Server properties that shorten a scenario to seconds: a killed member costs a session timeout.

librdkafka 2.16 drops a heartbeat that is not answered within its interval plus half a second, and then continues
normally: if the lost response requested partitions, the request is never repeated, and the rebalance waits for five
minutes (KIP-848 requires a full heartbeat after a lost response). So busy brokers have two seconds to respond.
"""

CLASSIC = {"session.timeout.ms": f"{SESSION_S * 1000:.0f}", "heartbeat.interval.ms": "200"}
REFRESHED = {"topic.metadata.refresh.interval.ms": "500", "metadata.max.age.ms": "1500"}
EAGER = {**CLASSIC, **REFRESHED, "partition.assignment.strategy": "range"}
COOPERATIVE = {**CLASSIC, **REFRESHED, "partition.assignment.strategy": "cooperative-sticky"}
CONSUMER = {"group.protocol": "consumer"}


def kafka_python(strategy, **more):
    """Settings of a kafka-python member."""
    return {
        "partition_assignment_strategy": [strategy],
        "session_timeout_ms": 10_000,  # its listener runs on the thread that also sends heartbeats
        "heartbeat_interval_ms": 200,
        "metadata_max_age_ms": 1_000,
        **more,
    }


@dataclass(frozen=True)
class Join:
    """A new member; ``settings`` override those of the scenario."""

    name: str
    settings: dict = field(default_factory=dict)
    killable: bool = False


@dataclass(frozen=True)
class Leave:
    """A member closes."""

    name: str


@dataclass(frozen=True)
class Kill:
    """A member's process is killed."""

    name: str


@dataclass(frozen=True)
class Restart:
    """A member closes and starts again, with changed ``settings``; a static one keeps its instance id."""

    name: str
    settings: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Slow:
    """From now on the member's revoked callback takes ``seconds``."""

    name: str
    seconds: float


@dataclass(frozen=True)
class Grow:
    """Partitions are added to the topic."""

    partitions: int


@dataclass(frozen=True)
class WaitAt:
    """Wait until every scenario has reached this barrier, whose action then runs once."""

    barrier: threading.Barrier


@dataclass(frozen=True)
class Episode:
    """The expected event of one rebalance. ``slow``: the expected slowest member; None: any."""

    causes: tuple[str, ...]
    moved: int = 0
    generations: int = 1
    noop: bool = False
    slow: str | None = None


@dataclass(frozen=True)
class Step:
    """Simultaneous actions, the episodes that they must cause, and the optional episode ``before``."""

    actions: tuple
    episodes: tuple[Episode, ...]
    before: Episode | None = None


def step(*actions, then, before=None):
    """A `Step` from its actions; ``then`` is one episode or several."""
    return Step(actions, (then,) if isinstance(then, Episode) else tuple(then), before)


@dataclass(frozen=True)
class Scenario:
    """Steps of one group. ``each``: the members' partitions (streams group: tasks) for each partition of the topic."""

    name: str
    client: str
    steps: tuple[Step, ...]
    settings: dict = field(default_factory=dict)
    partitions: int = 6
    topic: str | None = None
    each: int = 1
