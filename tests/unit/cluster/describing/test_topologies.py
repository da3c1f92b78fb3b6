"""Topologies of streams groups, from the bytes of Kafka's own classes."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from rebalance_agent.cluster.describing import topologies as module
from rebalance_agent.cluster.describing.epoch_answers import described_epochs
from rebalance_agent.cluster.describing.frame_request import FrameRequest
from rebalance_agent.cluster.describing.topologies import Topologies
from rebalance_agent.errors import ClusterError
from rebalance_agent.groupprotocol.requests.streams_group_describe import STREAMS_DESCRIBE, TOPOLOGY_AVAILABLE
from rebalance_agent.groupprotocol.wire.error_codes import COORDINATOR_MOVED
from rebalance_agent.model.epoch_groups import StreamsTopology, Subtopology
from rebalance_agent.model.group import GroupType

pytest.importorskip("kafka")

GOLDEN = json.loads((Path(__file__).parents[3] / "golden" / "kafkas_own_bytes.json").read_text(encoding="utf-8"))
OF_KAFKA = [
    (row["version"], b"\0\0\0\7\0" + base64.b64decode(row["answer"]))
    for row in GOLDEN["describes"]
    if row["api"] == "StreamsGroupDescribe"
]
OLD, GONE, DESCRIBED, UNDESCRIBED = (frame for _, frame in OF_KAFKA)
PLAIN = Subtopology("0", ("clicks",), ("store-changelog",), ("sink",), ("store-changelog",))
"""The subtopology in Kafka's bytes; its only internal topic is named twice."""


class Brokers:
    """Brokers that answer each request about a group with the frame of the group."""

    def __init__(self, frames, newest=1):
        self.frames, self._newest, self.sent = frames, newest, []

    def nodes(self):
        return [1]

    def newest(self, key, versions):
        newest = self._newest if key == STREAMS_DESCRIBE.key else 99
        return max((version for version in versions if version <= newest), default=None)

    def __call__(self, requests):
        return [self._answer(request) for _, request in requests]

    def _answer(self, request):
        if not isinstance(request, FrameRequest):
            assert request.types_filter == ["streams"]
            listed = [SimpleNamespace(group_id=name, group_type="streams") for name in self.frames]
            return SimpleNamespace(error_code=0, groups=listed)
        request.with_header(7, "app")
        frame = request.encode(framed=True, header=True)[4:]
        fields = STREAMS_DESCRIBE.decode_request(request.api_version, frame)
        self.sent.append(fields)
        (name,) = fields["group_ids"]
        return self.frames[name]


def read(frame, newest=1):
    """The topology of ``orders``, or why it is refused; and what was sent."""
    brokers = Brokers({"orders": frame}, newest)
    found = Topologies(brokers).read(lambda _group: True)
    return found.groups.get("orders", found.refused.get("orders")), brokers.sent


def test_a_described_topology_has_sinks_stores_and_global_topics():
    topology, sent = read(DESCRIBED)
    subtopology = Subtopology(
        "0", ("clicks",), ("store-changelog",), ("sink",), ("store-changelog",), sink_topics=("out",), stores=("store",)
    )
    assert topology == StreamsTopology(3, (subtopology,), ("rates",))
    assert [fields["include_topology_description"] for fields in sent] == [1]


@pytest.mark.parametrize(("frame", "newest"), [(UNDESCRIBED, 1), (OLD, 0)])
def test_without_a_description_the_subtopologies_have_their_topics(frame, newest):
    topology, sent = read(frame, newest)
    assert topology == StreamsTopology(3, (PLAIN,))
    assert len(sent) == 1
    assert ("include_topology_description" in sent[0]) is bool(newest)


def edited(frame, change):
    """A frame of version 1 whose group is changed."""
    (group,) = STREAMS_DESCRIBE.decode(frame, 1)
    change(group)
    return STREAMS_DESCRIBE.encode_answer(1, 7, {"throttle_time_ms": 0, "groups": [group]})


