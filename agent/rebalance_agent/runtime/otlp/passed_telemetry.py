"""Forwards the metrics that clients push to a gateway to an OTLP endpoint, in a background thread."""

from __future__ import annotations

import threading
from typing import Protocol

import requests
import structlog

from rebalance_agent.runtime.otlp.collector_session import CollectorSession
from rebalance_agent.runtime.otlp.otlp_environment import OtlpTarget
from rebalance_agent.runtime.otlp.waiting_pushes import WaitingPushes

__all__ = ["WAITING_BYTES_MAX", "PassedTelemetry"]

WAITING_BYTES_MAX = 8 * 1024 * 1024
"""Maximum number of waiting bytes: half an hour of pushes from 50 clients, at 3 KiB for each push."""

ATTEMPT_S = 10.0
"""Longest time for each of connecting, sending one request, and its answer, in seconds. A request is not repeated: the
client's next push has the same metrics."""

STOP_S = 2.0
"""Longest wait for the remaining requests at stop, in seconds."""


class _Count(Protocol):
    def __call__(self, outcome: str, number: int = 1) -> None: ...


class PassedTelemetry:
    """Queues pushes and posts them one by one in a thread; see `WaitingPushes` for those that are dropped."""

    def __init__(self, target: OtlpTarget, count: _Count) -> None:
        """``count`` receives the outcome of each push: delivered, failed or dropped."""
        self._target, self._count = target, count
        self._changed = threading.Condition()
        self._waiting = WaitingPushes(WAITING_BYTES_MAX)
        self._closing = self._failing = False
        self._session = CollectorSession()
        self._session.headers.update({"Content-Type": "application/x-protobuf", **target.headers})
        self._session.verify, self._session.cert = target.verify, target.certificate
        self._thread = threading.Thread(target=self._run, name="otlp-passed", daemon=True)
        self._log = structlog.get_logger("rebalance_agent.otlp")

    def start(self) -> None:
        """Start posting."""
        self._thread.start()

    def put(self, request: bytes, source: str) -> None:
        """Queue an OTLP request of the client address ``source`` and return at once. Any thread may call this."""
        with self._changed:
            dropped = self._waiting.put(request, source)
            self._changed.notify()
        if dropped:
            self._count("dropped", dropped)

    def stop(self) -> None:
        """Post the remaining requests for at most `STOP_S` seconds; those that are left then are counted as dropped."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(STOP_S)
        with self._changed:
            left = self._waiting.clear()
        if left:
            self._count("dropped", left)

    def _run(self) -> None:
        while (request := self._next()) is not None:
            reason = self._post(request)
            self._count("failed" if reason else "delivered")
            if reason and not self._failing:
                self._log.warning("telemetry_not_passed", reason=reason)
            elif self._failing and not reason:
                self._log.info("telemetry_passed_again")
            self._failing = bool(reason)
        self._session.close()

    def _next(self) -> bytes | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closing)
            return self._waiting.next()

    def _post(self, request: bytes) -> str:
        """Post one request; return why the collector did not accept the request, or an empty string."""
        try:
            answer = self._session.post(self._target.url, request, timeout=ATTEMPT_S)
        except requests.TooManyRedirects as error:
            return str(error)
        except requests.RequestException as error:
            return type(error).__name__
        return "" if answer.ok else f"the collector responded with {answer.status_code}"
