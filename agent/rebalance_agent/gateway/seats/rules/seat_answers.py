"""Decides which of the errors that seats cause a client is shown.

A client without an instance id of its own knows neither seats nor their errors. FENCED_INSTANCE_ID ends a Java
consumer; UNKNOWN_MEMBER_ID, which means the same to a dynamic member, makes every client join again.
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
    """The treatment of the response to a JoinGroup that was sent with an instance id."""

    SHOW = "show"
    RESEND = "resend"
    """Show nothing: send the client's own JoinGroup, and show the response to that."""


def join_answer(error: int) -> JoinAnswer:
    """Decide whether the client is shown the response with ``error``: only if its own frame would have got it, too."""
    return JoinAnswer.SHOW if error == NO_ERROR or error in COORDINATOR_MOVED else JoinAnswer.RESEND


def shown_error(error: int) -> int:
    """Return the error code that a client without an instance id is shown in a response to its own frame.

    It may have a seat, even if this gateway does not know it.
    """
    return UNKNOWN_MEMBER_ID if error == FENCED_INSTANCE_ID else error
