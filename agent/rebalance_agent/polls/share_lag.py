"""Measures the lag of share groups: only their coordinators store which records are acknowledged.

librdkafka lacks the request, so kafka-python sends it, if it is installed and can log in.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from rebalance_agent.cluster.backoff import Backoff
from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.cluster.describing.share_offsets import ShareOffset, SharePositions
from rebalance_agent.cluster.repeated_poll import LoggedReasons
from rebalance_agent.cluster.worker import failure_reason
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.model.group import GroupType
from rebalance_agent.tracking.lag.end_offsets import EndOffsets
from rebalance_agent.tracking.lag.group_lag import NO_LAGS, GroupLag, Unread, group_lag, unread_topics
from rebalance_agent.tracking.patterns.produce_rates import ProduceRates
from rebalance_agent.tracking.views import GroupView

__all__ = ["PARTITIONS_MAX", "RETRY_MAX_S", "PositionReader", "ShareLagPoll"]

PARTITIONS_MAX = 20_000
"""Maximum number of partitions of share groups that are measured, in whole groups ordered by name."""

RETRY_MAX_S = 60.0
"""Longest time (seconds) between attempts after failures."""

_log = logging.getLogger(__name__)


class PositionReader(Protocol):
    """Reads positions of share groups; see `ShareOffsets`."""

    def read(self, selects: Callable[[str], bool]) -> SharePositions:
        """Return the positions of the share groups that ``selects`` accepts."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


class ShareLagPoll:
    """Measures the followed share groups at each `poll`; sends no request while no such group is known.

    Failures are logged and do not make the observer unready; a group without a measurement has no lag.
    """

    def __init__(
        self,
        context: CollectorContext,
        follows: Callable[[str], bool],
        views: Callable[[], Iterable[GroupView]],
        make: Callable[[], PositionReader],
    ) -> None:
        """``follows`` selects groups by name. ``views`` returns all current groups.

        ``make`` is called when a reader is needed. If it raises `InvalidInputError`, because this cluster's login
        cannot be used, nothing is measured.

        ``lags``: group -> lag at the last measurement; this mapping is replaced, never changed. Any thread may read it.
        """
        self.lags: Mapping[str, GroupLag] = NO_LAGS
        self._context, self._follows, self._views, self._make = context, follows, views, make
        self._reader: PositionReader | None = None
        self._unusable = False
        self._ends, self._production = EndOffsets(), ProduceRates()
        self._backoff, self._not_before = Backoff(1.0, RETRY_MAX_S), float("-inf")
        self._warned = LoggedReasons(_log, "the lag of share groups is not measured: {}")

    def poll(self) -> None:
        """Measure. Never raises."""
        followed = {view.group for view in self._views() if view.group_type is GroupType.SHARE}
        followed = {group for group in followed if self._follows(group)}
        if not followed or self._unusable or self._context.inbox.closed:
            self.close()
            return
        if self._context.clock.monotonic() < self._not_before:
            return
        try:
            self.lags = self._measured(followed)
        except InvalidInputError as error:
            self._unusable = True
            self._warned.warn(str(error))
        except Exception as error:  # noqa: BLE001 - a bug in this package must not end the polling
            self.lags = NO_LAGS
            self._not_before = self._context.clock.monotonic() + self._backoff.next()
            self._warned.warn(failure_reason(error, "share_lag", _log))
        else:
            self._backoff.reset()

    def close(self) -> None:
        """Close the connections; the groups have no lag until the next `poll`."""
        if self._reader is not None:
            self._reader.close()
        self._reader, self.lags = None, NO_LAGS

    def _measured(self, followed: set[str]) -> Mapping[str, GroupLag]:
        self._reader = self._reader or self._make()
        found = self._reader.read(followed.__contains__)
        chosen = self._within_limit(found.groups)
        now = self._context.clock.monotonic()
        ends = self._context.cluster.ends(set().union(*chosen.values()))
        self._ends.take(now, ends)
        self._production.take(now, ends)
        for group, reason in found.refused.items():
            self._warned.warn(f"for example of {group!r}: {reason}")
        lags = {group: self._lag(positions) for group, positions in chosen.items()}
        return {group: lag for group, lag in lags.items() if lag}

    def _lag(self, positions: Mapping[Partition, ShareOffset]) -> GroupLag | None:
        unread = (Unread(partition, at.start, at.lag) for partition, at in positions.items())
        rates = (self._production.rate(partition) for partition in positions)
        return group_lag(unread_topics(unread, self._ends), rates)

    def _within_limit(
        self, groups: Mapping[str, Mapping[Partition, ShareOffset]]
    ) -> Mapping[str, Mapping[Partition, ShareOffset]]:
        chosen, room = {}, PARTITIONS_MAX
        for group, positions in sorted(groups.items()):
            if len(positions) <= room:
                chosen[group] = positions
                room -= len(positions)
            else:
                self._warned.warn(f"for example of {group!r}: at most {PARTITIONS_MAX} partitions are measured")
        return chosen
