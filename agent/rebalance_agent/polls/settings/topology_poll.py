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
from rebalance_agent.tracking.observations import TopologiesSeen
from rebalance_agent.tracking.views import GroupView

__all__ = ["GROUPS_MAX", "NAMES_MAX", "READ_EVERY_S", "REFRESH_S", "RETRY_S", "TopologyPoll", "TopologyReader"]

READ_EVERY_S = 15.0
"""Seconds between checks for streams groups whose topology is due; the topology of a new group is read this soon."""

REFRESH_S = 300.0
"""Seconds between two reads of a group's topology."""

RETRY_S = 60.0
"""Seconds until a topology is read again after a failure, or if the group had none because it was not ready."""

GROUPS_MAX = 20
"""Maximum number of groups whose topologies one check reads, with one request each."""

NAMES_MAX = 16 << 20
"""Maximum number of characters in the names of all topologies that are kept; a topology beyond it is not shown."""

_NOW = float("-inf")

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
        self._due: dict[str, float] = {}
        self._topologies: dict[str, StreamsTopology | None] = {}
        self._refused = set[str]()  # groups whose last response was a refusal
        self._warned = LoggedReasons(_log, "topologies of streams groups are not shown: {}")

    def __call__(self) -> None:
        """Read the topologies that are due, the longest overdue first. Never raises."""
        groups = sorted(view.group for view in self._views() if view.group_type is GroupType.STREAMS)
        self._due = {group: self._due.get(group, _NOW) for group in groups}
        self._topologies = {group: self._topologies[group] for group in groups if group in self._topologies}
        if not groups or self._unusable or self._context.inbox.closed:
            self.close()
            return
        now = self._context.clock.monotonic()
        overdue = sorted((group for group in groups if self._due[group] <= now), key=self._due.__getitem__)
        if overdue:
            self._read(overdue[:GROUPS_MAX], now)
        if self._topologies:
            # All topologies each time: a group that was dropped and is known again has no topology until now.
            self._context.inbox.offer(TopologiesSeen(self._context.clock.now_ms(), dict(self._topologies)))

    def close(self) -> None:
        """Close the connections; the next call opens them again if they are needed."""
        if self._reader is not None:
            self._reader.close()
        self._reader = None

    def _read(self, groups: list[str], now: float) -> None:
        self._due |= dict.fromkeys(groups, now + RETRY_S)
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
            self._due |= {group: now + REFRESH_S for group, topology in found.groups.items() if topology}
            for group, reason in refused.items():
                self._warned.warn(f"for example of {group!r}: {reason}")
            self._refused = (self._refused & self._due.keys() - found.groups.keys()) | refused.keys()
            if not self._refused:
                self._warned.clear()

    def _keep(self, found: Mapping[str, StreamsTopology | None]) -> dict[str, str]:
        """Keep the topologies; return, by group, why one is not kept."""
        self._topologies |= dict.fromkeys(found)
        room = NAMES_MAX - sum(map(_characters, self._topologies.values()))
        refused: dict[str, str] = {}
        for group, topology in found.items():
            if (size := _characters(topology)) > room:
                refused[group] = f"the names of all topologies have more than {NAMES_MAX} characters"
            else:
                room -= size
                self._topologies[group] = topology
        return refused


def _characters(topology: StreamsTopology | None) -> int:
    return sum(map(len, topology.names)) if topology else 0
