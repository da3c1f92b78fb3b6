"""Describes consumer, share and streams groups with epochs: the source of generations if the log cannot be read.

librdkafka lacks most of these requests, so kafka-python sends them if it is installed and can log in. If kafka-python
cannot log in, or a broker refuses, consumer groups are described without epochs (`describe_groups`).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping
from itertools import islice
from typing import Protocol

from rebalance_agent.cluster.backoff import Backoff
from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.cluster.describing.epoch_describer import EpochDescriptions, EpochListing, Place
from rebalance_agent.cluster.repeated_poll import LoggedReasons
from rebalance_agent.cluster.worker import failure_reason
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.group import SETTLED, GroupState
from rebalance_agent.tracking.observations import DescribedGroup, GroupDescribed

__all__ = ["BATCH_MAX", "MOVING", "MOVING_MAX", "Describer", "EpochPoll"]

BATCH_MAX = 20
"""Maximum number of groups per request: a group of 20 members takes 1.5 ms to decode, and if one group has changed, all
groups of the request are decoded."""

MOVING = (GroupState.NOT_READY, GroupState.ASSIGNING, GroupState.RECONCILING)
"""The states of groups whose members reconcile."""

MOVING_MAX = 100
"""Maximum number of groups that one call of `EpochPoll.again` describes, in turn: it runs several times a second."""

RETRY_MAX_S = 60.0
"""Longest time (seconds) between attempts after failures."""

_TEXT = "groups of the newer protocols are described without epochs: {}"

_log = logging.getLogger(__name__)


class Describer(Protocol):
    """Lists and describes groups; see `EpochDescriber`."""

    def list_groups(self, states: Collection[GroupState] = ()) -> EpochListing:
        """List the groups in any of ``states``; if ``states`` is empty, list all groups."""
        ...

    def begin_round(self) -> None:
        """Begin a round of descriptions of all groups."""
        ...

    def describe(self, groups: Mapping[str, Place], *, repeated: bool = False) -> EpochDescriptions:
        """Describe ``groups``; ``repeated``: whether this is a part of the round."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


