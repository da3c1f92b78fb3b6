"""Descriptions with epochs, of consumer, share and streams groups: their generations where the log may not be read.

librdkafka has no requests for most of it, so they go through kafka-python, if it is installed and can log in.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.cluster.describing.epoch_describer import EpochListing, Place
from rebalance_agent.cluster.repeated_poll import Poll
from rebalance_agent.errors import ClusterError, InvalidInputError
from rebalance_agent.model.group import SETTLED, GroupState
from rebalance_agent.polls.describe_groups import BATCH_MAX
from rebalance_agent.tracking.observations import DescribedGroup, GroupDescribed

__all__ = ["MOVING", "MOVING_MAX", "Describer", "EpochPoll"]

MOVING = (GroupState.NOT_READY, GroupState.ASSIGNING, GroupState.RECONCILING)
"""The states of groups whose members reconcile."""

MOVING_MAX = 100
"""Maximum groups that `EpochPoll.again` describes in one call, in turn: it is called several times a second."""

_log = logging.getLogger(__name__)


class Describer(Protocol):
    """Lists and describes groups; see `EpochDescriber`."""

    def list_groups(self, states: Collection[GroupState] = ()) -> EpochListing:
        """List groups in any of ``states``; empty: all."""
        ...

    def describe(self, groups: Mapping[str, Place]) -> list[DescribedGroup]:
        """Describe ``groups``."""
        ...


class EpochPoll:
    """Describes all groups whose coordinator assigns at each `poll`, and those whose members reconcile at each `again`.

    It puts a `GroupDescribed` for each. Nothing is requested while ``needed()`` is false.
    """

    def __init__(
        self, context: CollectorContext, make: Callable[[], Describer], needed: Callable[[], bool] = lambda: True
    ) -> None:
        """``make`` is called once, when a description is first needed.

        It raises `InvalidInputError` if this cluster's login cannot be used; then nothing is described here.
        """
        self._context, self._make, self._needed = context, make, needed
        self._describer: Describer | None = None
        self._refused = False
        self._listed: Mapping[str, Place] = {}
        self._listed_ms: int | None = None
        self._idle_ms: int | None = None
        self._moving: dict[str, Place] = {}
        self._lock = threading.Lock()  # the two polls run in different threads
        self.poll = Poll("describe", self._ask, context)
        self.again = Poll("describe", self._ask_moving, context)

    def handles(self, group: str) -> bool:
        """Whether ``group`` is described here. From any thread."""
        return group in self._listed

    def _ask(self) -> None:
        with self._lock:
            describer = self._ready()
            if describer is None:
                return
            asked_ms = self._context.clock.now_ms()
            listing = describer.list_groups()
            shown = self._shown(listing)
            before, absent_ms = self._listed, self._listed_ms
            self._listed = shown if listing.complete else {**before, **shown}
            if listing.complete:
                self._listed_ms = asked_ms
                for name in before.keys() - shown.keys():
                    gone = DescribedGroup(name, GroupState.DEAD, before[name].group_type, None, ())
                    self._context.inbox.offer(GroupDescribed(asked_ms, gone, self._context.clock.now_ms()))
                    self._moving.pop(name, None)
            names = sorted(shown)
            for start in range(0, len(names), BATCH_MAX):
                batch = {name: shown[name] for name in names[start : start + BATCH_MAX]}
                self._describe(describer, batch, absent_ms, new=batch.keys() - before.keys())

    def _ask_moving(self) -> None:
        with self._lock:
            describer = self._ready()
            if describer is None or self._listed_ms is None:
                return
            asked_ms, idle_ms = self._context.clock.now_ms(), self._idle_ms
            listing = describer.list_groups(MOVING)
            self._idle_ms = asked_ms if listing.complete else None
            found = self._shown(listing)
            begun, new = found.keys() - self._moving.keys(), found.keys() - self._listed.keys()
            self._moving |= found
            self._listed = {**self._listed, **found}
            turn = dict(list(self._moving.items())[:MOVING_MAX])
            for name in turn:
                del self._moving[name]
            self._describe(describer, turn, self._listed_ms, new=new, begun=begun, idle_ms=idle_ms)

    def _shown(self, listing: EpochListing) -> dict[str, Place]:
        return {name: place for name, place in listing.groups.items() if self._context.shows(name)}

    def _describe(
        self,
        describer: Describer,
        groups: Mapping[str, Place],
        absent_ms: int | None,
        *,
        new: Collection[str],
        begun: Collection[str] = (),
        idle_ms: int | None = None,
    ) -> None:
        """Describe ``groups``; ``new``: those that were not listed at ``absent_ms``.

        ``begun``: those that were not listed as moving at ``idle_ms``, and are now.
        """
        if self._context.inbox.closed or not groups:
            return
        asked_ms = self._context.clock.now_ms()
        described = describer.describe(groups)
        answered_ms = self._context.clock.now_ms()
        self._moving |= {each.group: groups[each.group] for each in described if each.state not in SETTLED}
        for group in described:
            absent = absent_ms if group.group in new else None
            idle = idle_ms if group.group in begun else None
            self._context.inbox.offer(GroupDescribed(asked_ms, group, answered_ms, absent, idle))

    def _ready(self) -> Describer | None:
        if self._refused or not self._needed():
            return None
        if self._describer is None:
            try:
                self._describer = self._make()
            except InvalidInputError as error:
                self._refused = True
                _log.warning("groups of the newer protocols are described without epochs: %s", error)
            except ClusterError as error:
                raise ClusterError(f"describing epochs: {error}") from None
        return self._describer
