"""Makes kafka-python finish each join exactly once, and fetch metadata of its topics before it joins.

kafka-python 3.0 sends JoinGroup and SyncGroup in the background; `poll` waits for the responses until its timeout. If a
response takes longer than that, two things go wrong:

- A member rejoins when the leader's metadata or its own subscription has changed, but the flag for it is cleared as
  soon as the JoinGroup is sent. The next `poll` ignores the join, and the member polls without heartbeats and without
  partitions from then on.
- If the response arrives between two polls, the next poll drops it and joins again. For a leader that is one more
  rebalance of the whole group. With short polls, especially of a pattern subscriber, this may repeat for a long time.

With auto-commit, offsets are committed before a join, but only within the timeout of that `poll`. A timeout of
ten milliseconds is too short: the commit fails, and the next owners consume the uncommitted records again.

A new consumer joins before it has metadata of its topics. If it leads, their partitions stay unassigned until it has
the metadata and has made the group rebalance again. The same happens if it had asked for the topics before it
subscribed.
"""

from __future__ import annotations

import contextlib
from typing import Any

from kafka.errors import KafkaError

__all__ = ["COMMIT_MS", "METADATA_MS", "finish_joins"]

COMMIT_MS = 1_000
"""Minimum timeout of the commit before a join, independent of the timeout of `poll`. A commit usually takes 10 ms."""

METADATA_MS = 1_000
"""Time that a join waits for metadata of unknown topics. A topic that does not exist costs one response time."""


def finish_joins(coordinator: Any) -> None:  # noqa: ANN401 - kafka-python is untyped
    """Patch a consumer's coordinator: it keeps a join until the join is complete, and uses the response it received.

    ``_on_join_prepare_async`` commits and calls the listener before the first attempt. ``group_protocols`` is called
    for every JoinGroup; a completed join ends ``request_rejoin``. ``_do_join_and_sync_async`` is one attempt:
    JoinGroup, assignment, SyncGroup. ``_on_join_complete_async`` is called with its result. There is no public API
    between them.
    """
    prepare = coordinator._on_join_prepare_async  # noqa: SLF001
    protocols = coordinator.group_protocols
    join_and_sync = coordinator._do_join_and_sync_async  # noqa: SLF001
    join_complete = coordinator._on_join_complete_async  # noqa: SLF001
    answer: tuple[Any, bytes] | None = None

    async def join_prepare(generation: int, member_id: str, timeout_ms: float | None = None) -> None:
        await prepare(generation, member_id, None if timeout_ms is None else max(timeout_ms, COMMIT_MS))

    def group_protocols() -> Any:  # noqa: ANN401
        coordinator.request_rejoin()
        return protocols()

    async def join_and_sync_once() -> bytes:
        nonlocal answer
        unread, answer = answer, None
        # A removed member has no generation. After a session without heartbeats, the member may have been removed
        # without having detected it yet.
        same = unread is not None and unread[0] is coordinator._generation  # noqa: SLF001
        if unread is not None and same and not coordinator.heartbeat.session_timeout_expired():
            return unread[1]
        await _fetch_topics(coordinator)
        assignment: bytes = await join_and_sync()
        coordinator.heartbeat.received_heartbeat()  # brokers count every request of a member as a heartbeat
        answer = (coordinator._generation, assignment)  # noqa: SLF001
        return assignment

    async def join_read(*arguments: Any) -> None:  # noqa: ANN401
        nonlocal answer
        answer = None
        await join_complete(*arguments)

    coordinator._on_join_prepare_async = join_prepare  # noqa: SLF001
    coordinator.group_protocols = group_protocols
    coordinator._do_join_and_sync_async = join_and_sync_once  # noqa: SLF001
    coordinator._on_join_complete_async = join_read  # noqa: SLF001


async def _fetch_topics(coordinator: Any) -> None:  # noqa: ANN401
    topics = coordinator._subscription.subscription or ()  # noqa: SLF001
    # The cluster's metadata is not enough: a leader compares the next update with the snapshot that it took at the last
    # update since it subscribed, and rejoins if they differ.
    if not all(coordinator._metadata_snapshot.get(topic) for topic in topics):  # noqa: SLF001
        with contextlib.suppress(KafkaError):
            updated = coordinator._cluster.request_update()  # noqa: SLF001
            await coordinator._manager.wait_for(updated, METADATA_MS)  # noqa: SLF001
