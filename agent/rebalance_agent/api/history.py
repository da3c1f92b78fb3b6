"""Keeps the last published rebalances of every group, with bounds on groups, rebalances and bytes.

Events are kept as compressed JSON lines, whose size is known exactly and a tenth of the objects' size. The lines are
decoded only when a rebalance is requested.
"""

from __future__ import annotations

import itertools
import threading
import zlib
from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, cast

from rebalance_agent.api.history_reports import DecodedReports, HistoryReports
from rebalance_agent.api.shapes import Rebalance, RebalanceDetail, RebalanceKind, RebalanceList
from rebalance_agent.api.view_shapes import build_aborted, build_rebalance
from rebalance_agent.model.event_json import event_from_json, json_line, json_object
from rebalance_agent.model.events import AbortedEvent, AssignEvent, Event, GenerationEvent, GroupGoneEvent, MemberEvent
from rebalance_agent.model.reported.deliveries_event import DeliveriesEvent
from rebalance_agent.model.reported.seat_event import SeatEvent
from rebalance_agent.model.rollout import RolloutEvent

__all__ = ["EpisodeHistory", "HistoryLimits"]

OPEN_MAX = 32
"""Maximum number of generations of a rebalance that has not closed: twice as many as the tracker allows."""

LINE_BYTES = 1_500
"""Approximate bytes of a rebalance's entry in the list, without its events."""


class HistoryLimits(NamedTuple):
    """Bounds: ``rebalances``, ``rollouts`` and member ``reports`` per group; ``groups`` and ``size_bytes`` in total.

    The defaults suffice for a day of an ordinary group, and for about 15,000 rebalances of 20 members each in total.
    """

    rebalances: int = 50
    rollouts: int = 10
    reports: int = 400
    groups: int = 10_000
    size_bytes: int = 32 << 20


@dataclass(frozen=True, slots=True)
class _Episode:
    """``before``: the generation from which the episode began, if no other episode has this generation."""

    line: Rebalance
    packed: bytes
    before: bytes = b""

    @property
    def size(self) -> int:
        return len(self.packed) + len(self.before) + LINE_BYTES

    @property
    def event_ids(self) -> set[str]:
        return {self.line.id, *(step.event_id for step in self.line.generations)}


class _Open(NamedTuple):
    """A generation of a rebalance that has not closed."""

    event_id: str
    episode_generation: int
    packed: bytes


@dataclass(slots=True)
class _Group:
    reports: HistoryReports
    episodes: deque[_Episode] = field(default_factory=deque)
    rollouts: OrderedDict[str, RolloutEvent] = field(default_factory=OrderedDict)
    open: list[_Open] = field(default_factory=list)

    @property
    def only_reports(self) -> bool:
        return not (self.episodes or self.rollouts or self.open)

    @property
    def size(self) -> int:
        packed = self.reports.size + sum(len(generation.packed) for generation in self.open)
        return sum(episode.size for episode in self.episodes) + packed + LINE_BYTES * len(self.rollouts)


