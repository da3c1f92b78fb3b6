"""Single scenarios in the coordinator model, each with the behaviour of Kafka's broker and consumers."""

from __future__ import annotations

import pytest

from rebalance_agent.errors import AssignmentError, InvalidInputError
from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.subscription import GroupAssignment, MemberSubscription, TopicMetadata
from rebalance_agent.testing.simulation import (
    Crash,
    Delete,
    Join,
    Leave,
    RacksChange,
    SimulatedMember,
    SimulationSettings,
    Subscribe,
    TopicGrows,
    restart,
    simulate,
)
from rebalance_agent.testing.simulation.action_queue import ActionQueue
from rebalance_agent.testing.simulation.group_coordinator import Coordinator
from rebalance_agent.testing.simulation.group_messages import JoinRequest, SyncRequest
from rebalance_agent.testing.simulation.stalled_partitions import StalledPartitions
from rebalance_agent.testing.simulation.timeline_recorder import TimelineRecorder

AT_ONCE = SimulationSettings(initial_rebalance_delay_ms=0)
STICKY, COOPERATIVE = "weighted-sticky", "cooperative-weighted-sticky"


def member(name, *strategies, topics="t", **fields):
    return SimulatedMember(name, tuple(topics.split()), strategies or ("range",), **fields)


def run(*steps, settings=AT_ONCE, **partitions):
    return simulate({name: TopicMetadata(count) for name, count in (partitions or {"t": 6}).items()}, steps, settings)


def rebalances(timeline):
    """(number, trigger, cause, start, end of the join phase, end of the sync phase) of every generation."""
    return [
        (each.number, str(each.trigger), each.cause, each.start_ms, each.joined_ms, each.synced_ms)
        for each in timeline.generations
    ]


def stalls(timeline, since_ms=0):
    """(partitions of t, from, to, owner, next owner) in the order of partitions."""
    return sorted(
        (each.partitions["t"], each.stopped_ms, each.resumed_ms, each.owner, each.next_owner)
        for each in timeline.stalls
        if each.stopped_ms >= since_ms
    )


def states(timeline):
    return [str(each.state) for each in timeline.states]


def test_a_group_goes_through_the_states_of_kafkas_coordinator():
    timeline = run(Join(0, member("a")), Leave(10, "a"), Delete(20), Join(30, member("b")))
    round_of_states = ["PreparingRebalance", "CompletingRebalance", "Stable"]
    assert states(timeline) == [
        *("Empty", *round_of_states, "PreparingRebalance", "Empty", "Dead"),
        *("Empty", *round_of_states),
    ]
    assert [(each.number, each.names) for each in timeline.generations] == [(1, ("a",)), (2, ()), (1, ("b",))]


def test_a_group_with_members_is_not_deleted():
    assert "Dead" not in states(run(Join(0, member("a")), Delete(20)))


def test_the_first_round_waits_as_long_as_members_keep_coming():
    joins = [Join(at_ms, member(name)) for at_ms, name in ((0, "a"), (2_000, "b"), (5_000, "c"), (9_500, "d"))]
    timeline = run(*joins, settings=SimulationSettings(initial_rebalance_delay_ms=3_000))
    # a at 0 s, b within the first three seconds, c within the next; no member joins in the third ones.
    assert rebalances(timeline)[0] == (1, "group_started", "a", 0, 9_000, 9_000)
    assert [each.names for each in timeline.generations] == [("a", "b", "c"), ("a", "b", "c", "d")]


def test_the_first_round_waits_no_longer_than_the_rebalance_timeout():
    joins = [Join(at_ms, member(f"m{at_ms}", rebalance_timeout_ms=5_000)) for at_ms in range(0, 10_000, 500)]
    timeline = run(*joins, settings=SimulationSettings(initial_rebalance_delay_ms=3_000))
    assert timeline.generations[0].joined_ms == 5_000


def test_a_member_learns_of_a_rebalance_by_its_heartbeat_and_joins_at_its_next_poll():
    slow = member("a", processing_ms=10_000, heartbeat_interval_ms=3_000)
    timeline = run(Join(0, slow), Join(14_000, member("b")))
    # Heartbeat at 15 s, poll at 20 s.
    assert rebalances(timeline)[1] == (2, "member_joined", "b", 14_000, 20_000, 20_000)
    assert timeline.generations[1].last_to_join == "a"
    assert timeline.generations[1].joins == {"a-1": 20_000, "b-1": 14_000}


