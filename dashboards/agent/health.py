"""The panels on agents and the health of their parts."""

from __future__ import annotations

from dashboards.agent.queries import highest
from dashboards.parts.panel import BAD, GOOD, Column, Look, Panel
from dashboards.parts.query import ROLE, Query

__all__ = ["BUILDS", "DEGRADED", "NO", "READY", "SHARE"]

NO = {"0": ("no", BAD), "1": ("yes", GOOD)}
READY = Panel(
    7,
    "Readiness by part",
    "When was each part of each agent ready? Red means not ready; the agent's /readyz shows the cause.",
    (Query(f"min by (instance, part) (rebalance_agent_ready{{{ROLE}}})", "{{instance}} {{part}}"),),
    Look.STATES,
    "bool_yes_no",
    width=10,
    least=None,
    mappings=NO,
    empty="no agents respond",
)
BUILDS = Panel(
    8,
    "Agents",
    "Which version does each agent run, and is the agent configured? If Configured is no for an observer, it has no "
    "bootstrap servers and does nothing. If Configured is no for a sidecar or a gateway, it has no bootstrap servers "
    "or publishes no events, but it exports metrics.",
    (
        Query(
            f"max by (job, instance, role, version, python) (rebalance_agent_build_info{{{ROLE}}})",
            rows=True,
        ),
        Query(f"max by (job, instance) (rebalance_agent_configured{{{ROLE}}})", rows=True),
    ),
    Look.TABLE,
    width=14,
    empty="no agents respond",
    columns=(
        Column("role", "Role", width=85),
        Column("job", "Job"),
        Column("instance", "Instance"),
        Column("version", "Version", width=80),
        Column("python", "Python", width=70),
        Column("Value #B", "Configured", "bool_yes_no", None, ((None, BAD), (1, GOOD)), width=100),
    ),
)
DEGRADED = Panel(
    9,
    "Degraded modes",
    "Which degraded modes are active because of missing permissions, and since when? A line at 1 is an active mode.",
    (Query(f"{highest('rebalance_agent_degraded', 'mode')} > 0", "{{instance}} {{mode}}"),),
    width=12,
    empty="no degraded modes",
    decimals=0,
)
SHARE = Panel(
    19,
    "Limits and shares",
    "Does an agent reach its limits? **owns partitions**: partitions of the offsets topic whose groups this agent "
    "exports; each partition needs an owner. **series folded**: series that are combined into one series. **names "
    "shortened**: names that are too long for a label. **groups without series**: groups that are left out because "
    "the metrics page is full. **without lag**: partitions whose lag is not read because there are too many.",
    (
        Query(highest("rebalance_agent_owned_partitions"), "{{instance}} owns partitions"),
        Query(highest("rebalance_agent_series_folded"), "{{instance}} series folded"),
        Query(highest("rebalance_agent_names_shortened"), "{{instance}} names shortened"),
        Query(highest("rebalance_agent_groups_left_out"), "{{instance}} groups without series"),
        Query(highest("rebalance_agent_loads_left_out_partitions"), "{{instance}} without lag"),
    ),
    decimals=0,
    width=12,
    empty="no agents respond",
)
