"""The strategy's own promises. kafka-rebalance-agent checks at runtime that results are valid."""

from __future__ import annotations

import pytest
from rendezvous_strategy import RENDEZVOUS

from rebalance_agent.assignors import strategy
from rebalance_agent.model.subscription import GroupSubscription, MemberSubscription, TopicMetadata

TOPICS = {"orders": TopicMetadata(60), "clicks": TopicMetadata(7)}


def group(*names, **config):
    members = tuple(MemberSubscription(f"{name}-7f3a", ("clicks", "orders"), instance_id=name) for name in names)
    return GroupSubscription(
        TOPICS, members, config={f"assignment.rendezvous.{key}": text for key, text in config.items()}
    )


def owners(subscription):
    assigned = RENDEZVOUS.assign(subscription).members
    names = {member.member_id: member.instance_id for member in subscription.members}
    return {
        (topic, number): names[member]
        for member, topics in assigned.items()
        for topic, numbers in topics.items()
        for number in numbers
    }


def test_the_installed_name_is_this_strategy():
    assert strategy("rendezvous").summary == RENDEZVOUS.summary
    assert strategy("cooperative-rendezvous").protocol == "cooperative"


def test_every_partition_has_an_owner_in_any_order_of_members():
    assert owners(group("a", "b", "c")) == owners(group("c", "a", "b"))
    assert len(owners(group("a", "b", "c"))) == 67


@pytest.mark.parametrize(("slack", "most"), [("0", 20), ("25", 25), ("1000", 60)])
def test_no_member_gets_more_of_a_topic_than_its_share_plus_the_slack(slack, most):
    owned = list(owners(group("a", "b", "c", **{"slack.percent": slack})).items())
    for name in "abc":
        assert sum(owner == name and topic == "orders" for (topic, _), owner in owned) <= most


def test_with_enough_slack_only_the_partitions_of_the_member_that_left_move():
    before, after = (owners(group(*names, **{"slack.percent": "1000"})) for names in ("abc", "ab"))
    assert all(after[partition] == owner for partition, owner in before.items() if owner != "c")
