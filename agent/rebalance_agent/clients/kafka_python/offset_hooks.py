"""Reports data of kafka-python's coordinator to the instrumentation: offsets, join times, generations it leads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rebalance_agent.clock import Clock
from rebalance_agent.instrumentation import Instrumentation
from rebalance_agent.instrumentation.consumer_progress import ConsumerProgress
from rebalance_agent.instrumentation.leading import Leading
from rebalance_agent.instrumentation.led_members import led_members
from rebalance_agent.instrumentation.suppress import quietly

__all__ = ["hook_join_times", "hook_leading", "hook_offsets"]


def hook_offsets(coordinator: Any, progress: ConsumerProgress, *, from_start: bool) -> None:  # noqa: ANN401 - kafka-python is untyped
    """Patch ``coordinator`` to pass offsets to ``progress``: fetched, committed, and positions before they are dropped.

    ``_on_join_complete_async`` drops the positions of partitions that a cooperative member has to give up before it
    calls the listener. There is no public API for these. ``from_start``: partitions without a committed offset are read
    from the oldest record.
    """
    send = coordinator._send_offset_commit_request  # noqa: SLF001
    fetch = coordinator.fetch_committed_offsets_async
    join_complete = coordinator._on_join_complete_async  # noqa: SLF001

    async def send_commit(offsets: Any) -> None:  # noqa: ANN401
        await send(offsets)
        with quietly("record a commit"):
            progress.committed({partition: offset.offset for partition, offset in offsets.items()})

    async def fetch_committed(partitions: Iterable[Any], timeout_ms: float | None = None) -> Any:  # noqa: ANN401
        fetched = await fetch(partitions, timeout_ms=timeout_ms)
        with quietly("record the group's offsets"):
            offsets = {partition: offset.offset for partition, offset in fetched.items()}
            progress.fetched(partitions, offsets, from_start=from_start)
        return fetched

    async def join_read(*arguments: Any) -> None:  # noqa: ANN401
        with quietly("read the consumer's positions"):
            progress.save_positions(coordinator._subscription.assigned_partitions())  # noqa: SLF001
        await join_complete(*arguments)

    coordinator._send_offset_commit_request = send_commit  # noqa: SLF001
    coordinator.fetch_committed_offsets_async = fetch_committed
    coordinator._on_join_complete_async = join_read  # noqa: SLF001


def hook_join_times(coordinator: Any, instrumentation: Instrumentation, clock: Clock) -> None:  # noqa: ANN401
    """Patch ``coordinator`` to report the duration of each JoinGroup, and from its response that of the SyncGroup.

    The leader's SyncGroup includes its ``assign()``. ``group_protocols`` is called for every JoinGroup; the two other
    methods process the responses.
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


def hook_leading(coordinator: Any, leading: Leading) -> None:  # noqa: ANN401 - kafka-python is untyped
    """Patch ``coordinator`` to pass the generations that it leads to ``leading``.

    ``_perform_assignment`` is called between the two other methods, which process the responses, and replaces the
    members' subscriptions in the response by decoded ones. It is the method that others have patched before.
    """
    joined = coordinator._process_join_group_response  # noqa: SLF001
    perform = coordinator._perform_assignment  # noqa: SLF001
    synced = coordinator._process_sync_group_response  # noqa: SLF001

    def process_join(response: Any, *more: Any) -> Any:  # noqa: ANN401
        result = joined(response, *more)
        leading.joined(lambda now_ms: led_members(response, now_ms))
        return result

    def perform_assignment(*arguments: Any) -> Any:  # noqa: ANN401
        given = perform(*arguments)
        leading.assigns(given)
        return given

    def process_sync(*arguments: Any) -> Any:  # noqa: ANN401
        result = synced(*arguments)
        leading.accepted(coordinator.config["session_timeout_ms"], coordinator.config["max_poll_interval_ms"])
        return result

    coordinator._process_join_group_response = process_join  # noqa: SLF001
    coordinator._perform_assignment = perform_assignment  # noqa: SLF001
    coordinator._process_sync_group_response = process_sync  # noqa: SLF001
