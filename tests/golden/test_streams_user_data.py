"""User data of Kafka Streams' own classes (see ``make_streams_user_data.py``), in each of its versions."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path

import pytest

from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.record_json import record_json
from rebalance_agent.groupprotocol.records import decode_record
from rebalance_agent.groupprotocol.streams_user_data import (
    NEWEST_VERSION,
    StreamsAssignment,
    decode_process_id,
    decode_streams_assignment,
)

GOLDEN = json.loads(Path(__file__).with_name("streams_user_data.json").read_text(encoding="utf-8"))


def read(kind):
    return {int(version): base64.b64decode(data) for version, data in GOLDEN[kind].items()}


def tasks(name):
    active, standbys = (
        tuple((f"{name}{subtopology}", number) for subtopology, number in GOLDEN[which])
        for which in ("active", "standbys")
    )
    return StreamsAssignment(active, standbys)


@pytest.mark.parametrize(("version", "data"), read("assignments").items())
def test_each_version_of_an_assignment_has_the_tasks(version, data):
    assert decode_streams_assignment(data) == tasks("")


@pytest.mark.parametrize(("version", "data"), read("named").items())
def test_tasks_of_a_named_topology_have_its_name(version, data):
    assert decode_streams_assignment(data) == tasks("näme__")


@pytest.mark.parametrize(("version", "data"), read("subscriptions").items())
def test_each_version_of_a_subscription_has_the_process(version, data):
    assert decode_process_id(data) == GOLDEN["process"]


@pytest.mark.parametrize("decode", [decode_streams_assignment, decode_process_id])
@pytest.mark.parametrize("version", [0, -1, NEWEST_VERSION + 1])
def test_unknown_versions_are_refused_with_their_number(decode, version):
    kind = "assignments" if decode is decode_streams_assignment else "subscriptions"
    data = read(kind)[NEWEST_VERSION]
    decode(data)
    with pytest.raises(DecodeError, match=f"version {version} is not known at byte 0"):
        decode(struct.pack(">i", version) + data[4:])


def test_all_versions_are_kafkas():
    assert sorted(read("assignments")) == sorted(read("subscriptions")) == list(range(1, NEWEST_VERSION + 1))


@pytest.mark.parametrize(("version", "data"), read("assignments").items())
def test_bytes_that_end_within_the_tasks_are_refused(version, data):
    end = data.rindex(b"third-changelog") + len("third-changelog") + 4
    assert decode_streams_assignment(data[:end]) == tasks("")
    for length in range(end):
        with pytest.raises(DecodeError, match="Kafka Streams' assignment"):
            decode_streams_assignment(data[:length])


def test_the_record_of_an_application_has_its_processes_and_the_tasks_of_its_threads():
    record = decode_record(*(base64.b64decode(GOLDEN["group"][part]) for part in ("key", "value")))
    members = record_json(record)["members"]
    processes = [member["subscription"]["process_id"] for member in members]
    assert sorted(map(processes.count, set(processes))) == [3, 3]
    read = [(each["partitions"], each["active_tasks"]) for each in (member["assignment"] for member in members)]
    both = [({"Orders": [number], "clicks": [number]}, {"0": [number]}) for number in (0, 1)]
    assert sorted(read, key=str) == sorted(
        [*both, ({"users": [0]}, {"1": [0]}), ({"users": [1]}, {"1": [1]}), ({}, {}), ({}, {})], key=str
    )
    assert sorted(member["assignment"]["standby_tasks"].get("1", []) for member in members) == [[]] * 4 + [[0], [1]]


def test_a_claimed_count_is_refused_before_memory_is_taken():
    with pytest.raises(DecodeError, match=r"active: a count of 2147483647, but only 0 bytes are left"):
        decode_streams_assignment(struct.pack(">iii", NEWEST_VERSION, NEWEST_VERSION, 2**31 - 1))
