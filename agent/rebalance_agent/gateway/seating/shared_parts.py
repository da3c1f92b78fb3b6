"""The objects that all groups with seats of one gateway share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from rebalance_agent.clock import Clock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.gateway.seat_rules import Between
from rebalance_agent.gateway.seating.act_report import ActReport
from rebalance_agent.gateway.seating.connections.disconnect_watch import DisconnectWatch
from rebalance_agent.gateway.seating.connections.lock_requests import LockRequests
from rebalance_agent.gateway.seating.leases.api_server import Objects
from rebalance_agent.gateway.seating.leases.lease_requests import LeaseRequests
from rebalance_agent.model.reported.seat_event import Act

__all__ = ["SharedParts"]


@dataclass(eq=False)
class SharedParts:
    """The shared objects. ``watch`` detects disconnected clients; ``changed`` is called when a new act is due.

    ``token``: a random text, new at each start of the gateway. ``leases``: access to Lease objects, for groups whose
    rule chooses Leases as locks; None if no rule does.
    """

    clock: Clock
    report: ActReport
    changed: Callable[[], None]
    token: str
    leases: Objects | None = None
    watch: DisconnectWatch = field(default_factory=DisconnectWatch)

    def __post_init__(self) -> None:
        """Start without pending requests."""
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None], act: Act, group: str) -> None:
        """Run a request of the gateway in a task; an error is reported as one of ``act``."""
        task = asyncio.get_running_loop().create_task(self._guarded(work, act, group))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def lock_requests(self, group: str, between: Between) -> LockRequests | LeaseRequests | None:
        """Return the requests for the locks of a group; None if its rule has no locks, or if its name is too long."""
        if between is Between.LEASE:
            return LeaseRequests(group, self.leases, self.clock)
        try:
            return LockRequests(group) if between is Between.GROUP else None
        except InvalidInputError:
            return None  # the name of the helper group would be too long

    async def settled(self, seconds: float) -> None:
        """Wait until all pending requests have ended, for at most ``seconds``."""
        if self._tasks:
            await asyncio.wait(tuple(self._tasks), timeout=seconds)

    async def _guarded(self, work: Coroutine[Any, Any, None], act: Act, group: str) -> None:
        try:
            await work
        except Exception as error:  # noqa: BLE001 - members continue without the act, and sessions end in time
            self.report.failed(act, group, error)
