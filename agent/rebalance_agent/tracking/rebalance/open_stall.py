"""A stall that may not have ended when its episode was settled; it continues in the next episode."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.model.partitions import topic_partitions
from rebalance_agent.tracking.evidence.known_times import FOREVER_MS, CoordinatorChange, FirstCommits, Outage
from rebalance_agent.tracking.evidence.late_commits import WRITE_TIMEOUT_MS
from rebalance_agent.tracking.evidence.member_reports import MemberReports

__all__ = ["LEAVING_MS", "Assigned", "OpenStall", "with_names", "without_reported"]

LEAVING_MS = 2_000
"""How long (ms) after ``max.poll.interval.ms`` a member that does not poll leaves: clients check it once a second."""


class Assigned(NamedTuple):
    """The member that got a partition, and the generation that assigned it (its number, and when it completed)."""

    member_id: str
    number: int
    completed_ms: int


@dataclass(frozen=True, slots=True)
class OpenStall:
    """A stall that began at ``since_ms`` at the earliest (-`FOREVER_MS`: unknown), and may not have ended.

    It has ended when the owner commits a partition of ``given_with`` (see `FirstCommits`). It has also ended if the
    owner is in contact with its coordinator for ``timeout_ms`` (-1: unknown) after ``given_ms``, when it was assigned
    the partition: an owner that does not poll for its rebalance timeout (``max.poll.interval.ms``) leaves.

    ``owner``: None if the partition has no owner.
    """

    since_ms: int
    given_ms: int
    timeout_ms: int
    first: FirstCommits
    given_with: frozenset[Partition]
    owner: Assigned | None = None

    def alike(self, partition: Partition) -> Hashable:
        """Return a key of all facts that determine whether the stall is `over`; valid as long as the stall exists."""
        return id(self), self.first.after_release(partition)

    def over(
        self, partition: Partition, at_ms: int, *, contact_ms: int, unanswered: Iterable[Outage | CoordinatorChange]
    ) -> bool:
        """Whether the stall of this ``partition`` had certainly ended at ``at_ms``, while the owner still had it.

        ``contact_ms``: the time until which the owner certainly was in contact with its coordinator. ``unanswered``:
        all periods known now in which the coordinator may not have answered the owner, ordered by their start.
        """
        shown_ms = self.first.shown_ms(partition, self.given_with)
        return min(contact_ms, at_ms) > self._left_ms(unanswered) or shown_ms <= min(at_ms, FOREVER_MS - 1)

    def _left_ms(self, unanswered: Iterable[Outage | CoordinatorChange]) -> int:
        """Return the latest time when an owner that never polled was removed.

        If the coordinator does not answer, the owner's time begins again afterwards: the owner did not learn of its
        assignment, or was not removed in time.
        """
        if self.timeout_ms < 0:
            return FOREVER_MS
        left_ms = self.given_ms + self.timeout_ms + LEAVING_MS
        for span in unanswered:
            if span.after_ms < left_ms and self.given_ms < span.until_ms:
                left_ms = max(left_ms, span.until_ms + WRITE_TIMEOUT_MS + self.timeout_ms + LEAVING_MS)
        return left_ms


def without_reported(stalls: Mapping[Partition, OpenStall], reports: MemberReports) -> Mapping[Partition, OpenStall]:
    """Return the stalls that owners have not reported as ended, even if the reports came after the episode settled.

    A gateway's report of an owner that has not fetched yet has no end.
    """
    if not reports:
        return stalls
    owned: dict[Assigned, list[Partition]] = {}
    for partition, stalled in stalls.items():
        if stalled.owner:
            owned.setdefault(stalled.owner, []).append(partition)
    resumes = {owner: reports.resumes(*owner, topic_partitions(partitions)) for owner, partitions in owned.items()}
    return {
        partition: stalled
        for partition, stalled in stalls.items()
        if stalled.owner is None
        or (end := resumes[stalled.owner].get(partition)) is None
        or end.latest_ms >= FOREVER_MS
    }


def with_names(
    stalls: Mapping[Partition, OpenStall], topic_name: Callable[[str], str]
) -> Mapping[Partition, OpenStall]:
    """Return the stalls by topic name where only the topic's id was known; ``topic_name`` maps ids to names.

    The commits that end them are renamed by `CommitTimes.name_topics`.
    """
    topics = {topic for topic, _ in stalls}
    if all(topic_name(topic) == topic for topic in topics):
        return stalls
    # Stalls share these sets, which may be large: rename each once.
    renamed = {
        given: frozenset((topic_name(topic), number) for topic, number in given)
        for given in {stalled.given_with for stalled in stalls.values()}
    }
    return {
        (topic_name(topic), number): replace(stalled, given_with=renamed[stalled.given_with])
        for (topic, number), stalled in stalls.items()
    }
