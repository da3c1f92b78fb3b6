"""Colours of names in legends: a name has the same colour on every board."""

from __future__ import annotations

__all__ = ["DEPLOYS", "GATEWAYS", "MEMBERSHIP", "MOVES", "REASONS", "STALLED", "TASKS", "TRIGGERS", "WAITS"]

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
"""Warm colours: investigate. Blue and purple: usually a deploy. Green: topics that grow.

Without a colour here, a trigger would get one of Grafana's palette, which begins with the same colours: member_left
could look like member_failed.
"""

REASONS = {
    "assign_error": "red",
    "too slow": "dark-red",
    "aborted": "orange",
    "follow-up": "purple",
    "no-op": "blue",
    "polled": "#808080",
}
"""Why a rebalance failed, repeated or changed nothing."""

MOVES = {
    "needed": "blue",
    "excess": "orange",
    "revoked": "purple",
    "assigned": "green",
    "lost": "red",
}
"""Partitions that a rebalance moved."""

DEPLOYS = {
    "in a deploy": "purple",
    "other": "orange",
}
"""Whether a rebalance belongs to a deploy."""

STALLED = {
    "stalled": "red",
    "at most": "orange",
    "no owner, empty": "yellow",
    "no owner, unassigned": "dark-red",
    "two owners": "purple",
    "catching up": "green",
    "subscribed": "blue",
}
"""Partitions that no member reads, and the reasons."""

MEMBERSHIP = {
    "members": "blue",
    "static": "light-blue",
    "idle": "orange",
    "flapping": "red",
    "deploy": "purple",
}
"""Members of a group, and whether they are being replaced."""

TASKS = {
    "active tasks": "green",
    "standby tasks": "light-green",
    "warmup tasks": "yellow",
}
"""The tasks of a streams group."""

WAITS = {
    "without members": "red",
    "lag": "blue",
    "no progress": "orange",
    "catch-up": "green",
}
"""What records wait for."""

GATEWAYS = {
    "open": "blue",
    "opened per second": "light-blue",
    "brokers": "green",
    "brokers shut": "red",
}
"""Connections of gateways, and brokers that clients reach or cannot reach through them."""
