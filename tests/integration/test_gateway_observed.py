"""What a gateway tells and what the coordinator's records say of the same rebalances."""

from __future__ import annotations

import pytest

from rebalance_agent.model.partitions import count_partitions
from support.gateway_agreed import disagreements, ranges
from support.gateway_running import Plain
from support.gatewaying import gatewaying
from support.observing import create_topic, events, eventually, observing

pytestmark = pytest.mark.integration


def test_observer_and_gateway_agree_on_every_generation(kafka):
    bootstrap, topic, group, published = kafka.bootstrap_servers, "agreed", "agreeing", "agreed-events"
    create_topic(bootstrap, topic, 16)
    create_topic(bootstrap, published, 1)  # a new one is read by the observer only when it next looks for topics
    rules = {"gateway_groups": f"{group}=weighted-sticky", "events_topic": published}
    with (
        observing(bootstrap, events_topic=published, settle_seconds=3),
        gatewaying(bootstrap, **rules) as through,
    ):
        eventually(through.ready)
        consumers = [Plain(through.bootstrap, group, topic, **{"client.id": name}) for name in ("a", "b", "c")]
        try:
            eventually(lambda: sorted(len(each.owned) for each in consumers) == [5, 5, 6])
            consumers.pop().close()
            eventually(lambda: [len(each.owned) for each in consumers] == [8, 8])

            def agreed():
                told = events(bootstrap, published, group=group)
                closing = [each for each in told if each["kind"] == "generation" and each["closes_episode"]]
                last = closing[-1] if closing else {}
                return last.get("trigger") == "member_left" and not disagreements(told) and told

            told = eventually(agreed)
        finally:
            for each in consumers:
                each.close()
    generations = [each for each in told if each["kind"] == "generation"]
    assert {each["assignor"] for each in generations} == {"weighted-sticky"}
    last = generations[-1]
    assert (len(last["members"]), last["stall"]["basis"]) == (2, "exact")
    assert last["phases"]["started_evidence"] in ("gateway", "list")
    assert sum(count_partitions(ranges(each["assigned"])) for each in last["members"]) == 16
