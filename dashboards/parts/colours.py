"""Colours of names that occur on several boards: a name has the same colour everywhere."""

from __future__ import annotations

__all__ = ["DEPLOYS", "MOVES", "REASONS", "TRIGGERS"]

TRIGGERS = {
    "member_failed": "red",
    "member_gone": "orange",
    "rejoin": "yellow",
    "member_left": "dark-blue",
    "member_joined": "light-blue",
    "member_replaced": "purple",
    "group_started": "green",
    "subscription_changed": "dark-purple",
    "assignor_changed": "light-purple",
    "topics_changed": "dark-green",
    "partitions_changed": "light-green",
    "racks_changed": "super-light-green",
    "unknown": "#808080",
}
"""Warm colours need a look, blue and purple are usually deploys, green is growth of topics.

Triggers without a colour would get one of Grafana's palette, which begins with these: left would look like failed.
"""

REASONS = {
    "assign_error": "red",
    "too slow": "dark-red",
    "aborted": "orange",
    "follow-up": "purple",
    "no-op": "blue",
    "polled": "#808080",
}
"""Why a rebalance was for nothing."""

MOVES = {
    "needed": "blue",
    "needless": "orange",
    "revoked": "purple",
    "assigned": "green",
    "lost": "red",
}
"""Partitions that a rebalance moved."""

DEPLOYS = {
    "in a deploy": "purple",
    "otherwise": "orange",
}
"""Whether a rebalance belongs to a deploy."""
