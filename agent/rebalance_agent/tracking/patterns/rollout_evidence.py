"""Rules that distinguish a rollout (deploy) from members that fail, join and leave independently. Pure.

Two questions, each with a function:

1. `proof_of`: is a joined member the successor of a departed one? It is if both members run the same workload in
   different versions (another image, or the name of a pod of another ReplicaSet), or if it has the name of the departed
   member and another member id. A common prefix of client ids proves nothing: members that were killed and members that
   autoscaling added have it, too.
2. `is_rollout`: are these replacements a deploy? New versions are a deploy once most of the group or
`NEW_VERSIONS_ENOUGH` members have them. Restarts under the same names could be crashes. They count if most of the
members restarted, each once, one after the other, in the order of their names; or if all of at least `ANY_ORDER_MIN`
members did, in any order. Random restarts look like this in fewer than one of ten cases (computed by a test).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

__all__ = [
    "ANY_ORDER_MIN",
    "IN_ORDER_MIN",
    "NEW_VERSIONS_ENOUGH",
    "Proof",
    "ReplacedMember",
    "VisibleMember",
    "is_rollout",
    "pod_template",
    "proof_of",
]

NEW_VERSIONS_ENOUGH = 5
"""Members with a new version that make a rollout in any group: in a large group, waiting for most would take too
long."""

IN_ORDER_MIN = 4
"""Fewest restarts in the order of names (or all members of a smaller group): a few restarts may be in order by
chance."""

ORDERED_MEMBERS_MIN = 3
"""Smallest group whose restarts can count as ordered: with two members, the order means little."""

ANY_ORDER_MIN = 5
"""Smallest group whose restarts count in any order, once all members have restarted exactly once."""

_POD_OF_REPLICA_SET = re.compile(
    r"(?:^|/)(?P<workload>[a-z0-9.-]*[a-z0-9])-(?P<version>[bcdf4-9]{5,10})-[bcdfghjklmnpqrstvwxz2-9]{5}(?![a-z0-9])"
)
"""A pod's name: its Deployment, the hash of its template, five random characters. Kubernetes encodes the latter two
without vowels (``k8s.io/apimachinery/pkg/util/rand``), and each decimal digit of the hash as one of 10 characters."""


class Proof(StrEnum):
    """The proof that a joined member is the successor of a departed one."""

    NEW_VERSION = "new_version"
    RESTART = "restart"


@dataclass(frozen=True, slots=True)
class VisibleMember:
    """The attributes that identify a member.

    ``names``: names that no other member of the group had at that time: instance id, pod, client id. ``versions``: what
    is versioned (the image of a workload, the template of a Deployment's pods) -> its version. ``process``: random id
    of its process, if reported.
    """

    names: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    process: str | None = None


@dataclass(frozen=True, slots=True)
class ReplacedMember:
    """A departed member with a proven successor; ``departed_ms``: time of the rebalance in which it departed."""

    name: str
    departed_ms: int
    proof: Proof


def pod_template(name: str) -> tuple[str, str] | None:
    """Return the workload and template hash in a name that contains a Deployment's pod name; otherwise None.

    ``orders-7c9d8f6b5d-x2q4z`` and ``orders-7c9d8f6b5d-x2q4z-1`` give ``("orders", "7c9d8f6b5d")``.
    """
    match = _POD_OF_REPLICA_SET.search(name)
    return (match["workload"], match["version"]) if match else None


def proof_of(gone: VisibleMember, joined: VisibleMember) -> Proof | None:
    """Return the proof that ``joined`` is the successor of ``gone``; None if there is none."""
    if gone.process is not None and gone.process == joined.process:
        return None  # the same process rejoined
    if any(joined.versions.get(workload, version) != version for workload, version in gone.versions.items()):
        return Proof.NEW_VERSION
    return Proof.RESTART if set(gone.names) & set(joined.names) else None


def is_rollout(members: int, replaced: Sequence[ReplacedMember]) -> bool:
    """Return whether these replacements in a group are a rollout.

    ``members``: the number of members before. ``replaced``: the replaced members, in the order of completion. The
    caller passes restarts only if no other member joined or departed between them.
    """
    majority = members // 2 + 1
    new_versions = sum(replacement.proof is Proof.NEW_VERSION for replacement in replaced)
    if new_versions >= min(majority, NEW_VERSIONS_ENOUGH):
        return True
    needed = max(majority, min(max(members, ORDERED_MEMBERS_MIN), IN_ORDER_MIN))
    if len(replaced) < needed or len({member.name for member in replaced}) < len(replaced):
        return False
    steps = _steps(replaced)
    if max(map(len, steps)) > members // 2:
        return False  # half of the group at once is an outage
    return _ordered(steps) or (len(replaced) == members >= ANY_ORDER_MIN)


def _steps(replaced: Iterable[ReplacedMember]) -> list[list[tuple[object, ...]]]:
    """Return the sort keys of the members that departed together, by time."""
    by_time = sorted(replaced, key=lambda member: member.departed_ms)
    return [
        sorted(_natural(member.name) for member in together)
        for _, together in itertools.groupby(by_time, key=lambda member: member.departed_ms)
    ]


def _ordered(steps: Sequence[Sequence[tuple[object, ...]]]) -> bool:
    ascending = all(one[-1] < other[0] for one, other in itertools.pairwise(steps))
    return ascending or all(one[0] > other[-1] for one, other in itertools.pairwise(steps))


def _natural(name: str) -> tuple[object, ...]:
    """Return a sort key that puts ``orders-9`` before ``orders-10``: alternating strings and numbers."""
    return tuple(int(part) if index % 2 else part for index, part in enumerate(re.split(r"([0-9]{1,18})", name)))
