"""Java's clients push how long their callbacks took, and bounds behind a gateway get tighter.

The second member's first push comes after its first assigned callback, so that both callbacks of the moved partitions
are known only if the first push counts.
"""

from __future__ import annotations

import uuid
from contextlib import closing

import pytest

from rebalance_agent.testing.kafka.java import java_runtime
from support.gateway.gatewaying import gatewaying
from support.java.client_jar import compiled, wrapped_member
from support.java.logged_stalls import longest_ms
from support.members.reporting_program import stalls_of_two
from support.observer.observing import create_topic, events, eventually, observing

pytestmark = pytest.mark.integration

CALLBACK_MS = 1_500
INTERVAL_S = 8
DIFFERENCE_MS_MAX = 50
BOTH_SECONDS = 2 * (CALLBACK_MS - 2) / 1000
"""A revoked callback and an assigned one, without what rounding takes."""

PLAIN = {
    "partition.assignment.strategy": "org.apache.kafka.clients.consumer.RangeAssignor",
    "metric.reporters": None,
    "rebalance.agent.events.url": None,
}


def test_the_lower_bound_contains_the_callbacks_that_clients_measured(kafka, tmp_path):
    bootstrap, unique = kafka.bootstrap_servers, uuid.uuid4().hex[:8]
    topic, group, published = f"topic-{unique}", f"group-{unique}", f"events-{unique}"
    create_topic(bootstrap, topic, 4)
    create_topic(bootstrap, published, 1)
    class_path = compiled(java_runtime().jars, tmp_path)
    telemetry = {"gateway_telemetry": True, "gateway_telemetry_seconds": INTERVAL_S}
    with (
        observing(bootstrap, events_topic=published, settle_seconds=1),
        gatewaying(bootstrap, events_topic=published, **telemetry) as through,
    ):

        def join(name):
            member = wrapped_member(class_path, through.bootstrap, group, topic, name, CALLBACK_MS, "", **PLAIN)
            return closing(member)

        def pushed():
            return through.metric("rebalance_agent_gateway_telemetry_pushes_total", outcome="accepted")

        with join("one") as one:
            eventually(lambda: one.owned == {0, 1, 2, 3}, waiting_for=one.errors)
            before = pushed()
            eventually(lambda: pushed() >= before + 3)
            with join("two") as two:
                eventually(lambda: len(two.owned) == 2 == len(one.owned), waiting_for=(one.errors, two.errors))

                def tightened():
                    (stall,) = stalls_of_two(bootstrap, published, group) or [None]
                    return stall and stall["lower_seconds"] > BOTH_SECONDS and stall

                stall = eventually(tightened, waiting_for=lambda: stalls_of_two(bootstrap, published, group))
                measured = longest_ms(one, two)
    reported = events(bootstrap, published, group=group)
    durations = [each["callback_seconds"] for each in reported if each.get("callback_seconds") is not None]
    assert durations
    assert all(abs(seconds * 1000 - CALLBACK_MS) <= DIFFERENCE_MS_MAX for seconds in durations)
    assert stall["basis"] == "bound"
    assert stall["lower_seconds"] * 1000 <= measured + DIFFERENCE_MS_MAX, (one.lines, two.lines)
