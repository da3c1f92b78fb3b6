"""Posts batches of events to a webhook; after temporary errors, repeats the POST for a bounded time."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Literal, NamedTuple

from rebalance_agent.clock import Clock
from rebalance_agent.cluster.backoff import Backoff
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.http.events_post import EVENTS_TYPE
from rebalance_agent.http.loopback import is_loopback
from rebalance_agent.instrumentation.client_tls import client_context
from rebalance_agent.runtime.settings.webhook_target import WebhookTarget
from rebalance_agent.runtime.sinks.queued_sink import DeliveryError

__all__ = ["Webhook"]

ATTEMPT_SECONDS = 10.0
"""Longest time for one POST and its answer, in seconds, independent of the server."""

ANSWER_BYTES_MAX = 64 * 1024
"""Maximum number of bytes to read from an answer's body; only the line number in an answer 400 is needed."""

WAIT_MAX_S = 30.0
"""Longest pause between attempts, in seconds, even if the answer asks for a longer pause (``Retry-After``)."""

_CHECK_S = 0.1
_SUCCESS = range(200, 300)
_AGAIN = frozenset({408, 425, 429, *range(500, 600)})


class _Answer(NamedTuple):
    """A status (0: no answer), the seconds of ``Retry-After``, and the number of the refused line (0: none)."""

    status: int
    wait: float = 0.0
    line: int = 0


_NO_ANSWER = _Answer(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """Delivers batches. It follows no redirect and uses no proxy, so that a token is sent only to the target.

    ``form``: ``ndjson``: one line for each event; ``json``: one list; ``object``: the batch's only line. ``seconds``:
    longest time for one batch. ``token`` and ``context`` (TLS) are called for each POST, so that changed files take
    effect.
    """

    target: WebhookTarget = field(kw_only=False)
    clock: Clock = field(kw_only=False)
    form: Literal["ndjson", "json", "object"] = "ndjson"
    token: Callable[[], str] | None = None
    context: Callable[[], ssl.SSLContext] = client_context
    seconds: float = 60.0
    backoff: Callable[[], Backoff] = lambda: Backoff(first_s=0.5, max_s=WAIT_MAX_S)

    def __post_init__(self) -> None:
        """Check the target.

        Raises:
            InvalidInputError: a token would be sent unencrypted over a network.
        """
        if self.token and self.target.scheme == "http" and not is_loopback(self.target.host):
            raise InvalidInputError(
                "events_webhook", "must be https if a token is sent to an address that is not loopback"
            )

    def deliver(self, lines: Sequence[bytes], given_up: threading.Event) -> None:
        """POST until the batch is accepted; lines that an answer 400 (such as a sidecar's) names as wrong are left out.

        Raises:
            DeliveryError: the batch or one of its lines was refused, or the batch was not accepted in time.
        """
        end = self.clock.monotonic() + self.seconds
        backoff, left, refused = self.backoff(), [*range(len(lines))], ""
        while left:
            answer, reason = _NO_ANSWER, ""
            try:
                answer = self._post(self._body([lines[index] for index in left]), given_up)
                reason = f"{self.target.shown} responded with {answer.status}"
            except (OSError, http.client.HTTPException) as error:
                reason = f"{self.target.shown}: {error or type(error).__name__}"
            if answer.status in _SUCCESS:
                break
            pause = 0.0
            if 0 < answer.line <= len(left):
                wrong = left.pop(answer.line - 1)
                refused = f"{reason} for a line of {len(lines[wrong])} bytes"
            elif answer.status and answer.status not in _AGAIN:
                raise DeliveryError(reason)
            else:
                pause = max(backoff.next(), min(answer.wait, WAIT_MAX_S))
            if self.clock.monotonic() + pause >= end or given_up.wait(pause):
                raise DeliveryError(reason)
        if refused:
            raise DeliveryError(refused, left)

    def close(self) -> None:
        """Do nothing: no connection is kept open."""

    def _body(self, lines: Sequence[bytes]) -> bytes:
        if self.form == "object":
            return lines[0]
        return b"\n".join(lines) + b"\n" if self.form == "ndjson" else b"[" + b",".join(lines) + b"]"

    def _post(self, body: bytes, given_up: threading.Event) -> _Answer:
        connection, done = self._connection(), threading.Event()
        try:
            connection.connect()
            # A server may send byte by byte, so that the socket's timeout never expires.
            threading.Thread(target=_cut_off, args=(connection.sock, done, given_up), daemon=True).start()
            connection.request("POST", self.target.path, body, self._headers())
            answer = connection.getresponse()
            text = answer.read(ANSWER_BYTES_MAX)
            line = _line_of(text) if answer.status == HTTPStatus.BAD_REQUEST and self.form == "ndjson" else 0
            return _Answer(answer.status, _seconds(answer.headers.get("Retry-After", "")), line)
        finally:
            done.set()
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        host, port = self.target.host, self.target.port
        if self.target.scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=ATTEMPT_SECONDS, context=self.context())
        return http.client.HTTPConnection(host, port, timeout=ATTEMPT_SECONDS)

    def _headers(self) -> dict[str, str]:
        kind = EVENTS_TYPE if self.form == "ndjson" else "application/json"
        headers = {"Content-Type": kind, "User-Agent": "rebalance-agent"}
        return headers | ({"Authorization": f"Bearer {self.token()}"} if self.token else {})


def _cut_off(connected: socket.socket, done: threading.Event, given_up: threading.Event) -> None:
    """Shut the connection down if the attempt times out or is given up; return when ``done`` is set."""
    checks = 0
    while not done.wait(_CHECK_S):
        checks += 1
        if given_up.is_set() or checks * _CHECK_S >= ATTEMPT_SECONDS:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(connected, socket.SHUT_RDWR)


def _line_of(text: bytes) -> int:
    """Return the number (from 1) of the line that the events endpoint's answer names as wrong; 0 if it names none."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return 0
    line = data.get("line") if isinstance(data, dict) else None
    return line if type(line) is int else 0


def _seconds(text: str) -> float:
    """Return ``Retry-After`` in seconds; 0 if it is a date, which is not supported."""
    return float(text) if text.isascii() and text.isdigit() and len(text) <= len("86400") else 0.0
