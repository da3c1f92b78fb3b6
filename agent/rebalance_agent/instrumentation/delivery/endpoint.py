"""Posts batches of events to the sidecar with ``http.client``, which ignores proxies set in the environment."""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Self
from urllib.parse import urlsplit

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.http.events_post import (
    ALIVE_HEADER,
    DEFAULT_URL,
    DROPPED_HEADER,
    EVENTS_PATH,
    EVENTS_TYPE,
)
from rebalance_agent.instrumentation.client_tls import CA_VARIABLE, CERT_VARIABLE, KEY_VARIABLE, client_context
from rebalance_agent.instrumentation.delivery.outbox import Batch
from rebalance_agent.instrumentation.delivery.post_deadline import PostDeadline
from rebalance_agent.instrumentation.delivery.whole_response import WholeResponse

__all__ = [
    "TOKEN_VARIABLE",
    "URL_VARIABLE",
    "Endpoint",
    "PostResult",
    "PostStatus",
]

URL_VARIABLE = "REBALANCE_AGENT_EVENTS_URL"
TOKEN_VARIABLE = "REBALANCE_AGENT_EVENTS_TOKEN"  # noqa: S105 - the name, not the token

TEXT_MAX = 4_096
"""Maximum length of the URL and of the token, in characters. Longer values are mistakes."""

REASON_MAX = 300
"""Maximum length of an error text in the log, in bytes of the response body or characters of an exception."""

TIMEOUT_SECONDS = 2.0
"""Socket timeout, for the connection and for each read. A healthy sidecar answers in milliseconds."""

DEADLINE_SECONDS = 5.0
"""Longest time from the connection to the last byte read, including TLS and interim responses such as 100 Continue."""

_PORTS = {"http": 80, "https": 443}
_OK = range(200, 300)
_TOO_MANY = 429
_SERVER_ERROR = 500


class PostStatus(Enum):
    """Outcome of a POST: accepted, refused finally, or worth a retry."""

    TAKEN = "taken"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class PostResult:
    """Outcome of one POST; ``reason``: why the batch was not accepted, for the log."""

    outcome: PostStatus
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The sidecar's address, token and TLS context. Create it with `of`, which checks the arguments."""

    host: str
    port: int
    path: str = EVENTS_PATH
    token: str | None = None
    context: ssl.SSLContext | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(
        cls, url: str | None = None, token: str | None = None, environ: Mapping[str, str] | None = None
    ) -> Self | None:
        """Return the endpoint from the arguments, else the environment, else the default; None if the URL is empty.

        Raises:
            InvalidInputError: the URL is not ``http[s]://host[:port][/path]``, the token is not printable ASCII, or a
                file that TLS takes cannot be used (see `instrumentation.client_tls`).
        """
        environ = os.environ if environ is None else environ
        url = environ.get(URL_VARIABLE, DEFAULT_URL) if url is None else url
        token = environ.get(TOKEN_VARIABLE) if token is None else token
        if not url:
            return None
        if token is not None and not _printable(token):
            raise InvalidInputError(TOKEN_VARIABLE, "must be printable ASCII without spaces")
        try:
            parts = urlsplit(url if _printable(url) else "")
            host, port = parts.hostname, parts.port
            (host or "").encode("idna")  # as sockets do; Python loads the encoding now, not during a rebalance
        except ValueError:
            host = port = None
        if not host or parts.scheme not in _PORTS or parts.username is not None or parts.query or parts.fragment:
            raise InvalidInputError(URL_VARIABLE, f"must be a URL such as {DEFAULT_URL}, not {url[:100]!r}")
        port = _PORTS[parts.scheme] if port is None else port
        files = [(name, environ.get(name)) for name in (CA_VARIABLE, CERT_VARIABLE, KEY_VARIABLE)]
        context = client_context(*files) if parts.scheme == "https" else None
        return cls(host, port, parts.path.rstrip("/") or EVENTS_PATH, token or None, context)

    @property
    def url(self) -> str:
        """The URL for the log, without the token."""
        scheme, host = "https" if self.context else "http", f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}:{self.port}{self.path}"

    def post(self, batch: Batch) -> PostResult:
        """Send one batch on a new connection. Raises nothing; failures are returned as a `PostResult`.

        A 2xx response is TAKEN. 429, 5xx, no connection, and no, an invalid or a cut response are FAILED. Any other
        status is REFUSED.
        """
        headers = {
            "Content-Type": EVENTS_TYPE,
            "Connection": "close",
            **({DROPPED_HEADER: str(batch.dropped)} if batch.dropped else {}),
            **({ALIVE_HEADER: batch.alive} if batch.alive else {}),
            **({"Authorization": f"Bearer {self.token}"} if self.token else {}),
        }
        try:
            with (
                PostDeadline(DEADLINE_SECONDS) as deadline,
                contextlib.closing(self._connection(deadline)) as connection,
            ):
                connection.request("POST", self.path, batch.body, headers)
                response = connection.getresponse()
                if response.status in _OK:
                    return PostResult(PostStatus.TAKEN)
                reason = f"{response.status} {response.read(REASON_MAX).decode('utf-8', 'replace').strip()!r}"
        except Exception as error:  # noqa: BLE001 - a response can be malformed in any way
            return PostResult(PostStatus.FAILED, _line(f"{type(error).__name__}: {error}"[:REASON_MAX]))
        again = response.status == _TOO_MANY or response.status >= _SERVER_ERROR
        return PostResult(PostStatus.FAILED if again else PostStatus.REFUSED, reason)

    def _connection(self, deadline: PostDeadline) -> http.client.HTTPConnection:
        """Return a new connection, which ends at the deadline, also during its TLS handshake."""
        connected = socket.create_connection((self.host, self.port), TIMEOUT_SECONDS)
        try:
            deadline.guard(connected)
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # head and body are two packets
            connection: http.client.HTTPConnection
            if self.context:
                connection = http.client.HTTPSConnection(self.host, self.port, context=self.context)
                connected = self.context.wrap_socket(connected, server_hostname=self.host)
            else:
                connection = http.client.HTTPConnection(self.host, self.port)
        except BaseException:
            connected.close()
            raise
        connection.sock, connection.response_class = connected, WholeResponse
        return connection


def _line(text: str) -> str:
    """Return ``text`` without line breaks: a response in it must not start lines in the consumer's log."""
    return text if text.isprintable() else repr(text)


def _printable(text: str) -> bool:
    return len(text) <= TEXT_MAX and all("!" <= character <= "~" for character in text)
