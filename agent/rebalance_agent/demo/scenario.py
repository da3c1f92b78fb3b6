"""Defines the demo's scenario as data: topics, groups with their members, and the steps in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rebalance_agent.demo.scenario_types import (
    AddPartitions,
    ClientLibrary,
    CreateTopic,
    DemoGroup,
    DemoMember,
    DemoStep,
    Expected,
    KillMember,
    SlowDown,
    StartMember,
    StopMember,
)
from rebalance_agent.model.episode import Trigger

__all__ = ["AGAIN", "AGAIN_PAUSE_SECONDS", "GROUPS", "SLOW_SECONDS", "STEPS", "TOPICS", "group_named"]

SLOW_SECONDS = 6.0
"""Delay of the slow consumer, in seconds: well above a normal rebalance on a busy machine, well below the session
timeout."""

_CLICKS = 80
TOPICS: Mapping[str, int] = {
    "invoices": 12,
    "orders": 100,
    "parcels": 16,
    "payments": 6,
    "readings": 8,
    **{f"clicks-{number:02}": 2 for number in range(_CLICKS)},
}
"""Topic -> number of partitions, before the first member starts."""

_SESSION_MS_MIN = 6_000
"""Shortest session timeout (ms) that brokers allow by default; a killed member is removed sooner."""

_BOTH = ("shuffled-roundrobin", "roundrobin")
"""The strategies that members offer while a group changes its assignor: the group uses the first common strategy."""

_WEIGHT, _PRIORITY = "assignment.consumer.weight", "assignment.consumer.priority"

_WITHOUT_SEATS, _WITH_SEATS = "invoices-without-seats", "invoices-with-seats"
"""Two groups with the same consumers behind the same gateway; only the gateway's rule for seats differs."""


def _invoices_member(group: str, version: str, number: int) -> str:
    return f"{group.removeprefix('invoices-')}-{version}-{number}"


GROUPS: tuple[DemoGroup, ...] = (
    DemoGroup(
        name="orders-weighted",
        description="three hosts of different sizes: weights 900, 90 and 10 for 100 partitions",
        client=ClientLibrary.KAFKA_PYTHON,
        assignor="weighted-sticky",
        topics="orders",
        members=tuple(DemoMember(f"orders-{weight}", {_WEIGHT: str(weight)}) for weight in (900, 90, 10)),
    ),
    DemoGroup(
        name="payments-failover",
        description="active and passive: one member works, the other waits",
        client=ClientLibrary.KAFKA_PYTHON,
        assignor="failover",
        topics="payments",
        members=(
            DemoMember("payments-active", {_PRIORITY: "200"}),
            DemoMember("payments-standby", {_PRIORITY: "100"}),
        ),
        session_timeout_ms=_SESSION_MS_MIN,
    ),
    DemoGroup(
        name="clicks-range",
        description=f"{_CLICKS} topics by regex, with range: the first two members get all partitions, "
        "the last one gets none",
        client=ClientLibrary.KAFKA_PYTHON,
        assignor="range",
        topics="^clicks-.*",
        members=tuple(DemoMember(f"range-{number}") for number in (1, 2, 3)),
    ),
    DemoGroup(
        name="clicks-hosts",
        description="the same topics, and two hosts with two members each: roundrobin puts each topic on one host, "
        "shuffled-roundrobin does not",
        client=ClientLibrary.KAFKA_PYTHON,
        assignor="shuffled-roundrobin",
        topics="^clicks-.*",
        members=(
            DemoMember("application02-old", host="application02", assignors=("roundrobin",)),
            DemoMember("application02-1", host="application02", assignors=_BOTH),
            DemoMember("application01-1", host="application01", assignors=_BOTH),
            DemoMember("application01-2", host="application01", assignors=_BOTH),
            DemoMember("application02-2", host="application02", from_start=False),
        ),
        host_names=r"(application\d+)",
    ),
    DemoGroup(
        name="readings-cooperative",
        description="plain confluent-kafka, not instrumented: stalls are bounds",
        client=ClientLibrary.CONFLUENT,
        assignor="cooperative-sticky",
        topics="readings",
        members=(DemoMember("readings-1"), DemoMember("readings-2"), DemoMember("readings-3", from_start=False)),
        session_timeout_ms=_SESSION_MS_MIN,
    ),
    DemoGroup(
        name="parcels-gateway",
        description="plain confluent-kafka with range, behind gateways that give its members weights 300 and 100 for "
        "16 partitions",
        client=ClientLibrary.CONFLUENT,
        assignor="weighted-sticky",
        configured="range",
        topics="parcels",
        members=tuple(DemoMember(f"parcels-{weight}", {_WEIGHT: str(weight)}) for weight in (300, 100)),
    ),
    *(
        DemoGroup(
            name=name,
            description=f"plain confluent-kafka with range, behind a gateway {where}; deployed: v2 replaces v1",
            client=ClientLibrary.CONFLUENT,
            assignor="range",
            topics="invoices",
            members=tuple(
                DemoMember(_invoices_member(name, version, number), from_start=version == "v1")
                for version in ("v1", "v2")
                for number in (1, 2)
            ),
            gateway="gateway-invoices",
            seats=seats,
        )
        for name, seats, where in (
            (_WITHOUT_SEATS, "", "without a rule for seats"),
            # A seat is kept while its successor, on a slow machine, has not started yet.
            (_WITH_SEATS, "on,seats.keep.seconds=20", "that gives its members seats"),
        )
    ),
)


