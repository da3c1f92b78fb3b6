"""Events to a webhook: batches by POST, repeated for a while where that may help."""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import SplitResult, urlsplit

from rebalance_agent.clock import Clock
from rebalance_agent.collectors.backoff import Backoff
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.exposition.loopback import is_loopback
from rebalance_agent.runtime.sink_queue import DeliveryError

__all__ = ["Webhook", "WebhookTarget", "webhook_target"]

ATTEMPT_SECONDS = 10.0
"""For one POST with its answer, whatever the other side does."""

ANSWER_BYTES_MAX = 64 * 1024
"""Read of an answer's body, and thrown away: only its status counts."""

WAIT_MOST_S = 30.0
"""Longest pause between attempts, also where the answer asks for more (``Retry-After``)."""

_LOOK_S = 0.1
_SUCCESS = range(200, 300)
_AGAIN = frozenset({408, 425, 429, *range(500, 600)})
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class WebhookTarget:
    """Where to POST, checked by `webhook_target`. ``path``: with the query, which may be a secret of the URL's."""

    scheme: str
    host: str
    port: int
    path: str = field(repr=False)

    @property
    def shown(self) -> str:
        """The URL without what may be secret in it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


def webhook_target(url: str) -> WebhookTarget:
    """Read an ``http`` or ``https`` URL.

    Raises:
        ValueError: it is none, or carries a user and password; the text has no part of it.
    """
    if not url.isascii() or not url.isprintable() or " " in url:
        raise ValueError("must be a URL of printable ASCII without spaces")
    try:
        parts: SplitResult = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError("is not a URL") from None
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError("must be a URL of http or https, such as https://example.org/events")
    if "@" in parts.netloc:
        raise ValueError("must not carry a user or password; take events_webhook_token_file")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return WebhookTarget(parts.scheme, parts.hostname, _PORTS[parts.scheme] if port is None else port, path)


class Webhook:
    """Delivers batches. No redirect is followed, no proxy of the environment used: a token goes nowhere else."""

    def __init__(
        self,
        target: WebhookTarget,
        clock: Clock,
        *,
        form: Literal["ndjson", "json"] = "ndjson",
        token: Callable[[], str] | None = None,
        context: ssl.SSLContext | None = None,
        seconds: float = 60.0,
        backoff: Callable[[], Backoff] = lambda: Backoff(first=0.5, most=WAIT_MOST_S),
    ) -> None:
        """``form``: a line for each event, or one JSON list. ``seconds``: how long a batch is tried.

        Raises:
            InvalidInputError: a token would go unencrypted over a network.
        """
        if token and target.scheme == "http" and not is_loopback(target.host):
            raise InvalidInputError("events_webhook", "must be https where a token is sent beyond loopback")
        self._target, self._clock, self._form, self._token = target, clock, form, token
        self._context = context or ssl.create_default_context()
        self._seconds, self._backoff = seconds, backoff

    def deliver(self, lines: Sequence[bytes], given_up: threading.Event) -> None:
        """POST until it is taken.

        Raises:
            DeliveryError: it was refused, or the time is over; all or nothing counts as delivered.
        """
        body = b"\n".join(lines) + b"\n" if self._form == "ndjson" else b"[" + b",".join(lines) + b"]"
        end = self._clock.monotonic() + self._seconds
        backoff = self._backoff()
        while True:
            status, wait = 0, 0.0
            try:
                status, wait = self._post(body, given_up)
                if status in _SUCCESS:
                    return
                reason = f"{self._target.shown} answered {status}"
            except (OSError, http.client.HTTPException) as error:
                reason = f"{self._target.shown}: {error or type(error).__name__}"
            if status and status not in _AGAIN:
                raise DeliveryError(reason)
            pause = max(backoff.next(), min(wait, WAIT_MOST_S))
            if self._clock.monotonic() + pause >= end or given_up.wait(pause):
                raise DeliveryError(reason)

    def close(self) -> None:
        """Nothing is kept open."""

    def _post(self, body: bytes, given_up: threading.Event) -> tuple[int, float]:
        """Status, and the seconds that ``Retry-After`` asks for."""
        connection, done = self._connection(), threading.Event()
        try:
            connection.connect()
            # A server may be slow in every single byte, so that no timeout of the socket ever strikes.
            threading.Thread(target=_cut_off, args=(connection.sock, done, given_up), daemon=True).start()
            connection.request("POST", self._target.path, body, self._headers())
            answer = connection.getresponse()
            answer.read(ANSWER_BYTES_MAX)
            return answer.status, _seconds(answer.headers.get("Retry-After", ""))
        finally:
            done.set()
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        host, port = self._target.host, self._target.port
        if self._target.scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=ATTEMPT_SECONDS, context=self._context)
        return http.client.HTTPConnection(host, port, timeout=ATTEMPT_SECONDS)

    def _headers(self) -> dict[str, str]:
        kind = "application/x-ndjson" if self._form == "ndjson" else "application/json"
        headers = {"Content-Type": kind, "User-Agent": "rebalance-agent"}
        return headers | ({"Authorization": f"Bearer {self._token()}"} if self._token else {})


def _cut_off(connected: socket.socket, done: threading.Event, given_up: threading.Event) -> None:
    """Until ``done``: end the attempt when its time is over, or when nobody wants it any more."""
    looks = 0
    while not done.wait(_LOOK_S):
        looks += 1
        if given_up.is_set() or looks * _LOOK_S >= ATTEMPT_SECONDS:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(connected, socket.SHUT_RDWR)


def _seconds(text: str) -> float:
    """``Retry-After`` in seconds; its form as a date is not worth the trouble."""
    return float(text) if text.isascii() and text.isdigit() and len(text) <= len("86400") else 0.0
