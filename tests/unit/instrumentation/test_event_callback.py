"""`on_event` gets what the sidecar gets, on a thread of its own, and its failures stay there."""

from __future__ import annotations

import threading

import pytest

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.instrumentation import Instrumentation, Membership
from rebalance_agent.instrumentation.delivery import outbox
from rebalance_agent.instrumentation.delivery.endpoint import Endpoint
from rebalance_agent.instrumentation.delivery.event_callback import ON_EVENT_VARIABLE, find_callback
from rebalance_agent.instrumentation.delivery.reporter import Reporter
from support.observer.sidecars import Sidecar, SilentSidecar
from support.observer.views import member_event

FOREVER = 60.0


def happened(process, sequence):
    return member_event(process=process, sequence=sequence)


def delivered(reporter):
    assert reporter.callbacks.finish(FOREVER)


def test_it_gets_the_posted_objects_in_order_on_another_thread():
    events, threads = [], set()

    def on_event(event):
        events.append(event)
        threads.add(threading.current_thread())

    with Sidecar() as sidecar:
        reporter = Reporter(Endpoint.of(sidecar.url), on_event)
        for _ in range(3):
            reporter.emit(happened)
        delivered(reporter)
        assert reporter.posts.finish(FOREVER)
        assert events == sidecar.taken
    assert [event["sequence"] for event in events] == [1, 2, 3]
    assert threading.current_thread() not in threads


def test_a_sidecar_that_does_not_answer_does_not_delay_it():
    called = threading.Event()
    with SilentSidecar() as silent:
        reporter = Reporter(Endpoint.of(silent.url), lambda _event: called.set())
        reporter.emit(happened)
        assert called.wait(FOREVER)
        reporter.posts.hurry()
    assert reporter.posts.finish(FOREVER)


def test_its_exceptions_are_logged_once_and_later_events_arrive(caplog):
    sequences = []

    def on_event(event):
        sequences.append(event["sequence"])
        raise RuntimeError("the application's")

    reporter = Reporter(None, on_event)
    for _ in range(3):
        reporter.emit(happened)
    delivered(reporter)
    assert sequences == [1, 2, 3]
    [record] = caplog.records
    assert "the application's" in record.exc_text


def test_while_it_blocks_the_queue_is_bounded_and_the_loss_is_logged_once(monkeypatch, caplog):
    monkeypatch.setattr(outbox, "WAITING_MAX", 5)
    entered, free, sequences = threading.Event(), threading.Event(), []

    def on_event(event):
        sequences.append(event["sequence"])
        entered.set()
        assert free.wait(FOREVER)

    reporter = Reporter(None, on_event)
    reporter.emit(happened)
    assert entered.wait(FOREVER)
    for _ in range(20):
        reporter.emit(happened)
    assert reporter.callbacks.waiting == 5
    free.set()
    delivered(reporter)
    assert sequences == [1, *range(17, 22)]
    assert [record.getMessage() for record in caplog.records if "too slow" in record.getMessage()] == [
        "events were dropped before on_event was called: on_event is too slow, and the queue was full"
    ]


def test_the_variable_names_the_function_where_no_argument_does():
    assert find_callback(None, {ON_EVENT_VARIABLE: "builtins:print"}) is print
    assert find_callback(repr, {ON_EVENT_VARIABLE: "builtins:print"}) is repr
    assert find_callback(None, {ON_EVENT_VARIABLE: ""}) is None
    assert find_callback(None, {}) is None


async def coroutine(_event):
    pass


@pytest.mark.parametrize(
    ("on_event", "name", "expected"),
    [
        (
            None,
            "absent_module:report",
            "REBALANCE_AGENT_ON_EVENT: cannot be imported: 'absent_module:report': ModuleNot",
        ),
        (None, "builtins:absent", "cannot be imported: 'builtins:absent': AttributeError"),
        (None, "no name", "cannot be imported: 'no name': ValueError"),
        (None, "math:pi", "must be a function"),
        (5, "", "on_event: must be a function that is not a coroutine, not 5"),
        (coroutine, "", "must be a function that is not a coroutine"),
    ],
)
def test_what_cannot_be_called_is_named(on_event, name, expected):
    with pytest.raises(InvalidInputError) as raised:
        find_callback(on_event, {ON_EVENT_VARIABLE: name})
    assert expected in str(raised.value)


def test_a_wrong_name_is_logged_and_the_consumer_is_made(monkeypatch, caplog):
    monkeypatch.setenv(ON_EVENT_VARIABLE, "absent_module:report")
    Instrumentation(group="g", client_id="c", events_url="")
    assert "absent_module" in caplog.text
    assert "it is not called" in caplog.text


def test_callbacks_of_a_consumer_arrive_without_a_sidecar():
    events = []
    hooks = Instrumentation(
        group="g", client_id="c", membership=lambda: Membership(3, "m"), events_url="", on_event=events.append
    )
    hooks.listener().on_partitions_assigned(())
    with hooks.leaving():
        pass
    delivered(hooks._builder._reporter)
    assert [(event["callback"], event["generation"]) for event in events] == [("assigned", 3), ("left", 3)]
