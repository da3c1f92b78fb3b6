"""Named cases: from Kafka's documents, its bug reports, and the promises of each strategy."""

from __future__ import annotations

import pytest

from rebalance_agent.assignors import STRATEGIES, judge, strategy
from rebalance_agent.errors import AssignmentError
from rebalance_agent.groupprotocol.user_data import WEIGHT_SETTING, decode_priority, decode_weighted, encode_weighted
from rebalance_agent.model.partitions import count_partitions
from rebalance_agent.model.subscription import GroupSubscription, MemberUserData, TopicMetadata
from support.assignors.rules import PRIORITY, WEIGHT, group, member


def assigned(name, subject):
    return strategy(name).assign(subject).members


def counts(name, subject):
    return {member_id: count_partitions(topics) for member_id, topics in assigned(name, subject).items()}


def weighted_group(partitions, **weights):
    return group(
        {"t": partitions}, *(member(name, "t", config={WEIGHT: str(weight)}) for name, weight in weights.items())
    )


class TestRange:
    def test_the_first_members_get_one_more_partition(self):
        subject = group({"t": 5}, member("m2", "t"), member("m1", "t"))
        assert assigned("range", subject) == {"m1": {"t": (0, 1, 2)}, "m2": {"t": (3, 4)}}

    def test_topics_of_equal_count_are_copartitioned(self):
        subject = group({"t": 5, "u": 5}, *(member(f"m{n}", "t u") for n in range(3)))
        result = strategy("range").assign(subject)
        assert all(topics["t"] == topics["u"] for topics in result.members.values())
        assert judge(subject, result).copartition_breaks == 0

    def test_static_members_come_first_by_instance_id(self):
        subject = group(
            {"t": 3}, member("a", "t"), member("z", "t", instance_id="i2"), member("y", "t", instance_id="i3")
        )
        assert list(assigned("range", subject)) == ["z", "y", "a"]
        assert assigned("range", subject)["z"] == {"t": (0,)}

    def test_kip_881_partitions_go_to_racks_of_their_replicas(self):
        subject = group(
            {"t": TopicMetadata(3, (("r3",), ("r1",), ("r2",)))},
            *(member(f"m{n}", "t", rack=f"r{n}") for n in (1, 2, 3)),
        )
        assert assigned("range", subject) == {"m1": {"t": (1,)}, "m2": {"t": (2,)}, "m3": {"t": (0,)}}

    def test_kip_881_racks_do_not_break_copartitioning(self):
        racks = (("r2",), ("r1",), ("r2",), ("r1",))
        other = (("r2",), ("r1",), ("r1",), ("r1",))
        subject = group(
            {"t": TopicMetadata(4, racks), "u": TopicMetadata(4, other)},
            member("m1", "t u", rack="r1"),
            member("m2", "t u", rack="r2"),
        )
        result = strategy("range").assign(subject)
        assert result.members["m1"] == {"t": (1, 3), "u": (1, 3)}
        assert judge(subject, result).copartition_breaks == 0
        assert judge(subject, result).rack_misses == 1

    def test_range_assigns_eighty_small_topics_to_the_first_member(self):
        subject = group(
            {f"t{n}": 1 for n in range(80)}, *(member(f"m{n}", " ".join(f"t{i}" for i in range(80))) for n in range(4))
        )
        range_quality = judge(subject, strategy("range").assign(subject))
        assert range_quality.skew_ratio == 4.0
        assert range_quality.imbalance == 60
        assert judge(subject, strategy("shuffled-roundrobin").assign(subject)).skew_ratio == 1.0


class TestRoundrobin:
    def test_roundrobin_skips_members_that_do_not_subscribe_to_the_topic(self):
        # the example in the documentation of Kafka's RoundRobinAssignor
        subject = group(
            {"t0": 1, "t1": 2, "t2": 3}, member("C0", "t0"), member("C1", "t0 t1"), member("C2", "t0 t1 t2")
        )
        assert assigned("roundrobin", subject) == {
            "C0": {"t0": (0,)},
            "C1": {"t1": (0,)},
            "C2": {"t1": (1,), "t2": (0, 1, 2)},
        }

    def test_kafka_python_fails_with_mixed_subscriptions(self):
        """kafka-python fails here, we and Kafka do not; delete this test once kafka-python is fixed."""
        kafka = pytest.importorskip("kafka.coordinator.assignors.roundrobin")
        abstract = pytest.importorskip("kafka.coordinator.assignors.abstract")
        subscribed = {"C0": ["t0"], "C1": ["t0", "t1"]}

        class Cluster:
            @staticmethod
            def partitions_for_topic(topic):
                return {0, 1}

        class Member:
            group_instance_id = None

            def __init__(self, member_id, topics):
                self.member_id = member_id
                self.metadata = abstract.ConsumerProtocolSubscription(0, topics, b"")

        with pytest.raises(KeyError):
            kafka.RoundRobinPartitionAssignor.assign(
                Cluster, [Member(member_id, topics) for member_id, topics in subscribed.items()]
            )
        subject = group({"t0": 2, "t1": 2}, *(member(name, " ".join(topics)) for name, topics in subscribed.items()))
        assert counts("roundrobin", subject) == {"C0": 1, "C1": 3}


