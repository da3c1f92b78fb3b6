"""Computes the truth, how long each partition was stalled, from the members' own lines.

A partition is stalled from the moment when its owner stopped processing it to the moment when the assigned callback
of its new owner (perhaps the same member) returned.

The owner stopped at the first of these moments that holds until the partition has its new owner: its revoked or lost
callback was entered; it was killed (SIGKILL) or stopped (SIGSTOP), at the moment before the signal; its loop was busy
with one record (``busy``), and it was removed from the group for this reason; it began to close. A member that closes
neither processes records nor runs a callback between ``closing`` and the entered callback. It stopped in between, so
the stall is a range: ``shortest_s`` to ``longest_s``. The processor of a streams task is closed some time after its
last record, so its stall is such a range, too.

A member that its coordinator has removed, and that has not detected this yet, is no longer an owner: nothing that it
processes can be committed. It stopped between its removal and its callback.

A removed member may also get a late assigned callback before it detects its removal, while another member already has
the partition: the stop lies between the moments when the two stopped.

In two cases a stall begins later: in a group that was Empty, with the first member's join; for a partition that the
group did not have, with the first record that contains it. A partition that two members process at the same time (a
stopped one continues before it detects that it was removed) is ``unsure`` and not judged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from judge.evidence.history import is_client
from judge.evidence.process import AFTER_WAKING_MS, FOREVER


@dataclass(frozen=True)
class Span:
    """A stall of a partition, from ``stop_first``..``stop_last`` to ``until``, which is infinite if it never ended.

    ``given``: the time of the record that gave the partition; ``nth``: its place among the group's records of that
    time. ``outside``: it belongs to no rebalance, since the group had no record meanwhile.
    """

    partition: str
    stop_first: float
    stop_last: float
    until: float
    reason: str
    old: str
    new: str
    client: str
    unsure: bool = False
    given: float | None = None
    idle_since: float | None = None
    """When the last owner stopped, even if the stall counts from later because the group was Empty in between."""
    outside: bool = False
    nth: int = 0

    @property
    def earliest(self):
        """The start of the stall, including a part that does not count."""
        return self.stop_first if self.idle_since is None else min(self.stop_first, self.idle_since)

    @property
    def longest_s(self):
        """The length of the stall, if the owner stopped as early as possible."""
        return max(0.0, self.until - self.stop_first) / 1000

    @property
    def shortest_s(self):
        """The length of the stall, if the owner stopped as late as possible."""
        return max(0.0, self.until - self.stop_last) / 1000


def spans(processes):
    """Return all spans of a group's partitions, in the order of their ends."""
    by_partition = {}
    for process in processes:
        for possession in process.possessions:
            by_partition.setdefault(possession.partition, []).append(possession)
    still = {process.name: process.still for process in processes}
    found = []
    for partition, possessions in by_partition.items():
        possessions.sort(key=lambda each: each.since)
        first = possessions[0]
        found.append(Span(partition, 0, 0, first.since, "new", "", first.process, first.client))
        for index, (old, new) in enumerate(pairwise(possessions)):
            span = _between(old, new, still[old.process])
            worked = [_worked_until(each, new.since, still[each.process]) for each in possessions[:index]]
            found.append(replace(span, stop_last=max([span.stop_last, *worked])))
        last = possessions[-1]
        if last.stop_last is not FOREVER or last.stop_first is not FOREVER:
            found.append(
                Span(
                    partition,
                    last.stop_first,
                    last.stop_last,
                    FOREVER,
                    last.reason,
                    last.process,
                    "",
                    "",
                    idle_since=last.stop_first,
                )
            )
    return sorted(found, key=lambda span: span.until)


def stale_owners(processes, state):
    """Whether, at the time of ``state``, a member still processes a partition that the records give to another."""
    owners = {name: client for client, names in state.owners.items() for name in names}
    return any(
        possession.since <= state.at_ms < possession.stop_first
        and owners.get(possession.partition, possession.client) != possession.client
        for process in processes
        for possession in process.possessions
    )


def unheard_owners(processes, history, at_ms, known):
    """Whether records of ``at_ms`` gave a partition that is in no ``known`` stall to a member that never got it.

    A stall counts only from the join after which another member got it, if the group was Empty before.
    """
    state = history.state_at(at_ms)
    return state is not None and any(
        not _got(processes, partition, owner, at_ms, history.kept_until(partition, owner, at_ms))
        for owner, partitions in state.owners.items()
        for partition in partitions - known
    )


def _got(processes, partition, owner, at_ms, until_ms):
    """Whether the client ``owner`` had the partition at any moment from ``at_ms`` to ``until_ms``."""
    return any(
        possession.partition == partition
        and is_client(possession.client, owner)
        and possession.since < until_ms
        and possession.stop_last > at_ms
        for process in processes
        for possession in process.possessions
    )


def _worked_until(possession, until, still):
    """Return when the member last processed the partition, up to ``until``, as far as its lines show."""
    last = min(possession.stop_last, until)
    inside = next((each for each in still if each[0] <= last <= each[1]), None)
    return max(inside[0], possession.since) if inside else last


def _between(old, new, still):
    first, last, reason = old.stop_first, old.stop_last, old.reason
    unsure = False
    if first > new.since:  # it had not stopped for good when the new owner began
        inside = next((each for each in still if each[0] <= new.since <= each[1]), None)
        waking = next((each for each in still if each[1] < new.since <= each[1] + AFTER_WAKING_MS), None)
        if inside:
            first = last = max(inside[0], old.since)
            reason = inside[2]
        else:
            unsure = True
            first = last = new.since
            reason = "two owners" if not waking else "woken"
    elif old.removed < last:
        first = min(first, old.removed)
    last = min(last, new.since)
    return Span(
        old.partition, first, last, new.since, reason, old.process, new.process, new.client, unsure, None, first
    )
