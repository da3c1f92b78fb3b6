"""Reports of a group's leader about its ``assign()``."""

from rebalance_agent.model.events import AssignEvent
from rebalance_agent.model.group_event import process_event_id
from rebalance_agent.tracking.observations import MemberReported, Tick
from rebalance_agent.tracking.tracker import Tracker
from support.tracker.tracking import T0, feed, member, record, watch

START = (record(1_000, 1, member("a", (0, 1))),)


def assign(sequence, error=None):
    """The report of one call."""
    event = AssignEvent(
        event_id=process_event_id("assign", "leader", sequence),
        group="g",
        timestamp_ms=T0 + 2_000,
        assignor="range",
        client_id="client-a",
        generation=2,
        duration_seconds=0.1,
        members=1,
        partitions=2,
        process="leader",
        sequence=sequence,
        error=error,
    )
    return MemberReported(T0 + 2_000 + sequence, event)


def failures(*reports, settled=True):
    tracker, _ = watch(*START)
    feed(tracker, *reports)
    if settled:
        feed(tracker, Tick(T0 + 20_000))
    return tracker.view("g").counters.assign_errors


def test_without_reports_failures_of_assign_are_unknown():
    assert failures() is None


def test_a_successful_call_starts_the_count_at_zero():
    assert failures(assign(1)) == 0


def test_a_failed_call_is_counted_once_for_any_number_of_reports():
    assert failures(assign(1), assign(2, "KeyError: 'orders'"), assign(2, "KeyError: 'orders'"), assign(3, "x")) == 2


def test_a_failure_of_the_first_call_is_counted_at_once():
    assert failures(assign(1, "KeyError"), assign(2, "KeyError"), settled=False) == 2
    assert failures(assign(1, "KeyError"), assign(2, "KeyError")) == 2


def test_a_failure_changes_the_view():
    tracker, _ = watch(*START)
    tracker.changed()
    feed(tracker, assign(1, "KeyError"))
    assert tracker.changed() == {"g"}
    feed(tracker, Tick(T0 + 20_000))
    assert tracker.changed() == {"g"}


def test_a_group_without_records_keeps_failures_for_its_first_view():
    tracker = Tracker("c")
    feed(tracker, assign(1, "KeyError"), *START, Tick(T0 + 20_000))
    assert tracker.view("g").counters.assign_errors == 1