class TestWeighted:
    def test_weights_900_90_10_on_100_partitions_give_90_9_1(self):
        assert counts("weighted-sticky", weighted_group(100, a=900, b=90, c=10)) == {"a": 90, "b": 9, "c": 1}

    def test_remaining_partitions_go_to_the_largest_remainders(self):
        # 7 partitions over weights 3, 2, 2: shares 3, 2, 2; 8: 3.43, 2.29, 2.29; 9: 3.86, 2.57, 2.57
        assert counts("weighted-sticky", weighted_group(8, a=3, b=2, c=2)) == {"a": 4, "b": 2, "c": 2}
        assert counts("weighted-sticky", weighted_group(9, a=3, b=2, c=2)) == {"a": 4, "b": 3, "c": 2}

    def test_only_members_that_may_round_up_have_a_higher_target(self):
        assert strategy("weighted-sticky").targets(weighted_group(8, a=3, b=2, c=2)) == {"a": 4, "b": 2, "c": 2}
        assert strategy("weighted-sticky").targets(weighted_group(9, a=3, b=2, c=2)) == {"a": 4, "b": 3, "c": 3}

    def test_with_equal_remainders_the_current_owner_keeps_one_more(self):
        subject = group({"t": 3}, member("a", "t", owned={"t": (0,)}), member("b", "t", owned={"t": (1, 2)}))
        assert counts("weighted-sticky", subject) == {"a": 1, "b": 2}

    def test_a_weight_in_user_data_overrides_the_configuration(self):
        heavy = encode_weighted(MemberUserData({WEIGHT_SETTING: 3}, {"t": (0,)}))
        subject = group({"t": 4}, member("a", "t"), member("b", "t", user_data=heavy, config={WEIGHT: "1"}))
        assert counts("weighted-sticky", subject) == {"a": 1, "b": 3}
        assert 0 in assigned("weighted-sticky", subject)["b"]["t"]

    def test_owned_partitions_in_the_subscription_override_those_in_user_data(self):
        reported = encode_weighted(MemberUserData({WEIGHT_SETTING: 1}, {"t": (0, 1)}))
        subject = group({"t": 4}, member("a", "t", owned={"t": (2, 3)}, user_data=reported), member("b", "t"))
        assert assigned("weighted-sticky", subject)["a"] == {"t": (2, 3)}

    @pytest.mark.parametrize("damage", [b"\x00", b"\xff\xff\xff\xff", b"\x00\x00\x00\x00", b"\x00\x00\x00\x02\x00"])
    def test_damaged_user_data_affects_only_its_member(self, damage):
        subject = group({"t": 4}, member("a", "t", user_data=damage), member("b", "t", config={WEIGHT: "3"}))
        result = strategy("weighted-sticky").assign(subject)
        assert result.user_data_errors.keys() == {"a"}
        assert count_partitions(result.members["a"]) == 1

    def test_a_newcomer_gets_partitions_of_every_topic(self):
        topics = {f"t{n}": 4 for n in range(10)}
        names = " ".join(topics)
        before = group(topics, *(member(f"m{n}", names) for n in range(3)))
        target = assigned("weighted-sticky", before)
        after = group(
            topics, *(member(name, names, owned=owned) for name, owned in target.items()), member("m9", names)
        )
        result = strategy("weighted-sticky").assign(after)
        assert len(result.members["m9"]) >= 6
        assert judge(after, result).moved == judge(after, result).moved_min == 10

    def test_shares_are_proportional_to_weights_as_far_as_subscriptions_allow(self):
        # only b takes u: its 6 partitions are more than its weight's share of all 8, so a gets all of t
        subject = group(
            {"t": 2, "u": 6}, member("a", "t", config={WEIGHT: "1"}), member("b", "t u", config={WEIGHT: "2"})
        )
        assert counts("weighted-sticky", subject) == {"a": 2, "b": 6}

    def test_kip_54_partitions_with_mixed_subscriptions_stay_when_a_member_leaves(self):
        topics = {"t0": 1, "t1": 2, "t2": 3}
        before = group(topics, member("C0", "t0"), member("C1", "t0 t1"), member("C2", "t0 t1 t2"))
        target = assigned("weighted-sticky", before)
        assert target == {"C0": {"t0": (0,)}, "C1": {"t1": (0, 1)}, "C2": {"t2": (0, 1, 2)}}
        after = group(topics, member("C1", "t0 t1", owned=target["C1"]), member("C2", "t0 t1 t2", owned=target["C2"]))
        assert assigned("weighted-sticky", after) == {"C1": {"t0": (0,), "t1": (0, 1)}, "C2": {"t2": (0, 1, 2)}}

    def test_failover_reads_the_user_data_that_it_writes(self):
        data = strategy("weighted-sticky").user_data({WEIGHT: "7"}, {"t": (1, 2)})
        assert decode_weighted(data) == MemberUserData({WEIGHT_SETTING: 7}, {"t": (1, 2)})

    @pytest.mark.parametrize("wrong", ["0", "-1", "x", "1.5", "", "2147483648", "9" * 5000, "٣"])
    def test_an_invalid_weight_is_named(self, wrong):
        with pytest.raises(AssignmentError, match=r"assignment\.consumer\.weight: must be a whole number from 1"):
            strategy("weighted-sticky").user_data({WEIGHT: wrong}, {})


