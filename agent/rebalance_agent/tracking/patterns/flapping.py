"""Flapping members, which leave and return repeatedly: a crash loop, a short ``max.poll.interval.ms``, a bad network.

A member's name is its instance id or, without one, its client id if no other member of the group has it, or else its
client id and host if no other member has both. Members without a unique name are ignored. A member *returns* when its
name reappears, or gets a new member id. A member flaps after a number of returns within `WINDOW_MS`, until it has
neither left nor joined for `WINDOW_MS`.

Deploys restart all members: in each rollout each member that keeps its name returns, and several rollouts may follow
each other within minutes. So a member flaps only if it has `RETURNS` returns more than most others of its group, or
`RETURNS_MAX`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rebalance_agent.model.events import MemberSnapshot
from rebalance_agent.model.group import Member
from rebalance_agent.model.member_changes import member_name

__all__ = ["NAMES_MAX", "RETURNS", "RETURNS_MAX", "WINDOW_MS", "AnyMember", "Flapping", "FlappingMember"]

RETURNS = 3
"""Returns, beyond those of most other members, that make a member flap: one is a restart, two may be a rollback."""

RETURNS_MAX = 6
"""Returns that make a member flap regardless of other members: more than a group has deploys within the window."""

WINDOW_MS = 15 * 60_000
"""Window (ms) of the returns: long enough for three returns of a crash loop, whose waits grow to five minutes."""

NAMES_MAX = 4_096
"""Maximum number of names of departed or returned members per group; names unchanged for longest are dropped first."""

AnyMember = Member | MemberSnapshot

_Name = tuple[str, str | None, str | None]
"""Instance id, or client id and None, or client id and host."""


@dataclass(frozen=True, slots=True)
class FlappingMember:
    """A flapping member: its number of ``returns`` since ``since_ms`` (epoch ms, coordinator's clock)."""

    client_id: str
    instance_id: str | None
    returns: int
    since_ms: int

    @property
    def name(self) -> str:
        """The name shown to users. Pods are not known for all members."""
        return member_name(self.client_id, self.instance_id)


@dataclass(slots=True)
class _MemberHistory:
    """The returns of one member, and whether it ``flaps``.

    ``returned_ms``: the returns within the window, until it flaps. ``due_ms``: when to drop it.

    It holds only ids: a reference to the member would keep old generations in memory.
    """

    client_id: str
    instance_id: str | None
    due_ms: int = 0
    gone: bool = False
    returned_ms: tuple[int, ...] = ()
    returns: int = 0
    flaps: bool = False

    def came_back(self, at_ms: int) -> None:
        """Count a return; once the member flaps, all returns count."""
        if self.flaps:
            self.returns += 1
            return
        self.returned_ms = (
            *(returned_ms for returned_ms in self.returned_ms if returned_ms >= at_ms - WINDOW_MS),
            at_ms,
        )
        self.returns = len(self.returned_ms)

    def returns_since(self, at_ms: int) -> int:
        """Return the number of returns at ``at_ms`` or later; for a member that flaps, all returns."""
        return self.returns if self.flaps else sum(returned_ms >= at_ms for returned_ms in self.returned_ms)


class Flapping:
    """The flapping members of one group (``shown``)."""

    def __init__(self) -> None:
        """Start without departed members."""
        self.shown: tuple[FlappingMember, ...] = ()
        self._histories: dict[_Name, _MemberHistory] = {}

    @property
    def due_ms(self) -> int | None:
        """The next deadline of `pass_time` (observer's clock); None if there is none."""
        return next((history.due_ms for history in self._histories.values()), None)

    def add_episode(
        self, before: Sequence[AnyMember], generations: Iterable[tuple[int, Sequence[AnyMember]]], now_ms: int
    ) -> tuple[str, ...]:
        """Process a settled episode: the members ``before`` it, and the time and members of each of its generations.

        Returns:
            The names of flapping members that left or joined in the episode, sorted.
        """
        changed: list[_MemberHistory] = []
        for at_ms, after in generations:
            if {member.member_id for member in before} == {member.member_id for member in after}:
                continue
            had, has = _named(before), _named(after)
            gone = sorted(had.keys() - has.keys(), key=repr)
            changed += [self._change(name, member, now_ms, gone=True) for name in gone if (member := had[name])]
            for name, member in has.items():
                old = had.get(name)
                away = name in self._histories and self._histories[name].gone and name not in had
                if member and (away or (old and old.member_id != member.member_id)):
                    history = self._change(name, member, now_ms, gone=False)
                    history.came_back(at_ms)
                    history.flaps = history.flaps or self._flaps(history, member, after, at_ms)
                    changed.append(history)
            before = after
        self._show()
        return tuple(
            sorted({member_name(history.client_id, history.instance_id) for history in changed if history.flaps})
        )

    def pass_time(self, now_ms: int) -> None:
        """Drop members that have neither left nor joined for `WINDOW_MS`."""
        while (due_ms := self.due_ms) is not None and due_ms <= now_ms:
            del self._histories[next(iter(self._histories))]
        self._show()

    def set_back(self, by_ms: int) -> None:
        """Shift the deadlines: the observer's clock was set back by ``by_ms``."""
        for history in self._histories.values():
            history.due_ms -= by_ms

    def _flaps(self, history: _MemberHistory, member: AnyMember, members: Sequence[AnyMember], at_ms: int) -> bool:
        """Whether the member of ``history``, which has just returned, has returned more often than deploys explain."""
        if not RETURNS <= history.returns < RETURNS_MAX:
            return history.returns >= RETURNS_MAX
        others = sorted(self._returns_since(at_ms - WINDOW_MS, other) for other in members if other is not member)
        median = others[(len(others) - 1) // 2] if others else 0
        return history.returns >= RETURNS + median

    def _returns_since(self, at_ms: int, member: AnyMember) -> int:
        histories = (self._histories.get(name) for name in _names(member))
        return max((history.returns_since(at_ms) for history in histories if history), default=0)

    def _change(self, name: _Name, member: AnyMember, now_ms: int, *, gone: bool) -> _MemberHistory:
        # Move it to the end of the order, so that the first one is due first.
        history = self._histories.pop(name, None) or _MemberHistory(member.client_id, member.instance_id)
        history.client_id, history.gone, history.due_ms = (
            member.client_id,
            gone,
            now_ms + WINDOW_MS,
        )
        self._histories[name] = history
        if len(self._histories) > NAMES_MAX:
            del self._histories[next(iter(self._histories))]
        return history

    def _show(self) -> None:
        flapping = {
            (history.client_id, history.instance_id): history for history in self._histories.values() if history.flaps
        }
        self.shown = tuple(
            FlappingMember(client_id, instance_id, history.returns, history.returned_ms[0])
            for (client_id, instance_id), history in sorted(
                flapping.items(), key=lambda item: (item[0][0], item[0][1] or "")
            )
        )


def _named(members: Sequence[AnyMember]) -> dict[_Name, AnyMember | None]:
    """Return the members by their possible names; None if several members share a name."""
    named: dict[_Name, AnyMember | None] = {}
    for member in members:
        for name in _names(member):
            named[name] = None if name in named else member
    return named


def _names(member: AnyMember) -> tuple[_Name, ...]:
    if member.instance_id is not None:
        return ((member.instance_id, None, "instance"),)
    host = member.host if isinstance(member, MemberSnapshot) else member.client_host
    return ((member.client_id, None, None), (member.client_id, host, None))
