"""Checks the records of groups' commits: none passes a record that nobody read, and none is by an old owner.

A member names its process in the metadata of its commits, where its client can. The records of a partition have the
order in which the coordinator accepted them. So a member that commits after another one did, and was not assigned the
partition again since its own last commit, is a second owner that could commit.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import accumulate, pairwise

from chaos.members.kinds import group_name
from chaos.verdict.verdict import Verdict
from rebalance_agent.groupprotocol.tables import OFFSET_COMMIT
from support.observer.observing import everything

NEVER = float("inf")
SHOWN = 3


@dataclass(frozen=True)
class Commit:
    """A record of a commit. ``process``: the member in its metadata, or empty."""

    at_ms: int
    offset: int
    process: str


def commits(bootstrap, topic):
    """Return the commits for a topic in the brokers' order: (group, partition) -> `Commit`."""
    found = defaultdict(list)
    for record in everything(bootstrap, "__consumer_offsets"):
        key = record.key()
        if key is None or record.value() is None or int.from_bytes(key[:2], "big") not in OFFSET_COMMIT.key.versions:
            continue
        name, value = OFFSET_COMMIT.key.decode(key), OFFSET_COMMIT.value.decode(record.value())
        if name["topic"] == topic:
            commit = Commit(record.timestamp()[1], value["offset"], value["metadata"])
            found[name["group"], name["partition"]].append(commit)
    return found


def judged(all_groups, kinds, written, found):
    """Return the verdict on the commits of groups whose members do not commit in transactions."""
    wrong, done = [], Counter()
    for kind in kinds:
        members = all_groups.members[kind.name]
        read, assigned = _first_read(members), _assigned(members)
        for (group, partition), rows in sorted(found.items()):
            if group != group_name(kind):
                continue
            done["commits"] += len(rows)
            done["named"] += sum(bool(each.process) for each in rows)
            offsets = sorted(offset for number, offset in written if number == partition)
            wrong += [f"{group} {partition}: {each}" for each in past_unread(rows, offsets, read[partition])]
            wrong += [f"{group} {partition}: {each}" for each in second_owners(rows, assigned[partition])]
            done["back"] += sum(after.offset < before.offset for before, after in pairwise(rows))
    what = (
        f"commits: {done['commits']}, {done['named']} of them name their process; {len(wrong)} are past an unread "
        f"record or by an old owner; {done['back']} went back"
    )
    if not done["commits"]:
        wrong.append("there is no commit, so none can be wrong")
    return Verdict(what, (*wrong[:SHOWN], *([f"{len(wrong)} commits are wrong"] if wrong[SHOWN:] else [])))


def past_unread(rows, offsets, read):
    """Return texts on commits of a partition that pass an acknowledged record before anybody read it.

    ``offsets``: of acknowledged records, sorted; ``read``: offset -> when it was read first (ms).
    """
    until = list(accumulate((read.get(each, NEVER) for each in offsets), max))
    found = []
    for each in rows:
        passed = bisect_left(offsets, each.offset)
        if passed and until[passed - 1] > each.at_ms:
            by = each.process or "a member"
            found.append(f"{by} committed {each.offset} at {each.at_ms}, before all up to it was read")
    return found


def second_owners(rows, assigned):
    """Return texts on commits of a partition by members that were no longer its owner.

    ``assigned``: process -> times (ms) of its assignments that have the partition.
    """
    found, last, before = [], {}, ""
    for each in rows:
        if each.process and before and each.process != before and each.process in last:
            since = last[each.process]
            if not any(since <= at_ms <= each.at_ms for at_ms in assigned.get(each.process, ())):
                found.append(f"{each.process} committed {each.offset} at {each.at_ms}, after {before} had")
        if each.process:
            last[each.process], before = each.at_ms, each.process
    return found


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
                    found[partition][member.who["process"]].append(at_ms)
    return found
