"""Signals end an agent, on whichever thread they arrive."""

from __future__ import annotations

import signal
import sys
import threading

import pytest

from rebalance_agent.runtime.processes.signals import stop_on_signals

SOON_S = 10
LOOKS = 20


def given_to_this_thread(number):
    """Send the signal as soon as the main thread only waits."""
    main, seen = threading.main_thread().ident, 0
    while seen < LOOKS:
        waits = sys._current_frames()[main].f_code is threading.Condition.wait.__code__
        seen = seen + 1 if waits else 0
        threading.Event().wait(0.001)
    signal.pthread_kill(threading.get_ident(), number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_another_thread_ends_the_wait_of_the_main_thread(number):
    stop = threading.Event()
    with stop_on_signals(stop):
        threading.Thread(target=given_to_this_thread, args=(number,)).start()
        assert stop.wait(SOON_S)


def test_the_callback_is_called_once_in_its_own_thread():
    """In its own thread: a signal handler must not repeat an operation that it interrupts, such as printing."""
    stop, received, reported = threading.Event(), [], threading.Event()

    def receive():
        received.append(threading.current_thread())
        reported.set()

    with stop_on_signals(stop, receive):
        signal.raise_signal(signal.SIGTERM)
        assert reported.wait(SOON_S)
        signal.raise_signal(signal.SIGINT)
    assert len(received) == 1
    assert received[0] is not threading.main_thread()


def test_a_second_signal_ends_the_process_at_once():
    stop = threading.Event()
    with stop_on_signals(stop):
        signal.raise_signal(signal.SIGINT)
        assert stop.wait(SOON_S)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_a_hangup_calls_back_and_does_not_stop():
    stop, hung_up = threading.Event(), threading.Semaphore(0)
    with stop_on_signals(stop, on_hangup=hung_up.release):
        for _ in range(2):
            signal.raise_signal(signal.SIGHUP)
            assert hung_up.acquire(timeout=SOON_S)
        assert not stop.is_set()


def test_the_former_handlers_are_restored():
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    threads = threading.active_count()
    with stop_on_signals(threading.Event(), on_hangup=lambda: None):
        pass
    assert [signal.getsignal(number) for number in numbers] == before
    assert threading.active_count() == threads
    assert signal.set_wakeup_fd(-1) == -1
