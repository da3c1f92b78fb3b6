"""An observer that reads frames is killed at any moment: each reported generation has one event nevertheless."""

from __future__ import annotations

import pytest

from rebalance_agent.model.event_json import event_to_json
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.reported.led_generation import LedGenerationEvent
from rebalance_agent.offsets_topic.work_share.led_backlog import ClosingEvent, LedBacklog
from rebalance_agent.offsets_topic.work_share.led_share import LedShare
from rebalance_agent.tracking.observations import Tick, TopicsSeen
from rebalance_agent.tracking.tracker import Tracker
from support.observer.fakes import fake_context
from support.tracker.led_reports import led

SETTLE_MS, STEP_MS, END_MS = 1_000, 500, 60_000

EAGER = [
    led("eager", 1, 500, a=(0, 1)),
    led("eager", 2, 4_000, a=(0,), b=(1,)),
    led("eager", 3, 4_300, b=(0, 1)),
    led("eager", 4, 12_000, b=(0,), c=(1,)),
    led("eager", 1, 20_000, d=(0, 1)),  # the group was deleted and created again
    led("eager", 2, 25_000, d=(1,), e=(0,)),
]
STEPWISE = [  # the third generation assigns what a member gave up in the second one
    led("stepwise", 1, 700, owned={}, a=(0, 1)),
    led("stepwise", 2, 5_000, owned={"a": (0, 1)}, a=(0,), b=()),
    led("stepwise", 3, 7_000, owned={"a": (0,)}, a=(0,), b=(1,)),
    led("stepwise", 4, 15_000, owned={"a": (0,)}, a=(0, 1)),
]
REPORTS = sorted(EAGER + STEPWISE, key=lambda report: report.timestamp_ms)


class Observer:
    """One life of an observer; it reads and writes ``topic``."""

    def __init__(self, topic, now_ms):
        self._topic = topic
        self._context = fake_context()
        self._context.clock.advance(now_ms)
        self._share = LedShare(self._context, lambda: True)
        self._share.on_topics({"t": 2})
        self._tracker = Tracker("here", settle_ms=SETTLE_MS)
        self._tracker.observe(TopicsSeen(self._context.clock.now_ms(), {"t": 2}))
        backlog = LedBacklog()
        for event in topic:
            if closing := ClosingEvent.of(event_to_json(event), "here"):
                backlog.add_event(closing)
            elif isinstance(event, LedGenerationEvent):
                backlog.add(event)
        self._share.begin(backlog)
        self._observe()

    def read(self, report):
        self._share.put(report)
        self._observe()

    def step(self):
        self._context.clock.advance(STEP_MS)
        self._share.release()
        self._observe()

    def _observe(self):
        for observation in (*self._context.inbox.take(1_000, 0), Tick(self._context.clock.now_ms())):
            self._topic += self._tracker.observe(observation)


def lived(kill_ms, down_ms):
    """The events topic after an observer was killed at ``kill_ms`` and started again ``down_ms`` later."""
    topic, waiting = [], list(REPORTS)
    observer = Observer(topic, 0)
    for now_ms in range(0, END_MS, STEP_MS):
        if now_ms == kill_ms:
            observer = None
        if observer is None and now_ms >= kill_ms + down_ms:
            observer = Observer(topic, now_ms)
        while waiting and waiting[0].timestamp_ms <= now_ms:
            topic.append(waiting.pop(0))
            if observer:
                observer.read(topic[-1])
        if observer:
            observer.step()
    return topic


def published(topic):
    """The events about generations, without revisions."""
    return [event for event in topic if isinstance(event, GenerationEvent) and event.revision == 0]


def shown(event):
    members = {member.member_id: dict(member.assigned) for member in event.members}
    return event.group, event.generation, event.timestamp_ms, members, event.closes_episode


UNDISTURBED = published(lived(END_MS, 0))


def test_the_undisturbed_observer_publishes_each_report():
    assert len(UNDISTURBED) == len(REPORTS)
    assert sum(not event.closes_episode for event in UNDISTURBED) == 1


@pytest.mark.parametrize("down_ms", [0, STEP_MS, 6_000, 16_000])
def test_each_generation_has_one_event_whenever_the_observer_is_killed(down_ms):
    for kill_ms in range(0, 30_000, STEP_MS):
        events = published(lived(kill_ms, down_ms))
        assert sorted(map(shown, events), key=str) == sorted(map(shown, UNDISTURBED), key=str), kill_ms
        assert len({event.event_id for event in events}) == len(events), kill_ms


def test_the_event_after_a_restart_has_the_moves_since_the_last_published_generation():
    events = {event.event_id: event.moved for event in published(lived(10_000, 6_000))}
    assert events == {event.event_id: event.moved for event in UNDISTURBED}
