"""Keeps the members of one group for the coordinator, with counts over the members."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from rebalance_agent.clients.negotiation import select_strategy
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.model.subscription import MemberSubscription
from rebalance_agent.testing.simulation.action_queue import PlannedAction, cancel
from rebalance_agent.testing.simulation.group_messages import JoinRequest, ResponseReceiver

__all__ = ["Registered", "Registry"]


@dataclass(slots=True)
class Registered:
    """One member.

    - ``joined_ms``: the time of its JoinGroup while it waits for the other members; None otherwise.
    - ``silent``: whether the process has stopped sending heartbeats.
    - ``expiry``: the end of the session. It is planned only when heartbeats have stopped, because each heartbeat would
      postpone it.
    """

    member_id: str
    request: JoinRequest
    receiver: ResponseReceiver
    joined_ms: int | None = None
    syncing: bool = False
    is_new: bool = True
    silent: bool = False
    assignment: TopicPartitions = field(default_factory=dict)
    expiry: PlannedAction | None = None

    @property
    def static(self) -> bool:
        """Whether the member has a ``group.instance.id``."""
        return self.request.instance_id is not None


class Registry:
    """The members in the order in which they joined, and the leader."""

    def __init__(self) -> None:
        """Start without members."""
        self.members: dict[str, Registered] = {}
        self.leader: str | None = None
        self._instances: dict[str, str] = {}
        self._supported: Counter[str] = Counter()
        self._waiting = 0

    def __len__(self) -> int:
        return len(self.members)

    def of_instance(self, instance_id: str | None) -> Registered | None:
        """Return the static member with ``instance_id``, if there is one."""
        member_id = None if instance_id is None else self._instances.get(instance_id)
        return None if member_id is None else self.members[member_id]

    def add(self, member: Registered) -> None:
        """Add a member; the first member is the leader."""
        self.members[member.member_id] = member
        if member.request.instance_id is not None:
            self._instances[member.request.instance_id] = member.member_id
        self._supported.update(set(member.request.offers))
        self._waiting += member.joined_ms is not None
        self.leader = self.leader or member.member_id

    def remove(self, member: Registered) -> None:
        """Remove a member. If it led, the first other member becomes the leader (Kafka picks one by a hash of ids)."""
        del self.members[member.member_id]
        if self._instances.get(member.request.instance_id or "") == member.member_id:
            del self._instances[member.request.instance_id or ""]
        self._supported.subtract(set(member.request.offers))
        self._waiting -= member.joined_ms is not None
        cancel(member.expiry)
        if self.leader == member.member_id:
            self.leader = next(iter(self.members), None)

    def replace(self, old: Registered, new: Registered) -> None:
        """Replace ``old`` with ``new``, a static member with a new id; ``new`` is the leader if ``old`` was."""
        led = self.leader == old.member_id
        self.remove(old)
        self.add(new)
        if led:
            self.leader = new.member_id

    def wait(self, member: Registered, request: JoinRequest, now_ms: int) -> None:
        """Record that a member has joined again and waits for the other members."""
        self._supported.subtract(set(member.request.offers))
        self._supported.update(set(request.offers))
        self._waiting += member.joined_ms is None
        member.request, member.joined_ms, member.silent = request, now_ms, False
        cancel(member.expiry)

    def answered(self, member: Registered) -> None:
        """Record that the member's JoinGroup was answered."""
        self._waiting -= member.joined_ms is not None
        member.joined_ms = None

    def all_wait(self) -> bool:
        """Whether every member has joined again."""
        return self._waiting == len(self.members)

    def accepts(self, offers: Iterable[str]) -> bool:
        """Return whether all members offer a common strategy in ``offers``; an empty group accepts any strategy."""
        return not self.members or any(self._supported[name] == len(self.members) for name in offers)

    def select(self) -> str:
        """Return the strategy with the most votes of the members."""
        chosen = select_strategy(tuple(member.request.offers) for member in self.members.values())
        return chosen or ""  # never empty: all members have a strategy in common

    def elect(self) -> bool:
        """Choose a leader among the joined members, if possible the present one; return False if none has joined."""
        leader = None if self.leader is None else self.members[self.leader]
        if leader is None or leader.joined_ms is None:
            joined = next((member for member in self.members.values() if member.joined_ms is not None), None)
            if joined is None:
                return False
            self.leader = joined.member_id
        return True

    def rebalance_timeout_ms(self) -> int:
        """Return the longest rebalance timeout of the members."""
        return max((member.request.rebalance_timeout_ms for member in self.members.values()), default=0)

    def subscriptions(self, strategy: str) -> tuple[MemberSubscription, ...]:
        """Return the members' subscriptions for ``strategy``, for the leader."""
        return tuple(
            replace(member.request.offers[strategy], member_id=member.member_id) for member in self.members.values()
        )

    def offers(self) -> Mapping[str, tuple[str, ...]]:
        """Member name -> the strategies that it offers."""
        return {member.receiver.name: tuple(member.request.offers) for member in self.members.values()}
