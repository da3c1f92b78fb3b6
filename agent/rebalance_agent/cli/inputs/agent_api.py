"""A client of an observer's HTTP API; commands use it as their `GroupSource`."""

from __future__ import annotations

import http.client
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import TypeVar, cast
from urllib.parse import quote, urlencode, urlsplit

from rebalance_agent.api.query import GroupQuery, NotKnownError
from rebalance_agent.api.shapes import GroupDetail, GroupList, RebalanceDetail, RebalanceList
from rebalance_agent.errors import InvalidInputError, RebalanceAgentError
from rebalance_agent.http.timed_response import TimedResponse
from rebalance_agent.instrumentation.client_tls import client_context
from rebalance_agent.model.event_json import json_object, value_from_json

__all__ = ["ANSWER_BYTES_MAX", "ANSWER_TIMEOUT_S", "AgentApi", "AgentError"]

ANSWER_BYTES_MAX = 64 << 20
"""Maximum number of bytes of an answer; an answer with ten thousand groups has about 6 MB."""

ANSWER_TIMEOUT_S = 10.0
"""Longest time (seconds) to connect, to send, and for a whole answer; an agent answers from memory."""

ERROR_BYTES_MAX = 64 << 10
"""Maximum number of bytes that are read from the body of an error: more than the reasons of all parts on /readyz."""

OTHERS = "--url selects another agent, --bootstrap-servers reads a cluster directly"

_Value = TypeVar("_Value")


class AgentError(RebalanceAgentError):
    """The agent cannot be reached, or is not an observer."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuses redirects: a token is sent only to the address that the user gave."""

    def http_error_302(self, *_arguments: object, **_named: object) -> None:
        """Do not follow the redirect; it is then handled as an error."""

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


class _TimedHttp(http.client.HTTPConnection):
    response_class = TimedResponse


class _TimedHttps(http.client.HTTPSConnection):
    response_class = TimedResponse


class _TimedHandler(urllib.request.HTTPSHandler, urllib.request.HTTPHandler):
    """Opens http and https addresses, instead of urllib's own handlers; the timeout bounds a whole answer."""

    def __init__(self, context: ssl.SSLContext | None) -> None:
        super().__init__(context=context)
        self._trusted = context

    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_TimedHttp, request)

    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_TimedHttps, request, context=self._trusted)


