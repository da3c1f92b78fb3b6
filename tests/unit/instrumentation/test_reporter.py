from __future__ import annotations

import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

import rebalance_agent
from rebalance_agent.http.events_post import ALIVE_HEADER
from rebalance_agent.instrumentation.delivery import outbox, post_thread, queue_thread
from rebalance_agent.instrumentation.delivery.endpoint import Endpoint
from rebalance_agent.instrumentation.delivery.heartbeat import Heartbeat
from rebalance_agent.instrumentation.delivery.post_thread import RETRIES_MAX, PostThread
from rebalance_agent.instrumentation.delivery.reporter import Reporter
from rebalance_agent.model.events import Callback, MemberEvent
from rebalance_agent.model.group_event import process_event_id
from support.observer.sidecars import Sidecar, SilentSidecar, absent, answering

AGENT = Path(rebalance_agent.__file__).parents[1]
FOREVER = 60.0
"""Seconds after which a wait fails; far more than any step takes."""


@pytest.fixture
def no_delay(monkeypatch):
    monkeypatch.setattr(post_thread, "FIRST_DELAY_SECONDS", 0.0)


def happened(process, sequence):
    return MemberEvent(
        event_id=process_event_id("member", process, sequence),
        group="g",
        timestamp_ms=2,
        callback=Callback.REVOKED,
        client_id="c",
        member_id="m",
        generation=1,
        started_ms=1,
        partitions={"t": (0, 1)},
        process=process,
        sequence=sequence,
    )


def reporter_to(url):
    return Reporter(Endpoint.of(url))


def idle(a_reporter):
    """Wait until its thread has sent or dropped everything, without a flush."""
    thread = a_reporter.posts._thread
    if thread is not None:
        thread.join(FOREVER)
        assert not thread.is_alive()


def test_events_arrive_in_order_with_the_process_and_consecutive_numbers():
    with Sidecar() as sidecar:
        sending = reporter_to(sidecar.url)
        for _ in range(250):
            sending.emit(happened)
        assert sidecar.wait_for(lambda taken: len(taken) == 250)
        assert [event["sequence"] for event in sidecar.taken] == list(range(1, 251))
        assert len({event["process"] for event in sidecar.taken}) == 1
        assert len({event["event_id"] for event in sidecar.taken}) == 250
        idle(sending)
    assert max(body.count(b"\n") for body in sidecar.bodies) <= outbox.BATCH_EVENTS_MAX


def test_the_thread_exists_only_while_events_are_pending():
    with Sidecar() as sidecar:
        sending = reporter_to(sidecar.url)
        assert sending.posts._thread is None
        sending.emit(happened)
        idle(sending)
        assert sending.posts._thread is None
        sending.emit(happened)
        assert sidecar.wait_for(lambda taken: len(taken) == 2)
        idle(sending)


def test_callbacks_in_quick_succession_are_one_batch_and_the_end_of_the_process_does_not_wait_for_more(monkeypatch):
    monkeypatch.setattr(queue_thread, "LINGER_SECONDS", FOREVER)
    with Sidecar() as sidecar:
        sending = reporter_to(sidecar.url)
        sending.emit(happened)
        sending.emit(happened)
        assert sending.posts.finish(FOREVER / 2)
        assert [body.count(b"\n") for body in sidecar.bodies] == [2]


def left(process, sequence):
    return replace(happened(process, sequence), callback=Callback.LEFT)


def beats(sidecar):
    """The process ids in posts without events."""
    posts = zip(sidecar.headers, sidecar.bodies, strict=True)
    return [headers[ALIVE_HEADER.lower()] for headers, body in posts if not body]


def test_the_first_post_announces_heartbeats():
    """Otherwise a sidecar would show a consumer that ends before its first heartbeat for a day."""
    with Sidecar() as sidecar:
        sending = reporter_to(sidecar.url)
        sending.emit(happened)
        idle(sending)
        assert [headers[ALIVE_HEADER.lower()] for headers in sidecar.headers] == [sidecar.taken[0]["process"]]


def test_a_reporter_without_events_sends_heartbeats_until_its_consumer_leaves():
    with Sidecar() as sidecar:
        sending = reporter_to(sidecar.url)
        sending.beat()
        idle(sending)
        assert beats(sidecar) == []  # a reporter that never sent an event needs no heartbeat
        sending.emit(happened)
        idle(sending)
        sending.beat()
        idle(sending)
        assert beats(sidecar) == [sidecar.taken[0]["process"]]
        assert sidecar.bodies[-1] == b""
        sending.emit(left)
        idle(sending)
        sending.beat()
        idle(sending)
        assert len(beats(sidecar)) == 1


