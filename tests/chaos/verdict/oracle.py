"""The conditions that must hold at the end of a run, whatever the faults."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress

from chaos.members.kinds import group_name
from chaos.verdict.verdict import Verdict
from rebalance_agent.audit.audit_report import UNREADABLE
from rebalance_agent.audit.ledger import FOLLOWUP_MS, NOT_REPORTED, AuditWindow, Ledger
from rebalance_agent.clock import SystemClock
from rebalance_agent.model.event_json import event_from_json, json_object
from rebalance_agent.model.events import GenerationEvent, MemberEvent
from rebalance_agent.runtime.watch.audit_source import VerifiedCluster
from support.members.member_lines import Lines
from support.observer.observing import PATIENCE_S, answered, eventually

GRACE_MS = 20_000
SETTLED_S = (GRACE_MS + FOLLOWUP_MS) / 1000 + 60
"""Seconds after all members left: sessions of killed members have expired, and all facts are old enough."""
UNJUDGED_SHARE = 0.05
BALANCED_S = 240
LOOKS_S = 2.0


def settled(context, topic, since_ms, groups, *, complete=True):
    """Return the audit's report once nothing is wrong or pending; wait longer only for pending facts.

    ``complete``: no offset of the offsets topic is missing; the markers of transactions are, for every reader.
    """
    began = context.clock.monotonic()
    while True:
        waited_s = context.clock.monotonic() - began
        report = balance(context.kafka.bootstrap_servers, topic, since_ms, groups, complete=complete)
        if report.clean and not report.pending:
            return report
        if waited_s > (SETTLED_S if report.clean else BALANCED_S):
            return report
        context.wait(LOOKS_S)


def balance(bootstrap, topic, since_ms, groups, *, complete=True):
    """Audit the whole run; repeat it from the beginning if the cluster did not answer in time."""
    return answered(lambda: _balance(bootstrap, topic, since_ms, groups, complete))


def _balance(bootstrap, topic, since_ms, groups, complete):
    clock = SystemClock()
    cluster = VerifiedCluster({"bootstrap.servers": bootstrap, "log_level": "0"}, clock)
    ledger = Ledger(cluster.cluster_id, groups.__contains__)
    until_ms = clock.now_ms()
    cluster.events(topic, ledger.add_event)
    # Nothing is compacted: the newest segment is the only one.
    ledger.expect(AuditWindow(since_ms, until_ms, GRACE_MS, complete=complete, names=cluster.names(), reports=True))
    cluster.post(ledger)
    return ledger.close()


def judged(report, lives, groups, *, hidden=False):
    """Check that each group was judged, and few facts were not: no observer reports the past without a snapshot.

    ``hidden``: the observer may not read the offsets topic, so facts count only if a gateway reported them.
    """
    unjudged = {why: number for why, number in report.unjudged.items() if not (hidden and why == NOT_REPORTED)}
    left, without = sum(unjudged.values()), sum(some < of for life in lives for some, of in life.readings())
    may_be = max(without * len(groups), int(UNJUDGED_SHARE * report.agreed))
    what = f"not checked: {left} facts; observers began {without} times to read without a snapshot of every partition"
    wrong = [f"there is no fact of {each}, which played" for each in sorted(groups - report.groups)]
    if unread := report.unjudged.get(UNREADABLE):
        wrong.append(f"{unread} {UNREADABLE}")
    if report.pending:
        wrong.append(f"{report.pending} facts are too new to have been published, long after all members left")
    if left > may_be:
        most = f"{may_be} at most, once for each such start and group, or one of twenty"
        wrong.append(f"{left} facts were not checked: {most}")
    return Verdict(what, tuple(wrong))


def rebalances(published, groups, wanted):
    """Check the number of generations and epochs of ``groups``, without copies, aborted ones and deletions."""
    published = (
        event for event in map(_event, published) if isinstance(event, GenerationEvent) and event.group in groups
    )
    many = len({event.event_id for event in published})
    wrong = f"only {many} rebalances, {wanted:.0f} were wanted: the machine is too busy"
    return Verdict(f"{many} rebalances", (wrong,) if many < wanted else ())


def read_at_least_once(all_groups, written, kinds=None):
    """Check that each group whose members report their reads has read every acknowledged record.

    ``kinds``: only groups of these kinds.
    """
    if not written:
        return [Verdict("no record was acknowledged", ("no record was acknowledged, so none can have been lost",))]
    verdicts = []
    for kind in all_groups.kinds if kinds is None else kinds:
        members = [each for each in all_groups.members[kind.name] if isinstance(each, Lines)]
        if not members:
            continue
        read = Counter()
        for member in members:
            read.update(dict(member.read))  # a copy: it may still read
        missing = sorted(written - read.keys())
        again = sum(read.values()) - len(read)
        what = f"{kind.name}: {len(members)} members read {len(read)} records, {again} once more"
        wrong = (f"{kind.name}: {len(missing)} records were never read, such as {missing[:3]}",) if missing else ()
        verdicts.append(Verdict(what, wrong))
    return verdicts


def reported(all_groups, published):
    """Check that the sidecar, which works again, has received events of instrumented members."""
    published = Counter(event.group for event in map(_event, published) if isinstance(event, MemberEvent))
    groups = [group_name(kind) for kind in all_groups.kinds if kind.instrumented]
    what = "reports of members: " + (
        ", ".join(f"{each} {published[each]}" for each in groups) or "no member is instrumented"
    )
    return Verdict(
        what, tuple(f"nothing that members of {each} report was published" for each in groups if not published[each])
    )


def back(agents, patience_s=PATIENCE_S):
    """Check that each `Agent` works in the end, and that none of its lives took more memory than the chart's limit."""
    well = {each.life.name: _well(each.life, patience_s) for each in agents}
    measured = [(life.name, round(life.peak_mib()), agent.memory_mib) for agent in agents for life in agent.lives]
    took = ", ".join(f"{name} {mib} MiB" for name, mib, _ in measured if mib)
    wrong = [f"{name} is not ready in the end" for name in well if not well[name]]
    wrong += [f"{name} took {mib} MiB: more than {limit}" for name, mib, limit in measured if mib > limit]
    return Verdict(f"memory at most: {took}", tuple(wrong))


def ended(agents):
    """Check that no process of an `Agent` ended by itself."""
    lives = [life for agent in agents for life in agent.lives]
    return Verdict(f"{len(lives)} lives of agents", tuple(filter(None, (each.died for each in lives))))


def _well(life, patience_s):
    with suppress(AssertionError):
        return eventually(life.ready, patience_s)
    return False


def _event(value):
    return event_from_json(json_object(value))
