"""The ledger of a run with seats, and what must hold beside the conditions of every run."""

from __future__ import annotations

from collections import Counter, defaultdict

from chaos.members.kinds import group_name
from chaos.members.transactions_member import COPIES
from chaos.verdict.commits import client_id
from chaos.verdict.verdict import Verdict
from rebalance_agent.groupprotocol.coordinator_partition import offsets_partition
from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.event_json import event_from_json, json_object
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.reported.seat_event import Act, SeatEvent
from rebalance_agent.testing.kafka.broker_settings import OFFSETS_PARTITIONS
from support.observer.observing import everything
from support.pipeline.latest_events import latest

CRASHED, NEVER = "crashed", float("inf")


def copied(bootstrap):
    """Return how often each record was copied in a committed transaction, as (partition, offset)."""
    return Counter(tuple(map(int, each.value().split())) for each in everything(bootstrap, COPIES, committed=True))


def exactly_once(written, found):
    """Return the verdict on the copies of transactional members."""
    missing, again = sorted(written - found.keys()), [each for each, often in found.items() if often > 1]
    wrong = []
    if missing:
        wrong.append(f"{len(missing)} records were never copied, such as {missing[:3]}")
    if again:
        wrong.append(f"{len(again)} records were copied more than once, such as {sorted(again)[:3]}")
    return Verdict(f"transactions: {len(found)} records were copied, {len(again)} more than once", tuple(wrong))


def duplicates(all_groups, kinds, most):
    """Return the verdict on the number of records that were read again; ``most``: in the run without seats, or None."""
    again = {
        kind.name: sum(sum(member.read.values()) for member in members)
        - len(set().union(*(member.read for member in members)))
        for kind in kinds
        for members in [all_groups.members[kind.name]]
    }
    total = sum(again.values())
    wrong = f"{total} records were read again, without seats {most}"
    return Verdict(f"read again: {total} records", (wrong,) if most is not None and total > most else ())


def ledger(all_groups, published, *, seats, hidden=False):
    """Return the verdict on acts and generations, with the lines of each group.

    In a partition with transactions a generation may have no known trigger: markers look like missing records. A wrong
    act is no error: other members and faults make a group rebalance meanwhile. ``hidden``: the offsets topic is, so a
    generation has no known trigger if no gateway reported the one before.
    """
    generations, acts = _generations(published), _acts(published)
    changes = defaultdict(Counter)
    for act in all_groups.account.acts:
        if act["do"] == "change":
            changes[act["group"]][act["name"]] += 1
    marked = {
        offsets_partition(group_name(kind), OFFSETS_PARTITIONS)
        for kind in all_groups.kinds
        if kind.client == "transactions"
    }
    lines, wrong = [], []
    for kind in all_groups.kinds:
        group = group_name(kind)
        unexplained = generations[group][Trigger.UNKNOWN]
        lines.append(
            f"{group}: {_counts(changes[group])}; generations: {_counts(generations[group])}; "
            f"acts: {_counts(acts[group])}"
        )
        if unexplained and not hidden and offsets_partition(group, OFFSETS_PARTITIONS) not in marked:
            wrong.append(f"{group}: {unexplained} generations have no known trigger")
    total = sum(acts.values(), Counter())
    if seats and not any(total):
        wrong.append("no gateway acted")
    title = "ledger of changes, generations by trigger, and gateways' acts:"
    return Verdict("\n  ".join([title, *lines]), tuple(wrong))


def crashed(all_groups, published):
    """Return the verdict on seats that gateways gave up as those of ended processes: each had ended, or did not use it.

    A process whose connection closed before it got the answer to its JoinGroup does not use that seat: it was never
    assigned partitions with it, and joins again.
    """
    seats, ended, wrong, seen = _occupants(published), {}, [], 0
    for act in all_groups.account.acts:
        if act["do"] in ("kill", "close"):
            ended.setdefault(act["process"].rpartition(".")[0], act["at"])
    assigned = defaultdict(list)
    for member in (each for members in all_groups.members.values() for each in members):
        assigned[client_id(member)] += [at_ms for word, at_ms, _ in list(member.lines) if word == "assigned"]
    for event in _in_order(published):
        if event.act is not Act.GIVE_UP or event.reason != CRASHED or _seat(event) not in seats:
            continue
        seen, at_ms = seen + 1, event.timestamp_ms
        name, since_ms = seats[_seat(event)]
        again = any(other == name and since_ms < later_ms < at_ms for other, later_ms in seats.values())
        used = any(since_ms <= each <= at_ms for each in assigned[name])
        if used and not again and ended.get(name, NEVER) > at_ms:
            wrong.append(f"{event.group}: the seat of {name} was given up at {at_ms}, and it lives")
    return Verdict(f"seats of crashed processes: {seen} were given up, {len(wrong)} of living ones", tuple(wrong))


def _occupants(published):
    """Return seat of a member -> client id of the consumer with this seat, and the time since which it has it (ms).

    The client id is from events of seats if the coordinator reports its predecessor's, else from those of generations.
    """
    found = {}
    for event in _last(published, GenerationEvent):
        for member in event.members:
            name, since_ms = found.get(_seat(member), (member.client_id, NEVER))
            found[_seat(member)] = name, min(since_ms, event.timestamp_ms)
    for event in reversed(_in_order(published)):
        if event.client_id is not None and event.carried_out:
            found[_seat(event)] = event.client_id, event.timestamp_ms
    return found


def _seat(given):
    """Return what identifies a seat of a member: a KIP-848 client joins with the same member id for another seat."""
    return given.member_id, given.instance_id


def _in_order(published):
    return sorted(_last(published, SeatEvent), key=lambda event: event.timestamp_ms)


def _generations(published):
    """Return the number of generations and epochs by group and trigger, each event in its last revision."""
    found = defaultdict(Counter)
    for event in _last(published, GenerationEvent):
        found[event.group][event.trigger] += 1
    return found


def _acts(published):
    """Return the number of acts by group, and by act and outcome."""
    found = defaultdict(Counter)
    for event in _last(published, SeatEvent):
        found[event.group][f"{event.act} {event.outcome}"] += 1
    return found


def _last(published, kind):
    events = (event_from_json(json_object(value)) for value in published)
    return latest(event for event in events if isinstance(event, kind))


def _counts(counter):
    return ", ".join(f"{name} {number}" for name, number in sorted(counter.items())) or "none"
