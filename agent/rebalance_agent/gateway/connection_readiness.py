"""Detects from the frames of a consumer's connection whether the consumer has its assignment."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from kafka.protocol.consumer.group import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    SyncGroupRequest,
)

from rebalance_agent.gateway.seat_rules import ANSWER_SECONDS
from rebalance_agent.gateway.transport.request_head import client_id
from rebalance_agent.groupprotocol.requests.consumer_group_heartbeat import CONSUMER_HEARTBEAT
from rebalance_agent.groupprotocol.requests.share_group_heartbeat import SHARE_HEARTBEAT
from rebalance_agent.groupprotocol.requests.streams_group_heartbeat import STREAMS_HEARTBEAT
from rebalance_agent.groupprotocol.wire.error_codes import NO_ERROR
from rebalance_agent.http.latched_readiness import LatchedReadiness
from rebalance_agent.model.member_changes import consumer_name

__all__ = ["HELD_SECONDS", "ConnectionReadiness"]

HELD_SECONDS = ANSWER_SECONDS + 0.5
"""Seconds after which a JoinGroup that the gateway keeps back counts as held for a seat or a joint admission: before
that, it may only wait for a description of the group."""

_JOIN, _SYNC, _HEARTBEAT = JoinGroupRequest.API_KEY, SyncGroupRequest.API_KEY, HeartbeatRequest.API_KEY
_WITH_EPOCHS = frozenset({CONSUMER_HEARTBEAT.key, SHARE_HEARTBEAT.key, STREAMS_HEARTBEAT.key})
_APIS = frozenset({_JOIN, _SYNC, _HEARTBEAT, LeaveGroupRequest.API_KEY}) | _WITH_EPOCHS


class ConnectionReadiness:
    """Reports the state of one connection's consumer to the object that tracks the readiness of all consumers."""

    def __init__(self, readiness: LatchedReadiness) -> None:
        """Start before the first request."""
        self._readiness = readiness
        self._name = ""

    def request(self, api_key: int, message: Any, frame: bytes) -> bool:  # noqa: ANN401 - of several protocols
        """Record a request, with its frame as received and its decoded form; return whether to read its response."""
        if self._readiness.latched or api_key not in _APIS:
            return False
        epoch = message["member_epoch"] if api_key in _WITH_EPOCHS else 0
        if api_key == LeaveGroupRequest.API_KEY or epoch < 0:
            self._readiness.gone(self)
            return False
        group = message["group_id"] if api_key in _WITH_EPOCHS else message.group_id
        self._name = consumer_name(client_id(frame), group)
        if api_key == _JOIN:
            self._readiness.waits(self, f"{self._name} waits for the response to its JoinGroup")
        elif api_key == _SYNC or (api_key in _WITH_EPOCHS and epoch == 0):
            self._readiness.waits(self, f"{self._name} waits for its assignment")
        return True

    def response(self, api_key: int, message: Any) -> None:  # noqa: ANN401
        """Record the response that the client gets to a request for which `request` returned True."""
        if self._readiness.latched or api_key not in _APIS:
            return
        if api_key in _WITH_EPOCHS:
            if message["error_code"] == NO_ERROR and message["member_epoch"] > 0:
                self._readiness.works(self)
        elif message.error_code != NO_ERROR:
            return
        elif api_key == _JOIN:
            self._readiness.waits(self, f"{self._name} waits for its assignment")
        elif api_key in (_SYNC, _HEARTBEAT):
            self._readiness.works(self)

    def held(self) -> AbstractContextManager[None]:
        """Return a context manager; while it is active, the consumer's JoinGroup counts as held."""
        return self._readiness.held(self, HELD_SECONDS)

    def closed(self) -> None:
        """Record that the connection was closed."""
        if not self._readiness.latched:
            self._readiness.gone(self)
