"""A gateway's events compared with the coordinator's records of the same rebalances."""

from __future__ import annotations

import uuid
from collections import defaultdict
from contextlib import closing

import pytest

from rebalance_agent.advice import history_of, what_if
from rebalance_agent.advice.client_kinds import ClientKind
from rebalance_agent.model.event_json import event_from_json
from rebalance_agent.model.partitions import count_partitions
from support.gateway.agreed import disagreements, moves_that_differ, pairs_in, ranges
from support.gateway.gatewaying import gatewaying
from support.gateway.running import Plain
from support.observer.observing import create_topic, events, eventually, observing
from support.scenarios.start_member import start_member

pytestmark = pytest.mark.integration

STREAMS_PARTITIONS = 6


@pytest.mark.parametrize(
    ("own", "strategy", "differ"),
    [
        ("range", "weighted-sticky", disagreements),
        ("cooperative-sticky", "cooperative-weighted-sticky", moves_that_differ),
    ],
)
def test_observer_and_gateway_agree_on_every_generation(kafka, own, strategy, differ):
    bootstrap = kafka.bootstrap_servers
    topic, group, published = (f"{word}-{strategy}" for word in ("agreed", "agreeing", "agreed-events"))
    create_topic(bootstrap, topic, 16)
    create_topic(bootstrap, published, 1)  # the observer reads a new topic only after its next topic poll
    rules = {"gateway_groups": f"{group}={strategy}", "events_topic": published}
    last = {}
    with (
        observing(bootstrap, events_topic=published, settle_seconds=3),
        gatewaying(bootstrap, **rules) as through,
    ):
        eventually(through.ready)
        properties = {"partition.assignment.strategy": own}
        consumers = []
        try:
            # If one joined while the record of a generation is written, no member would get that assignment.
            for name, shares in (("a", [16]), ("b", [8, 8]), ("c", [5, 5, 6])):
                consumers.append(Plain(through.bootstrap, group, topic, **properties, **{"client.id": name}))
                eventually(lambda shares=shares: sorted(len(each.owned) for each in consumers) == shares)
            consumers.pop().close()
            eventually(lambda: [len(each.owned) for each in consumers] == [8, 8])

            def agreed():
                reported = events(bootstrap, published, group=group)
                closing = [each for each in reported if each["kind"] == "generation" and each["closes_episode"]]
                last["differ"] = differ(reported)
                return closing and closing[-1]["trigger"] == "member_left" and not last["differ"] and reported

            reported = eventually(agreed, waiting_for=last)
        finally:
            for each in consumers:
                each.close()
    compared = what_if(history_of(map(event_from_json, reported)), [strategy])
    # The clients have no such strategy, so the gateway runs it.
    assert (compared.clients, compared.gateway_clients) == ((), ((ClientKind.LIBRDKAFKA,),))
    generations = [each for each in reported if each["kind"] == "generation"]
    assert {each["assignor"] for each in generations} == {strategy}
    newest = generations[-1]
    assert (len(newest["members"]), newest["stall"]["basis"]) == (2, "bound")
    assert newest["phases"]["started_evidence"] in ("gateway", "list")
    assert sum(count_partitions(ranges(each["assigned"])) for each in newest["members"]) == 16


def test_a_gateway_reports_the_tasks_of_a_streams_group_as_partitions(kafka, tmp_path):
    unique = uuid.uuid4().hex[:8]
    group, published = f"streams-{unique}", f"events-{unique}"
    topics = [f"left-{unique}", f"right-{unique}"]
    for topic in topics:
        create_topic(kafka.bootstrap_servers, topic, STREAMS_PARTITIONS)
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
            assert {len(each) for each in seen["reported"].values()} == {2 * STREAMS_PARTITIONS}
            with instance("two", through.bootstrap):
                eventually(lambda: agreed(2), waiting_for=seen)
                assert {len(each) for each in seen["reported"].values()} == {STREAMS_PARTITIONS}
            eventually(lambda: agreed(1), waiting_for=seen)
        stalls = [each["stall"] for each in of_kind("generation") if each["closes_episode"] and each.get("stall")]
    assert {each["basis"] for each in stalls} == {"bound"}  # frames show bounds
