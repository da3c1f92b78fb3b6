"""The balance of both kinds of Kafka Streams applications counts tasks, through the whole observer on the session's
broker."""

from __future__ import annotations

import uuid
from contextlib import closing

import pytest

from support.observer.observing import create_topic, events, eventually, observing
from support.scenarios.start_member import start_member

pytestmark = pytest.mark.integration

PARTITIONS, WIDTH = 4, 8
THREADS = 2 * PARTITIONS
"""One thread per task: those of the wide subtopology, and the same number of the other."""

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
