"""The read-only listener: /metrics, /healthz, /readyz as one WSGI application."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from wsgiref.types import StartResponse, WSGIEnvironment

from rebalance_agent.exposition.health import Readiness
from rebalance_agent.exposition.text import CONTENT_TYPE

__all__ = ["WebApp"]

CHUNK_BYTES = 1 << 16
"""Bytes handed to the server at a time, so that it never copies the rest of a large page again and again."""

GZIP_LEVEL = 1
"""Metrics are repetitive: higher levels cost several times the processor for a few percent."""

_JSON = "application/json"
_GZIP_WINDOW = zlib.MAX_WBITS | 16


class WebApp:
    """Answers GET and HEAD. ``pages`` are called on every scrape and must give complete families with headers."""

    def __init__(self, pages: Sequence[Callable[[], bytes]], readiness: Readiness) -> None:
        """Nothing is read before the first request."""
        self._pages = tuple(pages)
        self._readiness = readiness
        self._paths = {"/metrics": self._metrics, "/healthz": self._healthz, "/readyz": self._readyz}

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """The WSGI entry."""
        handler = self._paths.get(environ.get("PATH_INFO", ""))
        headers: list[tuple[str, str]] = []
        if handler is None:
            status, kind, body = "404 Not Found", _JSON, _json({"error": f"there are {', '.join(self._paths)}"})
        elif environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            status, kind, body = "405 Method Not Allowed", _JSON, _json({"error": "only GET and HEAD"})
            headers = [("Allow", "GET, HEAD")]
        else:
            status, kind, body = handler()
            if kind is CONTENT_TYPE:
                headers = [("Vary", "Accept-Encoding")]
                if _accepts_gzip(environ.get("HTTP_ACCEPT_ENCODING", "")):
                    body = _gzip(body)
                    headers.append(("Content-Encoding", "gzip"))
        start_response(status, [("Content-Type", kind), ("Content-Length", str(len(body))), *headers])
        return () if environ["REQUEST_METHOD"] == "HEAD" else _chunks(body)

    def _metrics(self) -> tuple[str, str, bytes]:
        return "200 OK", CONTENT_TYPE, b"".join([page() for page in self._pages])

    def _healthz(self) -> tuple[str, str, bytes]:
        return "200 OK", _JSON, _json({"alive": True})

    def _readyz(self) -> tuple[str, str, bytes]:
        reasons = self._readiness.reasons()
        ready = not any(reasons.values())
        parts = {part: reason or "ready" for part, reason in reasons.items()}
        return ("200 OK" if ready else "503 Service Unavailable"), _JSON, _json({"ready": ready, "parts": parts})


def _json(data: object) -> bytes:
    return json.dumps(data).encode() + b"\n"


def _gzip(body: bytes) -> bytes:
    squeeze = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)
    return squeeze.compress(body) + squeeze.flush()


def _chunks(body: bytes) -> Iterator[bytes]:
    return (body[start : start + CHUNK_BYTES] for start in range(0, len(body), CHUNK_BYTES))


def _accepts_gzip(header: str) -> bool:
    """Whether ``Accept-Encoding`` names gzip and does not refuse it with ``q=0``."""
    for part in header.split(","):
        name, _, parameters = part.partition(";")
        if name.strip().lower() == "gzip":
            return not re.fullmatch(r"\s*q\s*=\s*0(\.0*)?\s*", parameters)
    return False
