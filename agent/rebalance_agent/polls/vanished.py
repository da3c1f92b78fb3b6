"""Finds groups that vanished without a tombstone: the log has their records, but their coordinator has no such group.

This happens if the offsets topic was truncated, or the group's coordinator failed to write the tombstone: no record
will show the deletion. ListGroups cannot show it either, since it hides groups that may not be described. So ListGroups
only selects the groups to query, and DescribeGroups decides: it reports that a group does not exist only to a principal
that may describe the group. The answer is used only after all records written before it have been read, so a deletion
that is still being read is reported by its tombstone.

librdkafka has no requests for share and streams groups, so these are not checked.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.errors import AccessDeniedError, ClusterError
from rebalance_agent.groupprotocol.coordinator_partition import OFFSETS_TOPIC, offsets_partition
from rebalance_agent.model.episode import Source
from rebalance_agent.model.group import GroupType
from rebalance_agent.tracking.observations import GroupVanished
from rebalance_agent.tracking.views import GroupView

__all__ = ["ASKED_MAX", "VANISHED_EVERY_S", "VanishedGroups"]

VANISHED_EVERY_S = 240.0
"""Seconds between checks: such groups are rare, and have no members."""

TIMES = 3
"""Number of consecutive answers after which a group counts as gone: an isolated broker gives fewer such answers."""

ASKED_MAX = 100
"""Maximum number of groups per check, about 0.1 s of the coordinators' time; other groups follow in later checks."""

DENIED_ROUNDS = 15
"""Number of checks to skip if describing is denied: more than a request per hour would only fill the brokers' audit
log."""

_ASKED_OF = frozenset({GroupType.CLASSIC, GroupType.CONSUMER})

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Doubt:
    """A group that ``times`` counted answers reported as absent.

    The next such answer is counted when all records before ``end`` (offset in ``partition``) have been read and the
    group is still unlisted.
    """

    first_seen_ms: int
    partition: int
    end: int
    times: int = 0


@dataclass(eq=False)
class VanishedGroups:
    """Checks unlisted groups at each call; puts `GroupVanished`. Listed groups need no requests.

    ``views``: all current groups. ``reached``: partition -> the offset before which all records were observed.
    """

    context: CollectorContext
    views: Callable[[], Iterable[GroupView]]
    reached: Callable[[], Mapping[int, int]]

    def __post_init__(self) -> None:
        """Start without groups in doubt."""
        self._partitions = 0
        self._listed: frozenset[str] | None = None
        self._doubts: dict[str, _Doubt] = {}
        self._last = ""
        self._rounds_skipped = 0

    def on_topics(self, partitions: Mapping[str, int]) -> None:
        """Store the partition counts of all topics. Called from any thread."""
        self._partitions = partitions.get(OFFSETS_TOPIC, 0)

    def on_groups(self, names: Iterable[str]) -> None:
        """Store the names of all listed groups. Called from any thread."""
        self._listed = frozenset(names)

    def __call__(self) -> None:
        """Check the next groups. Never raises."""
        unlisted = self._unlisted()
        self._confirm(unlisted)
        if self._rounds_skipped:
            self._rounds_skipped -= 1
            return
        if not (asked := self._next_batch(sorted(unlisted))):
            return
        try:
            self._ask(asked, unlisted)
        except AccessDeniedError:
            self._rounds_skipped = DENIED_ROUNDS
        except ClusterError as error:
            _log.debug("groups that may be gone were not described: %s", error)

    def _unlisted(self) -> dict[str, GroupView]:
        """Return group -> view, for shown groups that are known from records and were not listed."""
        listed, count = self._listed, self._partitions
        if listed is None or not count:
            return {}
        return {
            view.group: view
            for view in self.views()
            if view.group not in listed
            and view.source is Source.RECORDS
            and view.group_type in _ASKED_OF
            and self.context.shows(view.group)
        }

    def _confirm(self, unlisted: Mapping[str, GroupView]) -> None:
        """Count the last answers whose preceding records have all been read without changing the group."""
        reached, doubts, self._doubts = self.reached(), self._doubts, {}
        for name, doubt in doubts.items():
            view = unlisted.get(name)
            if view is None or view.first_seen_ms != doubt.first_seen_ms:
                continue
            times = doubt.times + (0 <= doubt.end <= reached.get(doubt.partition, -1))
            if times >= TIMES:
                _log.warning("group %r is gone: its coordinator does not have it, and wrote no tombstone", name)
                self.context.inbox.offer(GroupVanished(self.context.clock.now_ms(), name, view.version))
            self._doubts[name] = _Doubt(doubt.first_seen_ms, doubt.partition, -1, min(times, TIMES - 1))

    def _next_batch(self, names: list[str]) -> list[str]:
        """Return the groups to query now: the groups after the previous batch, then again from the first group on."""
        later = [name for name in names if name > self._last]
        batch = (later + names[: len(names) - len(later)])[:ASKED_MAX]
        self._last = batch[-1] if len(names) > ASKED_MAX else ""
        return batch

    def _ask(self, names: list[str], unlisted: Mapping[str, GroupView]) -> None:
        absent = self.context.cluster.absent_groups(names)
        for name in set(names) - absent:
            self._doubts.pop(name, None)
        partition_of = {name: offsets_partition(name, self._partitions) for name in absent}
        # Request the end offsets after the answers: records that led to the answers were written before.
        ends = self.context.cluster.end_offsets(OFFSETS_TOPIC, set(partition_of.values()))
        for name, partition in partition_of.items():
            doubt = self._doubts.get(name)
            times = doubt.times if doubt else 0
            self._doubts[name] = _Doubt(unlisted[name].first_seen_ms, partition, ends[partition], times)
