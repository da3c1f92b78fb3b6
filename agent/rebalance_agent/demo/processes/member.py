"""The program of one consumer: ``python -m rebalance_agent.demo.processes.member --client ... --group ...``.

The program joins its group, processes records until it gets the command ``leave``, and then closes its consumer. Each
branch imports only one client library, because a dozen of these processes start at once on a small machine.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence

from rebalance_agent.demo.processes import exit_with_parent
from rebalance_agent.demo.processes.member_commands import MemberCommands
from rebalance_agent.demo.scenario import SLOW_SECONDS
from rebalance_agent.demo.scenario_types import ClientLibrary

__all__ = ["main"]

HEARTBEAT_MS = 200
"""Heartbeat interval: every member learns of a rebalance within this time."""

POLL_SECONDS = 1.0
"""Timeout of one poll, in seconds."""

REBALANCE_POLL_SECONDS = SLOW_SECONDS + 1
"""Timeout, in seconds, of one poll of kafka-python that may have to wait for a rebalance.

kafka-python 3.0 discards a join that completes between two polls and joins again, which causes another rebalance.
Therefore one poll must outlast the rebalance while a member waits to join. For a member that subscribes to a pattern,
this applies to every poll, because every poll begins with a metadata refresh.
"""

FETCH_BYTES, FETCH_MS = 100_000, 300
"""Minimum number of bytes and maximum wait of a fetch: one fetch for each record would keep a small machine busy."""

METADATA_MS = 2_000
"""Interval, in milliseconds, at which clients look for new topics and partitions; the defaults are minutes."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one member until it gets the command ``leave``; return the exit code."""
    options = _parse(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s.%(msecs)03d %(message)s", datefmt="%H:%M:%S")
    commands = MemberCommands()
    exit_with_parent.watch_stdin(commands.receive)
    handled = (_kafka_python if options.client == ClientLibrary.KAFKA_PYTHON else _confluent)(options, commands)
    logging.getLogger(__name__).info("left after %d records", handled)
    return 0


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--client", type=ClientLibrary, choices=list(ClientLibrary), required=True)
    parser.add_argument("--bootstrap-servers", required=True)
    parser.add_argument("--group", required=True)
    parser.add_argument("--client-id", required=True)
    parser.add_argument("--topics", required=True, help="a topic, or a regular expression that starts with ^")
    parser.add_argument("--assignor", action="append", required=True, help="repeatable, in order of preference")
    parser.add_argument("--config", action="append", default=[], metavar="KEY=VALUE", help="assignor setting")
    parser.add_argument("--session-timeout-ms", type=int, required=True)
    parser.add_argument("--events-url", default="", help="URL of the sidecar to which rebalances are reported")
    return parser.parse_args(argv)


def _kafka_python(options: argparse.Namespace, commands: MemberCommands) -> int:
    from kafka import ConsumerRebalanceListener  # noqa: PLC0415

    from rebalance_agent.clients.kafka_python import KafkaConsumer  # noqa: PLC0415

    class WorkListener(ConsumerRebalanceListener):  # type: ignore[misc] # kafka-python is untyped
        joined = False

        def on_partitions_revoked(self, revoked: set[object]) -> None:  # noqa: ARG002
            self.joined = False
            commands.finish_current_work()

        def on_partitions_assigned(self, assigned: set[object]) -> None:  # noqa: ARG002
            self.joined = True

    listener = WorkListener()
    consumer = KafkaConsumer(
        bootstrap_servers=options.bootstrap_servers,
        group_id=options.group,
        client_id=options.client_id,
        partition_assignment_strategy=options.assignor,
        assignor_config=dict(entry.split("=", 1) for entry in options.config),
        events_url=options.events_url,
        session_timeout_ms=options.session_timeout_ms,
        heartbeat_interval_ms=HEARTBEAT_MS,
        metadata_max_age_ms=METADATA_MS,
        auto_offset_reset="earliest",
        fetch_min_bytes=FETCH_BYTES,
        fetch_max_wait_ms=FETCH_MS,
    )
    by_pattern = options.topics.startswith("^")
    if by_pattern:
        consumer.subscribe(pattern=options.topics, listener=listener)
    else:
        consumer.subscribe([options.topics], listener=listener)
    handled = 0
    while not commands.leave.is_set():
        seconds = POLL_SECONDS if listener.joined and not by_pattern else REBALANCE_POLL_SECONDS
        handled += sum(map(len, consumer.poll(timeout_ms=seconds * 1000).values()))
    consumer.close()
    return handled


def _confluent(options: argparse.Namespace, commands: MemberCommands) -> int:
    from confluent_kafka import Consumer, TopicPartition  # noqa: PLC0415

    def revoked(consumer: Consumer, partitions: list[TopicPartition]) -> None:  # noqa: ARG001
        # The library itself revokes the partitions when this callback returns, according to the group's protocol.
        commands.finish_current_work()

    consumer = Consumer(
        {
            "bootstrap.servers": options.bootstrap_servers,
            "group.id": options.group,
            "client.id": options.client_id,
            "partition.assignment.strategy": ",".join(options.assignor),
            "session.timeout.ms": options.session_timeout_ms,
            "heartbeat.interval.ms": HEARTBEAT_MS,
            "topic.metadata.refresh.interval.ms": METADATA_MS,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([options.topics], on_revoke=revoked)
    handled = 0
    while not commands.leave.is_set():
        message = consumer.poll(POLL_SECONDS)
        if message is not None and message.error() is None:
            handled += 1
    consumer.close()
    return handled


if __name__ == "__main__":
    raise SystemExit(main())