def test_a_member_that_joined_early_stalls_until_the_slowest_has_joined():
    slow = member("a", processing_ms=10_000)
    timeline = run(Join(0, slow), Join(100, member("b")), Join(34_000, member("c")))
    b_noticed = 34_000 - (34_000 - 10_000) % 3_000 + 3_000 if (34_000 - 10_000) % 3_000 else 34_000
    assert timeline.generations[-1].joined_ms == 40_000
    assert stalls(timeline, 34_000) == [((3,), b_noticed, 40_000, "b", "b"), ((4, 5), b_noticed, 40_000, "b", "c")]


def test_callbacks_and_the_leaders_decision_are_part_of_the_stall():
    leader = member("a", revoked_ms=200, assigned_ms=30, assign_ms=1_000, heartbeat_interval_ms=100)
    timeline = run(Join(0, leader), Join(5_000, member("b", assigned_ms=4_000)))
    start = timeline.generations[0].synced_ms
    beat = 5_000 + (start - 5_000) % 100
    assert stalls(timeline, 5_000) == [
        ((0, 1, 2), beat, beat + 1_230, "a", "a"),
        ((3, 4, 5), beat, beat + 1_200 + 4_000, "a", "b"),
    ]


def test_under_a_cooperative_strategy_only_moved_partitions_stall():
    timeline = run(Join(0, member("a", COOPERATIVE)), Join(5_000, member("b", COOPERATIVE)))
    assert [str(each.trigger) for each in timeline.generations] == ["group_started", "member_joined", "rejoin"]
    first, follow_up = timeline.generations[1:]
    assert [len(first.of(name).get("t", ())) for name in "ab"] == [3, 0]
    assert [len(follow_up.of(name)["t"]) for name in "ab"] == [3, 3]
    # a notices at its heartbeat at 6 s, revokes three partitions, and rejoins at once; b notices at its own heartbeat.
    moved = follow_up.of("b")["t"]
    assert stalls(timeline, 1_000) == [(moved, 6_000, 9_000, "a", "b")]


def test_the_first_member_leads_until_it_leaves_and_is_then_replaced():
    timeline = run(
        Join(0, member("b")),
        Join(1_000, member("a")),
        Join(20_000, member("c")),
        Leave(40_000, "b"),
        Leave(60_000, "c"),
    )
    assert [each.leader for each in timeline.generations] == ["b-1", "b-1", "b-1", "a-1", "a-1"]


def test_a_member_that_does_not_join_in_time_is_expelled_and_returns_as_a_new_one():
    stuck = member("a", revoked_ms=25_000, rebalance_timeout_ms=10_000)
    timeline = run(Join(0, stuck), Join(1_000, member("b", rebalance_timeout_ms=10_000)), Leave(100_000, "b"))
    # a learns of b at 3 s and is in its callback until 28 s; the join phase ends without it 10 s after its start.
    assert rebalances(timeline)[1] == (2, "member_joined", "b", 1_000, 11_000, 11_000)
    assert [(each.names, each.expelled) for each in timeline.generations[:3]] == [
        (("a",), ()),
        (("b",), ("a",)),
        (("a", "b"), ()),
    ]
    assert timeline.generations[2].members.keys() == {"b-1", "a-2"}
    assert timeline.generations[2].start_ms == 28_000


def test_a_member_removed_during_its_callback_does_not_take_its_assignment():
    stuck = member("a", assigned_ms=60_000, rebalance_timeout_ms=10_000)
    timeline = run(Join(0, stuck), Join(1_000, member("b", rebalance_timeout_ms=10_000)), Leave(70_000, "a"))
    assert next((each.at_ms, each.took) for each in timeline.handovers if each.member == "b") == (11_000, True)
    assert not [each for each in timeline.handovers if each.member == "a" and each.at_ms <= 60_000]


def test_a_rebalance_that_begins_while_a_response_is_in_flight_is_noticed_at_the_next_heartbeat():
    a = member("a")
    timeline = run(Join(0, a), Join(450, member("b", instance_id="i")), settings=SimulationSettings(0, latency_ms=100))
    # a is assigned everything at 500, b's JoinGroup arrives at 550, a gets its assignment at 600.
    assert [(each.start_ms, each.joined_ms) for each in timeline.generations] == [(300, 300), (550, 3_700)]


