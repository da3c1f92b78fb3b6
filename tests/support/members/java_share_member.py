"""Java's share consumer as a process: ``support.members.java_share_member BOOTSTRAP GROUP TOPIC CLIENT_ID [MODE]``.

It prints records as lines, see `member_lines`. It acknowledges all records with the next poll. In the mode
``explicit``, a record's value names its acknowledge type (ACCEPT, RELEASE, REJECT, RENEW) the first time that the
record is read, and the record is accepted the next time.
"""

from __future__ import annotations

import sys
import threading

import jpype

from support.kafka.kafkas_java import start_java
from support.members.java_member import CONSUMER, DESERIALIZER, print_line


def read_shared(bootstrap, group, topic, client_id, say, stop, mode="implicit"):
    """Read records until ``stop``, and acknowledge them with the next poll; then leave. ``say`` gets each line."""
    start_java()
    properties = jpype.JClass("java.util.Properties")()
    for name, value in {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "client.id": client_id,
        "share.acknowledgement.mode": mode,
        "key.deserializer": DESERIALIZER,
        "value.deserializer": DESERIALIZER,
    }.items():
        properties.setProperty(name, value)
    consumer = jpype.JClass(f"{CONSUMER}.KafkaShareConsumer")(properties)
    consumer.subscribe([topic])
    wait = jpype.JClass("java.time.Duration").ofMillis(100)
    types, seen = jpype.JClass(f"{CONSUMER}.AcknowledgeType"), set()
    while not stop.is_set():
        for record in consumer.poll(wait):
            one = int(record.partition()), int(record.offset())
            if mode == "explicit":
                named = "ACCEPT" if one in seen else bytes(record.value()).decode()
                consumer.acknowledge(record, types.valueOf(named))
                seen.add(one)
            say("read", *one)
    consumer.close()


def main(bootstrap, group, topic, client_id, mode="implicit"):
    """Run a member until standard input ends."""
    stop = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
    read_shared(bootstrap, group, topic, client_id, print_line, stop, mode)


if __name__ == "__main__":
    main(*sys.argv[1:])
