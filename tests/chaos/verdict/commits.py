"""Checks the records of groups' commits: none passes a record that no member read, and none is by an old owner.

A member writes its client id, which no other has, into the metadata of its commits, if its client can. The records
of a partition have the order in which the coordinator accepted them. A member that commits after another one, and was
not assigned the partition again since its own last commit, is a second owner that could commit.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from chaos.members.kinds import group_name
from chaos.verdict.verdict import Verdict
from rebalance_agent.groupprotocol.tables import OFFSET_COMMIT
from support.observer.observing import everything

NEVER = float("inf")
SHOWN = 3


@dataclass(frozen=True)
class Commit:
    """A record of a commit. ``member``: the client id in its metadata, or empty."""

    at_ms: int
    offset: int
    member: str


def commits(bootstrap, topic):
    """Return the commits for a topic in the brokers' order: (group, partition) -> `Commit`."""
    found = defaultdict(list)
    for record in everything(bootstrap, "__consumer_offsets"):
        key = record.key()
        if key is None or record.value() is None or int.from_bytes(key[:2], "big") not in OFFSET_COMMIT.key.versions:
            continue
        name, value = OFFSET_COMMIT.key.decode(key).fields, OFFSET_COMMIT.value.decode(record.value()).fields
        if name["topic"] == topic:
            commit = Commit(record.timestamp()[1], value["offset"], value["metadata"].rstrip("\0"))  # librdkafka's
            found[name["group"], name["partition"]].append(commit)
    return found


def judged(all_groups, kinds, written, found):
    """Return the verdict on the commits of groups whose members do not commit in transactions."""
    wrong, done = [], Counter()
    for kind in kinds:
        members = all_groups.members[kind.name]
        read, assigned = _first_read(members), _assigned(members)
        names = set(map(client_id, members))
        for (group, partition), records in sorted(found.items()):
            if group != group_name(kind):
                continue
            # franz-go writes the member id, which does not always contain the client id.
            rows = [each if each.member in names else replace(each, member="") for each in records]
            done["commits"] += len(rows)
            done["named"] += sum(bool(each.member) for each in rows)
            offsets = sorted(offset for number, offset in written if number == partition)
            wrong += [f"{group} {partition}: {each}" for each in past_unread(rows, offsets, read[partition])]
            wrong += [f"{group} {partition}: {each}" for each in second_owners(rows, assigned[partition])]
            done["back"] += sum(after.offset < before.offset for before, after in pairwise(rows))
    what = (
        f"commits: {done['commits']}, {done['named']} of them name their member; {len(wrong)} are past an unread "
        f"record or by an old owner; {done['back']} went back"
    )
    if not done["commits"]:
        wrong.append("there is no commit, so none can be wrong")
    return Verdict(what, (*wrong[:SHOWN], *([f"{len(wrong)} commits are wrong"] if wrong[SHOWN:] else [])))


def past_unread(rows, offsets, read):
    """Return texts on commits of a partition that pass an acknowledged record before any member read it.

    ``offsets``: of acknowledged records, sorted; ``read``: offset -> when it was read first (ms).
    """
    until = list(accumulate((read.get(each, NEVER) for each in offsets), max))
    found = []
    for each in rows:
        passed = bisect_left(offsets, each.offset)
        if passed and until[passed - 1] > each.at_ms:
            by = each.member or "a member"
            found.append(f"{by} committed {each.offset} at {each.at_ms}, before all up to it was read")
    return found


def second_owners(rows, assigned):
    """Return texts on commits of a partition by members that were no longer its owner.

    ``assigned``: member -> times (ms) of its assignments that have the partition.
    """
    found, last, before = [], {}, ""
    for each in rows:
        if each.member and before and each.member != before and each.member in last:
            since = last[each.member]
            if not any(since <= at_ms <= each.at_ms for at_ms in assigned.get(each.member, ())):
                found.append(f"{each.member} committed {each.offset} at {each.at_ms}, after {before} had")
        if each.member:
            last[each.member], before = each.at_ms, each.member
    return found


def client_id(member):
    """Return a member's client id; its process has a number, too."""
    return member.who["process"].rpartition(".")[0]


def _first_read(members):
    read = defaultdict(dict)
    for member in members:
        for word, at_ms, numbers in list(member.lines):
            if word == "read":
                partition, offset = numbers
                read[partition][offset] = min(at_ms, read[partition].get(offset, NEVER))
    return read


def _assigned(members):
    found = defaultdict(lambda: defaultdict(list))
    for member in members:
        for word, at_ms, numbers in list(member.lines):
            if word == "assigned":
                for partition in numbers:
                    found[partition][client_id(member)].append(at_ms)
    return found