def test_the_longest_rebalance_timeout_of_all_members_counts():
    patient = member("a", revoked_ms=25_000, rebalance_timeout_ms=30_000)
    timeline = run(Join(0, patient), Join(1_000, member("b", rebalance_timeout_ms=10)))
    assert timeline.generations[1].names == ("a", "b")


def test_a_member_that_works_for_longer_than_its_max_poll_interval_leaves_until_its_next_poll():
    slow = member("a", processing_ms=60_000, rebalance_timeout_ms=10_000)
    timeline = run(Join(0, slow), Join(1_000, member("b")), settings=SimulationSettings(0, 0, patience_ms=65_000))
    # It leaves at 10 s and polls at 60 s; b learns of it a second later.
    assert [(each.names, each.joined_ms) for each in timeline.generations[:3]] == [
        (("a",), 0),
        (("b",), 10_000),
        (("a", "b"), 61_000),
    ]
    assert [str(each.trigger) for each in timeline.generations[1:3]] == ["member_joined"] * 2


def test_a_group_that_never_becomes_stable_is_not_settled():
    timeline = run(Join(0, member("a", processing_ms=60_000, rebalance_timeout_ms=10_000)))
    assert not timeline.settled
    assert timeline.end_ms <= 900_000
    assert len(timeline.generations) > 10


def test_a_crash_is_noticed_a_session_after_the_last_heartbeat_and_stalls_from_the_crash_on():
    timeline = run(Join(0, member("a")), Join(0, member("b", STICKY, "range")), Crash(10_000, "a"))
    assert rebalances(timeline)[1][:4] == (2, "member_failed", "a", 9_000 + 45_000)
    # b learns of it at its own heartbeat, at the same time, and takes over.
    assert stalls(timeline, 10_000) == [((0, 1, 2), 10_000, 54_000, "a", "b")]


def test_partitions_whose_first_owner_fails_before_its_callback_stall_from_the_groups_start():
    timeline = run(Join(0, member("a", assigned_ms=10_000)), Crash(5_000, "a"), Join(20_000, member("b")))
    assert stalls(timeline) == [((0, 1, 2, 3, 4, 5), 0, 48_000, None, "b")]


def test_new_partitions_wait_since_the_record_that_shows_them():
    timeline = run(Join(0, member("a", assigned_ms=70)), TopicGrows(9_000, "t", 8))
    assert ((6, 7), 9_000, 9_070, None, "a") in stalls(timeline)


def test_the_leader_rejoins_once_when_the_racks_of_partitions_change():
    timeline = run(Join(0, member("a")), Join(1_000, member("b")), RacksChange(30_000))
    assert [each[:4] for each in rebalances(timeline)[2:]] == [(3, "rejoin", "a", 30_000)]
    assert timeline.generations[-1].assignment == timeline.generations[-2].assignment


def test_a_static_member_that_processes_for_too_long_stops_heartbeats_and_fails():
    slow = member("a", instance_id="i", processing_ms=60_000, rebalance_timeout_ms=10_000, session_timeout_ms=10_000)
    timeline = run(Join(0, slow), settings=SimulationSettings(0, 0, patience_ms=65_000))
    # Its last heartbeat is at 9 s.
    assert [(each.names, each.start_ms) for each in timeline.generations] == [
        (("a",), 0),
        ((), 19_000),
        (("a",), 60_000),
    ]


def test_an_empty_group_does_not_stall():
    timeline = run(Join(0, member("a")), Leave(10_000, "a"), Join(500_000, member("a", assigned_ms=70)))
    assert stalls(timeline, 1) == [((0, 1, 2, 3, 4, 5), 500_000, 500_070, None, "a")]


def test_the_last_members_crash_stalls_until_the_group_is_found_empty():
    timeline = run(Join(0, member("a")), Crash(10_000, "a"))
    assert stalls(timeline) == [((0, 1, 2, 3, 4, 5), 10_000, 9_000 + 45_000, "a", None)]
    assert rebalances(timeline)[1] == (2, "member_failed", "a", 54_000, 54_000, 54_000)


