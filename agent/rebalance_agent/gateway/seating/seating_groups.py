"""The groups of one gateway that a rule for seats matches."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from rebalance_agent.clock import Clock
from rebalance_agent.gateway.seat_rules import SeatRule, SeatRules
from rebalance_agent.gateway.seating.act_report import ActCounts, ActReport, NoCounts
from rebalance_agent.gateway.seating.acting_group import ActingGroup
from rebalance_agent.gateway.seating.acts.act_events import ActEvents, EmitAct
from rebalance_agent.gateway.seating.connections.client_connection import ClientConnection, Held
from rebalance_agent.gateway.seating.connections.open_clients import OpenClients
from rebalance_agent.gateway.seating.frames.connection_groups import ImpatientMembers
from rebalance_agent.gateway.seating.group_names import GroupNames
from rebalance_agent.gateway.seating.leases.api_server import Objects
from rebalance_agent.gateway.seating.newcomers import HeldBytes
from rebalance_agent.gateway.seating.observed_group import ObservedGroup
from rebalance_agent.gateway.seating.seat_frames import SeatFrames
from rebalance_agent.gateway.seating.seated_group import SeatedGroup
from rebalance_agent.gateway.seating.shared_parts import SharedParts
from rebalance_agent.gateway.seating.switch_file import read_switch
from rebalance_agent.gateway.seats.gateway_seats import GatewaySeats
from rebalance_agent.gateway.seats.rules.seat_settings import SeatMode, SeatSettings
from rebalance_agent.gateway.seats.saved_seats import SavedSeat
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.reported.seat_event import Act

__all__ = ["CHECK_SECONDS", "SeatingGroups"]

CHECK_SECONDS = 0.5
"""Seconds between checks whether clients have disconnected, while the gateway holds their requests."""

IDLE_SECONDS = 60.0
"""Longest time (seconds) between steps; a step removes groups without seats and members."""

PAUSE_SECONDS_MIN = 0.01
"""Shortest pause (seconds) between two steps, even if a due act fails again and again."""

SWITCH_OFF_SECONDS = 3.0
"""Longest wait (seconds) for the coordinator's answers when seats are switched off; an answer takes a millisecond."""

SWITCH_SECONDS = 5.0
"""Seconds between checks of the file that switches seats off; a ConfigMap change takes up to a minute anyway."""

TOKEN_BYTES = 8
"""Random bytes in the names of seats, new at each start: a name used before could still belong to a member."""


_Result = TypeVar("_Result")


