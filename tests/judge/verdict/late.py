"""Finds the times whose records compaction may have removed before an observer read them."""

from __future__ import annotations

import json
from bisect import bisect_left

READ_AGAIN_MS = 60_000
"""Longest time from a snapshot to the last event after it that was written: a restarted observer reads again what it
cannot have published."""


def read_late(name, folder, without_brokers):
    """Return (from, to, survivors) of times whose records this observer may have read too late.

    In these times it, or brokers, were away. ``without_brokers``: the times of `unreadable`. A record becomes readable
    when the other replicas have it; fast compaction may come first. A restarted observer reads between two lists of
    survivors: it must have read the records that are in both.
    """
    found, since, left, last = list(without_brokers), None, None, None
    # `chaos` writes events without times.
    published = sorted(row["timestamp"] for row in folder.events(name) if "timestamp" in row)
    for act in folder.acts:
        if act["do"] == "survivors":
            left = _survivors(folder, act["file"])
            if last is not None:
                found[last] = (*found[last][:2], _both(found[last][2], left))
                last = None
        if act.get("observer") != name:
            continue
        if act["do"] == "observer killed":
            # While brokers accepted no event, it wrote no snapshot, and what it had read was lost with it.
            index = bisect_left(published, act["at"])
            since, left = published[index - 1] if index else act["at"], None
        elif act["do"] == "observer ready" and since is not None:
            last = len(found)
            found.append((since - READ_AGAIN_MS, act["at"], left))
            since = None
    return found


def _both(earlier, later):
    return later if earlier is None else earlier if later is None else earlier & later


def unreadable(folder):
    """Return (from, to, survivors) of times without brokers that began while `play.brokers` had records compacted.

    Survivors are those of the moment when the brokers were back.
    """
    found, compacted, killed, back = [], None, None, None
    for act in folder.acts:
        if act["do"] == "observer killed":
            compacted = act["at"]
        elif act["do"] == "observer started":
            compacted = None
        elif act["do"] == "broker killed" and killed is None:
            killed = act["at"]
        elif act["do"] == "brokers back":
            back = (killed, act["at"]) if None not in (compacted, killed) and killed >= compacted else None
            killed = None
        elif act["do"] == "survivors" and back is not None:
            if (left := _survivors(folder, act["file"])) is not None:
                found.append((*back, left))
            back = None
    return found


def _survivors(folder, file):
    left = json.loads(folder.text(file) or "null")
    return None if left is None else set(left)
