from __future__ import annotations

import asyncio
from typing import NamedTuple

import pytest

from rebalance_agent.instrumentation import Instrumentation, Membership
from rebalance_agent.instrumentation.rebalance_listener import AsyncRebalanceListener
from rebalance_agent.model.events import Callback
from support.observer.recorded_instrumentation import JOINED, RecordedInstrumentation


class TP(NamedTuple):
    topic: str
    partition: int


SOME = {TP("t", 1), TP("t", 0), TP("s", 5)}
CALLBACKS = ["on_partitions_revoked", "on_partitions_assigned", "on_partitions_lost"]


@pytest.fixture
def seen():
    return RecordedInstrumentation()


class Slow:
    """A user's listener that takes 1.5 s of the fake clock and records its arguments."""

    def __init__(self, clock, error=None):
        self.clock, self.error, self.given = clock, error, []

    def _run(self, name, partitions):
        self.given.append((name, partitions))
        self.clock.advance(1_500)
        if self.error:
            raise self.error
        return name

    def on_partitions_revoked(self, revoked):
        return self._run("revoked", revoked)

    def on_partitions_assigned(self, assigned):
        return self._run("assigned", assigned)

    def on_partitions_lost(self, lost):
        return self._run("lost", lost)


@pytest.mark.parametrize("callback", [Callback.REVOKED, Callback.ASSIGNED, Callback.LOST])
def test_a_callback_becomes_an_event_with_its_times_partitions_and_membership(seen, callback):
    users = Slow(seen.clock)
    result = getattr(seen.hooks.listener(users), f"on_partitions_{callback}")(SOME)
    assert result == callback.value
    assert users.given == [(callback.value, SOME)]
    assert users.given[0][1] is SOME
    (event,) = seen.events
    assert (event.callback, event.started_ms, event.timestamp_ms) == (callback, 1_000_000, 1_001_500)
    assert event.partitions == {"s": (5,), "t": (0, 1)}
    assert (event.generation, event.member_id, event.instance_id, event.cluster_id) == (
        JOINED.generation, JOINED.member_id, JOINED.instance_id, JOINED.cluster_id,
    )  # fmt: skip
    assert (event.group, event.client_id, event.error) == ("group", "client", None)


@pytest.mark.parametrize("callback", CALLBACKS)
@pytest.mark.parametrize("error", [ValueError("mine"), KeyboardInterrupt(), StopIteration(3)])
def test_the_users_exception_is_raised_unchanged_and_reported(seen, callback, error):
    with pytest.raises(type(error)) as raised:
        getattr(seen.hooks.listener(Slow(seen.clock, error)), callback)(SOME)
    assert raised.value is error
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None
    (event,) = seen.events
    assert event.error.startswith(type(error).__name__)


def test_an_error_without_a_text_or_with_an_endless_one_is_reported(seen):
    class NastyError(Exception):
        def __str__(self):
            raise RuntimeError("no text")

    with pytest.raises(NastyError):
        seen.hooks.listener(Slow(seen.clock, NastyError())).on_partitions_revoked(SOME)
    with pytest.raises(ValueError, match="xxx"):
        seen.hooks.listener(Slow(seen.clock, ValueError("x" * 10_000))).on_partitions_revoked(SOME)
    assert [len(event.error) for event in seen.events] == [len("NastyError"), 1_000]


def test_without_a_users_listener_callbacks_are_reported(seen):
    listener = seen.hooks.listener()
    for callback in CALLBACKS:
        getattr(listener, callback)(SOME)
    assert [event.callback for event in seen.events] == [Callback.REVOKED, Callback.ASSIGNED, Callback.LOST]


def test_a_listener_without_a_lost_callback_gets_the_revoked_one(seen):
    class Old:
        def on_partitions_revoked(self, revoked):
            return "revoked"

    assert seen.hooks.listener(Old()).on_partitions_lost(SOME) == "revoked"
    assert [event.callback for event in seen.events] == [Callback.LOST]


@pytest.mark.parametrize(
    ("cooperative", "reported"), [(False, ["on_partitions_assigned"]), (True, [])], ids=["eager", "cooperative"]
)
def test_an_empty_callback_is_an_event_only_for_an_eager_member_that_gets_nothing(seen, cooperative, reported):
    users = Slow(seen.clock)
    listener = seen.hooks.listener(users, cooperative=cooperative)
    for callback in CALLBACKS:
        getattr(listener, callback)(set())
    assert [f"on_partitions_{event.callback}" for event in seen.events] == reported
    assert len(users.given) == 3  # the user's listener is called for every callback


