"""Parses one request, whose head h11 parses, and makes the bytes of its answer. No I/O: connections read and send."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from email.utils import formatdate
from http import HTTPStatus

import h11

from rebalance_agent.http.messages import Application, Request, Response

__all__ = ["END_OF_HEAD", "HEAD_BYTES_MAX", "Exchange", "HttpApplication", "RequestRefusedError", "refusal"]

HEAD_BYTES_MAX = 16 * 1024
"""Maximum number of bytes of a request's line and headers, with room for a bearer token and for headers that proxies
add."""

END_OF_HEAD = b"\r\n\r\n"

TEXT_MAX = 200
"""Maximum number of characters of a refusal's text: h11 quotes the text that the client sent."""

_FOLDED_OR_WITHOUT_CR = re.compile(rb"\n[ \t]|(?<!\r)\n")
_SERVED_VERSIONS = (b"1.0", b"1.1")
_CLOSE = ("Connection", "close")
_Headers = list[tuple[str, str]]

_log = logging.getLogger(__name__)


class RequestRefusedError(Exception):
    """A request ends before its body is read; ``pieces``: the bytes of the connection's last answer."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        """Keep the answer."""
        super().__init__(b"".join(pieces)[:TEXT_MAX])
        self.pieces = pieces


@dataclass(eq=False, slots=True)
class Exchange:
    """A request whose head is complete.

    ``length``: the announced number of the body's bytes; ``body``: the body's bytes read so far; ``ahead``: the bytes
    after the body, which begin the next request. ``urgent``: the request needs no free worker. ``waits``: the client
    sends the body only when asked to. ``lasting``: whether the connection continues after the answer.
    """

    request: Request
    http_version: bytes
    length: int = 0
    urgent: bool = False
    waits: bool = False
    lasting: bool = False
    body: bytearray = field(default_factory=bytearray)
    ahead: bytes = b""

    @property
    def complete(self) -> bool:
        """Whether the whole body has been read."""
        return len(self.body) >= self.length

    def receive(self, piece: bytes) -> None:
        """Add bytes that were read after the head."""
        room = self.length - len(self.body)
        self.body += piece[:room]
        self.ahead += piece[room:]


class HttpApplication:
    """Builds an exchange from each request's head, and calls the application for the answer."""

    def __init__(
        self,
        app: Application,
        refuse: Callable[[Request], Response | None] = lambda _head: None,
        *,
        body_bytes_max: int,
        idle_seconds: float,
        urgent: tuple[str, ...] = (),
    ) -> None:
        """``refuse`` gets requests before their body is read, and answers invalid ones; it must not take long.

        ``urgent``: paths whose GET requests need no free worker. The answer to a client of HTTP/1.0 contains
        ``idle_seconds``.
        """
        self._app, self._refuse, self._body_bytes_max = app, refuse, body_bytes_max
        self._idle_seconds, self._urgent = idle_seconds, urgent

    def begin(self, sent: bytes) -> Exchange:
        """Return the exchange that begins with ``sent``: a complete head and the bytes after the head.

        Raises:
            RequestRefusedError: the head is not HTTP or too long, or announces a body that is not accepted.
        """
        try:
            head, behind = _read_head(sent)
            request = _request(head)
            length = int(request.headers.get("content-length", "0"))
            chunked = "transfer-encoding" in request.headers
            if length or chunked:
                self._refuse_body(request, length, chunked)
        except h11.RemoteProtocolError as error:
            error.__traceback__ = None  # h11 raises it in a method of its own: a cycle, which would keep the whole head
            status = HTTPStatus(error.error_status_hint)
            raise RequestRefusedError([refusal(f"{status.value} {status.phrase}", str(error)[:TEXT_MAX])]) from None
        urgent = request.method == "GET" and not length and request.path in self._urgent
        expects = request.headers.get("expect", "").lower() == "100-continue" and head.http_version == b"1.1"
        exchange = Exchange(request, head.http_version, length, urgent, waits=expects)
        exchange.receive(behind)
        return exchange

    def answer(self, exchange: Exchange) -> list[bytes]:
        """Return the pieces of the answer; set ``lasting`` to whether the connection stays open."""
        asked = exchange.request
        request = Request(asked.method, asked.target, asked.headers, bytes(exchange.body))
        # Many requests in one packet would cost far more than sending them. The agent's clients, browsers and probes
        # wait for each answer.
        option = "close" if exchange.ahead.strip(b"\r\n") else request.headers.get("connection", "").lower()
        ends = _connection_headers(exchange.http_version, option, self._idle_seconds)
        exchange.lasting = _CLOSE not in ends
        return _pieces(_call(self._app, request), request.method, ends)

    def _refuse_body(self, request: Request, length: int, chunked: bool) -> None:
        try:
            response = self._refuse(request)
        except Exception:  # noqa: BLE001
            _log.exception("%s failed", request.path)
            response = Response("500 Internal Server Error", "text/plain", b"")
        if response:
            raise RequestRefusedError(_pieces(response, request.method, [_CLOSE]))
        if chunked:
            # The agent's clients send no chunked body, and proxies disagree on where such a body with a Content-Length
            # ends.
            raise h11.RemoteProtocolError("A body needs a Content-Length.", HTTPStatus.LENGTH_REQUIRED)
        if length > self._body_bytes_max:
            raise h11.RemoteProtocolError("The entity sent with the request exceeds the maximum allowed bytes.", 413)


