"""Bounds the times when each partition of a rebalance stopped and resumed, from reports, records and commits.

Without reports, commits show how long at least the old owner worked, and by when the new owner's callback had returned.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from rebalance_agent.model.episode import Evidence
from rebalance_agent.model.generation_diff import Partition, owners
from rebalance_agent.model.group import Member, RebalanceProtocol
from rebalance_agent.tracking.completed_generation import Episode, Generation, PartitionHandover
from rebalance_agent.tracking.evidence.coordinators import changed_since, last_contact_ms
from rebalance_agent.tracking.evidence.departures import kept_waiting
from rebalance_agent.tracking.evidence.given_together import GivenTogether
from rebalance_agent.tracking.evidence.known_times import FOREVER_MS, Departure, LastSeen, TimeBounds
from rebalance_agent.tracking.evidence.late_commits import WRITE_TIMEOUT_MS, removal_noticed_ms, surely_worked_ms
from rebalance_agent.tracking.evidence.member_reports import MemberReports, ReportSpan
from rebalance_agent.tracking.evidence.owned_at_join import claimants, claimed_partitions
from rebalance_agent.tracking.evidence.poll_evidence import stopped_since_ms
from rebalance_agent.tracking.evidence.reported_times import ReportedTimes
from rebalance_agent.tracking.evidence.unrecorded_losses import silent_ms, unrecorded_losses
from rebalance_agent.tracking.rebalance.moment import Moment, UnknownMomentError, first_shown, interruption
from rebalance_agent.tracking.rebalance.open_stall import Assigned, OpenStall
from rebalance_agent.tracking.rebalance.triggers import one_departed, staying_may_have_begun

__all__ = ["StepMoments"]

_NO_HANDOVER = PartitionHandover()


class StepMoments:
    """One generation of an episode: when each of its partitions stopped and resumed."""

    def __init__(
        self, episode: Episode, before: Generation | None, generation: Generation, reports: MemberReports
    ) -> None:
        """``generation`` follows ``before``; members joined it until ``joined_ms`` with the ``claimed`` partitions."""
        self._fresh = episode.fresh and not (before and owners(before.value))
        self._first, self._before = episode.generations[0], before
        self._generation = generation
        self.joined_ms = generation.timestamp_ms if generation.joined_ms is None else generation.joined_ms
        self.unanswered = generation.unanswered
        self._waited = kept_waiting(before, generation)
        self._alive = {member.member_id for member in generation.members}
        span = ReportSpan.between(before, episode.last) if before else None
        self._reported = ReportedTimes(reports, span, generation)
        self.claimed = claimed_partitions(generation)
        self._lost_ms = unrecorded_losses(before, generation, self._worked_ms, reports.measures)
        self.everything_stops = generation.protocol is not RebalanceProtocol.COOPERATIVE and not generation.returned
        self._given = GivenTogether(None if self.everything_stops else before, generation)

    def handovers(self, partition: Partition) -> tuple[PartitionHandover, ...]:
        """Return the recorded handovers in which the partition was stalled: at least one, which may have no times."""
        handover = self._generation.handovers.get(partition, _NO_HANDOVER)
        return handover.earlier if handover.earlier and not handover.left_unowned else (*handover.earlier, handover)

    def alike(self, partition: Partition, old: Member | None, new: Member | None) -> Hashable:
        """Return a key of all facts that determine a partition's times when its owner changes from ``old`` to ``new``.

        Partitions with equal keys have equal times, since there is no evidence about one of them alone.
        """
        generation = self._generation
        if (
            partition in generation.handovers
            or (old is not None and self._reported.has_stop(partition, old))
            or (new is not None and partition in self._reported.resumes(new))
        ):
            return partition
        first = generation.first_commits
        return (
            old and old.member_id,
            new and new.member_id,
            old is not None and self.gave_up(partition, old),
            self.claimed_by_another(partition, old),
            first.after_release(partition),
            first.later_ms.get(partition),
        )

    # Stops

    def stopped(self, partition: Partition, owner: Member, handover: PartitionHandover) -> Moment:
        """Return when ``owner`` (of the generation before) stopped consuming the partition of this ``handover``."""
        stop = self._reported.stops(owner).get(partition)
        if stop is not None and stop.evidence is Evidence.MEMBERS:
            return self._unless_outage(owner, handover, Moment(stop.earliest_ms, stop.latest_ms, exact=True))
        if self.may_have_lost(partition, owner):
            return Moment(self._lost_ms[owner.member_id], self._generation.timestamp_ms)
        moment = self._given_up(owner) if self.gave_up(partition, owner) else self._recorded_stop(owner, handover)
        if stop is not None:
            latest_ms = min(moment.latest_ms, stop.latest_ms)
            moment = Moment(min(max(moment.earliest_ms, stop.earliest_ms), latest_ms), latest_ms)
        return self._unless_outage(owner, handover, moment)

    def interruptions(self, partition: Partition, owner: Member) -> list[tuple[Moment, Moment]]:
        """Return when ``owner`` (of the generation before) stopped and resumed consuming the partition."""
        span_ms = self._before.timestamp_ms if self._before else 0, self.joined_ms
        return [interruption(*each, *span_ms) for each in self._reported.interruptions(owner).get(partition, ())]

    def contact_ms(self, owner: Member, handover: PartitionHandover) -> int:
        """Return the time until which ``owner`` (of the generation before) certainly reached its coordinator.

        Unless it left, it may have been silent for its session timeout when it was removed.
        """
        generation = self._generation
        if owner.member_id in self._alive and not handover.departed:
            return self.joined_ms
        if handover.released_ms is not None:
            removed_ms = handover.released_ms
        elif generation.returned:
            removed_ms = generation.timestamp_ms
        elif generation.start is not None:
            removed_ms = generation.start.earliest_ms
        else:
            return self._before.timestamp_ms if self._before else -FOREVER_MS
        if generation.departures.get(owner.member_id) is Departure.LEFT:
            return removed_ms
        silent_ms = last_contact_ms(removed_ms, owner.session_timeout_ms, generation.coordinator_changes)
        seen_ms = self._last_seen(owner, handover).contact_ms
        return silent_ms if seen_ms is None else max(silent_ms, seen_ms)

    def may_have_lost(self, partition: Partition, owner: Member) -> bool:
        """Whether ``owner``, which kept the partition according to the records, may have lost it and got it back."""
        if owner.member_id not in self._lost_ms or partition in self._generation.handovers:
            return False
        return partition in self._generation.first_commits.awaited

    def claimed_by_another(self, partition: Partition, owner: Member | None) -> bool:
        """Whether a member that is not the ``owner`` joined with the partition: it never learned that it had lost it.

        It consumes until it gets its new assignment, like a member that is asked to revoke a partition.
        """
        owner_id = owner.member_id if owner else None
        return any(member_id != owner_id for member_id in self._claimants.get(partition, ()))

    @cached_property
    def _claimants(self) -> Mapping[Partition, Sequence[str]]:
        return claimants(self.claimed)

    def gave_up(self, partition: Partition, owner: Member) -> bool:
        """Whether ``owner`` (of the generation before) joined this generation without the partition."""
        claimed = self.claimed.get(owner.member_id)
        return claimed is not None and partition not in claimed

    def _given_up(self, owner: Member) -> Moment:
        """Return when the owner lost a partition before it joined: after its last work if it had lost all of them."""
        worked_ms = self._worked_ms(owner)
        if worked_ms is None or self.claimed[owner.member_id]:
            worked_ms = self._before.timestamp_ms if self._before else self.joined_ms
        return Moment(min(worked_ms, self.joined_ms), self.joined_ms)

    def _recorded_stop(self, owner: Member, handover: PartitionHandover) -> Moment:
        """Return when the owner stopped, according to records and commits."""
        generation, released_ms = self._generation, handover.released_ms
        if released_ms is not None:
            if handover.asked_ms is not None:
                return Moment(handover.asked_ms, released_ms)
            if owner.member_id in self._alive and not handover.departed:
                return Moment(self._start().earliest_ms, released_ms)
            return self._last_active(owner, handover, released_ms, self._noticed_ms(owner, handover, released_ms))
        if generation.returned:
            # A member that is away for longer than its session timeout would have been removed.
            return self._last_active(owner, handover, generation.timestamp_ms, generation.timestamp_ms)
        if owner.member_id not in self._alive:
            start = self._start()
            latest_ms = start.latest_ms if self._one_departed else max(start.latest_ms, self.joined_ms)
            if generation.departures.get(owner.member_id) is not Departure.LEFT:  # it may not have noticed
                latest_ms = removal_noticed_ms(latest_ms, owner, generation.unanswered, expelled=self._waited)
            return self._last_active(owner, handover, start.earliest_ms, latest_ms)
        if self.everything_stops:
            return self._revoked_to_rejoin(owner)
        # The owner consumes until it gets its new assignment. The upper bound is `joined_ms`, when it has rejoined.
        return Moment(generation.timestamp_ms, FOREVER_MS)

    def _revoked_to_rejoin(self, owner: Member) -> Moment:
        """Return when a remaining member of an eager group stopped: before it rejoined.

        It was asked to rejoin at the start, unless it requested the rebalance itself: then its revoked callback, which
        comes first, began earlier.
        """
        start = self._start()
        worked_ms = self._worked_ms(owner)
        earliest_ms = start.earliest_ms
        if self._staying_may_have_begun and self._before:
            earliest_ms = self._before.timestamp_ms if worked_ms is None else min(earliest_ms, worked_ms)
        elif worked_ms is not None:
            # Commits that were in flight when it revoked may be recorded seconds later.
            earliest_ms = max(earliest_ms, worked_ms - WRITE_TIMEOUT_MS)
        return Moment(min(earliest_ms, self.joined_ms), self.joined_ms)

    def _last_active(self, owner: Member, handover: PartitionHandover, removed_ms: int, latest_ms: int) -> Moment:
        """Return when a departed member stopped; ``removed_ms``: the earliest time when its coordinator detected this.

        A member that fails is removed one session timeout after its last contact, and may not have consumed for its
        rebalance timeout (``max.poll.interval.ms``) before that. For commits see `CommitTimes.worked_ms`.
        """
        expired_ms = last_contact_ms(removed_ms, silent_ms(owner), self._generation.coordinator_changes)
        active_ms = self._last_seen(owner, handover).contact_ms or 0, self._worked_ms(owner, handover) or 0
        return Moment(min(max(expired_ms, *active_ms), latest_ms), latest_ms)

    def _last_seen(self, owner: Member, handover: PartitionHandover) -> LastSeen:
        last_seen = self._generation.last_seen.get(owner.member_id, LastSeen())
        return handover.last_seen(last_seen, returned=owner.member_id in self._alive)

    def _worked_ms(self, owner: Member, handover: PartitionHandover = _NO_HANDOVER) -> int | None:
        """Return the time until which the owner certainly worked, from its commits and the records that it read."""
        last_seen = self._last_seen(owner, handover)
        worked_ms = self._surely_worked_ms(last_seen.worked_ms)
        read_ms = last_seen.read.worked_ms if last_seen.read else None
        return max((at_ms for at_ms in (worked_ms, read_ms) if at_ms is not None), default=None)

    def _surely_worked_ms(self, worked_ms: int | None) -> int | None:
        return surely_worked_ms(worked_ms, self._generation.coordinator_changes, self._generation.outages)

    def _noticed_ms(self, owner: Member, handover: PartitionHandover, removed_ms: int) -> int:
        """Return the latest time when a removed member stopped: when it detected its removal.

        A live member is removed if it did not revoke in time, or could not reach the brokers. It detects this within
        its session timeout (after the brokers are back), and before it rejoins under its id.
        """
        back, unanswered = handover.expelled and owner.member_id in self._alive, self._generation.unanswered
        noticed_ms = removal_noticed_ms(removed_ms, owner, unanswered, expelled=handover.expelled and not back)
        return max(noticed_ms, self.joined_ms) if back else noticed_ms

    def _unless_outage(self, owner: Member, handover: PartitionHandover, stopped: Moment) -> Moment:
        """Return when the owner stopped, perhaps in an outage of brokers, but not before it got the partition."""
        worked_ms = self._worked_ms(owner, handover) or 0
        outages = [away for away in self._generation.outages if away.may_end_session(owner)]
        since_ms = stopped_since_ms(stopped.latest_ms, worked_ms, silent_ms(owner), outages)
        if since_ms is not None and self._before and self._before.assigned(owner):
            since_ms = max(since_ms, self._before.timestamp_ms)
        return stopped if since_ms is None else stopped.not_after(since_ms)

    def appeared(self, handover: PartitionHandover) -> Moment:
        """Return when a partition without an owner before could first have been consumed."""
        if self._fresh and handover.released_ms is None:
            start = self._first.start
            if start is None:
                raise UnknownMomentError
            return Moment(start.earliest_ms, start.latest_ms, exact=start.evidence is Evidence.RECORD)
        if handover.released_ms is None:
            return first_shown(self._generation, handover)
        # An earlier episode (with an absent static member) or an owner in between revoked the partition.
        since_ms = (handover.asked_ms, self._surely_worked_ms(handover.active_ms), handover.released_ms)
        return Moment(next(at_ms for at_ms in since_ms if at_ms is not None), handover.released_ms)

    # Resumption

    def resumed(self, partition: Partition, owner: Member, handover: PartitionHandover) -> Moment:
        """Return when ``owner`` (of this generation) could consume the partition after this ``handover``.

        It is `Moment.endless` if the owner has not reported it, and has committed nothing since it got the partition.
        """
        if (end := self._reported.resumes(owner).get(partition)) is not None and end.evidence is Evidence.MEMBERS:
            return Moment(end.earliest_ms, end.latest_ms, exact=True)
        given_ms = self._generation.given_since_ms(handover)
        first_ms = self._generation.first_commits.shown_ms(partition, self._given.since(given_ms, owner, partition))
        if end is None or first_ms < end.earliest_ms:  # the report is about a later assignment of the generation
            return Moment(given_ms, max(given_ms, first_ms))
        earliest_ms = max(given_ms, end.earliest_ms)
        return Moment(earliest_ms, max(earliest_ms, min(end.latest_ms, first_ms)))

    def resumed_later(self, partition: Partition, resumed: Moment) -> Moment:
        """Return ``resumed``, which is endless, bounded by the first commit of a later generation's owner."""
        later_ms = self._generation.first_commits.later_ms.get(partition, FOREVER_MS)
        return Moment(resumed.earliest_ms, max(resumed.earliest_ms, later_ms))

    def open_stall(self, partition: Partition, owner: Member, handover: PartitionHandover, since_ms: int) -> OpenStall:
        """Return the stall of a partition whose new ``owner`` is not known to consume it."""
        generation, given_ms = self._generation, self._generation.given_since_ms(handover)
        given = self._given.since(given_ms, owner, partition)
        to = Assigned(owner.member_id, generation.number, generation.timestamp_ms)
        return OpenStall(since_ms, given_ms, owner.rebalance_timeout_ms, generation.first_commits, given, to)

    # The rebalance

    def _start(self) -> TimeBounds:
        """Return when members were asked to rejoin.

        A new coordinator does not continue a running classic rebalance: members that had not rejoined yet continued to
        consume until the rebalance began again.
        """
        generation = self._generation
        start = generation.start
        if start is None:
            raise UnknownMomentError
        if changed_since(start.earliest_ms, generation.coordinator_changes) and start.evidence is not Evidence.RECORD:
            return replace(start, latest_ms=max(start.latest_ms, self.joined_ms))
        return start

    @cached_property
    def _one_departed(self) -> bool:
        return one_departed(self._before, self._generation)

    @cached_property
    def _staying_may_have_begun(self) -> bool:
        return staying_may_have_begun(self._before, self._generation)
