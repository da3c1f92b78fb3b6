"""Generations that leaders report, where the offsets topic cannot be read: each group has its share of work."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.groupprotocol.consumer_protocol import encode_assignment, encode_subscription
from rebalance_agent.model.baseline import NAME_BYTES_MAX
from rebalance_agent.model.episode import Source
from rebalance_agent.model.reported.led_generation import LedGenerationEvent, LedMember
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription
from rebalance_agent.offsets_topic.work_share.led_share import LedShare
from rebalance_agent.offsets_topic.work_share.record_claims import FREE_CLAIMS, claims
from rebalance_agent.offsets_topic.work_share.work_budget import GROUP_RATE, work_seconds
from support.observer.fakes import fake_context


def led(group, generation, partitions=4):
    member = LedMember(
        "m-2c1f4e0a-7c1b-4a57-9d0e-0d5b1f0c3a11",
        encode_subscription(ConsumerSubscription(3, ("t",))),
        encode_assignment(ConsumerAssignment(3, {"t": tuple(range(partitions))})),
    )
    facts = ("range", member.member_id, 1, (member,), 45_000, 300_000, "process", generation)
    return LedGenerationEvent(f"event-{group}-{generation}", group, 1_000, generation, *facts)


class Observer:
    def __init__(self, hidden=True):
        self.context = fake_context()
        self.share = LedShare(self.context, lambda: self.hidden)
        self.hidden = hidden
        self.share.on_topics({"t": 4})

    def taken(self):
        return self.context.inbox.take(10_000, 0)

    def run(self, seconds, events=lambda _step: ()):
        """Ten steps a second."""
        found = []
        for step in range(10 * seconds):
            self.context.clock.advance(100)
            for event in events(step):
                self.share.put(event)
                found += self.taken()
            self.share.release()
            found += self.taken()
        return found


def test_a_generation_is_observed_with_its_members():
    observer = Observer()
    observer.share.put(led("g", 3))
    (record,) = observer.taken()
    assert (record.group, record.value.generation, record.source, record.live) == ("g", 3, Source.FRAMES, True)
    assert [dict(member.assigned) for member in record.value.members] == [{"t": (0, 1, 2, 3)}]


def test_where_the_offsets_topic_can_be_read_nothing_is_observed_and_no_group_is_named():
    observer = Observer(hidden=False)
    assert observer.run(5, lambda step: [led("g", step)]) == []
    assert observer.context.meters.of("groups_over_budget") == []


def test_a_sender_causes_no_more_work_than_a_groups_share_and_others_never_wait():
    observer = Observer()
    found = observer.run(20, lambda step: [led("hostile", step, 10_000), led("orders", step)])
    assert sum(record.group == "orders" for record in found) == 200
    hostile = [record for record in found if record.group == "hostile"]
    assert sum(work_seconds(record.value) for record in hostile) <= 20 * GROUP_RATE + 1
    assert observer.context.meters.of("groups_over_budget")[-1] == ("work", ["hostile"])


def test_the_last_generation_is_observed_and_says_how_many_were_skipped():
    observer = Observer()
    found = observer.run(1, lambda step: [led("g", 100 * step + each) for each in range(100)])
    found += observer.run(600)
    assert found[-1].value.generation == 999
    assert sum(record.skipped for record in found) + len(found) == 1_000


def test_partitions_that_do_not_exist_are_removed_from_a_generation_that_claims_very_many():
    observer = Observer()
    observer.share.put(led("g", 1, FREE_CLAIMS + 1))
    (record,) = observer.taken()
    assert claims(record.value) == 4


@pytest.mark.parametrize("name", ["g" * (NAME_BYTES_MAX + 1), "ü" * NAME_BYTES_MAX])
def test_a_name_that_no_group_of_kafka_has_is_ignored(name):
    observer = Observer()
    observer.share.put(replace(led("g", 1), group=name))
    assert observer.taken() == []
