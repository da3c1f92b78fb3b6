"""Hostile clients and brokers by seed: they lose their own connections, and others are not affected."""

from __future__ import annotations

import asyncio

import pytest

from rebalance_agent.gateway.groups.gateway_groups import FrameOutcome
from rebalance_agent.gateway.transport.close_reason import CloseReason
from support.gateway.fuzz import fuzz

CONNECTIONS = 150


@pytest.mark.parametrize("seed", range(3))
def test_hostile_frames_end_only_their_own_connections(seed):
    report = asyncio.run(fuzz(seed, CONNECTIONS))
    assert report.faults == []
    assert report.rebalances > 1
    assert report.outcomes[FrameOutcome.ASSIGNED] >= report.rebalances
    assert {
        CloseReason.MALFORMED,
        CloseReason.OVERSIZED,
        CloseReason.TRUNCATED,
        CloseReason.MISMATCHED,
    } <= report.refused.keys()
