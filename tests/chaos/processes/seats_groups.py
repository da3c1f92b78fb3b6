"""Groups behind gateways, whose members are deployed, restarted, killed, paused and scaled."""

from __future__ import annotations

import signal

import psutil

from chaos.members.kinds import SEATS_KINDS, group_name
from chaos.processes.groups import Groups
from rebalance_agent.clock import SystemClock

FIRST, FEWEST, MOST = 3, 2, 5
"""Members of a group at first, at least, and at most."""

BESIDE_S, APART_S, AWAY_S, PAUSED_S = (0.5, 5.0), (0.0, 4.0), (0.0, 6.0), (1.0, 25.0)
"""Seconds: the successor runs beside its predecessor; it starts after its predecessor left, or was killed; a member is
stopped."""


CONNECTED_S, LOOKS_S = 30.0, 0.2
"""Longest wait for a new process to connect to its gateway, and the time between two checks."""


class SeatsGroups(Groups):
    """All groups. Each member uses one of the gateways, and its successor mostly the other.

    Changes and the times between them depend on the seed alone, so that a run without seats has the same.
    """

    def __init__(self, kafka, gateways, topic, seed, kinds=SEATS_KINDS):
        super().__init__(kafka, topic, "", seed, kinds)
        self._gateways, self._clock = gateways, SystemClock()
        self._changes = {
            "deploy": (4, self._deploy),
            "restart": (3, self._restart),
            "kill": (3, self._kill_one),
            "pause": (2, self._pause),
            "scale up": (1, self._scale_up),
            "scale down": (1, self._scale_down),
        }

    def _bootstrap(self, number):
        return self._gateways[number % len(self._gateways)]

    def _live(self, batch, chance):
        (kind,) = batch
        there = []
        with self._noted(kind):
            self._start(batch, there, FIRST)
            while not self._stop.wait(chance.uniform(*kind.rest_s)):
                names = [name for name in self._changes if self._allowed(name, len(there))]
                name = chance.choices(names, [self._changes[each][0] for each in names])[0]
                self.account.note("change", group=group_name(kind), name=name)
                self._changes[name][1](batch, there, chance)
        if there:
            with self._noted(kind):
                self._leave([member for (member,) in there])

    @staticmethod
    def _allowed(name, members):
        return {"scale up": members < MOST, "scale down": members > FEWEST}.get(name, members > 0)

    def _start(self, batch, there, number):
        """Start members at the same time, and wait until they are connected: on a busy machine that takes seconds."""
        new = [self._join(batch, len(self.members[batch[0].name])) for _ in range(number)]
        there.extend(new)
        until = self._clock.monotonic() + CONNECTED_S
        while not all(_connected(each) for (each,) in new) and self._clock.monotonic() < until:
            if self._stop.wait(LOOKS_S):
                return

    def _deploy(self, batch, there, chance):
        """Replace each member by one that starts before it leaves."""
        for old in list(there):
            self._start(batch, there, 1)
            if self._stop.wait(chance.uniform(*BESIDE_S)):
                return
            there.remove(old)
            self._leave(old)

    def _restart(self, batch, there, chance):
        """Replace a member by one that starts after it has left."""
        self._leave(there.pop(chance.randrange(len(there))))
        self._stop.wait(chance.uniform(*APART_S))
        self._start(batch, there, 1)

    def _kill_one(self, batch, there, chance):
        """Kill a member; two times out of three it returns soon."""
        self._leave(there.pop(chance.randrange(len(there))), kill=True)
        back, away_s = chance.random() < 2 / 3, chance.uniform(*AWAY_S)
        if back or len(there) < FEWEST:
            self._stop.wait(away_s)
            self._start(batch, there, 1)

    def _pause(self, _batch, there, chance):
        """Stop a member for a while, in half of the cases for longer than its session."""
        ((member,), seconds) = chance.choice(there), chance.uniform(*PAUSED_S)
        self.account.note("stop", **member.who)
        member.send(signal.SIGSTOP)
        self._stop.wait(seconds)
        self.account.note("cont", **member.who)
        member.send(signal.SIGCONT)

    def _scale_up(self, batch, there, _chance):
        self._start(batch, there, MOST - len(there))

    def _scale_down(self, _batch, there, chance):
        """Make members leave at the same time."""
        gone = [there.pop(chance.randrange(len(there))) for _ in range(len(there) - FEWEST)]
        self._leave([member for (member,) in gone])


def _connected(member):
    """Whether the process is connected, or has ended; `_kill` and `close` report an ended one as an error."""
    try:
        return any(each.status == psutil.CONN_ESTABLISHED for each in psutil.Process(member.pid).net_connections("tcp"))
    except psutil.Error:
        return True
