"""Each of 100 generations is one trace, although the collector is killed again and again, amid requests."""

from __future__ import annotations

import random
import threading
import uuid
from collections import defaultdict

import pytest

from rebalance_agent.testing import EmbeddedKafka
from rebalance_agent.traces.span import ROOT, trace_id
from support.members.instrumented import Member
from support.observer.observing import beside, create_topic, events, eventually, observing
from support.otlp.collector import Collector, attributes_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning"),  # importing kafka-python warns
]

GENERATIONS = 100
GROUPS = 3
PATIENCE_S = 300


class Restarted:
    """A collector that is up for up to three seconds, and then away for as long. A context manager."""

    def __init__(self):
        with Collector() as first:
            self.url, self._port = first.url, first.port
        self.times, self._lives = 0, []
        self._stop, self._chance = threading.Event(), random.Random(27)
        self._thread = threading.Thread(target=self._live)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_error):
        self.settle()

    def settle(self):
        """Stop the restarts; return all spans, including those that a collector received before it was killed."""
        self._stop.set()
        self._thread.join()
        return [span for life in self._lives for span in life.spans()]

    def last(self):
        """A collector that stays."""
        collector = Collector(port=self._port)
        self._lives.append(collector)
        return collector

    def _live(self):
        while not self._stop.wait(self._chance.uniform(0, 3)):
            # A request that is answered with 503 is sent again; so is one whose answer was lost.
            with Collector(*self._chance.choices((200, 503), k=3), port=self._port) as collector:
                self._lives.append(collector)
                self.times += 1
                self._stop.wait(self._chance.uniform(0, 3))


@pytest.mark.timeout(1_800)
def test_no_generation_is_lost_or_doubled(monkeypatch):
    unique = uuid.uuid4().hex[:8]
    groups, published = [f"group-{unique}-{number}" for number in range(GROUPS)], f"events-{unique}"
    collector = Restarted()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")

    with EmbeddedKafka() as kafka:
        bootstrap = kafka.bootstrap_servers
        create_topic(bootstrap, "t", 4)

        def reported(*kinds):
            read = (each for group in groups for each in events(bootstrap, published, group=group))
            return {each["event_id"]: each for each in read if each["kind"] in kinds}.values()

        def traces():
            # A generation that was aborted is a trace, too.
            found = reported("generation", "aborted")
            return {trace_id(each["cluster_id"], each["group"], each["generation"]) for each in found}

        def unrest(group, url, enough):
            first = Member(bootstrap, group, "t", url)
            while not enough.is_set():
                second = Member(bootstrap, group, "t", url)
                enough.wait(1.5)
                second.close()
                enough.wait(0.5)
            first.close()

        with (
            collector,
            observing(bootstrap, events_topic=published, settle_seconds=0.5, stop_seconds=20) as observer,
            beside(bootstrap, events_topic=published, stop_seconds=20) as sidecar,
        ):
            enough, url = threading.Event(), f"http://127.0.0.1:{sidecar.role.events_port}"
            changes = [threading.Thread(target=unrest, args=(group, url, enough)) for group in groups]
            for change in changes:
                change.start()
            try:
                eventually(
                    lambda: len(reported("generation")) >= GENERATIONS, PATIENCE_S, waiting_for=f"{GENERATIONS} events"
                )
            finally:
                enough.set()
                for change in changes:
                    change.join()
            ended = lambda: {each["group"] for each in reported("generation") if not each["members"]}  # noqa: E731
            eventually(lambda: ended() == {*groups}, PATIENCE_S, waiting_for="empty groups")
            collector.settle()
            with collector.last():
                eventually(lambda: traces() <= roots_of(collector, groups).keys(), PATIENCE_S, waiting_for="traces")
                expected = traces()
            for process in (observer, sidecar):
                assert not process.metric("rebalance_agent_events_dropped_total", where="otlp")
    found = roots_of(collector, groups)
    assert found.keys() == expected
    assert {trace: ids for trace, ids in found.items() if len(ids) > 1} == {}
    assert len(expected) >= GENERATIONS
    assert collector.times >= 10


def roots_of(collector, groups):
    """Trace -> the ids of its root spans."""
    roots = defaultdict(set)
    for span in collector.settle():
        if span.name == ROOT and attributes_of(span).get("messaging.consumer.group.name") in groups:
            roots[span.trace_id.hex()].add(span.span_id.hex())
    return roots
