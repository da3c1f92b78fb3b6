"""Groups of members of KIP-848 behind one gateway with seats."""

from __future__ import annotations

from rebalance_agent.groupprotocol.requests.consumer_group_describe import decode_description, encode_describe
from support.gateway.seat_groups import MEMBERS, Group, SpreadGroup
from support.kafka.frame_connection import FrameConnection

__all__ = ["CLASSIC_ONLY", "EpochGroup", "EpochSpreadGroup", "group_epoch"]

PATIENCE_S = 60
CLASSIC_ONLY = ("partition.assignment.strategy", "heartbeat.interval.ms", "session.timeout.ms")
"""Properties that clients reject with this protocol."""


def group_epoch(bootstrap, group):
    """The epoch of a group of KIP-848, from its coordinator's description."""
    connection = FrameConnection(bootstrap, PATIENCE_S)
    try:
        (described,) = decode_description(connection.exchange(encode_describe(1, "test", [group])))
    finally:
        connection.close()
    assert described["error_code"] == 0, described
    return described["group_epoch"]


class EpochGroup(Group):
    """A group of KIP-848; its generation is the group epoch in its coordinator's description."""

    def start(self, **properties):
        return super().start(**dict.fromkeys(CLASSIC_ONLY, ""), **{"group.protocol": "consumer"}, **properties)

    def fill(self, number=MEMBERS):
        self.fill_at_once(number)

    def generation(self):
        return group_epoch(self.through.bootstrap, self.name)


class EpochSpreadGroup(SpreadGroup, EpochGroup):
    """An `EpochGroup` whose members are behind several gateways in turn."""

    def generation(self):
        return EpochGroup.generation(self)
