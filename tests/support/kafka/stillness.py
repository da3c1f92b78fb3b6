"""Measures the response times of brokers during tests with time limits of seconds.

Sometimes a whole machine pauses for up to a minute, including kernel threads ("workqueue lockup"): sessions expire, and
groups have unexpected episodes.
"""

from __future__ import annotations

import contextlib
import threading

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from rebalance_agent.clock import SystemClock
from support.observer.observing import PATIENCE_S

PAUSE_S = 0.2

STILL_S = 3.0
"""Seconds without an answer that count as a pause; brokers of a busy machine take tenths of a second."""

GIVEN_UP_S = 2 * PATIENCE_S


class Stillness:
    """Requests metadata repeatedly. Safe from any thread."""

    def __init__(self, bootstrap):
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        self._clock = SystemClock()
        self._stop = threading.Event()
        self._beat = threading.Condition()
        self._beats = []
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join(GIVEN_UP_S)

    def late_s(self, from_ms, until_ms):
        """The longest wait for an answer within a past period, in seconds."""
        with self._beat:
            self._beat.wait_for(lambda: self._beats and self._beats[-1][1] >= until_ms, GIVEN_UP_S)
            within = [until - asked for asked, until in self._beats if asked <= until_ms and until >= from_ms]
        return max(within, default=GIVEN_UP_S * 1000) / 1000

    def stood_still(self, since_ms):
        """Whether an answer since ``since_ms`` took longer than `STILL_S`; waits until brokers answer again."""
        return self.late_s(since_ms, self._clock.now_ms()) > STILL_S

    def _run(self):
        while not self._stop.is_set():
            asked_ms = self._clock.now_ms()
            with contextlib.suppress(KafkaException):  # a missing response counts as a late one
                self._admin.list_topics("__consumer_offsets", timeout=GIVEN_UP_S)
            with self._beat:
                self._beats.append((asked_ms, self._clock.now_ms()))
                self._beat.notify_all()
            self._stop.wait(PAUSE_S)
