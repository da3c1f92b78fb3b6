"""A group's counters as numbers that can be compared."""

from __future__ import annotations

from dataclasses import fields

from rebalance_agent.tracking.views import StallHistogram


def numbers_of(counters):
    """(counter, key), or the counter's name -> a tuple of its numbers."""
    flat = {}
    for each in fields(counters):
        value = getattr(counters, each.name)
        if isinstance(value, dict):
            for key, item in value.items():
                flat[each.name, key] = item if isinstance(item, int) else (*item.counts, item.sum_seconds)
        elif isinstance(value, StallHistogram):
            flat[each.name] = (*value.counts, value.sum_seconds)
        else:
            # None: not counted yet.
            flat[each.name] = value or 0
    return {key: value if isinstance(value, tuple) else (value,) for key, value in flat.items()}
