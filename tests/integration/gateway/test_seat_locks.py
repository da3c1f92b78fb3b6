"""The locks of seats on a real broker: its coordinator's responses agree with `GroupLocks` and its model."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest

from rebalance_agent.errors import DecodeError
from rebalance_agent.gateway.seats.locks import LockAnswer, LockBeat, LockChange
from rebalance_agent.gateway.seats.locks.lock_acts import LockLoss, SavedLock
from rebalance_agent.gateway.seats.locks.lock_errors import loss_text
from rebalance_agent.gateway.seats.locks.lock_frames import holders
from rebalance_agent.testing import EmbeddedKafka
from support.observer.observing import eventually
from support.seats.helper_group import FENCED_INSTANCE_ID, FENCED_MEMBER_EPOCH, UNRELEASED, HelperGroup
from support.seats.lock_connection import LockConnection

pytestmark = pytest.mark.integration

TAKEN = LockLoss.TAKEN


@pytest.fixture
def group():
    return f"locks-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def connect(kafka, group):
    """Creates connections of gateways of one group."""
    opened = []

    def make(**settings):
        opened.append(LockConnection(kafka.bootstrap_servers, group, **settings))
        return opened[-1]

    eventually(lambda: make().described() is not None)
    yield make
    for each in opened:
        each.__exit__()


def test_one_gateway_has_a_lock_until_it_releases_it(connect):
    one, two = connect(), connect()
    assert one.described() == {}
    assert one.claim("s") == [LockChange("s")]
    assert two.claim("s") == [LockChange("s", TAKEN, UNRELEASED)]
    assert two.claim("t") == [LockChange("t")]
    assert one.beat() == [LockChange("s")]
    assert one.described() == {"s": False, "t": False}
    former = one.locks.saved()
    assert one.release("s") == []
    assert two.described() == {"s": True, "t": False}
    assert two.claim("s") == [LockChange("s")]
    assert one.claim("s") == [LockChange("s", TAKEN, UNRELEASED)]
    # The former holder's heartbeats and late releases do not affect the new holder.
    assert connect(restored=former).restored == [LockChange("s", LockLoss.LOST, FENCED_INSTANCE_ID)]
    late = LockBeat("s", former[0].member_id, -2, 0.0)
    assert one.send(late).error == FENCED_INSTANCE_ID
    assert two.beat() == [LockChange("t"), LockChange("s")]


def test_other_gateways_read_the_note_of_a_lock_also_after_its_release(connect):
    one, two = connect(), connect()
    one.do(one.locks.claim("s", 0.0, "equal to abc"))
    one.do(one.locks.claim("long", 0.0, "x" * 1_001))
    one.do(one.locks.claim("bare", 0.0))
    one.do(one.locks.note("s", "equal to abc, leads", 0.0))
    one.release("s")
    whole = two.description()
    for end in range(len(whole)):
        with pytest.raises(DecodeError):
            holders(whole[:end])
    assert two.notes() == {"s": "equal to abc, leads", "long": None, "bare": None}


def test_a_restarted_gateway_regains_its_locks(connect):
    before = connect()
    assert before.claim("s") == [LockChange("s")]
    saved = before.locks.saved()
    before.close()
    assert connect().claim("s") == [LockChange("s", TAKEN, UNRELEASED)]
    assert connect(restored=saved).restored == [LockChange("s")]


def test_a_lost_response_with_a_new_epoch_loses_no_lock(connect):
    """A permanent leave increases the group's epoch; the holder's next response contains it, and is lost."""
    one, two = connect(), connect()
    one.claim("s")
    two.claim("t")
    (held,) = two.locks.saved()
    assert two.send(LockBeat("t", held.member_id, -1, 0.0)).error == 0
    (saved,) = one.locks.saved()
    before = LockBeat("s", saved.member_id, saved.epoch, 0.0)
    moved = one.send(before)
    assert (moved.error, moved.epoch) == (0, saved.epoch + 1)
    assert one.send(before).error == 0
    assert one.beat() == [LockChange("s")]
    assert one.locks.saved() == (SavedLock("s", saved.member_id, moved.epoch),)


def test_the_model_responds_like_the_broker(connect):
    """Each kind of heartbeat from a holder, a former holder and others, in each state of a lock."""
    broker, model = connect(), HelperGroup()
    a, b = (str(uuid.uuid4()) for _ in "ab")
    ask = LockBeat("s", a, 0, 0.0)
    asked = [
        replace(ask, epoch=-2),
        ask,
        ask,
        replace(ask, member_id=b),
        replace(ask, epoch=1),
        replace(ask, epoch=9),
        replace(ask, member_id=b, epoch=-2),
        replace(ask, member_id=b, epoch=1),
        replace(ask, epoch=-2),
        replace(ask, epoch=-2),
        replace(ask, epoch=1),
        replace(ask, member_id=b),
        replace(ask, epoch=1),
        replace(ask, epoch=-2),
        replace(ask, member_id=b, epoch=1),
        ask,
    ]
    answers = [broker.send(beat) for beat in asked]
    wanted = [model.beat(beat, 0.0) for beat in asked]
    assert [each.error for each in answers] == [each.error for each in wanted]
    assert FENCED_MEMBER_EPOCH in {each.error for each in answers}
    assert all(isinstance(each, LockAnswer) and each.interval_seconds == 5.0 for each in answers if each.epoch > 0)


def test_a_broker_without_consumer_groups_refuses_a_claim_and_the_reason_is_named():
    properties = {"group.coordinator.rebalance.protocols": "classic"}
    with (
        EmbeddedKafka(properties=properties, offsets_topic=False) as kafka,
        LockConnection(kafka.bootstrap_servers, "g") as gateway,
    ):
        (change,) = gateway.claim("s")
        assert (change.loss, len(gateway.locks)) == (LockLoss.UNSUPPORTED, 0)
        assert "group.version 1 or higher" in loss_text("g", change.loss, change.error)
