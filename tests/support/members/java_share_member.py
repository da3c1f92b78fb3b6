"""Java's share consumer as a process: ``support.members.java_share_member BOOTSTRAP GROUP TOPIC CLIENT_ID``.

It acknowledges all records with the next poll, and prints records as lines, see `member_lines`.
"""

from __future__ import annotations

import sys
import threading

import jpype

from support.kafka.kafkas_java import start_java
from support.members.java_member import CONSUMER, DESERIALIZER, print_line


def read_shared(bootstrap, group, topic, client_id, say, stop):
    """Read records until ``stop``, and acknowledge them with the next poll; then leave. ``say`` gets each line."""
    start_java()
    properties = jpype.JClass("java.util.Properties")()
    for name, value in {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "client.id": client_id,
        "key.deserializer": DESERIALIZER,
        "value.deserializer": DESERIALIZER,
    }.items():
        properties.setProperty(name, value)
    consumer = jpype.JClass(f"{CONSUMER}.KafkaShareConsumer")(properties)
    consumer.subscribe([topic])
    wait = jpype.JClass("java.time.Duration").ofMillis(100)
    while not stop.is_set():
        for record in consumer.poll(wait):
            say("read", int(record.partition()), int(record.offset()))
    consumer.close()


def main(bootstrap, group, topic, client_id):
    """Run a member until standard input ends."""
    stop = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
    read_shared(bootstrap, group, topic, client_id, print_line, stop)


if __name__ == "__main__":
    main(*sys.argv[1:])
