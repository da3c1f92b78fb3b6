"""A gateway's events compared with the coordinator's records of the same rebalances."""

from __future__ import annotations

import pytest

from rebalance_agent.advice import history_of, what_if
from rebalance_agent.advice.client_kinds import ClientKind
from rebalance_agent.model.event_json import event_from_json
from rebalance_agent.model.partitions import count_partitions
from support.gateway.agreed import disagreements, moves_that_differ, ranges
from support.gateway.gatewaying import gatewaying
from support.gateway.running import Plain
from support.observer.observing import create_topic, events, eventually, observing

pytestmark = pytest.mark.integration


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
