"""The sentence about the deliveries of a share group."""

from __future__ import annotations

from rebalance_agent.model.reported.deliveries_event import ShareDeliveries
from rebalance_agent.ui.sentences.deliveries_text import deliveries_text

SINCE_MS = 1_795_260_180_000


def test_deliveries_are_one_sentence():
    assert deliveries_text(ShareDeliveries(SINCE_MS, 1_200, 14, 1_180, 4, 2, 0)) == (
        "Deliveries through gateways since 2026-11-21 11:23:00 UTC: 1,200 records, 14 of them redelivered, 2 rejected, "
        "0 lock renewals"
    )


def test_one_record_and_one_renewal_are_singular():
    assert deliveries_text(ShareDeliveries(SINCE_MS, 1, 0, 0, 0, 0, 1)).endswith(
        ": 1 record, 0 of them redelivered, 0 rejected, 1 lock renewal"
    )


def test_unknown_deliveries_are_not_mentioned():
    assert deliveries_text(None) == ""
