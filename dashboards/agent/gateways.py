"""The panels on gateways: connections, delays, strategies and seats."""

from __future__ import annotations

from dashboards.agent.queries import counted, highest, rate
from dashboards.parts import colours
from dashboards.parts.panel import Look, Panel, above
from dashboards.parts.query import ROLE, Query, quantile

__all__ = ["CONNECTIONS", "COST", "DELAY", "FRAMES", "SEATS", "VACANT"]

CONNECTIONS = Panel(
    20,
    "Gateways: connections",
    "How many connections do gateways have, and are they stable? If many connections are opened per second, a client "
    "reconnects repeatedly. **brokers shut**: brokers that clients cannot reach through the gateway.",
    (
        Query(f"sum(rebalance_agent_gateway_connections{{{ROLE}}})", "open"),
        rate("rebalance_agent_gateway_connections_opened_total", "opened per second"),
        Query(f"max(rebalance_agent_gateway_brokers{{{ROLE}}})", "brokers"),
        Query(f"sum(rebalance_agent_gateway_brokers_shut{{{ROLE}}})", "brokers shut"),
    ),
    empty="no gateway is scraped",
    colours=colours.GATEWAYS,
)
DELAY = Panel(
    21,
    "Gateways: added delay (p99)",
    "How much latency do gateways add? **pass**: frames that are forwarded without parsing. **read**: frames that "
    "are parsed, by API.",
    (
        Query(
            f"{quantile(0.99, 'rebalance_agent_gateway_pass_seconds', ROLE, 'direction')} >= 0", "pass {{direction}}"
        ),
        Query(f"{quantile(0.99, 'rebalance_agent_gateway_read_seconds', ROLE, 'api')} >= 0", "read {{api}}"),
    ),
    unit="s",
    thresholds=above(0.01, 0.1),
    empty="no gateway is scraped",
)
FRAMES = Panel(
    23,
    "Gateways: strategy outcomes",
    "Do groups use the strategy of their gateway? **assigned**: the strategy computed the assignment. "
    "**not_chosen**: the group used another assignor, because a member without a gateway does not offer the "
    "strategy. **misfit**: the strategy is eager and the client is cooperative, or the reverse. **foreign**: the "
    "client does not use assignors of consumers. **failed**: the client's frame was forwarded unchanged.",
    (counted("rebalance_agent_gateway_group_frames_total", "{{outcome}}", "outcome"),),
    Look.COUNTS,
    empty="none in this time range",
    colours={"assigned": "green", "assign_failed": "red", "failed": "red"},
)
SEATS = Panel(
    22,
    "Gateways: seats",
    "What do gateways do with seats, and how many rebalances does that avoid (lower bound)? **predicted** and "
    "**observe**: what mode 'on' would do. **refused**: the coordinator refused the act, which is harmless. "
    "**failed**: an error, which the gateway's log contains. **right, wrong, unknown**: whether an act had the "
    "expected effect. docs/reference/seats.md explains each act.",
    (
        counted("rebalance_agent_gateway_seats_rebalances_spared_total", "rebalances avoided, {{mode}}", "mode"),
        counted("rebalance_agent_gateway_acts_total", "{{act}} {{outcome}}", "act", "outcome"),
    ),
    Look.COUNTS,
    empty="no groups have seats",
    colours={"rebalances avoided, on": "green", "handover wrong": "red", "admit wrong": "red"},
)
COST = Panel(
    24,
    "Gateways: cost and benefit of seats",
    "How many partition-seconds of stall do vacant seats cost (upper bound)? **vacant**: time without a consumer, "
    "multiplied by the seat's partitions, counted when the seat is taken or given up; in mode 'observe', the cost "
    "that mode 'on' would have had. **saved after kills**: partition-seconds of stall that were avoided, because "
    "partitions of killed consumers became available before the session would have ended (lower bound). **newcomers "
    "waited**: how long new consumers waited before they joined together; in mode 'observe', the wait that mode 'on' "
    "would have caused.",
    (
        counted("rebalance_agent_gateway_seats_partition_seconds_total", "vacant, {{mode}}", "mode"),
        counted("rebalance_agent_gateway_seats_spared_partition_seconds_total", "saved after kills"),
        counted("rebalance_agent_gateway_seats_waited_seconds_total", "newcomers waited, {{mode}}", "mode"),
    ),
    Look.COUNTS,
    "s",
    empty="no groups have seats",
    colours={"saved after kills": "green"},
)
VACANT = Panel(
    25,
    "Gateways: waiting",
    "Is anything waiting now? **vacant seats**: seats without a consumer that the gateway keeps. **JoinGroups "
    "held**: JoinGroups, and in KIP-848 groups first heartbeats, that the gateway holds until an old consumer leaves "
    "or until the next time at which new consumers join together. **switched off**: a file switches all seats off, "
    "so nothing waits. **groups with seats stopped**: groups that the gateway only observes after three wrong acts "
    "in a row; nothing waits in these groups.",
    (
        Query(highest("rebalance_agent_gateway_seats_vacant"), "{{instance}} vacant seats"),
        Query(highest("rebalance_agent_gateway_seats_held_joins"), "{{instance}} JoinGroups held"),
        Query(f"{highest('rebalance_agent_gateway_seats_switched_off')} > 0", "{{instance}} switched off"),
        Query(f"{highest('rebalance_agent_gateway_seats_wrong_groups')} > 0", "{{instance}} groups with seats stopped"),
    ),
    decimals=0,
    empty="no groups have seats",
)