class AgentApi:
    """A `GroupSource` that asks the observer at ``address`` over HTTP. Thread-safe."""

    def __init__(
        self,
        url: str,
        token: str | None = None,
        ca_file: str | None = None,
        cert_file: str | None = None,
        key_file: str | None = None,
        *,
        source: str = "--url",
    ) -> None:
        """Validate the address and read the TLS files (PEM); no request is sent. ``token``: a bearer token.

        ``source``: the flag or variable that contains the address, for errors.

        Raises:
            InvalidInputError: the address is not http(s), or a file cannot be used.
        """
        self.address = _base(url, source)
        self._headers = {"Accept": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        # No proxy is used, because a proxy would see the token unencrypted.
        files = ("--ca-file", ca_file), ("--cert-file", cert_file), ("--key-file", key_file)
        context = client_context(*files) if self.address.startswith("https:") else None
        handlers = urllib.request.ProxyHandler({}), _NoRedirect(), _TimedHandler(context)
        self._opener = urllib.request.build_opener(*handlers)

    def groups(self, query: GroupQuery | None = None) -> GroupList:
        """Return the groups that match ``query``."""
        query = query or GroupQuery()
        parameters = [
            *(("match", pattern) for pattern in query.match),
            *(("state", str(state)) for state in query.states),
            *(("type", str(group_type)) for group_type in query.types),
            ("sort", query.sort),
            ("limit", str(query.limit)),
            ("offset", str(query.offset)),
        ]
        return self._get(GroupList, f"groups?{urlencode(parameters)}")

    def group(self, name: str) -> GroupDetail:
        """Return the group ``name``."""
        return self._get(GroupDetail, f"groups/{_segment(name)}")

    def rebalances(self, name: str) -> RebalanceList:
        """Return a group's last rebalances, newest first."""
        return self._get(RebalanceList, f"groups/{_segment(name)}/rebalances")

    def rebalance(self, name: str, identity: str) -> RebalanceDetail:
        """Return one rebalance with its events."""
        return self._get(RebalanceDetail, f"groups/{_segment(name)}/rebalances/{_segment(identity)}")

    def unready(self) -> str:
        """Return a sentence with the parts that do not work, by /readyz; empty if all work or /readyz does not answer.

        The other answers come from memory, so they do not show whether the agent still reads the cluster.
        """
        try:
            self._open("readyz").close()
        except urllib.error.HTTPError as error:
            with error:
                parts = _json_body(error).get("parts")
        except (OSError, http.client.HTTPException):
            return ""
        else:
            return ""
        reasons = parts.items() if isinstance(parts, Mapping) else ()
        failing = "; ".join(f"{part}: {reason}" for part, reason in reasons if reason != "ready")
        return f"the observer is not ready ({failing}): its data may be out of date or incomplete" if failing else ""

    def _open(self, path: str) -> http.client.HTTPResponse:
        request = urllib.request.Request(f"{self.address}/{path}", headers=self._headers)  # noqa: S310 - http(s) only
        return cast("http.client.HTTPResponse", self._opener.open(request, timeout=ANSWER_TIMEOUT_S))

    def _get(self, kind: type[_Value], path: str) -> _Value:
        try:
            with self._open(f"api/v1/{path}") as answer:
                body = answer.read(ANSWER_BYTES_MAX + 1)
        except urllib.error.HTTPError as error:
            with error:
                raise self._refusal(error) from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            reason = getattr(reason, "strerror", None) or reason
            raise AgentError(f"no agent responds at {self.address}: {reason} ({OTHERS})") from None
        if len(body) > ANSWER_BYTES_MAX:
            raise AgentError(f"the response of {self.address} has more than {ANSWER_BYTES_MAX} bytes")
        try:
            return value_from_json(kind, json_object(body))
        except InvalidInputError as error:
            raise AgentError(
                f"the response of {self.address} is not that of an observer of this release: {error}"
            ) from None

    def _refusal(self, error: urllib.error.HTTPError) -> RebalanceAgentError:
        sent = _json_body(error).get("error")
        text = sent if isinstance(sent, str) else str(error.reason)
        if error.code == http.HTTPStatus.NOT_FOUND and "/api/v1/groups" in text:
            return NotKnownError(f"{self.address}: {text}")
        if error.code == http.HTTPStatus.NOT_FOUND:
            return AgentError(f"{self.address} has no list of groups, so it is not an observer (404: {text}); {OTHERS}")
        if error.code == http.HTTPStatus.UNAUTHORIZED:
            text += "; give one with --token-file"
        return AgentError(f"{self.address} rejects the request ({error.code}): {text}")


def _json_body(error: urllib.error.HTTPError) -> Mapping[str, object]:
    """Return the JSON object in the body of an error; empty if there is none."""
    try:
        body = json.loads(error.read(ERROR_BYTES_MAX))
    except (ValueError, RecursionError, OSError, http.client.HTTPException):
        return {}
    return body if isinstance(body, dict) else {}


def _base(url: str, source: str) -> str:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and not (parts.query or parts.fragment)
        _ = parts.port
    except ValueError:
        usable = False
    if not usable or any(not character.isprintable() or character == " " for character in url):
        raise InvalidInputError(source, "must be an address such as http://localhost:29308")
    return url.rstrip("/")


def _segment(text: str) -> str:
    # Clients and proxies treat a segment that consists only of dots as the current or parent directory.
    return quote(text, safe="").replace(".", "%2E") if set(text) <= {"."} else quote(text, safe="")
