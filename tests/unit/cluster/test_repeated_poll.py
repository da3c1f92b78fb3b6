from __future__ import annotations

import itertools
import random
from unittest.mock import Mock

import pytest

from rebalance_agent.cluster.admin_client import GroupListing
from rebalance_agent.cluster.backoff import Backoff
from rebalance_agent.cluster.name_filters import NameFilter
from rebalance_agent.cluster.repeated_poll import Poll
from rebalance_agent.errors import AccessDeniedError, ClusterError
from rebalance_agent.model.group import GroupState, GroupType
from rebalance_agent.polls.describe_groups import AGAIN_MAX, BATCH_MAX, DescribePoll
from rebalance_agent.polls.list_groups import list_poll
from rebalance_agent.polls.topic_metadata import NAMELESS_S, TopicsPoll
from rebalance_agent.tracking.observations import (
    DescribedGroup,
    GroupDescribed,
    GroupsListed,
    ListedGroup,
    TopicsSeen,
)
from rebalance_agent.tracking.tracker import REBALANCING
from support.observer.fakes import fake_context


class FakeCluster:
    def __init__(self):
        self.groups = ("a", "secret")
        self.complete = True
        self.described = []
        self.topics = {"t": 3}
        self.made = 1
        self.ids_asked = []
        self.silent = False

    def list_groups(self, _states):
        groups = (ListedGroup(name, GroupState.PREPARING_REBALANCE, GroupType.CLASSIC) for name in self.groups)
        return GroupListing(tuple(groups), self.complete)

    def describe_groups(self, groups):
        self.described.append(tuple(groups))
        return [DescribedGroup(name, GroupState.STABLE, GroupType.CLASSIC, "range", ()) for name in groups]

    def identify(self):
        return "cluster", self.topics

    def topic_ids(self, topics):
        self.ids_asked.append(set(topics))
        if self.silent:
            return {}
        return {topic: f"id of {topic}" + (f", made {self.made} times" if self.made > 1 else "") for topic in topics}


def test_a_list_response_has_the_time_of_the_request_and_only_shown_groups():
    context = fake_context(FakeCluster(), shows=NameFilter(".*", "secret"))
    received = []
    list_poll("list", REBALANCING, context, received.extend)()
    (listed,) = context.inbox.take(9, 0)
    assert isinstance(listed, GroupsListed)
    assert (listed.asked_ms, listed.answered_ms) == (context.clock.now_ms(),) * 2
    assert listed.states == REBALANCING
    assert [group.group for group in listed.groups] == received == ["a"]
    assert context.health.made == [("ready", "list")]


def test_a_response_without_some_broker_is_incomplete():
    context = fake_context(FakeCluster())
    context.cluster.complete = False
    list_poll("list", REBALANCING, context)()
    assert not context.inbox.take(1, 0)[0].complete


def test_failures_are_reported_and_polls_are_less_frequent_until_one_succeeds():
    context, asked = fake_context(), []

    def ask():
        asked.append(context.clock.monotonic())
        if len(asked) <= 3:
            raise ClusterError("brokers are away")

    poll = Poll("list", ask, context, Backoff(1.0, 4.0, random.Random(0)))
    for _ in range(200):
        poll()
        context.clock.advance(100)
    waits = [later - earlier for earlier, later in itertools.pairwise(asked)]
    assert 0.5 <= waits[0] <= 1.1
    assert 1.0 <= waits[1] <= 2.1
    assert 2.0 <= waits[2] <= 4.1
    assert waits[3:] == pytest.approx([0.1] * len(waits[3:]))
    assert context.health.of("unready") == [("list", "brokers are away")] * 3
    assert context.health.made[-1] == ("ready", "list")


def test_an_unexpected_exception_is_reported_and_does_not_end_the_polling():
    context = fake_context()
    poll = Poll("list", lambda: 1 / 0, context)
    poll()
    assert "ZeroDivisionError" in context.health.of("unready")[0][1]
    assert context.meters.of("polled")[0][2] is None


def test_topics_are_passed_to_subscribed_listeners():
    context, received = fake_context(FakeCluster()), []
    topics = TopicsPoll(context, [received.append])
    assert topics.unknown(["t"])
    topics.poll()
    assert context.inbox.take(1, 0) == [TopicsSeen(context.clock.now_ms(), {"t": 3}, {"t": "id of t"})]
    assert received == [{"t": 3}]
    assert not topics.unknown(["t"])
    assert topics.unknown(["t", "new"])


def test_a_recreated_topic_gets_its_new_id_once_a_record_has_it():
    context = fake_context(FakeCluster())
    topics = TopicsPoll(context)
    topics.poll()
    context.cluster.made = 2
    topics.poll()
    assert context.cluster.ids_asked == [{"t"}, set()]  # no id is missing
    assert topics.unknown([], ["id of t, made 2 times"])
    topics.poll()
    assert context.inbox.take(9, 0)[-1].ids == {"t": "id of t, made 2 times"}
    assert not topics.unknown(["t"], ["id of t, made 2 times"])


def test_a_new_id_is_requested_until_brokers_know_its_name():
    context = fake_context(FakeCluster())
    topics = TopicsPoll(context)
    topics.poll()
    context.cluster.made, context.cluster.silent = 2, True
    assert topics.unknown([], ["id of t, made 2 times"])
    for _ in range(2):
        topics.poll()
        assert context.inbox.take(9, 0)[-1].ids == {"t": "id of t"}
    context.cluster.silent = False
    topics.poll()
    assert context.inbox.take(9, 0)[-1].ids == {"t": "id of t, made 2 times"}
    topics.poll()
    assert context.cluster.ids_asked == [*[{"t"}] * 4, set()]


