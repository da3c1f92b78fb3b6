"""The explanation of ``explain_rules`` as fields, for programs."""

from __future__ import annotations

from rebalance_agent.gateway.explain_rules import rewrite_obstacle, seat_seconds
from rebalance_agent.gateway.group_rules import Rule
from rebalance_agent.gateway.past.past_seats import PastSeats
from rebalance_agent.gateway.seat_rules import SeatRule
from rebalance_agent.model.partitions import count_partitions
from rebalance_agent.tracking.observations import DescribedGroup

__all__ = ["EXPLAINED_COLUMNS", "explained_fields"]

EXPLAINED_COLUMNS = (
    *("group", "unknown", "now.type", "now.state", "now.assignor", "now.members"),
    *("rule.text", "rule.strategy", "rule.protocol", "rule.obstacle"),
    *("seats.text", "seats.mode", "seats.hold_seconds", "seats.keep_seconds", "seats.between_gateways"),
    *("past.source", "past.unknown", "past.first_ms", "past.rebalances", "past.avoided", "past.avoided_generations"),
    *("past.stalled_partition_seconds", "past.vacant_partition_seconds"),
    *("past.merged", "past.merged_stalled_partition_seconds", "past.waited_seconds"),
)
"""The columns of CSV."""


def explained_fields(
    group: str,
    rule: Rule | None,
    seats: SeatRule | None,
    now: DescribedGroup | None,
    past: PastSeats | None,
    *,
    unknown: str = "",
    past_source: str = "",
) -> dict[str, object]:
    """Return the group's state (``now``), its rules, and what the rule for seats would have avoided, ready for JSON.

    ``unknown``: why the group's state is not known. ``past``: None if no rule for seats matches, or if the past cannot
    be read. ``past_source``: the source of the recorded past, or why it cannot be read.
    """
    return {
        "group": group,
        "unknown": unknown or None,
        "now": _state(now) if now else None,
        "rule": _rule(rule, now) if rule else None,
        "seats": _seats(seats, now) if seats else None,
        "past": _past(past, past_source) if past_source else None,
    }


def _state(now: DescribedGroup) -> dict[str, object]:
    assignments = [
        {
            "client_id": member.client_id,
            "instance_id": member.instance_id,
            "host": member.host,
            "partitions": count_partitions(member.assigned or {}),
        }
        for member in now.members
    ]
    return {
        "type": str(now.group_type),
        "state": str(now.state),
        "assignor": now.assignor,
        "members": len(now.members),
        "assignments": assignments,
    }


def _rule(rule: Rule, now: DescribedGroup | None) -> dict[str, object]:
    return {
        "text": str(rule),
        "strategy": rule.strategy.name,
        "protocol": str(rule.strategy.protocol),
        "settings": {each.name: rule.config.get(each.name, each.default) for each in rule.strategy.config},
        "obstacle": (rewrite_obstacle(rule, now) or None) if now else None,
    }


def _seats(rule: SeatRule, now: DescribedGroup | None) -> dict[str, object]:
    hold_seconds, keep_seconds = seat_seconds(rule, now)
    return {
        "text": str(rule),
        "mode": str(rule.mode),
        "hold_seconds": hold_seconds,
        "keep_seconds": keep_seconds,
        "between_gateways": str(rule.between),
    }


def _past(past: PastSeats | None, source: str) -> dict[str, object]:
    if past is None:
        return {"unknown": source}
    return {
        "source": source,
        "first_ms": past.first_ms,
        "rebalances": past.rebalances,
        "avoided": past.spared,
        "avoided_generations": past.generations,
        "stalled_partition_seconds": past.stalled_partition_seconds,
        "vacant_partition_seconds": past.vacant_partition_seconds,
        "merged": past.admissions.merged,
        "merged_stalled_partition_seconds": past.admissions.stalled_partition_seconds,
        "waited_seconds": past.admissions.waited_seconds,
    }
