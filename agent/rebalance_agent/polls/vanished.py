"""Groups that went without a tombstone: the log still tells of them, and their coordinator has no such group.

Somebody cut the offsets topic, or its coordinator failed to write the tombstone: nothing that is read will ever say so.
ListGroups cannot either, since it hides what may not be described, so it only tells whom to ask about. What counts is
DescribeGroups: only who may see a group is told that there is none. Whatever was written before that answer is read
before it is believed, so a deletion that is merely on its way is told by its tombstone.

Share and streams groups are asked for by requests that librdkafka does not have; of them nothing is concluded.
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
"""How often such groups are asked about: they are rare, and nobody is in them."""

TIMES = 3
"""Answers in a row until it is believed: a broker that was cut off does not speak for its groups for so long."""

ASKED_MAX = 100
"""Groups asked about at a time, some 0.1 s of the coordinators' time; the others come next time."""

DENIED_ROUNDS = 15
"""Left out where none of them may be described: to ask more than once an hour only fills the brokers' audit log."""

_ASKED_OF = frozenset({GroupType.CLASSIC, GroupType.CONSUMER})

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Doubt:
    """``times`` it was said that the group is not there; once more if all before ``end`` was read and it still is."""

    first_seen_ms: int
    partition: int
    end: int
    times: int = 0


class VanishedGroups:
    """Call it every `VANISHED_EVERY_S`; puts `GroupVanished`. Groups that are listed cost nothing."""

    def __init__(
        self,
        context: CollectorContext,
        views: Callable[[], Iterable[GroupView]],
        reached: Callable[[], Mapping[int, int]],
    ) -> None:
        """``views``: all groups now. ``reached``: offsets before which all of a partition was observed."""
        self._context = context
        self._views = views
        self._reached = reached
        self._partitions = 0
        self._listed: frozenset[str] | None = None
        self._doubts: dict[str, _Doubt] = {}
        self._last = ""
        self._rounds_skipped = 0

    def on_topics(self, partitions: Mapping[str, int]) -> None:
        """Partition counts were read. Called from any thread."""
        self._partitions = partitions.get(OFFSETS_TOPIC, 0)

    def on_groups(self, names: Iterable[str]) -> None:
        """These groups were listed. Called from any thread."""
        self._listed = frozenset(names)

    def __call__(self) -> None:
        """Ask; never raises."""
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
            _log.debug("groups that may have vanished were not asked about: %s", error)

    def _unlisted(self) -> dict[str, GroupView]:
        """Groups that only records tell of now."""
        listed, count = self._listed, self._partitions
        if listed is None or not count:
            return {}
        return {
            view.group: view
            for view in self._views()
            if view.group not in listed
            and view.source is Source.RECORDS
            and view.group_type in _ASKED_OF
            and self._context.shows(view.group)
        }

    def _confirm(self, unlisted: Mapping[str, GroupView]) -> None:
        """What was said last time counts where all that was written before has been read, and changed nothing."""
        reached, doubts, self._doubts = self._reached(), self._doubts, {}
        for name, doubt in doubts.items():
            view = unlisted.get(name)
            if view is None or view.first_seen_ms != doubt.first_seen_ms:
                continue
            times = doubt.times + (0 <= doubt.end <= reached.get(doubt.partition, -1))
            if times >= TIMES:
                _log.warning("group %r is gone: its coordinator does not know it, and wrote no tombstone", name)
                self._context.inbox.offer(GroupVanished(self._context.clock.now_ms(), name, view.version))
            self._doubts[name] = _Doubt(doubt.first_seen_ms, doubt.partition, -1, min(times, TIMES - 1))

    def _next_batch(self, names: list[str]) -> list[str]:
        """Those whose batch it is: after the last ones that were asked about, and then from the first on."""
        later = [name for name in names if name > self._last]
        batch = (later + names[: len(names) - len(later)])[:ASKED_MAX]
        self._last = batch[-1] if len(names) > ASKED_MAX else ""
        return batch

    def _ask(self, names: list[str], unlisted: Mapping[str, GroupView]) -> None:
        absent = self._context.cluster.absent_groups(names)
        for name in set(names) - absent:
            self._doubts.pop(name, None)
        partition_of = {name: offsets_partition(name, self._partitions) for name in absent}
        # Asked for after the answers: what led to them was written before.
        ends = self._context.cluster.end_offsets(OFFSETS_TOPIC, set(partition_of.values()))
        for name, partition in partition_of.items():
            known = self._doubts.get(name)
            times = known.times if known else 0
            self._doubts[name] = _Doubt(unlisted[name].first_seen_ms, partition, ends[partition], times)
