"""Describes where the records go that a share group rejects or fails to process: its dead letter queue. Pure."""

from __future__ import annotations

from rebalance_agent.model.group import DeadLetterQueue
from rebalance_agent.ui.words import printable

__all__ = ["dead_letter_text"]


def dead_letter_text(queue: DeadLetterQueue | None) -> str:
    """Return ``dead letter queue: dlq.orders (keys and values are copied)``; an empty string if it is unknown."""
    if queue is None:
        return ""
    if not queue.topic:
        return "dead letter queue: none (archived records are not copied)"
    written = "keys and values are copied" if queue.copies_records else "only headers are written"
    return f"dead letter queue: {printable(queue.topic)} ({written})"
