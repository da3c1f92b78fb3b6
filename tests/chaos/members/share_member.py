"""A member of a share group, in a process: ``python -m chaos.members.share_member JSON``; see `callback_lines`.

It has no partitions of its own, and so no callbacks to report.
"""

from __future__ import annotations

import jpype

from chaos.members.callback_lines import POLL_S, act_as
from support.scenarios.scenario_streams import start_java

DESERIALIZER = "org.apache.kafka.common.serialization.ByteArrayDeserializer"


def run(config, polls, stop):
    """Read records, and acknowledge them with the next poll, until ``stop``; then leave."""
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
    consumer.subscribe([config["topic"]])
    wait = jpype.JClass("java.time.Duration").ofMillis(round(POLL_S * 1000))
    while not stop.is_set():
        for each in consumer.poll(wait):
            polls.say("read", each.partition(), each.offset())
    consumer.close()


if __name__ == "__main__":
    act_as(run)
