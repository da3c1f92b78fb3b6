"""Java's consumer as a process: ``support.members.java_member BOOTSTRAP GROUP TOPIC CLIENT_ID ASSIGNOR [KEY=VALUE]...``

It prints its events as lines, see `member_lines`. After the line ``hold`` on standard input it stops polling. With
``enable.auto.commit=false`` it commits each batch it has read, with the client id as metadata.
"""

from __future__ import annotations

import contextlib
import sys
import threading

import jpype

from rebalance_agent.clock import SystemClock
from support.kafka.kafkas_java import start_java

CONSUMER = "org.apache.kafka.clients.consumer"
DESERIALIZER = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
CLOCK = SystemClock()


def print_line(word, *numbers):
    """Print ``word``, the time (epoch ms) and ``numbers`` as one line at once."""
    sys.stdout.write(" ".join(map(str, (word, CLOCK.now_ms(), *numbers))) + "\n")
    sys.stdout.flush()


def numbers_of(partitions):
    return sorted(int(each.partition()) for each in partitions)


def listener():
    """The Java listener, which prints its calls."""

    @jpype.JImplements(f"{CONSUMER}.ConsumerRebalanceListener")
    class Listener:
        @jpype.JOverride
        def onPartitionsAssigned(self, partitions):  # noqa: N802
            print_line("assigned", *numbers_of(partitions))

        @jpype.JOverride
        def onPartitionsRevoked(self, partitions):  # noqa: N802
            print_line("revoked", *numbers_of(partitions))

        @jpype.JOverride
        def onPartitionsLost(self, partitions):  # noqa: N802
            print_line("lost", *numbers_of(partitions))

    return Listener()


def commit(consumer, records, metadata):
    """Commit a batch of records; if the commit is refused, the next owner reads them again."""
    offsets = jpype.JClass("java.util.HashMap")()
    for partition in records.partitions():
        last = records.records(partition).get(records.records(partition).size() - 1)
        offsets.put(partition, jpype.JClass(f"{CONSUMER}.OffsetAndMetadata")(last.offset() + 1, metadata))
    with contextlib.suppress(jpype.JClass("org.apache.kafka.common.KafkaException")):
        consumer.commitSync(offsets)


def listen(held, stop):
    """Set ``held`` after the line ``hold``, and ``stop`` at the end of standard input."""
    for line in sys.stdin:
        if line.strip() == "hold":
            held.set()
    stop.set()


def main(bootstrap, group, topic, client_id, assignor, *more):
    """Run a member until standard input ends, then leave."""
    stop, held = threading.Event(), threading.Event()
    threading.Thread(target=listen, args=(held, stop), daemon=True).start()
    start_java()
    properties = jpype.JClass("java.util.Properties")()
    for name, value in {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "client.id": client_id,
        "group.protocol": "classic",
        "partition.assignment.strategy": f"{CONSUMER}.{assignor}",
        "auto.offset.reset": "earliest",
        "auto.commit.interval.ms": "1000",
        "heartbeat.interval.ms": "200",
        "session.timeout.ms": "20000",
        "key.deserializer": DESERIALIZER,
        "value.deserializer": DESERIALIZER,
        **dict(each.split("=", 1) for each in more),
    }.items():
        if value:
            properties.setProperty(name, value)
    consumer = jpype.JClass(f"{CONSUMER}.KafkaConsumer")(properties)
    consumer.subscribe([topic], listener())
    wait = jpype.JClass("java.time.Duration").ofMillis(100)
    by_itself = "enable.auto.commit=false" in more
    while not stop.is_set():
        if held.is_set():
            stop.wait()
            break
        records = consumer.poll(wait)
        for record in records:
            print_line("read", int(record.partition()), int(record.offset()))
        if by_itself and not records.isEmpty():
            commit(consumer, records, client_id)
    consumer.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
