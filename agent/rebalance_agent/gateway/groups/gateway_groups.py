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
from rebalance_agent.gateway.groups.heartbeats.streams_topologies import StreamsTopologies
from rebalance_agent.gateway.groups.member_entries import MemberEntries
from rebalance_agent.gateway.seating import SeatingGroups
from rebalance_agent.http.latched_readiness import LatchedReadiness

__all__ = ["Count", "FrameOutcome", "GatewayGroups"]

_logger = logging.getLogger(__name__)

ASSIGNING_MAX = 2
"""Maximum number of simultaneous assignments: a pod leads few groups, and each assignment uses one whole CPU core."""

COMPLAINTS_MAX = 1_000
"""Maximum number of problems kept in order to log each only once; beyond it, all are dropped and may be logged
again."""

NAME_MAX, PROBLEM_MAX = 200, 1_000
"""Maximum number of characters of a name and of a problem in a log line: clients' names may have 32 KiB each."""


class FrameOutcome(StrEnum):
    """The outcome of one frame of a group that a rule matches: a fixed set, for a counter's label."""

    OFFERED = "offered"
    """A JoinGroup was sent with our strategy before the client's own assignors."""
    CHOSEN = "chosen"
    """The group uses our strategy for the generation."""
    NOT_CHOSEN = "not_chosen"
    """The group uses the client's own assignor for the generation, since some member does not offer our strategy."""
    MISFIT = "misfit"
    """Our strategy was not offered: it is eager and the client is cooperative, or the reverse."""
    FOREIGN = "foreign"
    """Our strategy was not offered: the client (Streams, Connect, another library) uses assignors other than
    Kafka's."""
    ASSIGNED = "assigned"
    """Our assignment replaced the leader's assignment."""
    ASSIGN_FAILED = "assign_failed"
    """Our assignor failed; the client's own assignment was used."""
    ASSIGN_LATE = "assign_late"
    """Our assignor exceeded its time; the client's own assignment was used."""
    SENT_BACK = "sent_back"
    """A SyncGroup was refused because this gateway did not read the JoinGroup before it; so the client rejoins."""
    FAILED = "failed"
    """The gateway had an error; the client's own bytes were forwarded."""


Count = Callable[[FrameOutcome], None]
"""A function that counts an outcome. It never raises."""


@dataclass(eq=False)
class GatewayGroups:
    """The rules, the members, and the threads that compute assignments.

    ``emit`` is called with members' events, ``alive`` for heartbeats and ``count`` with outcomes, in the event loop's
    thread. A group waits at most ``assign_seconds`` for our assignor; see `budget_seconds`. ``rack``: the rack of
    members that do not send a rack; empty if unknown. ``seats``: None if no group has seats. ``readiness``: the
    readiness of all consumers. ``generations``: whether to publish generations that a consumer behind this gateway
    leads.

    ``awaiting``: members that have not yet fetched from their new assignment. ``topic_names``: topic id -> topic name.
    ``topologies``: the topics of streams groups' tasks.
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
        self.topologies = StreamsTopologies()
        self.executor = ThreadPoolExecutor(ASSIGNING_MAX, thread_name_prefix="rebalance-agent-assign")
        self._complaints: set[tuple[str, str, str]] = set()

    def await_fetch(self, membership: ClientMembership) -> None:
        """Wait for the first Fetch of a consumer that may have got an assignment."""
        self.awaiting.add(membership)
        self.expire_fetch_waits()

    def fetched(self, client_id: str, partitions: set[tuple[str | None, int]]) -> None:
        """Record that a client fetches from these partitions; a topic is None if only its id is known.

        The members that await a Fetch are found by the client id.
        """
        for membership in self.awaiting:
            if membership.client_id == client_id:
                membership.record_fetch(partitions)
        self.expire_fetch_waits()

    def expire_fetch_waits(self) -> None:
        """Stop waiting for members whose first Fetch has arrived or is overdue."""
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
        """Publish the events that still wait for a Fetch, and stop the threads that compute assignments."""
        for entry in self.entries:
            entry.membership.settle()
        self.executor.shutdown(wait=False, cancel_futures=True)
