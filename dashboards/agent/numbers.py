"""The numbers at the top of the Agent board."""

from __future__ import annotations

from dashboards.agent.queries import TARGET, in_all
from dashboards.parts.panel import Look, Panel, above
from dashboards.parts.query import ROLE, Query

__all__ = ["NUMBERS"]

NUMBERS = (
    Panel(
        1,
        "Agents down",
        "How many agents does Prometheus fail to scrape? Their groups are missing on the other boards.",
        (Query(f"sum(up{{{TARGET}}} == bool 0)", now=True),),
        Look.NUMBER,
        width=4,
        thresholds=above(bad=1),
        empty="no agents are scrape targets",
    ),
    Panel(
        2,
        "Not ready",
        "How many parts of agents are not ready? The panel Readiness by part shows these parts.",
        (Query(f"sum(rebalance_agent_ready{{{ROLE}}} == bool 0)", now=True),),
        Look.NUMBER,
        width=4,
        thresholds=above(bad=1),
        empty="no agents respond",
    ),
    Panel(
        3,
        "Degraded",
        "How many degraded modes are active because of missing permissions? The panel Degraded modes shows these "
        "modes; docs/reference/rights.md has the commands that grant the permissions.",
        (Query(f"sum(rebalance_agent_degraded{{{ROLE}}})", now=True),),
        Look.NUMBER,
        width=4,
        thresholds=above(1),
        empty="no agents respond",
    ),
    Panel(
        4,
        "Tail lag",
        "Does the observer keep up with the offsets topic? The value is the number of records that the observer has "
        "not read yet. The boards do not yet show the changes in these records.",
        (Query(f"max(rebalance_agent_tail_lag_records{{{ROLE}}})", now=True),),
        Look.NUMBER,
        width=4,
        thresholds=above(1_000, 100_000),
        decimals=0,
        empty="no observer reads the topic",
    ),
    Panel(
        5,
        "Events lost",
        "Were events lost in the time range? If events were lost, the history of events has gaps. Metrics are not "
        "affected.",
        (Query(in_all("rebalance_agent_events_dropped_total"), now=True),),
        Look.NUMBER,
        width=4,
        thresholds=above(bad=1),
        decimals=0,
        empty="no agents respond",
    ),
    Panel(
        6,
        "Not decoded",
        "How many records could not be decoded in the time range? Report one of them, with the output of "
        "rebalance-agent decode.",
        (Query(in_all("rebalance_agent_decode_errors_total"), now=True),),
        Look.NUMBER,
        width=4,
        thresholds=above(bad=1),
        decimals=0,
        empty="no observer reads the topic",
    ),
)
