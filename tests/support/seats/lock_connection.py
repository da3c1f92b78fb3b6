"""One gateway's locks on a real broker: a blocking connection that executes the acts of `GroupLocks`."""

from __future__ import annotations

import itertools
import uuid

from rebalance_agent.gateway.seats.locks import GroupLocks, LockChange
from rebalance_agent.gateway.seats.locks.lock_frames import (
    heartbeat_frame,
    helper_group,
    holders,
    read_heartbeat_answer,
)
from rebalance_agent.gateway.seats.rules.seat_settings import SeatSettings
from rebalance_agent.groupprotocol.requests.consumer_group_describe import encode_describe
from support.kafka.frame_connection import FrameConnection

PATIENCE_S = 60


class LockConnection:
    """The test sets the time: nothing here waits for a session or a heartbeat."""

    def __init__(self, bootstrap, group, restored=()):
        self.group, self.now = group, 0.0
        self._broker = FrameConnection(bootstrap, PATIENCE_S)
        self.numbers = itertools.count(1)
        self.locks = GroupLocks(SeatSettings(), (str(uuid.uuid4()) for _ in itertools.count()))
        self.restored = self.do(self.locks.restore(restored, self.now))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._broker.close()

    def exchange(self, frame):
        return self._broker.exchange(frame)

    def send(self, beat):
        return read_heartbeat_answer(self.exchange(heartbeat_frame(self.group, beat, next(self.numbers), "gateway")))

    def do(self, acts):
        """Execute acts, and those that follow from responses; return the changes of locks."""
        changes, acts = [], list(acts)
        while acts:
            act = acts.pop(0)
            if isinstance(act, LockChange):
                changes.append(act)
            else:
                acts += self.locks.answered(act, self.send(act), self.now)
        return changes

    def claim(self, seat):
        return self.do(self.locks.claim(seat, self.now))

    def release(self, seat):
        return self.do(self.locks.release(seat, self.now))

    def beat(self):
        """Confirm every lock, as if its heartbeat were due."""
        self.now += 4.0
        return self.do(self.locks.due(self.now))

    def description(self):
        """The helper group's description from the broker."""
        return self.exchange(encode_describe(next(self.numbers), "gateway", [helper_group(self.group)]))

    def holders(self):
        """All locks of the group; None while its coordinator loads."""
        return holders(self.description())

    def notes(self):
        """Instance id -> its note."""
        return {one.instance_id: one.note for one in self.holders()}

    def described(self):
        """Instance id -> whether it is released; None while its coordinator loads."""
        known = self.holders()
        return None if known is None else {one.instance_id: one.released for one in known}