def test_a_static_member_keeps_its_membership_and_the_leaders_role():
    a = member("a", STICKY, instance_id="i", assign_ms=900)  # its return needs no assignment
    timeline = run(Join(0, a), Join(1_000, member("b", STICKY)), *restart(20_000, a, 7_000))
    assert len(timeline.generations) == 2
    (returned,) = timeline.replacements
    assert (returned.at_ms, returned.generation, returned.old_member_id, returned.member_id) == (
        27_000,
        2,
        "i-1",
        "i-2",
    )
    assert stalls(timeline, 20_000) == [((0, 2, 4), 20_000, 27_000, "a", "a")]
    grown = run(
        Join(0, a), Join(1_000, member("b", STICKY)), *restart(20_000, a, 7_000), TopicGrows(30_000, "t", 9)
    )  # it is still the leader, which reacts to new partitions
    assert rebalances(grown)[2][:4] == (3, "partitions_changed", "a", 30_000)


def test_a_static_member_that_returns_too_late_is_a_new_one():
    a = member("a", STICKY, instance_id="i", session_timeout_ms=10_000)
    timeline = run(Join(0, a), Join(1_000, member("b", STICKY)), *restart(20_000, a, 30_000))
    assert [str(each.trigger) for each in timeline.generations][2:] == ["member_failed", "member_joined"]
    assert timeline.replacements == ()


def test_a_static_member_that_returns_with_more_topics_gets_them_only_in_the_next_rebalance():
    """Only the strategy is compared when a static member returns to a stable group."""
    before, after = member("a", instance_id="i"), member("a", instance_id="i", topics="t u")
    timeline = run(Join(0, before), *restart(20_000, after), Join(60_000, member("b")), t=2, u=2)
    assert [dict(each.of("a")) for each in timeline.generations] == [{"t": (0, 1)}, {"t": (0,), "u": (0, 1)}]


def test_a_static_member_that_returns_without_its_topics_refuses_its_assignment():
    before, after = member("a", instance_id="i"), member("a", instance_id="i", topics="u")
    timeline = run(Join(0, before), *restart(20_000, after), t=2, u=2)
    assert [str(each.trigger) for each in timeline.generations] == ["group_started", "subscription_changed"]
    assert dict(timeline.generations[1].of("a")) == {"u": (0, 1)}


def test_a_static_member_that_returns_with_another_preferred_strategy_causes_a_rebalance():
    before, after = (member("a", *names, instance_id="i") for names in (("range", STICKY), (STICKY, "range")))
    timeline = run(Join(0, before), *restart(20_000, after))
    assert [(str(each.trigger), each.strategy) for each in timeline.generations] == [
        ("group_started", "range"),
        ("assignor_changed", STICKY),
    ]


def test_a_second_process_with_the_same_instance_id_fences_the_first():
    timeline = run(Join(0, member("a", instance_id="i")), Join(20_000, member("twin", instance_id="i")))
    (refusal,) = timeline.refusals
    assert (refusal.member, refusal.at_ms) == ("a", 21_000)  # its next heartbeat
    assert refusal.explanation == "another member has joined with group.instance.id i"
    assert [(each.at_ms, each.member, each.took) for each in timeline.handovers] == [
        (0, "a", True),
        (20_000, "a", False),
        (20_000, "twin", True),
    ]


def test_a_static_member_that_does_not_join_in_time_keeps_its_membership_but_stops_processing_until_its_next_poll():
    late = member("a", STICKY, instance_id="i", processing_ms=15_000, rebalance_timeout_ms=10_000)
    timeline = run(Join(0, late), Join(1_000, member("b", STICKY, rebalance_timeout_ms=10_000)))
    (_, second) = timeline.generations
    assert (second.joined_ms, second.names, second.expelled) == (11_000, ("a", "b"), ("a",))
    assert second.joins == {"b-1": 1_000}
    assert next((each.at_ms, each.member) for each in timeline.handovers if not each.took) == (11_000, "a")
    # It polls at 15 s and rejoins under its old id without changes: it gets its stored assignment.
    assert [(each.at_ms, each.partitions["t"]) for each in timeline.handovers if each.member == "a" and each.took][
        1:
    ] == [(15_000, (0, 2, 4))]
    assert timeline.settled


