"""Compares the counters of each life of the observer with the events that it published."""

from __future__ import annotations

from collections import Counter

from chaos.verdict.verdict import Verdict
from rebalance_agent.audit.lifetime_counters import LifetimeCounters, check_lifetime
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.episode import Source
from rebalance_agent.model.event_json import event_from_json, json_object
from rebalance_agent.model.events import AbortedEvent, GenerationEvent, GroupGoneEvent
from rebalance_agent.runtime.watch.audit_source import scraped

LASTING_S = 40
"""A process that ran for this long was scraped: it listens after ten seconds, and is paused for eight at most."""

COUNTED_SHARE = 0.25
"""Share of all reported events that the last scrapes must cover. In a process that ran for half a minute, the first ten
seconds have few events, and those of the last ten may be too new: a group's event may wait for its follow-up."""

AWAY_MS = 60_000
"""Milliseconds, longer than an outage of brokers. An observer that starts reading again publishes events of that time
without counting them."""


def compared(lives, report):
    """Add each process's counters to ``report``; return their number, and the share of events that they cover."""
    done, wrong = Counter(), []
    for life in lives:
        reported = facts(life.events, wrong, killed=life.killed)
        done["reported"] += len(reported)
        if not life.scrapes:
            if life.lived_s > LASTING_S:
                wrong.append(f"{life.name} lived for {life.lived_s:.0f} s, and its counters were never scraped")
            continue
        # A killed process may have counted events at its very end that it had not written to its file.
        last = life.scrapes[0 if life.killed else -1]
        found, until_ms = scraped(last.text), None if life.running else reported_until(reported, last.written)
        if len(life.readings()) > 1:
            done["anew"] += 1
            until_ms = min(until_ms or last.at_ms, last.at_ms - AWAY_MS)
        events = [event for _, event in reported]
        counted = sum(until_ms is None or event.timestamp_ms <= until_ms for event in events)
        done["counted"] += counted
        done["lives"] += 1
        done["judged"] += counted > 0
        check_lifetime(
            LifetimeCounters(
                life.name, found.counters, events, until_ms, 0, found.started_from_snapshot, found.replayed
            ),
            report,
        )
    what = (
        f"counters: {done['lives']} of {len(lives)} lives of the observer were compared, {done['judged']} of them with "
        f"events that they must hold: {done['counted']} of all {done['reported']} that were reported; "
        f"{done['anew']} began to read again"
    )
    if not done["reported"] or done["counted"] < COUNTED_SHARE * done["reported"]:
        wrong.append(f"too little was compared to prove anything: {what}")
    return Verdict(what, tuple(wrong))


def facts(path, wrong, *, killed):
    """Return the first version of each event of groups that one process reported, with its file's bytes up to it.

    Lines that are no events are ``wrong``, except one that is incomplete because its writer was ``killed``.
    """
    found, end, known = [], 0, set()
    for line in path.read_bytes().splitlines(keepends=True) if path.exists() else ():
        end += len(line)
        try:
            event = event_from_json(json_object(line))
        except InvalidInputError:
            if not killed or line.endswith(b"\n"):  # which all lines do but the last
                wrong.append(f"{path} has a line that is no event: {line[:80]!r}")
            continue
        fact = isinstance(event, GenerationEvent | AbortedEvent | GroupGoneEvent) and event.source is Source.RECORDS
        if fact and event.event_id not in known:
            known.add(event.event_id)
            found.append((end, event))
    return found


def reported_until(reported, written):
    """Return the record time (epoch ms) up to which the first ``written`` bytes have all ``reported``; None: all."""
    return min((event.timestamp_ms - 1 for end, event in reported if end > written), default=None)
