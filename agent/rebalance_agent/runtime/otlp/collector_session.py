"""Sends requests to a collector, and bounds the time and memory that its answers take."""

from __future__ import annotations

import contextlib
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError

from rebalance_agent.http.timed_response import TimedResponse

__all__ = ["ANSWER_BYTES_MAX", "CollectorSession"]

ANSWER_BYTES_MAX = 4 * 1024
"""Maximum number of bytes to read from an answer's body. Nothing uses them, but a connection can send another request
only after the whole answer was read. OTLP's answers have a few dozen bytes."""

_SUCCESS, _REDIRECTS = range(200, 300), range(300, 400)


class CollectorSession(requests.Session):
    """Follows no redirect, and stops reading an answer after `ANSWER_BYTES_MAX` or the request's timeout.

    The timeout applies separately to connecting, to sending, and to the whole answer.
    """

    def __init__(self) -> None:
        """Open no connection yet."""
        super().__init__()
        for scheme in ("http://", "https://"):
            self.mount(scheme, _TimedAdapter())

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:  # noqa: ANN401
        """Send a request, and return the answer.

        Raises:
            requests.RequestException: there was no answer in time, or it is a redirect: the SDK's exporters treat
                redirects as success.
        """
        answer = super().send(request, **{**options, "stream": True, "allow_redirects": False})
        if answer.status_code in _SUCCESS:
            # The collector has accepted the request, even if the rest of its answer does not arrive.
            with contextlib.suppress(HTTPError, OSError):
                answer.raw.read(ANSWER_BYTES_MAX, decode_content=False)
        answer.close()
        if answer.status_code in _REDIRECTS:
            raise requests.TooManyRedirects(f"the collector responded with {answer.status_code}", response=answer)
        return answer


class _TimedHttp(HTTPConnection):
    response_class = TimedResponse


class _TimedHttps(HTTPSConnection):
    response_class = TimedResponse


class _TimedHttpPool(HTTPConnectionPool):
    ConnectionCls = _TimedHttp


class _TimedHttpsPool(HTTPSConnectionPool):
    ConnectionCls = _TimedHttps


class _TimedAdapter(HTTPAdapter):
    """Reads answers with `TimedResponse`, also those that come through an HTTP proxy."""

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:  # noqa: ANN401
        super().init_poolmanager(*arguments, **options)
        _time(self.poolmanager)

    def proxy_manager_for(self, proxy: str, **options: Any) -> PoolManager:  # noqa: ANN401
        manager = super().proxy_manager_for(proxy, **options)
        return manager if proxy.lower().startswith("socks") else _time(manager)


def _time(manager: PoolManager) -> PoolManager:
    manager.pool_classes_by_scheme = {"http": _TimedHttpPool, "https": _TimedHttpsPool}
    return manager
