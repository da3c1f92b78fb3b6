"""What all connections of one gateway share of their groups."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum

from rebalance_agent.clock import Clock
from rebalance_agent.gateway.group_rules import Rules
from rebalance_agent.gateway.groups.client_membership import Alive, ClientMembership, Emit
from rebalance_agent.gateway.groups.member_entries import MemberEntries

__all__ = ["Count", "FrameOutcome", "GatewayGroups"]

_logger = logging.getLogger(__name__)

ASSIGNING_MAX = 2
"""Assignments that run at a time: a pod leads few groups, and they are a processor's work."""

COMPLAINTS_MAX = 1_000
"""Complaints that are remembered not to be repeated; then all may be heard once more."""

NAME_MAX, PROBLEM_MAX = 200, 1_000
"""Characters of a complaint that are told and remembered: names from outside may have 32 KiB each."""


class FrameOutcome(StrEnum):
    """What became of one frame of a group that a rule matches. A closed set, for a counter's label."""

    OFFERED = "offered"
    """A JoinGroup was sent with our strategy before the client's own."""
    CHOSEN = "chosen"
    """The group runs the generation by our strategy."""
    NOT_CHOSEN = "not_chosen"
    """The group runs it by one of the client's own: some member does not offer ours."""
    MISFIT = "misfit"
    """Not offered: eager strategy and cooperative client, or the other way round."""
    FOREIGN = "foreign"
    """Not offered: no consumer with Kafka's own assignors (Streams, Connect, another library)."""
    ASSIGNED = "assigned"
    """The leader's assignment was replaced by ours."""
    ASSIGN_FAILED = "assign_failed"
    """Our assignor failed, and the client's own assignment went through."""
    ASSIGN_LATE = "assign_late"
    """Our assignor was not done in time, and the client's own assignment went through."""
    SENT_BACK = "sent_back"
    """A SyncGroup whose JoinGroup this gateway has not seen was refused; the client was told to rejoin."""
    FAILED = "failed"
    """Something of ours went wrong, and the client's own bytes went on."""


Count = Callable[[FrameOutcome], None]
"""Counts an outcome. Never raises."""


class GatewayGroups:
    """Rules, seats and the threads that assign."""

    def __init__(
        self, rules: Rules, emit: Emit, alive: Alive, clock: Clock, count: Count, assign_seconds: float, rack: str
    ) -> None:
        """``emit`` takes the members' events; a group may wait ``assign_seconds`` for our assignor.

        ``rack``: of members who tell none; empty where it is not known, either.

        ``awaiting``: who was given something and has not begun with it. ``topic_names``: by topic id.
        """
        self.alive = alive
        self.rules = rules
        self.emit = emit
        self.clock = clock
        self.count = count
        self.assign_seconds = assign_seconds
        self.rack = rack
        self.seats = MemberEntries()
        self.awaiting: set[ClientMembership] = set()
        self.topic_names: dict[str, str] = {}
        self.executor = ThreadPoolExecutor(ASSIGNING_MAX, thread_name_prefix="rebalance-agent-assign")
        self._complaints: set[tuple[str, str, str]] = set()

    def presence(self, group: str, client_id: str, instance_id: str | None) -> ClientMembership:
        """A consumer seen for the first time."""
        return ClientMembership(group, client_id, instance_id, self.clock, self.emit)

    def await_fetch(self, presence: ClientMembership) -> None:
        """The consumer may have been given something: look out for its first Fetch."""
        self.awaiting.add(presence)
        self.tidy()

    def tidy(self) -> None:
        """Look no longer for whose first Fetch has come, or will not come."""
        for each in tuple(self.awaiting):
            each.settle_late()
            if not each.fetch_awaited:
                self.awaiting.discard(each)

    def complain(self, level: int, group: str, client_id: str, problem: str) -> None:
        """Log once for this client what is wrong with it."""
        complaint = group[:NAME_MAX], client_id[:NAME_MAX], problem[:PROBLEM_MAX]
        if complaint not in self._complaints:
            if len(self._complaints) >= COMPLAINTS_MAX:
                self._complaints.clear()
            self._complaints.add(complaint)
            _logger.log(level, "group %r, client %r: %s", *complaint)

    def close(self) -> None:
        """Assign no more."""
        self.executor.shutdown(wait=False, cancel_futures=True)