def test_a_member_that_never_sends_sync_is_removed_after_the_rebalance_timeout():
    stuck = member("a", instance_id="i", revoked_ms=60_000, rebalance_timeout_ms=10_000, session_timeout_ms=45_000)
    timeline = run(Join(0, stuck), Join(1_000, member("b", rebalance_timeout_ms=10_000)), Leave(40_000, "b"))
    # The join phase ends at 11 s including a; the sync phase ends at 21 s without it.
    assert [(each.names, each.start_ms, str(each.trigger)) for each in timeline.generations[:3]] == [
        (("a",), 0, "group_started"),
        (("a", "b"), 1_000, "member_joined"),
        (("b",), 21_000, "member_failed"),
    ]


def test_static_members_that_are_all_gone_are_awaited_until_their_sessions_end():
    static = [member(name, instance_id=name, rebalance_timeout_ms=1_000) for name in "ab"]
    timeline = run(
        *(Join(0, each) for each in static), Leave(10_000, "a"), Crash(10_000, "b"), TopicGrows(11_000, "t", 9)
    )
    assert [(each.names, each.joined_ms) for each in timeline.generations] == [(("a", "b"), 0), ((), 54_000)]


def test_a_member_that_crashes_while_it_waits_for_others_is_removed_a_session_after_the_join_phase():
    slow = member("a", processing_ms=20_000)
    timeline = run(Join(0, slow), Join(100, member("b")), Join(41_000, member("c")), Crash(50_000, "b"))
    with_b, without = timeline.generations[-2:]
    assert (with_b.names, with_b.joined_ms) == (("a", "b", "c"), 60_000)
    assert (without.names, without.start_ms, str(without.trigger)) == (("a", "c"), 105_000, "member_failed")


def test_a_member_that_waits_for_its_assignment_is_not_removed_before_the_assignment():
    leader = member("a", assign_ms=60_000)
    steps = [Join(0, leader), Join(0, member("b", session_timeout_ms=20_000)), Crash(450, "b")]
    timeline = run(*steps, settings=SimulationSettings(initial_rebalance_delay_ms=0, latency_ms=100))
    # b dies while its SyncGroup is in flight, gets partitions a minute later, and is removed a session after that.
    first, second = timeline.generations
    assert (first.names, second.names) == (("a", "b"), ("a",))
    assert second.start_ms == first.synced_ms + 20_000


def test_only_the_leader_causes_a_rebalance_by_rejoining_without_changes():
    actions = ActionQueue()
    coordinator = Coordinator(actions, AT_ONCE, recorder := TimelineRecorder(actions, StalledPartitions()))
    offers = {"range": MemberSubscription("", ("t",))}
    parties = {name: Recorder(name) for name in "ab"}
    states = []

    def join(name, member_id, instance_id):
        request = JoinRequest(member_id, instance_id, offers, 10_000, 10_000, Trigger.REJOIN)
        coordinator.join(request, parties[name])
        actions.run(actions.now_ms, 1_000)
        states.extend(recorder.take(settled=True).states)
        return states[-1].state

    join("a", "", "i-a")
    plan = GroupAssignment({"i-a-1": {}, "i-b-1": {}}, {})
    assert join("b", "", "i-b") == "PreparingRebalance"
    assert join("a", "i-a-1", "i-a") == "CompletingRebalance"
    coordinator.sync(SyncRequest("i-a-1", "i-a", 2, plan), parties["a"])
    assert join("b", "i-b-1", "i-b") == "Stable"
    assert parties["b"].replies[-1].generation == 2
    assert join("a", "i-a-1", "i-a") == "PreparingRebalance"


class Recorder:
    """A member's process that only receives responses."""

    def __init__(self, name):
        self.name = name
        self.replies = []

    def joined(self, reply):
        self.replies.append(reply)

    def synced(self, answer, partitions):
        pass

    def rebalancing(self):
        pass

    def expelled(self):
        pass


def test_a_new_member_that_crashes_while_it_waits_is_given_up_after_five_minutes():
    stuck = member("a", revoked_ms=500_000, rebalance_timeout_ms=600_000)
    timeline = run(Join(0, stuck), Join(1_000, member("b")), Crash(2_000, "b"))
    assert [(each.names, each.joined_ms) for each in timeline.generations][:2] == [(("a",), 0), (("a",), 503_000)]


