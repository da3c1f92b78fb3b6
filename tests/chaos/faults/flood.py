"""A hostile client on loopback: ``python -m chaos.faults.flood EVENTS_ADDRESS WEB_ADDRESS SECONDS``.

It posts continuously to ``/v1/events`` (events of unknown members, nonsense, too much, no HTTP at all), sends requests
to the web port, and opens hundreds of connections that begin a request and never end it. At the end it prints, as JSON,
how often it got each answer.
"""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import socket
import sys
import threading
import uuid
from collections import Counter, deque

from rebalance_agent.clock import SystemClock
from rebalance_agent.model.event_json import json_line
from rebalance_agent.model.events import Callback, MemberEvent

POSTERS, ASKERS = 8, 4
HELD = 300
"""Number of open connections: more than a listener accepts at a time (`http.connection.Limits`)."""

EVENTS_A_POST = 500
TIMEOUT_S = 5.0
PAUSE_S = 0.05
CLOCK = SystemClock()


def post():
    """A body that the endpoint accepts within its rate limit."""
    return b"\n".join(json_line(_event(number)) for number in range(EVENTS_A_POST))


def _event(number):
    now_ms, name = CLOCK.now_ms(), uuid.uuid4().hex
    return MemberEvent(
        event_id=name,
        group="nobodys",
        timestamp_ms=now_ms,
        callback=Callback.ASSIGNED,
        client_id=f"flood-{number}",
        member_id=name,
        generation=number,
        started_ms=now_ms,
        partitions={"flood": (0,)},
        process=name,
        sequence=1,
    )


BODIES = (
    post,
    lambda: b'{"kind": "member", "nonsense": true}\n' * EVENTS_A_POST,
    lambda: b"x" * (2 << 20),
    lambda: b"",
)


class Flood:
    """All attacks. ``answered``: the number of answers by status or kind of error."""

    def __init__(self, events, web, seconds):
        self.answered = Counter()
        self._events, self._web = events, web
        self._over = threading.Event()
        self._seconds = seconds
        self._lock = threading.Lock()

    def run(self):
        """Run all attacks at the same time, until the time is over."""
        work = [self._post] * POSTERS + [self._ask] * ASKERS + [self._hold, self._babble]
        threads = [threading.Thread(target=each, daemon=True) for each in work]
        for thread in threads:
            thread.start()
        self._over.wait(self._seconds)
        self._over.set()
        for thread in threads:
            thread.join(2 * TIMEOUT_S)

    def _post(self):
        for body in itertools.cycle(BODIES):
            if self._over.is_set():
                return
            self._request(self._events, "POST", "/v1/events", body())

    def _ask(self):
        for path in itertools.cycle(("/metrics", "/", "/readyz", "/nothing")):
            if self._over.is_set():
                return
            self._request(self._web, "GET", path)

    def _request(self, address, method, path, body=None):
        connection = http.client.HTTPConnection(address, timeout=TIMEOUT_S)
        try:
            connection.request(method, path, body)
            self._count(connection.getresponse().status)
        except (OSError, http.client.HTTPException) as error:
            self._count(type(error).__name__)
            self._over.wait(PAUSE_S)
        finally:
            connection.close()

    def _hold(self):
        """Send half a request on each of many connections; the listener closes the oldest for the next one."""
        held = deque()
        try:
            while not self._over.wait(PAUSE_S if len(held) > HELD else 0):
                if len(held) > HELD:
                    held.popleft().close()
                try:
                    held.append(_connected(self._events))
                    held[-1].sendall(b"POST /v1/events HTTP/1.1\r\nHost: ")
                except OSError:
                    self._over.wait(PAUSE_S)
        finally:
            for each in held:
                each.close()

    def _babble(self):
        while not self._over.wait(PAUSE_S):
            with contextlib.suppress(OSError), _connected(self._events) as connection:
                connection.sendall(bytes(range(256)) * 100)

    def _count(self, what):
        with self._lock:
            self.answered[str(what)] += 1


def _connected(address):
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=TIMEOUT_S)


def main():
    """Flood, and print the answers."""
    events, web, seconds = sys.argv[1:]
    flood = Flood(events, web, float(seconds))
    flood.run()
    print(json.dumps(flood.answered))


if __name__ == "__main__":
    main()
