"""The hostile tenant sends valid data, which brokers, sidecar and observer must process."""

from __future__ import annotations

import pytest

from chaos.faults import tenant
from chaos.faults.tenant import ABSURD, CLAIMED_PARTITIONS, HUGE_SUBSCRIPTION, Tenant
from rebalance_agent.api.posted_events import parse_events
from rebalance_agent.groupprotocol.consumer_protocol import decode_assignment, decode_subscription
from rebalance_agent.model.event_json import json_line

RECORD_BYTES_MAX = 1_048_588
"""Default maximum size of a topic's records."""


def test_its_claims_are_valid_events():
    (event,) = parse_events([json_line(Tenant("", "", 1, 1).claim())])
    assert sum(map(len, event.partitions.values())) == CLAIMED_PARTITIONS


def test_its_assignment_and_subscription_are_valid_and_fit_into_a_record():
    assert decode_assignment(ABSURD)
    assert decode_subscription(HUGE_SUBSCRIPTION)
    assert max(map(len, (ABSURD, HUGE_SUBSCRIPTION))) < RECORD_BYTES_MAX


@pytest.mark.parametrize("refused", [None, "claims"])
def test_an_attack_without_accepted_data_is_reported(monkeypatch, refused):
    monkeypatch.setattr(tenant, "TAKEN_S", 0.0)
    monkeypatch.setattr(tenant, "http", lambda *_: (503 if refused else 204, ""))
    monkeypatch.setattr(Tenant, "_rebalance", lambda *_: True)
    ran = Tenant("", "", 0.05, 1)
    assert ran.run() == (refused is None)
    assert all(ran.done[name] for name in ("generations", "partitions", "user data", "names"))
