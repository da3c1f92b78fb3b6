"""When a sidecar reports its consumers as ready."""

from __future__ import annotations

import pytest

from rebalance_agent.clock import FakeClock
from rebalance_agent.http.latched_readiness import LatchedReadiness
from rebalance_agent.model.episode import Evidence
from rebalance_agent.model.events import Callback
from rebalance_agent.runtime.processes.reported_readiness import note_reports
from rebalance_agent.runtime.processes.sidecar import Sidecar
from rebalance_agent.runtime.settings.roles import SidecarSettings
from support.observer.views import assign_event, member_event

NOBODY = "nobody"


def reason(*events):
    readiness = LatchedReadiness(FakeClock(), NOBODY)
    for event in events:
        note_reports(readiness, [event])
    return readiness.reason()


@pytest.mark.parametrize("partitions", [{"t": (0,)}, {}])
def test_a_consumer_is_ready_with_its_assignment_which_may_be_empty(partitions):
    assert reason(member_event(partitions=partitions)) == ""


@pytest.mark.parametrize("callback", [Callback.REVOKED, Callback.LOST])
def test_one_that_gave_its_partitions_up_before_it_was_ready_is_not(callback):
    assert reason(member_event(callback)) == "consumer 'consumer-1' of group 'orders' has no assignment"


def test_one_that_left_is_not_waited_for():
    assert reason(member_event(Callback.REVOKED), member_event(Callback.LEFT, 2)) == NOBODY


@pytest.mark.parametrize("event", [assign_event(), member_event(evidence=Evidence.GATEWAY)])
def test_other_events_say_nothing(event):
    assert reason(event) == NOBODY


def test_a_sidecar_takes_posted_events_and_signs_of_life_of_processes_that_posted_before_it_started():
    settings = SidecarSettings(listen="127.0.0.1:0", events_listen="127.0.0.1:0")
    first, second = Sidecar(settings, {}), Sidecar(settings, {})
    assert first.consumers.reason() == "no consumer has reported an assignment yet"
    first.accept((member_event(),), 0)
    second._posted_alive("p1", events=0)
    assert (first.consumers.reason(), second.consumers.reason()) == ("", "")


def test_a_heartbeat_in_a_post_of_events_does_not_make_a_waiting_consumer_ready():
    sidecar = Sidecar(SidecarSettings(listen="127.0.0.1:0", events_listen="127.0.0.1:0"), {})
    sidecar.accept((member_event(Callback.REVOKED),), 0)
    sidecar._posted_alive("p1", events=1)
    assert sidecar.consumers.reason()