class TestFailover:
    def test_everything_goes_to_the_highest_priority(self):
        subject = group(
            {"t": 3, "u": 2}, member("a", "t u", config={PRIORITY: "1"}), member("b", "t u", config={PRIORITY: "2"})
        )
        assert counts("failover", subject) == {"a": 0, "b": 5}

    def test_a_newcomer_of_equal_priority_never_takes_over(self):
        subject = group({"t": 3, "new": 1}, member("a", "t new"), member("b", "t new", owned={"t": (0, 1, 2)}))
        assert counts("failover", subject) == {"a": 0, "b": 4}

    def test_a_member_never_gets_partitions_of_a_topic_that_it_does_not_subscribe_to(self):
        subject = group(
            {"t": 1, "u": 1}, member("a", "t", config={PRIORITY: "9"}), member("b", "t u", config={PRIORITY: "1"})
        )
        assert assigned("failover", subject) == {"a": {"t": (0,)}, "b": {"u": (0,)}}

    def test_the_default_priority_is_the_highest(self):
        unset = strategy("failover").user_data({}, {})
        subject = group({"t": 1}, member("a", "t", config={PRIORITY: "2147483646"}), member("b", "t", user_data=unset))
        assert counts("failover", subject) == {"a": 0, "b": 1}
        assert decode_priority(unset).settings == {PRIORITY: 2147483647}

    @pytest.mark.parametrize("name", ["failover", "cooperative-failover"])
    @pytest.mark.parametrize("data", [None, b"", b"\x00", b"\x00\x00\x00\x01\x00"])
    def test_a_member_of_unknown_priority_gets_no_partition_of_a_healthy_member(self, name, data):
        active = strategy(name).user_data({PRIORITY: "100"}, {})
        broken = member("a", "t", user_data=data)
        subject = group({"t": 3}, broken, member("b", "t", owned={"t": (0, 1, 2)}, generation=1, user_data=active))
        result = strategy(name).assign(subject)
        assert result.members == {"a": {}, "b": {"t": (0, 1, 2)}}
        assert result.user_data_errors.keys() == {"a"}
        alone = strategy(name).assign(group({"t": 3}, broken))
        assert alone.members == {"a": {"t": (0, 1, 2)}}

    def test_a_setting_gives_members_without_user_data_the_highest_priority(self):
        subject = group({"t": 3}, member("a", "t"), member("b", "t", user_data=b"\x00\x00\x00\x01"))
        assert counts("failover", subject) == {"a": 0, "b": 3}
        open_to_all = GroupSubscription(
            subject.topics, subject.members, config={"assignment.unknown.priority": "2147483647"}
        )
        assert counts("failover", open_to_all) == {"a": 3, "b": 0}

    def test_a_cooperative_takeover_waits_for_the_former_active_member(self):
        subject = group(
            {"t": 2},
            member("a", "t", owned={"t": (0, 1)}, config={PRIORITY: "1"}),
            member("b", "t", config={PRIORITY: "2"}),
        )
        result = strategy("cooperative-failover").assign(subject)
        assert result.members == {"a": {}, "b": {}}
        assert result.revoking == {"a": {"t": (0, 1)}}
        assert result.target == {"a": {}, "b": {"t": (0, 1)}}

    def test_the_promise_assigns_everything_to_the_active_member(self):
        subject = group({"t": 4}, member("a", "t"), member("b", "t"))
        assert strategy("failover").targets(subject) == {"a": 4, "b": 0}
        spread_out = strategy("range").assign(subject)
        quality = judge(subject, spread_out, strategy("failover"))
        assert (quality.skew_ratio, quality.imbalance) == (3.0, 2)


