"""Posts of events that claim many partitions in few characters."""

from __future__ import annotations

import http.client
import json
from collections.abc import Sequence
from time import time_ns

__all__ = ["claim", "post"]


def claim(number: int) -> bytes:
    """Return the JSON of a member event that claims 100,000 partitions."""
    now_ms = time_ns() // 1_000_000
    event = {
        "kind": "member",
        "schema_version": 1,
        "event_id": f"{number:032x}",
        "group": "claims",
        "timestamp_ms": now_ms,
        "callback": "assigned",
        "client_id": "c",
        "member_id": f"m{number}",
        "generation": 1,
        "started_ms": now_ms,
        "partitions": {"t": "0-99999"},
        "process": f"p{number}",
        "sequence": 1,
    }
    return json.dumps(event).encode()


def post(port: int, lines: Sequence[bytes], timeout_s: float = 120.0, token: str = "") -> int:
    """Post events; return the status.

    Raises:
        OSError: no answer within ``timeout_s``.
    """
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s)
    headers = {"Content-Type": "application/x-ndjson"} | ({"Authorization": f"Bearer {token}"} if token else {})
    try:
        connection.request("POST", "/v1/events", b"\n".join(lines), headers)
        return connection.getresponse().status
    finally:
        connection.close()
