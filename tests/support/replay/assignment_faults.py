"""Planted faults of assignments: one for each alert of ``alerts/assignments.py``."""

from __future__ import annotations

from rebalance_agent.tracking.patterns.copartition import Copartitioned
from support.replay.bad_groups import suspended
from support.replay.fault import FROM, Fault, counted, of_group, of_series, shown
from support.replay.script import Script

__all__ = ["ASSIGNMENT_FAULTS"]

OVER = FROM + 4500
ORDERS = {"consumergroup": "orders"}


def _joined(alert, what, members, over=OVER, **script):
    """The group has all ``members`` from `FROM` to ``over``, and only the first one before and after."""
    made = Script("orders", members[0], **script)
    for member in members[1:]:
        made.join(FROM, member)
        made.leave(over, member)
    settings = {"copartitioned": Copartitioned.parse("orders=t,u")} if "u" in script.get("topics", {}) else {}
    return of_group(alert, what, FROM, over, made, **settings)


def _empty():
    script = Script("orders", "a", "b", "c")
    script.leave(FROM, "a", "b", "c")
    script.join(FROM + 1200, "a")
    return of_group("KafkaGroupEmpty", "a group has no members for 20 min", FROM + 300, FROM + 1200, script)


def _unassigned():
    script = Script("orders", "a", "b", "c")
    script.grow(FROM, FROM + 900, t=16)
    what = "a topic grows, and no member detects this for 15 min"
    return of_group("KafkaGroupPartitionsUnassigned", what, FROM, FROM + 900, script)


def _lost():
    script = Script("orders", "a", "b", "c", reports=True)
    script.crash(FROM, "b")
    script.join(FROM + 20, "b")
    what = "a member is killed and started again 20 s later"
    return of_group("KafkaGroupPartitionsLost", what, FROM + 50, FROM + 60, script, commits=True)


def _excess():
    script = Script("orders", "a", "b", "c", "d")
    for number in range(8):
        script.restart(FROM + 240 * number, "abcd"[number % 4])
    what = (
        "the 4 members of a group with range restart twice each within 30 min, which moves more partitions than needed"
    )
    return of_group("KafkaGroupExcessMoves", what, FROM + 970, FROM + 1700, script)


def _standby():
    script = Script("orders", "a", "b", assignor="failover")
    script.restart(FROM, "b", away=900)
    return of_group(
        "KafkaGroupStandbyMissing",
        "a group with the failover strategy has no standby for 15 min",
        FROM,
        FROM + 900,
        script,
    )


def _share_records():
    over = FROM + 1200
    acquired, rejected = (
        "kafka_rebalance_share_acquired_records_total",
        "kafka_rebalance_share_acknowledged_records_total",
    )
    return of_series(
        "KafkaGroupShareRecordsFail",
        "consumers of a share group release every second record, for 20 min",
        FROM + 450,  # then the repeated deliveries are a fifth of all deliveries in the window
        over,
        counted(acquired, 10, 10, over, **ORDERS, delivery="1"),
        counted(acquired, 0, 5, over, **ORDERS, delivery="2"),
        counted(rejected, 0, 0, over, **ORDERS, type="reject"),
    )


def _share_lag():
    over = FROM + 2700
    return of_series(
        "KafkaGroupShareLagGrows",
        "members of a share group acknowledge nothing for 45 min, while 10 records are appended each second",
        FROM + 600,  # then all lags of the last window exceed those of the earlier window
        over,
        shown("kafka_rebalance_group_lag_offsets", 40, lambda seconds: 40 + 10 * seconds, over, **ORDERS),
        shown("kafka_rebalance_group_lag_seconds", 4, lambda seconds: 4 + seconds, over, **ORDERS),
        shown("kafka_rebalance_members", 2, 2, over, **ORDERS),
        shown("kafka_rebalance_group_info", 1, 1, over, **ORDERS, group_type="share"),
    )


def _streams_standbys():
    return of_series(
        "KafkaGroupStreamsStandbysMissing",
        "one of two instances of a streams application stops for 75 min, so no task has a standby task",
        FROM,
        OVER,
        shown("kafka_rebalance_streams_tasks", 12, 0, OVER, **ORDERS, kind="standby"),
        shown("kafka_rebalance_members", 2, 1, OVER, **ORDERS),
    )


def _seen(alert, what, name, during, *, before=0, due=FROM, over=OVER, **labels):
    return of_series(alert, what, due, over, shown(f"kafka_rebalance_{name}", before, during, over, **ORDERS, **labels))


ASSIGNMENT_FAULTS = (
    _joined(
        "KafkaGroupAssignmentSkewed",
        "9 topics have one partition each, and range gives all of them to one of 3 members, for 75 min",
        "abc",
        topics={f"t{number}": 1 for number in range(9)},
    ),
    _joined(
        "KafkaGroupAssignmentImbalanced",
        "range gives 6, 3 and 3 partitions to 3 members, for 75 min",
        "abc",
        topics={"t": 4, "s": 4, "r": 4},
    ),
    _seen(
        "KafkaGroupTopicClustered",
        "a topic's partitions are on a quarter of the members, for 75 min",
        "topic_spread_ratio",
        0.25,
        before=1,
        topic="t",
    ),
    _seen(
        "KafkaGroupTopicsOnOneHost",
        "9 of 10 topics have all their partitions on one host, for 75 min",
        "topics_on_one_host_ratio",
        0.9,
    ),
    _empty(),
    _seen(
        "KafkaGroupPartitionStuck",
        "a partition's committed offset does not move for 30 min",
        "stuck_partition_seconds",
        lambda seconds: seconds,
        due=FROM + 900,
        over=FROM + 1800,
    ),
    _unassigned(),
    _joined(
        "KafkaGroupCopartitionBroken",
        "two topics are co-partitioned, but roundrobin gives partitions with the same number to different members, "
        "for 20 min",
        "abc",
        FROM + 1200,
        assignor="roundrobin",
        topics={"t": 4, "u": 4},
    ),
    _lost(),
    Fault(
        "KafkaGroupPartitionsDoublyOwned",
        "a suspended member is removed, and gives up its partitions 20 s later",
        FROM + 20,
        FROM + 20,
        suspended,
    ),
    _excess(),
    _joined("KafkaGroupIdleMembers", "a group of 3 members has only 2 partitions, for 75 min", "abc", topics={"t": 2}),
    _standby(),
    _streams_standbys(),
    of_series(
        "KafkaGroupMetadataNearLimit",
        "the coordinator's record of a group has a size of 900 kB, for 75 min",
        FROM,
        OVER,
        shown("kafka_rebalance_group_metadata_bytes", 400_000, 900_000, OVER, **ORDERS),
        shown("rebalance_agent_offsets_message_max_bytes", 1_048_588, 1_048_588, OVER),
    ),
    _share_records(),
    _share_lag(),
)
