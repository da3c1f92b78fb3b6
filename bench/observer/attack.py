"""Writes the records of a hostile tenant until the process is killed.

The command is ``python -m bench.observer.attack BOOTSTRAP KIND SEED``.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from itertools import count
from time import monotonic, sleep, time_ns
from typing import NamedTuple

from bench.attackers import attackers
from bench.synthetic import (
    OFFSETS_PARTITIONS,
    PARTITIONS,
    TOPIC,
    commit,
    enqueue,
    generation,
    group_key,
    group_value,
    partition_of,
    writer,
)
from rebalance_agent.groupprotocol.consumer_protocol import encode_assignment, encode_subscription
from rebalance_agent.groupprotocol.tables.consumer_groups import (
    CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT,
    CONSUMER_GROUP_MEMBER_METADATA,
    CONSUMER_GROUP_METADATA,
)
from rebalance_agent.groupprotocol.tables.kind import RecordTable
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription

__all__ = ["ATTACKS", "EVENTS", "HOSTILE", "KNOWN_GROUPS", "attacked"]

HOSTILE = "hostile"
"""Prefix of the names of the hostile tenant's groups."""

EVENTS = "rebalance-events"

KNOWN_GROUPS = tuple(f"{HOSTILE}-known-{index:03}" for index in range(100))
"""Groups that exist, and commit, before the observer starts."""

Record = tuple[str, bytes, bytes | None]
"""A record: topic, key, value (None: a tombstone)."""

ABSURD_PARTITIONS = 220_000
OWNERS = 1_000
USER_DATA_BYTES = 900_000
LONG = 30_000
NAMES = 10_000
MEDIUM_PARTITIONS = 4_000
"""As many as a record has that is not large (`work_budget.LARGE_BYTES`)."""
PARTS_MEMBERS, EPOCH_RECORDS = 5_000, 1_000
JOINING = 0.2
"""Share of the records that are new members, in a group whose coordinator assigns."""
TOPIC_ID = "xNisCZDKRhC5aWJ3a-s-yA"
NEW_MEMBER = {
    "instance_id": None,
    "rack_id": None,
    "client_id": "client",
    "client_host": "/10.0.0.1",
    "subscribed_topic_names": ["orders"],
    "subscribed_topic_regex": None,
    "rebalance_timeout_ms": 60_000,
    "server_assignor": None,
    "classic_member_metadata": None,
}


class Attack(NamedTuple):
    """A kind of attack; ``rate``: records a second."""

    text: str
    rate: float
    records: Callable[[random.Random], Iterator[Record]]


