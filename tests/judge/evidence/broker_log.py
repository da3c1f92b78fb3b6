"""Reads from the brokers' logs when and why rebalances of classic groups began, when groups became Empty, and which
members were removed."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

PREPARING = re.compile(
    r"^(\d\d:\d\d:\d\d\.\d{3}) .*Preparing to rebalance group (\S+) in state \w+ "
    r"with old generation (\d+) \(reason: (.*)"
)
JOINS = re.compile(
    r"^(\d\d:\d\d:\d\d\.\d{3}) .* joins group (\S+) in Empty state(?:.* new member id (\S+) and request)?"
)
EMPTY = re.compile(r"^(\d\d:\d\d:\d\d\.\d{3}) .*Group (\S+) with generation (\d+) is now empty")
ASSIGNED = re.compile(
    r"^(\d\d:\d\d:\d\d\.\d{3}) .*Assignment received from leader \S+ for group (\S+) for generation (\d+)"
)
NOT_WRITTEN = re.compile(r"Failed to write empty metadata for group (\S+): This is not the correct coordinator")
REMOVED = re.compile(r"^(\d\d:\d\d:\d\d\.\d{3}) .* Member (\S+) in group (\S+) has failed, removing it from the group")
ADDED = re.compile(r" member with id (\S+) joins group ")
CAUSES = (
    ("Adding new member", "member_joined"),
    ("heartbeat expiration", "member_gone"),
    ("removing member", "member_gone"),
    ("Removing member", "member_gone"),
    ("LeaveGroup", "member_gone"),
    ("leaving", "member_gone"),
    ("during Stable", "rejoin"),
    ("re-joining group", "rejoin"),
    ("Updating metadata", "rejoin"),
)


def beginnings(texts, began_ms):
    """Return [(at_ms, old generation, reason)] by group, in order, from the texts of the brokers' logs.

    Lines have the time of the day only, in the machine's time zone; ``began_ms`` gives the day.
    """
    found = {}
    for match in _matches(PREPARING, texts):
        at, group, generation, reason = match.groups()
        found.setdefault(group, []).append((_moment(at, began_ms), int(generation), reason))
    return {group: sorted(rows) for group, rows in found.items()}


def first_joins(texts, began_ms):
    """Return the times (ms) at which a member joined an Empty group, by group.

    A client first requests a member id, and then joins with it. A client that does not join is no member.
    """
    found, added = {}, {name for text in texts for name in ADDED.findall(text)}
    for match in _matches(JOINS, texts):
        if match[3] is None or match[3] in added:
            found.setdefault(match[2], []).append(_moment(match[1], began_ms))
    return {group: sorted(times) for group, times in found.items()}


def emptied(texts, began_ms):
    """Return [(at_ms, generation)] of the times at which a group became Empty, by group, in order.

    Lines of a broker that was no longer the coordinator, and detected this when its write failed, do not count.
    """
    found = {}
    for text in texts:
        own = {}
        for line in text.splitlines():
            if match := EMPTY.match(line):
                own.setdefault(match[2], []).append((_moment(match[1], began_ms), int(match[3])))
            elif (match := NOT_WRITTEN.search(line)) and own.get(match[1]):
                own[match[1]].pop()
        for group, rows in own.items():
            found.setdefault(group, []).extend(rows)
    return {group: sorted(rows) for group, rows in found.items()}


def assigned(texts, began_ms):
    """Return [(at_ms, generation)] of the assignments that leaders sent, by group, in order."""
    found = {}
    for match in _matches(ASSIGNED, texts):
        found.setdefault(match[2], []).append((_moment(match[1], began_ms), int(match[3])))
    return {group: sorted(rows) for group, rows in found.items()}


def removals(texts, began_ms):
    """Return [(at_ms, member id)] of the members whose session expired at a coordinator, by group.

    A broker that has not yet detected that it is no longer the coordinator also removes members, without effect.
    """
    found = {}
    for match in _matches(REMOVED, texts):
        found.setdefault(match[3], []).append((_moment(match[1], began_ms), match[2]))
    return {group: sorted(rows) for group, rows in found.items()}


def _matches(pattern, texts):
    """Return the matches of ``pattern`` with the lines of ``texts``."""
    return filter(None, (pattern.match(line) for text in texts for line in text.splitlines()))


def _moment(at, began_ms):
    began = datetime.fromtimestamp(began_ms / 1000).astimezone()
    clock = datetime.strptime(at, "%H:%M:%S.%f").astimezone()
    moment = began.replace(hour=clock.hour, minute=clock.minute, second=clock.second, microsecond=clock.microsecond)
    if moment < began - timedelta(hours=12):
        moment += timedelta(days=1)
    return moment.timestamp() * 1000


def cause_of(reason):
    """Return the kind of cause of a reason in the log; None for an unknown reason."""
    return next((cause for words, cause in CAUSES if words in reason), None)
