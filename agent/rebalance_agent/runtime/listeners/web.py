"""The read-only listener as a WSGI application: /metrics, health, /config, the API, and pages for people at /."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from wsgiref.types import StartResponse, WSGIEnvironment

from rebalance_agent.http.answer import Answer
from rebalance_agent.http.bearer import Bearer
from rebalance_agent.http.health import Readiness
from rebalance_agent.metrics.export.dialects import Dialect, accepts_gzip, choose_dialect
from rebalance_agent.ui.page.page_frame import HTML, POLICY
from rebalance_agent.ui.page.site import ASSETS, Site, sign_in

__all__ = ["API_PREFIX", "HEALTH_PATHS", "Page", "WebApp"]

API_PREFIX = "/api/"

CHUNK_BYTES = 1 << 16
"""Bytes given to the server at a time, so that it never copies the rest of a large page again and again."""

GZIP_LEVEL = 1
"""Compression level: metrics are repetitive, and higher levels take several times as long for a few percent."""

GZIP_BYTES_MIN = 1_000
"""Smallest body that is compressed, in bytes: a smaller one fits into one packet."""

_JSON = "application/json"
_GZIP_WINDOW = zlib.MAX_WBITS | 16
_API_LINKS = ("/api/v1/groups", "/api/v1/openapi.json")
HEALTH_PATHS = ("/healthz", "/readyz")
_HEADERS = (
    ("Vary", "Accept, Accept-Encoding"),
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
)

Page = Callable[[Dialect], bytes | list[bytes]]
"""Writes complete metric families with headers; those of thousands of groups in pieces, which are never joined."""

_Reply = tuple[str, str, bytes | list[bytes]]
"""An `Answer` whose body may be in pieces."""


class WebApp:
    """Answers GET and HEAD requests from memory."""

    def __init__(
        self,
        pages: Sequence[Page],
        readiness: Readiness,
        *,
        site: Site | None = None,
        api: Callable[[str, str], Answer] | None = None,
        config: Callable[[], Mapping[str, object]] | None = None,
        bearer: Bearer | None = None,
        health_open: bool = True,
    ) -> None:
        """``pages`` are called on every scrape.

        ``site``: the pages for people. ``api`` answers (path, query string) for every path under ``/api/``; ``config``
        returns what /config shows, without secrets. With ``bearer`` every request must carry its token, except for
        the pages' assets, and for health while ``health_open``.
        """
        self._pages, self._readiness = tuple(pages), readiness
        self._bearer, self._open = bearer, (*ASSETS, *(HEALTH_PATHS if health_open else ()))
        self._site = site or Site(readiness)
        self._paths: dict[str, Callable[[WSGIEnvironment], _Reply]] = {
            "/metrics": self._metrics,
            "/healthz": self._healthz,
            "/readyz": self._readyz,
        }
        self._paths |= dict.fromkeys(self._site.paths, self._page)
        if config:
            self._paths["/config"] = lambda _environ: ("200 OK", _JSON, _json(config()))
        self._api = _handler(api) if api else None

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """The WSGI entry."""
        headers = [*_HEADERS]
        status, kind, body = self._answer(environ, headers)
        headers.append(("Content-Security-Policy", POLICY if kind == HTML else "default-src 'none'"))
        pieces = body if isinstance(body, list) else [body]
        if _size(pieces) >= GZIP_BYTES_MIN and accepts_gzip(environ.get("HTTP_ACCEPT_ENCODING", "")):
            pieces = _gzip(pieces)
            headers.append(("Content-Encoding", "gzip"))
        start_response(status, [("Content-Type", kind), ("Content-Length", str(_size(pieces))), *headers])
        return () if environ["REQUEST_METHOD"] == "HEAD" else _chunks(pieces)

    def _answer(self, environ: WSGIEnvironment, headers: list[tuple[str, str]]) -> _Reply:
        path = environ.get("PATH_INFO", "")
        if self._bearer and path not in self._open and not self._bearer.allows(environ):
            headers.append(("WWW-Authenticate", "Bearer"))
            if path in self._site.paths and "text/html" in environ.get("HTTP_ACCEPT", ""):
                return "401 Unauthorized", HTML, sign_in()
            return "401 Unauthorized", _JSON, _json({"error": "a bearer token is required"})
        handler = self._paths.get(path) or (self._api if path.startswith(API_PREFIX) else None)
        if handler is None:
            return "404 Not Found", _JSON, _json({"error": f"there are {', '.join(self._paths)}"})
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            headers.append(("Allow", "GET, HEAD"))
            return "405 Method Not Allowed", _JSON, _json({"error": "only GET and HEAD"})
        reply = handler(environ)
        return _unless_unchanged(environ, headers, reply) if path in self._site.paths else reply

    def _metrics(self, environ: WSGIEnvironment) -> _Reply:
        dialect = choose_dialect(environ.get("HTTP_ACCEPT", ""))
        pieces: list[bytes] = []
        for page in self._pages:
            part = page(dialect)
            pieces += part if isinstance(part, list) else [part]
        return "200 OK", dialect.value, [*pieces, dialect.end]

    def _healthz(self, _environ: WSGIEnvironment) -> Answer:
        return "200 OK", _JSON, _json({"alive": True})

    def _readyz(self, _environ: WSGIEnvironment) -> Answer:
        reasons = self._readiness.reasons()
        ready = not any(reasons.values())
        parts = {part: reason or "ready" for part, reason in reasons.items()}
        degraded = {mode: reason for mode, reason in self._readiness.modes().items() if reason}
        answer = {"ready": ready, "parts": parts, "degraded": degraded}
        return ("200 OK" if ready else "503 Service Unavailable"), _JSON, _json(answer)

    def _page(self, environ: WSGIEnvironment) -> Answer:
        links = [*(path for path in self._paths if path not in self._site.paths), *(_API_LINKS if self._api else ())]
        return self._site.answer(environ["PATH_INFO"], environ.get("QUERY_STRING", ""), links)


def _unless_unchanged(environ: WSGIEnvironment, headers: list[tuple[str, str]], reply: _Reply) -> _Reply:
    """The reply, or 304 where the client has it already: an open page asks again every few seconds."""
    status, kind, body = reply
    tag = f'W/"{hashlib.blake2b(_joined(body), digest_size=12).hexdigest()}"'
    headers.append(("ETag", tag))
    unchanged = status.startswith("200") and environ.get("HTTP_IF_NONE_MATCH") == tag
    return ("304 Not Modified", kind, b"") if unchanged else reply


def _handler(api: Callable[[str, str], Answer]) -> Callable[[WSGIEnvironment], Answer]:
    # The path as sent, still encoded: a slash in a group's name must not separate segments.
    def answer(environ: WSGIEnvironment) -> Answer:
        sent: str = environ.get("REQUEST_URI") or environ["PATH_INFO"]
        return api(sent.partition("?")[0], environ.get("QUERY_STRING", ""))

    return answer


def _json(data: object) -> bytes:
    return json.dumps(data).encode() + b"\n"


def _joined(body: bytes | list[bytes]) -> bytes:
    return b"".join(body) if isinstance(body, list) else body


def _size(pieces: Iterable[bytes]) -> int:
    return sum(map(len, pieces))


def _gzip(pieces: Iterable[bytes]) -> list[bytes]:
    squeeze = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)
    return [*map(squeeze.compress, _chunks(pieces)), squeeze.flush()]


def _chunks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    waiting, size = [], 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size >= CHUNK_BYTES:
            whole = b"".join(waiting)
            yield from (whole[at : at + CHUNK_BYTES] for at in range(0, size - CHUNK_BYTES + 1, CHUNK_BYTES))
            waiting = [whole[size - size % CHUNK_BYTES :]]
            size %= CHUNK_BYTES
    if size:
        yield b"".join(waiting)
