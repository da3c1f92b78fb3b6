"""Reads the coordinator's state of the groups without this package's decoders.

Generation, protocol and members are from the offsets topic, which Kafka's own formatter prints. State, protocol and
assignment are from DescribeGroups, which librdkafka decodes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from rebalance_agent.cluster.admin_answers import AdminAnswers
from rebalance_agent.demo.errors import DemoError
from rebalance_agent.demo.observed.differences import CoordinatorView
from rebalance_agent.groupprotocol.coordinator_partition import OFFSETS_TOPIC
from rebalance_agent.model.partitions import TopicPartitions, topic_partitions
from rebalance_agent.testing import EmbeddedKafka

__all__ = ["ONE_OFFSETS_PARTITION", "Logged", "read_coordinator", "read_formatter"]

CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
FORMATTER = "org.apache.kafka.tools.consumer.GroupMetadataMessageFormatter"
ONE_OFFSETS_PARTITION = {"offsets.topic.num.partitions": "1"}
"""Broker properties: one partition of the offsets topic.

Members commit all the time, so the tool would never end by itself. With a single partition, an end offset limits the
tool.
"""

SILENCE_MS = 20_000
"""Time without a record, in milliseconds, after which the tool ends."""

ADMIN_TIMEOUT_SECONDS = 10.0

Logged = Mapping[str, Any]
"""One ``GroupMetadataValue`` with Kafka's field names."""

NO_RECORD: Logged = {"generation": None, "protocol": None, "members": []}


def read_coordinator(kafka: EmbeddedKafka, groups: Sequence[str]) -> dict[str, CoordinatorView]:
    """Return the coordinator's current view of each of ``groups``.

    Raises:
        DemoError: Kafka's tool fails, its output cannot be read, or the broker does not answer.
    """
    try:
        return _read(kafka, groups)
    except KafkaException as error:
        raise DemoError(f"--check: the coordinator did not describe its groups: {error.args[0].str()}") from error


def _read(kafka: EmbeddedKafka, groups: Sequence[str]) -> dict[str, CoordinatorView]:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
    responses_of = AdminAnswers(ADMIN_TIMEOUT_SECONDS)
    offsets = TopicPartition(OFFSETS_TOPIC, 0)
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    end = responses_of(admin.list_offsets, {offsets: latest})[offsets].result()
    done = kafka.run_tool(
        CONSOLE_CONSUMER,
        *("--bootstrap-server", kafka.bootstrap_servers, "--topic", OFFSETS_TOPIC, "--partition", "0"),
        *("--offset", "earliest", "--max-messages", str(end.offset), "--timeout-ms", str(SILENCE_MS)),
        *("--formatter", FORMATTER),
    )
    if done.returncode:
        raise DemoError(f"Kafka's console consumer ended with {done.returncode}: {done.stderr[-500:].strip()}")
    logged = read_formatter(done.stdout)
    described = responses_of(admin.describe_consumer_groups, list(groups))
    return {group: _coordinator_view(logged.get(group, NO_RECORD), described[group].result()) for group in groups}


def read_formatter(text: str) -> dict[str, Logged]:
    """Return each group's last value in the formatter's output, a sequence of JSON objects over several lines each.

    Deleted groups are left out.

    Raises:
        DemoError: the output cannot be read.
    """
    decoder = json.JSONDecoder()
    latest: dict[str, Logged] = {}
    at = 0
    while (at := _skip_blanks(text, at)) < len(text):
        try:
            record, at = decoder.raw_decode(text, at)
            group, value = record["key"]["data"]["group"], record["value"]
        except (KeyError, TypeError, ValueError):
            raise DemoError(f"cannot read the output of Kafka's formatter at {text[at : at + 80]!r}") from None
        if value is None:
            latest.pop(group, None)
        else:
            latest[group] = value["data"]
    return latest


def _skip_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _coordinator_view(logged: Logged, described: Any) -> CoordinatorView:  # noqa: ANN401 - confluent-kafka has no types
    return CoordinatorView(
        generation=logged["generation"],
        protocol=logged["protocol"],
        clients={member["memberId"]: member["clientId"] for member in logged["members"]},
        state=described.state.name.title().replace("_", "").replace("Rebalancing", "Rebalance"),
        described_protocol=described.partition_assignor,
        assignment={member.member_id: _partitions(member.assignment) for member in described.members},
    )


def _partitions(assignment: Any) -> TopicPartitions:  # noqa: ANN401
    return topic_partitions((partition.topic, partition.partition) for partition in assignment.topic_partitions)
