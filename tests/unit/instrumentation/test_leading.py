"""An instrumented leader reports the whole generation that it led, once the coordinator accepted it."""

import logging
from types import SimpleNamespace

import pytest

from rebalance_agent.clients.kafka_python.offset_hooks import hook_leading
from rebalance_agent.clock import FakeClock
from rebalance_agent.instrumentation import Instrumentation
from rebalance_agent.instrumentation.leading import GENERATIONS_VARIABLE, POSTED_BYTES_MAX, reports_generations
from rebalance_agent.instrumentation.led_members import led_members
from rebalance_agent.instrumentation.membership import Membership
from rebalance_agent.model.reported.led_generation import LedMember


class Reporter:
    """Keeps what is reported."""

    def __init__(self):
        self.events = []

    def emit(self, build):
        self.events.append(build("process", len(self.events) + 1))


@pytest.fixture
def led(monkeypatch):
    """The instrumentation of a consumer whose leader reports; its reporter is ``led.reporter``."""
    monkeypatch.setenv(GENERATIONS_VARIABLE, "true")
    reporter = Reporter()
    made = Instrumentation(
        group="g",
        client_id="c",
        membership=lambda: Membership(7, "a", None, "cluster"),
        clock=FakeClock(now_ms=1_000),
        reporter=reporter,
    )
    return SimpleNamespace(instrumentation=made, leading=made.leading, reporter=reporter)


def answer(leader="a", *, skip_assignment=False, metadata=b"subscribes"):
    members = [
        SimpleNamespace(member_id="a", group_instance_id=None, metadata=metadata),
        SimpleNamespace(member_id="b", group_instance_id="i", metadata=b"too"),
    ]
    return SimpleNamespace(
        leader=leader,
        member_id="a",
        skip_assignment=skip_assignment,
        members=members,
        generation_id=7,
        protocol_name="range",
    )


def joins(led, response):
    led.leading.joined(lambda now_ms: led_members(response, now_ms))


def test_the_event_has_all_members_and_both_times(led):
    joins(led, answer())
    led.instrumentation._clock.advance(250)
    led.leading.assigns({"a": b"all"})
    led.leading.accepted(45_000, 300_000)
    (event,) = led.reporter.events
    assert (event.group, event.generation, event.assignor, event.leader) == ("g", 7, "range", "a")
    assert (event.joined_ms, event.timestamp_ms, event.cluster_id) == (1_000, 1_250, "cluster")
    assert (event.session_timeout_ms, event.rebalance_timeout_ms) == (45_000, 300_000)
    assert event.members == (LedMember("a", b"subscribes", b"all"), LedMember("b", b"too", b"", "i"))


@pytest.mark.parametrize("response", [answer("b"), answer(skip_assignment=True)], ids=["follower", "returned leader"])
def test_who_does_not_assign_reports_nothing(led, response):
    joins(led, response)
    led.leading.assigns({})
    led.leading.accepted(1, 1)
    assert led.reporter.events == []


def test_a_generation_is_reported_once_and_one_that_ended_before_not_at_all(led):
    joins(led, answer())
    led.leading.assigns({})
    joins(led, answer("b"))  # the coordinator did not accept it: this member joined again
    led.leading.accepted(1, 1)
    joins(led, answer())
    led.leading.assigns({})
    led.leading.accepted(1, 1)
    led.leading.accepted(1, 1)
    assert len(led.reporter.events) == 1


def test_a_generation_that_no_post_can_have_is_named_once(led, caplog):
    for _ in range(2):
        joins(led, answer(metadata=b"x" * POSTED_BYTES_MAX))
        led.leading.assigns({"a": b"all"})
        led.leading.accepted(1, 1)
    assert led.reporter.events == []
    assert len([record for record in caplog.records if record.levelno == logging.WARNING]) == 1


def test_a_client_with_other_types_is_not_disturbed(led):
    led.leading.joined(lambda now_ms: led_members(object(), now_ms))
    led.leading.assigns({"a": object()})
    joins(led, answer())
    led.leading.assigns({"a": object()})
    led.leading.accepted(1, 1)
    assert led.reporter.events == []


@pytest.mark.parametrize(
    ("value", "reports"), [(None, False), ("", False), ("false", False), ("1", True), ("TRUE", True), ("yes", False)]
)
def test_it_is_off_by_default(value, reports, caplog):
    assert reports_generations({} if value is None else {GENERATIONS_VARIABLE: value}) is reports
    assert bool(caplog.records) == (value == "yes")


def test_kafka_pythons_coordinator_passes_what_it_leads(led):
    """The subscriptions are read before the coordinator replaces them in the response by decoded ones."""
    response = answer()

    def perform(_leader, _protocol, members):
        for member in members:
            member.metadata = None
        return {"a": b"all"}

    coordinator = SimpleNamespace(
        config={"session_timeout_ms": 10_000, "max_poll_interval_ms": 20_000},
        _process_join_group_response=lambda answered, _sent: answered,
        _perform_assignment=perform,
        _process_sync_group_response=lambda answered, _sent: answered,
    )
    hook_leading(coordinator, led.leading)
    assert coordinator._process_join_group_response(response, 0.0) is response
    assert coordinator._perform_assignment("a", "range", response.members) == {"a": b"all"}
    assert coordinator._process_sync_group_response(b"all", 0.0) == b"all"
    (event,) = led.reporter.events
    assert [member.subscription for member in event.members] == [b"subscribes", b"too"]
    assert (event.session_timeout_ms, event.rebalance_timeout_ms) == (10_000, 20_000)


def test_a_refused_assignment_is_not_reported(led):
    def refuse(*_):
        raise ValueError

    coordinator = SimpleNamespace(
        config={},
        _process_join_group_response=lambda answered: answered,
        _perform_assignment=lambda *_: {},
        _process_sync_group_response=refuse,
    )
    hook_leading(coordinator, led.leading)
    coordinator._process_join_group_response(answer())
    coordinator._perform_assignment("a", "range", [])
    with pytest.raises(ValueError):  # noqa: PT011 - the coordinator's own
        coordinator._process_sync_group_response()
    assert led.reporter.events == []
