"""Compares an observer's closed episodes with the truth: the stalls that each ends, and the kind of change."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

from judge.evidence.process import FOREVER

BROKER_FAULTS = ("coordinator killed", "leaders moved", "outage")
DAY_MS = 86_400_000
AFTER_FAULT_MS, AFTER_ROLLING_MS = 12_000, 8_000
FIRST_COMMIT_MS = 6_000
"""Longest time from the record to all groups' first commits here, unless brokers are away. Bounds last until then."""

REASONS = {"killed": "kill", "stopped": "zombie", "busy": "kick", "new": "new partitions", "empty": "group start"}
CHANGES = {
    "start": "start",
    "close": "clean leave",
    "kill": "kill",
    "stop": "zombie",
    "busy": "kick",
    "slow": None,
    "subscribe": "subscription",
    "partitions": "new partitions",
    "topic": "new partitions",
}


@dataclass
class Episode:
    """One event that closes an episode. ``open``: spans that began before it and continue after it.

    ``stale``: a member processes partitions that the records gave to another, or never got those that they gave to it:
    its lines do not show how long these were stalled.
    """

    reported: object
    since: float
    spans: list = field(default_factory=list)
    open: list = field(default_factory=list)
    kind: str = ""
    stale: bool = False

    @property
    def unsure(self):
        """Whether the members' lines do not show what happened."""
        return any(span.unsure for span in self.spans)

    @property
    def longest(self):
        """The longest span; None without any."""
        return max(self.spans, key=lambda span: span.longest_s, default=None)

    @property
    def real_least_s(self):
        """The lower bound of the longest stall of a partition."""
        return max((span.shortest_s for span in self.spans), default=0.0)

    @property
    def real_most_s(self):
        """The upper bound of the longest stall of a partition."""
        return max((span.longest_s for span in self.spans), default=0.0)

    @property
    def to_the_record_s(self):
        """The stall up to the record that gave the partition, instead of the callback after it."""
        return max((max(0.0, (span.given or span.until) - span.stop_last) / 1000 for span in self.spans), default=0.0)

    @property
    def ever_s(self):
        """The longest stall that touches the episode, even if it ends later."""
        return max([self.real_most_s, *((self._end(span) - span.earliest) / 1000 for span in self.open)])

    @property
    def covered_s(self):
        """The longest stall that the upper bound covers, including stalls that end after the episode."""
        upper_s = self.reported.upper_s or 0.0
        ended = ((span.until - span.earliest) / 1000 for span in self.open if span.until is not FOREVER)
        return max([self.real_most_s, *(stall_s for stall_s in ended if stall_s <= upper_s)])

    def _end(self, span):
        """Return the end of an open span; one that never ends lasts for a day here."""
        return span.until if span.until is not FOREVER else self.reported.at_ms + DAY_MS


def episodes(events, spans, acts, group, unreported=()):
    """Return the episodes of one group, from the events that one observer published about it.

    ``unreported``: times of generations without an event. Partitions that these gave are no part of the next one.
    """
    closing = sorted(
        (each for each in events if each.closes and each.kind == "generation"), key=lambda each: each.at_ms
    )
    found = [Episode(each, since) for each, since in zip(closing, [0, *(e.at_ms for e in closing)], strict=False)]
    times = [each.at_ms for each in closing]
    for span in spans:
        if span.outside:
            continue
        index = _closed_by(span, times)
        if index < len(found) and not _of_another(span, found[index], unreported):
            found[index].spans.append(span)
        for number, episode in enumerate(found):
            if number != index and span.earliest <= episode.reported.at_ms < span.until:
                episode.open.append(span)
    for episode in found:
        episode.kind = _kind(episode, acts, group)
    return found


def _closed_by(span, times):
    """Return the index of the episode that ends the span, by the ``times`` of the episodes' records."""
    if span.until is FOREVER:
        return len(times)
    given = span.given or span.until
    if given not in times:
        return bisect_left(times, given - 1)  # the event's record may be a millisecond later
    index = bisect_left(times, given)
    return index + min(span.nth, times.count(given) - 1)


def _of_another(span, episode, unreported):
    given = span.given or span.until
    return any(given - 1 <= at < episode.reported.at_ms for at in unreported)


def _kind(episode, acts, group):
    at_ms = episode.reported.at_ms
    # A stall that ends in a later episode also counts for this one, if none ended in it.
    longest = episode.longest or min(episode.open, key=lambda span: span.stop_first, default=None)
    began = min(longest.stop_first, episode.reported.started_ms or at_ms) if longest else episode.since
    if _within(acts, "fault", "fault over", began, at_ms + FIRST_COMMIT_MS, AFTER_FAULT_MS, name=BROKER_FAULTS):
        return "brokers"
    if _within(acts, "rolling", "rolled", at_ms, at_ms, AFTER_ROLLING_MS, group=(group,)):
        return "rolling restart"
    if longest is not None and longest.reason in REASONS:
        return REASONS[longest.reason]
    found = {
        CHANGES[act["do"]]
        for act in acts
        if act.get("group") == group and act["do"] in CHANGES and episode.since - 1_000 < act["at"] <= at_ms
    } - {None}
    if longest is not None and longest.reason == "closing":
        found = found - {"start"} | {"clean leave"}
    return found.pop() if len(found) == 1 else "mixed" if found else "unknown"


def _within(acts, begin, end, since, until, after_ms, **values):
    """Whether [since, until] touches a time between two acts whose fields have one of ``values``."""
    began = None
    for act in acts:
        if all(act.get(name) in allowed for name, allowed in values.items()):
            if act["do"] == begin:
                began = act["at"]
            elif act["do"] == end and began is not None:
                if began <= until and since <= act["at"] + after_ms:
                    return True
                began = None
    return began is not None and began <= until
