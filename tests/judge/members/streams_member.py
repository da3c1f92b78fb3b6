"""A member of a streams group (KIP-1071): ``python streams_member.py JSON``; see `account`.

Kafka Streams has no callbacks for partitions. The processor of a task is initialised when the task begins
(``assigned``) and closed when it is given up (``revoked``, which can be later than the last record).
"""

from __future__ import annotations

import tempfile
import threading

import jpype
from account import POLL_S, start
from java_member import properties_of, start_java

STREAMS = "org.apache.kafka.streams"
SERDE = "org.apache.kafka.common.serialization.Serdes$ByteArraySerde"
CLOSING_S = 40


def supplier(account, topics):
    """Return the Java supplier of processors that log their tasks."""

    @jpype.JImplements(f"{STREAMS}.processor.api.Processor")
    class Processor:
        @jpype.JOverride
        def init(self, context):
            self.context = context
            self.task = [f"{topic}-{context.taskId().partition()}" for topic in topics]
            account.callback("assigned", self.task)

        @jpype.JOverride
        def process(self, _record):
            account.processed(self.task)

        @jpype.JOverride
        def close(self):
            account.flush()
            account.callback("revoked", self.task)

    @jpype.JImplements(f"{STREAMS}.processor.api.ProcessorSupplier")
    class Supplier:
        @jpype.JOverride
        def get(self):
            return Processor()

    return Supplier()


def main():
    """Run a member until the command to close."""
    config, account, commands = start()
    start_java(config)
    with tempfile.TemporaryDirectory(dir=config["folder"]) as state:
        values = {
            "bootstrap.servers": config["bootstrap"],
            "application.id": config["group"],
            "client.id": config["name"],
            "group.protocol": "streams",
            "commit.interval.ms": config["commit_ms"],
            "state.dir": state,
            "auto.offset.reset": "latest",
            "metadata.max.age.ms": 3_000,
            "poll.ms": round(POLL_S * 1000),
            "default.key.serde": SERDE,
            "default.value.serde": SERDE,
            **config["settings"],
        }
        topology = jpype.JClass(f"{STREAMS}.Topology")()
        topology.addSource("source", config["topics"])
        topology.addProcessor("processor", supplier(account, config["topics"]), ["source"])
        streams = jpype.JClass(f"{STREAMS}.KafkaStreams")(topology, properties_of(values))
        account.say("subscribed", topics=config["topics"])
        streams.start()
        while not commands.closing.wait(POLL_S):
            if (command := commands.pending()) and command["do"] == "slow":
                account.slow_s = command["seconds"]
        account.flush()
        account.say("closing")
        streams.close(jpype.JClass("java.time.Duration").ofSeconds(CLOSING_S))
        account.say("closed")
        threading.Event().wait(0)


if __name__ == "__main__":
    main()
