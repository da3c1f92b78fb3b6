from __future__ import annotations

import os
import signal

import pytest

from rebalance_agent.demo.processes.interrupts import orderly_end


def test_ctrl_c_raises_once_and_later_signals_do_not_interrupt_the_cleanup():
    cleaned = []

    def interrupted():
        try:
            os.kill(os.getpid(), signal.SIGINT)
        finally:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGTERM)
            cleaned.append(True)

    with pytest.raises(KeyboardInterrupt), orderly_end():
        interrupted()
    assert cleaned == [True]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_end_with_the_exit_code_of_shells(number):
    with pytest.raises(SystemExit) as ended, orderly_end():
        os.kill(os.getpid(), number)
    assert ended.value.code == 128 + number


def test_the_former_signal_handlers_are_restored():
    before = signal.getsignal(signal.SIGINT)
    with orderly_end():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before