def test_an_id_that_is_missing_while_brokers_fail_is_requested_afterwards():
    context = fake_context(FakeCluster())
    topics = TopicsPoll(context)
    topics.poll()
    topic_ids, context.cluster.topic_ids = context.cluster.topic_ids, lambda _: 1 / 0
    assert topics.unknown([], ["id of t, made 2 times"])
    topics.poll()
    context.cluster.made, context.cluster.topic_ids = 2, topic_ids
    context.clock.advance(10_000)
    topics.poll()
    assert context.inbox.take(9, 0)[-1].ids == {"t": "id of t, made 2 times"}


def test_an_id_without_a_topic_is_requested_again_after_a_minute_independent_of_others():
    context = fake_context(FakeCluster())
    topics = TopicsPoll(context)
    for seconds in range(round(NAMELESS_S)):
        assert not topics.unknown([], ["one"] if seconds else [])
        topics.unknown([], ["one", f"another-{seconds}"])
        topics.poll()
        context.clock.advance(1_000)
    assert topics.unknown([], ["one"])
    context.clock.advance(round(NAMELESS_S * 1000))
    topics.unknown([], ["last"])
    topics.poll()
    assert len(topics._nameless_until) == 2


def test_ids_of_deleted_topics_are_requested_once_a_minute():
    context = fake_context(FakeCluster())
    topics = TopicsPoll(context)
    topics.poll()
    for _ in range(2):
        for deleted in ("one", "another"):
            assert topics.unknown(["t"], [deleted])
            topics.poll()
        assert not topics.unknown(["t"], ["one"])
        assert not topics.unknown(["t"], ["another"])
        topics.poll()
        context.clock.advance(round(NAMELESS_S * 1000))
    assert context.cluster.ids_asked == [{"t"}, {"t"}, {"t"}, set(), {"t"}, {"t"}, set()]


def test_groups_are_described_in_bounded_batches_while_enabled():
    context, wanted = fake_context(FakeCluster()), [True]
    describe = DescribePoll(context, lambda: wanted[0] and len(context.cluster.described) < 2)
    describe.poll()
    assert context.cluster.described == []
    names = [f"g{number:04}" for number in range(3 * BATCH_MAX)]
    assert describe.on_groups(names)
    assert not describe.on_groups(names)
    assert not describe.on_groups(names[1:])
    assert describe.on_groups([*names, "new"])
    assert not describe.on_groups(names)
    describe.poll()
    assert [len(batch) for batch in context.cluster.described] == [BATCH_MAX, BATCH_MAX]
    observations = context.inbox.take(10_000, 0)
    assert all(isinstance(each, GroupDescribed) for each in observations)
    assert [each.value.group for each in observations] == names[: 2 * BATCH_MAX]
    wanted[0] = False
    describe.poll()
    assert len(context.cluster.described) == 2


class Described(FakeCluster):
    """Describes each group with its state in ``states``; others are gone."""

    def __init__(self, **states):
        super().__init__()
        self.states = states

    def describe_groups(self, groups):
        self.described.append(list(groups))
        kinds = GroupType.CONSUMER, "uniform", ()
        return [DescribedGroup(name, self.states[name], *kinds) for name in groups if name in self.states]


def test_groups_that_have_not_settled_are_described_again_until_they_have():
    cluster = Described(a=GroupState.RECONCILING, b=GroupState.STABLE, c=GroupState.PREPARING_REBALANCE)
    describe = DescribePoll(fake_context(cluster), lambda: True)
    describe.again()
    assert cluster.described == []
    describe.on_groups("abc")
    describe.poll()
    describe.on_rebalancing("b")
    describe.again()
    assert cluster.described[1:] == [["a", "c", "b"]]
    cluster.states |= {"a": GroupState.EMPTY}
    del cluster.states["c"]
    for _ in range(3):
        describe.again()
    assert cluster.described[2:] == [["a", "c"]], "one has settled, and one is gone"


def test_unsettled_groups_take_turns_and_none_is_kept_where_descriptions_are_not_needed():
    names = [f"g{number:04}" for number in range(AGAIN_MAX + 1)]
    cluster, needed = Described(**dict.fromkeys(names, GroupState.RECONCILING)), [True]
    describe = DescribePoll(fake_context(cluster), lambda: needed[0])
    describe.on_rebalancing(names)
    describe.again()
    describe.again()
    assert cluster.described == [names[:AGAIN_MAX], [names[AGAIN_MAX], *names[: AGAIN_MAX - 1]]]
    needed[0] = False
    describe.again()
    describe.on_rebalancing(names)
    needed[0] = True
    describe.again()
    assert len(cluster.described) == 2


def test_descriptions_of_groups_end_with_the_process():
    """At its end the process waits for scheduled calls, which would take long with thousands of groups."""
    context = fake_context(FakeCluster())
    describe = DescribePoll(context, lambda: True)
    describe.on_groups(f"g{number:04}" for number in range(2 * BATCH_MAX))
    context.inbox.close()
    describe.poll()
    assert context.cluster.described == []


def test_a_group_with_a_hidden_topic_does_not_make_the_poll_fail():
    """Brokers refuse to describe a group of the newer protocols that has a topic the principal may not describe."""
    context = fake_context(FakeCluster())
    context.cluster.describe_groups = Mock(side_effect=AccessDeniedError("ConsumerGroupDescribe: not authorized"))
    describe = DescribePoll(context, lambda: True)
    describe.on_groups(["secret"])
    describe.poll()
    assert ("ready", "describe") in [made[:2] for made in context.health.made]
    assert not [made for made in context.health.made if made[0] == "unready"]