def test_a_join_while_the_leader_decides_aborts_the_generation():
    leader = member("a", assign_ms=5_000)
    timeline = run(Join(0, leader), Join(1_000, member("b")))
    assert [(each.number, each.names, each.synced_ms) for each in timeline.aborted] == [(1, ("a",), None)]
    assert [(each.number, each.names) for each in timeline.generations] == [(2, ("a", "b"))]
    # Partitions that never had an owner wait since the first member joined.
    assert {each.stopped_ms for each in timeline.stalls} == {0}


def test_a_leader_that_decides_for_longer_than_the_rebalance_timeout_is_removed():
    leader = member("a", assign_ms=5_000, rebalance_timeout_ms=2_000)
    timeline = run(Join(0, leader), Join(0, member("b", rebalance_timeout_ms=2_000)))
    aborted = [each for each in timeline.aborted if each.joined_ms + 2_000 <= timeline.generations[0].joined_ms]
    assert aborted
    assert timeline.generations[0].names == ("b",)


def test_two_rolling_restarts_take_a_group_from_eager_to_cooperative():
    steps = [Join(0, member("a", STICKY)), Join(1_000, member("b", STICKY))]
    for bounce, listed in enumerate([(COOPERATIVE, STICKY), (COOPERATIVE,)]):
        for turn, name in enumerate("ab"):
            at_ms = 100_000 * (2 * bounce + turn + 1)
            steps += restart(at_ms, member(name, *listed), 10_000)
    timeline = run(*steps)
    assert timeline.refusals == ()
    chosen = [each.strategy for each in timeline.generations]
    assert chosen[0] == STICKY
    assert chosen[-1] == COOPERATIVE
    assert [len(timeline.generations[-1].of(name)["t"]) for name in "ab"] == [3, 3]


def test_members_that_list_both_protocols_behave_eagerly_with_either():
    timeline = run(
        *(Join(at_ms, member(name, COOPERATIVE, STICKY)) for at_ms, name in ((0, "a"), (1_000, "b"), (9_000, "c")))
    )
    assert {each.strategy for each in timeline.generations} == {COOPERATIVE}
    assert [[len(each.of(name).get("t", ())) for name in "abc"] for each in timeline.generations] == [
        [6, 0, 0],
        [3, 3, 0],
        [2, 2, 2],
    ]


def test_a_client_without_a_common_strategy_is_refused_with_the_strategies_of_each_member():
    timeline = run(Join(0, member("a", "range", "roundrobin")), Join(1_000, member("b", STICKY)), Leave(2_000, "b"))
    (refusal,) = timeline.refusals
    assert (refusal.at_ms, refusal.member) == (1_000, "b")
    assert "b offers weighted-sticky" in refusal.explanation
    assert "a offers range, roundrobin, so b must list range or roundrobin." in refusal.explanation
    assert len(timeline.generations) == 1


def test_a_new_subscription_takes_effect_at_the_next_poll():
    a = member("a", processing_ms=4_000)
    timeline = run(Join(0, a), Subscribe(10_000, "a", ("t", "u")), t=2, u=3)
    assert rebalances(timeline)[1] == (2, "subscription_changed", "a", 12_000, 12_000, 12_000)
    assert dict(timeline.generations[1].of("a")) == {"t": (0, 1), "u": (0, 1, 2)}


def test_new_partitions_make_the_leader_and_only_the_leader_join_again():
    a, b = member("a", processing_ms=4_000), member("b", processing_ms=100)
    timeline = run(Join(0, a), Join(0, b), TopicGrows(50_000, "t", 8))
    last = timeline.generations[-1]
    assert (str(last.trigger), last.cause, last.start_ms % 4_000) == (
        "partitions_changed",
        "a",
        timeline.generations[-2].synced_ms % 4_000,
    )
    assert len(last.of("a")["t"]) + len(last.of("b")["t"]) == 8
    new = [each for each in timeline.stalls if each.owner is None and each.stopped_ms >= 50_000]
    assert new == []  # from the record that first shows them to the assigned callback, which takes no time here


