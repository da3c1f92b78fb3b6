"""The collector exports a process's own consumers through ``prometheus_client``, with a sidecar's names and values."""

from __future__ import annotations

import subprocess
import sys

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.openmetrics import exposition

from rebalance_agent.clock import FakeClock
from rebalance_agent.metrics.export.member_collector import MemberCollector
from rebalance_agent.metrics.export.member_metrics import MemberMetrics
from rebalance_agent.model.event_json import event_to_json
from rebalance_agent.model.events import Callback
from support.observer.scrapes import families, promtool_says
from support.observer.views import NOW, assign_event, member_event

DAY_MS = 24 * 3600 * 1000
EVENTS = (
    member_event(sequence=1),
    member_event(Callback.REVOKED, 2, started_ms=NOW + 1_000, timestamp_ms=NOW + 1_400, reprocessed_records=7),
    member_event(Callback.ASSIGNED, 3, started_ms=NOW + 2_900, timestamp_ms=NOW + 3_000, join_seconds=1.5),
    assign_event(4),
)


ASSIGNED = ("kafka_rebalance_member_assigned_total", "client_id=consumer-1", "consumergroup=orders")
PARTITIONS = ("kafka_rebalance_member_partitions", "client_id=consumer-1", "consumergroup=orders")


def series(text):
    """(sample name, its labels in alphabetical order) -> value: prometheus_client sorts the labels, and we do not."""
    return {
        (sample.name, *sorted(f"{label}={value}" for label, value in sample.labels.items())): sample.value
        for family in families(text).values()
        for sample in family.samples
    }


class Exported:
    """A collector in its registry, with a clock that the test moves."""

    def __init__(self):
        self.clock = FakeClock(NOW)
        self.collector = MemberCollector(self.clock)
        self.registry = CollectorRegistry(auto_describe=True)
        self.registry.register(self.collector)

    def take(self, *events):
        for event in events:
            self.collector(event_to_json(event))

    def scrape(self):
        return series(generate_latest(self.registry))


@pytest.fixture
def exported():
    return Exported()


def test_it_exports_what_a_sidecar_would(exported):
    sidecar = MemberMetrics(FakeClock(NOW))
    sidecar.observe(EVENTS)
    exported.take(*EVENTS)
    assert exported.scrape() == series(sidecar.text())  # totals at 0
    assert exported.scrape() == series(sidecar.text())
    assert exported.scrape()["kafka_rebalance_member_stall_seconds_sum", "consumergroup=orders"] == 2.0


def test_to_register_it_is_no_scrape(exported):
    exported.take(*EVENTS)
    CollectorRegistry(auto_describe=True).register(exported.collector)
    assert exported.scrape()[ASSIGNED] == 0


def test_both_formats_are_valid(exported):
    exported.take(*EVENTS, member_event(client_id='a"b\\\x7f', sequence=5))
    exported.scrape()
    assert promtool_says(generate_latest(exported.registry)) == ""
    assert b"# TYPE kafka_rebalance_member_assigned counter" in exposition.generate_latest(exported.registry)


def test_an_idle_consumer_keeps_its_gauges_and_one_that_left_loses_them(exported):
    exported.take(member_event(sequence=1))
    for _ in range(3):
        exported.clock.advance(DAY_MS - 1)
        assert exported.scrape()[PARTITIONS] == 3
    exported.take(member_event(Callback.LEFT, 2, partitions={}))
    assert PARTITIONS not in exported.scrape()
    exported.clock.advance(DAY_MS + 1)
    assert exported.scrape() == {}


PROGRAM = """
from prometheus_client import REGISTRY, generate_latest
from rebalance_agent.instrumentation import Instrumentation, Membership
hooks = Instrumentation(group="g", client_id="c", membership=lambda: Membership(3, "m"), events_url="")
assert b"kafka_rebalance" not in generate_latest(REGISTRY)
hooks.listener().on_partitions_assigned(())
assert hooks._builder._reporter.callbacks.finish(60)
assert b'kafka_rebalance_member_generation{client_id="c",consumergroup="g"} 3.0' in generate_latest(REGISTRY)
"""


def test_an_unchanged_program_exports_by_a_variable():
    name = "rebalance_agent.metrics.export.member_collector:on_event"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={"PYTHONPATH": ":".join(sys.path), "REBALANCE_AGENT_ON_EVENT": name},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
