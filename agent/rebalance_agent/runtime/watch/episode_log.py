"""Logs one line for each ended rebalance, with its group and generation as fields, within a budget for each group."""

from __future__ import annotations

import structlog

from rebalance_agent.clock import Clock
from rebalance_agent.metrics.short_names import short_name
from rebalance_agent.model.events import AbortedEvent, Event, GenerationEvent, GroupGoneEvent
from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.runtime.watch.line_budget import LineBudget

__all__ = ["EpisodeLog"]

IMAGES_MAX = 5
"""Maximum number of a rollout's images that a line names."""

_log = structlog.get_logger("rebalance_agent.rebalances")
_LOGGED = (GenerationEvent, AbortedEvent, RolloutEvent, GroupGoneEvent)


class EpisodeLog:
    """An `EventSink` that logs closed and aborted rebalances, rollouts and deleted groups.

    A line has ``omitted``, the number of earlier lines of the group that were left out.
    """

    def __init__(self, clock: Clock) -> None:
        """Log at most as many lines as `LineBudget` allows."""
        self._budget = LineBudget(clock)

    def on_event(self, event: Event) -> None:
        """Log the event; a revision of a closed rebalance is logged at the level debug."""
        if not isinstance(event, _LOGGED) or (isinstance(event, GenerationEvent) and not event.closes_episode):
            return
        revised = isinstance(event, GenerationEvent) and event.revision > 0
        omitted = 0 if revised else self._budget.take(event.group)
        if omitted is None:
            return
        log = _log.bind(group=short_name(event.group))
        if omitted:
            log = log.bind(omitted=omitted)
        if isinstance(event, GenerationEvent):
            stall = event.stall
            (log.debug if revised else log.info)(
                "rebalance",
                generation=event.generation,
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
            log.warning("rebalance_aborted", generation=event.generation, reason=event.reason)
        elif isinstance(event, RolloutEvent):
            log.info(
                "rollout_over" if event.closed else "rollout",
                generation=event.last_generation,
                replaced=event.members_replaced,
                members=event.members,
                rebalances=event.rebalances,
                stalled_partition_seconds=round(event.stalled_partition_seconds, 3),
                images=[short_name(image) for image in event.to_images[:IMAGES_MAX]],
            )
        else:
            log.info("group_gone")
