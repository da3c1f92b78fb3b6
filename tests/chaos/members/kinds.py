"""The groups of a run, and the programs of their members."""

from __future__ import annotations

from dataclasses import dataclass, field

PARTITIONS = 6
SESSION = {"session.timeout.ms": 6_000, "heartbeat.interval.ms": 500, "max.poll.interval.ms": 20_000}
EAGER = {**SESSION, "partition.assignment.strategy": "range"}
COOPERATIVE = {**SESSION, "partition.assignment.strategy": "cooperative-sticky"}
CONSUMER = {"group.protocol": "consumer"}
PYTHON = {"session_timeout_ms": 10_000, "heartbeat_interval_ms": 500}
UNCOMMITTED = {"enable.auto.commit": False}
"""The member commits by itself, with its name as metadata."""

SEATED = {**SESSION, **UNCOMMITTED, "session.timeout.ms": 15_000}
NO_CLASSIC = ("partition.assignment.strategy", "heartbeat.interval.ms", "session.timeout.ms")
"""Settings of classic groups; in other groups the brokers' settings apply."""

JAVA = {"enable.auto.commit": "false"}
CLASSIC_JAVA = {**JAVA, "session.timeout.ms": "15000", "heartbeat.interval.ms": "500"}
SHARED_FROM_START = {"share.auto.offset.reset": "earliest", "share.delivery.count.limit": "10"}
"""Settings of share groups. Kafka gives up a record after these ten deliveries, and killed members use some of them."""

BARE, ALSO_BARE, INSTRUMENTED = TRIED = ("eager-bare", "eager-bare-also", "eager-instrumented")
"""The groups whose poll latency is compared, by `chaos.verdict.latency`."""


@dataclass(frozen=True)
class Kind:
    """A group: its client, its members' settings, and the pause between changes (seconds).

    ``process``: each member is a process of one of our programs; ``instrumented``: by our library, with the sidecar
    that has faults; ``group``: the group's own configuration.
    """

    name: str
    client: str
    settings: dict = field(default_factory=dict)
    rest_s: tuple[float, float] = (1.0, 6.0)
    static: bool = False
    process: bool = False
    instrumented: bool = False
    group: dict = field(default_factory=dict)


KINDS = (
    Kind("eager", "librdkafka", EAGER),
    Kind(BARE, "librdkafka", EAGER, process=True),
    Kind(ALSO_BARE, "librdkafka", EAGER, process=True),
    Kind(INSTRUMENTED, "librdkafka", EAGER, process=True, instrumented=True),
    Kind("cooperative", "librdkafka", COOPERATIVE),
    Kind("static", "librdkafka", COOPERATIVE, static=True),
    Kind("consumer", "librdkafka", CONSUMER),
    Kind("consumer-static", "librdkafka", CONSUMER, static=True),
    Kind("python", "kafka-python", PYTHON, (3.0, 10.0), process=True, instrumented=True),
    Kind("aiokafka", "aiokafka", PYTHON, (3.0, 10.0), process=True, instrumented=True),
    Kind("java", "java", {"session.timeout.ms": "6000"}, (6.0, 20.0)),
    Kind("share", "share", {}, (8.0, 25.0), process=True, group=SHARED_FROM_START),
    Kind("streams", "streams", {}, (8.0, 25.0), process=True),
)


REST_S, JAVA_REST_S = (3.0, 10.0), (8.0, 20.0)
SEATS_KINDS = (
    Kind("ck-range", "librdkafka", {**SEATED, "partition.assignment.strategy": "range"}, REST_S, process=True),
    Kind(
        "ck-coop", "librdkafka", {**SEATED, "partition.assignment.strategy": "cooperative-sticky"}, REST_S, process=True
    ),
    Kind("ck-848", "librdkafka", {**CONSUMER, **UNCOMMITTED}, REST_S, process=True),
    Kind("transactions", "transactions", SEATED, REST_S, process=True),
    Kind("kafka-python", "kafka-python", {**PYTHON, "enable_auto_commit": False}, REST_S, process=True),
    Kind("aiokafka", "aiokafka", PYTHON, REST_S, process=True),
    Kind("java", "java", {**CLASSIC_JAVA, "assignor": "CooperativeStickyAssignor"}, JAVA_REST_S),
    Kind("java-848", "java", {**CONSUMER, **JAVA, **dict.fromkeys(NO_CLASSIC, "")}, JAVA_REST_S),
    Kind("go", "go", {"assignor": "cooperative-sticky"}, REST_S),
)
"""The groups behind gateways of a run with ``--seats``."""


def batches(kinds):
    """Groups whose members join and leave at the same moments; each other group alone."""
    tried = tuple(each for each in kinds if each.name in TRIED)
    return [each for each in (tried, *((each,) for each in kinds if each not in tried)) if each]


def group_name(kind):
    """Return the group of a `Kind`. The names of compared groups give all of them the same coordinator."""
    return f"chaos-{kind.name}"


def librdkafkas(kind):
    """Return a `Kind`'s settings for a librdkafka consumer in a thread of the run."""
    if "group.protocol" in kind.settings:
        # With this protocol the brokers' settings apply instead of these.
        return {**kind.settings, **dict.fromkeys(NO_CLASSIC)}
    return kind.settings
