"""An unmodified confluent-kafka member: ``python librdkafka.py JSON``; see `account`."""

from __future__ import annotations

import threading

from account import POLL_S, live, start
from confluent_kafka import Consumer


class Client:
    """The consumer as a user writes it; with ``pattern`` it subscribes to a regular expression."""

    def __init__(self, config, account):
        self._account, self._pattern = account, config["pattern"]
        static = {"group.instance.id": config["instance"]} if config["instance"] else {}
        self._consumer = Consumer(
            {
                "bootstrap.servers": config["bootstrap"],
                "group.id": config["group"],
                "client.id": config["name"],
                "auto.offset.reset": "latest",
                "auto.commit.interval.ms": config["commit_ms"],
                "topic.metadata.refresh.interval.ms": 3_000,
                "fetch.wait.max.ms": 500,
                "log_level": 0,
                "on_commit": lambda error, _: account.say("commit", error=str(error) if error else None),
                **static,
                **config["settings"],
            }
        )

    def _callback(self, what):
        return lambda _, given: self._account.callback(what, [f"{each.topic}-{each.partition}" for each in given])

    def subscribe(self, topics):
        """Subscribe to topics, or to the pattern, with the callbacks."""
        calls = {"on_assign": "assigned", "on_revoke": "revoked", "on_lost": "lost"}
        self._consumer.subscribe(
            [self._pattern] if self._pattern else topics, **{name: self._callback(what) for name, what in calls.items()}
        )

    def poll(self):
        """Return the partitions of a batch of records."""
        first = self._consumer.poll(POLL_S)
        if first is None or first.error() is not None:
            return []
        rest = self._consumer.consume(200, 0)
        return {f"{each.topic()}-{each.partition()}" for each in (first, *rest) if each.error() is None}

    def wait(self, seconds):
        """Process a record for this long."""
        threading.Event().wait(seconds)

    def close(self):
        """Leave the group."""
        self._consumer.close()


if __name__ == "__main__":
    config, account, commands = start()
    client = Client(config, account)
    account.say("subscribed", topics=config["topics"])
    client.subscribe(config["topics"])
    live(client, account, commands)
