from __future__ import annotations

from rebalance_agent.instrumentation.delivery import outbox
from rebalance_agent.instrumentation.delivery.outbox import Outbox


def test_events_leave_the_outbox_in_order_one_line_each():
    box = Outbox()
    box.put(b"one")
    box.put(b"two")
    assert box.take().body == b"one\ntwo\n"
    assert box.take() is None


def test_a_full_outbox_drops_the_oldest_and_counts_it(monkeypatch):
    monkeypatch.setattr(outbox, "WAITING_MAX", 2)
    box = Outbox()
    for line in (b"1", b"2", b"3"):
        box.put(line)
    batch = box.take()
    assert (batch.body, batch.events, batch.dropped) == (b"2\n3\n", 2, 1)


def test_pending_bytes_are_bounded(monkeypatch):
    monkeypatch.setattr(outbox, "WAITING_BYTES_MAX", 10)
    box = Outbox()
    for line in (b"aaaa", b"bbbb", b"cccc"):
        box.put(line)
    assert (len(box), box.dropped) == (2, 1)


def test_a_too_long_event_is_dropped_and_counted_and_others_stay(monkeypatch):
    monkeypatch.setattr(outbox, "LINE_BYTES_MAX", 3)
    box = Outbox()
    box.put(b"abc")
    box.put(b"abcd")
    assert (len(box), box.dropped) == (1, 1)


def test_a_batch_is_bounded_in_events_and_in_bytes(monkeypatch):
    monkeypatch.setattr(outbox, "BATCH_EVENTS_MAX", 3)
    monkeypatch.setattr(outbox, "BATCH_BYTES_MAX", 10)
    box = Outbox()
    for line in (b"a", b"b", b"c", b"d", b"eeee", b"ffff"):
        box.put(line)
    assert [box.take().body for _ in range(3)] == [b"a\nb\nc\n", b"d\neeee\n", b"ffff\n"]


def test_an_event_of_the_longest_line_fits_in_a_batch():
    box = Outbox()
    box.put(b"x" * outbox.LINE_BYTES_MAX)
    assert box.take().events == 1
