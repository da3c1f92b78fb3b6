"""Positions of share groups, from the responses of their coordinators."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from rebalance_agent.cluster.describing.frame_request import FrameRequest
from rebalance_agent.cluster.describing.share_offsets import BATCH_MAX, ShareOffset, ShareOffsets
from rebalance_agent.errors import ClusterError
from rebalance_agent.groupprotocol.requests.share_group_offsets import SHARE_OFFSETS

pytest.importorskip("kafka")


class FakeClient:
    """Brokers that coordinate ``groups``: node -> group -> rows of (topic, partition, start, lag, error code)."""

    def __init__(self, groups, newest=1):
        self.groups, self.newest_version, self.errors, self.asked = groups, newest, {}, []

    def nodes(self):
        return sorted(self.groups)

    def newest(self, key, versions):
        newest = self.newest_version if key == SHARE_OFFSETS.key else 99
        return max((version for version in versions if version <= newest), default=None)

    def __call__(self, requests):
        return [self._answer(node, request) for node, request in requests]

    def _answer(self, node, request):
        if not isinstance(request, FrameRequest):
            assert request.types_filter == ["share"]
            listed = [SimpleNamespace(group_id=name, group_type="share") for name in self.groups[node]]
            return SimpleNamespace(error_code=0, groups=listed)
        request.with_header(7, "app")
        request.encode(framed=True, header=True)
        names = self.groups[node]
        self.asked.append(len(names))
        return self.errors.get(node) or frame({name: rows for name, rows in names.items() if name not in self.errors})


def frame(groups):
    topics = {
        name: [
            {
                "topic_name": topic,
                "topic_id": "AAECAwQFBgcICQoLDA0ODw",
                "partitions": [
                    {
                        "partition_index": number,
                        "start_offset": start,
                        "leader_epoch": 1,
                        "lag": lag,
                        "error_code": code,
                        "error_message": None,
                    }
                ],
            }
            for topic, number, start, lag, code in rows
        ]
        for name, rows in groups.items()
    }
    fields = [
        {"group_id": name, "topics": rows, "error_code": 30 if name == "denied" else 0, "error_message": None}
        for name, rows in topics.items()
    ]
    return SHARE_OFFSETS.encode_answer(1, 7, {"throttle_time_ms": 0, "groups": fields})


def test_positions_of_all_coordinators_are_joined():
    client = FakeClient({1: {"a": [("t", 0, 5, 2, 0)], "other": []}, 2: {"b": [("t", 0, 0, 9, 0), ("u", 3, 4, 0, 0)]}})
    found = ShareOffsets(client).read({"a", "b"}.__contains__)
    assert found.refused == {}
    assert found.groups == {
        "a": {("t", 0): ShareOffset(5, 2)},
        "b": {("t", 0): ShareOffset(0, 9), ("u", 3): ShareOffset(4, 0)},
    }


@pytest.mark.parametrize("row", [("t", 0, -1, -1, 0), ("t", 0, 5, -1, 0), ("t", 0, 5, 2, 3)])
def test_partitions_without_a_known_position_are_missing(row):
    assert ShareOffsets(FakeClient({1: {"a": [row, ("t", 1, 1, 1, 0)]}})).read(bool).groups == {
        "a": {("t", 1): ShareOffset(1, 1)}
    }


def test_a_refused_group_and_a_failing_broker_do_not_affect_the_others():
    client = FakeClient({1: {"a": [("t", 0, 5, 2, 0)], "denied": []}, 2: {"b": []}, 3: {"c": []}})
    client.errors = {2: ClusterError("broker 2: gone"), 3: b"\0\0\0\7\0\1"}
    found = ShareOffsets(client).read(bool)
    assert found.groups.keys() == {"a"}
    assert found.refused["denied"] == "error 30"
    assert found.refused["b"] == "broker 2: gone"
    assert "DescribeShareGroupOffsetsResponse" in found.refused["c"]


def test_brokers_that_do_not_count_the_lag_refuse():
    found = ShareOffsets(FakeClient({1: {"a": []}}, newest=0)).read(bool)
    assert (found.groups, list(found.refused)) == ({}, ["a"])


def test_many_groups_are_requested_in_batches():
    groups = {f"g{number:03}": [] for number in range(BATCH_MAX + 1)}
    client = FakeClient({1: groups})
    ShareOffsets(client).read(bool)
    assert len(client.asked) == 2
