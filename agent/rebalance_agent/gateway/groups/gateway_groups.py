"""The state of groups that all connections of one gateway share."""

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
"""Assignments that run at a time: a pod leads few groups, and each takes a whole CPU."""

COMPLAINTS_MAX = 1_000
"""Complaints remembered to log each only once; beyond that all are forgotten and may be logged again."""

NAME_MAX, PROBLEM_MAX = 200, 1_000
"""Characters of names and problems in a complaint: names from outside may have 32 KiB each."""


class FrameOutcome(StrEnum):
    """The outcome of one frame of a group that a rule matches. A closed set, for a counter's label."""

    OFFERED = "offered"
    """A JoinGroup was sent with our strategy before the client's own."""
    CHOSEN = "chosen"
    """The group runs the generation by our strategy."""
    NOT_CHOSEN = "not_chosen"
    """The group runs the generation by the client's own assignor: some member does not offer ours."""
    MISFIT = "misfit"
    """Not offered: an eager strategy and a cooperative client, or the reverse."""
    FOREIGN = "foreign"
    """Not offered: the client does not use Kafka's own assignors (Streams, Connect, another library)."""
    ASSIGNED = "assigned"
    """The leader's assignment was replaced by ours."""
    ASSIGN_FAILED = "assign_failed"
    """Our assignor failed; the client's own assignment was used."""
    ASSIGN_LATE = "assign_late"
    """Our assignor exceeded its time; the client's own assignment was used."""
    SENT_BACK = "sent_back"
    """A SyncGroup was refused whose JoinGroup this gateway has not seen; the client was made to rejoin."""
    FAILED = "failed"
    """An error of the gateway; the client's own bytes were forwarded."""


Count = Callable[[FrameOutcome], None]
"""Counts an outcome. Never raises."""


class GatewayGroups:
    """The rules, the members, and the threads that assign."""

    def __init__(
        self, rules: Rules, emit: Emit, alive: Alive, clock: Clock, count: Count, assign_seconds: float, rack: str
    ) -> None:
        """``emit`` takes the members' events; a group may wait ``assign_seconds`` for our assignor.

        ``rack``: the rack of members that send none; empty where it is unknown.

        ``awaiting``: members with an assignment from which they have not fetched yet. ``topic_names``: by topic id.
        """
        self.alive = alive
        self.rules = rules
        self.emit = emit
        self.clock = clock
        self.count = count
        self.assign_seconds = assign_seconds
        self.rack = rack
        self.entries = MemberEntries()
        self.awaiting: set[ClientMembership] = set()
        self.topic_names: dict[str, str] = {}
        self.executor = ThreadPoolExecutor(ASSIGNING_MAX, thread_name_prefix="rebalance-agent-assign")
        self._complaints: set[tuple[str, str, str]] = set()

    def new_membership(self, group: str, client_id: str, instance_id: str | None) -> ClientMembership:
        """The membership of a consumer that is seen for the first time."""
        return ClientMembership(group, client_id, instance_id, self.clock, self.emit)

    def await_fetch(self, membership: ClientMembership) -> None:
        """Wait for the first Fetch of a consumer that may have got an assignment."""
        self.awaiting.add(membership)
        self.tidy()

    def tidy(self) -> None:
        """Stop waiting for members whose first Fetch has come, or is overdue."""
        for membership in tuple(self.awaiting):
            membership.settle_late()
            if not membership.fetch_awaited:
                self.awaiting.discard(membership)

    def complain(self, level: int, group: str, client_id: str, problem: str) -> None:
        """Log a problem of a client, once."""
        complaint = group[:NAME_MAX], client_id[:NAME_MAX], problem[:PROBLEM_MAX]
        if complaint not in self._complaints:
            if len(self._complaints) >= COMPLAINTS_MAX:
                self._complaints.clear()
            self._complaints.add(complaint)
            _logger.log(level, "group %r, client %r: %s", *complaint)

    def close(self) -> None:
        """Stop the threads that assign."""
        self.executor.shutdown(wait=False, cancel_futures=True)
