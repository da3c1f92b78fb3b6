"""Pushes that wait for a collector: a source that pushes too much affects no other source."""

from rebalance_agent.runtime.otlp.waiting_pushes import WaitingPushes


def taken(waiting):
    return list(iter(waiting.next, None))


def test_sources_take_turns_and_each_keeps_its_order():
    waiting = WaitingPushes(100)
    for push, source in ((b"a1", "a"), (b"a2", "a"), (b"a3", "a"), (b"b1", "b"), (b"b2", "b")):
        assert waiting.put(push, source) == 0
    assert len(waiting) == 5
    assert taken(waiting) == [b"a1", b"b1", b"a2", b"b2", b"a3"]
    assert not waiting


def test_the_source_with_the_most_bytes_loses_its_oldest_pushes():
    waiting = WaitingPushes(101)
    assert waiting.put(b"honest", "a") == 0
    assert sum(waiting.put(bytes([number]) * 30, "flood") for number in range(50)) == 47
    assert waiting.put(b"other", "b") == 0
    assert taken(waiting) == [b"honest", b"/" * 30, b"other", b"0" * 30, b"1" * 30]


def test_a_push_above_the_whole_bound_is_dropped():
    waiting = WaitingPushes(10)
    assert (waiting.put(b"a", "a"), waiting.put(bytes(11), "b")) == (0, 1)
    assert taken(waiting) == [b"a"]


def test_clearing_forgets_the_bytes():
    waiting = WaitingPushes(10)
    waiting.put(bytes(10), "a")
    assert (waiting.clear(), len(waiting)) == (1, 0)
    assert (waiting.put(bytes(10), "a"), waiting.clear()) == (0, 1)
