from __future__ import annotations

import threading

import pytest
from structlog.testing import capture_logs

from rebalance_agent.clock import FakeClock
from rebalance_agent.cluster.inbox import Inbox
from rebalance_agent.model.episode import Source
from rebalance_agent.model.events import GroupGoneEvent
from rebalance_agent.model.group import GroupState, GroupType
from rebalance_agent.runtime.watch.core import BATCH_S, JUDGE_AFTER_S, JUDGED_AT_ONCE, RENEW_S, TICK_S, Core
from rebalance_agent.tracking.groups import ObservationError
from rebalance_agent.tracking.observations import GroupRecord, Tick
from rebalance_agent.tracking.views import GroupView, MemberLoad
from support.observer.fakes import Calls
from support.observer.observing import eventually

PATIENCE_S = 10

_VIEW = (GroupType.CLASSIC, Source.RECORDS, GroupState.EMPTY, 1, 1)


class FakeTracker:
    """Every record is an event; the group "bad" raises an exception, and a tombstone removes a group."""

    def __init__(self):
        self.held = threading.Event()
        self.held.set()
        self.seen = []
        self.late = 0
        self.live = {}
        self._changed = set()

    def observe(self, observation):
        self.seen.append(observation)
        self.held.wait(PATIENCE_S)
        if isinstance(observation, Tick):
            self.late = max(0, self.late - 1)
            return ()
        if observation.group == "bad":
            raise ZeroDivisionError
        self._changed.add(observation.group)
        self.live[observation.group] = observation.live
        return (GroupGoneEvent("id", "c", observation.group, 1, Source.RECORDS, GroupType.CLASSIC),)

    @property
    def behind(self):
        return self.late > 0

    def view(self, group, *, judged):
        if not self.live[group]:
            return None
        return GroupView(group, GroupType.CLASSIC, Source.RECORDS, GroupState.EMPTY, 1, 1, judged=judged)

    def changed(self):
        changed, self._changed = self._changed, set()
        return changed


def _record(group, *, live=True):
    return GroupRecord(group, 1, 1, None, live)


def _run(*observations):
    tracker, inbox, published, received = FakeTracker(), Inbox(), Calls(), Calls()
    core = Core(tracker, inbox, FakeClock(), [published], [received])
    for observation in observations:
        inbox.put(observation)
    core.start()
    inbox.close()
    core.join(PATIENCE_S)
    return core, tracker, published, received


def test_observations_are_processed_in_order_to_the_last_also_at_the_stop():
    observations = [_record(f"g{number}") for number in range(1_234)]
    core, tracker, published, received = _run(*observations)
    assert [each for each in tracker.seen if not isinstance(each, Tick)] == observations
    assert [event.group for (event,) in published.of("on_event")] == [each.group for each in observations]
    assert [observation for (observation,) in received.of("on_observation")] == observations
    assert len(core.views()) == len(observations)


def test_a_deleted_group_has_no_view():
    core, _, _, _ = _run(_record("a"), _record("b"), _record("a", live=False))
    assert [view.group for view in core.views()] == ["b"]


def test_a_failing_observation_affects_no_other():
    with capture_logs() as logs:
        core, _, _, _ = _run(_record("a"), _record("bad"), _record("b"))
    assert [view.group for view in core.views()] == ["a", "b"]
    assert [log["event"] for log in logs] == ["observation_failed"]


def test_events_before_an_error_are_published_and_errors_are_logged_once_a_second():
    tracker, inbox, published, clock = FakeTracker(), Inbox(), Calls(), FakeClock()
    whole = tracker.observe

    def fail(observation):
        events = whole(observation)
        raise ObservationError(events) from ValueError("an error")

    tracker.observe = fail
    core = Core(tracker, inbox, clock, [published])
    for group in "abc":
        inbox.put(_record(group))
    with capture_logs() as logs:
        core.start()
        inbox.close()
        core.join(PATIENCE_S)
    assert [event.group for (event,) in published.of("on_event")] == ["a", "b", "c"]
    assert [(log["event"], log["more"]) for log in logs] == [("observation_failed", 0)]


def test_a_tracker_that_is_behind_gets_the_time_at_once_and_between_batches():
    tracker, inbox, clock, received = FakeTracker(), Inbox(), FakeClock(), Calls()
    tracker.late = 3
    core = Core(tracker, inbox, clock, [Calls()], [received])
    inbox.put(_record("a"))
    core.start()
    received.wait_for(lambda calls: len(calls.of("on_observation")) >= 4)
    inbox.close()
    core.join(PATIENCE_S)
    assert tracker.seen == [_record("a"), *3 * [Tick(clock.now_ms())]]


def test_the_tracker_gets_the_time_without_observations():
    tracker, inbox, clock, ticks = FakeTracker(), Inbox(), FakeClock(), Calls()
    core = Core(tracker, inbox, clock, [Calls()], [ticks])
    core.start()
    clock.advance(500)
    ticks.wait_for(lambda calls: calls.of("on_observation") == [(Tick(clock.now_ms()),)])
    inbox.close()
    core.join(PATIENCE_S)


