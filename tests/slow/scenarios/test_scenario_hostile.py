"""Overload, and a topic that is compacted while it is read: memory is bounded, nothing is lost, nothing crashes."""

from __future__ import annotations

import threading

import psutil
import pytest
from bench.synthetic import TOPIC, generation
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from rebalance_agent.clock import SystemClock
from rebalance_agent.testing import EmbeddedKafka
from support.observer.observing import create_topic, eventually, everything, members, observing
from support.scenarios.foreign_records import FOREIGN_PARTITION, PARTITIONS, offsets_partition, write

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

GROUPS = 10_000
STATE_BYTES = 90_000 * GROUPS
"""The budget for so many groups (docs/operate.md)."""

MEMORY_MAX_BYTES = 1 << 30
PATIENCE_S = 600
"""Seconds to wait: each of the 10,000 rebalances is settled and published in milliseconds, more on a busy machine."""

GENERATIONS = "kafka_rebalance_generation{"


def _views(watched):
    return {view.group: view for view in watched.role.views()}


def _pause():
    """Pause between requests about many groups: the observer runs in this process, too."""
    threading.Event().wait(0.5)


def _group():
    """The name of a real group, to whose partition no other program writes."""
    return next(name for name in map("real-{}".format, range(100)) if offsets_partition(name) != FOREIGN_PARTITION)


def _accounted(watched, group):
    """The number of groups that /metrics shows, including ``group``, or counts as omitted."""
    shown = watched.metrics()
    assert f'{GENERATIONS}consumergroup="{group}"}}' in shown
    return sum(1 for name in shown if name.startswith(GENERATIONS)) + shown["rebalance_agent_groups_left_out"]


def _skipped(watched):
    return watched.metric("rebalance_agent_over_budget_records_total", outcome="skipped") or 0


def test_ten_thousand_groups_at_once_are_shown_or_counted_and_a_group_after_them_is_shown_first():
    """Each group has one record, and all of them come at once: more than may wait are counted as skipped, not shown.

    A group that the observer knows before does not wait for new groups, so the records of new ones cannot all be kept.
    The group with a real member does not commit: its topic has no records.
    """
    properties = {"offsets.topic.num.partitions": str(PARTITIONS)}
    names = [f"synthetic-{number:05}" for number in range(GROUPS)]
    with EmbeddedKafka(properties=properties) as kafka:
        bootstrap, group, now_ms = kafka.bootstrap_servers, _group(), SystemClock().now_ms()
        create_topic(bootstrap, "t", 4)
        with observing(bootstrap, settle_seconds=1, max_state_bytes=STATE_BYTES) as watched:
            before = psutil.Process().memory_info().rss
            write(bootstrap, [generation(name, 1, now_ms) for name in names])
            with members(bootstrap, group, "t", 1):
                eventually(lambda: group in _views(watched), between=_pause)
                shown = lambda: len(_views(watched))  # noqa: E731
                eventually(lambda: shown() + _skipped(watched) == GROUPS + 1, seconds=PATIENCE_S, between=_pause)
                eventually(
                    lambda: sum(_views(watched)[group].counters.completed.values()) == 1,
                    seconds=PATIENCE_S,
                    between=_pause,
                )
                # The page's number of omitted groups is that of the previous page.
                eventually(lambda: _accounted(watched, group) == shown(), seconds=PATIENCE_S, between=_pause)
            assert psutil.Process().memory_info().rss - before < MEMORY_MAX_BYTES
            write(bootstrap, [(generation(name, 1, now_ms)[0], None) for name in names])
            eventually(lambda: not _views(watched).keys() & set(names), seconds=PATIENCE_S, between=_pause)
            eventually(watched.ready)


def test_a_topic_that_is_compacted_while_it_is_read_gives_the_same_generations():
    eager = {
        "offsets.topic.num.partitions": str(PARTITIONS),
        "log.cleaner.backoff.ms": "100",
        "log.cleaner.min.cleanable.ratio": "0.01",
        "log.cleaner.delete.retention.ms": "0",
        "log.segment.delete.delay.ms": "0",
    }
    names, rounds = [f"synthetic-{number:03}" for number in range(50)], 200
    with EmbeddedKafka(properties=eager) as kafka:
        bootstrap, group, now_ms = kafka.bootstrap_servers, _group(), SystemClock().now_ms()
        _cut_small_segments(bootstrap)
        create_topic(bootstrap, "t", 4)

        def written(number):
            write(bootstrap, [generation(name, number, now_ms + number) for name in names])

        for number in range(1, rounds // 2):
            written(number)
        with observing(bootstrap, wait=False, settle_seconds=0.2) as watched, members(bootstrap, group, "t", 1):
            for number in range(rounds // 2, rounds + 1):
                written(number)
            eventually(lambda: set(_generations(watched, names)) == {rounds})
            eventually(lambda: _generations(watched, [group]) == [1])
            eventually(watched.ready)
            left = lambda: sum(1 for each in everything(bootstrap, TOPIC) if each.partition() == FOREIGN_PARTITION)  # noqa: E731
            eventually(lambda: left() < rounds * len(names) // 2, waiting_for="nothing was compacted")
        with observing(bootstrap) as watched:
            eventually(lambda: set(_generations(watched, names)) == {rounds})
            assert watched.metric("rebalance_agent_decode_errors_total", key_version="2") == 0


def _generations(watched, names):
    shown = watched.metrics()
    return [shown.get(f'{GENERATIONS}consumergroup="{name}"}}') for name in names]


def _cut_small_segments(bootstrap):
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    entry = ConfigEntry("segment.bytes", str(1 << 20), incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, TOPIC, incremental_configs=[entry])
    admin.incremental_alter_configs([resource])[resource].result()
