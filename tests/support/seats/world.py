"""The world of the model: one coordinator, two gateways, clients, locks; and its invariants."""

from __future__ import annotations

from rebalance_agent.gateway.seats import SeatMode, SeatSettings
from support.gateway.seats import profile
from support.seats.clients import KNOWN_ERRORS, ModelClient, double_owners
from support.seats.coordinator import INCONSISTENT, PARTITIONS, ModelCoordinator
from support.seats.gateway import CHEAP, DEAR, ModelGateway
from support.seats.helper_group import HelperGroup
from support.seats.locks import Locks

TICK = 0.25
SESSION = 8.0
SETTINGS = SeatSettings(
    hold_seconds=6.0,
    vacant_seconds=5.0,
    crash_window_seconds=3.0,
    leave_close_seconds=1.0,
    lock_fresh_seconds=6.0,
    answer_seconds=1.0,
)
PROFILES = (profile(), profile(topics=("t", "u")), profile(names=("roundrobin",)))


class World:
    """Simulated time in ticks; every rule of the state machine is a method. ``checks``: its invariants; None: all."""

    COORDINATOR, CLIENT, GATEWAY, PROFILES, KNOWN_ERRORS = (
        ModelCoordinator,
        ModelClient,
        ModelGateway,
        PROFILES,
        KNOWN_ERRORS,
    )

    def __init__(self, mode=SeatMode.ON, settings=SETTINGS, *, checks=None, kind=None):
        self.now, self.mode, self.settings = 0.0, mode, settings
        self.coordinator = self.COORDINATOR()
        self.locks, self.helper = Locks(), HelperGroup()
        self.clients, self.ended = [], {}
        self._planned = []
        self.forecast, self.checks = CHEAP, checks
        self.slow_acts = False
        self._number = 0
        self.gateways = [(kind or self.GATEWAY)(number, self) for number in (0, 1)]

    def next_number(self):
        self._number += 1
        return self._number

    # -- clients -----------------------------------------------------------------------------------------------

    def start(self, gateway, *, which=0, version=9, patience=60.0, unfenced=False):
        client = self.CLIENT(
            self.next_number(),
            None if gateway is None else self.gateways[gateway],
            self.PROFILES[which],
            version,
            patience,
            SESSION,
            unfenced,
        )
        client.connected = client.gateway is None or client.gateway.up
        self.clients.append(client)
        return client

    def stop(self, client, reason=None):
        """The client leaves the group and ends."""
        if client.connected and client.gateway is not None and client.member_id:
            member, process, gateway = client.member_id, client.process, client.gateway
            gateway.put(lambda: gateway.leave(member, process, reason, closes=True))
        elif client.gateway is None:
            self.coordinator.leave(self.now, client.member_id, None)
        self._end(client)

    def crash(self, client):
        self._end(client)

    def reconnect(self, client, seconds):
        if client.gateway is not None and client.connected:
            client.gateway.closed(client)
            client.on_disconnect(self.now, seconds)

    def expire_locks(self):
        """All locks expire, although gateways and members continue."""
        self.locks.held.clear()
        self.helper.members.clear()

    def _end(self, client):
        client.alive = False
        client.connection += 1
        self.ended[client.process] = self.now
        if client.gateway is not None:
            client.gateway.closed(client)

    def send_join(self, client):
        connection = client.connection
        if client.gateway is not None:
            client.gateway.put(lambda: connection == client.connection and client.gateway.join(client))
            return
        self.coordinator.join(
            self.now,
            client.member_id,
            None,
            client.profile,
            client.session,
            client.process,
            lambda joined: client.answer(connection, lambda: client.on_join(joined)),
        )

    def send_sync(self, client):
        connection = client.connection
        if client.gateway is not None:
            client.gateway.put(lambda: connection == client.connection and client.gateway.sync(client))
            return
        self.coordinator.sync(
            self.now,
            client.member_id,
            client.generation,
            lambda *a: client.answer(connection, lambda: client.on_sync(*a)),
        )

    def send_heartbeat(self, client):
        connection = client.connection
        if client.gateway is not None:
            client.gateway.put(lambda: connection == client.connection and client.gateway.heartbeat(client))
            return
        error = self.coordinator.heartbeat(self.now, client.member_id, client.generation)
        client.answer(connection, lambda: client.on_heartbeat(error))

    # -- time --------------------------------------------------------------------------------------------------

    def advance(self, seconds):
        for _ in range(round(seconds / TICK)):
            self.now += TICK
            for planned in [one for one in self._planned if one[0] <= self.now]:
                self._planned.remove(planned)
                planned[1]()
            self.coordinator.tick(self.now)
            for gateway in self.gateways:
                gateway.step()
            for client in self.clients:
                client.step(self)
                if client.alive and INCONSISTENT in client.shown:
                    self.crash(client)  # its application ends
            self.check()
        self.clients = [one for one in self.clients if one.alive]

    def later(self, seconds, what):
        """Execute an action after some time."""
        self._planned.append((self.now + seconds, what))

    # -- faults, each for a while ------------------------------------------------------------------------------

    def fail_over(self, seconds):
        """Another broker loads the group."""
        self.coordinator.available = False
        self.coordinator.fail_over(self.now)
        self.helper.fail_over(self.now)
        self.later(seconds, lambda: setattr(self.coordinator, "available", True))

    def pause(self, client, seconds):
        client.paused = True
        self.later(seconds, lambda: setattr(client, "paused", False))

    def pause_gateway(self, gateway, seconds):
        gateway.paused = gateway.up
        self.later(seconds, gateway.resume)

    def cut_off(self, gateway, seconds):
        """The gateway does not reach the locks, nor describe the group."""
        gateway.cut_off = True
        self.later(seconds, lambda: setattr(gateway, "cut_off", False))

    def kill(self, gateway, seconds):
        if gateway.up:
            gateway.kill()
            self.later(seconds, gateway.restart)

    # -- invariants ----------------------------------------------------------------------------------------

    def check(self):
        for check in (self.check_owners, self.check_holds, self.check_errors, self.check_vacant):
            if self.checks is None or check.__name__ in self.checks:
                check()

    def check_owners(self):
        """Never two members that can both commit for one partition."""
        assert double_owners(self.clients, self.coordinator) == [], "two clients can commit for one partition"
        assert not any(one.unfenced and one.seated for one in self.clients)

    def check_holds(self):
        """No newcomer is held longer than the setting and its client allow, unless the gateway itself is paused."""
        longest = self.settings.hold_seconds + self.settings.admission_seconds
        for gateway in self.gateways:
            if gateway.paused or not gateway.up:
                continue
            for join, since in gateway.arrived.items():
                if (client := gateway.joins.get(join)) is not None:
                    since = max(since, gateway.resumed_at)  # noqa: PLW2901 - it could not act before
                    assert self.now - since <= min(longest, client.patience) + 2 * TICK, "held too long"

    def check_errors(self):
        """No client gets an error code that a dynamic member cannot get."""
        for client in self.clients:
            assert client.shown <= self.KNOWN_ERRORS, "an error that no dynamic member knows"

    def check_vacant(self):
        """Members whose process has ended delay others by at most one session, as after a crash."""
        if self.coordinator.state != "preparing":
            return
        since = self.coordinator.preparing_since
        for member in self.coordinator.members.values():
            if member.reply is None and member.process in self.ended:
                waited = self.now - max(since, self.ended[member.process])
                assert waited <= SESSION + self.settings.keeper_seconds + 2 * TICK, "others wait for a vacant member"

    def check_recovered(self):
        """After all faults have ended, the group is stable, and each partition has one living owner."""
        if self.checks is not None and "check_recovered" not in self.checks:
            return
        assert self.coordinator.state in ("stable", "empty"), "not recovered: the group is not stable"
        living = [one for one in self.clients if one.alive]
        assert {one.member_id for one in living} == set(self.coordinator.members), "not recovered: other members"
        owned = sorted(p for one in living for p in one.owned)
        assert owned == (sorted(PARTITIONS) if living else []), "not recovered: other owners"

    def heal(self):
        self.slow_acts = False
        for _, planned in self._planned:
            planned()
        self._planned.clear()

    def lose_gateways(self):
        """Both gateways and all their clients end permanently."""
        for gateway in self.gateways:
            gateway.kill()
        for client in self.clients:
            client.alive = client.gateway is None
        self.clients = [one for one in self.clients if one.alive]


FORECASTS = (CHEAP, DEAR)
