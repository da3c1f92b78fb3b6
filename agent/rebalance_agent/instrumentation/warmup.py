"""Does Python's one-time work when a consumer is created, so that no group waits for it during a rebalance."""

from __future__ import annotations

import functools

from rebalance_agent.instrumentation.assign_decision import AssignDecision
from rebalance_agent.instrumentation.delivery.reporter import BuildEvent, Reporter
from rebalance_agent.instrumentation.event_builder import EventBuilder
from rebalance_agent.instrumentation.membership import Membership
from rebalance_agent.instrumentation.suppress import quietly
from rebalance_agent.model.event_json import json_line
from rebalance_agent.model.events import Callback
from rebalance_agent.model.subscription import GroupAssignment, GroupSubscription, MemberSubscription, TopicMetadata

__all__ = ["warm_up"]


class _EncodingReporter(Reporter):
    """Encodes events, but does not send them."""

    def __init__(self) -> None:
        super().__init__(None)

    def emit(self, build: BuildEvent) -> None:
        json_line(build("", 0))


@functools.cache
def warm_up() -> None:
    """Build and encode one callback event and one assignment event, once per process. Raises nothing.

    On first use, the event codecs are derived from type hints, and Python loads the text encoding that is used to sort
    members. Together this takes 3 ms, as long as reporting ten callbacks.
    """
    with quietly("warm up the instrumentation"):
        builder = EventBuilder("", "", Membership, _EncodingReporter())
        builder.callback_ended(Callback.ASSIGNED, (), Membership(), 0, 0)
        group = GroupSubscription({"t": TopicMetadata(1)}, (MemberSubscription("m", ("t",)),))
        given = {"m": {"t": (0,)}}
        builder.assign_ended("", 1, 0, 0.0, AssignDecision(group, GroupAssignment(members=given, target=given)))
