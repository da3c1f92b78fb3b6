"""Newcomers without a predecessor join together: never beyond the bound, in their order, and none that is gone."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_agent.gateway.seats.group_facts import GroupPhase, SeatsRoster
from rebalance_agent.gateway.seats.seat_acts import ClaimLock, DescribeSeats, ForwardJoin, ForwardSeated
from support.examples import examples
from support.gateway.seats import newcomer, seats

ANSWER = 1.0
TINY = 1e-6
ARRIVALS = st.lists(
    st.fixed_dictionaries(
        {
            "after": st.floats(0.0, 20.0),
            "patience": st.sampled_from([0.0, 2.0, 12.0, 150.0]),
            "known": st.booleans(),
            "gone_after": st.none() | st.floats(0.0, 30.0),
        }
    ),
    max_size=8,
)


class Newcomers:
    """Newcomers of a stable group, whose locks are granted at once. ``sent``: JoinGroup -> when and how it was sent."""

    def __init__(self, period, hold, epoch, *, seated=True):
        self.now, self.epoch = 0.0, epoch
        self.group = seats(admission_seconds=period, hold_seconds=hold, answer_seconds=ANSWER)
        self.roster = SeatsRoster(phase=GroupPhase.STABLE, members=6, seated=6 if seated else 0)
        self.sent, self.order = {}, []

    def join(self, number, patience, *, known):
        one = newcomer(number, patience_seconds=patience, was_member=known)
        self._do(self.group.join(one, self.now, self.epoch + self.now))

    def withdraw(self, number):
        self._do(self.group.withdraw(number, self.now))

    def until(self, then):
        while (due := self.group.next_due()) is not None and due <= then:
            self.now = max(self.now, due)
            self.group.facts.lock_answered(self.now)
            self._do(self.group.due(self.now))
        self.now = then
        self.group.facts.lock_answered(self.now)

    def _do(self, acts):
        waiting = deque(acts)
        while waiting:
            act = waiting.popleft()
            if isinstance(act, ClaimLock):
                waiting.extend(self.group.lock_answered(act.instance_id, granted=True, now=self.now))
            elif isinstance(act, DescribeSeats):
                waiting.extend(self.group.described(self.roster, self.now))
            elif isinstance(act, ForwardJoin | ForwardSeated):
                self.sent[act.join] = self.now, bool(getattr(act, "joint", None))
                self.order.append(act.join)
            if isinstance(act, ForwardSeated):
                self.group.join_answered(act.join, 0, f"m{act.join}", 1, leads=False, now=self.now)
                self.group.sync_answered(f"m{act.join}", 0, self.now)


@settings(max_examples=examples(200), deadline=None)
@given(
    arrivals=ARRIVALS,
    period=st.sampled_from([0.0, 5.0, 25.0, 60.0]),
    hold=st.sampled_from([0.0, 3.0, 60.0]),
    epoch=st.floats(1.7e9, 1.9e9),
    seated=st.booleans(),
)
def test_nobody_waits_beyond_the_bound_all_join_in_order_and_who_is_gone_is_forgotten(
    arrivals, period, hold, epoch, seated
):
    here = Newcomers(period, hold, epoch, seated=seated)
    events, at = [], 0.0
    for number, one in enumerate(arrivals):
        at += one["after"]
        events.append((at, number, "join", one))
        if one["gone_after"] is not None:
            events.append((at + one["gone_after"], number, "gone", one))
    arrived, gone = {}, {}
    for then, number, what, one in sorted(events, key=lambda event: event[:2]):
        here.until(then)
        if what == "join":
            arrived[number] = here.now
            here.join(number, one["patience"], known=one["known"])
        elif number not in here.sent:
            here.withdraw(number)
            gone[number] = here.now
    here.until(here.now + 1_000.0)
    assert not here.group.held.next_due()
    assert len(here.group.held) == 0
    assert set(here.sent) == set(arrived) - set(gone)
    for number, (sent, joint) in here.sent.items():
        one, waited = arrivals[number], sent - arrived[number]
        bound = min(max(hold, ANSWER) + period, one["patience"])
        assert waited <= bound + TINY
        off = (epoch + sent) % period if period else 0.0
        assert not joint or min(off, period - off) < 1e-3, "joined between two multiples of the period"
        assert not (joint and one["known"])
        if one["known"]:
            assert waited == 0.0
        elif one["patience"] > hold + period + ANSWER:
            assert joint == (period > 0)
    for first, second in zip(here.order, here.order[1:], strict=False):
        assert here.sent[first][0] < here.sent[second][0] or first < second, "not in the order of their arrival"


@pytest.mark.parametrize("phase", [GroupPhase.EMPTY, GroupPhase.PREPARING])
def test_the_first_members_and_those_of_a_running_rebalance_are_not_held(phase):
    here = Newcomers(25.0, 3.0, 1_000.0)
    here.roster = SeatsRoster(phase=phase, members=0 if phase is GroupPhase.EMPTY else 3, seated=0)
    here.until(1.0)
    here.join(1, 150.0, known=False)
    assert here.sent == {1: (1.0, False)}
