"""A hostile tenant: ``python -m chaos.faults.tenant BOOTSTRAP EVENTS_ADDRESS SECONDS SEED``.

It may join groups of its own, whose names begin with `HOSTILE`, and may post to a sidecar. In turn it completes
generations as fast as the coordinator answers, is assigned partitions that no topic has, sends a megabyte of user data,
joins thousands of groups, and posts events that claim many partitions. At the end it prints as JSON how often the
coordinator or the sidecar accepted each.
"""

from __future__ import annotations

import contextlib
import json
import random
import sys
import uuid
from collections import Counter
from http.client import HTTPException

from kafka.protocol.consumer.group import JoinGroupRequest, JoinGroupResponse, SyncGroupRequest, SyncGroupResponse

from rebalance_agent.clock import SystemClock
from rebalance_agent.groupprotocol.consumer_protocol import encode_assignment, encode_subscription
from rebalance_agent.groupprotocol.wire.error_codes import UNKNOWN_MEMBER_ID
from rebalance_agent.model.event_json import json_line
from rebalance_agent.model.events import Callback, MemberEvent
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription
from support.gateway.frames import framed
from support.kafka.frame_connection import FrameConnection
from support.observer.observing import http

HOSTILE = "hostile-"
ABSURD_PARTITIONS = 220_000
USER_DATA_BYTES = 900_000
NAMES = 10_000
CLAIMED_PARTITIONS = 100_000
SESSION_MS = 6_000
TIMEOUT_S = 10.0
TAKEN_S = 8.0
"""Longest time for which an attack waits for brokers that have just been restarted."""

VERSION = 3
"""Version of JoinGroup and SyncGroup in which the coordinator accepts a member without an id at once."""

SUBSCRIPTION = encode_subscription(ConsumerSubscription(1, ("orders",), None, {}, -1, None))
HUGE_SUBSCRIPTION = encode_subscription(ConsumerSubscription(1, ("orders",), bytes(USER_DATA_BYTES), {}, -1, None))
NOTHING = encode_assignment(ConsumerAssignment(1, {}, None))
ABSURD = encode_assignment(ConsumerAssignment(1, {"absurd": tuple(range(ABSURD_PARTITIONS))}, None))
CLOCK = SystemClock()


class Tenant:
    """All attacks. ``done``: how often each attack was accepted."""

    def __init__(self, bootstrap, events, seconds, seed):
        self.done = Counter()
        self._addresses, self._events = bootstrap.split(","), events
        self._seconds, self._chance = seconds, random.Random(seed)
        self._brokers, self._members = {}, {}

    def run(self):
        """Run each attack for an equal part of the time, and until it was accepted once; return whether all were."""
        attacks = {
            "generations": self._generations,
            "partitions": self._partitions,
            "user data": self._user_data,
            "names": self._names,
            "claims": self._claims,
        }
        for name, attack in attacks.items():
            until = CLOCK.monotonic() + self._seconds / len(attacks)
            while (left_s := until - CLOCK.monotonic()) > 0 or (left_s > -TAKEN_S and not self.done[name]):
                with contextlib.suppress(OSError, HTTPException):
                    self.done[name] += attack()
        for broker in self._brokers.values():
            broker.close()
        return all(self.done[name] for name in attacks)

    def _generations(self):
        return self._rebalance(f"{HOSTILE}generations", SUBSCRIPTION, NOTHING)

    def _partitions(self):
        return self._rebalance(f"{HOSTILE}partitions", SUBSCRIPTION, ABSURD)

    def _user_data(self):
        return self._rebalance(f"{HOSTILE}user-data", HUGE_SUBSCRIPTION, NOTHING)

    def _names(self):
        return self._rebalance(f"{HOSTILE}{self._chance.randrange(NAMES):05}", SUBSCRIPTION, NOTHING)

    def _claims(self):
        status, _ = http(f"http://{self._events}/v1/events", json_line(self.claim()))
        return status in range(200, 300)

    def claim(self):
        """Return an event of a member that does not exist."""
        now_ms, name = CLOCK.now_ms(), uuid.UUID(bytes=self._chance.randbytes(16)).hex
        return MemberEvent(
            event_id=name,
            group=f"{HOSTILE}claims",
            timestamp_ms=now_ms,
            callback=Callback.ASSIGNED,
            client_id="claims",
            member_id=name,
            generation=1,
            started_ms=now_ms,
            partitions={"absurd": tuple(range(CLAIMED_PARTITIONS))},
            process=name,
            sequence=1,
        )

    def _rebalance(self, group, subscription, assignment):
        """Join as the only member, and assign; return whether a broker accepted it, which only the coordinator does."""
        return any(self._joined(address, group, subscription, assignment) for address in self._addresses)

    def _joined(self, address, group, subscription, assignment):
        try:
            broker = self._brokers.get(address)
            if broker is None:
                broker = self._brokers[address] = FrameConnection(address, TIMEOUT_S)
            return self._lead(broker, group, subscription, assignment)
        except OSError:
            if broken := self._brokers.pop(address, None):
                broken.close()
            return False

    def _lead(self, broker, group, subscription, assignment):
        protocol = JoinGroupRequest.JoinGroupRequestProtocol(version=VERSION, name="range", metadata=subscription)
        joined = _ask(
            broker,
            JoinGroupRequest(
                version=VERSION,
                group_id=group,
                session_timeout_ms=SESSION_MS,
                rebalance_timeout_ms=SESSION_MS,
                member_id=self._members.get(group, ""),
                protocol_type="consumer",
                protocols=[protocol],
            ),
            JoinGroupResponse,
        )
        if joined.error_code:
            if joined.error_code == UNKNOWN_MEMBER_ID:
                del self._members[group]
            return False
        self._members[group] = joined.member_id
        given = SyncGroupRequest.SyncGroupRequestAssignment(
            version=VERSION, member_id=joined.member_id, assignment=assignment
        )
        synced = _ask(
            broker,
            SyncGroupRequest(
                version=VERSION,
                group_id=group,
                generation_id=joined.generation_id,
                member_id=joined.member_id,
                assignments=[given],
            ),
            SyncGroupResponse,
        )
        return not synced.error_code


def _ask(broker, request, response):
    return response.decode(broker.exchange(framed(request)), version=VERSION, header=True)


if __name__ == "__main__":
    bootstrap, events, seconds, seed = sys.argv[1:]
    tenant = Tenant(bootstrap, events, float(seconds), int(seed))
    taken = tenant.run()
    print(json.dumps(tenant.done))
    sys.exit(not taken)
