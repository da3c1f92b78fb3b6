"""Identifies the group member that pushes metrics, from its resource attributes (KIP-714)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from rebalance_agent.model.events import Callback
from rebalance_agent.model.reported.client_metrics import ClientMetrics

__all__ = ["IDENTITY", "CallbackMaxima", "Measured", "PushingMember", "pushing_member"]

_GROUP, _MEMBER, _STATIC_MEMBER = "group_id", "group_member_id", "group_instance_id"

_LIBRDKAFKAS_MEMBER = "member_id"
"""librdkafka's name of the second attribute."""

IDENTITY = (_GROUP, _MEMBER, _STATIC_MEMBER, _LIBRDKAFKAS_MEMBER)
"""The attributes that name a member."""


class PushingMember(NamedTuple):
    """A member, and the instance id of its client; a static member's next process has another instance id."""

    group: str
    member_id: str
    instance_id: str | None
    client_instance_id: str


class CallbackMaxima(NamedTuple):
    """A member's longest measured duration (seconds) of each kind of callback.

    ``rebalances``: the number of the client's rebalances since the client started; None if the client did not push it.
    """

    seconds: Mapping[Callback, float]
    rebalances: float | None = None


Measured = Callable[[PushingMember, CallbackMaxima, ClientMetrics], None]
"""A function that accepts a member, and what its client measured: its callbacks, and the rest."""


def pushing_member(attributes: Mapping[str, str], client_instance_id: str) -> PushingMember | None:
    """Return the member with these attributes; None if the client is no member, or does not name its member."""
    group, member_id = attributes.get(_GROUP, ""), attributes.get(_MEMBER) or attributes.get(_LIBRDKAFKAS_MEMBER, "")
    if not (group and member_id):
        return None
    return PushingMember(group, member_id, attributes.get(_STATIC_MEMBER), client_instance_id)