def _group(name: str, number: int, members: int, assigned: dict[str, tuple[int, ...]]) -> Record:
    sent = _bytes_of(tuple(assigned.items()))
    value = group_value(number, ((f"m{index}", *sent) for index in range(members)), time_ns() // 1_000_000)
    return TOPIC, group_key(name), value


@lru_cache(64)
def _bytes_of(assigned: tuple[tuple[str, tuple[int, ...]], ...]) -> tuple[bytes, bytes]:
    topics = tuple(topic for topic, _ in assigned)
    subscription = encode_subscription(ConsumerSubscription(1, topics, None, {}, -1, None))
    return subscription, encode_assignment(ConsumerAssignment(1, dict(assigned), None))


def _absurd(_: random.Random) -> Iterator[Record]:
    for number in count(1):
        yield _group(HOSTILE, number, 1, {"absurd": tuple(range(ABSURD_PARTITIONS))})


def _topics(_: random.Random) -> Iterator[Record]:
    for number in count(1):
        yield _group(HOSTILE, number, 1, {f"absurd-{topic:05}": (0,) for topic in range(25_000)})


def _user_data(rng: random.Random) -> Iterator[Record]:
    _, assignment = _bytes_of((("orders", tuple(range(PARTITIONS))),))
    for number in count(1):
        user_data = rng.randbytes(USER_DATA_BYTES)
        subscription = encode_subscription(ConsumerSubscription(1, ("orders",), user_data, {}, -1, None))
        member = "m0", subscription, assignment
        yield TOPIC, group_key(HOSTILE), group_value(number, [member], time_ns() // 1_000_000)


def _owners(_: random.Random) -> Iterator[Record]:
    real = {"orders": tuple(range(PARTITIONS)), TOPIC: tuple(range(OFFSETS_PARTITIONS))}
    for number in count(1):
        yield _group(HOSTILE, number, OWNERS, real)


def _generations(rng: random.Random) -> Iterator[Record]:
    for number in count(1):
        yield TOPIC, *generation(HOSTILE, number, time_ns() // 1_000_000, rng.randint(1, 5))


def _names(rng: random.Random) -> Iterator[Record]:
    for number in count(1):
        name = f"{HOSTILE}-{rng.randrange(NAMES):05}"
        yield TOPIC, *generation(name, number, time_ns() // 1_000_000, 1)


def _gone(rng: random.Random) -> Iterator[Record]:
    for number in count(1):
        name, now_ms = f"{HOSTILE}-{rng.randrange(2**32):08x}", time_ns() // 1_000_000
        committed = commit(name, "orders", 0, number, now_ms)
        yield TOPIC, *committed
        yield _group(name, 1, 1, {"absurd": tuple(range(MEDIUM_PARTITIONS))})
        yield TOPIC, committed[0], None
        yield TOPIC, group_key(name), None


def _known(rng: random.Random) -> Iterator[Record]:
    for number in count(1):
        yield _group(rng.choice(KNOWN_GROUPS), number, 1, {"absurd": tuple(range(number % 2, MEDIUM_PARTITIONS))})


def _parts(rng: random.Random) -> Iterator[Record]:
    for number in count(1):
        epoch, rest = divmod(number, EPOCH_RECORDS)
        member = {"group": HOSTILE, "member_id": f"m{rng.randrange(PARTS_MEMBERS)}"}
        owned = [{"topic_id": TOPIC_ID, "partitions": [rng.randrange(PARTITIONS)]}]
        if rest == 1:
            yield TOPIC, *_part(CONSUMER_GROUP_METADATA, {"group": HOSTILE}, {"epoch": epoch + 1})
        elif rng.random() < JOINING:
            yield TOPIC, *_part(CONSUMER_GROUP_MEMBER_METADATA, member, NEW_MEMBER)
        else:
            epochs = {"member_epoch": epoch + 1, "previous_member_epoch": epoch, "state": rng.randrange(3)}
            current = {**epochs, "assigned_partitions": owned, "partitions_pending_revocation": []}
            yield TOPIC, *_part(CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT, member, current)


def _part(kind: RecordTable, key: Mapping[str, object], value: Mapping[str, object]) -> tuple[bytes, bytes]:
    return kind.key.encode(kind.key.versions[0], key), kind.value.encode(0, value)


def _long_names(rng: random.Random) -> Iterator[Record]:
    for number in count(1):
        name = f"{HOSTILE}-{rng.randrange(200):03}".ljust(LONG, "x")
        yield TOPIC, *generation(name, number, time_ns() // 1_000_000, 1)


def _events(rng: random.Random) -> Iterator[Record]:
    for number in count(1):
        group = rng.choice(("delay", "large", f"{HOSTILE}-{rng.randrange(NAMES)}"))
        now_ms = time_ns() // 1_000_000
        yield (
            EVENTS,
            group.encode(),
            (
                f'{{"kind":"member","schema_version":1,"event_id":"{number}","group":"{group}","timestamp_ms":{now_ms},'
                f'"callback":"assigned","client_id":"c","member_id":"m{rng.randrange(10**6)}","generation":{number},'
                f'"started_ms":{now_ms},"partitions":{{"t":"0-99999"}},"process":"p","sequence":{number}}}'
            ).encode(),
        )


ATTACKS = {
    "absurd": Attack("one member is assigned 220,000 partitions of no topic, 880 kB", 15, _absurd),
    "topics": Attack("one member is assigned 25,000 topics that do not exist, 1 MB", 15, _topics),
    "user-data": Attack("one member sends 900 kB of user data, 15 times a second", 15, _user_data),
    "owners": Attack("1,000 members are assigned the same 70 partitions that exist, 450 kB", 10, _owners),
    "generations": Attack("one group rebalances 500 times a second", 500, _generations),
    "parts": Attack("5,000 members of a group whose coordinator assigns write 3,000 records a second", 3_000, _parts),
    "names": Attack("10,000 groups", 200, _names),
    "gone": Attack("60 new groups a second claim 4,000 partitions, commit once and are deleted", 240, _gone),
    "known": Attack("100 groups that are not new rebalance 60 times a second, 4,000 partitions each", 60, _known),
    "long-names": Attack("200 groups with names of 30,000 characters", 20, _long_names),
    "events": Attack("member events that claim 100,000 partitions each", 200, _events),
}


def attacked(bootstrap: str, kinds: Sequence[str], seed: int) -> AbstractContextManager[None]:
    """Run one attacking process for each of ``kinds`` while the block runs, as `attackers` does."""
    return attackers("bench.observer.attack", bootstrap, kinds, seed)


def main() -> None:
    """Write records at the rate of the attack."""
    bootstrap, kind, seed = sys.argv[1:]
    attack, producer = ATTACKS[kind], writer(bootstrap, linger_ms=5)
    begun = monotonic()
    for number, (topic, key, value) in enumerate(attack.records(random.Random(int(seed))), start=1):
        where = {"partition": partition_of(key, OFFSETS_PARTITIONS)} if topic == TOPIC else {}
        enqueue(producer, topic, key=key, value=value, **where)
        producer.poll(0)
        sleep(max(0.0, begun + number / attack.rate - monotonic()))


if __name__ == "__main__":
    main()
