"""Sends requests for the locks of one group to Kubernetes' API server."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from rebalance_agent.clock import Clock
from rebalance_agent.gateway.seating.connections.client_connection import ClientConnection
from rebalance_agent.gateway.seating.leases.api_server import Objects
from rebalance_agent.gateway.seats.locks import LockAnswer, LockBeat
from rebalance_agent.gateway.seats.locks.leases import (
    GROUP_LABEL,
    LEASE_SECONDS,
    group_label,
    lease_change,
    lease_name,
    lock_holder,
)
from rebalance_agent.gateway.seats.locks.lock_acts import LockLoss
from rebalance_agent.gateway.seats.locks.lock_frames import LockHolder
from rebalance_agent.groupprotocol.wire.error_codes import (
    GROUP_AUTHORIZATION_FAILED,
    UNRELEASED_INSTANCE_ID,
    UNSUPPORTED_VERSION,
)

__all__ = ["LeaseRequests"]

LEASES_MAX = 1_000
"""Maximum number of locks of a group that are read: as many as a gateway has seats."""

REMOVED_MAX = 10
"""Maximum number of expired locks removed after each description; further locks are removed after later
descriptions."""

TRIES_MAX = 2
"""Maximum number of attempts to change a lock while other gateways change it first."""

_OK, _CREATED, _NOT_FOUND, _CONFLICT = 200, 201, 404, 409
_REFUSED = (401, 403)
_LATER = (408, 429)
_SERVER_ERRORS = 500

_PROBLEMS = {
    LockLoss.UNSUPPORTED: "this gateway is not a pod with a service account, or the cluster has no Lease objects",
    LockLoss.FORBIDDEN: "the pod's service account needs get, list, create, update and delete on leases of "
    "coordination.k8s.io in its namespace",
}


class LeaseRequests:
    """The requests for the locks of one group; without ``api`` every request is answered as unsupported."""

    def __init__(self, group: str, api: Objects | None, clock: Clock) -> None:
        """Start without knowledge of the locks."""
        self._group, self._api, self._clock = group, api, clock
        self._seen: dict[str, tuple[str, float]] = {}

    async def beat(self, connection: ClientConnection, beat: LockBeat) -> LockAnswer:  # noqa: ARG002 - not by Kafka
        """Send a request for a lock, and return the answer. Raises ConnectionError if there is no answer."""
        api = self._api
        return LockAnswer(UNSUPPORTED_VERSION) if api is None else await api.run(lambda: self._beat(api, beat))

    async def describe(self, connection: ClientConnection) -> tuple[LockHolder, ...] | None:  # noqa: ARG002
        """Return all locks of the group; None if the API server refuses. Raises like `beat`."""
        api = self._api
        return None if api is None else await api.run(lambda: self._describe(api))

    def problem(self, loss: LockLoss, error: int) -> str:
        """Return a sentence for a log about the loss of a lock; ``error``: the error code of the answer."""
        return f"Lease objects: {_PROBLEMS.get(loss, str(loss))} (error {error})"

    def _beat(self, api: Objects, beat: LockBeat) -> LockAnswer:
        path = f"leases/{lease_name(self._group, beat.instance_id)}"
        for _ in range(TRIES_MAX):
            status, found = api.request("GET", path)
            if status not in (_OK, _NOT_FOUND):
                return _refused(status)
            lease = found if status == _OK else None
            expired = lease is not None and self._expired(lease)
            change = lease_change(lease, self._group, beat, self._now(), expired=expired)
            if change.lease is None:
                return change.answer
            status, _ = api.request(*(("POST", "leases") if lease is None else ("PUT", path)), change.lease)
            if status in (_OK, _CREATED):
                return change.answer
            if status != _CONFLICT:
                return _refused(status)
        return LockAnswer(UNRELEASED_INSTANCE_ID)

    def _describe(self, api: Objects) -> tuple[LockHolder, ...] | None:
        selector = quote(f"{GROUP_LABEL}={group_label(self._group)}")
        status, found = api.request("GET", f"leases?labelSelector={selector}&limit={LEASES_MAX}")
        if status != _OK:
            return None
        leases = [lease for lease in found.get("items") or () if isinstance(lease, dict)]
        expired = [lease for lease in leases if self._expired(lease)]
        names = {_name(lease) for lease in leases}
        self._seen = {name: seen for name, seen in self._seen.items() if name in names}
        for lease in expired[:REMOVED_MAX]:
            options = {"preconditions": {"resourceVersion": _version(lease)}}
            api.request("DELETE", f"leases/{quote(_name(lease))}", options)
        locks = (lock_holder(lease) for lease in leases if lease not in expired)
        return tuple(lock for lock in locks if lock is not None)

    def _expired(self, lease: dict[str, Any]) -> bool:
        """Whether this gateway has seen no change of a lock for `LEASE_SECONDS`."""
        now, version = self._clock.monotonic(), _version(lease)
        known, since = self._seen.get(_name(lease), ("", now))
        if known != version:
            since = now
        self._seen[_name(lease)] = version, since
        return now - since >= LEASE_SECONDS

    def _now(self) -> str:
        return datetime.fromtimestamp(self._clock.now_ms() / 1_000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _refused(status: int) -> LockAnswer:
    if status in _LATER or status >= _SERVER_ERRORS:
        raise ConnectionAbortedError(f"Kubernetes' API server responded with {status}")
    return LockAnswer(GROUP_AUTHORIZATION_FAILED if status in _REFUSED else UNSUPPORTED_VERSION)


def _name(lease: dict[str, Any]) -> str:
    return str(lease.get("metadata", {}).get("name", ""))


def _version(lease: dict[str, Any]) -> str:
    return str(lease.get("metadata", {}).get("resourceVersion", ""))
