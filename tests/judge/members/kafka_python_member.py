"""An unmodified kafka-python member: ``python kafka_python_member.py JSON``; see `account`."""

from __future__ import annotations

import logging
import threading
import warnings

from account import POLL_S, live, python_settings, start

warnings.simplefilter("ignore", DeprecationWarning)

from kafka import ConsumerRebalanceListener, KafkaConsumer  # noqa: E402 - after the filter of its warnings

logging.disable()


class Client(ConsumerRebalanceListener):
    """The consumer as a user writes it; with ``pattern`` it subscribes to a regular expression."""

    def __init__(self, config, account):
        self._account, self._pattern = account, config["pattern"]
        self._consumer = KafkaConsumer(**python_settings(config))

    def subscribe(self, topics):
        """Subscribe to topics, or to the pattern."""
        if self._pattern:
            self._consumer.subscribe(pattern=self._pattern, listener=self)
        else:
            self._consumer.subscribe(topics, listener=self)

    def poll(self):
        """Return the partitions of a batch of records."""
        return [f"{each.topic}-{each.partition}" for each in self._consumer.poll(timeout_ms=round(POLL_S * 1000))]

    def wait(self, seconds):
        """Process a record for this long."""
        threading.Event().wait(seconds)

    def close(self):
        """Leave the group."""
        self._consumer.close()

    def _call(self, what, given):
        self._account.callback(what, [f"{each.topic}-{each.partition}" for each in given])

    def on_partitions_revoked(self, revoked):
        """Called by the client."""
        self._call("revoked", revoked)

    def on_partitions_assigned(self, assigned):
        """Called by the client."""
        self._call("assigned", assigned)

    def on_partitions_lost(self, lost):
        """Called by the client."""
        self._call("lost", lost)


if __name__ == "__main__":
    config, account, commands = start()
    client = Client(config, account)
    account.say("subscribed", topics=config["topics"])
    client.subscribe(config["topics"])
    live(client, account, commands)
