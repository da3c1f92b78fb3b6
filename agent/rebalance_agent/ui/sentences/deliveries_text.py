"""Describes, in one sentence, the records that gateways have seen delivered to a share group. Pure."""

from __future__ import annotations

from rebalance_agent.model.reported.deliveries_event import ShareDeliveries
from rebalance_agent.ui.words import moment_to_second, plural

__all__ = ["deliveries_text"]


def deliveries_text(deliveries: ShareDeliveries | None) -> str:
    """Return ``Deliveries through gateways since 2026-11-21 14:02:11 UTC: 1,200 records, 14 of them redelivered, ...``.

    The result is an empty string if no gateway has reported deliveries.
    """
    if deliveries is None:
        return ""
    numbers = (
        plural(deliveries.acquired, "record", ","),
        f"{deliveries.redelivered:,} of them redelivered",
        f"{deliveries.rejected:,} rejected",
        plural(deliveries.renewed, "lock renewal", ","),
    )
    return f"Deliveries through gateways since {moment_to_second(deliveries.since_ms)}: {', '.join(numbers)}"
