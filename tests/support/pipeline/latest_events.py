"""Events as a reader keeps them."""

from __future__ import annotations


def latest(events):
    """Each event once, in its highest revision, in the order of first revisions, as in the table of events."""
    found = {}
    for each in events:
        if each.event_id not in found or found[each.event_id].revision < each.revision:
            found[each.event_id] = each
    return list(found.values())