class EpisodeHistory:
    """The rebalances, rollouts and member reports of each group, until the group is deleted. Thread-safe."""

    def __init__(self, limits: HistoryLimits | None = None) -> None:
        """Start empty, with ``limits`` or the default limits."""
        self._limits = limits or HistoryLimits()
        self._lock = threading.Lock()
        self._groups: OrderedDict[str, _Group] = OrderedDict()
        self._only_reported: OrderedDict[str, None] = OrderedDict()
        self._sizes: dict[str, int] = {}
        self._decoded = DecodedReports()
        self._size = 0

    @property
    def size_bytes(self) -> int:
        """Bytes in use now, counting only packed events and `LINE_BYTES` per line."""
        return self._size

    def on_event(self, event: Event) -> None:
        """Store a published event, or a member's report."""
        with self._lock:
            match event:
                case GroupGoneEvent():
                    self._drop(event.group)
                case GenerationEvent():
                    self._generation(event)
                case AbortedEvent():
                    self._keep(event.group, _Episode(build_aborted(event), _pack((event,))))
                case RolloutEvent():
                    self._rollout(event)
                case MemberEvent():
                    self._touch(event.group).reports.add(event)
                case AssignEvent() | DeliveriesEvent() | SeatEvent():
                    pass
            if event.group in self._groups:
                self._bound(event.group)

    def on_generation_before(self, event: GenerationEvent) -> None:
        """Keep the generation from which a kept rebalance began, if no event was published for this generation."""
        with self._lock:
            group = self._groups.get(event.group)
            if group is None:
                return
            for index, episode in enumerate(group.episodes):
                line = episode.line
                if line.kind is RebalanceKind.COMPLETED and line.previous_generation == event.generation:
                    group.episodes[index] = replace(episode, before=_pack((event,)))
                    self._bound(event.group)
                    return

    def rebalances(self, group: str) -> RebalanceList | None:
        """Return a group's kept rebalances and rollouts, newest first; None if the group is not stored."""
        with self._lock:
            entry = self._groups.get(group)
            if entry is None:
                return None
            lines = tuple(episode.line for episode in reversed(entry.episodes))
            return RebalanceList(group, lines, tuple(reversed(entry.rollouts.values())))

    def recent(self, since_ms: int) -> Mapping[str, int]:
        """Return group -> number (not 0) of rebalances completed since ``since_ms`` (epoch ms)."""
        with self._lock:
            counts = {name: _completed_since(group.episodes, since_ms) for name, group in self._groups.items()}
        return {name: count for name, count in counts.items() if count}

    def rebalance(self, group: str, identity: str) -> RebalanceDetail | None:
        """Return the rebalance that has an event with this id, with all its events; None if there is none."""
        with self._lock:
            entry = self._groups.get(group)
            episodes = entry.episodes if entry else ()
            episode = next((episode for episode in episodes if identity in episode.event_ids), None)
            reports = entry.reports.all() if entry else ()
        if episode is None:
            return None
        about = self._decoded.about(group, episode.line, reports)
        before = _unpack(episode.before) if episode.before else ()
        return RebalanceDetail(group, episode.line, _unpack(episode.packed), about, before)

    def _generation(self, event: GenerationEvent) -> None:
        group = self._touch(event.group)
        for index, episode in enumerate(group.episodes):
            if event.event_id in episode.event_ids:
                generations = cast("tuple[GenerationEvent, ...]", _unpack(episode.packed))
                revised = _episode([_newest(generation, event) for generation in generations])
                group.episodes[index] = replace(revised, before=episode.before)
                return
        # Open generations of another rebalance are dropped: that rebalance never closed, or was published again after
        # it was forgotten.
        same = [generation for generation in group.open if generation.episode_generation == event.episode_generation]
        group.open = [generation for generation in same if generation.event_id != event.event_id]
        if event.closes_episode or len(group.open) + 1 >= OPEN_MAX:
            earlier = [cast("GenerationEvent", part) for open_ in group.open for part in _unpack(open_.packed)]
            group.open = []
            self._keep(event.group, _episode([*earlier, event]))
        else:
            group.open.append(_Open(event.event_id, event.episode_generation, _pack((event,))))

    def _keep(self, name: str, episode: _Episode) -> None:
        episodes = self._touch(name).episodes
        same = next((index for index, other in enumerate(episodes) if other.line.id == episode.line.id), None)
        if same is None:
            episodes.append(episode)
        else:
            episodes[same] = replace(episode, before=episodes[same].before)
        while len(episodes) > self._limits.rebalances:
            episodes.popleft()

    def _rollout(self, event: RolloutEvent) -> None:
        rollouts = self._touch(event.group).rollouts
        rollouts[event.event_id] = event
        while len(rollouts) > self._limits.rollouts:
            rollouts.popitem(last=False)

    def _touch(self, name: str) -> _Group:
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = _Group(HistoryReports(self._limits.reports))
        self._groups.move_to_end(name)
        return group

    def _bound(self, changed: str) -> None:
        """Enforce the limits: the groups that changed longest ago are dropped first.

        Groups that have only reports are dropped before all others, since a report may name any group.
        """
        self._measure(changed)
        while len(self._groups) > self._limits.groups:
            self._drop(self._first())
        while self._size > self._limits.size_bytes:
            name = self._first()
            group = self._groups[name]
            if len(group.episodes) > 1:
                group.episodes.popleft()
                group.reports.clear()
                self._measure(name)
            else:
                self._drop(name)

    def _first(self) -> str:
        return next(iter(self._only_reported or self._groups))

    def _measure(self, name: str) -> None:
        size = self._groups[name].size
        self._only_reported.pop(name, None)
        if self._groups[name].only_reports:
            self._only_reported[name] = None
        self._size += size - self._sizes.get(name, 0)
        self._sizes[name] = size

    def _drop(self, name: str) -> None:
        self._groups.pop(name, None)
        self._only_reported.pop(name, None)
        self._size -= self._sizes.pop(name, 0)


def _completed_since(episodes: deque[_Episode], since_ms: int) -> int:
    newest_first = (episode.line for episode in reversed(episodes))
    lines = itertools.takewhile(lambda line: line.timestamp_ms >= since_ms, newest_first)
    return sum(line.kind is RebalanceKind.COMPLETED for line in lines)


def _episode(events: Sequence[GenerationEvent]) -> _Episode:
    return _Episode(build_rebalance(events), _pack(events))


def _newest(previous: GenerationEvent, event: GenerationEvent) -> GenerationEvent:
    """Return ``event`` if it is a higher revision of ``previous``, since replicas may publish a fact twice."""
    return event if event.event_id == previous.event_id and event.revision > previous.revision else previous


def _pack(events: Iterable[Event]) -> bytes:
    return zlib.compress(b"\n".join(map(json_line, events)), level=1)


def _unpack(packed: bytes) -> tuple[Event, ...]:
    return tuple(event_from_json(json_object(line)) for line in zlib.decompress(packed).splitlines())
