"""Data that members send each other through the coordinator: subscriptions, assignments, user data."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path

from fuzz.target import KB, MB, Target, joined, parts, read_or_refused
from rebalance_agent.assignors import STRATEGIES
from rebalance_agent.clients.participant import read_member
from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.consumer_protocol import (
    ASSIGNMENT,
    NEWEST_VERSION,
    SUBSCRIPTION,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from rebalance_agent.groupprotocol.records import decode_record
from rebalance_agent.groupprotocol.standby_user_data import (
    decode_standby_assignment,
    decode_standby_subscription,
    encode_standby_assignment,
    encode_standby_subscription,
)
from rebalance_agent.groupprotocol.streams_user_data import decode_process_id, decode_streams_assignment
from rebalance_agent.groupprotocol.user_data import (
    decode_cooperative_sticky,
    decode_labelled,
    decode_priority,
    decode_sticky,
    decode_weighted,
    encode_labelled,
    encode_priority,
    encode_sticky,
    encode_weighted,
)
from rebalance_agent.model.subscription import (
    AssignedCopies,
    ConsumerAssignment,
    ConsumerSubscription,
    GroupSubscription,
    TopicMetadata,
)
from support.assignors.rules import check, dated
from support.kafka.captured import CAPTURED, member_bytes

__all__ = ["TARGETS"]

OWNED = {"clicks": (0, 2), "events": (0,)}

USER_DATA = (
    (decode_weighted, encode_weighted),
    (decode_priority, encode_priority),
    (decode_sticky, encode_sticky),
    (decode_cooperative_sticky, encode_sticky),
    (decode_labelled, encode_labelled),
    (decode_standby_subscription, encode_standby_subscription),
    (decode_standby_assignment, lambda found: encode_standby_assignment(*found)),
)
"""Strategy -> decoder and encoder of its user data."""

KAFKA_STREAMS = json.loads((Path(__file__).parents[2] / "golden" / "streams_user_data.json").read_text("utf-8"))

TOPICS = {
    "clicks": TopicMetadata(5, (("r1",), ("r1", "r2"), ("r2",), (), ("r3",))),
    "events": TopicMetadata(1),
    "orders": TopicMetadata(7, None, (1.0, 0.0, 5.0, 2.0, 0.5, 1e9, 3.0)),
}
MEMBERS_MAX = 6


def read_twice(decode, encode, data):
    """A decoded value that is encoded decodes to the same value."""
    found = read_or_refused(decode, data, DecodeError)
    if found is None:
        return
    if getattr(found, "version", 0) > NEWEST_VERSION:
        found = replace(found, version=NEWEST_VERSION)
    assert decode(encode(found)) == found


def both_readers_agree(message, data):
    """The fast decoder returns None, or the same as the schema's reader."""
    try:
        by_table = message._decode_by_table(data)
    except DecodeError:
        by_table = None
    try:
        assert message.decode(data) == by_table
    except DecodeError:
        assert by_table is None


def take_subscription(data):
    both_readers_agree(SUBSCRIPTION, data)
    read_twice(decode_subscription, encode_subscription, data)


def take_assignment(data):
    both_readers_agree(ASSIGNMENT, data)
    read_twice(decode_assignment, encode_assignment, data)


def take_user_data(data):
    for decode, encode in USER_DATA:
        read_twice(decode, encode, data)


def take_streams_user_data(data):
    """Decode user data of Kafka Streams, which this package does not write."""
    read_or_refused(decode_process_id, data, DecodeError)
    read_or_refused(decode_streams_assignment, data, DecodeError)


def take_group(data):
    """The first byte chooses the strategy; the members' subscriptions follow, as the leader gets them."""
    strategy = list(STRATEGIES.values())[data[0] % len(STRATEGIES)] if data else STRATEGIES["range"]
    sent = parts(data[1:])[:MEMBERS_MAX]
    read = (read_member(f"m{at}", None, each or b"") for at, each in enumerate(sent))
    group = GroupSubscription(TOPICS, tuple(each for each in read if each is not None))
    check(strategy, dated(strategy, group), strategy.assign(group))


def captured_bytes(which):
    """The subscriptions (0) or assignments (1) of all captured members."""
    found = set()
    for key, value in CAPTURED:
        record = decode_record(key, value)
        found.update(member_bytes(record.value or {})[which])
    return sorted(found)


def subscriptions():
    full = [ConsumerSubscription(version, ("t", "u"), b"data", {"t": (1, 2)}, 4, "rack") for version in range(4)]
    return [*captured_bytes(0), *map(encode_subscription, full)]


def assignments():
    full = [ConsumerAssignment(version, {"t": (0, 1), "u": (7,)}, b"data") for version in range(4)]
    return [*captured_bytes(1), *map(encode_assignment, full)]


def reported(strategy):
    """The user data of a member of this strategy."""
    config = {"assignment.consumer.labels": "zone=a"} if "rack" in strategy.name else {}
    return strategy.user_data(config, OWNED, 7, {"orders": (1,)})


def user_data():
    own = {data for each in STRATEGIES.values() if (data := reported(each))}
    return [*sorted(own), encode_standby_assignment(OWNED, AssignedCopies({"orders": (1,)}, {"orders": (1,)}))]


def streams_user_data():
    versions = (KAFKA_STREAMS[kind] for kind in ("subscriptions", "assignments", "named"))
    return [base64.b64decode(data) for each in versions for data in each.values()]


def groups():
    made = []
    for at, strategy in enumerate(STRATEGIES.values()):
        topics = tuple(TOPICS)
        first = ConsumerSubscription(3, topics, reported(strategy), OWNED, 7, "r1")
        other = ConsumerSubscription(1, topics[:2], reported(strategy), {"clicks": (0, 1)}, 7)
        made.append(bytes([at]) + joined(*map(encode_subscription, (first, other, replace(first, rack_id="r2")))))
    return made


TARGETS = (
    Target("subscription", take_subscription, subscriptions),
    Target("assignment", take_assignment, assignments),
    Target("user-data", take_user_data, user_data),
    Target("streams-user-data", take_streams_user_data, streams_user_data),
    # A group waits while its leader assigns, and each member's topics and partitions are objects.
    Target("strategies", take_group, groups, (b"clicks", b"orders"), 2.0, 4 * MB, 1_000, 2 * KB, framed_from=1),
)
