from __future__ import annotations

import re

from rebalance_agent.assignors.strategy_registry import STRATEGIES
from rebalance_agent.demo.processes.gateways import behind_gateways, gateway_name
from rebalance_agent.demo.stories import (
    GROUPS,
    STEPS,
    TOPICS,
    AddPartitions,
    ClientLibrary,
    CreateTopic,
    KillMember,
    SlowDown,
    StartMember,
    StopMember,
    group_named,
)


def test_the_timetable_shows_all_that_it_must():
    kinds = {type(action) for step in STEPS for action in step.actions}
    assert kinds == {StartMember, StopMember, KillMember, SlowDown, AddPartitions, CreateTopic}


def test_every_action_fits_the_members_there_are_at_that_moment():
    alive = {group.name: {each.client_id for each in group.members if each.from_start} for group in GROUPS}
    for step in STEPS:
        for action in step.actions:
            match action:
                case StartMember(group, client_id):
                    assert client_id in {member.client_id for member in group_named(group).members}
                    assert client_id not in alive[group]
                    alive[group].add(client_id)
                case StopMember(group, client_id) | KillMember(group, client_id):
                    alive[group].remove(client_id)
                case SlowDown(group, client_id, seconds):
                    assert client_id in alive[group]
                    assert seconds * 2 < group_named(group).session_timeout_ms / 1000
                case AddPartitions(topic, total):
                    assert total > TOPICS[topic]
                case CreateTopic(topic, _):
                    assert topic not in TOPICS
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


def test_instrumented_groups_run_strategies_of_ours():
    assert {group.assignor for group in GROUPS if group.client is ClientLibrary.KAFKA_PYTHON} <= STRATEGIES.keys()


def test_a_group_behind_gateways_has_plain_clients_and_says_so_in_its_name():
    (group,) = (group for group in GROUPS if group.configured)
    assert (group.client, group.configured, group.assignor) == (ClientLibrary.CONFLUENT, "range", "weighted-sticky")
    assert group.name.endswith("-gateway")


def test_client_ids_are_unique_because_processes_and_logs_are_named_after_them():
    names = [member.client_id for group in GROUPS for member in group.members]
    names += [gateway_name(member.client_id) for _, member in behind_gateways(GROUPS)]
    assert len(names) == len(set(names))
    assert not {"observe", "sidecar", "producer"} & set(names)


def test_every_group_has_topics():
    for group in GROUPS:
        assert any(re.fullmatch(group.topics.removeprefix("^"), topic) for topic in TOPICS), group.name
