"""Adds up the deliveries of one share group that gateways report, bounded in gateways and bytes."""

from __future__ import annotations

from dataclasses import dataclass

from rebalance_agent.model.reported.deliveries_event import DELIVERED_MAX, DeliveriesEvent, ShareDeliveries
from rebalance_agent.tracking.evidence.kept_reports import ReportBudget

__all__ = ["ALL_BYTES_MAX", "DELIVERIES_BYTES", "GATEWAYS_MAX", "KeptDeliveries", "deliveries_budget"]

GATEWAYS_MAX = 1_000
"""Maximum number of gateway processes of a group; beyond it, or if all groups together have too many, the one that has
not reported for the longest time is dropped with its records. A restarted gateway is another process."""

DELIVERIES_BYTES = 800
"""Bytes of one gateway's sums for one group."""

ALL_BYTES_MAX = 8 * 2**20
"""Maximum number of bytes for all groups together: a hundred gateways of a hundred groups. The budget is separate from
that of members' reports: a gateway that restarts often, or a sender that invents gateways, must not displace these."""


def deliveries_budget() -> ReportBudget:
    """Return the budget that all groups of a tracker share."""
    return ReportBudget(ALL_BYTES_MAX)


@dataclass(frozen=True, slots=True)
class _Kept:
    sequence: int
    sums: ShareDeliveries


class KeptDeliveries:
    """The last sums of each gateway process.

    A report may be late, duplicated or out of order: of each process, the one with the highest sequence counts.
    """

    def __init__(self, budget: ReportBudget) -> None:
        """Start without reports; ``budget`` is shared by all groups of a tracker (`deliveries_budget`)."""
        self._budget = budget
        self._kept: dict[int, _Kept] = {}
        self._total: ShareDeliveries | None = None

    @property
    def total(self) -> ShareDeliveries | None:
        """The sum of all gateways; None without reports."""
        if self._total is None and self._kept:
            self._total = _sum([each.sums for each in self._kept.values()])
        return self._total

    def add(self, event: DeliveriesEvent) -> bool:
        """Keep the sums of a report unless they are old or there is no room; return whether they are kept."""
        process = hash(event.process)  # the sender chose the text, so it may be long
        kept = self._kept.get(process)
        if kept is not None and event.sequence <= kept.sequence:
            return False
        if kept is not None:
            del self._kept[process]
        elif len(self._kept) < GATEWAYS_MAX and self._budget.make_room(DELIVERIES_BYTES):
            self._budget.left -= DELIVERIES_BYTES
        elif self._kept:
            del self._kept[next(iter(self._kept))]
        else:
            return False
        self._kept[process] = _Kept(event.sequence, event.deliveries)
        self._total = None
        return True

    def clear(self) -> None:
        """Drop all reports, since the group is gone."""
        self._budget.left += DELIVERIES_BYTES * len(self._kept)
        self._kept.clear()
        self._total = None


def _sum(sums: list[ShareDeliveries]) -> ShareDeliveries:
    def add(name: str) -> int:
        return min(DELIVERED_MAX, sum(int(getattr(each, name)) for each in sums))

    return ShareDeliveries(
        since_ms=min(each.since_ms for each in sums),
        acquired=add("acquired"),
        redelivered=add("redelivered"),
        accepted=add("accepted"),
        released=add("released"),
        rejected=add("rejected"),
        renewed=add("renewed"),
    )
