"""The order in which waiting groups may cause work: fair queueing. Pure.

While there is more work than time, every group with waiting records gets the same amount of work, however large or many
its records are. A group that causes little work is therefore next, and small records come before large ones. Any number
of groups can be created, so new groups get half of the time together. Every second new group is the one that came last,
so a group that comes after a flood of groups does not wait for all of them.

Each record of a known group has a start tag, the work of its group so far, and is processed in the order of its finish
tag, the start tag plus its own work. A group that did not wait starts where the others are. Sources: Demers, Keshav,
Shenker, "Analysis and Simulation of a Fair Queueing Algorithm" (SIGCOMM 1989); Goyal, Vin, Cheng, "Start-time Fair
Queuing" (SIGCOMM 1996).
"""

from __future__ import annotations

import heapq
import itertools

__all__ = ["Turns"]


class Turns:
    """The groups (by name) whose next record may be processed. A group is added again for each further record."""

    def __init__(self) -> None:
        """Start without groups."""
        self._known: list[tuple[float, int, bytes, float]] = []  # finish tag, number, group, start tag: a heap
        self._numbers = itertools.count()
        self._tag = self._last_tag = 0.0  # the largest start tag of a processed record, and the largest of a next one
        self._tags: dict[bytes, float] = {}  # the start tag of each group's next record, if it is larger
        self._new: dict[bytes, None] = {}  # in the order in which they were added
        self._unseen: dict[bytes, None] = {}  # new groups of which no record was processed
        self._newest_next = True
        self._new_ahead = 0.0  # seconds of work of new groups beyond that of others, while both kinds wait
        self._contested = self._popped_new = False

    def __len__(self) -> int:
        """The number of groups."""
        return len(self._known) + len(self._new)

    def add(self, group: bytes, seconds: float, *, new: bool, seen: bool) -> None:
        """Add a group that is not contained. ``seconds``: an estimate of the work of its next record.

        ``seen``: one of its records was processed.
        """
        if not new:
            start = max(self._tag, self._tags.get(group, 0.0))
            heapq.heappush(self._known, (start + seconds, next(self._numbers), group, start))
            return
        self._new[group] = None
        if not seen:
            self._unseen[group] = None

    def pop(self) -> bytes:
        """Remove and return the next group; IndexError if there is none."""
        self._contested = bool(self._known) and bool(self._new)
        self._popped_new = not self._known or (self._contested and self._new_ahead < 0)
        if not self._popped_new:
            _, _, group, start = heapq.heappop(self._known)
            self._tag = max(self._tag, start)
            self._tags[group] = start
            return group
        group = next(reversed(self._unseen)) if self._newest_next and self._unseen else next(iter(self._new))
        self._newest_next = not self._newest_next
        del self._new[group]
        self._unseen.pop(group, None)
        return group

    def spend(self, group: bytes, seconds: float) -> None:
        """Record the estimated work (seconds) of the group that `pop` returned last."""
        self._new_ahead += (seconds if self._popped_new else -seconds) if self._contested else -self._new_ahead
        if not self._popped_new:
            self._tags[group] += seconds
            self._last_tag = max(self._last_tag, self._tags[group])

    def reset(self) -> None:
        """Forget the work of the past: no group waits any more."""
        self._tags.clear()
        self._tag = self._last_tag
        self._new_ahead = 0.0