def _judged(core):
    return {view.group for view in core.views() if view.judged}


def test_many_new_groups_are_shown_first_and_their_quality_computed_when_no_more_arrive():
    tracker, inbox, clock = FakeTracker(), Inbox(), FakeClock()
    core = Core(tracker, inbox, clock, [Calls()])
    crowd = {f"g{number}" for number in range(2 * JUDGED_AT_ONCE + 1)}
    for group in crowd:
        inbox.put(_record(group))
    core.start()
    assert eventually(lambda: len(core.views()) == len(crowd))
    assert _judged(core) == set()
    inbox.put(_record("late"))
    assert eventually(lambda: _judged(core) == {"late"})
    clock.advance(1_000 * JUDGE_AFTER_S)
    assert eventually(lambda: _judged(core) == crowd | {"late"})
    inbox.close()
    core.join(PATIENCE_S)


class CostlyTracker(FakeTracker):
    """Views of the group "large" take long; ``built``: the built views, and whether with quality."""

    def __init__(self, clock, view_ms, judge_ms):
        super().__init__()
        self.built = []
        self._clock, self._view_ms, self._judge_ms = clock, view_ms, judge_ms

    def view(self, group, *, judged):
        self.built.append((group, judged))
        if group.startswith("large"):
            self._clock.advance(self._judge_ms if judged else self._view_ms)
        return super().view(group, judged=judged)

    def of_large(self):
        return [judged for group, judged in self.built if group == "large"]


def _change(core, tracker, *counts):
    """Change the large group and another one this often, and wait until each change of the other one is shown."""
    for count in counts:
        core.inbox.put(_record("large"))
        core.inbox.put(_record(f"other-{count}"))
        assert eventually(lambda last=(f"other-{count}", True): last in tracker.built)


def test_an_expensive_view_is_built_again_only_after_ten_times_its_duration():
    clock = FakeClock()
    tracker = CostlyTracker(clock, view_ms=100, judge_ms=100)
    core = Core(tracker, Inbox(), clock, [Calls()])
    core.start()
    _change(core, tracker, *range(1, 6))
    assert tracker.of_large() == [True, False]
    clock.advance(1_000)
    assert eventually(lambda: tracker.of_large() == [True, False, False]), "the last state is shown"
    core.inbox.close()
    core.join(PATIENCE_S)


def test_an_expensive_quality_is_computed_again_only_after_twenty_times_its_duration_and_views_do_not_wait_for_it():
    clock = FakeClock()
    tracker = CostlyTracker(clock, view_ms=1, judge_ms=100)
    core = Core(tracker, Inbox(), clock, [Calls()])
    core.start()
    _change(core, tracker, *range(1, 6))
    assert tracker.of_large() == [True, False, False, False, False]
    clock.advance(2_000)
    assert eventually(lambda: tracker.of_large() == [True, False, False, False, False, True]), (
        "the quality of the last state is computed"
    )
    core.inbox.close()
    core.join(PATIENCE_S)


def test_the_views_of_a_crowd_are_built_in_turns_with_the_tracker():
    clock, cost_ms = FakeClock(), round(RENEW_S * 1_000) // 2
    tracker = CostlyTracker(clock, view_ms=cost_ms, judge_ms=cost_ms)
    core = Core(tracker, Inbox(), clock, [Calls()])
    for number in range(6):
        tracker.observe(_record(f"large-{number}"))
    core._renew()
    assert [group for group, _ in tracker.built] == ["large-0", "large-1"]
    tracker.observe(_record("large-5"))
    tracker.observe(_record("a"))
    for _ in range(3):
        core._renew()
    assert [group for group, _ in tracker.built] == [*(f"large-{number}" for number in range(6)), "a"]
    assert core._due() == []


def test_a_group_whose_view_costs_little_does_not_wait_for_groups_with_costly_views():
    clock = FakeClock()
    tracker = CostlyTracker(clock, view_ms=20, judge_ms=20)
    core = Core(tracker, Inbox(), clock, [Calls()])
    large = [f"large-{number}" for number in range(4)]
    for groups, expected in (large, large), ([*large, "a"], ["a", *large]):
        for group in groups:
            tracker.observe(_record(group))
        tracker.built.clear()
        core._renew()
        while core._due():
            core._renew()
        assert [group for group, _ in tracker.built] == expected
        clock.advance(10_000)


def test_nothing_is_kept_of_a_group_with_costly_views_that_is_gone():
    clock = FakeClock()
    tracker = CostlyTracker(clock, view_ms=20, judge_ms=20)
    core = Core(tracker, Inbox(), clock, [Calls()], refresh=lambda: clock.advance(100))
    for observation in (_record("large"), _record("large", live=False)):
        tracker.observe(observation)
        core._renew()
        clock.advance(10_000)
        core._renew()
        core._refresh()
    assert core.views() == ()
    assert core._views_after.costly | core._judged_after.costly == set()