def test_a_sink_that_is_a_repartition_topic_or_has_no_fixed_topic_is_no_sink_topic():
    def change(group):
        group["topology"]["subtopologies"][0]["repartition_sink_topics"] = ["orders-by-key-repartition"]
        nodes = group["topology_description"]["subtopologies"][0]["nodes"]
        sink = nodes[-1]
        nodes += [{**sink, "sink_topic": topic} for topic in ("by-key-repartition", None)]

    assert read(edited(DESCRIBED, change))[0].subtopologies[0].sink_topics == ("out",)


def test_a_description_that_the_broker_could_not_fetch_is_none():
    def change(group):
        group["topology_description_status"] = TOPOLOGY_AVAILABLE - 1

    assert read(edited(UNDESCRIBED, change))[0] == StreamsTopology(3, (PLAIN,))


def test_a_group_without_a_topology_or_that_is_gone_has_none():
    def uninitialized(group):
        group["topology"]["subtopologies"] = None

    assert read(edited(UNDESCRIBED, uninitialized))[0] is None
    assert read(GONE, 0)[0] is None


@pytest.mark.parametrize("error", sorted(COORDINATOR_MOVED))
def test_a_group_whose_coordinator_moves_keeps_its_topology(error):
    def moving(group):
        group.update(error_code=error, group_state="", topology=None, members=[])

    found = Topologies(Brokers({"orders": edited(UNDESCRIBED, moving), "other": GONE})).read("orders".__eq__)
    assert (found.groups, found.refused) == ({}, {})


def test_subtopologies_are_in_the_order_of_their_numbers():
    def change(group):
        (row,) = group["topology"]["subtopologies"]
        group["topology"]["subtopologies"] = [{**row, "subtopology_id": name} for name in ("10", "2", "0")]

    ids = [each.subtopology_id for each in read(edited(UNDESCRIBED, change))[0].subtopologies]
    assert ids == ["0", "2", "10"]


def test_responses_and_topologies_that_are_too_large_are_refused(monkeypatch):
    names = sum(map(len, read(DESCRIBED)[0].names))
    monkeypatch.setattr(module, "NAMES_BYTES_MAX", names)
    assert read(DESCRIBED)[0]
    monkeypatch.setattr(module, "NAMES_BYTES_MAX", names - 1)
    assert f"its names have {names} bytes" in read(DESCRIBED)[0]
    monkeypatch.setattr(module, "RESPONSE_BYTES_MAX", len(DESCRIBED) - 1)
    assert f"the response has {len(DESCRIBED)} bytes" in read(DESCRIBED)[0]


@pytest.mark.parametrize("failure", [ClusterError("broker 1: timed out"), b"\0"])
def test_one_failing_group_does_not_prevent_the_others(failure):
    found = Topologies(Brokers({"bad": failure, "orders": UNDESCRIBED})).read(lambda _group: True)
    assert (list(found.groups), list(found.refused)) == (["orders"], ["bad"])


def test_an_error_of_the_broker_is_the_reason():
    def denied(group):
        group["error_code"], group["error_message"] = 30, "denied"

    assert read(edited(UNDESCRIBED, denied))[0] == "error 30: denied"


def test_only_selected_groups_are_described_and_brokers_without_the_api_are_not_asked():
    brokers = Brokers({"orders": OLD, "other": OLD}, newest=0)
    assert list(Topologies(brokers).read("orders".__eq__).groups) == ["orders"]
    assert len(brokers.sent) == 1
    assert read(OLD, newest=-1) == (None, [])


def test_the_assignor_of_the_next_assignment_is_not_that_of_the_group():
    """Its change starts no rebalance (KIP-1357), so it must not be the cause of the next one."""
    (group,) = STREAMS_DESCRIBE.decode(DESCRIBED, 1)
    assert group["assignor_name"] == "sticky"
    assert described_epochs(group, GroupType.STREAMS).assignor is None
