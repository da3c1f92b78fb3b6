"""Requests of share consumers."""

from __future__ import annotations

from rebalance_agent.groupprotocol.requests.share_requests import SHARE_FIELDS
from rebalance_agent.groupprotocol.requests.share_responses import SHARE_FETCH
from rebalance_agent.groupprotocol.wire.frames import request_frame
from rebalance_agent.groupprotocol.wire.primitives import uuid_text
from rebalance_agent.groupprotocol.wire.schema import struct_codec

__all__ = ["share_fetch"]

LIMITS = dict.fromkeys(("max_wait_ms", "min_bytes", "max_bytes", "max_records", "batch_size"), 500)


def share_fetch(partitions, group="g", client_id="app"):
    """A ShareFetch without acknowledgements; ``partitions``: topic id -> numbers that it adds to the share session."""
    topics = [
        {
            "topic_id": uuid_text(topic_id),
            "partitions": [{"partition_index": each, "acknowledgement_batches": []} for each in numbers],
        }
        for topic_id, numbers in partitions.items()
    ]
    asked = {"group_id": group, "member_id": "m", "share_session_epoch": 0, **LIMITS}
    fields = {**asked, "topics": topics, "forgotten_topics_data": []}
    codec = struct_codec(SHARE_FIELDS[SHARE_FETCH], 1, flexible=True)
    return request_frame(SHARE_FETCH, 1, 2, client_id, codec, fields)
