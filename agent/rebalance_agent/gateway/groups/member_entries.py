"""Stores the protocols and partitions of each member behind this gateway until the member's next JoinGroup."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rebalance_agent.clients.participant import Participant
from rebalance_agent.gateway.groups.client_answers import Election
from rebalance_agent.gateway.groups.client_membership import ClientMembership
from rebalance_agent.gateway.groups.offered_protocols import Offer
from rebalance_agent.instrumentation.led_members import LedMembers

__all__ = ["ENTRIES_MAX", "JoinTerms", "MemberEntries", "MemberEntry"]

ENTRIES_MAX = 1_000
"""Maximum number of members kept: a pod has a few consumers. Beyond it, the least recently used entries are
dropped."""


@dataclass(frozen=True, slots=True)
class JoinTerms:
    """The contents of one JoinGroup. They apply to the member once the coordinator has accepted this JoinGroup.

    ``offer``: the strategy that was offered before the client's own assignors; ``participant``: the strategy's state of
    this member. Timeouts are in seconds.
    """

    offer: Offer | None = None
    participant: Participant | None = None
    session_seconds: float = 10.0
    rebalance_seconds: float = 10.0


@dataclass(slots=True)
class MemberEntry:
    """One member of one group. Any client may send requests with its ids, so only accepted ones change these fields.

    ``terms``: of the last JoinGroup that the coordinator accepted; ``chosen``: the generation uses the offer of these
    terms; ``election``: set if the member leads a generation with our strategy; ``led``: set if the member leads a
    generation that is to be published. For groups with epochs: ``pending_target``: an assignment by topic id or
    subtopology, until the topics are known; ``unseen_before``: the member joined before it used the gateway;
    ``heartbeats``: the request with which the member heartbeats, by Kafka's name. ``foreign``: not a consumer
    (kept, so that the gateway does not ask again).
    """

    membership: ClientMembership
    terms: JoinTerms = JoinTerms()
    chosen: bool = False
    election: Election | None = None
    led: LedMembers | None = None
    pending_target: Mapping[str, Sequence[int]] | None = None
    unseen_before: bool = False
    heartbeats: str = ""
    foreign: bool = False

    @property
    def active_offer(self) -> Offer | None:
        """The offer, if the generation uses it; otherwise None."""
        return self.terms.offer if self.chosen else None


class MemberEntries:
    """Entries by group and member. The key is a static member's instance id, or any other member's member id."""

    def __init__(self, entries_max: int = ENTRIES_MAX) -> None:
        """Store at most ``entries_max`` members."""
        self._entries_max = entries_max
        self._entries: OrderedDict[tuple[str, bool, str], MemberEntry] = OrderedDict()

    def __iter__(self) -> Iterator[MemberEntry]:
        """Iterate over all entries; the least recently used entry comes first."""
        return iter(tuple(self._entries.values()))

    def __len__(self) -> int:
        """The number of entries."""
        return len(self._entries)

    def find(self, group: str, member_id: str, instance_id: str | None) -> MemberEntry | None:
        """Return the entry of a member, which becomes the most recently used; None if there is none.

        A static member is also found without a member id, since static members return without one. It is not found with
        a different member id, since that id belongs to a former process.
        """
        key = _key(group, member_id, instance_id)
        entry = self._entries.get(key)
        if entry is None or entry.foreign or (member_id and entry.membership.member_id not in ("", member_id)):
            return None
        self._entries.move_to_end(key)
        return entry

    def vacant(self, group: str, member_id: str, instance_id: str | None) -> bool:
        """Whether there is no entry with this key."""
        return _key(group, member_id, instance_id) not in self._entries

    def put(self, group: str, member_id: str, instance_id: str | None, entry: MemberEntry) -> None:
        """Store a member under this key only."""
        for key in [key for key, other in self._entries.items() if other is entry]:
            del self._entries[key]
        self._entries[_key(group, member_id, instance_id)] = entry
        while len(self._entries) > self._entries_max:
            self._entries.popitem(last=False)

    def forget(self, group: str, member_id: str, instance_id: str | None) -> None:
        """Remove a member's entry."""
        self._entries.pop(_key(group, member_id, instance_id), None)


def _key(group: str, member_id: str, instance_id: str | None) -> tuple[str, bool, str]:
    return (group, True, instance_id) if instance_id is not None else (group, False, member_id)
