"""Waits of members by callback and phase, and the number of callbacks."""

from __future__ import annotations

from dashboards.members.queries import CALLBACK, counted_worst, mean_worst, worst_of
from dashboards.parts.panel import Look, Panel, above
from dashboards.parts.query import GROUP, Query, mean_of

__all__ = ["CALLBACKS", "CALLS", "PHASES", "STALLS"]

PROCESS = ("consumergroup", "instance")
CALLBACKS = Panel(
    7,
    "Slowest callbacks",
    "How long do the application's rebalance callbacks take, and in which process? Each point is the mean since the "
    "previous point; the ten processes with the most time in callbacks are shown. A slow **revoked** callback delays "
    "the rebalance. A slow **assigned** callback delays only its own member. The **lost** callback runs after the "
    "member was removed from the group.",
    (
        Query(
            f"{mean_of(CALLBACK, GROUP, *PROCESS, 'callback')}{worst_of(f'{CALLBACK}_sum', *PROCESS)}",
            "{{consumergroup}} {{callback}} {{instance}}",
        ),
    ),
    Look.DOTS,
    "s",
    thresholds=above(1, 5),
    empty="no callbacks in this time range",
)
STALLS = Panel(
    8,
    "Stalls of members",
    "For how long does a member consume nothing in a rebalance? Each member measures the time from its revoked or "
    "lost callback to the end of its next assigned callback. Each point is the mean over the group's members since "
    "the previous point; the ten groups with the longest total stall are shown.",
    (mean_worst("kafka_rebalance_member_stall_seconds", "{{consumergroup}}", "consumergroup"),),
    Look.DOTS,
    "s",
    thresholds=above(10, 60),
    empty="no rebalances in this time range",
)
PHASES = Panel(
    9,
    "Stop, join, sync",
    "In which step do members wait? **stop**: from the notification of the rebalance to JoinGroup, a delay that the "
    "member itself causes (only gateways report it). **join**: waiting for the slowest other member. **sync**: "
    "waiting for the leader's assign(). Each point is the mean over the group's members since the previous point; "
    "for each step, the ten groups with the most time are shown.",
    tuple(
        mean_worst(f"kafka_rebalance_member_{phase}_seconds", f"{{{{consumergroup}}}} {phase}", "consumergroup")
        for phase in ("stop", "join", "sync")
    ),
    Look.DOTS,
    "s",
    thresholds=above(10, 60),
    empty="no rebalances in this time range",
)
CALLS = Panel(
    18,
    "Callbacks",
    "How often does each callback run? The ten callbacks that run most often are shown. Many lost callbacks mean that "
    "members are removed from their group.",
    (counted_worst(f"{CALLBACK}_count", "{{consumergroup}} {{callback}}", "consumergroup", "callback"),),
    Look.COUNTS,
    empty="no members report",
)
