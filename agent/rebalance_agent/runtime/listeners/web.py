"""The application of the read-only listener: serves /metrics, health, /config, the API, and HTML pages at /."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence

from rebalance_agent.http.bearer import Bearer
from rebalance_agent.http.health import Readiness
from rebalance_agent.http.latched_readiness import LatchedReadiness
from rebalance_agent.http.messages import Answer, Application, Request, Response, chunks
from rebalance_agent.metrics.export.dialects import Page, accepts_gzip, choose_dialect
from rebalance_agent.ui.page.page_frame import HTML, POLICY
from rebalance_agent.ui.page.site import ASSETS, Site, sign_in

__all__ = ["API_PREFIX", "HEALTH_PATHS", "WebApp"]

API_PREFIX = "/api/"

GZIP_LEVEL = 1
"""Compression level: metrics are repetitive; higher levels take several times as long and save a few percent."""

GZIP_BYTES_MIN = 1_000
"""Smallest body to compress, in bytes: a smaller body fits into one packet."""

_JSON = "application/json"
_GZIP_WINDOW = zlib.MAX_WBITS | 16
_API_LINKS = ("/api/v1/groups", "/api/v1/openapi.json")
MEMBER_PATH = "/readyz/member"
HEALTH_PATHS = ("/healthz", "/readyz", MEMBER_PATH)
_HEADERS = (
    ("Vary", "Accept, Accept-Encoding"),
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
)


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
        consumers: LatchedReadiness | None = None,
    ) -> None:
        """``pages`` are called on every scrape. ``consumers``: readiness of the process's consumers, if it has any.

        ``site``: the HTML pages. ``api`` answers (path, query string) for every path under ``/api/``. ``config``
        returns the content of /config, without secrets. With ``bearer``, every request must have the bearer token,
        except requests for the pages' assets, and for health if ``health_open`` is True.
        """
        self._pages, self._readiness = tuple(pages), readiness
        self._bearer, self._open = bearer, (*ASSETS, *(HEALTH_PATHS if health_open else ()))
        self._site = site or Site(readiness)
        self._paths: dict[str, Application] = {
            "/metrics": self._metrics,
            "/healthz": self._healthz,
            "/readyz": self._readyz,
        }
        if consumers is not None:
            self._paths[MEMBER_PATH] = lambda _request: _member_ready(consumers)
        self._paths |= dict.fromkeys(self._site.paths, self._page)
        if config:
            self._paths["/config"] = lambda _request: Response("200 OK", _JSON, _json(config()))
        self._api = _handler(api) if api else None

    def refuse(self, head: Request) -> Response:
        """Return the answer to a request with a body, before the body is read: no path accepts a body."""
        handler = self._handler_of(head)
        return self._complete(head, handler if isinstance(handler, Response) else _no_body())

    def __call__(self, request: Request) -> Response:
        """Answer a request."""
        handler = self._handler_of(request)
        return self._complete(request, handler if isinstance(handler, Response) else handler(request))

    @staticmethod
    def _complete(request: Request, response: Response) -> Response:
        """Return the response with the common headers, compressed if the client accepts gzip."""
        headers = [*_HEADERS, *response.headers]
        headers.append(("Content-Security-Policy", POLICY if response.content_type == HTML else "default-src 'none'"))
        pieces = response.body if isinstance(response.body, list) else [response.body]
        if sum(map(len, pieces)) >= GZIP_BYTES_MIN and accepts_gzip(request.headers.get("accept-encoding", "")):
            pieces = _gzip(pieces)
            headers.append(("Content-Encoding", "gzip"))
        return Response(response.status, response.content_type, pieces, headers)

    def _handler_of(self, request: Request) -> Application | Response:
        """Return the handler of the request, or a refusal if the request is not allowed or no path matches."""
        path = request.path
        if self._bearer and path not in self._open and not self._bearer.allows(request):
            page = path in self._site.paths and "text/html" in request.headers.get("accept", "")
            kind, body = (HTML, sign_in()) if page else (_JSON, _json({"error": "a bearer token is required"}))
            return Response("401 Unauthorized", kind, body, [("WWW-Authenticate", "Bearer")])
        handler = self._paths.get(path) or (self._api if path.startswith(API_PREFIX) else None)
        if handler is None:
            paths = [*self._paths, *(_API_LINKS if self._api else ())]
            return Response("404 Not Found", _JSON, _json({"error": f"the paths are {', '.join(paths)}"}))
        if request.method not in ("GET", "HEAD"):
            problem = _json({"error": "the only methods are GET and HEAD"})
            return Response("405 Method Not Allowed", _JSON, problem, [("Allow", "GET, HEAD")])
        return handler

    def _metrics(self, request: Request) -> Response:
        dialect = choose_dialect(request.headers.get("accept", ""))
        pieces: list[bytes] = []
        for page in self._pages:
            part = page(dialect)
            pieces += part if isinstance(part, list) else [part]
        return Response("200 OK", dialect.value, [*pieces, dialect.end])

    def _healthz(self, _request: Request) -> Response:
        return Response("200 OK", _JSON, _json({"alive": True}))

    def _readyz(self, _request: Request) -> Response:
        reasons = self._readiness.reasons()
        ready = not any(reasons.values())
        parts = {part: reason or "ready" for part, reason in reasons.items()}
        degraded = {mode: reason for mode, reason in self._readiness.modes().items() if reason}
        answer = {"ready": ready, "parts": parts, "degraded": degraded}
        return Response("200 OK" if ready else "503 Service Unavailable", _JSON, _json(answer))

    def _page(self, request: Request) -> Response:
        """Return a page, or 304 if the client already has this version: an open page is requested every few seconds."""
        links = [*(path for path in self._paths if path not in self._site.paths), *(_API_LINKS if self._api else ())]
        status, kind, body = self._site.answer(request.path, request.query, links)
        tag = f'W/"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
        if status.startswith("200") and request.headers.get("if-none-match") == tag:
            status, body = "304 Not Modified", b""
        return Response(status, kind, body, [("ETag", tag)])


def _member_ready(consumers: LatchedReadiness) -> Response:
    reason = consumers.reason()
    if reason:
        return Response("503 Service Unavailable", _JSON, _json({"ready": False, "reason": reason}))
    return Response("200 OK", _JSON, _json({"ready": True}))


def _handler(api: Callable[[str, str], Answer]) -> Application:
    # Pass the path as sent, still encoded: a slash in a group's name must not separate segments.
    return lambda request: Response(*api(request.target.partition("?")[0], request.query))


def _no_body() -> Response:
    return Response("413 Content Too Large", _JSON, _json({"error": "a request must not have a body"}))


def _json(data: object) -> bytes:
    return json.dumps(data).encode() + b"\n"


def _gzip(pieces: Iterable[bytes]) -> list[bytes]:
    squeeze = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)
    return [*map(squeeze.compress, chunks(pieces)), squeeze.flush()]
