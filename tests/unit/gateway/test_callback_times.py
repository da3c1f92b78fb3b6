"""The gateway finds the duration of a callback in maxima that rise from one push to the next."""

from __future__ import annotations

import pytest

from rebalance_agent.clock import FakeClock
from rebalance_agent.gateway.groups.callback_times import RUNS_MAX, CallbackTimes
from rebalance_agent.gateway.pushing_member import CallbackMaxima
from rebalance_agent.model.episode import Evidence
from rebalance_agent.model.events import Callback
from support.observer.views import member_event

INTERVAL_S = 15.0
REVOKED, ASSIGNED = Callback.REVOKED, Callback.ASSIGNED


class Consumer:
    """One consumer: its frames and its pushes."""

    def __init__(self):
        self.clock, self.published = FakeClock(), []
        self.times = CallbackTimes(self.clock, self.published.append)
        self._number = 0

    def wait(self, seconds):
        self.clock.advance(round(seconds * 1000))
        return self

    def event(self, callback, seconds=0.0):
        self._number += 1
        now = self.clock.now_ms()
        return member_event(
            event_id=f"{self._number:032x}",
            callback=callback,
            started_ms=now - round(seconds * 1000),
            timestamp_ms=now,
            evidence=Evidence.GATEWAY,
        )

    def revoke(self, seconds=5.0):
        """The member was asked to rejoin, ran its revoked callback, and sent JoinGroup ``seconds`` later."""
        self.wait(seconds)
        event = self.event(REVOKED)
        self.times.revoked(event, seconds)
        return event

    def assign(self, seconds=5.0, *, fetched=True):
        """The member got an assignment, and fetched from it ``seconds`` later."""
        event = self.event(ASSIGNED)
        self.times.assigning(event)
        self.wait(seconds)
        if fetched:
            event = member_event(
                event_id=event.event_id,
                callback=ASSIGNED,
                started_ms=event.started_ms,
                timestamp_ms=self.clock.now_ms(),
                evidence=Evidence.GATEWAY,
            )
        self.times.assigned(event)
        return event

    def push(self, revoked=None, assigned=None, instance_id="one", rebalances=None):
        self.wait(INTERVAL_S)
        pairs = ((REVOKED, revoked), (ASSIGNED, assigned))
        seconds = {callback: seconds for callback, seconds in pairs if seconds is not None}
        self.times.pushed(instance_id, CallbackMaxima(seconds, rebalances))
        return self

    @property
    def durations(self):
        return {event.event_id: event.callback_seconds for event in self.published}


@pytest.fixture
def consumer():
    return Consumer()


def test_a_maximum_that_rises_is_the_duration_of_the_only_callback_in_between(consumer):
    consumer.push(revoked=1.0, assigned=0.5).push(revoked=1.0, assigned=0.5)
    revoked, assigned = consumer.revoke(), consumer.assign()
    consumer.push(revoked=3.2, assigned=2.5)
    assert not consumer.published, "a frame after another callback may still come"
    consumer.push(revoked=3.2, assigned=2.5)
    assert consumer.durations == {revoked.event_id: 3.2, assigned.event_id: 2.5}
    assert {event.revision for event in consumer.published} == {1}
    consumer.push(revoked=3.2, assigned=2.5).push()
    assert len(consumer.published) == 2


def test_the_first_callback_of_a_client_makes_a_maximum_appear(consumer):
    consumer.push().push()
    revoked = consumer.revoke()
    consumer.push(revoked=3.2).push(revoked=3.2)
    assert consumer.durations == {revoked.event_id: 3.2}


def test_a_maximum_that_stays_or_falls_is_of_an_earlier_callback(consumer):
    consumer.push(revoked=3.0).push(revoked=3.0)
    consumer.revoke()
    consumer.push(revoked=3.0).push(revoked=2.0).push()
    assert not consumer.published


def test_nothing_is_known_before_the_second_push_of_a_client(consumer):
    consumer.revoke()
    consumer.push(revoked=3.0).push(revoked=3.0)
    assert not consumer.published, "it may have been measured at any time before"


