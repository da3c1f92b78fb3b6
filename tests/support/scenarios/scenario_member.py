"""A scenario's member in a thread or process: ``python -m support.scenarios.scenario_member JSON``.

It measures its own callbacks, independently of the agent's instrumentation. In a process it writes each callback as a
line to standard output, and ends when standard input ends; the line ``slow SECONDS`` there makes its revoked callback
slow.
"""

from __future__ import annotations

import json
import sys
import threading
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path

from rebalance_agent.clock import SystemClock

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Call:
    """A callback of a member: start and end in epoch milliseconds, with its partitions as (topic, number)."""

    member: str
    kind: str
    entered_ms: int
    returned_ms: int
    partitions: tuple[tuple[str, int], ...]


class Timed:
    """The callbacks of one member; ``slow_s``: how long its revoked callback takes."""

    def __init__(self, name, report):
        self.slow_s = 0.0
        self._name = name
        self._report = report
        self._clock = SystemClock()

    def call(self, kind, partitions):
        entered_ms = self._clock.now_ms()
        if kind == "revoked" and partitions and self.slow_s:
            threading.Event().wait(self.slow_s)
        taken = tuple(sorted((each.topic, each.partition) for each in partitions or ()))
        self._report(Call(self._name, kind, entered_ms, self._clock.now_ms(), taken))


def run(config, timed, stop):
    """Run a member until ``stop``, then close it."""
    clients = {"kafka-python": _kafka_python, "confluent": _confluent, "confluent-instrumented": _confluent}
    clients[config["client"]](config, timed, stop)


def _confluent(config, timed, stop):
    settings = {
        "bootstrap.servers": config["bootstrap"],
        "group.id": config["group"],
        "client.id": config["name"],
        "enable.auto.commit": False,
        "log_level": 0,
        **config["settings"],
    }
    if config["client"] == "confluent":
        from confluent_kafka import Consumer  # noqa: PLC0415

        consumer = Consumer(settings)
    else:
        from rebalance_agent.clients.confluent_kafka import Consumer  # noqa: PLC0415

        consumer = Consumer(settings, events_url=config["events_url"])
    consumer.subscribe(
        config["topics"],
        on_assign=lambda _, partitions: timed.call("assigned", partitions),
        on_revoke=lambda _, partitions: timed.call("revoked", partitions),
        on_lost=lambda _, partitions: timed.call("lost", partitions),
    )
    while not stop.is_set():
        consumer.poll(0.02)
    consumer.close()


def _kafka_python(config, timed, stop):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from kafka import ConsumerRebalanceListener  # noqa: PLC0415

        from rebalance_agent.clients.kafka_python import KafkaConsumer  # noqa: PLC0415

    class Listener(ConsumerRebalanceListener):
        def on_partitions_revoked(self, revoked):
            timed.call("revoked", revoked)

        def on_partitions_assigned(self, assigned):
            timed.call("assigned", assigned)

        def on_partitions_lost(self, lost):
            timed.call("lost", lost)

    consumer = KafkaConsumer(
        bootstrap_servers=config["bootstrap"],
        group_id=config["group"],
        client_id=config["name"],
        enable_auto_commit=False,
        events_url=config["events_url"],
        **config["settings"],
    )
    # With a metadata request before the subscription, kafka-python's leader rebalances twice; ours does not.
    for topic in config["topics"]:
        consumer.partitions_for_topic(topic)
    consumer.subscribe(config["topics"], listener=Listener())
    while not stop.is_set():
        consumer.poll(timeout_ms=20)
    consumer.close()


def run_as_process(member):
    """Run the function ``member`` with the configuration in the first argument."""
    config, lock = json.loads(sys.argv[1]), threading.Lock()

    def report(call):
        with lock:
            sys.stdout.write(json.dumps(asdict(call)) + "\n")
            sys.stdout.flush()

    timed, stop = Timed(config["name"], report), threading.Event()

    def read_commands():
        for line in sys.stdin:
            timed.slow_s = float(line.split()[1])
        stop.set()

    threading.Thread(target=read_commands, daemon=True).start()
    member(config, timed, stop)


if __name__ == "__main__":
    run_as_process(run)
