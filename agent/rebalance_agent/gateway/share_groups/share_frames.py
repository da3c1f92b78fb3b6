"""Reads the ShareFetch and ShareAcknowledge frames of one connection, and counts their records."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection

from rebalance_agent.errors import DecodeError
from rebalance_agent.gateway.share_groups.share_counters import ShareCounters
from rebalance_agent.gateway.transport.request_head import RequestHead
from rebalance_agent.groupprotocol.requests.share_requests import ShareRequest, read_share_request
from rebalance_agent.groupprotocol.requests.share_responses import SHARE_NEWEST, SharePartition, ShareResponse
from rebalance_agent.groupprotocol.wire.error_codes import NO_ERROR

__all__ = ["ShareFrames"]

_WAITING_MAX = 100
"""Maximum number of requests in flight on one connection that are kept: a share consumer has one. The oldest is
dropped; its records are not counted."""


class ShareFrames:
    """Counts what the broker confirms: acknowledgements count once their response has come without an error."""

    def __init__(self, counts: ShareCounters) -> None:
        """Start without requests; ``counts`` are those of all connections."""
        self._counts = counts
        self._waiting: deque[tuple[RequestHead, ShareRequest]] = deque(maxlen=_WAITING_MAX)

    def wants(self, head: RequestHead) -> bool:
        """Whether to pass a request to `request`, and its response to `response`."""
        return head.api_key in SHARE_NEWEST

    def request(self, head: RequestHead, frame: bytes) -> Collection[SharePartition]:
        """Store the group and the acknowledgements of a request; one that cannot be read is ignored.

        Return the partitions that it adds to those that the consumer fetches.
        """
        try:
            request = read_share_request(head.api_key, head.api_version, frame)
        except DecodeError:
            return ()
        if request is None:
            return ()
        if request.group:
            self._waiting.append((head, request))
        return request.fetched

    def response(self, head: RequestHead, answer: ShareResponse) -> None:
        """Count the records of a request and its response; ``head`` must be the same object as in `request`."""
        if not any(sent is head for sent, _ in self._waiting):
            return
        while self._waiting:  # responses come in the order of their requests; some may have passed unread
            sent, request = self._waiting.popleft()
            if sent is head:
                self._count(request, answer)
                return

    def _count(self, request: ShareRequest, answer: ShareResponse) -> None:
        if answer.error_code != NO_ERROR:
            return
        if answer.acquired:
            self._counts.acquired(request.group, answer.acquired)
        for partition, numbers in request.acknowledged.items():
            if partition not in answer.refused:
                self._counts.acknowledged(request.group, numbers)
