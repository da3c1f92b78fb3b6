"""Decides which errors caused by seats are returned to a client.

A client without its own instance id does not expect the errors of static members. FENCED_INSTANCE_ID ends a Java
consumer, but UNKNOWN_MEMBER_ID, the equivalent for a dynamic member, makes every client rejoin.
"""

from __future__ import annotations

from enum import StrEnum

from rebalance_agent.groupprotocol.wire.error_codes import (
    COORDINATOR_MOVED,
    FENCED_INSTANCE_ID,
    NO_ERROR,
    UNKNOWN_MEMBER_ID,
)

__all__ = ["FENCED", "JoinAnswer", "join_answer", "shown_error"]

FENCED = frozenset({UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID})
"""Errors for a member that no longer exists, or whose seat another member has."""


class JoinAnswer(StrEnum):
    """How to treat the response to a JoinGroup that was sent with an instance id."""

    SHOW = "show"
    RESEND = "resend"
    """Drop the response; send the client's own JoinGroup, and return the response to it."""


def join_answer(error: int) -> JoinAnswer:
    """Decide whether the client gets the response with ``error``: only if its own frame would have got it, too."""
    return JoinAnswer.SHOW if error == NO_ERROR or error in COORDINATOR_MOVED else JoinAnswer.RESEND


def shown_error(error: int) -> int:
    """Return the error code that a client without an instance id gets in the response to its own frame.

    The client may have a seat that this gateway does not have in its list.
    """
    return UNKNOWN_MEMBER_ID if error == FENCED_INSTANCE_ID else error
