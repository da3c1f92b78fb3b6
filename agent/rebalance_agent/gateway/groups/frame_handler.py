"""The base class for handlers of one API's frames, and the error codes that end a membership."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from rebalance_agent.errors import DecodeError
from rebalance_agent.gateway.groups.client_membership import ClientMembership
from rebalance_agent.gateway.groups.gateway_groups import GatewayGroups
from rebalance_agent.gateway.transport.kafka_messages import Ask, OpenedFrame, open_frame
from rebalance_agent.gateway.transport.request_head import RequestHead
from rebalance_agent.model.reported.member_software import ClientSoftware

__all__ = [
    "LOST",
    "PASS",
    "FrameHandler",
    "FrameResult",
    "note_loss",
]

LOST = {22: "ILLEGAL_GENERATION", 25: "UNKNOWN_MEMBER_ID", 82: "FENCED_INSTANCE_ID", 110: "FENCED_MEMBER_EPOCH"}
"""Error codes that end a membership, with their names in Kafka."""


@dataclass(frozen=True, slots=True)
class FrameResult:
    """The result of handling a request: whether its message was ``changed``, and the handler's data (``memory``).

    The handler gets ``memory`` back with the response; if it is None, the response is not read.
    """

    changed: bool = False
    memory: Any = None


PASS = FrameResult()
"""The request is unchanged, and its response is not read."""


class FrameHandler:
    """Handles the frames of one API on one connection; by default, it reads them with kafka-python's message classes.

    ``STRICT``: an unreadable frame ends the connection. Otherwise it is forwarded, and the broker handles the error.
    ``software``: the client's library, if the client has sent its name.
    """

    REQUEST: ClassVar[Any]
    RESPONSE: ClassVar[Any]
    API_KEY: ClassVar[int]
    VERSION_MIN: ClassVar[int] = 0
    VERSION_MAX: ClassVar[int]
    STRICT: ClassVar[bool] = False

    def __init__(self, shared: GatewayGroups) -> None:
        """Create the handler of one connection."""
        self._shared = shared
        self.software: ClientSoftware | None = None

    def __init_subclass__(cls) -> None:
        """Take the API key and newest version from kafka-python's class, unless the handler reads newer versions."""
        if "REQUEST" in vars(cls):
            cls.API_KEY = cls.REQUEST.API_KEY
            cls.VERSION_MAX = vars(cls).get("VERSION_MAX", cls.REQUEST.max_version)

    def open_request(self, head: RequestHead, frame: bytes) -> OpenedFrame:
        """Decode a request.

        Raises:
            DecodeError: it does not match its schema.
        """
        return _without_nulls(open_frame(self.REQUEST, head, frame))

    def open_response(self, head: RequestHead, frame: bytes) -> OpenedFrame:
        """Decode the response to the request with this ``head``.

        Raises:
            DecodeError: it does not match its schema.
        """
        return _without_nulls(open_frame(self.RESPONSE, head, frame))

    def new_membership(self, group: str, client_id: str, instance_id: str | None) -> ClientMembership:
        """Return the membership of a consumer that appears for the first time."""
        shared = self._shared
        return ClientMembership(group, client_id, instance_id, shared.clock, shared.emit, self.software)

    async def request(self, message: Any, client_id: str, ask: Ask) -> FrameResult:  # noqa: ANN401 - kafka-python is untyped
        """Handle a request, and change its message where needed."""
        raise NotImplementedError

    def member_of(self, message: Any) -> tuple[str, float] | None:  # noqa: ANN401, ARG002
        """Return the sender's group and rebalance timeout (seconds, 0 if unknown); None if the sender is no member."""
        return None

    def response(self, message: Any, memory: Any) -> bool:  # noqa: ANN401, ARG002
        """Handle the response to a request (``memory``: see `FrameResult`); return whether the message was changed."""
        return False

    def awaited(self, memory: Any) -> bool:  # noqa: ANN401, ARG002
        """Whether a response is awaited although the client is gone; ``memory``: that of the request."""
        return False

    def unanswered(self, memory: Any) -> None:  # noqa: ANN401
        """Handle the end of a connection on which a request (with this ``memory``) has no response yet."""


def _without_nulls(opened: OpenedFrame) -> OpenedFrame:
    """Return ``opened``, after a check for nulls that kafka-python accepts but brokers refuse."""
    _refuse_nulls(opened.message, opened.version)
    return opened


def _refuse_nulls(message: Any, version: int) -> None:  # noqa: ANN401
    for field in message.fields.values():
        if not field.for_version_q(version):
            continue
        value = getattr(message, field.name)
        if value is None:
            # A zero UUID and an absent tagged struct are also None.
            if not (field.nullable_for_version_q(version) or field.type_str == "uuid" or field.is_struct()):
                raise DecodeError(f"{field.name} is null")
        elif field.is_struct_array():
            for struct in value:
                _refuse_nulls(struct, version)


def note_loss(membership: ClientMembership, error_code: int, api: str, generation: int) -> None:
    """Report a lost membership if the error code means this and the request's ``generation`` is the current one."""
    if error_code in LOST and generation == membership.generation and not membership.rejoining:
        membership.record_loss(f"{LOST[error_code]} in the response to {api}")
