"""One request, parsed by h11, and its answer."""

from __future__ import annotations

import logging
import re
import socket
from email.utils import formatdate
from http import HTTPStatus

import h11

from rebalance_agent.http.connection import HEAD_BYTES_MAX, Connection, refusal
from rebalance_agent.http.messages import CHUNK_BYTES, Application, Request, Response, chunks

__all__ = ["answer_request"]

TEXT_MAX = 200
"""Maximum number of characters of a refusal's text: h11 quotes what the client sent."""

_END_OF_HEAD = b"\r\n\r\n"
_FOLDED_OR_WITHOUT_CR = re.compile(rb"\n[ \t]|(?<!\r)\n")
_SERVED_VERSIONS = (b"1.0", b"1.1")
_CLOSE = ("Connection", "close")
_Headers = list[tuple[str, str]]

_log = logging.getLogger(__name__)


def answer_request(connection: Connection, app: Application, body_bytes_max: int, idle_seconds: float) -> bytes | None:
    """Answer the request whose head a connection has sent.

    Returns the bytes read beyond the request, which begin the next one, or None to end the connection. The
    answer to a client of HTTP/1.0 contains ``idle_seconds``.
    """
    parser, client = h11.Connection(h11.SERVER, HEAD_BYTES_MAX), connection.socket
    try:
        head = _read_head(parser, bytes(connection.head))
        body, whole = _read_body(parser, head, client, body_bytes_max)
        request = _complete(head, body)
        option = request.headers.get("connection", "").lower()
        # Proxies disagree on where a chunked body with a Content-Length ends: nothing is read behind a chunked one.
        lasting = whole and "transfer-encoding" not in request.headers
        connection_headers = _connection_headers(head.http_version, option, idle_seconds if lasting else 0)
        _send(client, _call(app, request), request.method, connection_headers)
        return None if _CLOSE in connection_headers else parser.trailing_data[0]
    except h11.RemoteProtocolError as error:
        status = HTTPStatus(error.error_status_hint)
        client.sendall(refusal(f"{status.value} {status.phrase}", str(error)[:TEXT_MAX]))
        return None


def _read_head(parser: h11.Connection, sent: bytes) -> h11.Request:
    """The request line and the headers.

    Refuses what h11 would accept: folded header lines (obsolete since RFC 7230, and a way around filters), lines that
    end without CR, requests to a proxy, and other versions of HTTP.

    Raises:
        h11.RemoteProtocolError: they are no HTTP, too long, or refused.
    """
    sent = sent.removeprefix(b"\r\n")  # some clients end a body with a line of its own
    head, end, _ = sent.partition(_END_OF_HEAD)
    if not end or len(head) > HEAD_BYTES_MAX:
        if b"\r\n" in head[:HEAD_BYTES_MAX]:
            raise h11.RemoteProtocolError("The headers sent with the request exceed the maximum allowed bytes.", 413)
        raise h11.RemoteProtocolError("The request line exceeds the maximum allowed bytes.", 414)
    if _FOLDED_OR_WITHOUT_CR.search(head):
        raise h11.RemoteProtocolError("Folded header lines are refused, and lines that do not end with CRLF.")
    parser.receive_data(sent)
    request = parser.next_event()
    if not isinstance(request, h11.Request):
        raise h11.RemoteProtocolError("Malformed Request-Line")
    if request.http_version not in _SERVED_VERSIONS:
        raise h11.RemoteProtocolError("Cannot fulfill request", 505)
    if not request.target.startswith(b"/"):
        raise h11.RemoteProtocolError("Absolute URI not allowed if server is not a proxy.")
    return request


def _read_body(
    parser: h11.Connection, request: h11.Request, client: socket.socket, bytes_max: int
) -> tuple[bytes, bool]:
    """The body, at most ``bytes_max`` bytes, and whether it is complete: a malformed chunk ends it, too.

    Raises:
        h11.RemoteProtocolError: the body is too large.
    """
    body, size = bytearray(), int(dict(request.headers).get(b"content-length", 0))
    if size <= bytes_max and parser.they_are_waiting_for_100_continue:
        client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    while max(size, len(body)) <= bytes_max:
        try:
            event = parser.next_event()
            if event is h11.NEED_DATA:
                parser.receive_data(client.recv(CHUNK_BYTES))  # nothing, once the client has closed: an error
                continue
        except h11.RemoteProtocolError:
            return bytes(body), False
        except TimeoutError:
            raise h11.RemoteProtocolError("the body did not come", HTTPStatus.REQUEST_TIMEOUT) from None
        if not isinstance(event, h11.Data):
            return bytes(body), True
        body += event.data
    raise h11.RemoteProtocolError("The entity sent with the request exceeds the maximum allowed bytes.", 413)


def _complete(head: h11.Request, body: bytes) -> Request:
    """The request as applications take it; headers that were sent twice are joined by a comma."""
    headers: dict[str, str] = {}
    for name, value in head.headers:
        key, text = name.decode("ascii"), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return Request(head.method.decode("ascii"), head.target.decode("ascii"), headers, body)


def _call(app: Application, request: Request) -> Response:
    try:
        return app(request)
    except Exception:  # noqa: BLE001
        _log.exception("%s failed", request.path)
        return Response("500 Internal Server Error", "text/plain", b"")


def _send(client: socket.socket, response: Response, method: str, connection_headers: _Headers) -> None:
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
    for chunk in chunks([head] if method == "HEAD" else [head, *pieces]):
        client.sendall(chunk)


def _connection_headers(http_version: bytes, option: str, idle_seconds: float) -> _Headers:
    """The connection headers of a response: that it closes, or, for HTTP/1.0, that it is kept as requested."""
    if http_version == b"1.0":
        if idle_seconds and "keep-alive" in option:
            return [("Connection", "Keep-Alive"), ("Keep-Alive", f"timeout={round(idle_seconds)}")]
    elif idle_seconds and "close" not in option:
        return []
    return [_CLOSE]
