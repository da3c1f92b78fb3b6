"""Records of share groups are counted once the broker has confirmed them, and bad bytes count nothing."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from rebalance_agent.gateway.gateway_counters import GatewayCounters
from rebalance_agent.gateway.share_groups.share_counters import SHARE_GROUPS_MAX
from rebalance_agent.gateway.share_groups.share_frames import ShareFrames
from rebalance_agent.gateway.transport.request_head import RequestHead
from rebalance_agent.groupprotocol.requests.share_requests import AcknowledgeType
from rebalance_agent.groupprotocol.requests.share_responses import (
    SHARE_ACKNOWLEDGE,
    SHARE_FETCH,
    ShareResponse,
    read_share_response,
)
from support.observer.scrapes import families

GOLDEN = json.loads((Path(__file__).parents[3] / "golden" / "kafkas_own_bytes.json").read_text(encoding="utf-8"))
KEYS = {"ShareFetch": SHARE_FETCH, "ShareAcknowledge": SHARE_ACKNOWLEDGE}
ACQUIRED = "kafka_rebalance_share_acquired_records_total"
ACKNOWLEDGED = "kafka_rebalance_share_acknowledged_records_total"
TOPIC_ID = "AAECAwQFBgcICQoLDA0ODw"


class Counted:
    """The frames of one connection, and what they count."""

    def __init__(self):
        self.counts = GatewayCounters()
        self.frames = ShareFrames(self.counts.shares)

    def request(self, api, about="acknowledging", number=7):
        row = next(each for each in GOLDEN["share_requests"] if (each["api"], each["version"]) == (api, 2))
        head = RequestHead(KEYS[api], 2, number)
        start = KEYS[api].to_bytes(2, "big") + b"\0\2" + number.to_bytes(4, "big") + b"\0\1c\0"
        self.frames.request(head, start + base64.b64decode(row[about]))
        return head

    def nonzero(self, name):
        self.counts.text()  # every series is 0 the first time that it is scraped
        samples = families(self.counts.text())[name].samples if name.encode() in self.counts.text() else ()
        return {
            (sample.labels["consumergroup"], sample.labels.get("type") or sample.labels["delivery"]): sample.value
            for sample in samples
            if sample.value
        }


def response(api):
    """Kafka's own bytes: the broker refuses the partition 3 of ShareAcknowledge."""
    row = next(each for each in GOLDEN["share_responses"] if (each["api"], each["version"]) == (api, 2))
    return read_share_response(KEYS[api], 2, b"\0\0\0\7\0" + base64.b64decode(row["none"]))


def plain(error_code=0, refused=(), **acquired):
    return ShareResponse(b"", [], slice(0, 0), acquired, error_code, frozenset(refused))


def test_acquired_and_acknowledged_records_are_counted_by_delivery_and_type():
    seen = Counted()
    seen.frames.response(seen.request("ShareFetch"), response("ShareFetch"))
    assert seen.nonzero(ACQUIRED) == {("payments", "1"): 10, ("payments", "2"): 2}
    assert seen.nonzero(ACKNOWLEDGED) == {
        ("payments", "accept"): 6,
        ("payments", "gap"): 1,
        ("payments", "release"): 1,
        ("payments", "reject"): 2,
        ("payments", "renew"): 1,
    }


def test_acknowledgements_of_a_partition_that_the_broker_refuses_are_not_counted():
    seen = Counted()
    seen.frames.response(seen.request("ShareAcknowledge"), response("ShareAcknowledge"))
    assert seen.nonzero(ACKNOWLEDGED) == {("payments", "renew"): 1}


def test_nothing_is_counted_if_the_broker_refuses_the_whole_request():
    seen = Counted()
    seen.frames.response(seen.request("ShareFetch"), plain(error_code=121))
    assert seen.counts.shares.text() == b""


def test_a_response_counts_only_for_its_own_request():
    seen = Counted()
    first, second = seen.request("ShareFetch", "none"), seen.request("ShareFetch")
    seen.frames.response(RequestHead(SHARE_FETCH, 2, 7), plain())  # equal, but not a request of this connection
    seen.frames.response(first, plain())
    assert seen.nonzero(ACKNOWLEDGED) == {}
    seen.frames.response(second, plain())
    assert seen.nonzero(ACKNOWLEDGED)["payments", "accept"] == 6


def test_a_response_that_passed_unread_does_not_end_the_counting():
    seen = Counted()
    seen.request("ShareFetch", "none")
    seen.frames.response(seen.request("ShareFetch"), plain())
    assert seen.nonzero(ACKNOWLEDGED)["payments", "accept"] == 6


@pytest.mark.parametrize("frame", [b"", b"\0\x4e\0\2\0\0\0\7\0\1c\0\xff", bytes(200)])
def test_a_request_that_cannot_be_read_is_ignored(frame):
    seen = Counted()
    head = RequestHead(SHARE_FETCH, 2, 7)
    seen.frames.request(head, frame)
    seen.frames.response(head, response("ShareFetch"))
    assert seen.counts.shares.text() == b""


def test_delivery_counts_beyond_the_default_limit_share_a_series():
    seen = Counted()
    seen.counts.shares.acquired("g", {5: 1, 6: 2, 200: 3, 0: 4})
    assert seen.nonzero(ACQUIRED) == {("g", "1"): 4, ("g", "5"): 1, ("g", "more"): 5}


def test_groups_beyond_the_limit_share_series():
    seen = Counted()
    for number in range(SHARE_GROUPS_MAX + 3):
        seen.counts.shares.acknowledged(f"g{number}", {AcknowledgeType.REJECT: 1})
    rejected = seen.nonzero(ACKNOWLEDGED)
    assert len(rejected) == SHARE_GROUPS_MAX + 1
    assert rejected["_folded", "reject"] == 3
