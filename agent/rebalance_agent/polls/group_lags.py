"""The lags of all followed groups: the two polls that measure them, and one mapping of their results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.cluster.describing.share_offsets import ShareOffsets
from rebalance_agent.cluster.name_filters import NameFilter
from rebalance_agent.polls.lag_and_rates import LoadsPoll
from rebalance_agent.polls.share_lag import ShareLagPoll
from rebalance_agent.tracking.lag.group_lag import NO_LAGS, GroupLag
from rebalance_agent.tracking.views import GroupView

__all__ = ["GroupLags"]

_Lags = Mapping[str, GroupLag]


@dataclass(slots=True)
class GroupLags:
    """``loads`` measures groups that commit offsets, ``shared`` measures share groups."""

    loads: LoadsPoll
    shared: ShareLagPoll
    _joined: tuple[_Lags, _Lags, _Lags] = field(default=(NO_LAGS, NO_LAGS, NO_LAGS), init=False)

    @classmethod
    def of(
        cls,
        context: CollectorContext,
        lag_groups: str,
        views: Callable[[], Iterable[GroupView]],
        tailing: Callable[[], bool],
    ) -> GroupLags | None:
        """Return the polls for the groups that match the regular expression ``lag_groups``; None if it is empty."""
        if not lag_groups:
            return None
        follows = NameFilter(lag_groups)
        shared = ShareLagPoll(context, follows, views, lambda: ShareOffsets(context.cluster.broker_client()))
        return cls(LoadsPoll(context, follows, views, tailing), shared)

    def __call__(self) -> _Lags:
        """Return group -> lag at the last measurement, a new mapping after each measurement. Thread-safe."""
        loads, shared = self.loads.lags, self.shared.lags
        if not shared:
            return loads
        if self._joined[0] is not loads or self._joined[1] is not shared:
            self._joined = loads, shared, {**loads, **shared}
        return self._joined[2]
