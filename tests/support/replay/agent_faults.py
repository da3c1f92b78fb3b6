"""Planted faults of the agent itself: one for each alert of ``alerts/agent.py``."""

from __future__ import annotations

from support.replay.fault import FROM, of_series, shown

__all__ = ["AGENT_FAULTS", "healthy"]

HOUR = 3600
JOB = {"job": "kafka-rebalance-agent"}
OBSERVER = {**JOB, "instance": "observer:29308"}
OVER = FROM + 1800


def healthy(until, scrape):
    """An observer's own series without a fault, as far as rules read them."""
    series = {}
    for each in (
        shown("rebalance_agent_build_info", 1, 1, FROM, role="observer", **OBSERVER),
        shown("rebalance_agent_ready", 1, 1, FROM, part="tail", **OBSERVER),
        shown("rebalance_agent_owned_partitions", 50, 50, FROM, **OBSERVER),
    ):
        series |= each(until, scrape)
    hours = {number: number * scrape // HOUR * HOUR for number in range(until // scrape + 1)}
    name = shown("rebalance_agent_last_snapshot_timestamp_seconds", 1, 1, FROM, **OBSERVER)
    return series | dict.fromkeys(name(0, 1), hours)


def _fault(alert, what, *more, due=FROM, over=OVER):
    return of_series(alert, what, due, over, healthy, *more)


AGENT_FAULTS = (
    _fault(
        "RebalanceAgentDown",
        "the only observer of a cluster is down for 30 min",
        shown("rebalance_agent_build_info", 1, None, OVER, role="observer", **OBSERVER),
    ),
    _fault(
        "RebalanceAgentBlind",
        "the observer cannot connect to the broker to read the offsets topic, for 30 min",
        shown("rebalance_agent_ready", 1, 0, OVER, part="tail", **OBSERVER),
    ),
    _fault(
        "RebalanceAgentUndecodable",
        "a record cannot be decoded",
        shown("rebalance_agent_decode_errors_total", 0, 1, 10**9, key_version="9", **JOB),
        over=FROM,
    ),
    _fault(
        "RebalanceAgentDegraded",
        "the observer has no permission to read the offsets topic, for 30 min",
        shown("rebalance_agent_degraded", 0, 1, OVER, mode="admin-only", **JOB),
    ),
    _fault(
        "RebalanceAgentDroppingEvents",
        "a sidecar cannot send 5 events",
        shown("rebalance_agent_events_dropped_total", 0, 5, 10**9, where="sidecar", **JOB),
        over=FROM,
    ),
    _fault(
        "RebalanceAgentSnapshotOld",
        "the observer writes no snapshot for 150 min",
        shown(
            "rebalance_agent_last_snapshot_timestamp_seconds",
            FROM,
            lambda seconds: FROM + seconds // 9000 * 9000,
            10**9,
            **OBSERVER,
        ),
        due=FROM + 2 * HOUR,
        over=FROM + 9000,
    ),
    _fault(
        "RebalanceAgentTenantOverBudget",
        "a group exceeds its share of the observer, and its records have to wait, for 30 min",
        shown("rebalance_agent_group_over_budget", 0, 1, OVER, consumergroup="orders", **JOB),
    ),
    _fault(
        "RebalanceAgentGatewayActsWrong",
        "a group rebalances after each of three handovers of seats, and its gateway restarts 30 min later",
        shown("rebalance_agent_gateway_seats_wrong_groups", 0, 1, OVER, instance="sidecar:29310", **JOB),
    ),
)
