"""Answers the telemetry requests on one connection if the broker does not support them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection
from typing import Any

from rebalance_agent.gateway.pushing_member import IDENTITY, CallbackMaxima, Measured, pushing_member
from rebalance_agent.gateway.telemetry.client_subscription import Subscription, subscription_of
from rebalance_agent.gateway.telemetry.client_values import CALLBACK_MAXIMA, CLIENT_VALUES, REBALANCES, client_metrics
from rebalance_agent.gateway.telemetry.known_clients import KnownClient, Labels
from rebalance_agent.gateway.telemetry.labelled_metrics import labelled_metrics
from rebalance_agent.gateway.telemetry.otlp_reader import read_metrics
from rebalance_agent.gateway.telemetry.push_error import PushError, PushOutcome
from rebalance_agent.gateway.telemetry.pushed_bytes import GZIP, PUSH_BYTES_MAX, unpacked
from rebalance_agent.gateway.telemetry.telemetry_clients import NEAR_LIMIT_INTERVAL, TelemetryClients
from rebalance_agent.gateway.transport.request_head import RequestHead, client_id
from rebalance_agent.groupprotocol.requests.client_telemetry import (
    GET_SUBSCRIPTIONS_KEY,
    PUSH_KEY,
    TELEMETRY_VERSION,
    decode_get_subscriptions,
    decode_push,
    encode_push_answer,
    encode_subscriptions_answer,
)
from rebalance_agent.groupprotocol.wire.error_codes import NO_ERROR
from rebalance_agent.groupprotocol.wire.primitives import ZERO_UUID, uuid_text
from rebalance_agent.metrics.short_names import short_name
from rebalance_agent.model.reported.member_software import ClientSoftware

__all__ = ["TELEMETRY_APIS", "TelemetryFrames"]

TELEMETRY_APIS = (GET_SUBSCRIPTIONS_KEY, PUSH_KEY)
"""API keys of the requests that the gateway answers itself."""

_READ = frozenset((*CLIENT_VALUES, REBALANCES))
"""Names of the metrics that are read from a push."""


class TelemetryFrames:
    """Handles the telemetry requests of one connection."""

    def __init__(
        self,
        clients: TelemetryClients,
        count: Callable[[PushOutcome], None] = lambda _outcome: None,
        measured: Measured = lambda _member, _maxima, _metrics: None,
    ) -> None:
        """``clients`` is shared by all connections of the gateway; ``count`` counts the outcome of each push.

        ``measured`` is called for each push of a member, with what its client measured.
        """
        self._clients, self._count, self._measured = clients, count, measured
        self._host = ""
        self._software = ClientSoftware()
        self._member: KnownClient | None = None
        self._subscriptions: tuple[Subscription, ...] = ()
        """The usual one, and the one near the poll limit; empty if the client is not asked for telemetry."""
        self._instance_id = ""  # of the client that pushes on this connection

    def connected(self, host: str) -> None:
        """Store the address of the client."""
        self._host = host

    def greeted(self, software: ClientSoftware) -> None:
        """Store the library of the client."""
        self._software = software

    def joined(self, group: str, name: str, rebalance_seconds: float) -> None:
        """Record that the client is a member of ``group`` with this client id. ``rebalance_seconds``: 0 if unknown."""
        labels = self._labels(group, name)
        before = self._member.poll_limit_seconds if self._member and self._member.labels == labels else 0.0
        member = KnownClient(labels, self._software, rebalance_seconds or before)
        if member != self._member:
            self.closed()
            self._clients.known.opened(member)
            self._member = member

    def closed(self) -> None:
        """Record that the connection was closed."""
        if self._member is not None:
            self._clients.known.closed(self._member)
            self._member = None

    def offered(self, broker_apis: Collection[int]) -> tuple[int, ...]:
        """Return API keys to offer in addition to the broker's; client requests with these keys must go to `answer`.

        Return no keys if the broker itself accepts telemetry, or if the client is not to be asked for telemetry.
        """
        wanted = self._clients.push_interval_seconds > 0 and set(TELEMETRY_APIS).isdisjoint(broker_apis)
        intervals_ms = (round(self._clients.push_interval_seconds * share * 1000) for share in (1, NEAR_LIMIT_INTERVAL))
        every = [subscription_of(self._software, each, self._clients.more) for each in intervals_ms] if wanted else []
        self._subscriptions = tuple(each for each in every if each)
        return TELEMETRY_APIS if self._subscriptions else ()

    def answers(self, head: RequestHead) -> bool:
        """Whether the gateway answers a request itself."""
        return head.api_key in TELEMETRY_APIS and head.api_version == TELEMETRY_VERSION and bool(self._subscriptions)

    def answer(self, head: RequestHead, frame: bytes) -> bytes:
        """Return the response to a request for which `answers` is true, as a frame without its length.

        Raises:
            DecodeError: the request does not match its schema.
        """
        if not self._subscriptions:
            raise ValueError("telemetry was not offered on this connection")
        if head.api_key == PUSH_KEY:
            return encode_push_answer(head.correlation_id, self._pushed(decode_push(frame), frame))
        instance_id = decode_get_subscriptions(frame)["client_instance_id"]
        subscription = self._subscription(instance_id)
        return encode_subscriptions_answer(
            head.correlation_id,
            {
                "error_code": NO_ERROR,
                "client_instance_id": uuid_text(uuid.uuid4().bytes) if instance_id == ZERO_UUID else instance_id,
                "subscription_id": subscription.subscription_id,
                "accepted_compression_types": (GZIP,),
                "push_interval_ms": subscription.push_interval_ms,
                "telemetry_max_bytes": PUSH_BYTES_MAX,
                "delta_temporality": False,
                "requested_metrics": subscription.metrics,
            },
        )

    def _subscription(self, instance_id: str) -> Subscription:
        usual, near_limit = self._subscriptions
        return near_limit if self._clients.near_limit(instance_id) else usual

    def _pushed(self, push: dict[str, Any], frame: bytes) -> int:
        """Process a push; return the error code of the response."""
        outcome = answer = PushOutcome.ACCEPTED
        try:
            self._take(push, frame)
        except PushError as error:
            outcome = answer = error.outcome
        else:
            current = self._subscription(push["client_instance_id"])
            if push["subscription_id"] != current.subscription_id and not push["terminating"]:
                answer = PushOutcome.UNKNOWN_SUBSCRIPTION  # the values are used; the client asks for its new interval
        self._count(outcome)
        return answer.error_code

    def _take(self, push: dict[str, Any], frame: bytes) -> None:
        instance_id = push["client_instance_id"]
        if push["terminating"]:
            self._clients.terminated(instance_id)
            return
        if push["subscription_id"] not in {each.subscription_id for each in self._subscriptions}:
            raise PushError(PushOutcome.UNKNOWN_SUBSCRIPTION, "the client's push is for another subscription")
        if self._instance_id not in ("", instance_id):
            raise PushError(PushOutcome.THROTTLED, "another client pushes on this connection")
        self._clients.admit(instance_id, self._host)
        self._instance_id = instance_id
        content = unpacked(push["metrics"], push["compression_type"])
        pushed = read_metrics(content, _READ, IDENTITY)
        passed = (
            labelled_metrics(content, self._identity(instance_id, client_id(frame))) if self._clients.passes else b""
        )
        group = pushed.attributes.get(IDENTITY[0], "")
        measured = {name: number for name, number in pushed.values.items() if number >= 0}  # -1: nothing was measured
        rebalances = measured.pop(REBALANCES, None)
        self._clients.pushed(instance_id, self._labels(group, client_id(frame)), measured if group else {})
        if member := pushing_member(pushed.attributes, instance_id):
            seconds = {
                callback: measured[name] / 1000 for callback, name in CALLBACK_MAXIMA.items() if name in measured
            }
            self._measured(member, CallbackMaxima(seconds, rebalances), client_metrics(measured))
        if self._clients.passes and passed:
            self._clients.passes(passed, self._host)

    def _identity(self, instance_id: str, name: str) -> dict[str, str]:
        """Return the resource attributes that a receiver may add according to KIP-714, with a limited length."""
        return {
            "client_instance_id": instance_id,
            "client_id": short_name(name),
            "client_software_name": self._software.name,
            "client_software_version": self._software.version,
            "client_source_address": self._host,
        }

    def _labels(self, group: str, name: str) -> Labels:
        """Return the label values, with a limited length."""
        return short_name(group), short_name(name), self._host
