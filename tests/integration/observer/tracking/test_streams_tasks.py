"""The balance of both kinds of Kafka Streams applications counts tasks, through the whole observer on the session's
broker."""

from __future__ import annotations

import json
import uuid
from contextlib import closing
from functools import partial

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from rebalance_agent.cli import main
from support.observer.observing import PATIENCE_S, create_topic, events, eventually, observing
from support.scenarios.start_member import start_member

pytestmark = pytest.mark.integration

PARTITIONS, WIDTH = 4, 8
THREADS = 2 * PARTITIONS
"""One thread per task: those of the wide subtopology, and the same number of the other."""

KINDS = ("active", "standby", "warmup")
SHOWN = ("members", "partitions_unassigned", "idle_members", "assignment_imbalance_partitions")
SKEW = "kafka_rebalance_assignment_skew_ratio"


@pytest.mark.parametrize(
    ("protocol", "settings"),
    [("classic", {"heartbeat.interval.ms": "200"}), ("streams", {})],
    ids=["classic", "streams"],
)
def test_a_thread_for_each_task_is_no_skew_although_one_subtopology_reads_more_topics(
    kafka, tmp_path, protocol, settings
):
    unique = uuid.uuid4().hex[:8]
    group, published = f"application-{unique}", f"events-{unique}"
    # The order of Kafka's strings: upper case first.
    wide = [f"{'IN' if number % 2 else 'in'}-{unique}-{number}" for number in range(WIDTH)]
    subtopologies = [wide, [f"other-{unique}"]]
    for topics in subtopologies:
        for topic in topics:
            create_topic(kafka.bootstrap_servers, topic, PARTITIONS)
    config = {
        "client": "streams-timed",
        "name": "application",
        "group": group,
        "bootstrap": kafka.bootstrap_servers,
        "directory": str(tmp_path),
        "subtopologies": subtopologies,
        "settings": {"group.protocol": protocol, "num.stream.threads": str(THREADS), **settings},
    }
    with observing(kafka.bootstrap_servers, events_topic=published, settle_seconds=0.2) as watched:
        seen = []

        def shown():
            seen[:] = [watched.metric(f"kafka_rebalance_{name}", consumergroup=group) for name in SHOWN]
            seen.append(watched.metric(SKEW, consumergroup=group, weight="partitions"))
            return seen == [THREADS, 0, 0, 0, 1]

        def last():
            found = [each for each in events(kafka.bootstrap_servers, published, group=group) if each.get("members")]
            return found[-1] if found and all(member["assigned"] for member in found[-1]["members"]) else None

        with closing(start_member(kafka, config)):
            eventually(shown, waiting_for=seen)
            event = eventually(lambda: (each := last()) and len(each["members"]) == THREADS and each)
    assert (event["group_type"], event["skew_ratio"], event["imbalance"]) == (protocol, 1, 0)
    assert sorted(len(member["assigned"]) for member in event["members"]) == [1] * PARTITIONS + [WIDTH] * PARTITIONS


def test_a_second_instance_of_a_streams_group_takes_its_tasks_in_one_rebalance(kafka, tmp_path, capsys):
    """The API, the event and `explain` show the tasks of each member as partitions of their subtopologies' topics."""
    unique = uuid.uuid4().hex[:8]
    group, published = f"scaled-{unique}", f"events-{unique}"
    subtopologies = [[f"left-{unique}", f"right-{unique}"], [f"other-{unique}"]]
    for topics in subtopologies:
        for topic in topics:
            create_topic(kafka.bootstrap_servers, topic, PARTITIONS)

    instance = partial(started, kafka, tmp_path, group, subtopologies)
    with observing(kafka.bootstrap_servers, events_topic=published, settle_seconds=0.2) as watched:

        def tasks():
            status, text = watched.get(f"/api/v1/groups/{group}")
            members = json.loads(text)["members"] if status == 200 else ()
            return sorted(tasks_of(member["assigned"], subtopologies) for member in members if member.get("assigned"))

        with instance("one"):
            eventually(lambda: tasks() == [(PARTITIONS, PARTITIONS)], waiting_for=tasks)
            with instance("two"):
                eventually(lambda: sorted(map(sum, tasks())) == [PARTITIONS] * 2, waiting_for=tasks)
                event = eventually(
                    lambda: next(
                        (
                            each
                            for each in events(kafka.bootstrap_servers, published, group=group)
                            if each.get("closes_episode") and each["causes"] == ["member_joined"]
                        ),
                        None,
                    )
                )
                assert (event["group_type"], event["trigger"]) == ("streams", "member_joined")
                assert len(event["members"]) == 2
                url = f"http://127.0.0.1:{watched.role.port}"
                text = eventually(
                    lambda: explanation(group, url, capsys, "two-StreamThread-1-consumer (127.0.0.1) joined")
                )
                assert "6 partitions moved" in text, "of four tasks: two that read two topics, and two others"
                assert "two-StreamThread-1-consumer" in watched.get(f"/group?name={group}")[1]


