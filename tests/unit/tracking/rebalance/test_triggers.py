import pytest

from rebalance_agent.model.episode import TRIGGER_PRECEDENCE, Trigger
from rebalance_agent.tracking.rebalance.triggers import in_precedence
from support.tracker.tracking import closing, member, record, tick, topics, watch

TOPICS = topics(0, t=4, u=2)
BEFORE = record(4_000, 1, member("a", (0, 1, 2, 3)))


def causes_of(*after, between=(), before=BEFORE, protocol="range"):
    _, events = watch(
        TOPICS, record(1_000, 0), before, *between, record(30_000, 2, *after, protocol=protocol), tick(99_000)
    )
    return closing(events)[-1].causes


def test_the_same_members_and_inputs_are_a_rejoin():
    assert causes_of(member("a", (0, 1, 2, 3))) == (Trigger.REJOIN,)


def test_an_additional_existing_topic_is_a_changed_subscription():
    assert causes_of(member("a", {"t": (0, 1, 2, 3), "u": (0, 1)}, topics=("t", "u"))) == (
        Trigger.SUBSCRIPTION_CHANGED,
    )


def test_a_new_topic_is_a_changed_set_of_topics():
    after = member("a", {"t": (0, 1, 2, 3), "v": (0,)}, topics=("t", "v"))
    assert causes_of(after) == (Trigger.TOPICS_CHANGED,), "no list contains it yet"
    assert causes_of(after, between=(topics(20_000, t=4, u=2, v=1),)) == (Trigger.TOPICS_CHANGED,)


def test_a_deleted_topic_is_a_changed_set_of_topics():
    before = record(4_000, 1, member("a", {"t": (0, 1, 2, 3), "u": (0, 1)}, topics=("t", "u")))
    after = member("a", (0, 1, 2, 3))
    assert causes_of(after, before=before) == (Trigger.SUBSCRIPTION_CHANGED,)
    assert causes_of(after, before=before, between=(topics(20_000, t=4),)) == (Trigger.TOPICS_CHANGED,)


def test_without_any_list_of_topics_a_new_one_is_a_changed_subscription():
    _, events = watch(
        record(1_000, 1, member("a", (0,))),
        record(4_000, 2, member("a", {"t": (0,), "u": (0,)}, topics=("t", "u"))),
        tick(99_000),
    )
    assert closing(events)[-1].causes == (Trigger.SUBSCRIPTION_CHANGED,)


def test_an_awaited_topic_that_now_exists_is_a_changed_set_of_topics():
    before = record(4_000, 1, member("a", (0, 1, 2, 3), topics=("t", "later")))
    after = member("a", {"t": (0, 1, 2, 3), "later": (0,)}, topics=("t", "later"))
    assert causes_of(after, before=before) == (Trigger.TOPICS_CHANGED,)


@pytest.mark.parametrize("between", [(), (topics(20_000, t=6, u=2),)])
def test_more_partitions_are_noticed_in_the_record_before_the_list(between):
    assert causes_of(member("a", (0, 1, 2, 3, 4, 5)), between=between) == (Trigger.PARTITIONS_CHANGED,)


def test_another_assignor_is_a_cause():
    assert causes_of(member("a", (0, 1, 2, 3)), protocol="roundrobin") == (Trigger.ASSIGNOR_CHANGED,)


def test_all_causes_are_listed_and_the_first_in_precedence_counts():
    causes = causes_of(member("b", {"t": (0, 1)}), member("c", {"t": (2, 3)}, topics=("t", "u")), protocol="roundrobin")
    assert causes == (Trigger.MEMBER_GONE, Trigger.MEMBER_JOINED, Trigger.ASSIGNOR_CHANGED)


def test_the_precedence_is_that_of_the_catalogue():
    assert in_precedence(reversed(TRIGGER_PRECEDENCE)) == TRIGGER_PRECEDENCE
    assert in_precedence([Trigger.REJOIN, Trigger.MEMBER_LEFT, Trigger.MEMBER_FAILED, Trigger.MEMBER_LEFT]) == (
        Trigger.MEMBER_FAILED,
        Trigger.MEMBER_LEFT,
        Trigger.REJOIN,
    )
