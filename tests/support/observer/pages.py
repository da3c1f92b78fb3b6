"""Complete pages of /metrics of every role, with every metric of the catalogue."""

from __future__ import annotations

from dataclasses import replace

from rebalance_agent.clock import FakeClock
from rebalance_agent.gateway.gateway_counters import GatewayCounters
from rebalance_agent.gateway.telemetry.client_values import CLIENT_VALUES
from rebalance_agent.gateway.telemetry.known_clients import KnownClient
from rebalance_agent.gateway.telemetry.telemetry_clients import TelemetryClients
from rebalance_agent.groupprotocol.requests.share_requests import AcknowledgeType
from rebalance_agent.http.health import Readiness
from rebalance_agent.metrics.export.agent_metrics import AgentMetrics
from rebalance_agent.metrics.export.baselines_page import BaselinesPage
from rebalance_agent.metrics.export.dialects import Dialect
from rebalance_agent.metrics.export.groups_page import GroupsPage
from rebalance_agent.metrics.export.lag_page import LagPage
from rebalance_agent.metrics.export.member_metrics import MemberMetrics
from rebalance_agent.metrics.export.phase_metrics import PhaseMetrics
from rebalance_agent.metrics.group_metric import SeriesLimits
from rebalance_agent.metrics.metric import ExporterRole
from rebalance_agent.model.assignment_quality import AssignmentQuality
from rebalance_agent.model.baseline import AdviceSavings, BaselineScope, GroupBaseline, HourBaseline, hour_of_week
from rebalance_agent.model.episode import Basis, Evidence, Source
from rebalance_agent.model.events import Callback
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.reported.member_software import ClientSoftware
from rebalance_agent.model.reported.seat_event import SeatOccupant
from rebalance_agent.polls.baseline_reader import Baselines
from rebalance_agent.tracking.lag.catch_up import CatchUp
from rebalance_agent.tracking.lag.group_lag import GroupLag, StuckPartition, TopicLag
from rebalance_agent.tracking.views import Counters, StallHistogram
from support.observer.views import EMPTY_COUNTS, NOW, assign_event, full_view, member_event


def observer_groups(dialect: Dialect = Dialect.PROMETHEUS) -> bytes:
    """One group from records, a consumer group whose members report stalls, and a share group from polls only."""
    exact = {basis: StallHistogram((0, 1, *EMPTY_COUNTS[2:]), 0.2) for basis in Basis}
    phases = {
        "last_join_seconds": None,
        "last_sync_seconds": None,
        "last_assignor_wait_seconds": 0.75,
        "last_reconcile_seconds": 1.5,
    }
    counters = Counters(stalls=exact, assign_errors=0, doubly_owned_partition_seconds=29.0)
    reported = {"counters": counters, "running": None, **phases}
    first, second = full_view().members
    taken = replace(second, occupant=SeatOccupant("consumer-7", "/10.0.0.7", NOW - 120_000))
    views = (
        full_view(members=(first, taken)),
        full_view('say "hello"\n', GroupType.CONSUMER, **reported),
        full_view("polled", GroupType.SHARE, source=Source.ADMIN, counters=Counters(polled_changes=2), running=None),
    )
    return GroupsPage(lambda: views, FakeClock(NOW), SeriesLimits(max_topic_series=1)).text(dialect)


def observer_lags(dialect: Dialect = Dialect.PROMETHEUS) -> bytes:
    """A group with lag in two topics, one of them with its own series."""
    topics = (TopicLag("payments", 70, 6.5), TopicLag("refunds", 5, 1.5))
    stuck, catch_up = StuckPartition("payments", 3, 61.0), CatchUp(3, 6, 45.0, 150.0)
    lags = {"orders": GroupLag(75, 6.5, 2.0, topics, stuck, catch_up, has_owned=True)}
    return LagPage(lambda: lags, 1).text(dialect)


def observer_phases(dialect: Dialect = Dialect.PROMETHEUS) -> bytes:
    """One generation of a group."""
    metrics = PhaseMetrics()
    metrics.on_event(full_view().last_episode)
    return metrics.text(dialect)


