"""What kafka-python's coordinator learns anyhow and instrumentation wants to hear: offsets, and how long joins took."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rebalance_agent.clock import Clock
from rebalance_agent.instrumentation import Instrumentation
from rebalance_agent.instrumentation.consumer_progress import ConsumerProgress
from rebalance_agent.instrumentation.suppress import quietly

__all__ = ["tell_offsets", "tell_waits"]


def tell_offsets(coordinator: Any, progress: ConsumerProgress, *, from_start: bool) -> None:  # noqa: ANN401 - kafka-python is untyped
    """Let ``progress`` hear of the group's offsets as they are fetched and committed, and look before positions go.

    ``_on_join_complete_async`` drops what a cooperative member has to give up before the listener hears of it. There
    are no public places. ``from_start``: where the group has no offset, reading begins with the oldest record.
    """
    send = coordinator._send_offset_commit_request  # noqa: SLF001
    fetch = coordinator.fetch_committed_offsets_async
    join_complete = coordinator._on_join_complete_async  # noqa: SLF001

    async def send_commit(offsets: Any) -> None:  # noqa: ANN401
        await send(offsets)
        with quietly("note a commit"):
            progress.committed({partition: each.offset for partition, each in offsets.items()})

    async def fetch_committed(partitions: Iterable[Any], timeout_ms: float | None = None) -> Any:  # noqa: ANN401
        found = await fetch(partitions, timeout_ms=timeout_ms)
        with quietly("note the group's offsets"):
            offsets = {partition: each.offset for partition, each in found.items()}
            progress.fetched(partitions, offsets, from_start=from_start)
        return found

    async def join_read(*arguments: Any) -> None:  # noqa: ANN401
        with quietly("note how far the consumer is"):
            progress.save_positions(coordinator._subscription.assigned_partitions())  # noqa: SLF001
        await join_complete(*arguments)

    coordinator._send_offset_commit_request = send_commit  # noqa: SLF001
    coordinator.fetch_committed_offsets_async = fetch_committed
    coordinator._on_join_complete_async = join_read  # noqa: SLF001


def tell_waits(coordinator: Any, instrumentation: Instrumentation, clock: Clock) -> None:  # noqa: ANN401
    """Tell how long a JoinGroup took, and from its answer on the SyncGroup with, in the leader, the ``assign()``.

    ``group_protocols`` is called for every JoinGroup; the answers are processed in the other two.
    """
    protocols = coordinator.group_protocols
    joined = coordinator._process_join_group_response  # noqa: SLF001
    synced = coordinator._process_sync_group_response  # noqa: SLF001
    sent = answered = 0.0

    def group_protocols() -> Any:  # noqa: ANN401
        nonlocal sent
        sent = clock.monotonic()
        return protocols()

    def process_join(*arguments: Any) -> Any:  # noqa: ANN401
        nonlocal answered
        result = joined(*arguments)
        answered = clock.monotonic()
        return result

    def process_sync(*arguments: Any) -> Any:  # noqa: ANN401
        result = synced(*arguments)
        instrumentation.waited(answered - sent, clock.monotonic() - answered)
        return result

    coordinator.group_protocols = group_protocols
    coordinator._process_join_group_response = process_join  # noqa: SLF001
    coordinator._process_sync_group_response = process_sync  # noqa: SLF001
