"""The promises of task-sticky, case by case."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from rebalance_agent.assignors import judge, strategy
from rebalance_agent.errors import AssignmentError
from rebalance_agent.model.partitions import count_partitions
from support.assignors.rules import member
from support.assignors.standbys import (
    PROCESS,
    STANDBYS,
    STATE_FACTOR,
    SUBTOPOLOGIES,
    equals,
    holders,
    loads,
    owners,
    settled,
    stateful,
    without,
)

EAGER = strategy("task-sticky")
COOPERATIVE = strategy("cooperative-task-sticky")


def threads(topics, *processes, **config):
    """Members a0, a1, ... of process a and so on; ``processes`` are strings such as "a3" for three threads of process
    a."""
    return stateful(
        topics,
        *(
            member(f"{process[0]}{n}", " ".join(topics), config={PROCESS: process[0]})
            for process in processes
            for n in range(int(process[1:]))
        ),
        **config,
    )


def by_process(counts):
    total = Counter()
    for member_id, count in counts.items():
        total[member_id[0]] += count
    return total


class TestTasks:
    def test_a_task_is_one_partition_number_of_all_source_topics(self):
        subject = equals({"orders": 6, "users": 3, "rest": 6}, 3, subtopologies="0:orders,users")
        assigned = EAGER.assign(subject).members
        where = owners(assigned)
        assert all(where["orders", number] == where["users", number] for number in range(3))
        assert set(loads(assigned, "orders").values()) == {2}

    def test_topics_without_a_subtopology_are_copartitioned_by_count(self):
        subject = equals({"a": 4, "b": 4, "c": 4, "d": 4}, 2, subtopologies="0:a,b")
        assigned = EAGER.assign(subject).members
        assert all(topics["a"] == topics["b"] and topics["c"] == topics["d"] for topics in assigned.values())
        assert [count_partitions(topics) for topics in assigned.values()] == [8, 8]

    def test_without_subtopologies_it_equals_copartitioned_sticky(self):
        subject = equals({"a": 5, "b": 5, "c": 3}, 3, standbys=1)
        mine, theirs = EAGER.assign(subject), strategy("copartitioned-sticky").assign(subject)
        assert (mine.target, mine.standbys) == (theirs.target, theirs.standbys)

    def test_with_different_subscriptions_a_task_is_split_among_the_subscribers_of_its_topics(self):
        subject = stateful({"t": 4, "u": 4}, member("new", "t u"), member("old", "t"), subtopologies="0:t,u")
        assigned = EAGER.assign(subject).members
        assert loads(assigned, "t") == {"new": 2, "old": 2}
        assert loads(assigned, "u") == {"new": 4, "old": 0}


class TestProcesses:
    def test_processes_get_tasks_in_proportion_to_their_threads(self):
        counts = loads(EAGER.assign(threads({"t": 12}, "a3", "b1")).members, "t")
        assert by_process(counts) == {"a": 9, "b": 3}
        assert set(counts.values()) == {3}

    def test_a_member_without_subscription_counts_as_no_thread(self):
        members = (member("a0", "t u", config={PROCESS: "a"}), member("a1", "", config={PROCESS: "a"}))
        subject = stateful({"t": 1, "u": 3}, *members, member("b0", "t u"))
        assigned = EAGER.assign(subject).members
        assert [count_partitions(assigned[name]) for name in ("a0", "a1", "b0")] == [2, 0, 2]

    def test_every_thread_has_its_rounded_share(self):
        counts = loads(EAGER.assign(threads({"t": 11}, "a3", "b1", "c2")).members, "t")
        assert set(counts.values()) == {1, 2}
        assert by_process(counts)["a"] in {5, 6}
        assert by_process(counts)["b"] in {1, 2}

    def test_tasks_are_dealt_round_robin_to_the_threads_of_a_process(self):
        subject = threads({"t": 4}, "a2")
        assert EAGER.assign(subject).members == {"a0": {"t": (0, 2)}, "a1": {"t": (1, 3)}}

    def test_a_task_stays_in_its_process_when_a_thread_ends(self):
        subject = threads({"t": 12}, "a2", "b2", "c2")
        before = EAGER.assign(subject)
        after = EAGER.assign(without(settled(subject, before), "a1"))
        had, has = owners(before.target), owners(after.target)
        assert all(has[pair] == owner for pair, owner in had.items() if owner != "a1")
        assert set(loads(after.target, "t").values()) == {2, 3}

    def test_a_restarted_thread_gets_tasks_of_its_process(self):
        subject = threads({"t": 8}, "a2", "b2")
        before = EAGER.assign(subject)
        restarted = replace(settled(subject, before), members=())
        members = [
            replace(each, owned={} if each.member_id == "a1" else each.owned)
            for each in settled(subject, before).members
        ]
        lost = before.target["a1"]["t"]
        # The process still has the state of its former thread's tasks; another of its threads reports it.
        members[0] = replace(members[0], standbys={"t": lost})
        after = EAGER.assign(replace(restarted, members=tuple(members)))
        assert {owners(after.target)["t", number][0] for number in lost} == {"a"}

    def test_each_member_without_a_process_id_is_its_own_process(self):
        subject = equals({"t": 6}, 3, standbys=2)
        assignment = EAGER.assign(subject)
        assert all(len(members) == 2 for members in holders(assignment).values())

    def test_a_process_id_equal_to_a_member_id_is_not_that_members_process(self):
        subject = stateful({"t": 2}, member("a", "t"), member("b", "t", config={PROCESS: "a"}), standbys=1)
        assert holders(EAGER.assign(subject)) == {("t", 0): {"b"}, ("t", 1): {"a"}}


class TestStandbys:
    def test_copies_are_in_other_processes_and_balanced_over_threads(self):
        assignment = EAGER.assign(threads({"t": 12}, "a2", "b2", "c2", standbys=1))
        active = owners(assignment.target)
        for pair, members in holders(assignment).items():
            (holder,) = members
            assert holder[0] != active[pair][0]
        assert set(loads(assignment.standbys, "t").values()) == {2}

    def test_a_single_process_has_no_copies(self):
        assert not holders(EAGER.assign(threads({"t": 6}, "a3", standbys=1)))

    def test_copies_of_a_process_s_tasks_are_in_several_other_processes(self):
        assignment = EAGER.assign(threads({"t": 12}, "a1", "b1", "c1", "d1", standbys=1))
        where = holders(assignment)
        for topics in assignment.target.values():
            assert len({min(where["t", number]) for number in topics["t"]}) == 3

    @pytest.mark.parametrize("form", [EAGER, COOPERATIVE])
    def test_a_process_with_the_state_takes_over(self, form):
        subject = threads({"t": 12}, "a1", "b1", "c1", "d1", standbys=1)
        before = EAGER.assign(subject)
        after = form.assign(without(settled(subject, before), "c0"))
        assert all(
            {owners(after.target)["t", number]} == holders(before)["t", number] for number in before.target["c0"]["t"]
        )

    def test_a_process_takes_over_up_to_twice_its_share(self):
        subject = threads({"t": 12}, "a1", "b1", "c1", standbys=1)
        had = {"a0": ((0, 1), range(2, 12)), "b0": ((), ()), "c0": ((), ())}
        members = tuple(
            replace(each, owned={"t": tuple(owned)}, generation=1, standbys={"t": tuple(copied)})
            for each in subject.members
            for owned, copied in [had[each.member_id]]
        )
        subject = replace(subject, members=members)
        assert loads(EAGER.assign(subject).target, "t") == {"a0": 8, "b0": 2, "c0": 2}
        more = replace(subject, config={**subject.config, STATE_FACTOR: "3"})
        assert loads(EAGER.assign(more).target, "t") == {"a0": 12, "b0": 0, "c0": 0}

    def test_a_new_process_gets_tasks_once_it_has_their_state(self):
        subject = threads({"t": 6}, "a1", "b1", standbys=1)
        ready = settled(subject, EAGER.assign(subject))
        joined = replace(ready, members=(*ready.members, *threads({"t": 6}, "c1").members))
        first = EAGER.assign(joined)
        assert first.target["c0"] == {}
        second = EAGER.assign(settled(joined, first))
        assert loads(second.target, "t") == {"a0": 2, "b0": 2, "c0": 2}

    def test_the_changelogs_of_a_task_are_copied(self):
        subject = stateful(
            {"orders": 4, "store": 4},
            *(member(f"m{n}", "orders") for n in range(2)),
            standbys=1,
            subtopologies="0:orders|changelog=store",
        )
        assert holders(EAGER.assign(subject)).keys() == {("store", number) for number in range(4)}

    def test_a_subtopology_with_empty_changelog_has_no_state(self):
        assert not holders(EAGER.assign(equals({"t": 4}, 2, standbys=1, subtopologies="0:t|changelog=")))
        assert holders(EAGER.assign(equals({"t": 4}, 2, standbys=1, subtopologies="0:t")))

    def test_a_changelog_with_other_subscribers_is_not_copied(self):
        subject = equals({"t": 2, "u": 3}, 2, standbys=1, subtopologies="0:t|changelog=u;1:u|changelog=")
        assert not holders(EAGER.assign(subject))

    def test_the_state_of_a_split_task_is_counted_once(self):
        subject = stateful(
            {"t": 4, "u": 2, "s": 4},
            *(member(name, "t u") for name in ("m0", "m1")),
            *(member(name, "t") for name in ("m2", "m3")),
            standbys=1,
            subtopologies="0:u,t|changelog=s",
        )
        where = holders(EAGER.assign(subject))
        assert where.keys() == {("s", number) for number in range(4)}
        assert all(len(members) == 1 for members in where.values())


class TestUserData:
    def test_user_data_contains_process_and_state(self):
        config = {PROCESS: "host-1", STANDBYS: "1"}
        data = EAGER.user_data(config, {"t": (0,)}, 3, {"t": (1,)})
        reported = EAGER.reader(data)
        assert reported.settings[PROCESS] == "host-1"
        subject = stateful(
            {"t": 4},
            member("a", "t", user_data=data),
            member("b", "t", user_data=EAGER.user_data(config, {})),
            member("c", "t"),
            member("d", "t"),
            standbys=1,
        )
        active = owners(EAGER.assign(subject).target)
        assert active["t", 0] == "a"
        assert active["t", 1] in {"a", "b"}
        assert all(
            (active[pair] in {"a", "b"}) != (min(members) in {"a", "b"})
            for pair, members in holders(EAGER.assign(subject)).items()
        )

    def test_a_too_long_process_id_affects_only_that_member(self):
        fair = EAGER.user_data({}, {})
        bad = b"\0\1" + b"\x27\x10" + b"x" * 10_000 + fair[4:]
        subject = stateful({"t": 2}, member("a", "t", user_data=bad), member("b", "t"))
        assignment = EAGER.assign(subject)
        assert assignment.user_data_errors == {"a": "StandbySubscription.process_id: longer than 255 characters"}
        assert set(loads(assignment.members, "t").values()) == {1}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("orders", "'orders' is not NAME:TOPIC,..."),
        ("0:", "'' is not a topic name"),
        (":t", "'' is not a topic name"),
        ("0:t;", "'' is not NAME:TOPIC,..."),
        ("0:t;0:u", "sub-topology 0 appears twice"),
        ("0:t;1:t", "source topic t appears twice"),
        ("0:t|changelog=s;1:u|changelog=s", "internal topic s appears twice"),
        ("0:t|store=s", "'store=s' is neither repartition=... nor changelog=..., once each"),
        ("0:t|changelog=s|changelog=r", "'changelog=r' is neither"),
        ("0:t|repartition=r*0", "'r*0' must have from 1 to 1000000 partitions"),
        ("0:t|repartition=r*x", "'r*x' is not TOPIC*PARTITIONS"),
        ("0:t|repartition=r*99999999999999999999", "is not TOPIC*PARTITIONS"),
        ("0:t|repartition=", "'' is not a topic name"),
        ("0:..", "'..' is not a topic name"),
        ("0:" + "t," * 20_000, "must be NAME:TOPIC,... separated by semicolons"),
    ],
)
def test_wrong_subtopologies_in_the_leaders_settings_are_refused(text, problem):
    with pytest.raises(AssignmentError, match=f"^{SUBTOPOLOGIES}: ") as caught:
        EAGER.assign(equals({"t": 2}, 2, subtopologies=text))
    assert problem in str(caught.value)


def test_a_process_id_has_a_maximum_length():
    assert EAGER.user_data({PROCESS: "x" * 255}, {})
    with pytest.raises(AssignmentError, match=PROCESS):
        EAGER.user_data({PROCESS: "x" * 256}, {})


def test_skew_is_relative_to_a_threads_share_of_tasks():
    subject = equals({"orders": 4, "users": 2}, 2, subtopologies="0:orders,users")
    assert EAGER.targets(subject) == {"m0": 4, "m1": 4}
    quality = judge(subject, EAGER.assign(subject), EAGER)
    assert (quality.skew_ratio, quality.imbalance) == (1.0, 0)
