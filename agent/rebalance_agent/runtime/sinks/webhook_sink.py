"""Events to a webhook: batches by POST, repeated for a while where that may help."""

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
from urllib.parse import SplitResult, urlsplit

from rebalance_agent.clock import Clock
from rebalance_agent.cluster.backoff import Backoff
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.http.loopback import is_loopback
from rebalance_agent.instrumentation.client_tls import client_context
from rebalance_agent.model.events_post import EVENTS_TYPE
from rebalance_agent.runtime.sinks.queued_sink import DeliveryError

__all__ = ["Webhook", "WebhookTarget", "webhook_target"]

ATTEMPT_SECONDS = 10.0
"""For one POST with its answer, whatever the other side does."""

ANSWER_BYTES_MAX = 64 * 1024
"""Read of an answer's body: its status counts, and of a 400 the line that it names."""

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


class _Answer(NamedTuple):
    """A status (0: there was no answer), the seconds that ``Retry-After`` asks for, and the line that is wrong."""

    status: int
    wait: float = 0.0
    line: int = 0


_NO_ANSWER = _Answer(0)


class Webhook:
    """Delivers batches. No redirect is followed, no proxy of the environment used: a token goes nowhere else."""

    def __init__(
        self,
        target: WebhookTarget,
        clock: Clock,
        *,
        form: Literal["ndjson", "json"] = "ndjson",
        token: Callable[[], str] | None = None,
        context: Callable[[], ssl.SSLContext] = client_context,
        seconds: float = 60.0,
        backoff: Callable[[], Backoff] = lambda: Backoff(first_s=0.5, max_s=WAIT_MOST_S),
    ) -> None:
        """``form``: a line for each event, or one JSON list. ``seconds``: how long a batch is tried.

        ``token`` and ``context`` (whom to trust, and what certificate to show) are asked for each POST.

        Raises:
            InvalidInputError: a token would go unencrypted over a network.
        """
        if token and target.scheme == "http" and not is_loopback(target.host):
            raise InvalidInputError("events_webhook", "must be https where a token is sent beyond loopback")
        self._target, self._clock, self._form, self._token = target, clock, form, token
        self._context, self._seconds, self._backoff = context, seconds, backoff

    def deliver(self, lines: Sequence[bytes], given_up: threading.Event) -> None:
        """POST until it is taken; without the lines that an answer names as what is wrong, as a sidecar's does.

        Raises:
            DeliveryError: it, or one of its lines, was refused, or the time is over.
        """
        end = self._clock.monotonic() + self._seconds
        backoff, left, refused = self._backoff(), [*range(len(lines))], ""
        while left:
            answer, reason = _NO_ANSWER, ""
            try:
                answer = self._post(self._body([lines[place] for place in left]), given_up)
                reason = f"{self._target.shown} answered {answer.status}"
            except (OSError, http.client.HTTPException) as error:
                reason = f"{self._target.shown}: {error or type(error).__name__}"
            if answer.status in _SUCCESS:
                break
            pause = 0.0
            if 0 < answer.line <= len(left):
                wrong = left.pop(answer.line - 1)
                refused = f"{reason} to a line of {len(lines[wrong])} bytes"
            elif answer.status and answer.status not in _AGAIN:
                raise DeliveryError(reason)
            else:
                pause = max(backoff.next(), min(answer.wait, WAIT_MOST_S))
            if self._clock.monotonic() + pause >= end or given_up.wait(pause):
                raise DeliveryError(reason)
        if refused:
            raise DeliveryError(refused, left)

    def close(self) -> None:
        """Nothing is kept open."""

    def _body(self, lines: Sequence[bytes]) -> bytes:
        return b"\n".join(lines) + b"\n" if self._form == "ndjson" else b"[" + b",".join(lines) + b"]"

    def _post(self, body: bytes, given_up: threading.Event) -> _Answer:
        connection, done = self._connection(), threading.Event()
        try:
            connection.connect()
            # A server may be slow in every single byte, so that no timeout of the socket ever strikes.
            threading.Thread(target=_cut_off, args=(connection.sock, done, given_up), daemon=True).start()
            connection.request("POST", self._target.path, body, self._headers())
            answer = connection.getresponse()
            told = answer.read(ANSWER_BYTES_MAX)
            named = answer.status == HTTPStatus.BAD_REQUEST and self._form == "ndjson"
            line = _line_of(told) if named else 0
            return _Answer(answer.status, _seconds(answer.headers.get("Retry-After", "")), line)
        finally:
            done.set()
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        host, port = self._target.host, self._target.port
        if self._target.scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=ATTEMPT_SECONDS, context=self._context())
        return http.client.HTTPConnection(host, port, timeout=ATTEMPT_SECONDS)

    def _headers(self) -> dict[str, str]:
        kind = EVENTS_TYPE if self._form == "ndjson" else "application/json"
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


def _line_of(told: bytes) -> int:
    """The line that an answer of ours names as what is wrong, counted from 1; 0 where it names none."""
    try:
        data = json.loads(told)
    except (ValueError, RecursionError):
        return 0
    line = data.get("line") if isinstance(data, dict) else None
    return line if type(line) is int else 0


def _seconds(text: str) -> float:
    """``Retry-After`` in seconds; its form as a date is not worth the trouble."""
    return float(text) if text.isascii() and text.isdigit() and len(text) <= len("86400") else 0.0
