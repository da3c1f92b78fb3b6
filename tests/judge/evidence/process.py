"""Derives a member's partitions, and when it stopped processing them, from its lines and the run's actions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

AFTER_WAKING_MS = 1_500
"""Longest time (ms) until a member that continues after a stop detects that it was removed from the group."""

FOREVER = float("inf")


@dataclass(frozen=True)
class Possession:
    """A member's possession of a partition, from ``since`` on, when its assigned callback returned.

    It stopped between ``stop_first`` and ``stop_last`` for ``reason``, for good or until it continued at ``resumed``.
    ``removed``: when its coordinator removed the member before that, so that it was no longer the owner.
    """

    partition: str
    process: str
    client: str
    since: float
    stop_first: float = FOREVER
    stop_last: float = FOREVER
    reason: str = ""
    removed: float = FOREVER


@dataclass
class Process:
    """One member's lines, as possessions and times at which it was stopped.

    ``removed``: when the coordinator removed the client from the group because its session expired.
    """

    name: str
    client: str
    lines: list
    acts: list
    streams: bool = False
    removed: tuple = ()
    still: list = field(default_factory=list)
    """(from, to, reason): its loop did not run."""

    def __post_init__(self):
        self.still = sorted([*self._from_acts(), *self._from_lines()])

    def _from_acts(self):
        stopped = None
        for act in self.acts:
            if act["do"] == "kill":
                yield act["at"], FOREVER, "killed"
            elif act["do"] == "stop":
                stopped = act["at"]
            elif act["do"] == "cont" and stopped is not None:
                yield stopped, act["at"], "stopped"
                stopped = None
        if stopped is not None:
            yield stopped, FOREVER, "stopped"

    def _from_lines(self):
        busy = None
        for line in self.lines:
            if line["what"] == "busy":
                busy = line["at"]
            elif line["what"] == "idle" and busy is not None:
                yield busy, line["at"], "busy"
                busy = None
            elif line["what"] == "closing":
                yield line["at"], FOREVER, "closing"
        if busy is not None:
            yield busy, FOREVER, "busy"

    def processed(self, partition, after, until):
        """Return when the last record of the partition in (after, until] was processed; None without one."""
        found = None
        for line in self.lines:
            if line["what"] == "read" and partition in line["last"]:
                for at in (line["first"][partition], line["last"][partition]):
                    if after < at <= until:
                        found = at
        return found

    @cached_property
    def possessions(self):
        """The member's possessions, in order."""
        had, found = {}, []
        for line in self.lines:
            if line["what"] not in ("assigned", "revoked", "lost"):
                continue
            for partition in line["partitions"]:
                if line["what"] == "assigned" and line["edge"] == "exit" and partition not in had:
                    had[partition] = line["at"]
                elif line["what"] != "assigned" and line["edge"] == "enter" and partition in had:
                    found.append(self._given_up(partition, had.pop(partition), line["at"], line["what"]))
        found += [self._given_up(partition, since, FOREVER, "") for partition, since in had.items()]
        return found

    def _given_up(self, partition, since, called, word):
        """Return the possession that ended with a callback at ``called``, or without one."""
        removed = next((at for at in self.removed if since < at), FOREVER)
        made = Possession(partition, self.name, self.client, since, called, called, word, removed)
        for start, ended, reason in self.still:
            if ended <= since or start > called:
                continue
            began = max(start, since)
            if ended == FOREVER:
                return replace(made, stop_first=began, stop_last=min(called, self._over(began)), reason=reason)
            if called <= ended + AFTER_WAKING_MS and called is not FOREVER:
                again = self.processed(partition, ended, called)
                return replace(made, stop_first=began, stop_last=began if again is None else called, reason=reason)
        if self.streams and word == "revoked":
            last = self.processed(partition, since, called)
            return replace(made, stop_first=called - 1_000 if last is None else last)
        return made

    def _over(self, began):
        """Return the end of a close that began then; it is the same time for a member that was killed."""
        closed = [line["at"] for line in self.lines if line["what"] == "closed" and line["at"] >= began]
        killed = [act["at"] for act in self.acts if act["do"] == "kill"]
        return min([*closed, *killed, FOREVER])
