"""What the demo shows, as data: topics, groups with their members, and the timetable of what happens to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from rebalance_agent.model.episode import Trigger

__all__ = [
    "GROUPS",
    "SLOW_SECONDS",
    "STEPS",
    "TOPICS",
    "Action",
    "AddPartitions",
    "ClientLibrary",
    "CreateTopic",
    "Expected",
    "KillMember",
    "SlowDown",
    "StartMember",
    "StopMember",
    "StoryGroup",
    "StoryMember",
    "StoryStep",
    "group_named",
]


class ClientLibrary(StrEnum):
    """Which client library a group's members run; only kafka-python's are instrumented, and take our strategies."""

    KAFKA_PYTHON = "kafka-python"
    CONFLUENT = "confluent-kafka"


@dataclass(frozen=True, slots=True)
class StoryMember:
    """One consumer process. ``config`` holds its assignor settings; not ``from_start`` joins by the timetable."""

    client_id: str
    config: Mapping[str, str] = field(default_factory=dict)
    from_start: bool = True


@dataclass(frozen=True, slots=True)
class StoryGroup:
    """A consumer group. ``topics`` is a topic's name, or a regular expression if it begins with ``^``.

    ``configured``: the assignor in the configuration of clients that are given ``assignor`` by gateways, one for each;
    empty: there are none.
    """

    name: str
    story: str
    client: ClientLibrary
    assignor: str
    topics: str
    members: tuple[StoryMember, ...]
    session_timeout_ms: int = 15_000
    configured: str = ""


@dataclass(frozen=True, slots=True)
class StartMember:
    """Start the member's process."""

    group: str
    client_id: str


@dataclass(frozen=True, slots=True)
class StopMember:
    """Ask the member to close its consumer and end."""

    group: str
    client_id: str


@dataclass(frozen=True, slots=True)
class KillMember:
    """SIGKILL: the coordinator notices when the session times out."""

    group: str
    client_id: str


@dataclass(frozen=True, slots=True)
class SlowDown:
    """The member's next revoked callback takes ``seconds``, as one that finishes its work in hand would."""

    group: str
    client_id: str
    seconds: float


@dataclass(frozen=True, slots=True)
class AddPartitions:
    """Grow a topic to ``total`` partitions."""

    topic: str
    total: int


@dataclass(frozen=True, slots=True)
class CreateTopic:
    """A new topic that regular expressions match."""

    topic: str
    partitions: int


Action = StartMember | StopMember | KillMember | SlowDown | AddPartitions | CreateTopic


@dataclass(frozen=True, slots=True)
class Expected:
    """What a step must be seen as: one episode of ``group`` with this ``trigger``, ending with so many ``members``.

    ``partitions``: how many each client id then has; empty: any, as the strategy likes.
    """

    group: str
    trigger: Trigger
    members: int
    partitions: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoryStep:
    """One entry of the timetable: ``text`` for people, what to do, and what the observer must make of it."""

    name: str
    text: str
    actions: tuple[Action, ...]
    expected: tuple[Expected, ...]

    @property
    def slow(self) -> SlowDown | None:
        """The member that holds this step's rebalance up, if one does."""
        return next((action for action in self.actions if isinstance(action, SlowDown)), None)


SLOW_SECONDS = 6.0
"""Well above what an undisturbed rebalance takes on a busy machine, well below the session timeout."""

_CLICKS = 80
TOPICS: Mapping[str, int] = {
    "orders": 100,
    "parcels": 16,
    "payments": 6,
    "readings": 8,
    **{f"clicks-{number:02}": 2 for number in range(_CLICKS)},
}
"""Topic -> partitions, before the first member starts."""

_SESSION_MS_MIN = 6_000
"""The shortest that brokers allow by default: nobody likes to watch a killed member for longer."""

_WEIGHT, _PRIORITY = "assignment.consumer.weight", "assignment.consumer.priority"

