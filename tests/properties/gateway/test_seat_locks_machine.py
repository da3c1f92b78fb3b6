"""At most one gateway counts a lock as its own, with any losses, delays, pauses and restarts."""

from __future__ import annotations

from itertools import count

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from rebalance_agent.gateway.seats.locks import GroupLocks, LockBeat, LockChange
from rebalance_agent.gateway.seats.locks.lock_acts import LockLoss
from rebalance_agent.gateway.seats.rules.seat_settings import SeatSettings
from support.examples import examples
from support.seats.helper_group import HelperGroup

SEATS = st.sampled_from(["seat-1", "seat-2"])
GATEWAYS = st.sampled_from([0, 1])
LIMITS = SeatSettings(seats_max=2)
STEP = 0.125


class Gateway:
    """One gateway's locks, and its requests and responses in flight: (time of arrival, frame)."""

    def __init__(self, number, ids):
        self.ids, self.number = ids, number
        self.locks = self.begin()
        self.told = {}
        self.requests, self.answers = [], []
        self.delay, self.cut, self.paused_until = 0.0, False, 0.0

    def begin(self):
        return GroupLocks(LIMITS, (f"{self.number}-{one}" for one in self.ids))

    def take(self, acts, now):
        for act in acts:
            if isinstance(act, LockChange):
                self.told[act.instance_id] = act.granted
            elif self.cut:
                self.answers.append((now + STEP, act, None))
            else:
                self.requests.append((now + self.delay, act))


class Locks(RuleBasedStateMachine):
    """Two gateways and one helper group."""

    def __init__(self):
        super().__init__()
        self.now = 0.0
        self.group = HelperGroup()
        ids = count()
        self.gateways = [Gateway(number, ids) for number in range(2)]

    @rule(gateway=GATEWAYS, seat=SEATS)
    def claim(self, gateway, seat):
        one = self.gateways[gateway]
        if self.now >= one.paused_until:
            one.take(one.locks.claim(seat, self.now), self.now)

    @rule(gateway=GATEWAYS, seat=SEATS)
    def release(self, gateway, seat):
        one = self.gateways[gateway]
        if self.now >= one.paused_until:
            one.told[seat] = False
            one.take(one.locks.release(seat, self.now), self.now)

    @rule(gateway=GATEWAYS, seconds=st.sampled_from([1.0, 9.0, 20.0, 60.0]))
    def pause(self, gateway, seconds):
        self.gateways[gateway].paused_until = self.now + seconds

    @rule(gateway=GATEWAYS, seat=SEATS)
    def sleep_through(self, gateway, seat):
        """A gateway sleeps during the response to its request, until after its session; another one claims in
        between."""
        one = self.gateways[gateway]
        self.claim(gateway, seat)
        for _ in range(40):
            self.wait(STEP)
            if one.requests and one.locks.held(seat, self.now):
                break
        one.paused_until = self.now + 48.0
        self.wait(47.0)
        self.claim(1 - gateway, seat)
        self.wait(2.0)

    @rule(gateway=GATEWAYS, delay=st.sampled_from([0.0, 0.0, 0.5, 2.0, 30.0]), cut=st.booleans())
    def network(self, gateway, delay, cut):
        self.gateways[gateway].delay, self.gateways[gateway].cut = delay, cut

    @rule(gateway=GATEWAYS)
    def lose_connection(self, gateway):
        """Processed requests stay unanswered; those in flight are processed later or never."""
        one = self.gateways[gateway]
        one.answers = [(self.now, beat, None) for _, beat, _ in one.answers]
        one.answers += [(self.now, beat, None) for _, beat in one.requests]

    @rule(gateway=GATEWAYS, saved=st.booleans())
    def restart(self, gateway, saved):
        one = self.gateways[gateway]
        former = one.locks.saved() if saved else ()
        one.locks, one.told, one.requests, one.answers = one.begin(), {}, [], []
        one.take(one.locks.restore(former, self.now), self.now)

    @rule(down=st.booleans())
    def move_coordinator(self, down):
        self.group.down = down
        self.group.fail_over(self.now)

    @rule()
    def raise_epoch(self):
        self.group.epoch += 1

    @rule(seconds=st.sampled_from([0.25, 1.0, 3.0, 12.0, 50.0]))
    def wait(self, seconds):
        until = self.now + seconds
        while self.now < until:
            self.now += STEP
            for gateway in self.gateways:
                self.step(gateway)
            self.one_holder()

    def step(self, one):
        arrived = [beat for at, beat in one.requests if at <= self.now]
        one.requests = [(at, beat) for at, beat in one.requests if at > self.now]
        one.answers += [(self.now + one.delay, beat, self.group.beat(beat, self.now)) for beat in arrived]
        if self.now < one.paused_until:
            return
        due = one.locks.next_due()
        if due is not None and due <= self.now:
            one.take(one.locks.due(self.now), self.now)
        ready = [(beat, answer) for at, beat, answer in one.answers if at <= self.now]
        one.answers = [each for each in one.answers if each[0] > self.now]
        for beat, answer in ready:
            one.take(one.locks.answered(beat, answer, self.now), self.now)

    @invariant()
    def one_holder(self):
        for seat in ("seat-1", "seat-2"):
            assert sum(one.locks.held(seat, self.now) for one in self.gateways) <= 1, seat

    @invariant()
    def told_what_is(self):
        """A running gateway holds the locks granted by the last changes, and no more than allowed."""
        for one in self.gateways:
            assert len(one.locks) <= LIMITS.seats_max
            if self.now >= one.paused_until + STEP:
                for seat, granted in one.told.items():
                    assert granted == one.locks.held(seat, self.now), (one.number, seat)

    def teardown(self):
        """After all faults and the sessions of lost locks have ended, each seat can be claimed."""
        self.group.down = False
        for one in self.gateways:
            one.delay, one.cut, one.paused_until = 0.0, False, 0.0
        self.wait(50.0)
        for one in self.gateways:
            one.take(one.locks.release_all(self.now), self.now)
        self.wait(50.0)
        first = self.gateways[0]
        for seat in ("seat-1", "seat-2"):
            first.take(first.locks.claim(seat, self.now), self.now)
        self.wait(1.0)
        assert all(first.locks.held(seat, self.now) for seat in ("seat-1", "seat-2"))
        self.one_holder()


