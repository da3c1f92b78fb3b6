from __future__ import annotations

import threading

from rebalance_agent.cluster.inbox import Inbox
from rebalance_agent.tracking.observations import Tick

PATIENCE_S = 10


def test_observations_come_out_in_the_order_in_which_they_went_in():
    inbox = Inbox()
    for at in range(5):
        inbox.put(Tick(at))
    assert inbox.take(3, 0) == [Tick(0), Tick(1), Tick(2)]
    assert inbox.take(3, 0) == [Tick(3), Tick(4)]
    assert inbox.take(3, 0) == []


def test_a_full_inbox_drops_polls_and_blocks_records():
    inbox = Inbox(1)
    inbox.put(Tick(1))
    assert not inbox.offer(Tick(2))
    waiting = threading.Thread(target=inbox.put, args=(Tick(3),), daemon=True)
    waiting.start()
    waiting.join(0.05)
    assert waiting.is_alive()
    assert inbox.take(1, 0) == [Tick(1)]
    waiting.join(PATIENCE_S)
    assert inbox.take(1, PATIENCE_S) == [Tick(3)]


def test_closing_the_inbox_ends_all_waits():
    full, empty, results = Inbox(1), Inbox(), []
    full.put(Tick(1))
    threads = [
        threading.Thread(target=full.put, args=(Tick(2),), daemon=True),
        threading.Thread(target=lambda: results.append(empty.take(1, PATIENCE_S * 10)), daemon=True),
    ]
    for thread in threads:
        thread.start()
    full.close()
    empty.close()
    for thread in threads:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()
    assert results == [[]]


def test_what_was_inside_when_it_closed_can_still_be_taken_and_nothing_comes_after():
    inbox = Inbox()
    inbox.put(Tick(1))
    inbox.close()
    inbox.put(Tick(2))
    assert not inbox.offer(Tick(3))
    assert inbox.take(9, 0) == [Tick(1)]
    assert len(inbox) == 0