class TestClaims:
    def test_kip_792_newest_generation_wins(self):
        subject = group(
            {"t": 2},
            member("a", "t", owned={"t": (0, 1)}, generation=4),
            member("b", "t", owned={"t": (1,)}, generation=5),
        )
        assert assigned("weighted-sticky", subject) == {"a": {"t": (0,)}, "b": {"t": (1,)}}
        result = strategy("cooperative-weighted-sticky").assign(subject)
        assert result.members == {"a": {"t": (0,)}, "b": {"t": (1,)}}, "a stale claim does not withhold the partition"

    def test_kafka_12984_doubly_claimed_partition_has_no_owner(self):
        subject = group(
            {"t": 2},
            member("a", "t", owned={"t": (0, 1)}, generation=5),
            member("b", "t", owned={"t": (1,)}, generation=5),
        )
        result = strategy("cooperative-weighted-sticky").assign(subject)
        assert result.target == {"a": {"t": (0,)}, "b": {"t": (1,)}}
        assert result.members == {"a": {"t": (0,)}, "b": {}}, "its other owner must revoke it first"
        assert result.revoking == {"a": {"t": (1,)}}
        assert judge(subject, result).moved == 0

    def test_claims_of_removed_partitions_and_unsubscribed_topics_are_ignored(self):
        subject = group(
            {"t": 1, "u": 2}, member("a", "t", owned={"t": (0, 7), "u": (0,), "gone": (1,)}), member("b", "t u")
        )
        assert assigned("weighted-sticky", subject) == {"a": {"t": (0,)}, "b": {"u": (0, 1)}}
        assert judge(subject, strategy("weighted-sticky").assign(subject)).moved == 0

    def test_an_unsubscribed_member_that_still_owns_a_partition_delays_its_reassignment(self):
        subject = group({"t": 1}, member("a", "", owned={"t": (0,)}), member("b", "t"))
        result = strategy("cooperative-weighted-sticky").assign(subject)
        assert result.members == {"a": {}, "b": {}}
        assert result.revoking == {"a": {"t": (0,)}}


class TestEveryStrategy:
    @pytest.mark.parametrize("name", sorted(STRATEGIES))
    def test_a_group_without_members_or_topics_is_valid(self, name):
        chosen = strategy(name)
        assert chosen.assign(GroupSubscription({}, ())).members == {}
        assert chosen.assign(group({"t": 3})).members == {}
        result = chosen.assign(group({"empty": 0}, member("a", "empty gone")))
        assert result.members == {"a": {}}
        assert result.unknown_topics == ("empty", "gone")
        assert judge(group({}, member("a", "")), result, chosen).max_mean_ratio is None

    @pytest.mark.parametrize("name", sorted(STRATEGIES))
    def test_the_newest_entry_of_a_duplicate_member_id_counts(self, name):
        old, new = member("a", "t", generation=1, owned={"t": (0,)}), member("a", "t u", generation=2)
        for order in ((old, new), (new, old)):
            assigned = strategy(name).assign(group({"t": 2, "u": 2}, *order))
            assert assigned.duplicate_ids == ("a",)
            assert assigned.target == {"a": {"t": (0, 1), "u": (0, 1)}}

    @pytest.mark.parametrize("name", sorted(STRATEGIES))
    def test_only_passive_members_get_nothing_where_there_is_enough_for_all(self, name):
        subject = group({"t": 8}, member("a", "t"), member("b", "t"))
        assert (0 in counts(name, subject).values()) is strategy(name).passive_members

    @pytest.mark.parametrize("name", sorted(STRATEGIES))
    def test_settings_are_documented_and_have_valid_defaults(self, name):
        chosen = strategy(name)
        assert chosen.name == name
        assert chosen.summary
        for setting in chosen.config:
            assert setting.meaning
            assert setting.of({}) == setting.default
            if isinstance(setting.default, int | float | str):
                assert setting.parse(str(setting.default)) == setting.default
        assert (chosen.user_data({}, {}) is None) == (chosen.writer is None)

    def test_an_unknown_name_is_refused_with_the_known_ones(self):
        with pytest.raises(AssignmentError, match=r"no strategy 'nope'; the strategies are .*range, redundant"):
            strategy("nope")
        assert list(STRATEGIES) == sorted(STRATEGIES)