def observer_baselines(dialect: Dialect = Dialect.PROMETHEUS) -> bytes:
    """A group with a long history, which made one of two recommended changes."""
    baselines, savings = Baselines(), AdviceSavings(1, 1, 1_200.0, 900.0, 1, 340.0)
    normal = HourBaseline(hour_of_week(NOW), BaselineScope.HOUR_OF_WEEK, 120, 0.25, 1.5, 4.0)
    baselines.put(GroupBaseline("cluster", "orders", NOW, (normal,), savings))
    return BaselinesPage(baselines, lambda: [full_view()], FakeClock(NOW)).text(dialect)


def observer_agent(dialect: Dialect = Dialect.PROMETHEUS) -> bytes:
    """An observer whose publisher does not work."""
    readiness = Readiness(["kafka", "publisher"])
    readiness.ready("kafka")
    readiness.degraded({"admin-only": "no right", "topics-hidden": None})
    metrics = AgentMetrics(ExporterRole.OBSERVER, readiness, configured=True)
    metrics.tail_lag(3)
    metrics.observation_age(0.1)
    metrics.groups_over_budget("work", ["noisy"])
    metrics.loads_left_out(0)
    metrics.owned(4, changed=True)
    metrics.snapshot_written(NOW, 5_000)
    metrics.offsets_limit(1_048_588)
    metrics.polled("list", 0.002, NOW)
    return metrics.text(dialect)


def sidecar_members(dialect: Dialect = Dialect.PROMETHEUS) -> bytes:
    """One consumer in a rebalance, as the leader of its group, and the metrics that only a gateway provides."""
    metrics = MemberMetrics(FakeClock(NOW))
    quality = AssignmentQuality(
        spread=0,
        max_mean_ratio=1.0,
        skew_ratio=1.25,
        imbalance=0,
        moved=1,
        moved_min=1,
        unassigned=0,
        missing_standbys=0,
    )
    metrics.observe(
        [
            member_event(sequence=1, join_seconds=3.0, sync_seconds=0.02, reprocessed_records=0),
            member_event(
                Callback.REVOKED,
                2,
                started_ms=NOW + 1_000,
                timestamp_ms=NOW + 1_040,
                reprocessed_records=17,
            ),
            assign_event(3, quality=quality),
            member_event(Callback.ASSIGNED, 4, started_ms=NOW + 2_990, timestamp_ms=NOW + 3_000, generation=3),
            member_event(
                Callback.REVOKED,
                5,
                generation=3,
                partitions={},
                evidence=Evidence.GATEWAY,
                stop_seconds=0.4,
                rejected_commits=2,
            ),
        ]
    )
    metrics.text(dialect)  # the scrape at 0
    return metrics.text(dialect)


def gateway(dialect: Dialect = Dialect.PROMETHEUS) -> bytes:
    """A gateway beside one consumer, with one broker."""
    counts = GatewayCounters()
    counts.brokers(1, 1)
    counts.shares.acquired("payments", {1: 10, 2: 1})
    counts.shares.acknowledged("payments", {AcknowledgeType.ACCEPT: 10})
    counts.seats(1, 0, off=True, wrong=1)
    readiness = Readiness(["publisher"])
    readiness.degraded({"events-unpublished": None})
    agent = AgentMetrics(ExporterRole.GATEWAY, readiness, configured=True)
    return sidecar_members(dialect) + clients(dialect) + counts.text(dialect) + agent.text(dialect)


def clients(dialect: Dialect = Dialect.PROMETHEUS) -> bytes:
    """A client that reports its library and pushes every metric."""
    telemetry = TelemetryClients(FakeClock(NOW), 15.0)
    labels = ("orders", "app", "127.0.0.1")
    telemetry.known.opened(KnownClient(labels, ClientSoftware("apache-kafka-java", "4.3.0"), 300.0))
    telemetry.pushed("client", labels, dict.fromkeys(CLIENT_VALUES, 1_500.0))
    return telemetry.text(dialect)


def sidecar_agent(dialect: Dialect = Dialect.PROMETHEUS) -> bytes:
    """A working sidecar."""
    readiness = Readiness(["publisher"])
    readiness.ready("publisher")
    readiness.degraded({"events-unpublished": None})
    return AgentMetrics(ExporterRole.SIDECAR, readiness, configured=True).text(dialect)
