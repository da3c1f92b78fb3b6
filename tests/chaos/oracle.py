"""What must be true in the end, whatever went wrong."""

from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import dataclass

from rebalance_agent.clock import SystemClock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.ledger.counters import Lifetime, check_lifetime
from rebalance_agent.ledger.ledger import Ledger, Window
from rebalance_agent.model.codec import event_from_json, json_object
from rebalance_agent.runtime.verifying import VerifiedCluster, scraped
from support.member_lines import Lines

GRACE_MS = 20_000
SETTLED_MS = 60_000
POLLS_MIN = 300
"""Fewer have no 99th percentile to speak of."""

LATE_S, LATE_TIMES = 0.05, 1.5
"""99 of 100 polls of an instrumented consumer return no later than so many times a bare one's, and so much more: their
groups' rebalances are not the same."""


@dataclass(frozen=True)
class Verdict:
    """One look: what it found in words, and what is wrong."""

    what: str
    wrong: tuple[str, ...] = ()


def balance(bootstrap, topic, since_ms, groups):
    """The ledger over the whole run."""
    clock = SystemClock()
    cluster = VerifiedCluster({"bootstrap.servers": bootstrap, "log_level": "0"}, clock)
    ledger = Ledger(cluster.cluster_id, groups.__contains__)
    until_ms = clock.now_ms()
    cluster.events(topic, ledger.tell)
    # Nothing is compacted: the newest segment is the only one. Members' offsets are committed without transactions.
    ledger.expect(Window(since_ms, until_ms, GRACE_MS, complete=True, names=cluster.names()))
    cluster.post(ledger)
    return ledger.close()


def counted(lives, report):
    """Each observer's counters into the report."""
    for life in lives:
        if not life.scrapes or not life.events.exists():
            continue
        # One that was killed may have counted at its very end what it had not written to its file.
        last = life.scrapes[0] if life.killed else life.scrapes[-1]
        found = scraped(last.text)
        at_ms = None if life.running else last.at_ms  # what came after the last scrape of one that ended
        check_lifetime(Lifetime(life.name, found.counters, _events(life.events), at_ms, SETTLED_MS, found.amid), report)


def _events(path):
    events = []
    for line in path.read_bytes().splitlines():
        try:
            events.append(event_from_json(json_object(line)))
        except InvalidInputError:
            continue  # the last line of one that was killed
    return events


def read_at_least_once(crowd, written):
    """Every record that Kafka acknowledged was read by each group whose members tell what they read."""
    verdicts = []
    for kind in crowd.kinds:
        members = [each for each in crowd.members[kind.name] if isinstance(each, Lines)]
        if not members:
            continue
        read = Counter()
        for member in members:
            read.update(member.read)
        missing = sorted(written - read.keys())
        again = sum(read.values()) - len(read)
        what = f"{kind.name}: {len(members)} members read {len(read)} records, {again} once more"
        wrong = (f"{kind.name}: {len(missing)} records were read by nobody, such as {missing[:3]}",) if missing else ()
        verdicts.append(Verdict(what, wrong))
    return verdicts


def polls(crowd, bare="eager-bare", instrumented="eager-instrumented"):
    """How much later polls returned than asked for, of instrumented members and of those beside them."""
    if not {bare, instrumented} <= crowd.members.keys():
        return Verdict("polls are not compared: one of the two groups was left out")
    late = {
        name: sorted(late for each in crowd.members[name] for late in getattr(each, "late_s", ()))
        for name in (bare, instrumented)
    }
    if min(map(len, late.values())) < POLLS_MIN:
        what = f"too few polls to compare: {sorted(map(len, late.values()))}"
        return Verdict(what, (what,))
    cut = {name: statistics.quantiles(each, n=100) for name, each in late.items()}
    p50, p99 = ({name: each[place] * 1000 for name, each in cut.items()} for place in (49, 98))
    what = (
        f"polls return late by p50 {p50[instrumented]:.1f} ms, p99 {p99[instrumented]:.1f} ms instrumented; "
        f"bare p50 {p50[bare]:.1f} ms, p99 {p99[bare]:.1f} ms"
    )
    too_late = p99[instrumented] > LATE_TIMES * p99[bare] + LATE_S * 1000
    return Verdict(what, (f"instrumented polls are later than bare ones: {what}",) if too_late else ())
