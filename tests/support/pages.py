"""Whole pages of /metrics of both roles, with every metric of the catalogue on one of them."""

from __future__ import annotations

from rebalance_agent.clock import FakeClock
from rebalance_agent.exposition.agent_metrics import AgentMetrics
from rebalance_agent.exposition.groups_page import GroupsPage
from rebalance_agent.exposition.health import Readiness
from rebalance_agent.exposition.member_metrics import MemberMetrics
from rebalance_agent.exposition.phase_metrics import PhaseMetrics
from rebalance_agent.metrics.metric import Role
from rebalance_agent.model.episode import Basis, Source
from rebalance_agent.model.events import Callback
from rebalance_agent.model.quality import AssignmentQuality
from rebalance_agent.rebalances.views import Counters, StallHistogram

from .views import EMPTY_COUNTS, NOW, assign_event, full_view, member_event


def observer_groups() -> bytes:
    """A group known from its records, one whose members report their stalls, one known only from polls."""
    exact = {basis: StallHistogram((0, 1, *EMPTY_COUNTS[2:]), 0.2) for basis in Basis}
    views = (
        full_view(),
        full_view('say "hello"\n', counters=Counters(stalls=exact, assign_errors=0), running=None),
        full_view("polled", source=Source.ADMIN, counters=Counters(polled_changes=2), running=None),
    )
    return GroupsPage(lambda: views, FakeClock(NOW)).text()


def observer_phases() -> bytes:
    """One generation of some group."""
    metrics = PhaseMetrics()
    metrics.observe(full_view().last_episode)
    return metrics.text()


def observer_agent() -> bytes:
    """An observer whose publisher does not work."""
    readiness = Readiness(["kafka", "publisher"])
    readiness.ready("kafka")
    metrics = AgentMetrics(Role.OBSERVER, readiness, configured=True)
    metrics.tail_lag(3)
    metrics.polled("list", 0.002, NOW)
    return metrics.text()


def sidecar_members() -> bytes:
    """One consumer through a rebalance, as the leader of its group."""
    metrics = MemberMetrics(FakeClock(NOW))
    quality = AssignmentQuality(
        spread=0, max_mean_ratio=1.0, skew_ratio=1.25, imbalance=0, moved=1, moved_min=1, unassigned=0
    )
    metrics.observe(
        [
            member_event(sequence=1),
            member_event(Callback.REVOKED, 2, started_ms=NOW + 1_000, timestamp_ms=NOW + 1_040),
            assign_event(3, quality=quality),
            member_event(Callback.ASSIGNED, 4, started_ms=NOW + 2_990, timestamp_ms=NOW + 3_000, generation=3),
        ]
    )
    return metrics.text()


def sidecar_agent() -> bytes:
    """A sidecar that works."""
    readiness = Readiness(["publisher"])
    readiness.ready("publisher")
    return AgentMetrics(Role.SIDECAR, readiness, configured=True).text()
