"""An unmodified member with Kafka's Java consumer: ``python java_member.py JSON``; see `account`."""

from __future__ import annotations

import threading

import jpype
from account import POLL_S, live, start

CONSUMER = "org.apache.kafka.clients.consumer"
DESERIALIZER = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
FLAGS = (
    "-Xmx96m",
    "-Xrs",
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-XX:-UsePerfData",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=off",
)


def start_java(config):
    """Start Java in this process, with Kafka's jars."""
    jpype.startJVM(config["jvm"], *FLAGS, classpath=config["class_path"])


def properties_of(values):
    """Return ``java.util.Properties`` with the entries of a dictionary."""
    properties = jpype.JClass("java.util.Properties")()
    for name, value in values.items():
        properties.setProperty(name, str(value))
    return properties


def listener(account):
    """Return a Java listener that logs its calls."""

    def names(partitions):
        return [f"{each.topic()}-{each.partition()}" for each in partitions]

    @jpype.JImplements(f"{CONSUMER}.ConsumerRebalanceListener")
    class Listener:
        @jpype.JOverride
        def onPartitionsAssigned(self, partitions):  # noqa: N802
            account.callback("assigned", names(partitions))

        @jpype.JOverride
        def onPartitionsRevoked(self, partitions):  # noqa: N802
            account.callback("revoked", names(partitions))

        @jpype.JOverride
        def onPartitionsLost(self, partitions):  # noqa: N802
            account.callback("lost", names(partitions))

    return Listener()


class Client:
    """The consumer as a user writes it."""

    def __init__(self, config, account):
        static = {"group.instance.id": config["instance"]} if config["instance"] else {}
        values = {
            "bootstrap.servers": config["bootstrap"],
            "group.id": config["group"],
            "client.id": config["name"],
            "auto.offset.reset": "latest",
            "auto.commit.interval.ms": config["commit_ms"],
            "metadata.max.age.ms": 3_000,
            "key.deserializer": DESERIALIZER,
            "value.deserializer": DESERIALIZER,
            **static,
            **config["settings"],
        }
        self._consumer = jpype.JClass(f"{CONSUMER}.KafkaConsumer")(properties_of(values))
        self._listener = listener(account)
        self._wait = jpype.JClass("java.time.Duration").ofMillis(round(POLL_S * 1000))

    def subscribe(self, topics):
        """Subscribe."""
        self._consumer.subscribe(jpype.java.util.List.of(*topics), self._listener)

    def poll(self):
        """Return the partitions of a batch of records."""
        return [f"{each.topic()}-{each.partition()}" for each in self._consumer.poll(self._wait).partitions()]

    def wait(self, seconds):
        """Process a record for this long."""
        threading.Event().wait(seconds)

    def close(self):
        """Leave the group."""
        self._consumer.close()


if __name__ == "__main__":
    config, account, commands = start()
    start_java(config)
    client = Client(config, account)
    account.say("subscribed", topics=config["topics"])
    client.subscribe(config["topics"])
    live(client, account, commands)