def test_a_topic_that_appears_is_distinguished_from_one_that_grows():
    timeline = run(Join(0, member("a", topics="t u")), TopicGrows(50_000, "u", 2), t=2)
    assert [str(each.trigger) for each in timeline.generations] == ["group_started", "topics_changed"]


@pytest.mark.parametrize("strategy", [STICKY, COOPERATIVE])
def test_the_stall_of_a_partition_without_subscribers_ends(strategy):
    timeline = run(Join(0, member("a", strategy, topics="t u", revoked_ms=50)), Subscribe(9_000, "a", ("u",)), t=2, u=2)
    assert [
        (each.stopped_ms, each.resumed_ms, each.next_owner) for each in timeline.stalls if "t" in each.partitions
    ] == [(9_000, 9_050, None)]
    assert [each.start_ms for each in timeline.generations] == [0, 9_050]  # revoked before the join


def test_a_dynamic_member_needs_a_second_request_with_its_new_id():
    timeline = run(Join(0, member("a")), settings=SimulationSettings(0, latency_ms=10))
    # Request, response with the id, request with the id: the group starts. Then response, SyncGroup and its response.
    assert rebalances(timeline) == [(1, "group_started", "a", 30, 30, 50)]
    assert timeline.handovers[0].at_ms == 60
    static = run(Join(0, member("a", instance_id="i")), settings=SimulationSettings(0, latency_ms=10))
    assert rebalances(static)[0][3] == 10


def test_a_member_that_fails_between_join_and_sync_delays_the_others_for_a_session():
    settings = SimulationSettings(0, latency_ms=1_000)
    dying = member("dies", session_timeout_ms=10_000)
    timeline = run(
        Join(0, member("a")), Join(50_000, dying), Crash(51_500, "dies"), Join(52_000, member("c")), settings=settings
    )
    assert timeline.generations[1].names == ("a", "c")
    assert timeline.generations[1].joined_ms == 52_000 + 10_000


def test_a_dynamic_member_that_returns_after_a_crash_waits_for_its_former_session_to_end():
    timeline = run(Join(0, member("a")), Crash(10_000, "a"), Join(11_000, member("a")))
    assert [(list(each.members), each.joined_ms) for each in timeline.generations] == [(["a-1"], 0), (["a-2"], 54_000)]
    assert stalls(timeline) == [((0, 1, 2, 3, 4, 5), 10_000, 54_000, "a", "a")]


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        (Leave(0, "x"), "script[1].name: x is not a member"),
        (Join(0, member("a")), "script[1].member.name: a is already a member"),
        (Join(-1, member("b")), "script[1].at_ms: must be at least 0, not -1"),
        (Join(0, member("")), "script[1].member.name: must not be empty"),
        (Join(0, SimulatedMember("b", ("t",), ())), "script[1].member.strategies: must name at least one"),
        (Join(0, member("b", processing_ms=-1)), "script[1].member.processing_ms: must be at least 0, not -1"),
        (
            Join(0, member("b", rebalance_timeout_ms=0)),
            "script[1].member.rebalance_timeout_ms: must be at least 1, not 0",
        ),
        (
            Join(0, member("b", session_timeout_ms=3_000)),
            "script[1].member.session_timeout_ms: must be at least 3001, not 3000",
        ),
        (TopicGrows(0, "t", -1), "script[1].partitions: must be at least 0, not -1"),
    ],
)
def test_an_impossible_script_is_refused_by_name(step, problem):
    with pytest.raises(InvalidInputError) as raised:
        run(Join(0, member("a")), step)
    assert str(raised.value) == problem


def test_settings_out_of_bounds_and_unknown_strategies_are_refused():
    with pytest.raises(InvalidInputError, match=r"settings\.latency_ms: must be at least 0, not -1"):
        run(settings=SimulationSettings(latency_ms=-1))
    with pytest.raises(AssignmentError, match="there is no strategy 'nope'"):
        run(Join(0, member("a", "nope")))
    with pytest.raises(AssignmentError, match=r"assignment\.consumer\.weight"):
        run(Join(0, member("a", STICKY, config={"assignment.consumer.weight": "heavy"})))


def test_a_group_without_a_script_has_no_events():
    timeline = run()
    assert (timeline.generations, timeline.settled, timeline.end_ms, timeline.stalls) == ((), True, 0, ())
