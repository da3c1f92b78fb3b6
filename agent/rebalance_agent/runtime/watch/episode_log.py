"""Logs one line for each rebalance that ended, with its group and generation bound."""

from __future__ import annotations

import structlog

from rebalance_agent.model.events import AbortedEvent, Event, GenerationEvent, GroupGoneEvent
from rebalance_agent.model.rollout import RolloutEvent

__all__ = ["EpisodeLog"]

_log = structlog.get_logger("rebalance_agent.rebalances")


class EpisodeLog:
    """An `EventSink` that logs closed and aborted rebalances, rollouts and deleted groups."""

    def on_event(self, event: Event) -> None:
        """Log the event; a revision of a closed rebalance at debug."""
        if isinstance(event, GenerationEvent) and event.closes_episode:
            log = _log.bind(group=event.group, generation=event.generation)
            stall = event.stall
            (log.debug if event.revision else log.info)(
                "rebalance",
                trigger=event.trigger,
                stall_seconds=None if stall is None else round(stall.lower_seconds, 3),
                stall_upper_seconds=None if stall is None or stall.seconds is None else round(stall.seconds, 3),
                basis=None if stall is None else stall.basis,
                moved=event.moved,
                members=len(event.members),
                followups=event.followups,
                source=event.source,
            )
        elif isinstance(event, AbortedEvent):
            _log.bind(group=event.group, generation=event.generation).warning("rebalance_aborted", reason=event.reason)
        elif isinstance(event, RolloutEvent):
            _log.bind(group=event.group, generation=event.last_generation).info(
                "rollout_over" if event.closed else "rollout",
                replaced=event.members_replaced,
                members=event.members,
                rebalances=event.rebalances,
                stalled_partition_seconds=round(event.stalled_partition_seconds, 3),
                images=event.to_images,
            )
        elif isinstance(event, GroupGoneEvent):
            _log.bind(group=event.group).info("group_gone")
