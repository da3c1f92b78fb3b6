"""Finds partitions that a member got in one callback: if it works on one of them, it can work on the others. Pure."""

from __future__ import annotations

from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.model.group import Member
from rebalance_agent.model.partitions import pairs, shared_set
from rebalance_agent.tracking.completed_generation import Generation

__all__ = ["GivenTogether"]


class GivenTogether:
    """The partitions that each member of one generation got together, if their first commit is awaited."""

    def __init__(self, before: Generation | None, generation: Generation) -> None:
        """``before``: the generation whose members may have kept partitions; None if all members gave up everything."""
        self._generation = generation
        self._had = {member.member_id: pairs(member.assigned) for member in before.members} if before else {}
        self._together: dict[tuple[str, int, bool], frozenset[Partition]] = {}

    def since(self, given_ms: int, owner: Member, partition: Partition) -> frozenset[Partition]:
        """Return what ``owner`` got with ``partition`` at ``given_ms`` (epoch ms), or in a later callback.

        A member may work on partitions that it kept before it learns of new ones, but not the other way round.
        """
        kept = self._kept(partition, owner)
        key = (owner.member_id, given_ms, kept)
        if key not in self._together:
            awaited, given_at = self._generation.first_commits.awaited, self._generation.given_ms
            together = {
                given
                for given in pairs(owner.assigned)
                if given in awaited and given_at(given) >= given_ms and (kept or not self._kept(given, owner))
            }
            self._together[key] = shared_set(frozenset(together.copy()))  # half the memory of a set that grew
        return self._together[key]

    def _kept(self, partition: Partition, owner: Member) -> bool:
        """Whether ``owner`` already had the partition before, and no record shows that it lost it."""
        return partition not in self._generation.handovers and partition in self._had.get(owner.member_id, ())