def test_standby_tasks_endpoints_and_processes_of_a_streams_group_are_shown(kafka, tmp_path, capsys):
    """With a standby replica, each of two instances has a copy of the other's tasks."""
    unique = uuid.uuid4().hex[:8]
    group, published = f"stateful-{unique}", f"events-{unique}"
    subtopologies = [[f"left-{unique}"], [f"other-{unique}"]]
    for (topic,) in subtopologies:
        create_topic(kafka.bootstrap_servers, topic, PARTITIONS)
    standbys = ConfigEntry("streams.num.standby.replicas", "1", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.GROUP, group, incremental_configs=[standbys])
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
    admin.incremental_alter_configs([resource])[resource].result(PATIENCE_S)

    def instance(name, server):
        settings = {"application.server": server}
        return started(kafka, tmp_path, group, subtopologies, name, settings=settings, stateful=True)

    with observing(kafka.bootstrap_servers, events_topic=published, settle_seconds=0.2) as watched:

        def members():
            status, text = watched.get(f"/api/v1/groups/{group}")
            found = json.loads(text)["members"] if status == 200 else ()
            return {each["client_id"]: each["streams"] for each in found if each.get("streams")}

        def counts():
            return [watched.metric("kafka_rebalance_streams_tasks", consumergroup=group, kind=kind) for kind in KINDS]

        def numbers():
            return sorted(tuple(tasks_in(each[kind]) for kind in KINDS) for each in members().values())

        def topology():
            found = json.loads(watched.get(f"/api/v1/groups/{group}")[1])
            return found.get("topology", {}).get("subtopologies")

        with instance("one", "one.example:7001"):
            eventually(lambda: numbers() == [(2 * PARTITIONS, 0, 0)], waiting_for=members)
            assert counts() == [2 * PARTITIONS, 0, 0], "no other process could have the copies"
            with instance("two", "[2001:db8::7]:7002"):
                eventually(lambda: numbers() == [(PARTITIONS, PARTITIONS, 0)] * 2, waiting_for=members)
                one, two = (members()[f"{name}-StreamThread-1-consumer"] for name in ("one", "two"))
                assert (one["standby"], two["standby"]) == (two["active"], one["active"])
                assert (one["endpoint"], two["endpoint"]) == ("one.example:7001", "[2001:db8::7]:7002")
                assert one["process_id"] != two["process_id"]
                eventually(lambda: counts() == [2 * PARTITIONS, 2 * PARTITIONS, 0], waiting_for=counts)
                assert watched.metric("kafka_rebalance_idle_members", consumergroup=group) == 0
                url = f"http://127.0.0.1:{watched.role.port}"
                text = eventually(lambda: explanation(group, url, capsys, "Tasks: 8 active, 8 standby and 0 warm-up"))
                copies = ", ".join(task_ids(one["standby"]))
                assert f"one-StreamThread-1-consumer: standby {copies}; endpoint one.example:7001" in text
                page = watched.get(f"/group?name={group}")[1]
                assert (
                    f"active {', '.join(task_ids(two['active']))}; standby {', '.join(task_ids(one['active']))}" in page
                )
                assert two["process_id"] in page
                first, second = eventually(topology, waiting_for=topology)
                assert (first["source_topics"], second["source_topics"]) == tuple(subtopologies)
                assert [each["changelog_topics"][0].startswith(f"{group}-") for each in (first, second)] == [True] * 2
                assert "sink_topics" not in first, "the broker has no plugin that stores descriptions"
                text = eventually(
                    lambda: explanation(group, url, capsys, f"Subtopology 0: reads {subtopologies[0][0]}")
                )
                assert f"changelog topic {first['changelog_topics'][0]}" in text
                assert first["changelog_topics"][0] in watched.get(f"/group?name={group}")[1]

                def published_tasks():
                    made = [
                        each for each in events(kafka.bootstrap_servers, published, group=group) if "members" in each
                    ]
                    return {each["client_id"]: each.get("streams") for each in (made[-1]["members"] if made else ())}

                eventually(lambda: published_tasks() == members(), waiting_for=published_tasks)


def started(kafka, tmp_path, group, subtopologies, name, settings=None, **more):
    """A running instance of a streams group's application."""
    config = {
        "client": "streams-timed",
        "name": name,
        "group": group,
        "bootstrap": kafka.bootstrap_servers,
        "directory": str(tmp_path),
        "subtopologies": subtopologies,
        "settings": {"group.protocol": "streams", **(settings or {})},
        **more,
    }
    return closing(start_member(kafka, config))


def tasks_in(by_subtopology):
    return len(task_ids(by_subtopology))


def task_ids(by_subtopology):
    return [f"{subtopology}_{number}" for subtopology, text in by_subtopology.items() for number in ranges(text)]


def tasks_of(assigned, subtopologies):
    """The number of tasks in each subtopology; the topics of one subtopology have the same partitions."""
    for topics in subtopologies:
        assert len({assigned.get(topic) for topic in topics}) == 1, assigned
    return tuple(len(ranges(assigned.get(topics[0], ""))) for topics in subtopologies)


def ranges(text):
    """The partitions of the API's form, such as ``0-4,7``."""
    spans = [each.split("-") for each in text.split(",") if each]
    return [number for span in spans for number in range(int(span[0]), int(span[-1]) + 1)]


def explanation(group, url, capsys, word):
    """The output of `explain` on one line, once it contains ``word``."""
    main.main(["explain", group, "--url", url])
    text = " ".join(capsys.readouterr().out.split())
    return text if word in text else None
