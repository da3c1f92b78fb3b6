"""What each member behind this gateway offers and was given: for as long as its next JoinGroup may need it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rebalance_agent.clients.participant import Participant
from rebalance_agent.gateway.groups.client_answers import Election
from rebalance_agent.gateway.groups.client_membership import ClientMembership
from rebalance_agent.gateway.groups.offered_protocols import Offer

__all__ = ["SEATS_MAX", "MemberEntries", "MemberEntry"]

SEATS_MAX = 1_000
"""Members remembered: a pod has a few consumers; of those that went without a word the longest silent are forgotten."""


@dataclass(slots=True)
class MemberEntry:
    """One member of one group.

    ``offer`` is what was put before its own assignors in its last JoinGroup, and is ``chosen`` if the generation that
    it is in runs by it; ``election`` if it leads that generation. Timeouts in seconds. Where the coordinator assigns:
    ``unnamed`` is what the member was given of topics whose names are not known yet, by topic id; ``blind``: it was in
    the group before anybody here saw it. ``foreign``: it is no consumer, and is only remembered not to be asked about.
    """

    presence: ClientMembership
    participant: Participant | None = None
    offer: Offer | None = None
    chosen: bool = False
    election: Election | None = None
    rack: str | None = None
    unnamed: Mapping[str, Sequence[int]] | None = None
    blind: bool = False
    foreign: bool = False
    session_seconds: float = 10.0
    rebalance_seconds: float = 10.0

    @property
    def ours(self) -> Offer | None:
        """The offer, if the group runs by it."""
        return self.offer if self.chosen else None


class MemberEntries:
    """Seats by group and member: a static one by its instance id, under which it comes back, else by its member id."""

    def __init__(self, most: int = SEATS_MAX) -> None:
        """Remember at most ``most``."""
        self._most = most
        self._seats: OrderedDict[tuple[str, bool, str], MemberEntry] = OrderedDict()

    def __iter__(self) -> Iterator[MemberEntry]:
        """Everyone who is remembered, the longest silent first."""
        return iter(tuple(self._seats.values()))

    def __len__(self) -> int:
        """How many are remembered."""
        return len(self._seats)

    def find(self, group: str, member_id: str, instance_id: str | None) -> MemberEntry | None:
        """The seat of a member, which is used now.

        A static member's is found without a member id, too, by which it comes back; but not by another id: that is of
        a process whose place it took.
        """
        key = _key(group, member_id, instance_id)
        seat = self._seats.get(key)
        if seat is None or seat.foreign or (member_id and seat.presence.member_id not in ("", member_id)):
            return None
        self._seats.move_to_end(key)
        return seat

    def vacant(self, group: str, member_id: str, instance_id: str | None) -> bool:
        """Whether nobody is remembered under these names."""
        return _key(group, member_id, instance_id) not in self._seats

    def put(self, group: str, member_id: str, instance_id: str | None, seat: MemberEntry) -> None:
        """Remember a member under these names only."""
        for key in [key for key, each in self._seats.items() if each is seat]:
            del self._seats[key]
        self._seats[_key(group, member_id, instance_id)] = seat
        while len(self._seats) > self._most:
            self._seats.popitem(last=False)

    def forget(self, group: str, member_id: str, instance_id: str | None) -> None:
        """The member is gone."""
        self._seats.pop(_key(group, member_id, instance_id), None)


def _key(group: str, member_id: str, instance_id: str | None) -> tuple[str, bool, str]:
    return (group, True, instance_id) if instance_id is not None else (group, False, member_id)
