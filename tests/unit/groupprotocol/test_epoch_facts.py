"""What the tracker is told of a member of a consumer group, by how it introduced itself."""

import pytest

from rebalance_agent.groupprotocol.epochs import epoch_fact
from rebalance_agent.groupprotocol.primitives import ZERO_UUID
from rebalance_agent.groupprotocol.records import decode_record
from rebalance_agent.groupprotocol.tables.consumer import CONSUMER_GROUP_MEMBER_METADATA as TABLE
from rebalance_agent.groupprotocol.tables.consumer import CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER as TARGET
from rebalance_agent.model.epochs import MemberTarget

KEY = TABLE.key.encode(5, {"group": "g", "member_id": "m"})
FIELDS = {
    "instance_id": None,
    "rack_id": None,
    "client_id": "client",
    "client_host": "/10.0.0.1",
    "subscribed_topic_names": ["t"],
    "subscribed_topic_regex": "",
    "rebalance_timeout_ms": 60_000,
    "server_assignor": None,
}


@pytest.mark.parametrize(
    ("assignors", "classic", "eager"),
    [
        ((), False, False),
        (("range",), True, True),
        (("cooperative-sticky",), True, False),
        (("stream",), True, False),
        (("range", "cooperative-sticky"), True, True),
        (("cooperative-sticky", "range"), True, True),
    ],
)
def test_a_member_that_speaks_the_classic_protocol_is_eager_unless_all_its_assignors_are_cooperative(
    assignors, classic, eager
):
    listed = [{"name": name, "metadata": b""} for name in assignors]
    metadata = {"session_timeout_ms": 45_000, "supported_protocols": listed} if assignors else None
    member = epoch_fact(decode_record(KEY, TABLE.value.encode(0, {**FIELDS, "classic_member_metadata": metadata})))
    assert (member.classic, member.eager) == (classic, eager)
    assert member.session_timeout_ms == (45_000 if assignors else None)


def test_numbers_that_no_partition_has_are_left_out():
    key = TARGET.key.encode(7, {"group": "g", "member_id": "m"})
    rows = [{"topic_id": ZERO_UUID, "partitions": (-1, 5, 2**31 - 1)}]
    fact = epoch_fact(decode_record(key, TARGET.value.encode(0, {"topic_partitions": rows})))
    assert fact == MemberTarget({ZERO_UUID: (5,)})
