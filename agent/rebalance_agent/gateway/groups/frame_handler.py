"""The shape of what handles one API's frames, and the error codes that say something of membership."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from rebalance_agent.errors import DecodeError
from rebalance_agent.gateway.groups.client_membership import ClientMembership
from rebalance_agent.gateway.transport.kafka_messages import Ask, OpenedFrame, open_request, open_response
from rebalance_agent.gateway.transport.request_head import RequestHead

__all__ = [
    "INCONSISTENT_GROUP_PROTOCOL",
    "LOST",
    "NO_ERROR",
    "PASS",
    "REBALANCE_IN_PROGRESS",
    "FrameHandler",
    "FrameResult",
    "lose",
]

NO_ERROR = 0
INCONSISTENT_GROUP_PROTOCOL = 23
REBALANCE_IN_PROGRESS = 27

LOST = {22: "ILLEGAL_GENERATION", 25: "UNKNOWN_MEMBER_ID", 82: "FENCED_INSTANCE_ID", 110: "FENCED_MEMBER_EPOCH"}
"""Answers by which a member learns that it is none any more."""


@dataclass(frozen=True, slots=True)
class FrameResult:
    """What became of a request: whether its message was ``changed``, and what is to be remembered for its answer.

    Without a ``memory`` the answer is not read.
    """

    changed: bool = False
    memory: Any = None


PASS = FrameResult()
"""It goes on as it came, and so does its answer."""


class FrameHandler:
    """Reads the frames of one API, by kafka-python's classes unless it says otherwise.

    ``STRICT``: a frame that cannot be read ends the connection; else it goes on, and the broker judges it.
    """

    REQUEST: ClassVar[Any]
    RESPONSE: ClassVar[Any]
    API_KEY: ClassVar[int]
    VERSION_MAX: ClassVar[int]
    STRICT: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        """Take key and versions from kafka-python's class, where there is one."""
        if "REQUEST" in vars(cls):
            cls.API_KEY, cls.VERSION_MAX = cls.REQUEST.API_KEY, cls.REQUEST.max_version

    def open_request(self, head: RequestHead, frame: bytes) -> OpenedFrame:
        """Read a request.

        Raises:
            DecodeError: it breaks its schema.
        """
        return _without_nulls(open_request(self.REQUEST, head, frame))

    def open_response(self, head: RequestHead, frame: bytes) -> OpenedFrame:
        """Read the answer to a request with ``head``.

        Raises:
            DecodeError: it breaks its schema.
        """
        return _without_nulls(open_response(self.RESPONSE, head, frame))

    async def request(self, message: Any, client_id: str, ask: Ask) -> FrameResult:  # noqa: ANN401 - kafka-python is untyped
        """Look at a request, and change it where that is called for."""
        raise NotImplementedError

    def response(self, message: Any, memory: Any) -> bool:  # noqa: ANN401, ARG002
        """Look at the answer to a request that left ``memory``; True if it was changed."""
        return False

    def unanswered(self, memory: Any) -> None:  # noqa: ANN401
        """The connection is gone, and the answer to the request that left ``memory`` never came."""


def _without_nulls(opened: OpenedFrame) -> OpenedFrame:
    """The same, after a look for null where none may be, which kafka-python reads and brokers refuse."""
    _refuse_nulls(opened.message, opened.version)
    return opened


def _refuse_nulls(message: Any, version: int) -> None:  # noqa: ANN401
    for field in message.fields.values():
        if not field.for_version_q(version):
            continue
        value = getattr(message, field.name)
        if value is None:
            # An id of zeroes, and a tagged struct that was not sent, are None, too.
            if not (field.nullable_for_version_q(version) or field.type_str == "uuid" or field.is_struct()):
                raise DecodeError(f"{field.name} is null")
        elif field.is_struct_array():
            for each in value:
                _refuse_nulls(each, version)


def lose(presence: ClientMembership, error_code: int, api: str, generation: int) -> None:
    """The answer to a request of ``generation`` says that the member is none; of an earlier one it says nothing."""
    if error_code in LOST and generation == presence.generation and not presence.rejoining:
        presence.lost(f"{LOST[error_code]} in the answer to {api}")
