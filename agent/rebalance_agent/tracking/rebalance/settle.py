"""Turns a closed episode and its members' reports into the events that are published."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rebalance_agent.model.assignment_quality import AssignmentQuality
from rebalance_agent.model.episode import Basis, Phases, Stall, Trigger
from rebalance_agent.model.events import USER_DATA_BYTES_MAX, GenerationEvent, MemberSnapshot
from rebalance_agent.model.generation_diff import Partition, owners
from rebalance_agent.model.group import GroupType, Member, RebalanceProtocol
from rebalance_agent.model.group_event import event_id
from rebalance_agent.model.member_changes import identity
from rebalance_agent.model.partitions import count_partitions, pairs
from rebalance_agent.tracking.cluster_topics import ClusterTopics
from rebalance_agent.tracking.completed_generation import Episode, Generation
from rebalance_agent.tracking.evidence.member_reports import MemberReports
from rebalance_agent.tracking.patterns.group_stalls import StallLimits
from rebalance_agent.tracking.rebalance.diff_cache import difference
from rebalance_agent.tracking.rebalance.open_stall import OpenStall
from rebalance_agent.tracking.rebalance.phases import phases_of, start_of
from rebalance_agent.tracking.rebalance.quality import judge_generation
from rebalance_agent.tracking.rebalance.slowness import GoneMember, Slowness, find_slowness, gone_in, gone_members
from rebalance_agent.tracking.rebalance.stall import measure_stall
from rebalance_agent.tracking.rebalance.triggers import episode_causes, generation_causes

__all__ = ["Settlement", "revise", "settle"]


@dataclass(frozen=True, slots=True)
class Settlement:
    """The result of an episode: one event per generation, the closing one last, and how slow its members were.

    ``group_spans``, ``open_stalls``: see `MeasuredStall`. ``gone``: the departed members (see `gone_in`).
    """

    events: tuple[GenerationEvent, ...]
    slowness: Slowness
    group_spans: tuple[float, ...] = ()
    open_stalls: Mapping[Partition, OpenStall] = field(default_factory=dict)
    gone: tuple[GoneMember, ...] = ()

    @property
    def closing(self) -> GenerationEvent:
        """The closing event, which contains the stall, causes and counts of the whole episode."""
        return self.events[-1]

    def with_flapping(self, names: tuple[str, ...]) -> Settlement:
        """Return a copy whose closing event names the flapping members among those that joined or left."""
        closing = replace(self.closing, flapping=names or None)
        return replace(self, events=(*self.events[:-1], closing))

    def longest(self, phase: str) -> float | None:
        """Return the longest duration of this phase (a property of events), usually the first generation's."""
        return max((seconds for event in self.events if (seconds := getattr(event, phase)) is not None), default=None)


@dataclass(frozen=True, slots=True)
class _Moves:
    """``moved``, ``revoked`` and ``lost_min`` are None if the generation before is unknown."""

    moved: int | None
    revoked: int | None
    assigned: int
    lost_min: int | None
    lost_known: bool
    noop: bool


def settle(
    cluster_id: str,
    episode: Episode,
    reports: MemberReports,
    topics: ClusterTopics,
    carried: Mapping[Partition, OpenStall] | None = None,
    limits: StallLimits = StallLimits(),  # noqa: B008 - it is frozen
) -> Settlement:
    """Return the events of an episode as known now. Pure: the same episode and reports give the same events.

    ``carried``: the open stalls of the episode before. ``limits``: when the group is stalled.
    """
    steps = episode.steps()
    phases = [phases_of(before, after, reports) for before, after in steps]
    slowness = find_slowness(episode, start_of(*steps[0], reports), reports)
    moves = [_moves(before, after, reports) for before, after in steps]
    if not episode.known:
        moves[0] = replace(moves[0], moved=None, revoked=None, lost_min=None, lost_known=False, noop=False)
    last = len(steps) - 1
    events = [
        _event(
            cluster_id, episode, index, phases[index], _causes(episode, index, reports, topics), moves[index], reports
        )
        for index in range(last)
    ]
    # The closing event is that of the last generation, with the sums of the whole episode.
    causes, total = episode_causes(episode, reports, topics), _total(episode, moves)
    measured = measure_stall(episode, reports, carried, limits)
    closing = _event(cluster_id, episode, last, phases[last], causes, total, reports, slowness=slowness)
    events.append(replace(closing, stall=measured.stall))
    return Settlement(tuple(events), slowness, measured.group_spans, measured.open, gone_in(episode, reports))