def test_lost_partitions_belong_to_the_members_last_generation(seen):
    listener = seen.hooks.listener()
    listener.on_partitions_assigned(SOME)
    seen.now = Membership()
    listener.on_partitions_lost(SOME)
    assert [(event.generation, event.member_id) for event in seen.events] == [(7, "member-7")] * 2


def test_a_callback_belongs_to_the_generation_at_its_entry(seen):
    class Loses:
        def on_partitions_revoked(self, revoked):
            seen.now = Membership()

    seen.hooks.listener(Loses()).on_partitions_revoked(SOME)
    assert seen.events[0].generation == 7


def test_after_a_backward_clock_step_no_callback_has_a_negative_duration(seen):
    class SetBack:
        def on_partitions_revoked(self, revoked):
            seen.clock.advance(300)
            seen.clock._start_ms -= 3_600_000

    seen.hooks.listener(SetBack()).on_partitions_revoked(SOME)
    assert seen.events[0].timestamp_ms - seen.events[0].started_ms == 300


def test_partitions_that_the_listener_removes_from_the_set_are_reported(seen):
    class Empties:
        def on_partitions_revoked(self, revoked):
            revoked.clear()

    seen.hooks.listener(Empties()).on_partitions_revoked(set(SOME))
    assert seen.events[0].partitions == {"s": (5,), "t": (0, 1)}


def test_an_error_of_the_client_about_its_membership_raises_nothing(caplog):
    seen = RecordedInstrumentation()

    def broken():
        raise RuntimeError("closed")

    hooks = Instrumentation(group="g", client_id="c", membership=broken, reporter=seen.recorder)
    hooks.listener().on_partitions_revoked(SOME)
    assert seen.events[0].generation == -1
    with hooks.leaving():
        pass
    assert len(seen.events) == 1


def test_partitions_of_an_unknown_type_reach_only_the_listener(seen, caplog):
    users = Slow(seen.clock)
    assert seen.hooks.listener(users).on_partitions_revoked(["t-0"]) == "revoked"
    assert seen.events == []
    assert "the consumer is not affected" in caplog.text


def test_an_async_listener_is_awaited_and_timed_to_its_end(seen):
    class Async:
        async def on_partitions_revoked(self, revoked):
            await asyncio.sleep(0)
            seen.clock.advance(2_000)
            return "done"

        def on_partitions_assigned(self, assigned):
            raise ValueError("mine")

    listener = seen.hooks.listener(Async())
    assert isinstance(listener, AsyncRebalanceListener)
    assert asyncio.run(listener.on_partitions_revoked(SOME)) == "done"
    with pytest.raises(ValueError, match="mine"):
        asyncio.run(listener.on_partitions_assigned(SOME))
    assert asyncio.run(listener.on_partitions_lost(SOME)) == "done"
    assert [event.timestamp_ms - event.started_ms for event in seen.events] == [2_000, 0, 2_000]
    assert seen.events[1].error == "ValueError: mine"


def test_a_leave_is_reported_afterwards_with_partitions_revoked_without_a_callback(seen):
    with seen.hooks.leaving(SOME):
        seen.clock.advance(40)
        seen.now = Membership()
        assert seen.events == []
    (event,) = seen.events
    assert (event.callback, event.generation, event.partitions) == (Callback.LEFT, 7, {"s": (5,), "t": (0, 1)})
    assert event.timestamp_ms - event.started_ms == 40


def test_a_consumer_without_a_generation_reports_no_leave(seen):
    seen.hooks.listener().on_partitions_assigned(SOME)
    seen.now = Membership(-1, "member-7")
    with seen.hooks.leaving():
        pass
    assert [event.callback for event in seen.events] == [Callback.ASSIGNED]


@pytest.mark.parametrize("url", ["ftp://x", "nonsense"])
def test_an_invalid_address_is_logged_in_one_line_and_the_consumer_works(url, caplog):
    hooks = Instrumentation(group="g", client_id="c", membership=lambda: JOINED, events_url=url)
    hooks.listener().on_partitions_revoked(SOME)
    (record,) = caplog.records
    assert record.getMessage().startswith("REBALANCE_AGENT_EVENTS_URL: ")
