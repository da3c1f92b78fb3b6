"""Metrics that members' clients push to a gateway (gateway_telemetry), and their client libraries."""

from __future__ import annotations

from dashboards.members.queries import CLIENT, MEMBER, highest_worst, total
from dashboards.parts.panel import COUNT, Column, Look, Panel, above
from dashboards.parts.query import Query, gauge, was_highest, worst

__all__ = ["COMMITS", "IDLE", "LIBRARIES", "POLLS", "REBALANCES"]

PREFIX = "kafka_rebalance_member_client_"
HOST = ("consumergroup", "client_id", "host")
NAME = "{{consumergroup}} {{client_id}} {{host}}"
AGE = f"{PREFIX}last_poll_age_seconds"
IDLE_RATIO = f"{PREFIX}poll_idle_ratio"
LOWEST = f"min_over_time({IDLE_RATIO}{{{MEMBER}}}[$__range] @ end())"
LIMIT = f"{PREFIX}poll_limit_seconds"
LATEST_POLLS = f"{was_highest(AGE, MEMBER, *HOST)} or 0 * {was_highest(LIMIT, MEMBER, *HOST)}"
"""A ranking of clients by the time since their last call to poll(); clients that do not push this metric come last."""

NOTHING = "no client pushes telemetry to a gateway"


def slowest(name: str, legend: str, *by: str) -> Query:
    """Return the longest times that clients measured, for the ten clients with the highest values."""
    metric, matchers = f"{PREFIX}{name}", f'{MEMBER}, stat="max"'
    return highest_worst(metric, matchers, gauge(metric, matchers, *HOST, *by), legend, *HOST)


LIBRARIES = Panel(
    19,
    "Client libraries",
    "Which client libraries do members use, and which libraries have problems with rebalances? Clients report their "
    "library and version to a gateway. **In rebalances**: time spent in rebalances, only for clients that push "
    "telemetry to the gateway. **Failed**: failed rebalances, which only Java clients count.",
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
    "Rebalances measured by clients",
    "How long do rebalances and their callbacks take, as measured by clients? Each value is the longest time in the "
    "client's own window. For librdkafka, the window begins at the client's previous push; for Java, it is the last "
    "minute. Only Java clients measure callbacks. The ten slowest clients are shown.",
    (
        slowest("rebalance_seconds", f"{NAME} rebalance"),
        slowest("callback_seconds", f"{NAME} {{{{callback}}}}", "callback"),
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
    "Do consumers call poll() too rarely? **between polls**: the longest time between two calls to poll() in the "
    "last minute. **since the last**: time from the last call to the client's push of this value. Only Java clients "
    "push these two times. **limit**: the member's max.poll.interval.ms; a member that does not call poll() for "
    "longer leaves its group. The ten slowest clients are shown.",
    (
        slowest("poll_interval_seconds", f"{NAME} between polls"),
        highest_worst(AGE, MEMBER, gauge(AGE, MEMBER, *HOST), f"{NAME} since the last", *HOST),
        Query(worst(10, f"min by ({', '.join(HOST)}) ({LIMIT}{{{MEMBER}}})", LATEST_POLLS, *HOST), f"{NAME} limit"),
    ),
    unit="s",
    width=12,
    thresholds=above(60, 240),
    empty=NOTHING,
)
IDLE = Panel(
    22,
    "Idle time of consumers",
    "Do consumers have spare time? Each line is the share of its time that a consumer spends in poll(). A consumer "
    "near 0 is always processing, so it is likely to poll late and to rejoin late. The ten consumers with the lowest "
    "share are shown.",
    (Query(worst(10, gauge(IDLE_RATIO, MEMBER, *HOST), f"-min by ({', '.join(HOST)}) ({LOWEST})", *HOST), NAME),),
    unit="percentunit",
    width=12,
    empty=NOTHING,
)
COMMITS = Panel(
    23,
    "Duration of commits",
    "How long do offset commits take? Each value is the longest time in the client's window. The ten slowest clients "
    "are shown. A slow commit in the revoked callback delays the rebalance.",
    (slowest("commit_seconds", NAME),),
    Look.DOTS,
    "s",
    width=12,
    thresholds=above(1, 5),
    empty=NOTHING,
)
