"""Completes the stalls of a group: their start if no owner stopped, and the record that assigned the partition."""

from __future__ import annotations

from dataclasses import replace

from judge.evidence.process import FOREVER, Process
from judge.evidence.spans import spans

JUST_AFTER_MS = 5
"""Tolerance: the times of records and of callbacks come from two processes of one machine."""

READ_MS = 60
"""Tolerance: a batch that was polled just before a callback is noted as processed just after it."""

FIRST_JOIN_MS = 500
"""Longest time between the record of an Empty group and its first member's two joins, before or after it."""


LOST_JOIN_MS = 10_000
"""Longest time from a join to the next record, unless brokers are away: the rebalance timeout of members here."""


def processes_of(folder, group, removed=None):
    """Return the members of a group with their lines and the run's actions on them; ``removed`` as in `History`."""
    acts = {}
    for act in folder.acts:
        if act.get("group") == group and "process" in act:
            acts.setdefault(act["process"], []).append(act)
    streams = folder.run["groups"][group]["type"] == "streams"
    lines = folder.members[group]
    return [_process(name, lines.get(name, []), acts[name], streams, removed or {}) for name in acts]


def _process(name, lines, acts, streams, removed):
    client = name.rpartition(".")[0]
    return Process(name, client, lines, acts, streams, tuple(removed.get(client, ())))


def true_spans(processes, history, joins, *, classic):
    """Return the spans of a group; ``joins``: times (ms) at which a join began a rebalance, by the brokers' logs."""
    return [_placed(span, history, joins, classic=classic) for span in spans(processes)]


def _given(span, history, since, *, every):
    """Return when records gave the partition: up to the callback if any did, else just after it."""
    times = (
        history.given(span.partition, span.client, since, until, every=every)
        for until in (span.until, span.until + JUST_AFTER_MS)
    )
    return next((at for at in times if at is not None), None)


def _placed(span, history, joins, *, classic):
    if span.until is FOREVER:
        return span
    since = span.stop_first - JUST_AFTER_MS if span.old else 0
    given = _given(span, history, since, every=classic)
    if span.old and span.old.rpartition(".")[0] != span.client and (given is None or not classic):
        # The old owner detected later that a record had given its partition to another member.
        held = history.held_since(span.partition, span.client, since, every=classic)
        given = given if held is None else held
    hidden = None
    if given is None:
        given = hidden = history.hidden_between(since, span.until)
    # A member of a group whose coordinator assigns may lose everything and get it back without a record.
    outside = not classic and given is None and not history.changed(since, span.until)
    nth = 0 if given is None else history.nth_given(span.partition, span.client, given)
    span = replace(span, given=given, outside=outside, nth=nth)
    until = (span.until if given is None else given) + JUST_AFTER_MS
    emptied = history.emptied_before(until)
    empty = history.states[emptied] if emptied >= 0 else None
    emptied_ms = empty.at_ms if empty else 0
    joined_ms = history.joined_after(emptied)
    # A removed member may continue for a while; partitions that it leaves in an Empty group count from the next join.
    shown = history.shown_since(span.partition, until)
    if hidden is not None and not history.shows(span.partition, hidden):
        shown = hidden  # the first record that showed it was removed
    worked = span.old and (empty is None or joined_ms is None or span.stop_last > joined_ms)
    since = span.stop_last if worked else joined_ms
    if (
        shown is not None
        and since is not None
        and shown > since
        and _unsubscribed(span.partition, history, since, shown)
    ):
        return replace(span, stop_first=shown, stop_last=shown, reason="new", old="")
    if worked:
        return span
    if span.partition in history.first_shown(emptied):
        # A group's very first record is one of an Empty group, written when its first member asks for an id.
        since_ms = emptied_ms - FIRST_JOIN_MS if empty is None or empty.number <= 0 else emptied_ms
        created = [emptied_ms] if empty is not None and empty.number <= 0 else []
        return _from_the_join(span, joined_ms, [*created, *joins], since_ms)
    if shown is None:
        return replace(span, unsure=True)
    return replace(span, stop_first=shown, stop_last=shown, reason="new", old="")


def _from_the_join(span, record_ms, moments, since_ms):
    """Start a stall at the first join, since the group had no members.

    A client joins twice: the first JoinGroup gets it a member id, the second one begins the rebalance. If no record
    followed for a long time, the coordinator lost the group: then the last join may be the first that counts.
    """
    if record_ms is None:
        return replace(span, unsure=True)
    known = sorted({at for at in moments if since_ms <= at <= record_ms} | {record_ms})
    second = next((at for at in known if known[0] < at <= known[0] + FIRST_JOIN_MS), known[0])
    if record_ms - known[0] > LOST_JOIN_MS:
        second = max([at for at in known if at < record_ms], default=second)
    return replace(span, stop_first=known[0], stop_last=second, reason="empty", old="")


def _unsubscribed(partition, history, since, shown):
    """Whether no member was subscribed to the partition's topic for a while between ``since`` and ``shown``."""
    topic = partition.rpartition("-")[0]
    between = [state for state in history.states if since < state.at_ms < shown]
    return any(state.members and state.topics and topic not in state.topics for state in between)


def contradicted(spans, processes):
    """Return the spans in which the old owner processed a record after its stop, so that the truth would be wrong."""
    by_name = {process.name: process for process in processes}
    return [
        span
        for span in spans
        if span.old in by_name
        and not span.unsure
        and by_name[span.old].processed(
            span.partition, span.stop_last + READ_MS, min(span.until, span.stop_last + 60_000)
        )
    ]