def revise(
    old: Settlement, new: Settlement, *, renamed: bool = False
) -> tuple[Settlement, tuple[GenerationEvent, ...]] | None:
    """Return the revised settlement and its changed events, with increased revisions; None if nothing is revised.

    Nothing is revised if ``new`` is less certain: an exact stall never becomes a bound, and bounds never get wider. The
    exception is that topics were ``renamed``: one topic may have been counted as two, by its id and by its name.
    """
    if not renamed and not _knows_as_much(new.closing, old.closing):
        return None
    events = tuple(
        before if replace(after, revision=before.revision) == before else replace(after, revision=before.revision + 1)
        for before, after in zip(old.events, new.events, strict=True)
    )
    changed = tuple(after for before, after in zip(old.events, events, strict=True) if before != after)
    return (replace(new, events=events), changed) if changed else None


def _knows_as_much(new: GenerationEvent, old: GenerationEvent) -> bool:
    if old.stall is None or new.stall is None:
        return old.stall is None
    if new.stall.basis is Basis.EXACT:
        return True
    return old.stall.basis is Basis.BOUND and _width(new.stall) <= _width(old.stall)


def _width(stall: Stall) -> float:
    """Return the seconds between the bounds of a stall."""
    return math.inf if stall.seconds is None else stall.seconds - stall.lower_seconds


def _total(episode: Episode, moves: list[_Moves]) -> _Moves:
    whole = difference(episode.before, episode.last)
    return _Moves(
        moved=len(whole.moved) if episode.known else None,
        revoked=_sum([step.revoked for step in moves]),
        assigned=sum(step.assigned for step in moves),
        lost_min=_sum([step.lost_min for step in moves]),
        lost_known=all(step.lost_known for step in moves),
        noop=whole.noop and not episode.last.returned and episode.known,
    )


def _sum(counts: Sequence[int | None]) -> int | None:
    """Return the sum; None if a count is unknown."""
    known_counts = [count for count in counts if count is not None]
    return sum(known_counts) if len(known_counts) == len(counts) else None


def _event(
    cluster_id: str,
    episode: Episode,
    index: int,
    phases: Phases,
    causes: tuple[Trigger, ...],
    moves: _Moves,
    reports: MemberReports,
    *,
    slowness: Slowness | None = None,
) -> GenerationEvent:
    before, generation = episode.steps()[index]
    closes = slowness is not None
    judged = judge_generation(generation, episode.before if closes else before) if generation.members else None
    quality = judged.quality if judged else None
    returned = _returned_member(before, generation)
    stops = slowness.stop_seconds if slowness else {}
    slowest = _member_of(episode, slowness.member_id, reports) if slowness else None
    return GenerationEvent(
        event_id=event_id(
            GenerationEvent.KIND,
            cluster_id,
            generation.value.group,
            generation.group_type,
            generation.number,
            generation.timestamp_ms,
            member_id=returned,
        ),
        cluster_id=cluster_id,
        group=generation.value.group,
        timestamp_ms=generation.timestamp_ms,
        source=generation.source,
        group_type=generation.group_type,
        generation=generation.number,
        previous_generation=before.number if before else None,
        migrated_from=before.group_type if before and before.group_type is not generation.group_type else None,
        episode_generation=episode.generations[0].number,
        closes_episode=closes,
        followups=episode.followups if closes else 0,
        assignor=generation.value.protocol or None,
        protocol=generation.protocol,
        phases=phases,
        trigger=causes[0],
        causes=causes,
        stall=None,
        members=tuple(_snapshot(member, stops, reports) for member in generation.members),
        topics=generation.topics,
        moved=moves.moved,
        needed=_needed(quality, episode) if quality and closes else None,
        revoked=moves.revoked,
        assigned=moves.assigned,
        lost=moves.lost_min if moves.lost_known else None,
        lost_min=moves.lost_min,
        unassigned=max(0, sum(generation.topics.values()) - len(owners(generation.value))),
        noop=moves.noop,
        skew_ratio=quality.skew_ratio if quality else None,
        imbalance=quality.imbalance if quality else None,
        slowest_member_id=slowness.member_id if slowness else None,
        slowest_seconds=slowness.seconds if slowness else None,
        slowest_lower_seconds=slowness.lower_seconds if slowness else None,
        slowest_client_id=slowest.client_id if slowest else None,
        slowest_host=slowest.client_host if slowest else None,
        leader_member_id=generation.value.leader or None,
        assignor_wait_seconds=generation.assignor_wait_seconds,
        epoch_kind="generation" if generation.group_type is GroupType.CLASSIC else "group_epoch",
    )


