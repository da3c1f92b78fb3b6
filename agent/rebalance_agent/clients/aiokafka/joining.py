"""Intercepts JoinGroup and SyncGroup between aiokafka's coordinator and the broker.

aiokafka 0.14 decodes only the fields that Kafka 0.9 had in a subscription. If a subscription cannot be decoded, no
rebalance of the group succeeds; if its own assignment cannot be decoded, the consumer's coordination ends permanently.
With several strategies it joins once for each of them, first with one, then with two, and every join starts another
rebalance (aio-libs/aiokafka#1168).
"""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from rebalance_agent.clients.aiokafka.internal_topics import TopicsBeforeAssign
from rebalance_agent.clients.participant import read_assignment, read_member
from rebalance_agent.groupprotocol.consumer_protocol import NEWEST_VERSION, encode_assignment, encode_subscription
from rebalance_agent.instrumentation.leading import Leading
from rebalance_agent.instrumentation.led_members import LedMembers
from rebalance_agent.model.reported.led_generation import LedMember
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription, MemberSubscription

__all__ = ["Joining"]

JOIN_GROUP = 11
SYNC_GROUP = 14

_NOTHING_WANTED = encode_subscription(ConsumerSubscription(NEWEST_VERSION, ()))
_NOTHING_GIVEN = encode_assignment(ConsumerAssignment(NEWEST_VERSION, {}))


class Joining:
    """Wraps ``send`` of one consumer's client.

    ``members`` are the decoded subscriptions by member id, if this consumer leads the group. ``complete``: whether the
    next JoinGroup lists all strategies; an incomplete one is answered here and not sent.
    """

    def __init__(
        self,
        client: Any,  # noqa: ANN401 - aiokafka is untyped
        topics: TopicsBeforeAssign | None = None,
        leading: Leading | None = None,
    ) -> None:
        """Replace ``client.send``, which sends all requests.

        ``topics`` fetches metadata before a leader assigns; ``leading`` takes the generations that it leads.
        """
        self.members: dict[str, MemberSubscription] = {}
        self.complete = True
        self._client = client
        self._topics = topics
        self._leading = leading
        self._timeouts = 0, 0
        self._send = client.send
        client.send = self.send

    async def send(self, node_id: int, request: Any, **options: Any) -> Any:  # noqa: ANN401
        """Like ``AIOKafkaClient.send``; responses to JoinGroup and SyncGroup are made decodable for aiokafka."""
        if request.API_KEY == JOIN_GROUP and not self.complete:
            return SimpleNamespace(error_code=0)
        if request.API_KEY == SYNC_GROUP and self._leading is not None:
            self._leading.assigns(dict(_field(request, "group_assignment", ())))
        response = await self._send(node_id, request, **options)
        if request.API_KEY in (JOIN_GROUP, SYNC_GROUP) and self._leading is not None and response.error_code == 0:
            self._lead(self._leading, request, response)
        if request.API_KEY == JOIN_GROUP:
            self.members = {}
            response.members = [self._readable(*row) for row in response.members]
            if self.members and self._topics is not None:  # only the leader gets members
                await self._topics.fetch(self._client, response.group_protocol)
        elif request.API_KEY == SYNC_GROUP and response.error_code == 0:
            data = response.member_assignment or b""
            response.member_assignment = _NOTHING_GIVEN if read_assignment(data) is None else data
        return response

    def _readable(self, member_id: str, *rest: Any) -> tuple[Any, ...]:  # noqa: ANN401
        # Versions below 5 have no instance id between the member's id and its subscription.
        instance_id, data = (None, *rest)[-2:]
        member = read_member(member_id, instance_id, data or b"")
        self.members[member_id] = member or MemberSubscription(member_id, (), instance_id)
        return (member_id, *rest[:-1], _NOTHING_WANTED if member is None else data)

    def _lead(self, leading: Leading, request: Any, response: Any) -> None:  # noqa: ANN401
        if request.API_KEY == JOIN_GROUP:
            session_ms = _field(request, "session_timeout", 0)
            self._timeouts = session_ms, _field(request, "rebalance_timeout", session_ms)
            rows = list(response.members)  # as the coordinator sent them
            leading.joined(lambda now_ms: _led(response, rows, now_ms))
        else:
            leading.accepted(*self._timeouts)


def _led(response: Any, rows: Iterable[Any], now_ms: int) -> LedMembers | None:  # noqa: ANN401
    if response.leader_id != response.member_id:
        return None
    members = []
    for member_id, *rest in rows:
        instance_id, data = (None, *rest)[-2:]  # as in `_readable`
        members.append(LedMember(member_id, bytes(data or b""), b"", instance_id))
    return LedMembers(response.generation_id, response.group_protocol or "", response.leader_id, now_ms, tuple(members))


def _field(request: Any, name: str, default: Any) -> Any:  # noqa: ANN401
    """Return a field of a request, which is an object with private attributes since aiokafka 0.13."""
    return getattr(request, f"_{name}", None) or getattr(request, name, None) or default
