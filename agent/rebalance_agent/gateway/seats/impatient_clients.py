"""Remembers clients that gave up while their JoinGroup was held, so that it is not held at each of their retries."""

from __future__ import annotations

__all__ = ["IMPATIENT_SECONDS", "ImpatientClients"]

IMPATIENT_SECONDS = 60.0
"""For how long no JoinGroup of a client id is held after its connection was closed while one was held: it may wait for
less time than clients of its kind are known to wait."""


class ImpatientClients:
    """The client ids whose JoinGroups are not held now. Times are in seconds of the caller's monotonic clock."""

    def __init__(self, clients_max: int) -> None:
        """Remember up to ``clients_max`` client ids: the last ones."""
        self._clients_max = clients_max
        self._until: dict[str, float] = {}

    def add(self, client_id: str, now: float) -> None:
        """Record that a client with this id gave up ``now``; many clients may have the empty one, which is ignored."""
        if not client_id:
            return
        self._until.pop(client_id, None)
        self._until[client_id] = now + IMPATIENT_SECONDS
        if len(self._until) > self._clients_max:
            del self._until[next(iter(self._until))]

    def knows(self, client_id: str, now: float) -> bool:
        """Whether a client with this id gave up lately."""
        return now < self._until.get(client_id, now)
