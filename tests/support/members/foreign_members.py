"""Members of other clients: Kafka's Java consumer as a process, librdkafka's in a thread."""

from __future__ import annotations

import re
import signal
import subprocess
import threading

from confluent_kafka import Consumer

from support.members.threads import PATIENCE

_LINE = re.compile(r"Partition:(\d+)\tOffset:(\d+)\t")


class JavaMember:
    """Kafka's console consumer as a process; the ledger counts the records that it prints."""

    def __init__(self, kafka, group, topic, strategies, ledger, client_id="java"):
        properties = {
            "group.id": group,
            "client.id": client_id,
            "group.protocol": "classic",
            "partition.assignment.strategy": ",".join(
                f"org.apache.kafka.clients.consumer.{each}" for each in strategies
            ),
            "auto.offset.reset": "earliest",
            "heartbeat.interval.ms": "200",
            "session.timeout.ms": "10000",
            "metadata.max.age.ms": "1000",
        }
        self._topic = topic
        self._ledger = ledger
        self._process = subprocess.Popen(
            kafka.tool_command(
                "org.apache.kafka.tools.consumer.ConsoleConsumer",
                "--bootstrap-server",
                kafka.bootstrap_servers,
                "--topic",
                topic,
                *(part for item in properties.items() for part in ("--command-property", "=".join(item))),
                *("--formatter-property", "print.partition=true", "--formatter-property", "print.offset=true"),
            ),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.output = []
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self):
        for line in self._process.stdout:
            if found := _LINE.match(line):
                with self._ledger.lock:
                    self._ledger.consumed[self._topic, int(found[1]), int(found[2])] += 1
            else:
                self.output.append(line)

    def close(self):
        """Send SIGINT, as Ctrl-C does: the consumer commits and leaves."""
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(PATIENCE)
        finally:
            self._process.kill()
            self._process.wait()
            self._thread.join(PATIENCE)
            self._process.stdout.close()


class LibrdkafkaMember:
    """confluent-kafka's plain consumer."""

    def __init__(self, kafka, group, topic, strategies, ledger, client_id="librdkafka"):
        self._ledger = ledger
        self._consumer = Consumer(
            {
                "bootstrap.servers": kafka.bootstrap_servers,
                "group.id": group,
                "client.id": client_id,
                "partition.assignment.strategy": ",".join(strategies),
                "auto.offset.reset": "earliest",
                "heartbeat.interval.ms": 200,
                "session.timeout.ms": 10_000,
            }
        )
        self._consumer.subscribe([topic])
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        while not self._stop.is_set():
            message = self._consumer.poll(0.1)
            if message is not None and message.error() is None:
                with self._ledger.lock:
                    self._ledger.consumed[message.topic(), message.partition(), message.offset()] += 1
        self._consumer.close()

    def close(self):
        self._stop.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
