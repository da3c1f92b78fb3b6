"""The records that a gateway has seen delivered to the consumers of a share group (KIP-932)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, ClassVar

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.reported.workload import Workload

__all__ = ["DELIVERED_MAX", "DeliveriesEvent", "ShareDeliveries"]

DELIVERED_MAX = 2**53
"""Largest number of records that counts: JSON readers keep whole numbers exactly up to this."""


@dataclass(frozen=True, slots=True)
class ShareDeliveries:
    """Records of a share group that consumers behind gateways acquired and acknowledged.

    Offsets without a record count as records.
    """

    since_ms: Annotated[int, "since when the records are counted"]
    acquired: Annotated[int, "acquired records; a record counts at each of its deliveries"]
    redelivered: Annotated[int, "acquired records with a delivery count of 2 or more, included in `acquired`"]
    accepted: Annotated[int, "processed records"]
    released: Annotated[int, "records that a consumer gave back, so that they are delivered again"]
    rejected: Annotated[int, "records that a consumer could not process; the broker archives them"]
    renewed: Annotated[int, "renewals of a record's lock (KIP-1222)"]

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            InvalidInputError: a number is negative or larger than `DELIVERED_MAX`, or more records were delivered again
                than acquired.
        """
        for each in fields(self):
            if not 0 <= getattr(self, each.name) <= DELIVERED_MAX:
                raise InvalidInputError(f"deliveries.{each.name}", "must be a number from 0 to 2**53")
        if self.redelivered > self.acquired:
            raise InvalidInputError("deliveries.redelivered", "must not be larger than acquired")


@dataclass(frozen=True, slots=True)
class DeliveriesEvent:
    """The sums of one gateway for one share group since the gateway started.

    The next event of the same ``process`` for the group contains the sums of this event. ``timestamp_ms`` is by the
    gateway's clock.
    """

    KIND: ClassVar[str] = "deliveries"

    event_id: str
    group: str
    timestamp_ms: int
    deliveries: ShareDeliveries
    process: str
    sequence: int
    cluster_id: str = ""
    where: Workload | None = None
    revision: int = 0
