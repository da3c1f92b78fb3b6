"""The migrations that a broker refuses, measured on Kafka 4.3.0, and the other findings on a group's migration."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.advice.migration.broker_limits import BrokerLimits
from rebalance_agent.advice.migration.migrating_group import MigratingGroup, MigratingMember
from rebalance_agent.advice.migration.migration_findings import Subject, Verdict
from rebalance_agent.advice.migration.readiness import MigrationWishes, readiness
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.reported.member_software import ClientSoftware

BROKER = {
    "group.consumer.migration.policy": "bidirectional",
    "group.consumer.max.size": "2147483647",
    "group.consumer.assignors": "uniform,range",
    "group.coordinator.rebalance.protocols": "classic,consumer,streams",
    "group.consumer.session.timeout.ms": "45000",
    "group.consumer.min.session.timeout.ms": "45000",
    "group.consumer.max.session.timeout.ms": "60000",
}
JAVA = MigratingMember("m1", "consumer-orders-1", GroupType.CLASSIC, topics=("t",), session_timeout_ms=45_000)
ORDERS = MigratingGroup("orders", GroupType.CLASSIC, (JAVA, replace(JAVA, member_id="m2")), assignor="range")


def limits(consumer_groups=True, group_version=None, **changed):
    names = {name.replace("_", "."): value for name, value in changed.items()}
    broker = {name: value for name, value in {**BROKER, **names}.items() if value is not None}
    return BrokerLimits(broker, {}, consumer_groups, group_version)


def checked(group=ORDERS, wishes=None, **changed):
    return readiness(group, limits(**changed), wishes or MigrationWishes("range"))


def one_member(**changed):
    return replace(ORDERS, members=(replace(JAVA, **changed), ORDERS.members[1]))


def about(answer, subject):
    (finding,) = (each for each in answer.findings if each.subject is subject)
    return finding


def test_a_plain_group_can_go_online():
    answer = checked()
    assert (answer.online, answer.findings, answer.done) == (True, (), False)


@pytest.mark.parametrize(
    ("group", "changed", "subject", "setting"),
    [
        (
            ORDERS,
            {"group_consumer_migration_policy": "DISABLED"},
            Subject.POLICY,
            "group.consumer.migration.policy=bidirectional",
        ),
        (
            ORDERS,
            {"group_consumer_migration_policy": "downgrade"},
            Subject.POLICY,
            "group.consumer.migration.policy=bidirectional",
        ),
        (ORDERS, {"group_consumer_max_size": "1"}, Subject.SIZE, "group.consumer.max.size=3"),
        (
            ORDERS,
            {"group_coordinator_rebalance_protocols": "classic", "consumer_groups": False},
            Subject.PROTOCOL,
            "group.coordinator.rebalance.protocols=classic,consumer",
        ),
        (one_member(assignment_user_data=7), {}, Subject.USER_DATA, "partition.assignment.strategy=range"),
        (one_member(malformed=True, topics=None), {}, Subject.MALFORMED, "partition.assignment.strategy=range"),
        (replace(ORDERS, protocol_type="connect"), {}, Subject.PROTOCOL_TYPE, None),
        (replace(ORDERS, group_type=GroupType.STREAMS), {}, Subject.GROUP_TYPE, None),
    ],
)
def test_what_brokers_refuse_blocks_and_names_the_setting(group, changed, subject, setting):
    answer = checked(group, **changed)
    finding = about(answer, subject)
    assert (answer.online, finding.verdict, finding.setting) == (False, Verdict.BLOCKS, setting)
    assert finding.fix
    assert answer.findings[0] is finding


def test_brokers_replace_a_group_without_members_whatever_the_policy_is():
    empty = replace(ORDERS, members=(), protocol_type="", assignor=None)
    answer = checked(empty, group_consumer_migration_policy="disabled", group_consumer_max_size="1")
    assert (answer.online, answer.findings) == (True, ())
    assert checked(empty, group_consumer_migration_policy=None).online is True


def test_brokers_take_the_policy_in_any_case():
    assert checked(group_consumer_migration_policy="Bidirectional").findings == ()


def test_an_unread_policy_leaves_the_answer_open():
    answer = checked(group_consumer_migration_policy=None)
    assert (answer.online, about(answer, Subject.POLICY).verdict) == (None, Verdict.UNKNOWN)


def test_without_any_group_of_the_protocol_the_feature_is_not_known():
    finding = about(checked(consumer_groups=False), Subject.PROTOCOL)
    assert finding.verdict is Verdict.UNKNOWN
    assert finding.text.endswith("its value could not be read")


def test_the_reason_why_the_feature_is_not_known_is_named():
    limited = replace(limits(consumer_groups=False), version_problem="kafka-python is not installed")
    finding = about(readiness(MigratingGroup("orders", GroupType.CLASSIC), limited), Subject.PROTOCOL)
    assert finding.text.endswith("its value could not be read: kafka-python is not installed")


def test_a_cluster_that_does_not_allow_the_protocol_blocks_and_names_the_feature():
    finding = about(checked(consumer_groups=False, group_version=0), Subject.PROTOCOL)
    assert (finding.verdict, finding.setting) == (Verdict.BLOCKS, "group.version=1")
    assert "kafka-features.sh upgrade --feature group.version=1" in finding.fix


def test_a_cluster_that_allows_the_protocol_has_nothing_to_report_about_it():
    found = checked(consumer_groups=False, group_version=1).findings
    assert Subject.PROTOCOL not in {finding.subject for finding in found}


COPIED = one_member(assignment_user_data=7, client_id="readings-1")
ROLLING, STOP = "two rolling restarts", "stop all members and start them with group.protocol=consumer"


@pytest.mark.parametrize(
    ("assignor", "client_id", "setting", "said"),
    [
        ("cooperative-sticky", "rdkafka", "group.protocol=consumer", (False, True)),
        ("cooperative-sticky", "readings-1", "group.protocol=consumer", (True, True)),
        ("cooperative-sticky", "consumer-orders-1", "partition.assignment.strategy=range", (True, False)),
        ("copartitioned-sticky", "readings-1", "partition.assignment.strategy=range", (True, False)),
    ],
)
def test_the_way_around_user_data_depends_on_the_library(assignor, client_id, setting, said):
    member = replace(COPIED.members[0], client_id=client_id)
    finding = about(checked(replace(COPIED, assignor=assignor, members=(member,))), Subject.USER_DATA)
    assert finding.setting == setting
    assert (ROLLING in finding.fix, STOP in finding.fix.lower()) == said


def test_user_data_of_subscriptions_does_not_block():
    assert checked(one_member(user_data=b"owned")).online is True


def test_a_full_group_changes_if_members_stop_first():
    finding = about(checked(group_consumer_max_size="2"), Subject.SIZE)
    assert (finding.verdict, finding.setting) == (Verdict.CHANGES, "group.consumer.max.size=3")


def test_in_a_full_group_of_static_members_there_is_no_room_for_a_successor():
    static = replace(ORDERS, members=tuple(replace(JAVA, member_id=name, instance_id=name) for name in ("a", "b")))
    answer = checked(static, group_consumer_max_size="2")
    assert (answer.online, about(answer, Subject.SIZE).verdict) == (False, Verdict.BLOCKS)
    since_4_4 = checked(static, group_consumer_max_size="2", group_streams_assignors="sticky")
    assert Subject.SIZE not in {finding.subject for finding in since_4_4.findings}


def test_without_downgrades_the_group_does_not_become_classic_again():
    finding = about(checked(group_consumer_migration_policy="upgrade"), Subject.WAY_BACK)
    assert (finding.verdict, finding.setting) == (Verdict.CHANGES, "group.consumer.migration.policy=bidirectional")


def test_the_brokers_default_assignor_replaces_that_of_the_members():
    finding = about(checked(wishes=MigrationWishes()), Subject.ASSIGNOR)
    assert (finding.verdict, finding.setting) == (Verdict.CHANGES, "group.remote.assignor=range")


def test_an_assignor_that_brokers_do_not_have_blocks():
    finding = about(checked(wishes=MigrationWishes("sticky")), Subject.ASSIGNOR)
    assert (finding.verdict, finding.setting) == (Verdict.BLOCKS, "group.remote.assignor=uniform")


def test_a_pattern_that_is_not_re2_blocks():
    answer = checked(wishes=MigrationWishes("range", ("orders-.*", "(?!x).*")))
    assert "a negative look-ahead" in about(answer, Subject.PATTERNS).text
    assert answer.online is False


@pytest.mark.parametrize(
    ("timeout_ms", "setting"),
    [
        (50_000, "consumer.session.timeout.ms=50000"),
        (120_000, "group.consumer.max.session.timeout.ms=120000"),
    ],
)
def test_a_session_timeout_of_the_members_is_lost_and_the_setting_depends_on_the_limits(timeout_ms, setting):
    finding = about(checked(one_member(session_timeout_ms=timeout_ms)), Subject.TIMEOUTS)
    assert (finding.verdict, finding.setting) == (Verdict.CHANGES, setting)


def test_the_longest_session_timeout_of_the_members_counts():
    both = replace(ORDERS, members=tuple(replace(JAVA, session_timeout_ms=some) for some in (6_000, 10_000)))
    finding = about(checked(both), Subject.TIMEOUTS)
    assert finding.setting == "group.consumer.min.session.timeout.ms=10000"
    assert "45000 ms instead of 6000 ms to 10000 ms" in finding.text
    assert (
        "To keep 10000 ms, first lower that limit (group.consumer.min.session.timeout.ms=10000), then set "
        in finding.fix
    )
    assert "consumer.session.timeout.ms=10000 for the group" in finding.fix


def test_static_members_and_libraries_without_the_protocol_are_named():
    answer = checked(one_member(instance_id="i1", client_id="kafkajs"))
    assert "i1" in about(answer, Subject.STATIC).text
    assert "KafkaJS" in about(answer, Subject.CLIENTS).text
    assert answer.online is True


def test_an_unknown_library_is_said_to_be_unknown():
    finding = about(checked(one_member(client_id="app")), Subject.CLIENTS)
    assert finding.verdict is Verdict.UNKNOWN
    assert "librdkafka 2.12" in finding.fix


def test_a_mixed_group_is_under_way_and_one_of_new_members_is_done():
    new = replace(JAVA, protocol=GroupType.CONSUMER)
    mixed = MigratingGroup("orders", GroupType.CONSUMER, (JAVA, new))
    assert "1 of 2 members are classic" in about(checked(mixed), Subject.MIXED).text
    assert checked(replace(mixed, members=(new, new))).done


def with_clients(assignor, *client_ids):
    members = tuple(replace(JAVA, member_id=name, client_id=name) for name in client_ids)
    return replace(ORDERS, members=members, assignor=assignor)


def test_an_assignor_that_no_client_has_shows_what_its_members_may_be():
    finding = about(checked(with_clients("weighted-sticky", "orders-1")), Subject.CLIENTS)
    assert finding.verdict is Verdict.UNKNOWN
    assert finding.text == (
        "The client library of orders-1 is unknown: weighted-sticky is an assignor of rebalance-agent, so each member "
        "runs it in a Python client, or is behind a gateway"
    )
    assert "kafka-python and aiokafka do not support the consumer protocol" in finding.fix
    assert "is unknown" in about(checked(with_clients("sticky", "orders-1")), Subject.CLIENTS).text


@pytest.mark.parametrize(
    ("ids", "none"), [(("kafkajs", "sarama"), True), (("kafkajs", "rdkafka"), False), (("kafkajs", "own"), False)]
)
def test_a_group_of_which_no_client_has_the_protocol_is_known(ids, none):
    answer = checked(with_clients("range", *ids))
    assert (answer.online, answer.none_able) == (True, none)


@pytest.mark.parametrize(
    ("name", "version", "too_old"),
    [
        ("apache-kafka-java", "3.9.2", "Java 4.0"),
        ("apache-kafka-java", "4.0.0", None),
        ("apache-kafka-java", "unknown", None),
        ("librdkafka", "2.6.1", "librdkafka 2.12"),
        ("confluent-kafka-go", "v2.11.0-librdkafka-2.11.0", "librdkafka 2.12"),
        ("confluent-kafka-javascript", "v1.6.0-librdkafka-2.12.0", None),
        ("confluent-kafka-python", "2.16.1-rdkafka-2.16.0", None),
        ("kgo", "v1.21.5", "franz-go 1.22"),
        ("kgo", "v1.22.2", None),
    ],
)
def test_the_version_that_a_client_names_decides_if_it_has_the_protocol(name, version, too_old):
    found = checked(one_member(client_id="own", software=ClientSoftware(name, version)))
    fixes = [finding.fix for finding in found.findings if finding.subject is Subject.CLIENTS]
    assert fixes == ([f"Start the new members with {too_old} or later."] if too_old else [])
    assert found.can_change


@pytest.mark.parametrize(("name", "subjects"), [("kafka-python", [Verdict.CHANGES]), ("other", [Verdict.UNKNOWN])])
def test_a_named_library_without_the_protocol_is_known_and_an_unknown_name_is_not(name, subjects):
    found = checked(one_member(client_id="own", software=ClientSoftware(name, "3.0.0")))
    assert [finding.verdict for finding in found.findings if finding.subject is Subject.CLIENTS] == subjects
