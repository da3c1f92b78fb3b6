"""Defines the groups for measurements of assignors, and writes them as files for all clients.

The first line of a file has the topics (name -> partitions) as JSON. Each further line has the id of a member and its
encoded ``ConsumerProtocolSubscription``, the bytes that a leader gets in the response to JoinGroup. Each client decodes
them with its own decoder.
"""

from __future__ import annotations

import base64
import json
import random
from dataclasses import dataclass
from pathlib import Path

from rebalance_agent.assignors import strategy
from rebalance_agent.groupprotocol.consumer_protocol import encode_subscription
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.model.subscription import (
    ConsumerSubscription,
    GroupSubscription,
    MemberSubscription,
    TopicMetadata,
)

__all__ = ["CASES", "OPERATIONS", "Case", "write"]

OPERATIONS = ("first", "leave", "join")
"""``first``: no member owns a partition. ``leave``, ``join``: a member has left or joined a balanced group."""

GENERATION = 5


@dataclass(frozen=True, slots=True)
class Case:
    """A group of ``members`` that each subscribe to a random ``share`` of ``topics`` with ``partitions`` each."""

    topics: int
    partitions: int
    members: int
    share: float = 1.0

    def __str__(self) -> str:
        mixed = f" x {self.share:.0%}" if self.share < 1 else ""
        return f"{self.topics} topics x {self.partitions} partitions, {self.members} members{mixed}"


CASES = {
    "U1": Case(100, 100, 100),
    "U3": Case(200, 500, 1_000),
    "U5": Case(1_000, 1_000, 2_000),
    "M1": Case(200, 50, 200, 0.5),
    "M2": Case(500, 100, 500, 0.3),
}


def write(folder: Path, name: str) -> dict[str, Path]:
    """Write the files of a case, one per operation.

    For all clients, members own the partitions of the same plan, which our ``sticky`` made. The user data contains the
    owned partitions in the format of all sticky assignors.
    """
    case = CASES[name]
    rng = random.Random(f"case {name}")
    topics = {f"topic-{number:04}": case.partitions for number in range(case.topics)}
    wanted = {
        f"member-{number:04}-{rng.randbytes(8).hex()}": _some(rng, topics, case) for number in range(case.members)
    }
    present = tuple(MemberSubscription(member_id, names) for member_id, names in wanted.items())
    metadata = {topic: TopicMetadata(count) for topic, count in topics.items()}
    owned = strategy("sticky").assign(GroupSubscription(metadata, present)).members
    leaver = sorted(wanted)[case.members // 2]
    staying = {member_id: names for member_id, names in wanted.items() if member_id != leaver}
    joined = {**wanted, _id(rng, case.members): _some(rng, topics, case)}
    groups = {"first": (wanted, {}), "leave": (staying, owned), "join": (joined, owned)}
    paths = {}
    for operation in OPERATIONS:
        members, owns = groups[operation]
        paths[operation] = folder / f"{name}-{operation}"
        order = rng.sample(list(members), len(members))
        lines = [json.dumps(topics)]
        for member_id in order:
            data = base64.b64encode(_subscription(members[member_id], owns.get(member_id, {})))
            lines.append(json.dumps([member_id, data.decode()]))
        paths[operation].write_text("\n".join(lines) + "\n", encoding="ascii")
    return paths


def _id(rng: random.Random, number: int) -> str:
    return f"member-{number:04}-{rng.randbytes(8).hex()}"


def _some(rng: random.Random, topics: dict[str, int], case: Case) -> tuple[str, ...]:
    return tuple(sorted(rng.sample(list(topics), round(case.share * len(topics)))))


def _subscription(topics: tuple[str, ...], owned: TopicPartitions) -> bytes:
    # Every client reads version 0, in which the owned partitions of an eager member are only in its user data.
    user_data = strategy("sticky").user_data({}, owned, GENERATION) if owned else None
    return encode_subscription(ConsumerSubscription(0, topics, user_data))
