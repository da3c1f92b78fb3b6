"""A quiet fleet: the series of its groups and of its cluster, and the alerts of the committed rules on them.

The groups are replayed in shares, each in its own process and in one promtool, so that memory stays bounded.
"""

from __future__ import annotations

import json
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple, dataclass
from multiprocessing import get_context
from pathlib import Path

from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.group import GroupType
from rebalance_agent.testing.synthetic.calendar_members import NODES
from rebalance_agent.testing.synthetic.fleet_plan import FleetPlan
from rebalance_agent.testing.synthetic.group_calendar import DAY_MS
from rebalance_agent.testing.synthetic.hourly_load import HOUR_MS
from rebalance_agent.testing.synthetic.maintenance import BrokerRestart, Maintenance, NodeDrain
from rebalance_agent.testing.synthetic.synthetic_history import history
from rebalance_agent.tracking.tracker import Tracker
from support.replay.agent_faults import healthy
from support.replay.fault import labelled, shown
from support.replay.firing import Span, firing
from support.replay.fleet.described import DescribedOnly
from support.replay.fleet.kinds import GATEWAY, KINDS, NIGHTLY, POLLED, plan_of
from support.replay.fleet.planted import PLANTED
from support.replay.scraped_group import ScrapedGroup, callback_series, notation

__all__ = ["QuietFleet", "kind_of", "replayed"]

CLUSTER = "fleet"
MINUTE_MS = 60_000
SHARE = 2 * len(KINDS)
"""Groups in one run of promtool, which takes 2 GB for a week of them; more groups would save little time. Groups with
the same number are in the same run, because restarts of brokers affect them together."""


@dataclass(frozen=True)
class QuietFleet:
    """``groups`` of each kind for some days; scrapes and evaluations are ``scrape`` seconds apart.

    ``faulty``: further groups have the planted faults.
    """

    days: int
    groups: int
    scrape: int = 30
    faulty: bool = False
    seed: int = 11

    @property
    def plan(self):
        return FleetPlan(len(KINDS) * self.groups, self.days, self.seed)

    @property
    def planted(self):
        """The faults of the further groups."""
        return PLANTED if self.faulty else ()

    @property
    def until(self):
        """The end of the replay in seconds."""
        return self.days * DAY_MS // 1000

    @property
    def numbers(self):
        """(Kind, number) of each group."""
        return [(kind, number) for number in range(self.groups) for kind in KINDS]

    def maintenance_of(self, kind, number):
        """One after the other, all nodes are drained from 10:00 on, and three brokers restart from 15:00 on.

        A day has both, a week on its Wednesday. A restart only concerns leaders of classic groups that set
        ``client.rack``, here of every third one: they read other racks of partitions. For other groups the coordinator
        moves to the next broker, which reads them from the offsets topic: nothing is written.
        """
        day_ms = max(0, self.days - 5) * DAY_MS
        drains = [NodeDrain(day_ms + 10 * HOUR_MS + 10 * MINUTE_MS * n, node) for n, node in enumerate(NODES)]
        restarts = [BrokerRestart(day_ms + 15 * HOUR_MS + 4 * MINUTE_MS * n, MINUTE_MS) for n in range(3)]
        return Maintenance(drains, restarts if number % 3 == 0 and KINDS[kind][0] is GroupType.CLASSIC else ())


def kind_of(group):
    """The kind of the group with this name; None for one with a planted fault."""
    name = group.rpartition("-")[0]
    return next((kind for kind in KINDS if kind.replace(" ", "-") == name), None)


def replayed(fleet, folder, processes=None):
    """The spans of all alerts that fire in the fleet, in the order of time.

    Each share's spans are written into ``folder``. If they are there already, the share is not replayed again, so
    ``folder`` must have been written by the same code.
    """
    shares = [fleet.numbers[first : first + SHARE] for first in range(0, len(fleet.numbers), SHARE)]
    found = []
    with ProcessPoolExecutor(processes or os.cpu_count(), mp_context=get_context("spawn")) as pool:
        for spans in pool.map(_fired, [fleet] * len(shares), shares, [str(folder)] * len(shares)):
            found += spans
    return sorted(found, key=lambda span: (span.began, span.alert, span.labels))


def _fired(fleet, share, folder):
    own = Path(folder) / "-".join(map(str, share[0])).replace(" ", "-")
    own.mkdir(parents=True, exist_ok=True)
    kept = own / "spans.json"
    if kept.exists():
        found = json.loads(kept.read_text())
        return [Span(alert, tuple(map(tuple, labels)), *times) for alert, labels, *times in found]
    series = notated(healthy(fleet.until, fleet.scrape), fleet)
    if share[0] == fleet.numbers[0]:
        for planted in fleet.planted:
            series |= notated(planted.series(fleet.scrape), fleet)
    for kind, number in share:
        series |= notated(group_series(fleet, kind, number), fleet)
    spans = firing(series, own, until=fleet.until, scrape=fleet.scrape, evaluation=fleet.scrape)
    kept.write_text(json.dumps([astuple(span) for span in spans]))
    return spans


def notated(series, fleet):
    """The series in the fleet's cluster, in promtool's notation: because a week of values would not fit into memory."""
    scrapes = fleet.until // fleet.scrape + 1
    return {name: notation(values, scrapes) for name, values in labelled(series, CLUSTER).items()}


def group_series(fleet, kind, number):
    """Series -> values by the number of the scrape."""
    plan = plan_of(fleet.plan, kind, number)
    tracker = Tracker(fleet.plan.cluster_id, may_be_empty=lambda _group: kind == NIGHTLY)
    group = ScrapedGroup(plan.name, tracker, fleet.plan.since_ms, fleet.scrape)
    observer = DescribedOnly(group) if kind == POLLED else group
    events = list(history(fleet.plan, plan.number, observer, plan, fleet.maintenance_of(kind, number)))
    series = group.series | callback_series(
        group.reports, fleet.plan.since_ms, fleet.scrape, fleet.until // fleet.scrape
    )
    series |= _baseline(fleet, plan.name, events)
    return series | (_polls(fleet, plan.name) if kind == GATEWAY else {})


def _baseline(fleet, name, events):
    """The 95th percentile of the group's own stalls, as the pipeline computes it from twenty stalls or more."""
    stalls = sorted(each.stall.lower_seconds for each in events if isinstance(each, GenerationEvent) and each.stall)
    if len(stalls) < 20:
        return {}
    value = stalls[-(-len(stalls) * 95 // 100) - 1]
    baseline = shown("kafka_rebalance_stall_baseline_seconds", value, value, 0, consumergroup=name, percentile="p95")
    return baseline(fleet.until, fleet.scrape)


def _polls(fleet, name):
    """The ages of a member's last poll(), as the gateway's telemetry exports them: up to a third of the limit."""
    client = {"consumergroup": name, "client_id": "client", "host": "/10.0.0.2"}
    age = shown("kafka_rebalance_member_client_last_poll_age_seconds", 0, lambda at: at // 60 % 100, 10**9, **client)
    limit = shown("kafka_rebalance_member_client_poll_limit_seconds", 300, 300, 0, **client)
    return age(fleet.until, fleet.scrape) | limit(fleet.until, fleet.scrape)