def test_the_rendering_time_of_a_view_counts_for_its_group():
    clock, members = FakeClock(), (MemberLoad("m", None, "c", "h", {}),) * 98
    core = Core(FakeTracker(), Inbox(), clock, [Calls()], refresh=lambda: clock.advance(100))
    core._show({"large": GroupView("large", *_VIEW, members=members), "small": GroupView("small", *_VIEW)})
    core._refresh()
    core._changed = dict.fromkeys(("large", "small"))
    assert core._due() == ["small"]
    del core._changed["small"]
    clock.advance(899)
    assert core._due() == ["large"]


def test_a_group_with_computed_quality_is_never_shown_without_it_again():
    tracker, inbox = FakeTracker(), Inbox()
    core = Core(tracker, inbox, FakeClock(), [Calls()])
    few = {f"g{number}" for number in range(JUDGED_AT_ONCE)}
    for group in few:
        inbox.put(_record(group))
    core.start()
    assert eventually(lambda: _judged(core) == few)
    tracker.held.clear()
    inbox.put(_record("g0"))
    assert eventually(lambda: not inbox)
    for group in [*few, *few, *(f"new{number}" for number in range(JUDGED_AT_ONCE + 1))]:
        inbox.put(_record(group))
    tracker.held.set()
    assert eventually(lambda: len(core.views()) == 2 * JUDGED_AT_ONCE + 1)
    assert _judged(core) == few
    inbox.close()
    core.join(PATIENCE_S)


def test_changes_of_few_groups_are_refreshed_at_once():
    refreshed = []
    core = Core(FakeTracker(), Inbox(), FakeClock(), [Calls()], refresh=lambda: refreshed.append(len(core.views())))
    for number in range(3):
        core._show({f"g{number}": GroupView(f"g{number}", *_VIEW)})
        core._refresh()
        core._refresh()
    assert refreshed == [1, 2, 3]


def test_changes_of_many_groups_are_refreshed_once_a_second():
    clock, refreshed = FakeClock(), []
    core = Core(FakeTracker(), Inbox(), clock, [Calls()], refresh=lambda: refreshed.append(clock.monotonic()))
    for _ in range(25):
        core._show({f"g{number}": GroupView(f"g{number}", *_VIEW) for number in range(JUDGED_AT_ONCE + 1)})
        core._refresh()
        clock.advance(100)
    assert refreshed == [1.0, 2.0]


@pytest.mark.parametrize(
    ("took_ms", "left", "waiting", "pause_ms"),
    [(4, 0, 1, 4), (20, 0, 0, 200), (20, 1, 1, 200), (20, 1, 0, 20), (3_000, 0, 1, 3_000)],
)
def test_after_a_costly_refresh_the_next_one_comes_after_what_waits(took_ms, left, waiting, pause_ms):
    clock, inbox, refreshed = FakeClock(), Inbox(), []

    def refresh():
        refreshed.append(clock.monotonic())
        clock.advance(took_ms)
        return left and len(refreshed) == 1

    core = Core(FakeTracker(), inbox, clock, [Calls()], refresh=refresh)
    for number in range(waiting):
        inbox.put(_record(f"g{number}"))
    core._show({"g": GroupView("g", *_VIEW)})
    core._refresh()
    core._show({"g": GroupView("g", *_VIEW)})
    core._refresh()
    while len(refreshed) < 2:
        clock.advance(1)
        core._refresh()
    assert refreshed[1] - refreshed[0] == pytest.approx(pause_ms / 1_000)


def test_what_a_refresh_leaves_is_refreshed_before_anything_waits():
    left = [True, True, False]
    core = Core(FakeTracker(), Inbox(), FakeClock(), [Calls()], refresh=lambda: left.pop(0))
    core._show({"g": GroupView("g", *_VIEW)})
    for expected in (0, 0, TICK_S):
        core._refresh()
        assert core._patience_s() == expected
    core._refresh()
    assert not left


class SlowTracker(FakeTracker):
    """Each observation takes a tenth of the time between two updates of the views."""

    def __init__(self, clock):
        super().__init__()
        self.clock, self.shown_after = clock, []

    def observe(self, observation):
        if not isinstance(observation, Tick):
            self.clock.advance(round(BATCH_S * 100))
        return super().observe(observation)

    def view(self, group, *, judged):
        self.shown_after.append(len([each for each in self.seen if not isinstance(each, Tick)]))
        return super().view(group, judged=judged)


def test_records_of_one_batch_are_shown_before_all_of_them_are_processed():
    clock, inbox = FakeClock(), Inbox()
    tracker = SlowTracker(clock)
    core = Core(tracker, inbox, clock, [Calls()])
    for number in range(30):
        inbox.put(_record(f"g{number}"))
    inbox.close()
    core._run()
    assert sorted(set(tracker.shown_after)) == [10, 20, 30]


def test_a_failing_refresh_ends_nothing():
    core = Core(FakeTracker(), Inbox(), FakeClock(), [Calls()], refresh=lambda: 1 / 0)
    core._show({"g": GroupView("g", *_VIEW)})
    with capture_logs() as logs:
        core._refresh()
    assert [line["event"] for line in logs] == ["refresh_failed"]
