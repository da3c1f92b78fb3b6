"""The state of groups that all connections of one gateway share."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import StrEnum

from rebalance_agent.clock import Clock, SystemClock
from rebalance_agent.gateway.group_rules import ASSIGN_SECONDS, Rules
from rebalance_agent.gateway.groups.client_events import Emit
from rebalance_agent.gateway.groups.client_membership import Alive, ClientMembership
from rebalance_agent.gateway.groups.member_entries import MemberEntries
from rebalance_agent.gateway.seating import SeatingGroups
from rebalance_agent.http.latched_readiness import LatchedReadiness

__all__ = ["Count", "FrameOutcome", "GatewayGroups"]

_logger = logging.getLogger(__name__)

ASSIGNING_MAX = 2
"""Maximum simultaneous assignments: a pod leads few groups, and each assignment takes a whole CPU."""

COMPLAINTS_MAX = 1_000
"""Maximum problems remembered, so that each is logged only once; beyond it all are forgotten and may be logged
again."""

NAME_MAX, PROBLEM_MAX = 200, 1_000
"""Maximum characters of a name and of a problem in a log line: clients' names may have 32 KiB each."""


class FrameOutcome(StrEnum):
    """The outcome of one frame of a group that a rule matches. A closed set, for a counter's label."""

    OFFERED = "offered"
    """A JoinGroup was sent with our strategy before the client's own."""
    CHOSEN = "chosen"
    """The group uses our strategy for the generation."""
    NOT_CHOSEN = "not_chosen"
    """The group uses the client's own assignor for the generation: some member does not offer ours."""
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
    """A SyncGroup was refused because this gateway has not seen its JoinGroup; the client was made to rejoin."""
    FAILED = "failed"
    """An error of the gateway; the client's own bytes were forwarded."""


Count = Callable[[FrameOutcome], None]
"""Counts an outcome. Never raises."""


@dataclass(eq=False)
class GatewayGroups:
    """The rules, the members, and the threads that compute assignments.

    ``emit`` gets members' events, ``alive`` heartbeats and ``count`` outcomes, on the event loop's thread. A group
    waits at most ``assign_seconds`` for our assignor; see `budget_seconds`. ``rack``: the rack of members that do not
    send one; empty if unknown. ``seats``: None if no group has seats. ``readiness``: the readiness of all consumers.
    ``generations``: whether to publish generations that a consumer behind this gateway leads.

    ``awaiting``: members with an assignment from which they have not fetched yet. ``topic_names``: by topic id.
    """

    rules: Rules
    emit: Emit
    clock: Clock
    alive: Alive = lambda _process: None
    count: Count = lambda _outcome: None
    assign_seconds: float = ASSIGN_SECONDS
    rack: str = ""
    seats: SeatingGroups | None = None
    generations: bool = False
    readiness: LatchedReadiness = field(default_factory=lambda: LatchedReadiness(SystemClock(), "no consumer"))

    def __post_init__(self) -> None:
        """Start without members."""
        self.entries = MemberEntries()
        self.awaiting: set[ClientMembership] = set()
        self.topic_names: dict[str, str] = {}
        self.executor = ThreadPoolExecutor(ASSIGNING_MAX, thread_name_prefix="rebalance-agent-assign")
        self._complaints: set[tuple[str, str, str]] = set()

    def new_membership(self, group: str, client_id: str, instance_id: str | None) -> ClientMembership:
        """Return the membership of a consumer that is seen for the first time."""
        return ClientMembership(group, client_id, instance_id, self.clock, self.emit)

    def await_fetch(self, membership: ClientMembership) -> None:
        """Wait for the first Fetch of a consumer that may have got an assignment."""
        self.awaiting.add(membership)
        self.expire_fetch_waits()

    def expire_fetch_waits(self) -> None:
        """Stop waiting for members whose first Fetch has come, or is overdue."""
        for membership in tuple(self.awaiting):
            membership.settle_late()
            if not membership.fetch_awaited:
                self.awaiting.discard(membership)

    def log_problem(self, level: int, group: str, client_id: str, problem: str) -> None:
        """Log a problem of a client, once."""
        complaint = group[:NAME_MAX], client_id[:NAME_MAX], problem[:PROBLEM_MAX]
        if complaint not in self._complaints:
            if len(self._complaints) >= COMPLAINTS_MAX:
                self._complaints.clear()
            self._complaints.add(complaint)
            _logger.log(level, "group %r, client %r: %s", *complaint)

    def close(self) -> None:
        """Publish the events that still wait for a fetch, and stop the threads that compute assignments."""
        for entry in self.entries:
            entry.membership.settle()
        self.executor.shutdown(wait=False, cancel_futures=True)
