"""Keeps clients that gave up while their JoinGroup was held, so that their retries are not held again."""

from __future__ import annotations

__all__ = ["IMPATIENT_SECONDS", "ImpatientClients"]

IMPATIENT_SECONDS = 60.0
"""Seconds for which no JoinGroup of a client id is held after such a client closed its connection while its JoinGroup
was held: the client may wait for less time than is typical of its library."""


class ImpatientClients:
    """The client ids whose JoinGroups are currently not held. Times are in seconds of the caller's monotonic clock."""

    def __init__(self, clients_max: int) -> None:
        """Store the last ``clients_max`` client ids."""
        self._clients_max = clients_max
        self._until: dict[str, float] = {}

    def add(self, client_id: str, now: float) -> None:
        """Record that a client with this id gave up ``now``. Ignore the empty id, which many clients may have."""
        if not client_id:
            return
        self._until.pop(client_id, None)
        self._until[client_id] = now + IMPATIENT_SECONDS
        if len(self._until) > self._clients_max:
            del self._until[next(iter(self._until))]

    def knows(self, client_id: str, now: float) -> bool:
        """Whether a client with this id gave up recently."""
        return now < self._until.get(client_id, now)
