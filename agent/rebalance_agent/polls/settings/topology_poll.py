"""Reads the topologies of streams groups (KIP-1071), which change only with a new version of the application."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.cluster.describing.topologies import TopologiesRead
from rebalance_agent.cluster.repeated_poll import LoggedReasons
from rebalance_agent.cluster.worker import failure_reason
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.epoch_groups import StreamsTopology
from rebalance_agent.model.group import GroupType
from rebalance_agent.polls.settings.read_schedule import ReadSchedule
from rebalance_agent.tracking.observations import TopologiesSeen
from rebalance_agent.tracking.views import GroupView

__all__ = ["ALL_BYTES_MAX", "TopologyPoll", "TopologyReader"]

ALL_BYTES_MAX = 16 << 20
"""Maximum size of the names in all topologies that are kept; a topology beyond it is not shown."""

_log = logging.getLogger(__name__)


class TopologyReader(Protocol):
    """Reads topologies; see `Topologies`."""

    def read(self, selects: Callable[[str], bool]) -> TopologiesRead:
        """Return the topologies of the streams groups that ``selects`` accepts."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


class TopologyPoll:
    """Puts `TopologiesSeen` at each call, with the topologies of all streams groups that are shown.

    It sends no request while there is no streams group. Failures are logged and do not make the observer unready: after
    a failure, a group keeps its topology.
    """

    def __init__(
        self,
        context: CollectorContext,
        views: Callable[[], Iterable[GroupView]],
        make: Callable[[], TopologyReader],
    ) -> None:
        """``views`` returns all current groups.

        ``make`` is called when a reader is needed. If it raises `InvalidInputError`, because this cluster's login
        cannot be used, no topology is read.
        """
        self._context, self._views, self._make = context, views, make
        self._reader: TopologyReader | None = None
        self._unusable = False
        self._schedule = ReadSchedule()
        self._topologies: dict[str, StreamsTopology | None] = {}
        self._refused = set[str]()  # groups whose last response was a refusal
        self._warned = LoggedReasons(_log, "topologies of streams groups are not shown: {}")

    def __call__(self) -> None:
        """Read the topologies that are due, the longest overdue first. Never raises."""
        groups = sorted(view.group for view in self._views() if view.group_type is GroupType.STREAMS)
        now = self._context.clock.monotonic()
        overdue = self._schedule.overdue(groups, now)
        self._topologies = {group: self._topologies[group] for group in groups if group in self._topologies}
        if not groups or self._unusable or self._context.inbox.closed:
            self.close()
            return
        self._refused.intersection_update(groups)
        if overdue:
            self._read(overdue, now)
        if self._topologies:
            # All topologies each time: a group that was dropped and is known again has no topology until now.
            self._context.inbox.offer(TopologiesSeen(self._context.clock.now_ms(), dict(self._topologies)))

    def close(self) -> None:
        """Close the connections; the next call opens them again if they are needed."""
        if self._reader is not None:
            self._reader.close()
        self._reader = None

    def _read(self, groups: list[str], now: float) -> None:
        self._schedule.retry(groups, now)  # soon again, also if a group has no topology because it is not ready
        try:
            self._reader = self._reader or self._make()
            found = self._reader.read(set(groups).__contains__)
        except InvalidInputError as error:
            self._unusable = True
            self._warned.warn(str(error))
        except Exception as error:  # noqa: BLE001 - a bug in this package must not end the polling
            self._warned.warn(failure_reason(error, "topologies", _log))
        else:
            refused = {**found.refused, **self._keep(found.groups)}
            self._schedule.refresh((group for group, topology in found.groups.items() if topology), now)
            for group, reason in refused.items():
                self._warned.warn(f"for example of {group!r}: {reason}")
            self._refused = (self._refused - found.groups.keys()) | refused.keys()
            if not self._refused:
                self._warned.clear()

    def _keep(self, found: Mapping[str, StreamsTopology | None]) -> dict[str, str]:
        """Keep the topologies; return, by group, why one is not kept."""
        self._topologies |= dict.fromkeys(found)
        room = ALL_BYTES_MAX - sum(map(_size, self._topologies.values()))
        refused: dict[str, str] = {}
        for group, topology in found.items():
            if (size := _size(topology)) > room:
                refused[group] = f"the names of all topologies have more than {ALL_BYTES_MAX} bytes"
            else:
                room -= size
                self._topologies[group] = topology
        return refused


def _size(topology: StreamsTopology | None) -> int:
    return topology.names_bytes if topology else 0