class EpochPoll:
    """At each `poll`, describes all groups whose coordinator assigns; at each `again`, those whose members reconcile.

    It puts a `GroupDescribed` for each group. It sends no requests while ``needed()`` is false. Its failures are logged
    and do not make the observer unready: another poll describes groups that are not described here (`handles`).
    """

    def __init__(
        self, context: CollectorContext, make: Callable[[], Describer], needed: Callable[[], bool] = lambda: True
    ) -> None:
        """``make`` is called when a description is needed and there is no describer.

        If ``make`` raises `InvalidInputError`, because this cluster's login cannot be used, this poll describes no
        groups.
        """
        self._context, self._make, self._needed = context, make, needed
        self._describer: Describer | None = None
        self._unusable = self._failure = ""
        self._backoff, self._not_before = Backoff(1.0, RETRY_MAX_S), float("-inf")
        self._listed: Mapping[str, Place] = {}
        self._listed_ms: int | None = None
        self._idle_ms: int | None = None
        self._moving: dict[str, Place] = {}
        self._refused: Mapping[str, str] = {}
        self._warned = LoggedReasons(_log, _TEXT)
        self._lock = threading.Lock()  # the two polls run in different threads

    def handles(self, group: str) -> bool:
        """Whether this poll describes ``group``. Call it from any thread."""
        return not self._failure and group in self._listed and group not in self._refused

    def undescribed(self) -> str:
        """Return why some groups are described without epochs; empty if there are no such groups. Thread-safe."""
        refused = self._refused
        if not (reason := self._unusable or self._failure) and refused:
            reason = f"{len(refused)} of them, for example {(first := min(refused))!r}: {refused[first]}"
        return _TEXT.format(reason) if reason else ""

    def poll(self) -> None:
        """List and describe all groups. Never raises."""
        self._call(self._ask)

    def again(self) -> None:
        """Describe groups whose members reconcile. Never raises."""
        self._call(self._ask_moving)

    def close(self) -> None:
        """Close the connections, and drop the listed groups."""
        with self._lock:
            if self._describer is not None:
                self._describer.close()
            self._describer = self._listed_ms = self._idle_ms = None
            self._listed, self._moving, self._refused, self._failure = {}, {}, {}, ""

    def _call(self, ask: Callable[[Describer], None]) -> None:
        if self._unusable or self._context.inbox.closed or not self._needed():
            if self._describer is not None:
                self.close()
            return
        begun = self._context.clock.monotonic()
        if begun < self._not_before:
            return
        try:
            if describer := self._ready():
                ask(describer)
        except Exception as error:  # noqa: BLE001 - a bug in this package must not end the polling
            self._failure = failure_reason(error, "describe", _log)
            self._not_before = self._context.clock.monotonic() + self._backoff.next()
            self._warned.warn(self._failure)
            self._context.meters.polled("describe", self._context.clock.monotonic() - begun, None)
        else:
            self._failure = ""
            self._backoff.reset()
            self._context.meters.polled(
                "describe", self._context.clock.monotonic() - begun, self._context.clock.now_ms()
            )

    def _ready(self) -> Describer | None:
        with self._lock:
            if self._describer is None and not self._unusable:
                try:
                    self._describer = self._make()
                except InvalidInputError as error:
                    self._unusable = str(error)
                    self._warned.warn(self._unusable)
            return self._describer

    def _ask(self, describer: Describer) -> None:
        with self._lock:
            asked_ms = self._context.clock.now_ms()
            listing = describer.list_groups()
            shown = self._shown(listing)
            before, absent_ms = self._listed, self._listed_ms
            self._listed = shown if listing.complete else {**before, **shown}
            if listing.complete:
                self._listed_ms = asked_ms
                self._refused = {name: reason for name, reason in self._refused.items() if name in shown}
                for name in before.keys() - shown.keys():
                    gone = DescribedGroup(name, GroupState.DEAD, before[name].group_type, None, ())
                    self._context.inbox.offer(GroupDescribed(asked_ms, gone, self._context.clock.now_ms()))
                    self._moving.pop(name, None)
        names = sorted(shown)
        describer.begin_round()
        for start in range(0, len(names), BATCH_MAX):
            batch = {name: shown[name] for name in names[start : start + BATCH_MAX]}
            with self._lock:  # not for all batches together: `again` has to be on time
                self._describe(describer, batch, absent_ms, new=batch.keys() - before.keys(), repeated=True)
        if listing.complete and not self._refused:
            self._warned.clear()

    def _ask_moving(self, describer: Describer) -> None:
        with self._lock:
            if self._listed_ms is None:
                return
            asked_ms, idle_ms = self._context.clock.now_ms(), self._idle_ms
            listing = describer.list_groups(MOVING)
            self._idle_ms = asked_ms if listing.complete else None
            found = self._shown(listing)
            begun, new = found.keys() - self._moving.keys(), found.keys() - self._listed.keys()
            self._moving |= found
            if new:
                self._listed = {**self._listed, **found}
            turn = dict(islice(self._moving.items(), MOVING_MAX))
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
        repeated: bool = False,
    ) -> None:
        """Describe ``groups``; ``new``: the groups that were not listed at ``absent_ms``.

        ``begun``: the groups that are listed as moving now, but were not at ``idle_ms``.
        """
        if self._context.inbox.closed or not groups:
            return
        asked_ms = self._context.clock.now_ms()
        answer = describer.describe(groups, repeated=repeated)
        answered_ms = self._context.clock.now_ms()
        settled = {each.group for each in answer.groups if each.state in SETTLED} | answer.refused.keys()
        for name in groups:
            self._moving.pop(name, None)
        self._moving |= {name: place for name, place in groups.items() if name not in settled}  # at the end: in turn
        if answer.refused or not self._refused.keys().isdisjoint(groups):
            others = {name: reason for name, reason in self._refused.items() if name not in groups}
            self._refused = {**others, **answer.refused}
            for reason in set(answer.refused.values()):
                self._warned.warn(reason)
        for group in answer.groups:
            absent = absent_ms if group.group in new else None
            idle = idle_ms if group.group in begun else None
            self._context.inbox.offer(GroupDescribed(asked_ms, group, answered_ms, absent, idle))