def refusal(status: str, text: str) -> bytes:
    """Return the bytes of a complete answer to a client whose request was not read to the end."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(text) + 1}\r\nConnection: close"
    return f"{head}\r\n\r\n{text}\n".encode()


def _read_head(sent: bytes) -> tuple[h11.Request, bytes]:
    """Return the request line and the headers, and the bytes after them.

    Some requests that h11 would accept are refused: folded header lines (obsolete since RFC 7230, and a way around
    filters), lines that end without CR, requests to a proxy, and other versions of HTTP.

    Raises:
        h11.RemoteProtocolError: the head is not HTTP, is too long, or is refused.
    """
    sent = sent.removeprefix(b"\r\n")  # some clients send an additional line end after a body
    head, end, behind = sent.partition(END_OF_HEAD)
    if not end or len(head) > HEAD_BYTES_MAX:
        if b"\r\n" in head[:HEAD_BYTES_MAX]:
            raise h11.RemoteProtocolError("The headers sent with the request exceed the maximum allowed bytes.", 413)
        raise h11.RemoteProtocolError("The request line exceeds the maximum allowed bytes.", 414)
    if _FOLDED_OR_WITHOUT_CR.search(head):
        raise h11.RemoteProtocolError("Folded header lines, and lines that do not end with CRLF, are rejected.")
    parser = h11.Connection(h11.SERVER, HEAD_BYTES_MAX)
    parser.receive_data(head + end)
    request = parser.next_event()
    if not isinstance(request, h11.Request):
        raise h11.RemoteProtocolError("Malformed Request-Line")
    if request.http_version not in _SERVED_VERSIONS:
        raise h11.RemoteProtocolError("Cannot fulfill request", 505)
    if not request.target.startswith(b"/"):
        raise h11.RemoteProtocolError("Absolute URI not allowed if server is not a proxy.")
    return request, behind


def _request(head: h11.Request) -> Request:
    """Return the request for applications, without its body; repeated headers are joined with a comma."""
    headers: dict[str, str] = {}
    for name, value in head.headers:
        key, text = name.decode("ascii"), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return Request(head.method.decode("ascii"), head.target.decode("ascii"), headers)


def _call(app: Application, request: Request) -> Response:
    try:
        return app(request)
    except Exception:  # noqa: BLE001
        _log.exception("%s failed", request.path)
        return Response("500 Internal Server Error", "text/plain", b"")


def _pieces(response: Response, method: str, connection_headers: _Headers) -> list[bytes]:
    pieces = response.body if isinstance(response.body, list) else [response.body]
    headers = [
        ("Content-Type", response.content_type),
        ("Content-Length", str(sum(map(len, pieces)))),
        *response.headers,
        ("Date", formatdate(usegmt=True)),
        ("Server", "rebalance-agent"),
        *connection_headers,
    ]
    lines = (f"{name}: {value}\r\n" for name, value in headers)
    head = f"HTTP/1.1 {response.status}\r\n{''.join(lines)}\r\n".encode("latin-1")
    return [head] if method == "HEAD" else [head, *pieces]


def _connection_headers(http_version: bytes, option: str, idle_seconds: float) -> _Headers:
    """Return a response's connection headers: to close, or for HTTP/1.0 to keep the connection as requested."""
    if http_version == b"1.0":
        if idle_seconds and "keep-alive" in option:
            return [("Connection", "Keep-Alive"), ("Keep-Alive", f"timeout={round(idle_seconds)}")]
    elif idle_seconds and "close" not in option:
        return []
    return [_CLOSE]
