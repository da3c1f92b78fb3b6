"""How polls of instrumented members are held against those of bare ones."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from chaos.oracle import POLLS_MIN, polls

QUICK = [0.001] * POLLS_MIN


def crowd(**late_s):
    members = {f"eager-{name}": [SimpleNamespace(late_s=each)] for name, each in late_s.items()}
    return SimpleNamespace(members=members)


def test_polls_that_are_as_late_are_right():
    assert polls(crowd(bare=QUICK, instrumented=QUICK)).wrong == ()


@pytest.mark.parametrize("instrumented", [[0.2] * POLLS_MIN, QUICK[1:], []])
def test_polls_that_are_later_or_were_hardly_made_are_wrong(instrumented):
    assert polls(crowd(bare=QUICK, instrumented=instrumented)).wrong


def test_who_left_a_group_out_compares_nothing():
    assert polls(crowd(bare=QUICK)).wrong == ()
