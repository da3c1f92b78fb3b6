"""A member of a share group, in a process: ``python -m chaos.share_member JSON``; see `support.scenario_member`.

It has no partitions of its own, and so no callbacks to time.
"""

from __future__ import annotations

import jpype

from support.scenario_member import act_as
from support.scenario_streams import start_java

DESERIALIZER = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
POLL_MS = 100


def run(config, _timed, stop):
    """Take records, and acknowledge them with the next poll, until ``stop``; then leave."""
    start_java()
    properties = jpype.JClass("java.util.Properties")()
    for name, value in {
        "bootstrap.servers": config["bootstrap"],
        "group.id": config["group"],
        "client.id": config["name"],
        "key.deserializer": DESERIALIZER,
        "value.deserializer": DESERIALIZER,
    }.items():
        properties.setProperty(name, value)
    consumer = jpype.JClass("org.apache.kafka.clients.consumer.KafkaShareConsumer")(properties)
    consumer.subscribe(config["topics"])
    wait = jpype.JClass("java.time.Duration").ofMillis(POLL_MS)
    while not stop.is_set():
        consumer.poll(wait)
    consumer.close()


if __name__ == "__main__":
    act_as(run)
