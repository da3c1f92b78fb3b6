"""Describes a removed member that still held partitions when other members already owned them."""

from __future__ import annotations

from rebalance_agent.tracking.evidence.doubly_owned import FormerOwner
from rebalance_agent.ui.words import duration, moment_to_second, plural, printable, shortened

__all__ = ["former_owner_text"]

NAME_MAX = 60
"""Maximum number of characters of a client id."""


def former_owner_text(former: FormerOwner) -> str:
    """Return a sentence with the member, its number of partitions, the minimum time that it held them, and the end."""
    name = shortened(printable(former.client_id or former.member_id), NAME_MAX)
    held, them = plural(former.partitions, "partition"), "it" if former.partitions == 1 else "them"
    time, until = duration(former.seconds), moment_to_second(former.until_ms)
    return f"{name} kept {held} until {until}, although other members had owned {them} for {time} or more"
