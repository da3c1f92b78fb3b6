"""The settings of share groups are read rarely, of few groups at a time, and of new groups soon."""

from __future__ import annotations

import pytest

from rebalance_agent.errors import AccessDeniedError, ClusterError
from rebalance_agent.model.group import DeadLetterQueue, GroupType
from rebalance_agent.polls.settings.dead_letter_queues import DeadLetterQueues
from rebalance_agent.polls.settings.read_schedule import GROUPS_MAX, LOOK_EVERY_S, REFRESH_S, RETRY_S
from support.observer.fakes import fake_context
from support.observer.views import full_view

TOPIC, COPY = "errors.deadletterqueue.topic.name", "errors.deadletterqueue.copy.record.enable"
OLD = {"share.session.timeout.ms": "45000", "consumer.session.timeout.ms": "45000"}


class Bench:
    """A cluster with the share group ``s`` and a classic group; requests about groups in ``failing`` fail."""

    def __init__(self):
        self.groups, self.failing, self.requested = ["s"], {}, []
        self.answer = OLD | {TOPIC: "dlq.s", COPY: "true"}
        self.context = fake_context(self)
        self.poll = DeadLetterQueues(self.context, self.views)

    def views(self):
        return [full_view("g"), *(full_view(name, group_type=GroupType.SHARE) for name in self.groups)]

    def settings(self, kind, name):
        self.requested.append((kind, name))
        if name in self.failing:
            raise self.failing[name]
        return self.answer

    def after(self, seconds):
        """Return the groups whose settings are read at a call after ``seconds``, and the queues that are put."""
        self.requested.clear()
        self.context.clock.advance(round(seconds * 1000))
        self.poll()
        observed = self.context.inbox.take(10, 0)
        assert {kind for kind, _ in self.requested} <= {"group"}
        return [name for _, name in self.requested], (observed[-1].queues if observed else None)


@pytest.fixture
def bench():
    return Bench()


@pytest.mark.parametrize(
    ("topic", "copies", "queue"),
    [
        ("dlq.s", "true", DeadLetterQueue("dlq.s", True)),
        ("dlq.s", "false", DeadLetterQueue("dlq.s", False)),
        ("", "false", DeadLetterQueue("", False)),
    ],
)
def test_the_queue_is_as_the_settings_name_it(bench, topic, copies, queue):
    bench.answer = OLD | {TOPIC: topic, COPY: copies}
    assert bench.after(0) == (["s"], {"s": queue})


def test_brokers_without_the_settings_show_no_queue(bench, caplog):
    bench.answer = OLD
    assert bench.after(0) == (["s"], {"s": None})
    assert caplog.text == ""


def test_without_a_share_group_nothing_is_requested_or_observed(bench):
    bench.groups = []
    assert bench.after(0) == ([], None)


def test_settings_are_read_again_only_after_minutes_but_those_of_a_new_group_at_the_next_call(bench):
    bench.after(0)
    bench.groups = ["s", "new"]
    assert bench.after(LOOK_EVERY_S)[0] == ["new"]
    bench.answer = OLD | {TOPIC: "", COPY: "false"}
    assert bench.after(REFRESH_S - LOOK_EVERY_S - 1)[0] == []
    names, queues = bench.after(1)
    assert (names, queues["s"], queues["new"]) == (["s"], DeadLetterQueue("", False), DeadLetterQueue("dlq.s", True))


def test_each_call_repeats_the_known_queues_since_a_group_may_have_been_dropped_meanwhile(bench):
    assert [bench.after(LOOK_EVERY_S)[1] for _ in range(2)] == [{"s": DeadLetterQueue("dlq.s", True)}] * 2


def test_a_group_that_is_gone_is_forgotten(bench):
    bench.after(0)
    bench.groups = []
    assert bench.after(LOOK_EVERY_S) == ([], None)
    bench.groups = ["s"]
    assert bench.after(LOOK_EVERY_S)[0] == ["s"]


def test_one_call_reads_few_groups_and_the_next_calls_read_the_others(bench):
    bench.groups = [f"s{number:02}" for number in range(GROUPS_MAX + 5)]
    first, second = bench.after(0)[0], bench.after(LOOK_EVERY_S)[0]
    assert (len(first), sorted(first + second)) == (GROUPS_MAX, bench.groups)
    assert bench.after(LOOK_EVERY_S)[0] == []


def test_a_denied_permission_is_logged_once_and_hides_the_queue(bench, caplog):
    bench.groups = ["s", "s2"]
    bench.after(0)
    bench.failing = dict.fromkeys(bench.groups, AccessDeniedError("Group authorization failed"))
    assert bench.after(REFRESH_S) == (["s", "s2"], {"s": None, "s2": None})
    bench.after(REFRESH_S)
    assert caplog.text.count("DescribeConfigs") == 1
    del bench.failing["s2"]
    assert bench.after(REFRESH_S)[1] == {"s": None, "s2": DeadLetterQueue("dlq.s", True)}


def test_a_failure_ends_the_call_and_keeps_the_queues(bench, caplog):
    bench.groups = ["a", "b", "c"]
    known = bench.after(0)[1]
    bench.failing = {"a": ClusterError("no broker answers")}
    assert bench.after(REFRESH_S) == (["a"], known)
    assert bench.after(LOOK_EVERY_S)[0] == ["b", "c"]
    assert bench.after(RETRY_S - LOOK_EVERY_S) == (["a"], known)
    assert caplog.text.count("no broker answers") == 1
    bench.failing = {}
    assert bench.after(RETRY_S)[0] == ["a"]
    bench.failing = {"b": ClusterError("no broker answers")}
    bench.after(REFRESH_S)
    assert caplog.text.count("no broker answers") == 2


def test_an_error_of_our_own_does_not_end_the_schedule(bench):
    bench.failing = {"s": ValueError("a bug")}
    assert bench.after(0) == (["s"], None)