@pytest.mark.parametrize(
    ("rebalances", "known"),
    [((1, 1), True), ((None, None), False), ((2, 2), False), ((1, 2), False), ((1, None), False)],
)
def test_the_first_push_is_enough_for_the_assigned_callback_of_a_clients_only_rebalance(consumer, rebalances, known):
    """The client counts its rebalances since it started, so it measured no callback before this one."""
    assigned = consumer.assign()
    for number in rebalances:
        assert not consumer.published
        consumer.push(revoked=1.0, assigned=2.5, rebalances=number)
    assert consumer.durations == ({assigned.event_id: 2.5} if known else {})


def test_an_earlier_member_of_the_same_client_makes_its_first_push_ambiguous(consumer):
    consumer.assign()
    consumer.assign()
    consumer.push(assigned=2.5, rebalances=1).push(assigned=2.5, rebalances=1)
    assert not consumer.published


def test_another_client_of_a_static_member_begins_anew(consumer):
    consumer.push(revoked=1.0).push(revoked=1.0)
    consumer.revoke()
    consumer.push(revoked=3.0, instance_id="two").push(revoked=3.0, instance_id="two")
    assert not consumer.published


def test_two_callbacks_in_between_are_ambiguous(consumer):
    consumer.push().push()
    consumer.revoke()
    consumer.revoke()
    consumer.push(revoked=3.0).push(revoked=3.0)
    assert not consumer.published


def test_a_callback_without_partitions_counts_although_it_has_no_event(consumer):
    consumer.push().push()
    consumer.revoke()
    consumer.times.revoked(None)
    consumer.times.assigning(None)
    consumer.assign()
    consumer.push(revoked=3.0, assigned=3.0).push(revoked=3.0, assigned=3.0)
    assert not consumer.published


def test_a_callback_whose_frame_comes_after_the_push_may_be_the_one(consumer):
    """It ran before the push, and its JoinGroup is seen only after it. The first callback has failed, for example."""
    consumer.push().push()
    consumer.revoke()
    consumer.push(revoked=3.0)
    consumer.times.revoked(consumer.event(REVOKED), INTERVAL_S)
    consumer.push(revoked=3.0)
    assert not consumer.published


def test_a_callback_before_the_last_push_but_one_cannot_be_the_one(consumer):
    """A push shows what was measured after the response to the push before the last one."""
    consumer.push()
    consumer.revoke()
    consumer.push().push()
    revoked = consumer.revoke()
    consumer.push(revoked=3.0).push(revoked=3.0)
    assert consumer.durations == {revoked.event_id: 3.0}


def test_a_callback_that_still_runs_may_be_the_one_of_a_later_push(consumer):
    """Without a fetch, nothing shows its end: a long callback of the last rebalance is not one of this rebalance."""
    consumer.push().push()
    consumer.assign(fetched=False)
    consumer.push().push().push()
    consumer.assign()
    consumer.push(assigned=4.0).push(assigned=4.0)
    assert not consumer.published


def test_a_join_request_ends_an_assigned_callback(consumer):
    consumer.push().push()
    consumer.assign(fetched=False)
    consumer.push()
    consumer.revoke()
    consumer.push().push()
    assigned = consumer.assign()
    consumer.push(assigned=4.0).push(assigned=4.0)
    assert consumer.durations == {assigned.event_id: 4.0}


def test_a_long_callback_has_a_duration_without_a_fetch(consumer):
    consumer.push().push()
    assigned = consumer.assign(fetched=False)
    consumer.push(assigned=12.0).push(assigned=12.0)
    assert consumer.durations == {assigned.event_id: 12.0}


@pytest.mark.parametrize("callback", [REVOKED, ASSIGNED])
def test_a_duration_longer_than_the_time_between_the_frames_is_not_of_this_callback(consumer, callback):
    consumer.push().push()
    (consumer.revoke if callback is REVOKED else consumer.assign)(2.0)
    consumer.push(**{callback: 2.1}).push(**{callback: 2.1})
    assert not consumer.published


def test_an_event_that_is_not_published_yet_is_not_published_again(consumer):
    consumer.push().push()
    consumer.times.assigning(consumer.event(ASSIGNED))
    consumer.push(assigned=4.0).push(assigned=4.0)
    assert not consumer.published


def test_many_callbacks_are_bounded_and_remain_ambiguous(consumer):
    consumer.push().push()
    for _ in range(3 * RUNS_MAX):
        consumer.revoke(0.1)
    consumer.push(revoked=0.05).push(revoked=0.05)
    assert not consumer.published
    assert all(len(runs) <= RUNS_MAX for runs in consumer.times._runs.values())
