from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from uuid import uuid4

from rebalance_agent.assignors import strategy
from rebalance_agent.assignors.hosts.host_names import HostNames
from rebalance_agent.assignors.strategy_registry import STRATEGIES
from rebalance_agent.demo.processes.gateways import gateways_of
from rebalance_agent.demo.scenario import AGAIN, AGAIN_PAUSE_SECONDS, GROUPS, STEPS, TOPICS, group_named
from rebalance_agent.demo.scenario_types import (
    AddPartitions,
    ClientLibrary,
    CreateTopic,
    KillMember,
    SlowDown,
    StartMember,
    StopMember,
)
from rebalance_agent.model.subscription import GroupSubscription, MemberSubscription, TopicMetadata
from rebalance_agent.tracking.patterns.flapping import RETURNS, WINDOW_MS
from rebalance_agent.ui.sentences.storms import STORM_MIN, STORM_SECONDS


def test_the_steps_use_every_kind_of_action():
    kinds = {type(action) for step in STEPS for action in step.actions}
    assert kinds == {StartMember, StopMember, KillMember, SlowDown, AddPartitions, CreateTopic}


def test_every_action_is_possible_with_the_members_of_its_step():
    alive = {group.name: {each.name for each in group.members if each.from_start} for group in GROUPS}
    performed(STEPS, alive)
    before = {name: set(members) for name, members in alive.items()}
    performed(AGAIN, alive)
    assert alive == before, "a round restores the initial members"


def test_a_round_makes_no_storm_and_no_member_flap():
    """A group with two members counts as a storm from seven rebalances on, a member as flapping at its third return."""
    round_seconds = (len(AGAIN) - 1) * AGAIN_PAUSE_SECONDS
    rebalances = max(Counter(expected.group for step in AGAIN for expected in step.expected).values())
    assert rebalances * (STORM_SECONDS / round_seconds + 1) <= STORM_MIN
    assert (RETURNS - 1) * round_seconds > WINDOW_MS / 1000
    starts = Counter(each.member for step in AGAIN for each in step.actions if isinstance(each, StartMember))
    assert set(starts.values()) == {1}


def performed(steps, alive):
    for step in steps:
        for action in step.actions:
            match action:
                case StartMember(group, name):
                    assert name in {member.name for member in group_named(group).members}
                    assert name not in alive[group]
                    alive[group].add(name)
                case StopMember(group, name) | KillMember(group, name):
                    alive[group].remove(name)
                case SlowDown(group, name, seconds):
                    assert name in alive[group]
                    assert seconds * 2 < group_named(group).session_timeout_ms / 1000
                case AddPartitions(topic, total):
                    assert total > TOPICS[topic]
                case CreateTopic(topic, _):
                    assert topic not in TOPICS
        assert {action.group for action in step.actions if hasattr(action, "group")} <= set(step.groups), step.name
        for expected in step.expected:
            assert expected.members == len(alive[expected.group]), step.name
            if expected.partitions:
                assert expected.partitions.keys() == alive[expected.group], step.name
                assert sum(expected.partitions.values()) == TOPICS[group_named(expected.group).topics], step.name


def test_a_new_topic_is_expected_in_every_group_that_matches_it():
    for step in STEPS:
        for action in step.actions:
            if isinstance(action, CreateTopic):
                matching = {group.name for group in GROUPS if re.match(group.topics, action.topic)}
                assert {expected.group for expected in step.expected} == matching


def test_instrumented_groups_use_our_strategies():
    instrumented = [group for group in GROUPS if group.client is ClientLibrary.KAFKA_PYTHON]
    offered = {assignor for group in instrumented for member in group.members for assignor in member.assignors}
    assert offered | {group.assignor for group in instrumented} <= STRATEGIES.keys()


def chosen(members):
    """The assignor that the coordinator chooses: the first common one in the members' lists."""
    common = [name for name in members[0].assignors if all(name in member.assignors for member in members)]
    return common[0]


def test_the_group_on_hosts_uses_roundrobin_until_the_last_member_without_another_assignor_leaves():
    group = group_named("clicks-hosts")
    start = [member for member in group.members if member.from_start]
    assert chosen(start) == "roundrobin"
    stops = (action for step in STEPS for action in step.actions if isinstance(action, StopMember))
    (leaving,) = (action.member for action in stops if action.group == group.name)
    left = [member for member in start if member.name != leaving]
    assert chosen(left) == group.assignor
    assert Counter(member.client_id for member in start) == {"application01": 2, "application02": 2}


def hosts_of_topics(strategy_name):
    """Topic -> number of hosts, if the group's first members use the strategy."""
    group = group_named("clicks-hosts")
    topics = {name: TopicMetadata(count) for name, count in TOPICS.items() if re.match(group.topics, name)}
    hosts = {f"{each.client_id}-{uuid4()}": each.client_id for each in group.members if each.from_start}
    members = tuple(MemberSubscription(name, tuple(topics)) for name in hosts)
    found = strategy(strategy_name).assign(GroupSubscription(topics, members)).members
    return [len({hosts[member] for member in hosts if found[member].get(topic)}) for topic in topics]


def test_under_roundrobin_each_topic_is_on_one_host_and_under_shuffled_roundrobin_on_both():
    assert set(hosts_of_topics("roundrobin")) == {1}
    assert set(hosts_of_topics("shuffled-roundrobin")) == {2}


def test_the_steps_expect_the_topics_of_the_group_on_hosts_on_one_host_and_then_on_none():
    clicks = sum(name.startswith("clicks-") for name in TOPICS)
    expected = {each.on_one_host for step in STEPS for each in step.expected if each.group == "clicks-hosts"}
    assert expected == {clicks + 1, None, 0}


def test_the_observers_rule_names_the_hosts_of_a_group_whose_members_have_them_as_client_ids():
    for group in GROUPS:
        assert bool(group.host_names) is any(member.host for member in group.members)
        rule = HostNames.parse(f"{group.name}={group.host_names or 'address'}").of(group.name)
        for member in group.members:
            assert rule.name(member.client_id, "/127.0.0.1") == (member.host or "127.0.0.1")


def test_a_group_behind_gateways_has_plain_clients_and_a_name_that_ends_with_gateway():
    (group,) = (group for group in GROUPS if group.configured)
    assert (group.client, group.configured, group.assignor) == (ClientLibrary.CONFLUENT, "range", "weighted-sticky")
    assert group.name.endswith("-gateway")


def test_a_deploy_replaces_all_members_of_two_groups_that_differ_in_their_seats():
    deployed = {group for step in STEPS if step.unchanged for group in step.groups}
    without, having = (group for group in GROUPS if group.name in deployed)
    assert (without.seats, having.seats.partition(",")[0]) == ("", "on")
    assert replace(having, name="", seats="", description="", members=()) == replace(
        without, name="", description="", members=()
    )
    for group in (without, having):
        alive = {member.name for member in group.members if member.from_start}
        actions = [action for step in STEPS for action in step.actions if getattr(action, "group", "") == group.name]
        started = {action.member for action in actions if isinstance(action, StartMember)}
        stopped = {action.member for action in actions if isinstance(action, StopMember)}
        assert (stopped, len(started)) == (alive, len(alive))


def test_names_of_processes_are_unique():
    names = [member.name for group in GROUPS for member in group.members]
    names += [gateway.name for gateway in gateways_of(GROUPS)]
    assert len(names) == len(set(names))
    assert not {"observe", "sidecar", "producer"} & set(names)


def test_every_group_has_topics():
    for group in GROUPS:
        assert any(re.fullmatch(group.topics.removeprefix("^"), topic) for topic in TOPICS), group.name
