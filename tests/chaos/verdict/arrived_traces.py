"""Compares the traces that arrived at an OTLP collector with the rebalances in the topic of events."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from contextlib import suppress

from chaos.processes.agents import logged
from chaos.verdict.verdict import Verdict
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.event_json import event_from_json, json_object
from rebalance_agent.model.events import AbortedEvent, GenerationEvent
from rebalance_agent.traces.group_spans import RETURN
from rebalance_agent.traces.span import ROOT, trace_id
from support.observer.observing import eventually

LATEST_S = 90
"""Longest wait for the last traces: agents try again every 30 s at the latest."""

SHOWN = 3
DROPPED = re.compile(r'^rebalance_agent_events_dropped_total\{where="otlp"\} (\S+)$', re.MULTILINE)


def await_traces(receiver, life):
    """Wait until the traces of all rebalances that a running observer has written to its file have arrived."""
    with suppress(AssertionError):  # the verdict lists the missing ones
        eventually(lambda: {*_written(life)} <= {each["event"] for each in receiver.spans()}, LATEST_S)


def judged(receiver, lives, published):
    """Check that each rebalance of the topic is one trace. ``lives``: of the observer; ``published``: topic's values.

    A killed observer may lose the last rebalances that it wrote; a running or stopped one only as many as it counted.
    """
    wanted = {event.event_id: trace_id(event.cluster_id, event.group, event.generation) for event in _roots(published)}
    spans = receiver.spans()
    arrived = defaultdict(list)
    for span in spans:
        if span["event"] is not None and span["name"] in (ROOT, RETURN):
            arrived[span["event"]].append(span)
    written = {life.name: Counter(_written(life)) for life in lives}
    lost = wanted.keys() - arrived.keys()
    counted, killed, wrong = _excused(lost, lives, arrived)
    wrong += [f"{each} has a trace, but no event" for each in arrived.keys() - wanted.keys()]
    wrong += [each for event in arrived.keys() & wanted.keys() for each in _doubled(arrived[event], wanted, written)]
    if not arrived:
        wrong.append("no trace of a rebalance arrived")
    again = sum(map(len, arrived.values())) - len(arrived)
    troubles = ", ".join(f"{kind} {times} times" for kind, times in sorted(receiver.done.items()))
    what = (
        f"traces: {len(wanted)} rebalances in the topic, {len(wanted) - len(lost)} as one trace each; lost: {counted} "
        f"that were counted as dropped, {killed} with killed observers; {again} root spans arrived again with the same "
        f"ids; {len(spans)} spans in all; collector: {troubles}"
    )
    more = [f"and {len(wrong) - SHOWN} more traces"] if len(wrong) > SHOWN else []
    return Verdict(what, tuple(f"traces: {each}" for each in [*wrong[:SHOWN], *more]))


def dropped(life):
    """The number of events whose spans an observer counted as dropped: in its last scrape, and at its stop."""
    found = DROPPED.search(life.scrapes[-1].text) if life.scrapes else None
    stopped = sum(line["events"] for line in logged(life.log, "events_lost_at_stop") if line.get("sink") == "otlp")
    return (float(found[1]) if found else 0) + stopped


def _excused(lost, lives, arrived):
    """Return how many of the lost were counted, how many went with a killed observer, and the others in words."""
    counted, killed, wrong, missing = 0, 0, [], set(lost)
    for life in lives:
        order = list(_written(life))
        own = missing & {*order}
        if life.killed:
            sent = [place for place, event in enumerate(order) if _sent(arrived.get(event, ()), life.name)]
            after = {*order[max(sent, default=-1) + 1 :]}
            killed += len(own & after)
            missing -= after
        elif own:
            number = dropped(life)
            counted += len(own)
            missing -= own
            if len(own) > number:
                wrong.append(f"{life.name} lost {len(own)} rebalances, and counted {number:.0f}, such as {min(own)}")
    # A killed observer may have published an event that it had not yet written to its file.
    unwritten = missing - {event for life in lives for event in _written(life)}
    if any(life.killed for life in lives):
        killed += len(unwritten)
        missing -= unwritten
    return counted, killed, [*wrong, *(f"{each} has no trace" for each in sorted(missing))]


def _doubled(spans, wanted, written):
    """Yield in words whether a rebalance has several traces, or one process wrote several versions of its span."""
    event = spans[0]["event"]
    if {each["trace"] for each in spans} != {wanted[event]} or len({each["span"] for each in spans}) > 1:
        yield f"{event} has another trace, or several root spans"
    for process in {each["process"] for each in spans}:
        versions = {each["digest"] for each in spans if each["process"] == process}
        if len(versions) > max(1, written.get(process, {}).get(event, 0)):
            yield f"{process} wrote {len(versions)} versions of the root span of {event}"


def _sent(spans, process):
    return any(each["process"] == process for each in spans)


def _written(life):
    """Yield the ids of the rebalances in an observer's file, in order."""
    if life.events.exists():
        yield from (event.event_id for event in _roots(life.events.read_bytes().splitlines()))


def _roots(lines):
    """Yield the events that become root spans. A killed observer may have left its last line incomplete."""
    for line in lines:
        with suppress(InvalidInputError):
            event = event_from_json(json_object(line))
            whole = not event.revision and not getattr(event, "part", 0)
            if whole and isinstance(event, GenerationEvent | AbortedEvent):
                yield event
