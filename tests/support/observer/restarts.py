"""Observers that are killed and continue from snapshots, without threads, clocks or Kafka.

A log is a list of (key, record): one partition of the offsets topic, as `GroupRecord` and `EpochRecord` observations
whose offsets are their positions in the list.
"""

from __future__ import annotations

from dataclasses import replace

from rebalance_agent.model.event_json import json_line
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.offsets_topic.snapshots.coverage import Coverage
from rebalance_agent.tracking.observations import Backfilled, TailReached, Tick
from rebalance_agent.tracking.tracker import Tracker

DELAY_MS = 3
TICK_MS = 500


def numbered(log):
    """The log with offsets; each record is read `DELAY_MS` after it was written."""
    return [
        (key, replace(record, offset=offset, seen_ms=record.timestamp_ms + DELAY_MS))
        for offset, (key, record) in enumerate(log)
    ]


class Observed:
    """A tracker with its coverage, used as `cluster_watch` uses them; ``position``: the next offset.

    ``events``: its published events. ``base``: the records of its snapshot; the first observer has none, and starts
    with the log.
    """

    def __init__(self, log, before=(), settle_ms=5_000, snapshot_ms=TICK_MS, base=()):
        self._log = log
        self._snapshot_ms = snapshot_ms
        self._before = before
        self._settle_ms = settle_ms
        self._tracker = Tracker("cluster", settle_ms=settle_ms)
        self._coverage = Coverage(self._tracker.unsettled)
        self.events = []
        self.position = 0
        self.covered = 0
        for observation in (*before, *base, Backfilled(0, frozenset({0}))):
            self._observe(observation)

    def live(self, from_ms, until_ms):
        """Read records as they are written, with a tick every `TICK_MS`."""
        for now_ms in range(from_ms, until_ms + 1, TICK_MS):
            while self.position < len(self._log) and self._log[self.position][1].seen_ms <= now_ms:
                self._observe(self._log[self.position][1])
                self.position += 1
            self._observe(Tick(now_ms))
            if (now_ms - from_ms) % self._snapshot_ms == 0:
                self._observe(TailReached(now_ms, {0: self.position}))
                covered = self._coverage.covered({0: self.position})[0]
                assert self.covered <= covered <= self.position
                self.covered = covered
        return self

    def successor(self, now_ms):
        """An observer that starts with the records that this one has covered, and reads until ``now_ms``."""
        last = dict(self._log[: self.covered]).values()
        base = [replace(each, live=False, replayed=True, seen_ms=now_ms) for each in last if each.value is not None]
        other = Observed(self._log, self._before, self._settle_ms, self._snapshot_ms, base)
        other.position = other.covered = self.covered
        while other.position < len(self._log) and self._log[other.position][1].timestamp_ms <= now_ms:
            other._observe(replace(self._log[other.position][1], replayed=True, seen_ms=now_ms))
            other.position += 1
        return other

    def reported(self):
        """Event id -> its JSON line, without rollouts and the fields that do not follow from these records.

        The protocol of a generation may follow only from earlier members. Deploys and flapping members span many
        rebalances, and a restart detects them again.
        """
        history = {"protocol": RebalanceProtocol.UNKNOWN, "flapping": ()}
        facts = (replace(event, **history) if isinstance(event, GenerationEvent) else event for event in self.events)
        return {event.event_id: json_line(event) for event in facts if event.KIND != "rollout"}

    def counted(self, group):
        """The number of completed rebalances of the group."""
        view = self._tracker.view(group)
        return sum(view.counters.completed.values()) if view else None

    def _observe(self, observation):
        for event in self._tracker.observe(observation):
            self.events.append(event)
            self._coverage.event(event)
        self._coverage.observed(observation)


def reported_together(observers):
    """Event id -> JSON line from all observers; lines with the same id must be equal."""
    reported = {}
    for observer in observers:
        for key, line in observer.reported().items():
            assert reported.setdefault(key, line) == line
    return reported
