"""A group is read from its records, in either protocol and on the way from one to the other."""

from __future__ import annotations

import pytest

from rebalance_agent.advice.migration.migrating_group import MigratingGroupRecords
from rebalance_agent.groupprotocol.consumer_protocol import encode_assignment, encode_subscription
from rebalance_agent.groupprotocol.records import Record
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription

SUBSCRIPTION = encode_subscription(ConsumerSubscription(1, ("t",), b"mine", {"t": (0,)}))


def record(kind, value, **key):
    return Record(kind, 0, {"group": "orders", **key}, None if value is None else 1, value)


def classic(*members, protocol_type="consumer"):
    fields = (
        {
            "member_id": f"m{index}",
            "group_instance_id": None,
            "client_id": "app",
            "client_host": "/h",
            "rebalance_timeout": 9,
            "session_timeout": 7,
            "subscription": subscription,
            "assignment": assignment,
        }
        for index, (subscription, assignment) in enumerate(members)
    )
    return record("group_metadata", {"protocol_type": protocol_type, "protocol": "range", "members": list(fields)})


def member(member_id, protocols):
    value = {
        "client_id": "app",
        "client_host": "/h",
        "instance_id": None,
        "subscribed_topic_names": ["t"],
        "subscribed_topic_regex": "",
        "rebalance_timeout_ms": 9,
        "classic_member_metadata": {"session_timeout_ms": 7, "supported_protocols": protocols},
    }
    return record("consumer_group_member_metadata", value, member_id=member_id)


def current(member_id, epoch, state=0):
    value = {"member_epoch": epoch, "state": state}
    return record("consumer_group_current_member_assignment", value, member_id=member_id)


def after(*records):
    group = MigratingGroupRecords("orders")
    for each in records:
        assert group.apply(each)
    return group.present


def test_a_classic_group():
    assigned = encode_assignment(ConsumerAssignment(1, {"t": (0,)}, b"12345"))
    group = after(classic((SUBSCRIPTION, assigned), (SUBSCRIPTION, b"")))
    first, second = group.members
    assert (group.group_type, group.assignor, group.protocol_type) == (GroupType.CLASSIC, "range", "consumer")
    assert (first.topics, first.user_data, first.assignment_user_data, first.malformed) == (("t",), b"mine", 5, False)
    assert (second.assignment_user_data, second.malformed, second.session_timeout_ms) == (0, False, 7)


@pytest.mark.parametrize("pair", [(b"\0", b""), (SUBSCRIPTION, b"\0")])
def test_bytes_that_are_not_of_the_consumer_protocol(pair):
    assert after(classic(pair)).members[0].malformed
    assert not after(classic(pair, protocol_type="connect")).members[0].malformed


def test_a_group_becomes_mixed_and_classic_again():
    upgrade = (
        record("group_metadata", None),
        record("consumer_group_metadata", {"epoch": 2}),
        member("m0", [{"name": "range"}]),
        member("new", []),
        current("m0", 1),
        current("new", 2),
    )
    group = after(classic((SUBSCRIPTION, b"")), *upgrade)
    assert group.group_type is GroupType.CONSUMER
    assert [(each.member_id, each.settled) for each in group.of(GroupType.CLASSIC)] == [("m0", False)]
    assert [(each.member_id, each.settled) for each in group.of(GroupType.CONSUMER)] == [("new", True)]
    revoking = after(*upgrade, current("m0", 2, state=1))
    assert not revoking.of(GroupType.CLASSIC)[0].settled
    back = (record("consumer_group_member_metadata", None, member_id="new"), record("consumer_group_metadata", None))
    assert after(*upgrade, *back, classic((SUBSCRIPTION, b""))).group_type is GroupType.CLASSIC
    assert after(*upgrade, *back) is None


def test_a_group_that_the_brokers_are_deleting_has_no_state():
    """Else a group that becomes classic would have only new members, or none, between two of its tombstones."""
    epochs = (record("consumer_group_metadata", {"epoch": 2}), member("m0", [{"name": "range"}]), member("new", []))
    deleted = record("consumer_group_target_assignment_metadata", None)
    assert after(*epochs, deleted, record("consumer_group_member_metadata", None, member_id="m0")) is None
    assert after(deleted, *epochs).group_type is GroupType.CONSUMER


def test_other_groups_and_records_do_not_count():
    group = MigratingGroupRecords("orders")
    assert not group.apply(Record("group_metadata", 2, {"group": "others"}, 1, {}))
    assert not group.apply(record("offset_commit", None))
    assert group.present is None
    assert after(record("streams_group_metadata", {"epoch": 1})).group_type is GroupType.STREAMS
