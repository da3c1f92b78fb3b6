"""The identity and the name of a member, and the members that joined, left or stayed between two generations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from rebalance_agent.model.reported.seat_event import names_seat

__all__ = ["HasIdentity", "MemberChanges", "consumer_name", "identity", "member_changes", "member_name"]

NAME_MAX = 200
"""Maximum number of characters of a client id or group in `consumer_name`."""


class HasIdentity(Protocol):
    """Any value that has the two ids by which a member is recognised."""

    @property
    def member_id(self) -> str:
        """The id that the coordinator gave the member."""
        ...

    @property
    def instance_id(self) -> str | None:
        """The member's ``group.instance.id``; None for a dynamic member."""
        ...


_Member = TypeVar("_Member", bound=HasIdentity)


def identity(member: HasIdentity) -> str:
    """Return the id that a static member keeps when it restarts (KIP-345): its instance id, or else its member id."""
    return member.member_id if member.instance_id is None else member.instance_id


def member_name(client_id: str, instance_id: str | None, *, pod: str | None = None) -> str:
    """Return the member's name for people: its ``pod``, else its instance id, else its client id.

    The pod is the name under which people find logs and restart a member; many static members have it as instance id.
    An instance id that a gateway gave is a name for the coordinator alone.
    """
    return pod or (client_id if names_seat(instance_id) else instance_id) or client_id


def consumer_name(client_id: str, group: str) -> str:
    """Return a consumer's name in a sentence, shortened: clients choose both."""
    return f"consumer {client_id[:NAME_MAX]!r} of group {group[:NAME_MAX]!r}"


@dataclass(frozen=True, slots=True)
class MemberChanges(Generic[_Member]):
    """Members of two generations, matched by identity.

    ``joined`` are only in the second generation, ``gone`` only in the first. ``stayed``: (old, new) of the members in
    both generations, in the order of the second.
    """

    joined: tuple[_Member, ...]
    gone: tuple[_Member, ...]
    stayed: tuple[tuple[_Member, _Member], ...]

    @property
    def replaced(self) -> tuple[tuple[_Member, _Member], ...]:
        """(old, new) with one instance id and two member ids: static members that returned."""
        return tuple(pair for pair in self.stayed if pair[0].member_id != pair[1].member_id)

    @property
    def departed(self) -> tuple[_Member, ...]:
        """The members whose ids are only in the first generation: they are gone, or returned under other ids."""
        return (*self.gone, *(old for old, _ in self.replaced))


def member_changes(before: Iterable[_Member], after: Iterable[_Member]) -> MemberChanges[_Member]:
    """Compare the members of two generations. If several members have one identity, the last member counts."""
    old = {identity(member): member for member in before}
    new = {identity(member): member for member in after}
    return MemberChanges(
        joined=tuple(member for name, member in new.items() if name not in old),
        gone=tuple(member for name, member in old.items() if name not in new),
        stayed=tuple((old[name], member) for name, member in new.items() if name in old),
    )
