"""Pairs departed members with the members that replaced them, where `rollout_evidence` proves the replacement."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from rebalance_agent.model.events import GenerationEvent, MemberSnapshot
from rebalance_agent.model.group import Member
from rebalance_agent.model.reported.workload import Workload
from rebalance_agent.tracking.evidence.kept_reports import ReportedMember
from rebalance_agent.tracking.patterns.rollout_evidence import (
    ReplacedMember,
    VisibleMember,
    pod_template,
    proof_of,
)
from rebalance_agent.tracking.patterns.unpaired_members import MemberChange, SettledRebalance, UnpairedMembers

__all__ = ["PAIR_MS", "AnyMember", "Paired", "Replacement", "Replacements", "ReportedBy", "stem"]

PAIR_MS = 5 * 60_000
"""Longest time (ms) between the departure and the join of a pair: a replaced pod is back within a minute or two, or its
successor joined before it departed."""

AnyMember = Member | MemberSnapshot

ReportedBy = Callable[[str], ReportedMember]
"""Returns the last report of the member with an id, even if the member departed a while ago."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """A departed member and its successor, by member id, with their workloads.

    ``first`` and ``last``: the two rebalances in which one member departed and the other joined; they may be the same.
    """

    gone: str
    joined: str
    before: Workload
    after: Workload
    first: SettledRebalance
    last: SettledRebalance
    evidence: ReplacedMember


@dataclass(frozen=True, slots=True)
class Paired:
    """The result of pairing the changes of one episode. ``departed``: ids of departed members.

    ``others``: whether a member joined or returned without replacing another. ``missed_ms``: if the time limit for a
    successor of some member passed with this episode, the time when that member departed; otherwise None.
    """

    replacements: tuple[Replacement, ...]
    departed: frozenset[str]
    others: bool
    missed_ms: int | None


class Replacements:
    """Finds the replacements in the episodes of one group.

    A member that departed and one that joined within `PAIR_MS`, in either order, are a pair if `proof_of` proves it. A
    process that only rejoined was not replaced. A member that joins within `PAIR_MS` after the group was Empty starts
    the group: it does not replace a member that departs later.
    """

    def __init__(self) -> None:
        """Start without departed or joined members."""
        self._departed = UnpairedMembers()
        self._joined = UnpairedMembers()
        self._starts_until_ms = 0

    @property
    def departed_ms(self) -> int | None:
        """When the oldest member without a successor departed (coordinator's clock); None if there is none."""
        return self._departed.oldest_ms

    def add_episode(
        self,
        rebalance: SettledRebalance,
        before: Sequence[AnyMember],
        events: Sequence[GenerationEvent],
        reported_by: ReportedBy,
    ) -> Paired:
        """Pair the members of this episode's ``events``; ``before``: the members before it."""
        others, missed_ms = False, self._departed.forget(rebalance.at_ms - PAIR_MS)
        self._joined.forget(rebalance.at_ms - PAIR_MS)
        if not before:
            self._starts_until_ms = rebalance.at_ms + PAIR_MS
        replacements: list[Replacement] = []
        departed: set[str] = set()
        for event in events:
            had, has = _Generation(before, reported_by), _Generation(event.members, reported_by)
            for member in had.members_not_in(has):
                change = had.change(rebalance, member)
                departed.add(member.member_id)
                replacements += self._depart(change)
            for member in has.members_not_in(had):
                change = has.change(rebalance, member)
                pairs = self._arrive(change)
                others |= not pairs
                replacements += pairs
            before = event.members
        return Paired(tuple(replacements), frozenset(departed), others, missed_ms)

    def _depart(self, gone: MemberChange) -> list[Replacement]:
        self._joined.drop(gone)
        if joined := self._joined.counterpart(gone):
            return _pair(gone, joined)
        self._departed.add(gone)
        return []

    def _arrive(self, joined: MemberChange) -> list[Replacement]:
        if self._departed.drop(joined):
            return []  # the same member returned: it was not replaced
        if gone := self._departed.counterpart(joined):
            return _pair(gone, joined)
        if joined.rebalance.at_ms > self._starts_until_ms:
            self._joined.add(joined)
        return []


class _Generation:
    """The members of one generation, and the names that are unique among them."""

    def __init__(self, members: Sequence[AnyMember], reported_by: ReportedBy) -> None:
        self._members = members
        self._reported_by = reported_by
        self._ids = {member.member_id for member in members}

    def members_not_in(self, other: _Generation) -> Iterator[AnyMember]:
        return (member for member in self._members if member.member_id not in other._ids)

    def change(self, rebalance: SettledRebalance, member: AnyMember) -> MemberChange:
        reported = self._reported_by(member.member_id)
        where = reported.where or Workload()
        names = [] if member.instance_id is None else [f"instance {member.instance_id}"]
        if where.pod is not None and self._pods[where.pod] == 1:
            names.append(f"pod {where.pod}")
        names += [f"client {name}" for name in _client_names(member) if self._clients[name] == 1]
        versions = {f"pods of {workload}": version for workload, version in _templates(member, where)}
        if where.image is not None:
            versions[f"image of {where.workload or stem(member.client_id)}"] = where.image
        seen = VisibleMember(tuple(names), versions, reported.process)
        return MemberChange(rebalance, member.member_id, where, seen)

    @cached_property
    def _clients(self) -> Counter[str]:
        return Counter(name for member in self._members for name in _client_names(member))

    @cached_property
    def _pods(self) -> Counter[str | None]:
        reports = (self._reported_by(member.member_id).where for member in self._members)
        return Counter(where.pod for where in reports if where)


def _client_names(member: AnyMember) -> tuple[str, str]:
    host = member.host if isinstance(member, MemberSnapshot) else member.client_host
    return member.client_id, f"{member.client_id} at {host.lstrip('/')}"


def _templates(member: AnyMember, where: Workload) -> Iterator[tuple[str, str]]:
    for name in (where.pod, member.instance_id, member.client_id):
        if name is not None and (template := pod_template(name)):
            yield template


def stem(client_id: str) -> str:
    """Return the common part of one workload's client ids: the parts before the first one with a digit.

    ``orders`` is the stem of ``orders-7c9d-x2`` and ``orders-5b8f-k7``.
    """
    pieces = re.split(r"[-_.:]", client_id)
    return "-".join(itertools.takewhile(lambda piece: not re.search(r"\d", piece), pieces))


def _pair(gone: MemberChange, joined: MemberChange) -> list[Replacement]:
    proof = proof_of(gone.seen, joined.seen)
    if proof is None:
        return []  # the same process rejoined
    first, last = sorted((gone.rebalance, joined.rebalance), key=lambda rebalance: rebalance.at_ms)
    shared = (name for name in gone.seen.names if name in joined.seen.names)
    name = next(shared, gone.member_id)
    evidence = ReplacedMember(name, gone.rebalance.at_ms, proof)
    return [Replacement(gone.member_id, joined.member_id, gone.where, joined.where, first, last, evidence)]
