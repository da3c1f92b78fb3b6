"""The last rebalances of every group, as they were published: bounded in groups, rebalances and bytes.

Events are kept as compressed JSON lines. That is exact to count, a tenth of what the values take, and read back only
when somebody asks for one rebalance.
"""

from __future__ import annotations

import itertools
import threading
import zlib
from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from rebalance_agent.api.shapes import Rebalance, RebalanceDetail, RebalanceKind, RebalanceList
from rebalance_agent.api.view_shapes import build_aborted, build_rebalance, reports_about
from rebalance_agent.model.event_json import event_from_json, json_line, json_object
from rebalance_agent.model.events import (
    AbortedEvent,
    AssignEvent,
    Event,
    GenerationEvent,
    GroupGoneEvent,
    MemberEvent,
)
from rebalance_agent.model.rollout import RolloutEvent

__all__ = ["EpisodeHistory", "HistoryLimits"]

OPEN_MAX = 32
"""Generations of a rebalance that has not closed: twice what the tracker lets one have."""

LINE_BYTES = 1_500
"""What a rebalance's line of the list takes besides its events, roughly."""


class HistoryLimits(NamedTuple):
    """How much is remembered: a day of an ordinary group; in all some 15,000 rebalances of 20 members each."""

    rebalances: int = 50
    rollouts: int = 10
    reports: int = 400
    groups: int = 10_000
    size_bytes: int = 32 << 20


@dataclass(frozen=True, slots=True)
class _Episode:
    line: Rebalance
    packed: bytes

    @property
    def size(self) -> int:
        return len(self.packed) + LINE_BYTES

    @property
    def event_ids(self) -> set[str]:
        return {self.line.id, *(step.event_id for step in self.line.generations)}


class _Open(NamedTuple):
    """A generation whose rebalance has not closed."""

    event_id: str
    episode_generation: int
    packed: bytes


@dataclass(slots=True)
class _Group:
    episodes: deque[_Episode] = field(default_factory=deque)
    rollouts: OrderedDict[str, RolloutEvent] = field(default_factory=OrderedDict)
    open: list[_Open] = field(default_factory=list)
    reports: deque[bytes] = field(default_factory=deque)

    @property
    def size(self) -> int:
        packed = sum(map(len, self.reports)) + sum(len(each.packed) for each in self.open)
        return sum(each.size for each in self.episodes) + packed + LINE_BYTES * len(self.rollouts)


