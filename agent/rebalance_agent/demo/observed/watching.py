"""Reads the observer's ``/metrics`` and the topic ``rebalance-events``, as any user of the agent would."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

from rebalance_agent.demo.observed.journal import Journal
from rebalance_agent.demo.observed.scrape import GroupNow, read_groups
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.event_json import event_from_json
from rebalance_agent.model.events import GenerationEvent

__all__ = ["EVENTS_TOPIC", "DemoObserver", "answers", "fetch"]

EVENTS_TOPIC = "rebalance-events"
SCRAPE_SECONDS = 0.25
"""Pause between two scrapes, and timeout of a poll for events."""

FETCH_TIMEOUT_SECONDS = 5.0
METADATA_TIMEOUT_SECONDS = 2.0
"""Timeout of a metadata request; short, since the end of the demo waits for it."""

SCRAPE_BYTES_MAX = 16 << 20
"""Maximum size of a response in bytes; the demo's scrapes have some 100 kB."""

_LOOPBACK = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # a proxy cannot reach ports on loopback


def fetch(url: str) -> str:
    """Return the body of a GET.

    Raises:
        OSError: there is no response in time, or it is not a success.
    """
    with _LOOPBACK.open(url, timeout=FETCH_TIMEOUT_SECONDS) as answer:
        body: bytes = answer.read(SCRAPE_BYTES_MAX)
    return body.decode()


def answers(url: str) -> bool:
    """Whether a GET of ``url`` succeeds."""
    try:
        fetch(url)
    except OSError:
        return False
    return True


class DemoObserver:
    """Reads metrics and events in two threads; other threads get the latest values from here."""

    def __init__(self, metrics_url: str, bootstrap_servers: str) -> None:
        """Set the URL of the observer's /metrics and the brokers; reading starts with the context."""
        self._url = metrics_url
        self._bootstrap = bootstrap_servers
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._groups: Mapping[str, GroupNow] = {}
        self._journal = Journal()
        self._threads = [
            threading.Thread(target=self._scrape, name="demo-scrape", daemon=True),
            threading.Thread(target=self._read_events, name="demo-events", daemon=True),
        ]

    def __enter__(self) -> Self:
        """Start reading."""
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop reading."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    @property
    def groups(self) -> Mapping[str, GroupNow]:
        """Return the groups of the last scrape."""
        with self._lock:
            return self._groups

    def newest(self, group: str) -> GenerationEvent | None:
        """Return the group's newest generation; None if there is none."""
        with self._lock:
            return self._journal.newest(group)

    def episodes(self, group: str) -> list[GenerationEvent]:
        """Return the closing events of the group's episodes, oldest first."""
        with self._lock:
            return self._journal.episodes(group)

    def _scrape(self) -> None:
        while not self._stop.wait(SCRAPE_SECONDS):
            try:
                groups = read_groups(fetch(self._url))
            except (OSError, ValueError):
                continue  # an observer that has ended is noticed as a child process; a busy one is scraped again
            with self._lock:
                self._groups = groups

    def _read_events(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": "rebalance-agent-demo",  # required by the library; nothing is joined or committed
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )
        try:
            while not self._stop.is_set() and not (partitions := self._partitions(consumer)):
                self._stop.wait(SCRAPE_SECONDS)
            consumer.assign([TopicPartition(EVENTS_TOPIC, each, OFFSET_BEGINNING) for each in partitions])
            while not self._stop.is_set():
                message = consumer.poll(SCRAPE_SECONDS)
                if message is not None and message.error() is None:
                    self._take(message.value() or b"")
        finally:
            consumer.close()

    @staticmethod
    def _partitions(consumer: Consumer) -> list[int]:
        try:
            topic = consumer.list_topics(EVENTS_TOPIC, timeout=METADATA_TIMEOUT_SECONDS).topics[EVENTS_TOPIC]
        except KafkaException:
            return []
        return list(topic.partitions) if topic.error is None else []

    def _take(self, value: bytes) -> None:
        try:
            event = event_from_json(json.loads(value))
        except (InvalidInputError, ValueError):
            return  # a newer agent's kind of event
        with self._lock:
            self._journal.add(event)
