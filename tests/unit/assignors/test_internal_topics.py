"""Internal topics are complete before an assignment, or an error names the problem."""

from __future__ import annotations

import pytest

from rebalance_agent.assignors import strategy
from rebalance_agent.assignors.internal_topics import PROBLEMS_MAX, prepare, wanted_topics
from rebalance_agent.errors import AssignmentError, ClusterError, InternalTopicError
from rebalance_agent.model.subscription import TopicMetadata
from support.assignors.rules import group, member
from support.assignors.standbys import stateful

TASKS = strategy("task-sticky")
COPARTITIONED = strategy("copartitioned-sticky")
TOPOLOGY = "0:orders,users|repartition=by-user|changelog=store;1:by-user|repartition=by-day*2|changelog=totals;2:by-day"


class Admin:
    def __init__(self, refuse=False):
        self.created = []
        self.refuse = refuse

    def create_topics(self, topics):
        if self.refuse:
            raise ClusterError("may not create topics")
        self.created.append(dict(topics))


def tasks(topics, subtopologies=TOPOLOGY):
    return stateful(topics, member("m", "orders users by-user by-day"), subtopologies=subtopologies)


def test_an_internal_topic_has_the_maximum_partition_count_of_its_sources_through_all_subtopologies():
    assert wanted_topics(TASKS, tasks({"orders": 6, "users": 8})) == {
        "by-user": 8,
        "store": 8,
        "totals": 8,
        "by-day": 2,
    }


def test_the_order_of_the_subtopologies_does_not_matter():
    turned = ";".join(reversed(TOPOLOGY.split(";")))
    subject = {"orders": 6, "users": 8}
    assert wanted_topics(TASKS, tasks(subject, turned)) == wanted_topics(TASKS, tasks(subject))


def test_a_configured_count_overrides_the_writers():
    assert wanted_topics(TASKS, tasks({"orders": 6}, "0:orders|repartition=r*3;1:r|changelog=s")) == {"r": 3, "s": 3}


def test_a_loop_has_the_partition_count_of_its_sources():
    assert wanted_topics(TASKS, tasks({"orders": 6}, "0:orders,back|repartition=on;1:on|repartition=back")) == {
        "on": 6,
        "back": 6,
    }


def test_a_long_chain_of_subtopologies_is_resolved():
    length = 1000
    chain = ";".join(f"{n}:t{n}|repartition=t{n + 1}" for n in reversed(range(length)))
    subject = stateful({"t0": 5}, member("m", "t0"), subtopologies=chain)
    assert set(wanted_topics(TASKS, subject).values()) == {5}


def test_a_changelog_of_a_copartition_group_has_its_topics_count():
    subject = stateful({"t": 4}, member("m", "t"), changelogs="t,t=store,gone=other")
    assert wanted_topics(COPARTITIONED, subject) == {"store": 4, "other": 0}


def test_a_group_with_complete_topics_is_unchanged():
    subject = tasks({"orders": 8, "by-user": 8, "store": 8, "totals": 8, "by-day": 2})
    admin = Admin()
    assert prepare(TASKS, subject) is subject
    assert prepare(TASKS, subject, admin) is subject
    assert admin.created == []


@pytest.mark.parametrize("name", ["range", "weighted-sticky", "task-sticky", "cooperative-copartitioned-sticky"])
def test_a_group_without_internal_topics_is_unchanged(name):
    subject = group({"t": 4}, member("m", "t"))
    assert prepare(strategy(name), subject, Admin(refuse=True)) is subject


def test_missing_topics_are_created_and_then_known():
    admin = Admin()
    prepared = prepare(TASKS, tasks({"orders": 8, "store": 8}), admin)
    assert admin.created == [{"by-user": 8, "totals": 8, "by-day": 2}]
    assert prepared.topics == {
        name: TopicMetadata(count)
        for name, count in {"orders": 8, "store": 8, "by-user": 8, "totals": 8, "by-day": 2}.items()
    }
    assert len(TASKS.assign(prepared).members["m"]["by-user"]) == 8


def test_without_an_admin_every_problem_is_named_with_its_remedy():
    with pytest.raises(InternalTopicError) as caught:
        prepare(TASKS, tasks({"orders": 8, "store": 4, "by-user": 8, "totals": 8}))
    assert str(caught.value) == (
        "task-sticky: internal topic by-day needs 2 partitions, but does not exist; create it, or call "
        "`prepare` with an admin, which creates it; internal topic store needs 8 partitions, but has 4; delete it, so "
        "that it is created again (its data is lost), or correct the topics that decide its count"
    )
    assert isinstance(caught.value, AssignmentError)


def test_no_topic_is_created_while_there_is_a_problem():
    admin = Admin()
    with pytest.raises(InternalTopicError, match="store needs 8 partitions, but has 4") as caught:
        prepare(TASKS, tasks({"orders": 8, "store": 4}), admin)
    assert admin.created == []
    assert "by-day" not in str(caught.value)


def test_an_undetermined_count_is_a_problem_also_with_an_admin():
    with pytest.raises(InternalTopicError, match="store has an unknown partition count; none of the topics that"):
        prepare(TASKS, tasks({}, "0:orders|changelog=store"), Admin())


def test_a_failure_of_the_admin_is_raised_unchanged():
    with pytest.raises(ClusterError, match="may not create topics"):
        prepare(TASKS, tasks({"orders": 8}), Admin(refuse=True))


def test_an_error_has_a_maximum_length():
    names = ",".join(f"s{n:04}" for n in range(PROBLEMS_MAX + 20))
    with pytest.raises(InternalTopicError, match=r"; and 20 more$"):
        prepare(TASKS, tasks({"orders": 8}, f"0:orders|changelog={names}"))


def test_assign_never_requests_internal_topics():
    assert TASKS.assign(tasks({"orders": 8, "store": 4})).members["m"]["orders"] == tuple(range(8))