def _deploy_step(
    name: str, text: str, act: type[StartMember | StopMember], version: str, number: int, expected: tuple[Trigger, int]
) -> DemoStep:
    """Return a step for the consumer with this ``version`` and ``number`` in both groups of the deployment.

    ``expected``: trigger and then number of members of the group without seats; the other group does not rebalance.
    """
    return DemoStep(
        f"deploy {number}/2: {name}",
        text,
        tuple(act(group, _invoices_member(group, version, number)) for group in (_WITHOUT_SEATS, _WITH_SEATS)),
        (Expected(_WITHOUT_SEATS, *expected),),
        unchanged=(_WITH_SEATS,),
    )


def _successor(number: int) -> DemoStep:
    text = f"v2-{number} starts in both invoices groups; the gateway holds the consumer that will get a seat"
    return _deploy_step("start", text, StartMember, "v2", number, (Trigger.MEMBER_JOINED, 3))


def _predecessor(number: int) -> DemoStep:
    text = f"v1-{number} closes its consumer in both groups; v2-{number} takes its seat"
    return _deploy_step("end", text, StopMember, "v1", number, (Trigger.MEMBER_LEFT, 2))


# Steps begin in this order and can overlap. Between two steps of one group there are steps of other groups, mostly
# after a long step (a session timeout, the slow consumer). No member is killed early: the end of its commits shows that
# it failed, so it must have committed before.
STEPS: tuple[DemoStep, ...] = (
    DemoStep(
        "join",
        "readings-3 joins",
        (StartMember("readings-cooperative", "readings-3"),),
        (Expected("readings-cooperative", Trigger.MEMBER_JOINED, 3),),
    ),
    DemoStep(
        "clean leave",
        "orders-10 closes its consumer",
        (StopMember("orders-weighted", "orders-10"),),
        (Expected("orders-weighted", Trigger.MEMBER_LEFT, 2),),
    ),
    _successor(1),
    DemoStep(
        "new topic",
        f"the topic clicks-{_CLICKS} is created and matches ^clicks-.*",
        (CreateTopic(f"clicks-{_CLICKS}", 2),),
        (
            Expected("clicks-range", Trigger.TOPICS_CHANGED, 3),
            Expected("clicks-hosts", Trigger.TOPICS_CHANGED, 4, on_one_host=_CLICKS + 1),
        ),
    ),
    DemoStep(
        "kill -9",
        "payments-active is killed; the broker waits for its session timeout",
        (KillMember("payments-failover", "payments-active"),),
        (Expected("payments-failover", Trigger.MEMBER_FAILED, 1),),
    ),
    _predecessor(1),
    DemoStep(
        "gateway: leave",
        "parcels-100 closes its plain consumer; its gateway reports the reason",
        (StopMember("parcels-gateway", "parcels-100"),),
        (Expected("parcels-gateway", Trigger.MEMBER_LEFT, 1, {"parcels-300": 16}),),
    ),
    DemoStep(
        "hosts: leave",
        "application02-old leaves, the last member that offers only roundrobin: the group uses shuffled-roundrobin",
        (StopMember("clicks-hosts", "application02-old"),),
        (Expected("clicks-hosts", Trigger.MEMBER_LEFT, 3),),
    ),
    DemoStep(
        "slow consumer",
        f"orders-10 comes back while orders-90 takes {SLOW_SECONDS:g} s to revoke: the whole group waits",
        (SlowDown("orders-weighted", "orders-90", SLOW_SECONDS), StartMember("orders-weighted", "orders-10")),
        (Expected("orders-weighted", Trigger.MEMBER_JOINED, 3),),
    ),
    _successor(2),
    DemoStep(
        "leave without a report",
        "readings-1 closes and reports nothing; its last commit shows that it left",
        (StopMember("readings-cooperative", "readings-1"),),
        (Expected("readings-cooperative", Trigger.MEMBER_LEFT, 2),),
    ),
    DemoStep(
        "failback",
        "payments-active returns and takes over",
        (StartMember("payments-failover", "payments-active"),),
        (Expected("payments-failover", Trigger.MEMBER_JOINED, 2),),
    ),
    _predecessor(2),
    DemoStep(
        "hosts: replacement",
        "application02-2 takes its place: no topic is entirely on one host",
        (StartMember("clicks-hosts", "application02-2"),),
        (Expected("clicks-hosts", Trigger.MEMBER_JOINED, 4, on_one_host=0),),
    ),
    DemoStep(
        "gateway: return",
        "parcels-100 returns with range in its configuration and gets the share of its weight",
        (StartMember("parcels-gateway", "parcels-100"),),
        (Expected("parcels-gateway", Trigger.MEMBER_JOINED, 2, {"parcels-300": 12, "parcels-100": 4}),),
    ),
    DemoStep(
        "added partitions",
        "payments grows from 6 to 8 partitions",
        (AddPartitions("payments", 8),),
        (Expected("payments-failover", Trigger.PARTITIONS_CHANGED, 2),),
    ),
)