def _member_of(episode: Episode, member_id: str | None, reports: MemberReports) -> Member | None:
    """Return a member of the episode or of the generation before it, which alone contains a removed member."""
    generations = (episode.before, *episode.generations)
    members = (member for generation in generations if generation for member in generation.members)
    return next((reports.seats.served(member) for member in members if member.member_id == member_id), None)


def _needed(quality: AssignmentQuality, episode: Episode) -> int | None:
    """Return the fewest possible moves: the moves that the balance needs, and the partitions of departed members."""
    if not episode.known:
        return None
    if quality.moved_min is None or episode.before is None:
        return quality.moved_min
    staying, served = {identity(member) for member in episode.last.members}, owners(episode.last.value)
    had = owners(episode.before.value)
    gone = [member for member in episode.before.members if identity(member) not in staying]
    return quality.moved_min + sum(
        partition in served and had[partition] is member for member in gone for partition in pairs(member.assigned)
    )


def _causes(episode: Episode, index: int, reports: MemberReports, topics: ClusterTopics) -> tuple[Trigger, ...]:
    before, after = episode.steps()[index]
    if index == 0 and not episode.known:
        return (Trigger.UNKNOWN,)
    return generation_causes(before, after, reports, topics)


def _returned_member(before: Generation | None, generation: Generation) -> str:
    """Return the ids of returned static members: two returns in one millisecond need different event ids."""
    if not generation.returned or before is None:
        return ""
    ids_before = {member.member_id for member in before.members}
    return ",".join(sorted(member.member_id for member in generation.members if member.member_id not in ids_before))


def _moves(before: Generation | None, after: Generation, reports: MemberReports) -> _Moves:
    """Count the moved, revoked, assigned and lost partitions of a generation; an eager one revokes and assigns all.

    If it is not known how a member departed, its partitions count as revoked.
    """
    diff = difference(before, after)
    lost, lost_known = 0, True
    if before:
        for member, departure in gone_members(before, after, reports):
            partitions = count_partitions(member.assigned)
            lost += partitions * departure.failed
            lost_known = lost_known and (departure.known or not partitions)
    if after.protocol is RebalanceProtocol.COOPERATIVE or after.returned or not after.members:
        taken, given = len(diff.taken), len(diff.given)
    else:
        taken, given = len(owners(before.value)) if before else 0, len(owners(after.value))
    return _Moves(len(diff.moved), max(0, taken - lost), given, lost, lost_known, diff.noop and not after.returned)


def _snapshot(member: Member, stops: Mapping[str, float], reports: MemberReports) -> MemberSnapshot:
    subscription = member.subscription
    user_data = (subscription.user_data if subscription else None) or b""
    reported = reports.reported_by(member.member_id)
    too_long = len(user_data) > USER_DATA_BYTES_MAX
    return MemberSnapshot(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        host=member.client_host,
        topics=subscription.topics if subscription else (),
        owned=member.owned,
        assigned=member.assigned,
        rack=subscription.rack_id if subscription else None,
        user_data=None if too_long or subscription is None else subscription.user_data,
        user_data_bytes=len(user_data) if too_long else None,
        subscription_version=subscription.version if subscription and subscription.version >= 0 else None,
        session_timeout_ms=None if member.session_assumed else member.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms if member.rebalance_timeout_ms >= 0 else None,
        stop_seconds=stops.get(member.member_id),
        where=reported.where,
        occupant=reported.occupant,
        streams=member.streams,
    )
