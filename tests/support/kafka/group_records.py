"""Keys and values of a classic group's records, as the coordinator writes them."""

from __future__ import annotations

from rebalance_agent.groupprotocol.tables import GROUP_METADATA

__all__ = ["group_key", "group_value"]


def group_key(group):
    return GROUP_METADATA.key.encode(2, {"group": group})


def group_value(generation, members, assignor="range"):
    """``members``: (member id, subscription, assignment), the last two as bytes."""
    return GROUP_METADATA.value.encode(
        3,
        {
            "protocol_type": "consumer",
            "generation": generation,
            "protocol": assignor,
            "leader": members[0][0] if members else None,
            "current_state_timestamp": 1_700_000_000_000,
            "members": [
                {
                    "member_id": member_id,
                    "group_instance_id": None,
                    "client_id": "client",
                    "client_host": "/10.0.0.1",
                    "rebalance_timeout": 60_000,
                    "session_timeout": 45_000,
                    "subscription": subscription,
                    "assignment": assignment,
                }
                for member_id, subscription, assignment in members
            ],
        },
    )