class EpisodeHistory:
    """One more receiver of the observer's events. Thread-safe; nothing here outlives its group."""

    def __init__(self, limits: HistoryLimits | None = None) -> None:
        """Remember nothing yet."""
        self._limits = limits or HistoryLimits()
        self._lock = threading.Lock()
        self._groups: OrderedDict[str, _Group] = OrderedDict()
        self._sizes: dict[str, int] = {}
        self._size = 0

    @property
    def size_bytes(self) -> int:
        """Bytes held now."""
        return self._size

    def observe(self, event: Event) -> None:
        """Take in an event that was published, or a member's report."""
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
                    self._report(event)
                case AssignEvent():
                    pass
            if event.group in self._groups:
                self._bound(event.group)

    def rebalances(self, group: str) -> RebalanceList | None:
        """What is remembered of a group, newest first; None if that is nothing at all."""
        with self._lock:
            kept = self._groups.get(group)
            if kept is None:
                return None
            lines = tuple(each.line for each in reversed(kept.episodes))
            return RebalanceList(group, lines, tuple(reversed(kept.rollouts.values())))

    def recent(self, since_ms: int) -> Mapping[str, int]:
        """How many rebalances each group has completed since then; groups without one are left out."""
        with self._lock:
            counts = {name: _completed_since(group.episodes, since_ms) for name, group in self._groups.items()}
        return {name: count for name, count in counts.items() if count}

    def rebalance(self, group: str, identity: str) -> RebalanceDetail | None:
        """One rebalance with its events, by the id of any of these; None if it is not remembered."""
        with self._lock:
            kept = self._groups.get(group)
            episode = next((each for each in kept.episodes if identity in each.event_ids), None) if kept else None
            reports = tuple(kept.reports) if kept else ()
        if episode is None:
            return None
        # A post that is repeated, or a topic that is read again, tells the same report twice.
        said = {event.event_id: cast("MemberEvent", event) for packed in reports for event in _unpack(packed)}
        return RebalanceDetail(group, episode.line, _unpack(episode.packed), reports_about(episode.line, said.values()))

    def _generation(self, event: GenerationEvent) -> None:
        group = self._touch(event.group)
        for index, episode in enumerate(group.episodes):
            if event.event_id in episode.event_ids:
                known = cast("tuple[GenerationEvent, ...]", _unpack(episode.packed))
                better = [_better(each, event) for each in known]
                group.episodes[index] = _episode(better)
                return
        # What is open of another rebalance never closed, or was told again after it had been forgotten.
        same = [each for each in group.open if each.episode_generation == event.episode_generation]
        group.open = [each for each in same if each.event_id != event.event_id]
        if event.closes_episode or len(group.open) + 1 >= OPEN_MAX:
            earlier = [cast("GenerationEvent", part) for each in group.open for part in _unpack(each.packed)]
            group.open = []
            self._keep(event.group, _episode([*earlier, event]))
        else:
            group.open.append(_Open(event.event_id, event.episode_generation, _pack((event,))))

    def _keep(self, name: str, episode: _Episode) -> None:
        episodes = self._touch(name).episodes
        same = next((index for index, each in enumerate(episodes) if each.line.id == episode.line.id), None)
        if same is None:
            episodes.append(episode)
        else:
            episodes[same] = episode
        while len(episodes) > self._limits.rebalances:
            episodes.popleft()

    def _rollout(self, event: RolloutEvent) -> None:
        rollouts = self._touch(event.group).rollouts
        rollouts[event.event_id] = event
        while len(rollouts) > self._limits.rollouts:
            rollouts.popitem(last=False)

    def _report(self, event: MemberEvent) -> None:
        group = self._touch(event.group)
        group.reports.append(_pack((event,)))
        while len(group.reports) > self._limits.reports:
            group.reports.popleft()

    def _touch(self, name: str) -> _Group:
        group = self._groups.setdefault(name, _Group())
        self._groups.move_to_end(name)
        return group

    def _bound(self, changed: str) -> None:
        """Bring what is held back into the limits: first goes what changed longest ago."""
        self._weigh(changed)
        while len(self._groups) > self._limits.groups:
            self._drop(next(iter(self._groups)))
        while self._size > self._limits.size_bytes:
            name, group = next(iter(self._groups.items()))
            if len(group.episodes) > 1:
                group.episodes.popleft()
                group.reports.clear()
                self._weigh(name)
            else:
                self._drop(name)

    def _weigh(self, name: str) -> None:
        size = self._groups[name].size
        self._size += size - self._sizes.get(name, 0)
        self._sizes[name] = size

    def _drop(self, name: str) -> None:
        self._groups.pop(name, None)
        self._size -= self._sizes.pop(name, 0)


def _completed_since(episodes: deque[_Episode], since_ms: int) -> int:
    lines = itertools.takewhile(lambda line: line.timestamp_ms >= since_ms, (each.line for each in reversed(episodes)))
    return sum(line.kind is RebalanceKind.COMPLETED for line in lines)


def _episode(events: Sequence[GenerationEvent]) -> _Episode:
    return _Episode(build_rebalance(events), _pack(events))


def _better(known: GenerationEvent, told: GenerationEvent) -> GenerationEvent:
    """Two replicas, or a topic read again, tell a fact twice: the highest revision counts, of equals the first."""
    return told if told.event_id == known.event_id and told.revision > known.revision else known


def _pack(events: Iterable[Event]) -> bytes:
    return zlib.compress(b"\n".join(map(json_line, events)), level=1)


def _unpack(packed: bytes) -> tuple[Event, ...]:
    return tuple(event_from_json(json_object(line)) for line in zlib.decompress(packed).splitlines())
