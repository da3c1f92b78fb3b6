"""Clients of the model: they have no code for seats, and react to responses like Kafka's clients."""

from __future__ import annotations

from dataclasses import dataclass, field

from support.seats.coordinator import (
    FENCED,
    ILLEGAL_GENERATION,
    INCONSISTENT,
    MEMBER_ID_REQUIRED,
    NONE,
    NOT_COORDINATOR,
    PARTITIONS,
    REBALANCING,
    UNKNOWN,
)

HEARTBEAT_SECONDS = 1.5
KNOWN_ERRORS = {NONE, NOT_COORDINATOR, ILLEGAL_GENERATION, INCONSISTENT, UNKNOWN, REBALANCING, MEMBER_ID_REQUIRED}
"""Error codes that a dynamic member may get."""


@dataclass(eq=False)
class ModelClient:
    """One process with one consumer, behind ``gateway`` (None: a direct connection).

    ``owned``: the partitions that it regards as its own in ``generation``. ``waiting``: its unanswered request, as
    (kind, since). ``inbox``: responses, which it reads unless it is paused.
    """

    process: int
    gateway: object
    profile: object
    version: int
    patience: float
    session: float
    unfenced: bool = False
    member_id: str = ""
    generation: int = -1
    owned: frozenset[int] = frozenset()
    state: str = "out"
    waiting: tuple[str, float] | None = None
    inbox: list = field(default_factory=list)
    paused: bool = False
    alive: bool = True
    connected: bool = True
    reconnect_at: float = 0.0
    connection: int = 0
    join_connection: int = 0
    beat_at: float = 0.0
    join: int = 0
    shown: set[int] = field(default_factory=set)
    seated: bool = False

    def step(self, world):
        """Read responses, then send due requests."""
        if not self.alive or self.paused:
            return
        if not self.connected:
            if world.now >= self.reconnect_at and (self.gateway is None or self.gateway.up):
                self.connected = True
                if self.gateway is not None:
                    self.gateway.opened(self)
            return
        while self.inbox:
            self.inbox.pop(0)()
        if self.waiting is not None:
            return
        if self.state == "out":
            self.waiting = ("join", world.now)
            world.send_join(self)
        elif self.state == "joined":
            self.waiting = ("sync", world.now)
            world.send_sync(self)
        elif world.now >= self.beat_at:
            self.beat_at = world.now + HEARTBEAT_SECONDS
            self.waiting = ("heartbeat", world.now)
            world.send_heartbeat(self)

    def answer(self, connection, what):
        """Add a response to the inbox; it is lost if its connection is gone."""
        if connection == self.connection and self.alive:
            self.inbox.append(what)

    def on_join(self, joined):
        self.waiting = None
        self._show(joined.error)
        if joined.error == NONE:
            self.member_id, self.generation, self.state = joined.member_id, joined.generation, "joined"
        elif joined.error == MEMBER_ID_REQUIRED:
            self.member_id = joined.member_id
        elif joined.error in (UNKNOWN, FENCED):
            self.lose()

    def on_sync(self, error, partitions):
        self.waiting = None
        self._show(error)
        if error == NONE:
            self.owned, self.state = partitions, "in"
        else:
            self._rejoin(error)

    def on_heartbeat(self, error):
        self.waiting = None
        self._show(error)
        if error not in (NONE, NOT_COORDINATOR):
            self._rejoin(error)

    def on_disconnect(self, now, seconds):
        """The connection is gone; unanswered requests are repeated on another one."""
        self.connected, self.reconnect_at, self.waiting = False, now + seconds, None
        self.connection += 1
        self.inbox.clear()

    def lose(self):
        self.member_id, self.generation, self.owned, self.state, self.seated = "", -1, frozenset(), "out", False

    def can_commit(self, coordinator, partition):
        """Whether it regards the partition as its own, and the coordinator would now accept its commit."""
        if not self.alive or partition not in self.owned:
            return False
        return coordinator.commit(self.member_id, self.generation) == NONE

    def _rejoin(self, error):
        if error == REBALANCING:
            self.owned, self.state = frozenset(), "out"  # eager: it revokes everything, and keeps its member id
        elif error != NOT_COORDINATOR:
            self.lose()

    def _show(self, error):
        self.shown.add(error)


def double_owners(clients, coordinator):
    """Partitions for which two clients could commit now."""
    if not coordinator.available:
        return []
    return [p for p in PARTITIONS if sum(one.can_commit(coordinator, p) for one in clients) > 1]
