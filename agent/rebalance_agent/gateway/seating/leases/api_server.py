"""Sends requests to Kubernetes' API server with the service account of the gateway's pod."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import ssl
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol, TypeVar

from rebalance_agent.errors import InvalidInputError

__all__ = ["SERVICE_ACCOUNT", "ApiServer", "Objects"]

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""The folder into which Kubernetes mounts a pod's token, its namespace, and the CA of the API server."""

TIMEOUT_SECONDS = 2.0
"""Timeout (seconds) of the connection and of each read; the API server answers in some milliseconds."""

ANSWER_BYTES_MAX = 4 * 1024 * 1024
"""Largest answer in bytes: a list of a thousand locks has about 1.5 million bytes."""

_Result = TypeVar("_Result")


class Objects(Protocol):
    """The objects of one namespace."""

    async def run(self, work: Callable[[], _Result]) -> _Result:
        """Call ``work``, which sends requests, without blocking the event loop."""
        ...

    def request(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """Send a request for ``path`` in the namespace; return the status and the JSON object of the answer.

        Raises:
            ConnectionError: there is no answer, or it cannot be read.
        """
        ...


class ApiServer:
    """See `Objects`. An `ApiServer` has one connection and one thread, so it sends requests one after the other."""

    def __init__(self, host: str, port: int, folder: Path = SERVICE_ACCOUNT) -> None:
        """Read the namespace and the CA from ``folder``. The token, which changes every hour, is read for each request.

        Raises:
            InvalidInputError: one of the files cannot be read or used.
        """
        self._host, self._port, self._token = host, port, folder / "token"
        try:
            self.namespace = (folder / "namespace").read_text().strip()
            self._tls = ssl.create_default_context(cafile=folder / "ca.crt")
            self._token.read_text()
        except (OSError, ssl.SSLError, ValueError) as error:
            raise InvalidInputError("gateway_seats", f"the pod's service account cannot be used: {error}") from None
        self._connection: http.client.HTTPSConnection | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="api-server")

    @classmethod
    def of_pod(cls, environ: Mapping[str, str] = os.environ) -> ApiServer:
        """Return the API server of the cluster in which this process is a pod.

        Raises:
            InvalidInputError: this process does not run in a pod, or the pod has no service account.
        """
        host, port = environ.get("KUBERNETES_SERVICE_HOST", ""), environ.get("KUBERNETES_SERVICE_PORT", "")
        if not host or not port.isdigit():
            raise InvalidInputError("gateway_seats", "this process is not a pod of Kubernetes")
        return cls(host, int(port))

    async def run(self, work: Callable[[], _Result]) -> _Result:
        """See `Objects`."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def request(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """See `Objects`; after an error on an open connection, the request is repeated once on a new connection."""
        for fresh in (self._connection is None, True):
            try:
                return self._answer(method, path, body)
            except (http.client.HTTPException, OSError, ValueError) as error:
                self._disconnect()
                if fresh:
                    raise ConnectionAbortedError(f"Kubernetes' API server: {error}") from None
        raise AssertionError

    def _answer(self, method: str, path: str, body: Mapping[str, Any] | None) -> tuple[int, dict[str, Any]]:
        if self._connection is None:
            self._connection = http.client.HTTPSConnection(
                self._host, self._port, timeout=TIMEOUT_SECONDS, context=self._tls
            )
        headers = {"Authorization": f"Bearer {self._token.read_text().strip()}", "Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        whole = f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/{path}"
        self._connection.request(method, whole, None if body is None else json.dumps(body).encode(), headers)
        answer = self._connection.getresponse()
        content = answer.read(ANSWER_BYTES_MAX + 1)
        if len(content) > ANSWER_BYTES_MAX:
            raise ValueError("the response is too long")
        found = json.loads(content) if content else {}
        if not isinstance(found, dict):
            raise ValueError("the response is not a JSON object")  # noqa: TRY004 - as for every answer that cannot be read
        return answer.status, found

    def close(self) -> None:
        """Close the connection and end the thread, without waiting for pending requests."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._disconnect()

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(OSError):
                connection.close()
