"""Numbers a consumer's events and delivers them to its sidecar and to the application, without blocking the consumer.

`Reporter.emit` only encodes and queues an event. One daemon thread for each destination delivers events
(`queue_thread`); an idle process has only its one `Heartbeat` thread.
"""

from __future__ import annotations

import os
import threading
import uuid
import weakref
from collections.abc import Callable

from rebalance_agent.instrumentation.delivery.endpoint import Endpoint
from rebalance_agent.instrumentation.delivery.event_callback import CallbackThread, OnEvent
from rebalance_agent.instrumentation.delivery.heartbeat import Heartbeat
from rebalance_agent.instrumentation.delivery.post_thread import PostThread
from rebalance_agent.instrumentation.delivery.queue_thread import EXIT_GRACE_SECONDS
from rebalance_agent.instrumentation.suppress import quietly
from rebalance_agent.model.event_json import json_line
from rebalance_agent.model.events import Callback, Event, MemberEvent

__all__ = ["BuildEvent", "Reporter"]

BuildEvent = Callable[[str, int], Event]
"""Function that builds an event from the reporting process's random id and a sequence number."""


class Reporter:
    """Numbers, queues and delivers one consumer's events. Thread-safe; no method blocks.

    ``posts`` delivers to the sidecar, ``callbacks`` to the application; either may be None.
    """

    def __init__(
        self, endpoint: Endpoint | None, on_event: OnEvent | None = None, exit_grace_seconds: float = EXIT_GRACE_SECONDS
    ) -> None:
        """Post to ``endpoint`` and call ``on_event``; if an argument is None, skip that delivery."""
        self._endpoint = endpoint
        self._on_event = on_event
        self._exit_grace_seconds = exit_grace_seconds
        self._become_this_process()
        _reporters.add(self)

    def emit(self, build: BuildEvent) -> None:
        """Queue the event that ``build`` returns, and start delivering. Never raises."""
        if self._endpoint is None and self._on_event is None:
            return
        if self._pid != os.getpid():
            self._become_this_process()
        with quietly("report an event"):
            with self._lock:
                self._sequence += 1
                sequence = self._sequence
            try:
                event = build(self._process, sequence)
                line = json_line(event)
            except Exception:
                if self.posts is not None:
                    self.posts.lose(1)
                raise
            if not event.revision:
                self._lives = not (isinstance(event, MemberEvent) and event.callback is Callback.LEFT)
            if self.callbacks is not None:
                with quietly("call on_event"):
                    self.callbacks.put(line)
            if self.posts is not None:
                self.posts.put(line)
                _heartbeat.start()

    def beat(self) -> None:
        """Report to the sidecar that the process is alive, if its consumer is in the group and no event is queued."""
        if self._pid == os.getpid() and self._lives and self.posts is not None:
            self.posts.beat()

    def _become_this_process(self) -> None:
        # In a forked child locks may be held by threads that do not exist there; the parent delivers its queues.
        self._pid = os.getpid()
        self._process = uuid.uuid4().hex
        self._sequence = 0
        self._lock = threading.RLock()  # reentrant: a signal handler may close the consumer in the middle of `emit`
        self._lives = False
        self.posts: PostThread | None = None
        self.callbacks: CallbackThread | None = None
        if self._endpoint is not None:
            self.posts = PostThread(self._endpoint, self._process, exit_grace_seconds=self._exit_grace_seconds)
        if self._on_event is not None:
            self.callbacks = CallbackThread(self._on_event)


_reporters: weakref.WeakSet[Reporter] = weakref.WeakSet()


def _beat_reporters() -> None:
    for reporter in list(_reporters):
        reporter.beat()


_heartbeat = Heartbeat(_beat_reporters)
