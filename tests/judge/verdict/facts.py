"""Compares facts of the records with events: some may be missed, invented, or published under two ids."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

RECORD_MS = 1


@dataclass
class Coverage:
    """The facts and differences of one observer: ``unread`` are events whose records the judge possibly did not
    read."""

    expected: int = 0
    reported: int = 0
    missed: list = field(default_factory=list)
    compacted: list = field(default_factory=list)
    invented: list = field(default_factory=list)
    unread: list = field(default_factory=list)
    twice: list = field(default_factory=list)


def unreported(found, group, history, reported):
    """Return the times (ms) of a group's generations that have no event; ``reported``: the group's events."""
    numbers = {each.number for each in reported}
    return sorted(
        [
            *(at for name, kind, _, at in (*found.missed, *found.compacted) if name == group and kind != "group_gone"),
            *(at for number, at in history.hidden.items() if number not in numbers),
        ]
    )


def coverage(history_by_group, events, late, unreadable=()):
    """Compare facts with events.

    ``late``: (from, to, survivors) of times whose records the observer may have read too late; survivors None: not
    known. A hidden fact may be reported or not. ``unreadable``: those of them in which the judge's
    own reader, too, may have read after compaction.
    """
    found = Coverage()
    for group, history in history_by_group.items():
        reported = [each for each in events if each.group == group]
        events_of = _events_of(history.facts, reported, history.type)
        taken = {each.id for matching in events_of for each in matching}
        before_ms = 0.0
        for fact, matching in zip(history.facts, events_of, strict=True):
            if fact.kind == "hidden" and not matching:
                continue
            found.expected += 1
            needed = {state.where for state in history.states if before_ms < state.at_ms <= fact.at_ms} | {fact.where}
            before = _shown_against(fact, history.states)
            before_ms = fact.at_ms
            if matching:
                found.reported += 1
            elif _compacted(fact, needed, before, late):
                found.compacted.append((group, fact.kind, fact.number, fact.at_ms))
            else:
                found.missed.append((group, fact.kind, fact.number, fact.at_ms))
            if len({each.id for each in matching}) > 1:
                found.twice.append((group, fact.kind, fact.number))
        for each in reported:
            if each.id not in taken:
                excused = any(since <= each.at_ms <= until for since, until, _ in unreadable)
                case = (group, each.kind, each.number, each.at_ms, each.trigger)
                (found.unread if excused else found.invented).append(case)
    return found


def _events_of(facts, reported, group_type):
    """Return the events of each fact. An event belongs to the nearest fact that fits; of two equally near ones to a
    free one."""
    events_of = [[] for _ in facts]
    for event in reported:
        near = [index for index, fact in enumerate(facts) if _same(fact, event, group_type)]
        if near:
            nearest = min(near, key=lambda index: (abs(facts[index].at_ms - event.at_ms), len(events_of[index])))
            events_of[nearest].append(event)
    return events_of


def _same(fact, event, group_type):
    if fact.kind == "group_gone":
        return event.kind == "group_gone" and abs(event.at_ms - fact.at_ms) <= RECORD_MS
    if fact.kind == "hidden":
        return event.kind in ("aborted", "generation") and event.number == fact.number
    if fact.kind == "aborted":
        return event.kind == "aborted" and event.number == fact.number
    if event.kind != "generation" or event.number != fact.number:
        return False
    return group_type != "classic" or abs(event.at_ms - fact.at_ms) <= RECORD_MS


def _shown_against(fact, states):
    """Return the state before if only both together show the fact: a gap in the numbers, or the last departure."""
    if fact.kind == "aborted" or (fact.kind == "generation" and not fact.members):
        return next((state for state in reversed(states) if state.at_ms < fact.at_ms), None)
    return None


def _compacted(fact, needed, before, late):
    """Whether a record of the fact, or one since the fact before, was compacted away, maybe before it could be read.

    ``before``: a state that shows the fact, too, if the observer has not read it earlier.
    """
    for since, until, survivors in late:
        records = needed | {before.where} if before and before.at_ms >= since else needed
        if since <= fact.at_ms <= until and (survivors is None or not records <= survivors):
            return True
    return False


def triggers(episodes_of_group, beginnings, cause_of):
    """Count the events with mixed causes whose trigger is the first one in the broker's log; also return the others."""
    counts, cases = Counter(), []
    for episode in episodes_of_group:
        reported = episode.reported
        if len(set(reported.causes)) < 2:
            continue
        log = [(at, reason) for at, _, reason in beginnings if episode.since < at <= reported.at_ms]
        first = cause_of(log[0][1]) if log else None
        if first is None:
            counts["not in the log"] += 1
        elif first == reported.trigger or (
            first == "member_gone" and reported.trigger in ("member_left", "member_failed")
        ):
            counts["first"] += 1
        elif first == "rejoin":
            counts["not in the log"] += 1  # the log contains no cause
        else:
            counts["not first"] += 1
            cases.append((reported.group, reported.number, reported.trigger, list(reported.causes), log[0][1]))
    return counts, cases


def disagreements(one, other):
    """Count the closing events of both observers, those with different triggers, and those that one calls unknown."""
    first = {each.id: each.trigger for each in one if each.closes}
    pairs = [(first[each.id], each.trigger) for each in other if each.id in first]
    different = [pair for pair in pairs if pair[0] != pair[1]]
    unknown = sum("unknown" in pair for pair in different)
    return {"both": len(pairs), "differ": len(different) - unknown, "unknown to one": unknown}
