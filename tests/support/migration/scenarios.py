"""Random groups for a change to the consumer protocol, by seed: each has one reason to be refused, or none."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

MAX_SIZE = 8
"""``group.consumer.max.size`` of all brokers."""

BROKERS = {
    "bidirectional": {},
    "upgrade": {"group.consumer.migration.policy": "upgrade"},
    "downgrade": {"group.consumer.migration.policy": "downgrade"},
    "disabled": {"group.consumer.migration.policy": "disabled"},
    "classic": {"group.coordinator.rebalance.protocols": "classic"},
}
"""Name of a broker -> its settings."""

REASONS = ("policy", "user data", "malformed", "no consumers", "size", "assignor", "pattern", "protocol")
"""All reasons to be refused."""

SHARE_REFUSED = 0.4
USER_DATA = b"\0\0\0\1tasks"
BAD_PATTERNS = ("(?!x).*", r"(t)\1", "t++", r"t\Z", "(?>t)")
GOOD_PATTERNS = ("t.*", "(?i)T[0-9]+", r"t\d")
TOPICS = {"t1": 6, "t2": 3, "t3": 1}


@dataclass(frozen=True)
class Scenario:
    """A group before its change, and how it changes. ``reason`` None: the change is possible.

    ``members``: whether each is static. ``stop_first``: whether old members stop before their successors start.
    ``turn_back``: whether a new member first joins and leaves again, to test which type the group then has.
    """

    seed: int
    broker: str
    reason: str | None
    members: tuple[bool, ...]
    topics: tuple[str, ...]
    protocols: tuple[str, ...]
    session_timeout_ms: int
    stop_first: bool
    empty: bool
    turn_back: bool
    subscription_data: bytes | None = None
    assignment_data: dict = field(default_factory=dict)
    raw_subscription: bytes | None = None
    protocol_type: str = "consumer"
    assignor: str | None = None
    regex: str | None = None


def scenario(seed: int) -> Scenario:
    """The scenario of ``seed``."""
    rnd = random.Random(seed)
    reason = rnd.choice(REASONS) if rnd.random() < SHARE_REFUSED else None
    broker = {"policy": rnd.choice(["downgrade", "disabled"]), "protocol": "classic"}.get(reason)
    count = MAX_SIZE + rnd.randint(1, 2) if reason == "size" else rnd.choice([1, 2, 2, 3, 4, MAX_SIZE])
    static = rnd.random()
    given = {
        "broker": broker or rnd.choice(["bidirectional", "bidirectional", "upgrade"]),
        "members": tuple(rnd.random() < static * (static > 0.6) for _ in range(count)),
        "topics": tuple(sorted(rnd.sample(list(TOPICS), rnd.randint(1, 3)))),
        "protocols": rnd.choice([("range",), ("cooperative-sticky", "range"), ("sticky",), ("my-own",)]),
        "session_timeout_ms": rnd.choice([6_000, 30_000, 45_000, 60_000, 300_000]),
        "stop_first": rnd.random() < 0.5 or count == MAX_SIZE,
        "empty": reason is None and rnd.random() < 0.15,
        "turn_back": rnd.random() < 0.3,
        "subscription_data": rnd.choice([None, b"", b"\0\0\0\3"]),
        "assignor": rnd.choice([None, "uniform", "range"]),
    }
    if count == MAX_SIZE:
        static_all = rnd.random() < 0.3 and reason is None and not given["empty"]
        given["members"] = (static_all,) * count
        reason = "size" if static_all else reason
    if reason is None and given["empty"]:
        given["broker"] = rnd.choice(["bidirectional", "upgrade", "downgrade", "disabled"])
    given |= _afflicted(rnd, reason, count, empty=given["empty"])
    if reason and len(given.get("assignment_data", range(count))) < count:
        # Without the only member that causes the refusal, the group may change.
        given["stop_first"] = False
    return Scenario(seed=seed, reason=reason, **given)


def _afflicted(rnd, reason, count, *, empty):
    """What is wrong with the group for ``reason``, and what looks wrong but is not."""
    given = {}
    if reason == "user data":
        given["assignment_data"] = dict.fromkeys(rnd.sample(range(count), rnd.randint(1, count)), USER_DATA)
    elif reason == "malformed" and rnd.random() < 0.5:
        given["raw_subscription"] = rnd.choice([b"", b"\0"])
    elif reason == "malformed":
        given["assignment_data"] = {rnd.randrange(count): (rnd.choice([b"\0", b"\0\1\0\0\0\7"]),)}
    elif reason == "no consumers":
        given["protocol_type"] = rnd.choice(["connect", "sr"])
    elif reason == "assignor":
        given["assignor"] = rnd.choice(["sticky", "Uniform"])
    elif rnd.random() < 0.2 or reason == "pattern":
        given["regex"] = rnd.choice(BAD_PATTERNS if reason == "pattern" else GOOD_PATTERNS)
    if reason is None and not empty and rnd.random() < 0.2:
        # Empty bytes are no user data.
        given["assignment_data"] = {rnd.randrange(count): rnd.choice([b"", (b"",)])}
    return given