def test_a_failed_heartbeat_is_not_repeated_and_loses_no_event(no_delay):
    with absent() as url:
        sending = reporter_to(url)
        sending._lives = True
        sending.beat()
        idle(sending)
        assert (sending.posts.dropped, sending.posts.waiting) == (0, 0)


def test_heartbeats_continue_after_exceptions():
    failing = 3
    beats = []
    last = threading.Event()

    def beat():
        beats.append(len(beats))
        if len(beats) <= failing:
            raise RuntimeError("not this time")
        pulse._period_seconds = FOREVER  # nothing is logged during later tests
        last.set()

    pulse = Heartbeat(beat, period_seconds=0.001)
    pulse.start()
    first = pulse._thread
    pulse.start()
    assert pulse._thread is first
    assert last.wait(FOREVER)
    assert len(beats) == failing + 1
    assert first.daemon


def test_a_sidecar_that_does_not_answer_delays_no_consumer_and_the_queue_is_bounded(monkeypatch):
    monkeypatch.setattr(outbox, "WAITING_MAX", 50)
    with SilentSidecar() as silent:
        sending = reporter_to(silent.url)
        sending.emit(happened)
        assert silent.accepted.wait(FOREVER)  # the first batch, one event, is in flight and is never answered
        for _ in range(1_000):
            sending.emit(happened)
        assert sending.posts.waiting == 50
        assert sending.posts.dropped == 950
        sending.posts.hurry()
    idle(sending)


def test_an_absent_sidecar_loses_only_the_events(no_delay):
    with absent() as url:
        sending = reporter_to(url)
        sending.emit(happened)
        idle(sending)
    assert (sending.posts.waiting, sending.posts.dropped) == (0, 1)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_failed_batch_is_repeated_byte_for_byte(no_delay, status):
    with Sidecar(status, status) as sidecar:
        sending = reporter_to(sidecar.url)
        sending.emit(happened)
        assert sidecar.wait_for(lambda taken: len(taken) == 1)
        idle(sending)
    assert len(sidecar.bodies) == 3
    assert len(set(sidecar.bodies)) == 1
    assert sending.posts.dropped == 0


def test_retries_are_bounded_and_the_loss_is_reported_once_with_the_next_batch(no_delay):
    with Sidecar(*[500] * (RETRIES_MAX + 1)) as sidecar:
        sending = reporter_to(sidecar.url)
        sending.emit(happened)
        idle(sending)
        assert sending.posts.dropped == 1
        for _ in range(2):
            sending.emit(happened)
            idle(sending)
    assert len(sidecar.bodies) == RETRIES_MAX + 3
    assert [headers.get("x-rebalance-agent-dropped") for headers in sidecar.headers[-2:]] == ["1", None]
    assert sending.posts.dropped == 0


def test_a_refused_batch_is_not_repeated_and_counts_as_dropped(no_delay):
    with Sidecar(400) as sidecar:
        sending = reporter_to(sidecar.url)
        sending.emit(happened)
        idle(sending)
        assert sending.posts.dropped == 1
        sending.emit(happened)
        idle(sending)
    assert [event["sequence"] for event in sidecar.taken] == [2]
    assert sidecar.headers[1]["x-rebalance-agent-dropped"] == "1"


def test_invalid_responses_are_losses(no_delay):
    with answering(b"\xff\xfenonsense\r\n\r\n") as url:
        sending = reporter_to(url)
        sending.emit(happened)
        idle(sending)
    assert sending.posts.dropped == 1


def test_an_event_that_cannot_be_encoded_is_counted_and_not_raised(caplog):
    def broken(process, sequence):
        raise ValueError("bad")

    with Sidecar() as sidecar:
        sending = reporter_to(sidecar.url)
        sending.emit(broken)
        sending.emit(happened)
        idle(sending)
    assert sidecar.headers[0]["x-rebalance-agent-dropped"] == "1"
    assert "the consumer is not affected" in caplog.text


