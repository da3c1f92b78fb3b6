"""All that may wait in an observer fits into the memory limit of the chart, beside what it takes without groups."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import yaml

from rebalance_agent.api.history import HistoryLimits
from rebalance_agent.cluster import inbox, topic_reader
from rebalance_agent.http.connections.connection import Limits
from rebalance_agent.offsets_topic.snapshots import store
from rebalance_agent.offsets_topic.work_share import set_aside
from rebalance_agent.polls import member_events
from rebalance_agent.runtime.settings.roles import ObserverSettings
from rebalance_agent.runtime.sinks import pending_events, publisher
from rebalance_agent.tracking.evidence import kept_reports
from rebalance_agent.tracking.lag import kept_deliveries
from rebalance_agent.tracking.memory.state_budget import NEW_GROUPS_UP_TO

ROOT = Path(__file__).parents[3]

WITHOUT_GROUPS_MIB = 57
"""Measured memory of an observer of a cluster without groups (docs/operate.md)."""

KIB, MIB = 2**10, 2**20


def _queue(tuning: Mapping[str, str]) -> int:
    """The bytes of records that a consumer may have fetched."""
    return int(tuning["queued.max.messages.kbytes"]) * KIB


BOUNDS = {
    "records and polls to be processed": inbox.INBOX_BYTES_MAX,
    "reports to be processed": inbox.REPORTS_BYTES_MAX,
    "records of groups over their share": set_aside.ALL_BYTES_MAX,
    "members' reports": kept_reports.REPORT_BYTES_MAX,
    "gateways' deliveries": kept_deliveries.ALL_BYTES_MAX,
    "rebalances of the API": HistoryLimits().size_bytes,
    "events to be published": publisher.QUEUE_KILOBYTES_MAX * KIB,
    "posted events before the cluster answers": pending_events.HELD_BYTES_MAX,
    "records of snapshots to be covered": store.PENDING_BYTES_MAX,
    "records of snapshots to be written": store.QUEUE_KILOBYTES_MAX * KIB,
    "records of the offsets topic that were fetched": int(topic_reader.QUEUE_TUNING["queued.max.messages.kbytes"])
    * KIB,
    "members' events that were fetched": _queue(member_events.TUNING),
    "bodies of requests": Limits().bodies_bytes,
    "answers to requests": Limits().answers_bytes,
    "series of groups": ObserverSettings.model_fields["max_metrics_bytes"].default,
}


def test_all_that_may_wait_fits_into_the_memory_limit_of_the_chart():
    assert sum(BOUNDS.values()) / MIB + WITHOUT_GROUPS_MIB <= _limit_mib(), BOUNDS


def test_as_many_groups_as_are_tracked_fit_into_the_memory_limit_of_the_chart():
    """All that stays while groups do: their states, until new ones are refused, series, rebalances and reports."""
    states = NEW_GROUPS_UP_TO * ObserverSettings.model_fields["max_state_bytes"].default
    staying = (
        "series of groups",
        "rebalances of the API",
        "members' reports",
        "gateways' deliveries",
        "records and polls to be processed",
    )
    assert (states + sum(BOUNDS[each] for each in staying)) / MIB + WITHOUT_GROUPS_MIB <= _limit_mib()


def _limit_mib() -> int:
    values = yaml.safe_load((ROOT / "helm/rebalance-agent/values.yaml").read_text(encoding="utf-8"))
    limit = re.fullmatch(r"(\d+)Mi", values["observer"]["resources"]["limits"]["memory"])
    assert limit
    return int(limit[1])
