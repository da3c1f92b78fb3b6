"""A member's log of its callbacks, as the judge reads it."""

from __future__ import annotations


def callback_lines(callbacks):
    """Two lines for each callback (time, what, then its partitions): it is entered, and returns at the same time."""
    return [
        {"at": at, "what": what, "edge": edge, "partitions": partitions}
        for at, what, *partitions in callbacks
        for edge in ("enter", "exit")
    ]