def test_a_thread_that_cannot_start_raises_nothing_and_its_event_is_sent_with_the_next(monkeypatch, caplog):
    with Sidecar() as sidecar:
        sending = reporter_to(sidecar.url)
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", lambda _thread: (_ for _ in ()).throw(RuntimeError("no threads")))
            sending.emit(happened)
        assert sending.posts.waiting == 1
        assert sending.posts.finish(0.0), (
            "the end of the process must neither wait for nor fail at a thread that never ran"
        )
        sending.emit(happened)
        assert sidecar.wait_for(lambda taken: [event["sequence"] for event in taken] == [1, 2])
        idle(sending)


def test_a_reporter_without_an_endpoint_builds_no_events():
    Reporter(None).emit(lambda *_: pytest.fail("made an event for nobody"))


def test_delays_grow_to_a_bound_and_jitter_keeps_at_least_half():
    shortest, longest = PostThread(None, "", jitter=lambda: 0.0), PostThread(None, "", jitter=lambda: 1.0)
    delays = [longest._delay(failures) for failures in range(1, RETRIES_MAX + 1)]
    assert delays[:3] == [0.25, 0.5, 1.0]
    assert max(delays) == post_thread.DELAY_SECONDS_MAX
    assert [shortest._delay(failures) for failures in range(1, RETRIES_MAX + 1)] == [delay / 2 for delay in delays]


def test_closing_the_consumer_while_an_event_is_emitted_does_not_block():
    with Sidecar() as sidecar:
        sending = reporter_to(sidecar.url)
        with sending._lock, sending.posts._lock:  # as a signal handler that interrupts `emit` while it holds a lock
            sending.emit(happened)
        assert sidecar.wait_for(lambda taken: len(taken) == 1)
        idle(sending)


def test_a_failure_and_its_end_are_logged_once(no_delay, caplog):
    caplog.set_level("INFO", "rebalance_agent.instrumentation")
    with Sidecar(500, 500, 500) as sidecar:
        sending = reporter_to(sidecar.url)
        sending.emit(happened)
        idle(sending)
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert "accepts events again" in caplog.text


def run(script, url):
    return subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(AGENT), str(Path(__file__).parent)]), "URL": url},
        capture_output=True,
        text=True,
        timeout=FOREVER,
        check=False,
    )


EMIT = """
import os
from rebalance_agent.instrumentation.delivery.endpoint import Endpoint
from rebalance_agent.instrumentation.delivery.reporter import Reporter
from rebalance_agent.model.events import Callback, MemberEvent
def happened(process, sequence):
    return MemberEvent("id", "g", 2, Callback.REVOKED, "c", "m", 1, 1, {}, process, sequence)
"""


def test_a_process_that_ends_at_once_still_delivers_its_events():
    with Sidecar() as sidecar:
        result = run(EMIT + 'Reporter(Endpoint.of(os.environ["URL"])).emit(happened)', sidecar.url)
    assert (result.returncode, result.stderr) == (0, "")
    assert len(sidecar.taken) == 1


def test_a_process_ends_although_its_sidecar_never_responds():
    with SilentSidecar() as silent:
        script = EMIT + (
            'reporters = [Reporter(Endpoint.of(os.environ["URL"]), exit_grace_seconds=0.1) for _ in range(3)]\n'
            "for each in reporters: each.emit(happened)"
        )
        result = run(script, silent.url)  # returns while the sidecar still holds the connections
        assert silent.accepted.is_set()
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_reports_as_itself_even_if_the_lock_was_held():
    script = (
        EMIT
        + """
import warnings; warnings.simplefilter("ignore")
sending = Reporter(Endpoint.of(os.environ["URL"]))
sending.emit(happened)
sending.posts._thread.join() if sending.posts._thread else None
sending._lock.acquire(); sending.posts._lock.acquire()
if os.fork() == 0:
    sending.emit(happened)
    ended = sending.posts.finish(20)
    os._exit(0 if ended else 3)
sending._lock.release(); sending.posts._lock.release()
_, status = os.wait()
sending.emit(happened)
raise SystemExit(os.waitstatus_to_exitcode(status))
"""
    )
    with Sidecar() as sidecar:
        result = run(script, sidecar.url)
    assert (result.returncode, result.stderr) == (0, "")
    first, child, last = sidecar.taken
    assert first["process"] == last["process"] != child["process"]
    assert (first["sequence"], child["sequence"], last["sequence"]) == (1, 1, 2)
