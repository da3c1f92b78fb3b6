"""Reads the observer's API and ``/metrics`` and the topic ``rebalance-events``, like any user of the agent."""

from __future__ import annotations

import threading
import urllib.request
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from typing import Self

from rebalance_agent.api.history import EpisodeHistory
from rebalance_agent.api.routes import GROUPS
from rebalance_agent.api.shapes import GroupList, GroupSummary, Rebalance, RebalanceDetail, RebalanceKind
from rebalance_agent.cluster.topic_reader import BEGINNING, TopicReader
from rebalance_agent.demo.observed.gauges import GroupGauges, read_gauges
from rebalance_agent.errors import ClusterError, InvalidInputError
from rebalance_agent.model.event_json import event_from_json, json_object, value_from_json
from rebalance_agent.model.events import Event, GenerationEvent
from rebalance_agent.runtime.sinks.split_events import whole_events
from rebalance_agent.ui.sentences.explanation import explanation_of
from rebalance_agent.ui.sentences.group_detail import closing_event
from rebalance_agent.ui.words import wrapped

__all__ = ["EVENTS_TOPIC", "DemoObserver", "answers", "fetch"]

EVENTS_TOPIC = "rebalance-events"
NO_TOPIC = f"the topic {EVENTS_TOPIC} does not exist"
"""The `DemoObserver.problem` until the observer has published its first event."""

READ_SECONDS = 0.25
"""Pause between two requests to the API, and timeout of a poll for events, in seconds."""

SILENT_READS_MAX = 20
"""Reads without a record (5 s) after which metadata is requested: a client that lost its brokers reports no error."""

EVENTS_MAX = 500
"""Maximum number of events from one poll."""

FETCH_TIMEOUT_SECONDS = 5.0
ANSWER_BYTES_MAX = 16 << 20
"""Maximum size of a response in bytes; the demo's /metrics has about 100 kB."""

_LOOPBACK = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # a proxy cannot reach ports on loopback


def fetch(url: str) -> str:
    """Return the body of a GET.

    Raises:
        OSError: there is no response in time, or the response is not a success.
    """
    with _LOOPBACK.open(url, timeout=FETCH_TIMEOUT_SECONDS) as answer:
        body: bytes = answer.read(ANSWER_BYTES_MAX)
    return body.decode()


def answers(url: str) -> bool:
    """Return whether a GET of ``url`` succeeds."""
    try:
        fetch(url)
    except OSError:
        return False
    return True


class DemoObserver:
    """Reads groups and events in two threads; other threads read the latest values from this object.

    ``answer``: the API's last list of groups; ``history``: the rebalances in the events. ``problem``: why events cannot
    be read now; empty if they can be read.
    """

    def __init__(self, url: str, bootstrap_servers: str) -> None:
        """Set the observer's address and the brokers; reading starts with the context."""
        self.answer = GroupList(0, 0, 0, ())
        self.history = EpisodeHistory()
        self.problem = ""
        self._url = url
        self._bootstrap = bootstrap_servers
        self._explained: set[tuple[str, int]] = set()
        self._reported_problem = ""
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=target, name=name, daemon=True)
            for target, name in ((self._read_groups, "demo-groups"), (self._read_events, "demo-events"))
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

    @property
    def groups(self) -> dict[str, GroupSummary]:
        """The groups of the last answer by name."""
        return {summary.group: summary for summary in self.answer.groups}

    def gauges(self) -> defaultdict[str, GroupGauges]:
        """Read the gauges of each group from ``/metrics``; all gauges are empty if the observer does not answer."""
        try:
            return read_gauges(fetch(f"{self._url}/metrics"))
        except (OSError, ValueError):
            return defaultdict(GroupGauges)

    def completed(self, group: str) -> list[Rebalance]:
        """Return the group's completed rebalances, newest first."""
        rebalances = self.history.rebalances(group)
        return [line for line in rebalances.rebalances if line.kind is RebalanceKind.COMPLETED] if rebalances else []

    def episodes(self, group: str) -> list[GenerationEvent]:
        """Return the closing events of the group's completed rebalances, oldest first."""
        events = (closing_event(detail) for detail in self._details(group))
        return [event for event in events if event][::-1]

    def explain_news(self, group: str) -> Iterator[str]:
        """Yield `explain`'s sentences on each rebalance that is new or has better evidence since the last call."""
        lines = self.completed(group)
        news = [index for index, line in enumerate(lines) if (line.id, line.revision) not in self._explained]
        details = self._details(group) if news else []
        for index in reversed(news):
            self._explained.add((lines[index].id, lines[index].revision))
            for paragraph in explanation_of(details[index:], (), 1).rebalances:
                revised = " (revised)" if lines[index].revision else ""
                yield f"{group}{revised}: {paragraph.heading}\n{wrapped(paragraph.text, ' ' * 10)}"

    def problem_news(self) -> str:
        """Return a line about a problem that is new or over since the last call; empty if nothing changed."""
        problem = "" if self.problem == NO_TOPIC else self.problem
        if problem == self._reported_problem:
            return ""
        self._reported_problem = problem
        return f"events cannot be read now: {problem}; retrying" if problem else "events are read again"

    def _details(self, group: str) -> list[RebalanceDetail]:
        details = (self.history.rebalance(group, line.id) for line in self.completed(group))
        return [detail for detail in details if detail]

    def _read_groups(self) -> None:
        while not self._stop.wait(READ_SECONDS):
            # `Children` notices an observer that has ended; a busy observer gets another request.
            with suppress(OSError, InvalidInputError):
                self.answer = value_from_json(GroupList, json_object(fetch(f"{self._url}{GROUPS.path}")))

    def _read_events(self) -> None:
        for event in whole_events(self._published()):
            self.history.on_event(event)

    def _published(self) -> Iterator[Event]:
        """Yield the events of the topic. A client that gets no answer is replaced, and reading continues.

        On a machine that stalled, a client of librdkafka 2.16 timed out forever while other clients got answers.
        """
        positions: dict[int, int] = {}
        while not self._stop.is_set():
            try:
                with TopicReader({"bootstrap.servers": self._bootstrap, "log_level": "0"}, EVENTS_TOPIC, {}) as reader:
                    yield from self._read(reader, positions)
            except ClusterError as error:
                self.problem = str(error)
                self._stop.wait(READ_SECONDS)

    def _read(self, reader: TopicReader, positions: dict[int, int]) -> Iterator[Event]:
        """Yield the topic's events from ``positions`` on, and update the positions."""
        silent_reads = 0
        while not self._stop.is_set():
            if not reader.positions or silent_reads >= SILENT_READS_MAX:
                silent_reads = 0
                # Until the observer has created the topic there are no partitions, and reading only waits.
                numbers = range(reader.partitions())
                starts = {number: positions.get(number) or BEGINNING for number in numbers}
                reader.begin({number: start for number, start in starts.items() if number not in reader.positions})
                self.problem = "" if numbers else NO_TOPIC
            records = reader.read(EVENTS_MAX, READ_SECONDS)
            silent_reads = 0 if records else silent_reads + 1
            for record in records:
                # Kinds of events that only a newer agent supports are skipped.
                with suppress(InvalidInputError):
                    yield event_from_json(json_object(record.value() or b""))
            positions |= reader.positions
