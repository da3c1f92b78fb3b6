"""Reports of leaders, and what receives them."""

from __future__ import annotations

from rebalance_agent.groupprotocol.consumer_protocol import encode_assignment, encode_subscription
from rebalance_agent.model.reported.led_generation import LedGenerationEvent, LedMember
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription

UUID = "2c1f4e0a-7c1b-4a57-9d0e-0d5b1f0c3a11"


def led(group, generation, at_ms=1_000, partitions=4, owned=None, **owners):
    """The report of a generation; ``owners``: member's client -> its partitions of topic ``t``, by default all.

    ``owned``: member's client -> the partitions that it owned before, if the assignor is cooperative.
    """
    assignor = "range" if owned is None else "cooperative-sticky"
    members = tuple(
        LedMember(
            f"{client}-{UUID}",
            encode_subscription(ConsumerSubscription(3, ("t",), owned_partitions=_named((owned or {}).get(client)))),
            encode_assignment(ConsumerAssignment(3, _named(given))),
        )
        for client, given in (owners or {"m": range(partitions)}).items()
    )
    facts = (assignor, members[0].member_id, at_ms, members, 45_000, 300_000, "process", generation)
    return LedGenerationEvent(f"event-{group}-{generation}", group, at_ms, generation, *facts, cluster_id="here")


def _named(partitions):
    return {"t": tuple(partitions)} if partitions else {}


class Leaders:
    """Receives reports as `LedShare` does: ``reports`` are the new ones, ``backlogs`` those from before the start.

    ``topicless``: the events topic may not be read.
    """

    def __init__(self, *, due=False):
        self.reports, self.backlogs, self._due, self.topicless = [], [], due, False

    @property
    def begun(self):
        return bool(self.backlogs) or not self._due

    @property
    def due(self):
        return not self.begun

    def begin(self, backlog):
        assert not self.reports, "new reports must come after those from before the start"
        self.backlogs.append([(waiting.message.event, needs_event) for waiting, needs_event in backlog.take()])

    def without_topic(self):
        self.topicless = True

    def put(self, event):
        self.reports.append(event)