def _again(name: str) -> DemoStep:
    step = next(step for step in STEPS if step.name == name)
    return replace(step, name=f"{name}, again")


# Each group ends a round with the same members as at the round's beginning. Topics grow only once, so the steps in
# which topics grow are not repeated.
AGAIN: tuple[DemoStep, ...] = (
    DemoStep(
        "join, again",
        "readings-1 joins",
        (StartMember("readings-cooperative", "readings-1"),),
        (Expected("readings-cooperative", Trigger.MEMBER_JOINED, 3),),
    ),
    _again("clean leave"),
    _again("kill -9"),
    _again("gateway: leave"),
    DemoStep(
        "hosts: leave, again",
        "application02-2 leaves",
        (StopMember("clicks-hosts", "application02-2"),),
        (Expected("clicks-hosts", Trigger.MEMBER_LEFT, 3),),
    ),
    _again("slow consumer"),
    _again("leave without a report"),
    _again("failback"),
    _again("hosts: replacement"),
    _again("gateway: return"),
)
"""The steps of a round, which a long run repeats after `STEPS` until its end."""

AGAIN_PAUSE_SECONDS = 55.0
"""Seconds between the starts of two steps of a round. Each member leaves and returns once in a round. If it left more
often, its group would be reported as a storm, and the member as flapping."""


def group_named(name: str) -> DemoGroup:
    """Return the group with this name, which must be in `GROUPS`."""
    return next(group for group in GROUPS if group.name == name)
