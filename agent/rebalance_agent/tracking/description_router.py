"""Passes descriptions of groups to the states of these groups."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_agent.model.events import Event
from rebalance_agent.model.group import GroupState
from rebalance_agent.tracking.described.described_state import DescribedState
from rebalance_agent.tracking.described.polled_group import PolledGroup
from rebalance_agent.tracking.groups import GroupStates
from rebalance_agent.tracking.memory.state_budget import described_bytes
from rebalance_agent.tracking.observations import DescribedGroup, GroupDescribed, GroupVanished
from rebalance_agent.tracking.tracker_context import TrackerContext

__all__ = ["DescriptionRouter"]


class DescriptionRouter:
    """Finds or creates the state of a described group. It does not change groups that are known from records."""

    def __init__(self, groups: GroupStates, polled: dict[str, PolledGroup], context: TrackerContext) -> None:
        """``groups`` holds the groups' states; ``polled`` holds the groups whose descriptions have no epochs."""
        self._groups, self._polled, self._context = groups, polled, context

    def take(self, described: GroupDescribed | GroupVanished) -> Iterator[Event]:
        """Process one description, or the end of a group that its coordinator no longer has; yield the events."""
        if isinstance(described, GroupVanished):
            yield from self._groups.catch_up(described.group, described.at_ms)
            yield from self._groups.vanish(described.group, described.version, described.at_ms)
            return
        value = described.value
        if value.state is GroupState.DEAD:
            self.drop_polled(value.group)
            if isinstance(state := self._groups.get(value.group), DescribedState):
                yield from self._groups.settle(state, described.answered_ms)
        elif value.epochs is not None:
            yield from self._take_epochs(described)
        else:
            yield from self._groups.forget_outdated(value, described.at_ms, described.answered_ms)
            if not self._groups.is_known(value.group):
                self._poll(value, described.at_ms)

    def drop_polled(self, name: str) -> None:
        """Drop a group that only descriptions without epochs have shown."""
        if self._polled.pop(name, None):
            self._context.state_budget.drop(name)
            self._groups.mark_changed(name)

    def _poll(self, value: DescribedGroup, at_ms: int) -> None:
        name, polled = value.group, self._polled.get(value.group)
        if not self._has_room(value, polled, at_ms):
            self.drop_polled(name)  # its view would show an older description
            return
        if polled is None:
            polled = PolledGroup(value, at_ms, self._groups.mark_changed, self._context.may_be_empty)
            self._polled[name] = polled
        else:
            polled.describe(value, at_ms)
        self._context.state_budget.set(name, polled.size_bytes)

    def _has_room(self, value: DescribedGroup, before: DescribedState | PolledGroup | None, now_ms: int) -> bool:
        """Whether the memory budget has room for a description that replaces the one in ``before``."""
        budget = self._context.state_budget
        if before is None:
            return budget.admits(value.group, now_ms, lambda: described_bytes(value), live=False, whole=True)
        return not budget.refuses(value.group, now_ms, lambda: before.value_bytes, lambda: described_bytes(value))

    def _take_epochs(self, described: GroupDescribed) -> Iterator[Event]:
        value, now_ms = described.value, described.answered_ms
        yield from self._groups.catch_up(value.group, now_ms)
        state = self._groups.get(value.group)
        if state and state.known and not isinstance(state, DescribedState):
            return
        if not self._has_room(value, state if isinstance(state, DescribedState) else None, now_ms):
            if state:
                self._groups.forget(value.group)  # its view would show an older description
            self.drop_polled(value.group)
            return
        if not isinstance(state, DescribedState) or state.group_type is not value.group_type:
            state = DescribedState(value, self._context, now_ms, state)
            self._groups.put(state)
            self.drop_polled(value.group)
        yield from state.describe(described)
        self._groups.refresh(state)