GROUPS: tuple[StoryGroup, ...] = (
    StoryGroup(
        name="orders-weighted",
        story="three hosts of different size: weights 900, 90 and 10 on 100 partitions",
        client=ClientLibrary.KAFKA_PYTHON,
        assignor="weighted-sticky",
        topics="orders",
        members=tuple(StoryMember(f"orders-{weight}", {_WEIGHT: str(weight)}) for weight in (900, 90, 10)),
    ),
    StoryGroup(
        name="payments-failover",
        story="active and passive: one works, the other waits",
        client=ClientLibrary.KAFKA_PYTHON,
        assignor="failover",
        topics="payments",
        members=(
            StoryMember("payments-active", {_PRIORITY: "200"}),
            StoryMember("payments-standby", {_PRIORITY: "100"}),
        ),
        session_timeout_ms=_SESSION_MS_MIN,
    ),
    StoryGroup(
        name="clicks-range",
        story=f"{_CLICKS} topics by regex under range: the first members get everything, the last one nothing",
        client=ClientLibrary.KAFKA_PYTHON,
        assignor="range",
        topics="^clicks-.*",
        members=tuple(StoryMember(f"range-{number}") for number in (1, 2, 3)),
    ),
    StoryGroup(
        name="clicks-shuffled",
        story="the same topics under shuffled-roundrobin",
        client=ClientLibrary.KAFKA_PYTHON,
        assignor="shuffled-roundrobin",
        topics="^clicks-.*",
        members=tuple(StoryMember(f"shuffled-{number}") for number in (1, 2, 3)),
    ),
    StoryGroup(
        name="readings-cooperative",
        story="plain confluent-kafka, not instrumented: stalls are bounds",
        client=ClientLibrary.CONFLUENT,
        assignor="cooperative-sticky",
        topics="readings",
        members=(StoryMember("readings-1"), StoryMember("readings-2"), StoryMember("readings-3", from_start=False)),
        session_timeout_ms=_SESSION_MS_MIN,
    ),
    StoryGroup(
        name="parcels-gateway",
        story="plain confluent-kafka with range, behind gateways that give it weights 300 and 100 on 16 partitions",
        client=ClientLibrary.CONFLUENT,
        assignor="weighted-sticky",
        configured="range",
        topics="parcels",
        members=tuple(StoryMember(f"parcels-{weight}", {_WEIGHT: str(weight)}) for weight in (300, 100)),
    ),
)

# Steps that take long (a session timeout, the slow consumer) are followed by steps of other groups.
STEPS: tuple[StoryStep, ...] = (
    StoryStep(
        "join",
        "readings-3 joins",
        (StartMember("readings-cooperative", "readings-3"),),
        (Expected("readings-cooperative", Trigger.MEMBER_JOINED, 3),),
    ),
    StoryStep(
        "clean leave",
        "orders-10 closes its consumer",
        (StopMember("orders-weighted", "orders-10"),),
        (Expected("orders-weighted", Trigger.MEMBER_LEFT, 2),),
    ),
    StoryStep(
        "kill -9",
        "payments-active is killed; the broker waits for its session timeout",
        (KillMember("payments-failover", "payments-active"),),
        (Expected("payments-failover", Trigger.MEMBER_FAILED, 1),),
    ),
    StoryStep(
        "gateway: leave",
        "parcels-100 closes its plain consumer; its gateway saw why it went",
        (StopMember("parcels-gateway", "parcels-100"),),
        (Expected("parcels-gateway", Trigger.MEMBER_LEFT, 1, {"parcels-300": 16}),),
    ),
    StoryStep(
        "slow consumer",
        f"orders-10 comes back while orders-90 needs {SLOW_SECONDS:g} s to let go: all of the group waits",
        (SlowDown("orders-weighted", "orders-90", SLOW_SECONDS), StartMember("orders-weighted", "orders-10")),
        (Expected("orders-weighted", Trigger.MEMBER_JOINED, 3),),
    ),
    StoryStep(
        "new topic",
        f"the topic clicks-{_CLICKS} is created and matches ^clicks-.*",
        (CreateTopic(f"clicks-{_CLICKS}", 2),),
        (
            Expected("clicks-range", Trigger.TOPICS_CHANGED, 3),
            Expected("clicks-shuffled", Trigger.TOPICS_CHANGED, 3),
        ),
    ),
    StoryStep(
        "member gone",
        "readings-1 closes; no event of its own tells leaving from failing",
        (StopMember("readings-cooperative", "readings-1"),),
        (Expected("readings-cooperative", Trigger.MEMBER_GONE, 2),),
    ),
    StoryStep(
        "failback",
        "payments-active returns and takes over",
        (StartMember("payments-failover", "payments-active"),),
        (Expected("payments-failover", Trigger.MEMBER_JOINED, 2),),
    ),
    StoryStep(
        "gateway: return",
        "parcels-100 returns with range in its configuration and gets its weight's share",
        (StartMember("parcels-gateway", "parcels-100"),),
        (Expected("parcels-gateway", Trigger.MEMBER_JOINED, 2, {"parcels-300": 12, "parcels-100": 4}),),
    ),
    StoryStep(
        "added partitions",
        "payments grows from 6 to 8 partitions",
        (AddPartitions("payments", 8),),
        (Expected("payments-failover", Trigger.PARTITIONS_CHANGED, 2),),
    ),
)


def group_named(name: str) -> StoryGroup:
    """The group of that name; KeyError if there is none."""
    return next(group for group in GROUPS if group.name == name)
