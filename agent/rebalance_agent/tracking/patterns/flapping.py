"""Members that leave and come back again and again: a crash loop, a poll interval that is too short, a bad network.

A member is known by its instance id, else by its client id while no other member of the group has it, else by client id
and host while no other has both; members that cannot be told apart are not judged. It *returns* when its name was gone
and is there again, or has a new member id. From its `RETURNS`-th return within `WINDOW_MS` on it flaps, until it has
neither gone nor come for so long. In a rollout each member returns once, which is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rebalance_agent.model.events import MemberSnapshot
from rebalance_agent.model.group import Member

__all__ = ["NAMES_MAX", "RETURNS", "WINDOW_MS", "AnyMember", "Flapping", "FlappingMember"]

RETURNS = 3
"""Once is a restart, twice may be a rollback."""

WINDOW_MS = 15 * 60_000
"""Room for three returns of a crash loop, whose waits grow up to five minutes."""

NAMES_MAX = 4_096
"""Names remembered of one group to have gone or returned; the longest unchanged are forgotten first."""

AnyMember = Member | MemberSnapshot

_Name = tuple[str, str | None, str | None]
"""Instance id, or client id and None, or client id and host."""


@dataclass(frozen=True, slots=True)
class FlappingMember:
    """One that flaps: its ``returns`` since ``since_ms``, the coordinator's time of the first of them."""

    client_id: str
    instance_id: str | None
    returns: int
    since_ms: int

    @property
    def name(self) -> str:
        """What people know it by."""
        return self.instance_id or self.client_id


@dataclass(slots=True)
class _Past:
    """``returned_ms``: its returns within the window, until it flaps. ``due_ms``: when to forget it.

    Of the member only its ids: with all of it, generations long gone would be kept.
    """

    client_id: str
    instance_id: str | None
    due_ms: int = 0
    gone: bool = False
    returned_ms: tuple[int, ...] = ()
    returns: int = 0

    @property
    def flaps(self) -> bool:
        return self.returns >= RETURNS

    def came_back(self, at_ms: int) -> None:
        """It returned once more; once it flaps all returns count, whenever they were."""
        if self.flaps:
            self.returns += 1
            return
        self.returned_ms = (*(each for each in self.returned_ms if each >= at_ms - WINDOW_MS), at_ms)
        self.returns = len(self.returned_ms)


class Flapping:
    """The flapping members of one group."""

    def __init__(self) -> None:
        """Begin with nobody having gone."""
        self.shown: tuple[FlappingMember, ...] = ()
        self._past: dict[_Name, _Past] = {}

    @property
    def due_ms(self) -> int | None:
        """When `pass_time` has something to do (the observer's time)."""
        return next((past.due_ms for past in self._past.values()), None)

    def see(
        self, before: Sequence[AnyMember], generations: Iterable[tuple[int, Sequence[AnyMember]]], now_ms: int
    ) -> tuple[str, ...]:
        """Take in a settled episode: who was there before it, and in each of its generations (with their times).

        Returns:
            The names of those that came or went in it and flap, sorted.
        """
        changed: list[_Past] = []
        for at_ms, after in generations:
            if {each.member_id for each in before} == {each.member_id for each in after}:
                continue
            had, has = _named(before), _named(after)
            gone = sorted(had.keys() - has.keys(), key=repr)
            changed += [self._change(name, member, now_ms, gone=True) for name in gone if (member := had[name])]
            for name, member in has.items():
                old = had.get(name)
                away = name in self._past and self._past[name].gone and name not in had
                if member and (away or (old and old.member_id != member.member_id)):
                    past = self._change(name, member, now_ms, gone=False)
                    past.came_back(at_ms)
                    changed.append(past)
            before = after
        self._show()
        return tuple(sorted({past.instance_id or past.client_id for past in changed if past.flaps}))

    def pass_time(self, now_ms: int) -> None:
        """Forget who has neither gone nor come for long enough."""
        while (due_ms := self.due_ms) is not None and due_ms <= now_ms:
            del self._past[next(iter(self._past))]
        self._show()

    def set_back(self, by_ms: int) -> None:
        """The observer's clock was set back by so much."""
        for past in self._past.values():
            past.due_ms -= by_ms

    def _change(self, name: _Name, member: AnyMember, now_ms: int, *, gone: bool) -> _Past:
        # To the end of the order, so that who comes first is due first.
        past = self._past.pop(name, None) or _Past(member.client_id, member.instance_id)
        past.client_id, past.gone, past.due_ms = member.client_id, gone, now_ms + WINDOW_MS
        self._past[name] = past
        if len(self._past) > NAMES_MAX:
            del self._past[next(iter(self._past))]
        return past

    def _show(self) -> None:
        flapping = {(past.client_id, past.instance_id): past for past in self._past.values() if past.flaps}
        self.shown = tuple(
            FlappingMember(client_id, instance_id, past.returns, past.returned_ms[0])
            for (client_id, instance_id), past in sorted(
                flapping.items(), key=lambda item: (item[0][0], item[0][1] or "")
            )
        )


def _named(members: Sequence[AnyMember]) -> dict[_Name, AnyMember | None]:
    """Members by the names they have; None where several have one."""
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
