"""Reads the observer's ``/metrics`` and the topic ``rebalance-events``, as any user of the agent would."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections import defaultdict
from contextlib import suppress
from typing import Self

from rebalance_agent.cluster.topic_reader import BEGINNING, TopicReader
from rebalance_agent.demo.observed.journal import EVENTS_MAX, Journal
from rebalance_agent.demo.observed.scrape import GroupNow, read_groups
from rebalance_agent.errors import ClusterError, InvalidInputError
from rebalance_agent.model.event_json import event_from_json

__all__ = ["EVENTS_TOPIC", "DemoObserver", "answers", "fetch"]

EVENTS_TOPIC = "rebalance-events"
SCRAPE_SECONDS = 0.25
"""Pause between two scrapes, and timeout of a poll for events."""

FETCH_TIMEOUT_SECONDS = 5.0
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
    """Reads metrics and events in two threads; other threads take the latest values from here.

    ``groups``: those of the last scrape, and an empty one for every other name.
    """

    def __init__(self, metrics_url: str, bootstrap_servers: str) -> None:
        """Set the URL of the observer's /metrics and the brokers; reading starts with the context."""
        self.groups: defaultdict[str, GroupNow] = defaultdict(GroupNow)
        self.journal = Journal()
        self._url = metrics_url
        self._bootstrap = bootstrap_servers
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=target, name=name, daemon=True)
            for target, name in ((self._scrape, "demo-scrape"), (self._read_events, "demo-events"))
        ]

    def __enter__(self) -> Self:
        """Start reading."""
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        """Stop reading."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _scrape(self) -> None:
        while not self._stop.wait(SCRAPE_SECONDS):
            # An observer that has ended is noticed as a child process; a busy one is scraped again.
            with suppress(OSError, ValueError):
                self.groups = defaultdict(GroupNow, read_groups(fetch(self._url)))

    def _read_events(self) -> None:
        with TopicReader({"bootstrap.servers": self._bootstrap, "log_level": "0"}, EVENTS_TOPIC, {}) as reader:
            while not self._stop.is_set():
                # Until the observer has created the topic there are no partitions, and reading only waits.
                with suppress(ClusterError):
                    if not reader.positions:
                        reader.begin(dict.fromkeys(range(reader.partitions()), BEGINNING))
                    for record in reader.read(EVENTS_MAX, SCRAPE_SECONDS):
                        # Kinds of events that only a newer agent knows are skipped.
                        with suppress(InvalidInputError, ValueError):
                            self.journal.add(event_from_json(json.loads(record.value() or b"")))
