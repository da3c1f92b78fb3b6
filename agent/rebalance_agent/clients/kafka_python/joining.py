"""A join that kafka-python begins is also finished.

kafka-python 3.0 rejoins when the leader's metadata or a member's subscription has changed, but forgets that it does as
soon as the JoinGroup is on its way. If the `poll` that began the join ends before it, the next ones do not look at it
any more: the member polls on without heartbeats and without partitions, for ever.
"""

from __future__ import annotations

from typing import Any

__all__ = ["finish_joins"]


def finish_joins(coordinator: Any) -> None:  # noqa: ANN401 - kafka-python is untyped
    """Make a consumer's coordinator remember that it is joining until it has joined.

    ``group_protocols`` is called for every JoinGroup; that the join is complete is what ends ``request_rejoin``.
    """
    protocols = coordinator.group_protocols

    def group_protocols() -> Any:  # noqa: ANN401
        coordinator.request_rejoin()
        return protocols()

    coordinator.group_protocols = group_protocols
