"""Metrics that members' clients push to a gateway (gateway_telemetry), and their client libraries."""

from __future__ import annotations

from dashboards.members.queries import CLIENT, MEMBER, total
from dashboards.parts.panel import COUNT, Column, Look, Panel, above
from dashboards.parts.query import Query, gauge

__all__ = ["COMMITS", "IDLE", "LIBRARIES", "POLLS", "REBALANCES"]

PREFIX = "kafka_rebalance_member_client_"
HOST = ("consumergroup", "client_id", "host")
NAME = "{{consumergroup}} {{client_id}} {{host}}"
NOTHING = "no client pushes to a gateway"


def slowest(name: str, *by: str) -> str:
    """Return what each client measured as the longest."""
    return gauge(f"{PREFIX}{name}", f'{MEMBER}, stat="max"', *HOST, *by)


LIBRARIES = Panel(
    19,
    "Client libraries",
    "Which client libraries do members use, and which of them have trouble with rebalances? Library and version as "
    "clients report them to a gateway. The times, within the time range, are from clients that push telemetry to it; "
    "only Java clients count failed rebalances.",
    (
        Query(gauge(f"{PREFIX}info", MEMBER, *CLIENT, "host", "software", "version"), rows=True),
        Query(total(f"{PREFIX}rebalancing_seconds_total", *CLIENT, "host"), rows=True),
        Query(total(f"{PREFIX}failed_rebalances_total", *CLIENT, "host"), rows=True),
    ),
    Look.TABLE,
    width=24,
    empty="no gateway is scraped",
    sort_by=("Failed",),
    columns=(
        Column("cluster", "Cluster", width=80),
        Column("consumergroup", "Group"),
        Column("client_id", "Client id"),
        Column("host", "Host", width=120),
        Column("software", "Library"),
        Column("version", "Version", width=220),
        Column("Value #B", "In rebalances", "s", 0, width=130),
        Column("Value #C", "Failed", COUNT, 0, above(1), width=70),
    ),
)
REBALANCES = Panel(
    20,
    "Rebalances as clients measure them",
    "How long do a rebalance and its callbacks take, as clients measure them? The longest in the client's own "
    "window: since its last push for librdkafka, the last minute for Java. Callbacks: Java only.",
    (
        Query(slowest("rebalance_seconds"), f"{NAME} rebalance"),
        Query(slowest("callback_seconds", "callback"), f"{NAME} {{{{callback}}}}"),
    ),
    Look.DOTS,
    "s",
    width=12,
    thresholds=above(10, 60),
    empty=NOTHING,
)
POLLS = Panel(
    21,
    "Time between polls",
    "Do consumers call poll() too rarely? The longest time between two calls of poll() in the last "
    "minute, and the time since the last call when the client pushed (Java only). limit: the member's "
    "max.poll.interval.ms, beyond which it leaves its group.",
    (
        Query(slowest("poll_interval_seconds"), f"{NAME} between polls"),
        Query(gauge(f"{PREFIX}last_poll_age_seconds", MEMBER, *HOST), f"{NAME} since the last"),
        Query(f"min by ({', '.join(HOST)}) ({PREFIX}poll_limit_seconds{{{MEMBER}}})", f"{NAME} limit"),
    ),
    unit="s",
    width=12,
    thresholds=above(60, 240),
    empty=NOTHING,
)
IDLE = Panel(
    22,
    "Idle time of consumers",
    "Do consumers have time left? The share of time that a consumer spends in poll(): near 0, it only processes, and "
    "will be late for polls and rebalances first.",
    (Query(gauge(f"{PREFIX}poll_idle_ratio", MEMBER, *HOST), NAME),),
    unit="percentunit",
    width=12,
    empty=NOTHING,
)
COMMITS = Panel(
    23,
    "Time of commits",
    "How long do offset commits take? The longest in the client's own window. A slow commit in the revoked callback "
    "delays the whole group.",
    (Query(slowest("commit_seconds"), NAME),),
    Look.DOTS,
    "s",
    width=12,
    thresholds=above(1, 5),
    empty=NOTHING,
)
