"""The commands of ``rebalance-agent``."""

from __future__ import annotations

__all__ = ["COMMANDS"]

COMMANDS = {
    "assign": ("compute an assignor's assignment for a group, and measure its quality", ""),
    "check": ("check the agent's connections and permissions, and show how to grant missing permissions", "agent"),
    "completion": ("print a script that completes commands and flags in a shell", ""),
    "decode": ("print records of __consumer_offsets as JSON", "agent"),
    "demo": ("show real rebalances on an embedded Kafka", "demo"),
    "explain": ("explain why a group's last rebalances happened, and what they cost", "agent"),
    "gateway": (
        "run a proxy that gives consumers in any language the assignors of this library",
        "gateway",
    ),
    "migrate": (
        "show whether a group can migrate to the consumer protocol (KIP-848), and follow the migration",
        "agent",
    ),
    "observe": ("watch a cluster's consumer groups and export the cost of their rebalances", "agent"),
    "pipeline": ("analyse the rebalance history of all groups with Spark", "pipeline"),
    "sidecar": ("receive rebalance events from this pod's consumers, export metrics and publish the events", "agent"),
    "strategies": ("list the assignors with their guarantees and settings", ""),
    "verify": ("compare published events and counters with the coordinators' own log", "agent"),
    "watch": ("show groups and their rebalances, live", "watch"),
    "whatif": ("show what a group's rebalances would have cost with other assignors", "agent"),
}
"""Command -> its help text and the extra that installs its packages (empty if it needs no extra)."""
