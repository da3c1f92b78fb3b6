"""Descriptions with epochs show generations: exact numbers and assignments, and bounds of times between two polls."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.model.episode import Basis, Evidence, Source, Trigger
from rebalance_agent.model.epoch_groups import DescribedEpochs, DescribedMember, GroupEpoch
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.group import GroupState, GroupType, Member
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription
from rebalance_agent.tracking.described.described_state import OUTDATED_MS
from rebalance_agent.tracking.observations import DescribedGroup, EpochRecord, GroupDescribed, Tick, TopicsSeen
from rebalance_agent.tracking.tracker import Tracker
from rebalance_agent.tracking.views import MemberLoad

GROUP, SETTLE_MS = "g", 1_000
STABLE, RECONCILING, EMPTY = GroupState.STABLE, GroupState.RECONCILING, GroupState.EMPTY


def member(name, epoch, *numbers, instance=None):
    """A member at ``epoch`` with partitions of the topic t."""
    assigned = {"t": numbers} if numbers else {}
    subscription = ConsumerSubscription(-1, ("t",))
    return DescribedMember(
        Member(name, instance, name, "/h", -1, 45_000, subscription, ConsumerAssignment(-1, assigned), True), epoch
    )


class Described:
    """A tracker that gets descriptions, each requested 10 ms before its answer."""

    def __init__(self):
        self.tracker, self.events = Tracker("c", settle_ms=SETTLE_MS), []
        self._take(TopicsSeen(0, {"t": 4}))

    def _take(self, observation):
        self.events += self.tracker.observe(observation)

    def describe(
        self, at_ms, state, epoch, *members, target=None, absent_ms=None, idle_ms=None, kind=GroupType.CONSUMER
    ):
        epochs = DescribedEpochs(epoch, epoch if target is None else target, members)
        loads = tuple(
            MemberLoad(each.member.member_id, None, each.member.client_id, "/h", each.member.assigned)
            for each in members
        )
        value = DescribedGroup(GROUP, state, kind, "uniform", loads, epochs)
        self._take(GroupDescribed(at_ms - 10, value, at_ms, absent_ms, idle_ms))

    def settled(self, at_ms):
        self._take(Tick(at_ms + SETTLE_MS + 1))
        return {event.generation: event for event in self.events if isinstance(event, GenerationEvent)}

    @property
    def view(self):
        return self.tracker.view(GROUP)


@pytest.fixture
def described():
    """One member has all partitions in epoch 3, as the observer starts."""
    described = Described()
    described.describe(1_000, STABLE, 3, member("a", 3, 0, 1, 2, 3))
    return described


def join(described, *, idle_ms=None):
    """Member b joins, and gets two partitions that a revokes first."""
    described.describe(2_000, RECONCILING, 4, member("a", 3, 0, 1, 2, 3), member("b", 4), target=3, idle_ms=idle_ms)
    described.describe(2_200, RECONCILING, 4, member("a", 3, 0, 1, 2, 3), member("b", 4))
    described.describe(2_400, RECONCILING, 4, member("a", 4, 0, 1), member("b", 4))
    described.describe(2_600, STABLE, 4, member("a", 4, 0, 1), member("b", 4, 2, 3))


def test_the_state_before_the_start_is_shown_and_no_event(described):
    assert (described.view.generation, described.view.source, described.view.state) == (3, Source.DESCRIBE, STABLE)
    assert described.view.running is None
    assert described.settled(1_000) == {}


def test_a_generation_has_its_epoch_cause_and_moves(described):
    join(described)
    event = described.settled(2_600)[4]
    assert (event.source, event.previous_generation, event.trigger) == (Source.DESCRIBE, 3, Trigger.MEMBER_JOINED)
    assert (event.moved, event.assigned, event.revoked, event.unassigned) == (2, 2, 2, 0)
    assert {each.member_id: dict(each.assigned) for each in event.members} == {"a": {"t": (0, 1)}, "b": {"t": (2, 3)}}
    assert described.view.counters.completed == {Trigger.MEMBER_JOINED: 1}


def test_times_are_bounds_between_two_polls(described):
    join(described)
    phases = described.settled(2_600)[4].phases
    assert (phases.started_ms, phases.started_latest_ms, phases.started_evidence) == (990, 2_000, Evidence.LIST)
    assert (phases.joined_ms, phases.joined_evidence) == (2_200, Evidence.LIST)
    assert (phases.completed_ms, phases.completed_evidence) == (2_600, Evidence.LIST)


def test_a_poll_of_reconciling_groups_narrows_the_start(described):
    join(described, idle_ms=1_800)
    phases = described.settled(2_600)[4].phases
    assert (phases.started_ms, phases.started_latest_ms) == (1_800, 2_000)


def test_a_stall_has_no_upper_bound_without_reports(described):
    join(described)
    stall = described.settled(2_600)[4].stall
    assert (stall.basis, stall.seconds, stall.lower_seconds) == (Basis.BOUND, None, 0.0)


def test_a_time_without_an_owner_that_several_polls_show_is_a_lower_bound(described):
    described.describe(2_000, RECONCILING, 4, member("a", 4, 0, 1), member("b", 4))
    described.describe(4_000, RECONCILING, 4, member("a", 4, 0, 1), member("b", 4))
    described.describe(4_200, STABLE, 4, member("a", 4, 0, 1), member("b", 4, 2, 3))
    stall = described.settled(4_200)[4].stall
    assert stall.lower_seconds == 0.0, "only an acknowledged revocation ends a's work, which no description shows"


def test_a_running_rebalance_is_shown(described):
    described.describe(2_000, RECONCILING, 4, member("a", 3, 0, 1, 2, 3), member("b", 4))
    assert described.view.running.started_ms == 990
    assert described.view.state is RECONCILING


def test_an_epoch_that_was_replaced_before_all_reached_it_is_no_generation(described):
    described.describe(2_000, RECONCILING, 4, member("a", 3, 0, 1, 2, 3), member("b", 4))
    described.describe(2_200, RECONCILING, 6, member("a", 3, 0, 1, 2, 3), member("b", 4), member("c", 6))
    described.describe(2_400, STABLE, 6, member("a", 6, 0, 1), member("b", 6, 2), member("c", 6, 3))
    events = described.settled(2_400)
    assert list(events) == [6]
    assert (events[6].previous_generation, events[6].moved) == (3, 2), "a shows that 4 and 5 were never complete"


def test_an_epoch_without_a_target_assignment_was_never_complete():
    described = Described()
    described.describe(2_000, RECONCILING, 2, member("a", 0), member("b", 0), target=0, absent_ms=1_800)
    described.describe(2_200, STABLE, 2, member("a", 2, 0, 1), member("b", 2, 2, 3))
    assert described.settled(2_200)[2].trigger is Trigger.GROUP_STARTED


def test_after_epochs_that_may_have_been_complete_nothing_is_invented(described):
    described.describe(2_000, STABLE, 6, member("a", 6, 0, 1), member("b", 6, 2, 3))
    event = described.settled(2_000)[6]
    assert (event.trigger, event.moved, event.stall) == (Trigger.UNKNOWN, None, None)


def test_a_new_group_started(described):
    described = Described()
    described.describe(2_000, STABLE, 1, member("a", 1, 0, 1, 2, 3), absent_ms=1_800)
    event = described.settled(2_000)[1]
    assert event.trigger is Trigger.GROUP_STARTED
    assert (event.phases.started_ms, event.phases.started_latest_ms) == (1_800, 2_000)


def test_a_new_group_with_one_member_started_at_the_second_epoch():
    described = Described()
    described.describe(2_000, STABLE, 2, member("a", 2, 0, 1, 2, 3), absent_ms=1_800)
    event = described.settled(2_000)[2]
    assert (event.trigger, event.moved) == (Trigger.GROUP_STARTED, 0)


@pytest.mark.parametrize(
    ("epoch", "members"),
    [
        (3, [member("a", 3, 0, 1, 2, 3)]),
        (2, [member("a", 2, 0, 1), member("b", 2, 2, 3)]),
    ],
)
def test_a_new_group_that_may_have_had_another_assignment_has_an_unknown_past(epoch, members):
    described = Described()
    described.describe(2_000, STABLE, epoch, *members, absent_ms=1_800)
    event = described.settled(2_000)[epoch]
    assert (event.trigger, event.moved) == (Trigger.UNKNOWN, None)


def test_a_new_group_started_if_its_members_wait_for_the_first_assignment():
    described = Described()
    waiting = [replace(member(name, 1), target={}) for name in "ab"]
    described.describe(2_000, RECONCILING, 3, *waiting, target=1, absent_ms=1_800)
    described.describe(2_200, STABLE, 3, member("a", 3, 0, 1), member("b", 3, 2, 3))
    assert described.settled(2_200)[3].trigger is Trigger.GROUP_STARTED


def test_a_group_that_reconciles_when_it_is_first_seen_has_an_unknown_past():
    described = Described()
    described.describe(2_000, RECONCILING, 5, member("a", 4, 0, 1, 2, 3), member("b", 5))
    described.describe(2_200, STABLE, 5, member("a", 5, 0, 1), member("b", 5, 2, 3))
    event = described.settled(2_200)[5]
    assert (event.trigger, event.moved, event.phases.started_ms) == (Trigger.UNKNOWN, None, None)


def test_a_group_without_members_is_complete_although_its_target_is_older(described):
    described.describe(2_000, EMPTY, 4, target=3)
    assert described.settled(2_000)[4].members == ()
    assert described.view.empty.members == 1


def test_a_group_that_is_gone_has_no_view(described):
    gone = DescribedGroup(GROUP, GroupState.DEAD, GroupType.CONSUMER, None, ())
    described.tracker.observe(GroupDescribed(2_000, gone, 2_010))
    assert described.view is None


def test_the_last_generation_of_a_group_that_is_gone_is_reported(described):
    join(described)
    gone = DescribedGroup(GROUP, GroupState.DEAD, GroupType.CONSUMER, None, ())
    events = list(described.tracker.observe(GroupDescribed(2_700, gone, 2_710)))
    assert [event.generation for event in events if isinstance(event, GenerationEvent)] == [4]


def test_an_equal_description_changes_nothing_but_the_next_bounds(described):
    version = described.view.version
    described.describe(1_900, STABLE, 3, member("a", 3, 0, 1, 2, 3))
    assert described.view.version == version
    join(described)
    assert described.settled(2_600)[4].phases.started_ms == 1_890


@pytest.mark.parametrize(("later_ms", "source"), [(OUTDATED_MS, Source.DESCRIBE), (OUTDATED_MS + 1, Source.ADMIN)])
def test_descriptions_without_epochs_replace_old_ones_with_epochs(described, later_ms, source):
    plain = DescribedGroup(GROUP, STABLE, GroupType.CONSUMER, "uniform", ())
    described.tracker.observe(GroupDescribed(990 + later_ms, plain))
    assert described.view.source is source


def test_an_older_description_is_ignored(described):
    described.describe(900, STABLE, 2, member("a", 2))
    assert described.view.generation == 3


def test_share_groups_have_generations_without_a_stall():
    described = Described()
    share = GroupType.SHARE
    described.describe(1_000, STABLE, 1, member("a", 1, 0, 1), kind=share)
    described.describe(2_000, STABLE, 2, member("a", 2, 0, 1), member("b", 2, 0, 1), kind=share)
    event = described.settled(2_000)[2]
    assert (event.group_type, event.trigger, event.stall) == (share, Trigger.MEMBER_JOINED, None)


def test_records_replace_descriptions(described):
    described.tracker.observe(EpochRecord(GROUP, 2_000, 2_000, GroupType.CONSUMER, GroupEpoch, GroupEpoch(4)))
    assert described.view is None, "shown again when all records have been read"


def test_members_that_have_not_reached_the_target_assignment_are_awaited(described):
    def pending():
        running = described.view.running
        return running and running.pending and [each.member_id for each in running.pending.named]

    described.describe(2_000, RECONCILING, 4, member("a", 3, 0, 1, 2, 3), member("b", 4), target=3)
    assert pending() is None, "there is no target assignment yet"
    described.describe(2_200, RECONCILING, 4, member("a", 3, 0, 1, 2, 3), member("b", 4), member("away", -2))
    assert pending() == ["a"]
    assert described.view.running.pending.named[0].partitions is None, "a description does not have them"
    described.describe(2_400, RECONCILING, 4, member("a", 4, 0, 1), member("b", 4))
    assert pending() == []