class SeatingGroups:
    """The groups with seats, for all connections of the gateway. Call the methods in the event loop's thread."""

    def __init__(
        self,
        rules: SeatRules,
        clock: Clock,
        counts: ActCounts | None = None,
        *,
        admission_seconds: float = 0.0,
        switch_file: str = "",
        emit: EmitAct = lambda _event, _left_out: None,
        leases: Objects | None = None,
        saves: bool = False,
    ) -> None:
        """Start without groups.

        ``admission_seconds``: see `SeatSettings`. ``switch_file``: see `read_switch`; empty: no file. ``emit``
        publishes events. ``leases``: see `SharedParts`. ``saves``: seats are saved for the next gateway here.
        """
        self._wake = asyncio.Event()
        token = secrets.token_hex(TOKEN_BYTES)
        self._clock, self.report = clock, ActReport(counts or NoCounts(), clock, ActEvents(emit, clock, token))
        self._shared = SharedParts(clock, self.report, self._wake.set, token, leases)
        self.watch, self.clients = self._shared.watch, OpenClients(SeatSettings().crash_window_seconds)
        self._rules, self._admission_seconds, self._saves = rules, admission_seconds, saves
        self._acting = GatewaySeats(SeatSettings(), SeatMode.ON, token)
        self._observing = GatewaySeats(SeatSettings(), SeatMode.OBSERVE, token)
        self._groups: dict[str, SeatedGroup] = {}
        self._lingering: dict[ClientConnection, asyncio.Future[None]] = {}
        self._numbers = itertools.count(1)
        self._processes: dict[ClientConnection, int] = {}
        self._unfenced, self._wrong, self.held_bytes = GroupNames(), GroupNames(), HeldBytes()
        self._off, self._switched_off, self.impatient = False, "", ImpatientMembers()
        self._switch_file, self._switch_at = switch_file, math.inf
        if switch_file:
            self._look_at_switch()

    def connection(self, connection: ClientConnection, held: Held = contextlib.nullcontext) -> SeatFrames:
        """Return the handler for the frames of a new connection; ``held`` is entered while a JoinGroup is held."""
        self._processes[connection] = next(self._numbers)
        return SeatFrames(self, connection, held)

    def opened(self, connection: ClientConnection, client_id: str) -> None:
        """Record that the client of a connection has sent its client id: the client, or its successor, is alive."""
        for process in self.clients.opened(connection, client_id, self.process(connection)):
            self._each(lambda group, process=process: group.connections_opened(process))  # type: ignore[misc]

    def process(self, connection: ClientConnection) -> int:
        """Return the number of a connection; this number identifies the client."""
        return self._processes.get(connection, 0)

    def next_join(self) -> int:
        """Return the number of a new JoinGroup."""
        return next(self._numbers)

    def of(self, group: str, group_type: GroupType = GroupType.CLASSIC) -> SeatedGroup | None:
        """Return the group; None if all its frames of this protocol are to be forwarded unchanged.

        A group has seats for one protocol at a time; it can change to the other protocol once it has no known member.
        """
        known = self._groups.get(group)
        if known is not None and known.group_type is not group_type and known.idle:
            self._forget_idle()
            known = None
        if known is not None:
            return known if known.group_type is group_type else None
        rule = None if self._off else self._rules.of(group)
        if rule is None or (self._switched_off and rule.mode is SeatMode.ON):
            return None
        if len(self._groups) >= rule.settings.groups_max:
            self._forget_idle()
        if len(self._groups) >= rule.settings.groups_max:
            return None
        made = self._made(group, rule, group_type)
        if made is not None:
            self._groups[group] = made
            if group in self._unfenced:
                made.refuse_unfenced()
        return made

    def refuse_unfenced(self, group: str) -> None:
        """Stop handing over seats in a group with a member that commits without its member id."""
        if self._rules.of(group) is not None:
            self._unfenced.add(group)
        known = self._groups.get(group)
        if known is not None:
            known.refuse_unfenced()

    # -- restart -----------------------------------------------------------------------------------------------

    def saved(self) -> dict[str, tuple[SavedSeat, ...]]:
        """Return the seats to restore after a restart of the gateway, by group."""
        saved = self._each(lambda group: group.saved())
        return {name: seats for name, seats in saved.items() if seats}

    def restore(self, saved: Mapping[str, tuple[SavedSeat, ...]], elapsed_seconds: float) -> None:
        """Restore seats that were saved ``elapsed_seconds`` ago, before any client connects.

        Groups whose rule has mode ``on`` are restored, even while the switch file is ``off``: members keep their seats.
        """
        for name, seats in saved.items():
            rule = self._rules.of(name)
            if (
                rule is None
                or rule.mode is not SeatMode.ON
                or (group := self._made(name, rule, _type_of(seats))) is None
            ):
                continue
            self._groups[name] = group
            group.restore(seats, elapsed_seconds)
            if self._switched_off:
                group.stop()
        self._wake.set()

    # -- connections -------------------------------------------------------------------------------------------

    async def linger(self, connection: ClientConnection) -> None:
        """Record that the client of a connection has closed it; return when the broker's side is no longer needed."""
        self.clients.ended(connection, self._clock.monotonic(), by_client=True)
        process = self.process(connection)
        self._each(lambda group: group.client_ended(connection, process))
        if self._needed(connection):
            self._lingering[connection] = asyncio.get_running_loop().create_future()
            self._wake.set()
            try:
                await self._lingering[connection]
            finally:
                self._lingering.pop(connection, None)

    def closed(self, connection: ClientConnection) -> None:
        """Record that a connection is closed on both sides."""
        self.clients.ended(connection, self._clock.monotonic(), by_client=False)
        self._each(lambda group: group.forget(connection))
        self._processes.pop(connection, None)

    # -- time --------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Carry out acts when they are due, until cancelled."""
        while True:
            self.step()
            self._wake.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), self._pause())

    def step(self) -> None:
        """Carry out the acts that are due by now. An error in one group does not affect the others."""
        now = self._clock.monotonic()
        if now >= self._switch_at:
            self._look_at_switch()
        self.watch.check()
        crashed = [self.process(connection) for connection in self.clients.crashed(now)]

        def step(group: SeatedGroup) -> None:
            for process in crashed:
                group.crashed(process)
            if (due := group.next_due()) is not None and due <= now:
                group.due()

        self._each(step)
        for name in [name for name, group in self._groups.items() if group.wrong]:
            self._wrong.add(name)
        for connection, lingers in tuple(self._lingering.items()):
            if not lingers.done() and not self._needed(connection):
                lingers.set_result(None)
        self._forget_idle()
        self.report.counts.seats(
            sum(self._each(lambda group: group.held).values()),
            sum(self._each(lambda group: group.vacant).values()),
            off=bool(self._switched_off),
            wrong=len(self._wrong),
        )

    async def switch_off(self) -> None:
        """Stop holding JoinGroups and keeping seats until the gateway restarts. Members continue.

        Returns when the coordinator has answered, at most `SWITCH_OFF_SECONDS` later.
        """
        self._off = True
        self._each(lambda group: group.stop(keep=self._saves))
        self._wake.set()
        await self._shared.settled(SWITCH_OFF_SECONDS)

    def _look_at_switch(self) -> None:
        """Stop acting in all groups, or act again, if the switch file has changed."""
        self._switch_at = self._clock.monotonic() + SWITCH_SECONDS
        before, self._switched_off = self._switched_off, read_switch(self._switch_file).reason
        if bool(before) == bool(self._switched_off):
            return
        self.report.switched(self._switched_off)
        if self._switched_off:
            self._each(lambda group: group.stop())
        elif not self._off:
            self._each(lambda group: group.go_on())

    def _made(self, group: str, rule: SeatRule, group_type: GroupType) -> SeatedGroup | None:
        acts = rule.mode is SeatMode.ON and group not in self._wrong
        settings = replace(rule.settings, admission_seconds=self._admission_seconds)
        seats = (self._acting if acts else self._observing).of(group, settings, group_type)
        if seats is None:
            return None
        if acts:
            return ActingGroup(group, rule, seats, self._shared)
        return ObservedGroup(rule, seats, self._shared)

    def _pause(self) -> float:
        """Return the seconds until the next step, unless an event wakes the task earlier."""
        watched = len(self.watch) or self._lingering or self.clients.undecided
        dues = [self._switch_at, *self._each(lambda group: group.next_due()).values()]
        times = [due - self._clock.monotonic() for due in dues if due is not None]
        return max(PAUSE_SECONDS_MIN, min([CHECK_SECONDS if watched else IDLE_SECONDS, *times]))

    def _needed(self, connection: ClientConnection) -> bool:
        may_have_crashed = self.clients.may_have_crashed(connection)
        return not connection.closed and any(
            self._each(lambda group: group.needs(connection, may_have_crashed=may_have_crashed)).values()
        )

    def _forget_idle(self) -> None:
        idle = self._each(lambda group: group.idle)
        self._groups = {name: group for name, group in self._groups.items() if not idle.get(name)}
        self._acting.forget_idle()
        self._observing.forget_idle()

    def _each(self, call: Callable[[SeatedGroup], _Result]) -> dict[str, _Result]:
        """Return the results of ``call`` by group, omitting groups for which it fails.

        The members of a group for which ``call`` fails continue, and the waiting time of its held requests is limited.
        """
        results = {}
        for name, group in tuple(self._groups.items()):
            try:
                results[name] = call(group)
            except Exception as error:  # noqa: BLE001 - see above
                self.report.failed(Act.GIVE_UP, name, error)
        return results


def _type_of(seats: tuple[SavedSeat, ...]) -> GroupType:
    return next((one.group_type for one in seats), GroupType.CLASSIC)