TestLocks = Locks.TestCase
TestLocks.settings = settings(max_examples=examples(100), stateful_step_count=30, deadline=None)


def ask(locks, group, fates):
    """Claim a lock; return the result. ``fates``: those of the requests in order; later requests are answered."""
    now, fates = 0.0, iter(fates)
    acts = list(locks.claim("s", now))
    while acts:
        act = acts.pop(0)
        if isinstance(act, LockChange):
            return act
        fate = next(fates, "answered")
        answer = None if fate == "lost" else group.beat(act, now)
        acts += locks.answered(act, answer if fate == "answered" else None, now)
        if not acts:
            now = max(now, locks.next_due())
            acts += locks.due(now)
    return None


LOST = st.lists(st.sampled_from(["answered", "lost", "done and not answered"]), max_size=8)


@given(fates=LOST, taken=st.sampled_from([None, "released", "held"]))
def test_a_free_lock_is_granted_and_another_gateways_refused_with_any_losses(fates, taken):
    group = HelperGroup()
    if taken is not None:
        group.beat(LockBeat("s", "other", 0, 0.0), 0.0)
    if taken == "released":
        group.beat(LockBeat("s", "other", -2, 0.0), 0.0)
    locks = GroupLocks(SeatSettings(answer_seconds=3.0), (f"own-{one}" for one in count()))
    change = ask(locks, group, fates)
    assert change is not None
    assert change.granted == locks.held("s", 2.0) == (taken != "held")
    assert (change.loss is LockLoss.TAKEN) == (group.members["s"].member_id == "other")
    assert not group.members["s"].released


def test_heartbeats_have_the_member_id_so_that_late_ones_have_no_effect():
    """A release that arrives after another gateway's claim does not affect it."""
    group = HelperGroup()
    assert group.beat(LockBeat("s", "a", 0, 0.0), 0.0).error == 0
    assert group.beat(LockBeat("s", "a", -2, 0.0), 0.0).error == 0
    assert group.beat(LockBeat("s", "b", 0, 0.0), 0.0).error == 0
    assert group.beat(LockBeat("s", "a", -2, 0.0), 0.0).error == 82
    assert group.members["s"].member_id == "b"
