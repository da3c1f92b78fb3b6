"""A gateway's events of a real Kafka Streams application (KIP-1071), compared with the coordinator's records."""

from __future__ import annotations

import uuid
from collections import defaultdict
from contextlib import closing

import pytest

from support.gateway.agreed import pairs_in
from support.gateway.gatewaying import gatewaying
from support.observer.observing import create_topic, events, eventually, observing
from support.scenarios.start_member import start_member

pytestmark = pytest.mark.integration

PARTITIONS = 6


def test_a_gateway_reports_the_tasks_of_a_streams_group_as_partitions(kafka, tmp_path):
    unique = uuid.uuid4().hex[:8]
    group, published = f"streams-{unique}", f"events-{unique}"
    topics = [f"left-{unique}", f"right-{unique}"]
    for topic in topics:
        create_topic(kafka.bootstrap_servers, topic, PARTITIONS)
    create_topic(kafka.bootstrap_servers, published, 1)

    def instance(name, bootstrap):
        return closing(
            start_member(
                kafka,
                {
                    "client": "streams-timed",
                    "name": name,
                    "group": group,
                    "bootstrap": bootstrap,
                    "directory": str(tmp_path),
                    "subtopologies": [topics],
                    "settings": {"group.protocol": "streams"},
                },
            )
        )

    def of_kind(kind):
        return [each for each in events(kafka.bootstrap_servers, published, group=group) if each["kind"] == kind]

    def recorded():
        """Member -> partitions in the last generation."""
        members = found[-1]["members"] if (found := of_kind("generation")) else []
        return {each["member_id"]: pairs_in(each["assigned"]) for each in members}

    def reported():
        """Member -> partitions according to the gateway's events, for members that have not left."""
        owned = defaultdict(set)
        for each in of_kind("member"):
            assert each["evidence"] == "gateway"
            if each["callback"] == "assigned":
                owned[each["member_id"]] |= pairs_in(each["partitions"])
            else:
                owned[each["member_id"]] -= pairs_in(each["partitions"])
            if each["callback"] == "left":
                owned.pop(each["member_id"])
        return dict(owned)

    seen = {}

    def agreed(members):
        seen.update(recorded=recorded(), reported=reported())
        return len(seen["recorded"]) == members and seen["recorded"] == seen["reported"]

    with (
        observing(kafka.bootstrap_servers, events_topic=published, settle_seconds=1),
        gatewaying(kafka.bootstrap_servers, events_topic=published) as through,
    ):
        eventually(through.ready)
        with instance("one", through.bootstrap):
            eventually(lambda: agreed(1), waiting_for=seen)
            assert {len(each) for each in seen["reported"].values()} == {2 * PARTITIONS}
            with instance("two", through.bootstrap):
                eventually(lambda: agreed(2), waiting_for=seen)
                assert {len(each) for each in seen["reported"].values()} == {PARTITIONS}
            eventually(lambda: agreed(1), waiting_for=seen)
        stalls = [each["stall"] for each in of_kind("generation") if each["closes_episode"] and each.get("stall")]
    assert {each["basis"] for each in stalls} == {"bound"}  # frames show bounds
