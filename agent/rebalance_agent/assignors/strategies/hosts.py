"""Derives the hosts of members, and an order of members in which members of one host are far apart."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rebalance_agent.assignors.subscribers import indexes_by_value
from rebalance_agent.model.member_changes import HasIdentity, identity

__all__ = ["host_of", "interleaved"]

_UUID = re.compile(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
"""The suffix that a coordinator appends to a member's client id to get the member id."""


def host_of(member: HasIdentity) -> str:
    """Return the name that the members of one host share: the client id, which the member id begins with.

    A static member, or a member with another form of id, has a name of its own.
    """
    return _UUID.sub("", identity(member))


def interleaved(hosts: Sequence[str], keys: Sequence[bytes]) -> list[int]:
    """Return the members in order of their ``keys``, but spread the members of each of the ``hosts`` evenly over it."""
    order = sorted(range(len(keys)), key=keys.__getitem__)
    turns: list[tuple[float, bytes, int]] = []
    for places in indexes_by_value(hosts[member] for member in order).values():
        first = keys[order[places[0]]]
        turns += [((2 * turn + 1) / len(places), first, order[place]) for turn, place in enumerate(places)]
    return [member for _, _, member in sorted(turns)]
