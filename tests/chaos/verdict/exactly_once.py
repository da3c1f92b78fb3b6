"""Compares the stream's tables with the topic it read: each event once, in its last revision."""

from __future__ import annotations

from collections import Counter, defaultdict

from rebalance_agent.model.event_json import event_from_json, json_object

SHOWN = 3


def unlike(rows, published):
    """Return differences between ``rows`` (id, revision, body) and the topic's events, each in its last revision."""
    best, bodies = {}, defaultdict(set)
    for value in published:
        event = event_from_json(json_object(value))
        best[event.event_id] = max(event.revision, best.get(event.event_id, 0))
        bodies[event.event_id, event.revision].add(value.decode())
    times = Counter(name for name, _, _ in rows)
    found = {
        "are there more than once": [name for name, count in times.items() if count > 1],
        "are not there": sorted(best.keys() - times.keys()),
        "are there, and were never published": sorted(times.keys() - best.keys()),
        "are not as they were published last": [
            name
            for name, revision, body in rows
            if name in best and (revision != best[name] or body not in bodies[name, revision])
        ],
    }
    return [f"{len(names)} events {what}, such as {names[:SHOWN]}" for what, names in found.items() if names]


def refused(values):
    """Check that no ``values`` were rejected, since the topic has nothing but events."""
    return [f"{len(values)} records were refused, such as {values[0][:200]!r}"] if values else []
