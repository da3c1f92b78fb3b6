"""Whether the next member may be replaced, and what the change cost."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.advice import history_of
from rebalance_agent.advice.migration.broker_limits import BrokerLimits
from rebalance_agent.advice.migration.broker_what_if import broker_what_if
from rebalance_agent.advice.migration.migrating_group import MigratingGroup, MigratingMember
from rebalance_agent.advice.migration.migration_report import report_of
from rebalance_agent.advice.migration.migration_steps import Go, back_step_of, step_of
from rebalance_agent.advice.migration.readiness import readiness
from rebalance_agent.assignors import STRATEGIES
from rebalance_agent.model.episode import Basis, Stall
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.reported.member_software import ClientSoftware
from rebalance_agent.model.subscription import MemberSubscription
from support.assignors.walks import Walk
from support.tracker.histories import generation, snapshot, walked

OLD = MigratingMember("old", "app", GroupType.CLASSIC, topics=("t",))
NEW = replace(OLD, member_id="new", protocol=GroupType.CONSUMER)


def answer(members, kind, policy):
    limits = BrokerLimits({"group.consumer.migration.policy": policy} if policy else {}, {}, consumer_groups=True)
    return readiness(MigratingGroup("g", kind, members), limits)


def step(*members, kind=GroupType.CONSUMER, policy="bidirectional", migrated=False):
    return step_of(answer(members, kind, policy), migrated=migrated)


def back(*members, kind=GroupType.CONSUMER, policy="bidirectional"):
    return back_step_of(answer(members, kind, policy))


@pytest.mark.parametrize(
    ("found", "go", "classic"),
    [
        (step(OLD, OLD, kind=GroupType.CLASSIC), Go.GO, 2),
        (step(OLD, NEW), Go.GO, 1),
        (step(OLD, replace(NEW, settled=False)), Go.WAIT, 1),
        (step(NEW, NEW), Go.DONE, 0),
        (step(NEW, replace(NEW, settled=False)), Go.WAIT, 0),
        (step(OLD, kind=GroupType.CLASSIC, policy="disabled"), Go.NO_GO, 1),
        (step(OLD, kind=GroupType.CLASSIC, policy=None), Go.NO_GO, 1),
        (step(kind=GroupType.CLASSIC, policy="disabled"), Go.GO, 0),
        (step(), Go.GO, 0),
        (step(OLD, kind=GroupType.CLASSIC, migrated=True), Go.BACK, 1),
        (step(OLD, kind=GroupType.CLASSIC, policy="disabled", migrated=True), Go.BACK, 1),
        (step(kind=GroupType.CLASSIC, migrated=True), Go.GO, 0),
        (step(OLD, policy="upgrade", migrated=True), Go.GO, 1),
    ],
)
def test_go_wait_no_go_and_done(found, go, classic):
    assert (found.go, found.classic) == (go, classic)
    assert found.reason


def test_the_step_counts_the_members_that_have_changed():
    assert step(OLD, OLD, kind=GroupType.CLASSIC).reason.endswith("replace the first classic member")
    assert step(OLD, NEW).reason.endswith("replace the next classic member")


@pytest.mark.parametrize(
    ("found", "way_back"),
    [
        (step(OLD, NEW), "restart the new members with the old configuration"),
        (step(OLD, NEW, policy=None), "restart the new members with the old configuration"),
        (step(OLD, NEW, policy="upgrade"), "stop all members, and start them with the old configuration"),
        (step(OLD, policy="upgrade"), "stop all members, and start them with the old configuration"),
        (step(OLD, kind=GroupType.CLASSIC), None),
        (step(), None),
    ],
)
def test_a_group_with_the_consumer_protocol_has_a_way_back(found, way_back):
    assert found.way_back == way_back


STOP = "stop all members, and start them with the old configuration"


@pytest.mark.parametrize(
    ("found", "go", "way_back", "reason"),
    [
        (back(NEW, NEW), Go.GO, None, "replace the first member that uses the consumer protocol"),
        (back(OLD, NEW), Go.GO, None, "replace the next member that uses the consumer protocol"),
        (back(OLD, NEW, policy="downgrade"), Go.GO, None, "replace the next member that uses the consumer protocol"),
        (back(OLD, replace(NEW, settled=False)), Go.WAIT, None, "1 member does not have the newest assignment yet"),
        (back(), Go.GO, None, "the group is empty: start the members with the old configuration"),
        (back(policy="upgrade"), Go.GO, None, "the group is empty: start the members with the old configuration"),
        (back(OLD, NEW, policy="upgrade"), Go.NO_GO, STOP, "so the group does not become classic again"),
        (back(replace(NEW, settled=False), policy="disabled"), Go.NO_GO, STOP, "does not become classic again"),
        (back(OLD), Go.NO_GO, STOP, "it may have more members than group.max.size allows"),
        (back(OLD, NEW, policy=None), Go.NO_GO, None, "because group.consumer.migration.policy could not be read"),
        (back(OLD, kind=GroupType.CLASSIC), Go.BACK, None, "all members use the classic protocol again"),
        (back(kind=GroupType.CLASSIC), Go.BACK, None, "the group is classic and empty"),
        (back(kind=GroupType.STREAMS), Go.NO_GO, None, "It is a streams group, not a consumer group"),
    ],
)
def test_the_way_back_has_steps(found, go, way_back, reason):
    assert (found.go, found.way_back) == (go, way_back)
    assert found.reason.endswith(reason)


def test_a_group_whose_clients_lack_the_protocol_needs_another_client():
    old = replace(OLD, software=ClientSoftware("kafka-python", "3.0.12"))
    assert (found := step(old, kind=GroupType.CLASSIC)).go is Go.GO
    assert found.reason.endswith(
        "the new member needs another client, because none of the classic members has a client that supports the "
        "consumer protocol"
    )
    assert step(old, OLD, kind=GroupType.CLASSIC).reason.endswith("replace the first classic member")


def periods(*kinds):
    member = snapshot(MemberSubscription("m", ("t",)), {"t": (0,)})
    events = [
        generation(
            number,
            [member],
            {"t": 1},
            group_type=kind,
            assignor="range" if kind is GroupType.CLASSIC else "uniform",
            moved=number,
            stall=Stall(1.0, 1.0, 2.0, Basis.BOUND, 5.0),
            skew_ratio=1.5,
        )
        for number, kind in enumerate(kinds, 1)
    ]
    return report_of(events)


def test_a_report_has_the_rebalances_before_and_since_the_last_change():
    old, new = GroupType.CLASSIC, GroupType.CONSUMER
    report = periods(old, new, old, old, new, new)
    assert (report.before.rebalances, report.before.moved, report.before.assignor) == (3, 1 + 3 + 4, "range")
    assert (report.since.rebalances, report.since.moved, report.since.assignor) == (2, 5 + 6, "uniform")
    assert (report.back, report.returned) == (False, None)
    assert periods(old, new, old).back
    assert periods(old) is None


def test_a_report_has_the_rebalances_since_the_group_is_classic_again():
    old, new = GroupType.CLASSIC, GroupType.CONSUMER
    report = periods(old, new, old, new, new, old, old)
    assert (report.since.moved, report.since.assignor) == (4 + 5, "uniform")
    assert (report.returned.rebalances, report.returned.moved, report.returned.assignor) == (2, 6 + 7, "range")


def test_a_group_that_was_emptied_had_its_last_assignor():
    with_members, without = generation(1, [], {}, assignor="range"), generation(2, [], {}, assignor=None)
    epoch = generation(3, [], {}, group_type=GroupType.CONSUMER)
    assert report_of([with_members, without, epoch]).before.assignor == "range"


def test_the_brokers_assignors_are_replayed_through_the_past():
    history = history_of(walked(Walk(3), STRATEGIES["range"], 6))
    uniform, ranges, other = broker_what_if(history, ("uniform", "range", "mine"), 5_000)
    assert uniform.figures.generations == ranges.figures.generations == len(history.decided)
    assert ranges.stalled_max == pytest.approx(2 * ranges.figures.stalled_partition_seconds)
    assert uniform.figures.skew_sum <= ranges.figures.skew_sum
    assert other.refused
    assert broker_what_if(history, ("uniform",), None)[0].stalled_max is None
