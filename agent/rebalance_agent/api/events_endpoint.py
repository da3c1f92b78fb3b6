"""The application behind ``POST /v1/events``: accepts newline-delimited JSON from the sidecar's consumers.

``GET /v1/events/schema.json`` returns the JSON Schema of a line. That request needs no
token, since the schema is the same everywhere.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from http import HTTPStatus

from rebalance_agent.api.events_settings import EventsSettings
from rebalance_agent.api.posted_events import (
    POST_PARTITIONS_MAX,
    PostError,
    count_claims,
    count_values,
    parse_events,
)
from rebalance_agent.api.posted_schema import posted_schema_json
from rebalance_agent.clock import Clock
from rebalance_agent.http.events_post import ALIVE_HEADER, DROPPED_HEADER, EVENTS_PATH, SCHEMA_PATH
from rebalance_agent.http.messages import Request, Response
from rebalance_agent.http.token_bucket import TokenBucket
from rebalance_agent.model.events import Event

__all__ = ["EventsApp"]

PROCESS_ID = re.compile(r"[0-9A-Za-z-]{1,64}")

DIGITS_MAX = 15
"""Maximum number of digits of a number in a header, enough for any count; parsing longer numbers costs quadratic
time."""

FAULT_FIELD_MAX = 300
"""Maximum number of characters of a field's name in the list of faults, since topic names in a post may be much
longer."""

_Answer = dict[str, object]


class _RefusedError(Exception):
    """Ends a request with a status, an answer for the sender, and headers."""

    def __init__(self, status: HTTPStatus, answer: _Answer, **headers: str) -> None:
        super().__init__(status)
        self.status, self.answer = status, answer
        self.headers = [(name.replace("_", "-"), value) for name, value in headers.items()]


class EventsApp:
    """Checks posts and passes their events on; a post is accepted as a whole or not at all.

    ``accept(events, dropped)`` is called from the server's threads and must not block; when it raises, the sender gets
    503 and may repeat the post. ``rejected(status)`` is called for each refused post, ``alive(process,
    events)`` for each accepted post with the id of a process; ``events``: their number in the post.
    """

    def __init__(
        self,
        accept: Callable[[Sequence[Event], int], None],
        clock: Clock,
        settings: EventsSettings | None = None,
        rejected: Callable[[int], None] = lambda _status: None,
        alive: Callable[[str, int], None] = lambda _process, _events: None,
    ) -> None:
        """``settings``: by default the endpoint listens on loopback and requires no token."""
        self._accept = accept
        self._settings = settings or EventsSettings()
        self._events = TokenBucket(self._settings.rate, self._settings.burst, clock)
        self._partitions = TokenBucket(self._settings.partitions_rate, POST_PARTITIONS_MAX, clock)
        self._values = TokenBucket(self._settings.values_rate, self._settings.values_burst, clock)
        self._rejected = rejected
        self._alive = alive

    def __call__(self, request: Request) -> Response:
        """Answer a request."""
        if request.path == SCHEMA_PATH and request.method in ("GET", "HEAD"):
            return Response("200 OK", "application/schema+json", posted_schema_json())
        try:
            return _response(HTTPStatus.OK, self._post(request))
        except _RefusedError as refused:
            return self._refusal(refused)

    def refuse(self, head: Request) -> Response | None:
        """Return the refusal of a post from its headers, before its body is read; None if the headers are valid."""
        try:
            self._check(head)
        except _RefusedError as refused:
            return self._refusal(refused)
        return None

    def _refusal(self, refused: _RefusedError) -> Response:
        self._rejected(refused.status)
        return _response(refused.status, refused.answer, refused.headers)

    def _check(self, request: Request) -> tuple[int, str, int]:
        """Return the number of dropped events, the process id and the body's length, as the headers state them."""
        if request.path == SCHEMA_PATH:
            problem = "the only methods are GET and HEAD, without a body"
            raise _RefusedError(HTTPStatus.METHOD_NOT_ALLOWED, {"error": problem}, Allow="GET, HEAD")
        if request.path != EVENTS_PATH:
            raise _RefusedError(HTTPStatus.NOT_FOUND, {"error": f"the paths are {EVENTS_PATH} and {SCHEMA_PATH}"})
        if request.method != "POST":
            raise _RefusedError(HTTPStatus.METHOD_NOT_ALLOWED, {"error": "the only method is POST"}, Allow="POST")
        self._authorize(request)
        dropped, process = self._dropped(request), self._process(request)
        length = _number(request.headers.get("content-length", ""))
        if length is None or "transfer-encoding" in request.headers:
            raise _RefusedError(HTTPStatus.LENGTH_REQUIRED, {"error": "Content-Length is required"})
        if length > self._settings.body_bytes_max:
            raise _too_large(f"a body must have at most {self._settings.body_bytes_max} bytes")
        return dropped, process, length

    def _post(self, request: Request) -> _Answer:
        dropped, process, length = self._check(request)
        lines = self._lines(request.body, length)
        self._pace_unread(sum(1 for line in lines if line.strip()), count_values(request.body))
        try:
            events = parse_events(lines)
        except PostError as error:
            raise _RefusedError(HTTPStatus.BAD_REQUEST, _faults(error)) from None
        self._pace(self._partitions, sum(map(count_claims, events)), "partitions")
        try:
            self._accept(events, dropped)
        except Exception as error:
            raise _RefusedError(
                HTTPStatus.SERVICE_UNAVAILABLE, {"error": "events cannot be accepted now; retry later"}
            ) from error
        if process:
            self._alive(process, len(events))
        return {"accepted": len(events)}

    def _authorize(self, request: Request) -> None:
        if "origin" in request.headers:
            # Browsers let any page post to loopback, and always send the header Origin with such a post.
            raise _RefusedError(HTTPStatus.FORBIDDEN, {"error": "requests from web pages are rejected"})
        bearer = self._settings.bearer
        if bearer and not bearer.allows(request):
            raise _RefusedError(
                HTTPStatus.UNAUTHORIZED, {"error": "a bearer token is required"}, WWW_Authenticate="Bearer"
            )

    def _dropped(self, request: Request) -> int:
        text = request.headers.get(DROPPED_HEADER.lower(), "0")
        number = _number(text)
        if number is None:
            raise _RefusedError(
                HTTPStatus.BAD_REQUEST, {"error": f"{DROPPED_HEADER}: must be a count", "field": DROPPED_HEADER}
            )
        return number

    @staticmethod
    def _process(request: Request) -> str:
        text = request.headers.get(ALIVE_HEADER.lower(), "")
        if text and not PROCESS_ID.fullmatch(text):
            raise _RefusedError(
                HTTPStatus.BAD_REQUEST, {"error": f"{ALIVE_HEADER}: must be a process's id", "field": ALIVE_HEADER}
            )
        return text

    def _lines(self, body: bytes, length: int) -> list[bytes]:
        if len(body) < length:
            raise _RefusedError(HTTPStatus.BAD_REQUEST, {"error": "the body ended early"})
        lines = body.split(b"\n", self._settings.lines_max + 1)
        if len(lines) > self._settings.lines_max + 1 or (len(lines) > self._settings.lines_max and lines[-1]):
            raise _too_large(f"a body must have at most {self._settings.lines_max} lines")
        return lines

    def _pace_unread(self, events: int, values: int) -> None:
        """Refuse a post above the rates of events and values, before it is parsed; a refused post uses up no rate."""
        self._pace(self._events, events, "events")
        try:
            # A post with more values than the bucket can hold needs a full bucket.
            self._pace(self._values, min(self._settings.values_burst, values), "values")
        except _RefusedError:
            self._events.put_back(events)
            raise

    @staticmethod
    def _pace(bucket: TokenBucket, number: int, what: str) -> None:
        if (wait := bucket.take(number)) > 0:
            seconds = math.ceil(wait)
            raise _RefusedError(
                HTTPStatus.TOO_MANY_REQUESTS,
                {"error": f"too many {what}: retry after {seconds} s"},
                Retry_After=str(seconds),
            )


def _response(status: HTTPStatus, answer: _Answer, headers: Sequence[tuple[str, str]] = ()) -> Response:
    body = json.dumps(answer).encode() + b"\n"
    return Response(f"{status.value} {status.phrase}", "application/json", body, headers)


def _faults(error: PostError) -> _Answer:
    """Return all faults of a post, and in addition the first fault as one line of text."""
    faults = [
        {"line": line, "field": fault.field[:FAULT_FIELD_MAX], "problem": fault.problem}
        for line, fault in zip(error.lines, error.faults, strict=True)
    ]
    return {"error": str(error), "line": error.line, "field": error.field, "faults": faults}


def _too_large(problem: str) -> _RefusedError:
    return _RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {"error": problem})


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= DIGITS_MAX else None
