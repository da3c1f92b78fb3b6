"""The commands of ``rebalance-agent``."""

from __future__ import annotations

__all__ = ["COMMANDS"]

COMMANDS = {
    "assign": ("assign partitions to a group's members as an assignor would, and judge the result", ""),
    "check": ("check the agent's permissions and connections, and show how to get missing ones", "agent"),
    "completion": ("print a script that completes commands and flags in a shell", ""),
    "decode": ("print records of __consumer_offsets as JSON", "agent"),
    "demo": ("show real rebalances on an embedded Kafka", "demo"),
    "explain": ("explain why a group's last rebalances happened, and what they cost", "agent"),
    "gateway": (
        "run a proxy between consumers and brokers that gives clients of any language our assignors",
        "gateway",
    ),
    "migrate": ("show whether a group can change to the consumer protocol (KIP-848), and follow it", "agent"),
    "observe": ("watch a cluster's groups and export what their rebalances cost", "agent"),
    "pipeline": ("analyse the history of a fleet's rebalances on Spark", "pipeline"),
    "sidecar": ("receive rebalance events from the consumers of this pod, export and publish them", "agent"),
    "strategies": ("list the assignors with their guarantees and settings", ""),
    "verify": ("compare published events and counters with the coordinators' own log", "agent"),
    "watch": ("show groups and their rebalances, live", "watch"),
    "whatif": ("show what a group's rebalances would have cost with other assignors", "agent"),
}
"""Command -> its help text, and the extra that installs its packages (empty for none)."""
