"""The head start of records before groups are described."""

from __future__ import annotations

from contextlib import nullcontext

from rebalance_agent.errors import AccessDeniedError
from rebalance_agent.offsets_topic import tail as offsets_topic
from rebalance_agent.offsets_topic.tail import HEAD_START_S, OffsetsTail
from support.observer.fakes import Calls, fake_context


class Forbidden:
    def partitions(self):
        raise AccessDeniedError("no")


def test_a_tail_is_late_if_it_is_incomplete_after_its_head_start():
    context = fake_context()
    tail = OffsetsTail(context, lambda _reason: None)
    assert not tail.late
    context.clock.advance(round(HEAD_START_S * 1000))
    assert tail.late
    tail.caught_up.set()
    assert not tail.late


def test_a_tail_without_the_right_to_read_is_late_at_once(monkeypatch):
    monkeypatch.setattr(offsets_topic, "TopicReader", lambda *_: nullcontext(Forbidden()))
    reported = Calls()
    tail = OffsetsTail(fake_context(), reported.denied, on_late=reported.late)
    tail.worker.start()
    reported.wait_for(lambda calls: calls.of("denied"))
    tail.worker.stop()
    assert reported.made == [("late",), ("denied", "no")]
    assert tail.late
