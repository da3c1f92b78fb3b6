"""Defines the HTTP contract between a consumer and its sidecar: path and headers of posted events.

``instrumentation.delivery.endpoint`` posts, ``api.events_endpoint`` receives.
"""

from __future__ import annotations

__all__ = ["ALIVE_HEADER", "DEFAULT_URL", "DROPPED_HEADER", "EVENTS_PATH", "EVENTS_PORT", "EVENTS_TYPE", "SCHEMA_PATH"]

EVENTS_PATH = "/v1/events"
"""Path of the POST. Its body is newline-delimited JSON, one event per line."""

SCHEMA_PATH = "/v1/events/schema.json"
"""Path of the JSON Schema of one line of such a body."""

EVENTS_TYPE = "application/x-ndjson"
"""``Content-Type`` of the body."""

EVENTS_PORT = 29309
"""Port of a sidecar with default settings."""

DEFAULT_URL = f"http://127.0.0.1:{EVENTS_PORT}{EVENTS_PATH}"
"""URL of a sidecar with default settings, in the same pod or on the same machine."""

ALIVE_HEADER = "X-Rebalance-Agent-Alive"
"""Random id of the posting process, if the process sends heartbeats: posts with this header and an empty body."""

DROPPED_HEADER = "X-Rebalance-Agent-Dropped"
"""Number of events that the sender dropped since its last accepted post."""
