"""A join that kafka-python begins is also finished, once, and begun when the consumer knows its topics.

kafka-python 3.0 sends JoinGroup and SyncGroup in the background, and `poll` waits for them as long as it may. What goes
wrong where the answer takes longer than that:

- It rejoins when the leader's metadata or a member's subscription has changed, but forgets that it does as soon as the
  JoinGroup is on its way. The next `poll` does not look at the join any more: the member polls on without heartbeats
  and without partitions, for ever.
- If the answer comes between two polls, the next one throws it away and joins anew. From a leader that is one more
  rebalance for the whole group; short polls (of a subscriber by pattern most of all) may go round like this for long.

With auto-commit, what was consumed is committed before a join, but only as long as that `poll` has time: ten
milliseconds are too few, and the partitions' next owners consume it again.

A new consumer joins before it has seen its topics' metadata. If it leads, nobody gets anything of them until it knows
them and has had the group rebalance once more; which it also does if it had asked for them before it subscribed.
"""

from __future__ import annotations

import contextlib
from typing import Any

from kafka.errors import KafkaError

__all__ = ["COMMIT_MS", "METADATA_MS", "finish_joins"]

COMMIT_MS = 1_000
"""How long the commit before a join may take at least, whatever the `poll` in which it falls. It takes 10 as a rule."""

METADATA_MS = 1_000
"""How long a join waits for topics that are not known yet. A topic that is not there costs one answer's time."""


def finish_joins(coordinator: Any) -> None:  # noqa: ANN401 - kafka-python is untyped
    """Make a consumer's coordinator remember that it is joining until it has joined, and take the answer that it got.

    ``_on_join_prepare_async`` commits and calls the listener before the first attempt. ``group_protocols`` is called
    for every JoinGroup; that the join is complete is what ends ``request_rejoin``. ``_do_join_and_sync_async`` is one
    attempt: JoinGroup, assignment, SyncGroup; ``_on_join_complete_async`` follows where its result was taken. There are
    no public places between them.
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
        # Who fell out of the group has no generation any more, and after a session without heartbeats may not know yet.
        same = unread is not None and unread[0] is coordinator._generation  # noqa: SLF001
        if unread is not None and same and not coordinator.heartbeat.session_timeout_expired():
            return unread[1]
        await _know_topics(coordinator)
        assignment: bytes = await join_and_sync()
        coordinator.heartbeat.received_heartbeat()  # to the broker every request of a member is one
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


async def _know_topics(coordinator: Any) -> None:  # noqa: ANN401
    topics = coordinator._subscription.subscription or ()  # noqa: SLF001
    # What the cluster's metadata say is not enough: a leader takes what was noted of its topics at the last update
    # since it subscribed for what it assigned, and rejoins when the next update says something else.
    if not all(coordinator._metadata_snapshot.get(topic) for topic in topics):  # noqa: SLF001
        with contextlib.suppress(KafkaError):
            updated = coordinator._cluster.request_update()  # noqa: SLF001
            await coordinator._manager.wait_for(updated, METADATA_MS)  # noqa: SLF001
