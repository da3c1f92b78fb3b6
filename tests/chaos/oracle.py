"""What must be true in the end, whatever went wrong."""

from __future__ import annotations

from collections import Counter

from chaos.crowd import group_name
from chaos.verdict import Verdict
from rebalance_agent.clock import SystemClock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.ledger.counters import Lifetime, check_lifetime
from rebalance_agent.ledger.ledger import Ledger, Window
from rebalance_agent.model.codec import event_from_json, json_object
from rebalance_agent.model.events import MemberEvent
from rebalance_agent.runtime.verifying import VerifiedCluster, scraped
from support.member_lines import Lines

GRACE_MS = 20_000
SETTLED_MS = 60_000


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
        counters, events = found.counters, _events(life.events)
        check_lifetime(Lifetime(life.name, counters, events, at_ms, SETTLED_MS, found.amid, found.replayed), report)


def _events(path):
    events = []
    for line in path.read_bytes().splitlines():
        try:
            events.append(_event(line))
        except InvalidInputError:
            continue  # the last line of one that was killed
    return events


def read_at_least_once(crowd, written):
    """Every record that Kafka acknowledged was read by each group whose members tell what they read."""
    if not written:
        return [Verdict("no record was acknowledged", ("no record was acknowledged, so none can have been lost",))]
    verdicts = []
    for kind in crowd.kinds:
        members = [each for each in crowd.members[kind.name] if isinstance(each, Lines)]
        if not members:
            continue
        read = Counter()
        for member in members:
            read.update(dict(member.read))  # a copy: it may still read
        missing = sorted(written - read.keys())
        again = sum(read.values()) - len(read)
        what = f"{kind.name}: {len(members)} members read {len(read)} records, {again} once more"
        wrong = (f"{kind.name}: {len(missing)} records were read by nobody, such as {missing[:3]}",) if missing else ()
        verdicts.append(Verdict(what, wrong))
    return verdicts


def reported(crowd, published):
    """Whether members that are instrumented were heard by a sidecar that is well again."""
    told = Counter(event.group for event in map(_event, published) if isinstance(event, MemberEvent))
    groups = [group_name(kind) for kind in crowd.kinds if kind.instrumented]
    what = "reports of members: " + (", ".join(f"{each} {told[each]}" for each in groups) or "nobody is instrumented")
    return Verdict(
        what, tuple(f"nothing that members of {each} report was published" for each in groups if not told[each])
    )


def back(agents):
    """Whether each `Agent` is well in the end, and the most memory that it took."""
    well = {each.life.name: each.life.ready() for each in agents}
    took = ", ".join(f"{each.life.name} {each.life.peak_mib():.0f} MiB" for each in agents)
    return Verdict(
        f"memory at most: {took}", tuple(f"{name} is not ready in the end" for name in well if not well[name])
    )


def _event(value):
    return event_from_json(json_object(value))
