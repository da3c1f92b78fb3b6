"""Carries out the faults of brokers and of the observer."""

from __future__ import annotations

import contextlib
import json
import threading

from confluent_kafka import ElectionType, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from judge.members.account import now_ms
from judge.play.readers import survivors
from judge.play.run_context import OFFSETS, OFFSETS_PARTITIONS
from judge.play.transactions import ANSWER_S, open_transaction
from rebalance_agent.testing import BrokerError

REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
TOOL_S = 120
BACK_S, STARTS_MAX = 120, 10
COMPACTED = {"segment.ms": "1000", "min.cleanable.dirty.ratio": "0.01", "max.compaction.lag.ms": "1000"}


class Inflictions:
    """Carries out faults. Random choices come from ``chance``, the generator of the lane."""

    def __init__(self, context, observer):
        self._context, self._observer, self._looks, self._compacting = context, observer, 0, False
        # Two lanes run at once: a fault that needs all brokers waits for them, and delays the next fault of brokers.
        self._brokers = threading.Lock()

    def inflict(self, name, chance):
        """Carry out the fault of this name, and undo it."""
        getattr(self, "_" + name.replace(" ", "_"))(chance)

    def _leaders(self):
        partitions = self._context.admin().list_topics(OFFSETS, 30).topics[OFFSETS].partitions
        return {number: each.leader for number, each in partitions.items()}

    def _coordinator_killed(self, chance):
        with self._brokers:
            self._await_all()
            self._kill_one(chance)

    def _kill_one(self, chance):
        broker = chance.choice(sorted(self._leaders().values()))
        self._context.acts.note("broker killed", broker=broker)
        self._context.kafka.kill_broker(broker)
        self._context.over.wait(chance.uniform(5, 12))
        self._back([broker])

    def _outage(self, chance):
        """Stop two of three brokers for a while: no controllers, no coordinators, no metadata."""
        with self._brokers:
            self._await_all()
            gone = chance.sample(self._context.kafka.node_ids, 2)
            for broker in gone:
                self._context.acts.note("broker killed", broker=broker)
                self._context.kafka.kill_broker(broker)
            self._context.over.wait(chance.uniform(4, 12))
            self._back(gone)

    def _await_all(self):
        """Wait until all brokers are there: a busy machine may take longer to start the last ones than `BACK_S`."""
        if not self._follow(self._context.kafka.node_ids):
            raise TimeoutError("not all brokers are back")

    def _back(self, brokers):
        """Start brokers together: one alone finds no controllers, and waits for the other."""
        for broker in brokers:
            threading.Thread(target=self._start_broker, args=(broker,), daemon=True).start()
        self._follow(brokers)
        self._context.acts.note("brokers back", brokers=brokers)
        if self._compacting:
            self._note_survivors()

    def _start_broker(self, broker):
        for _ in range(STARTS_MAX):  # its former process still counts as running
            with contextlib.suppress(BrokerError):
                self._context.kafka.start_broker(broker)
                return

    def _follow(self, brokers):
        """Whether brokers answer and are in sync, after up to `BACK_S`."""
        pause, until = threading.Event(), now_ms() + BACK_S * 1000
        while not all(map(self._follows, brokers)):
            if now_ms() > until:
                return False
            pause.wait(0.2)
        return True

    def _follows(self, broker):
        """Whether a broker answers, and is in sync with every partition of the offsets topic."""
        address = self._context.kafka.bootstrap_servers.split(",")[broker - 1]
        with contextlib.suppress(KafkaException):
            admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
            partitions = admin.list_topics(OFFSETS, 5).topics[OFFSETS].partitions.values()
            return len(partitions) == OFFSETS_PARTITIONS and all(broker in each.isrs for each in partitions)
        return False

    def _leaders_moved(self, _chance):
        with self._brokers:
            self._move_leaders()

    def _move_leaders(self):
        partitions = self._context.admin().list_topics(OFFSETS, 30).topics[OFFSETS].partitions
        rows = [
            {"topic": OFFSETS, "partition": number, "replicas": [*each.replicas[1:], each.replicas[0]]}
            for number, each in partitions.items()
        ]
        path = self._context.folder / "moved.json"
        path.write_text(json.dumps({"version": 1, "partitions": rows}))
        servers = ("--bootstrap-server", self._context.kafka.bootstrap_servers)
        arguments = (*servers, "--reassignment-json-file", str(path), "--execute")
        self._context.kafka.run_tool(REASSIGN, *arguments, timeout=TOOL_S)
        chosen = [TopicPartition(OFFSETS, number) for number in partitions]
        self._context.acts.note("leaders elected")
        admin = self._context.admin()
        admin.elect_leaders(ElectionType.PREFERRED, chosen).result(TOOL_S)

    def _observer_killed(self, chance):
        """Kill the lone observer, and let brokers compact records away before it starts again."""
        self._observer.kill()
        try:
            self._compact(chance.uniform(20, 35))
        finally:
            self._observer.start()
        self._observer.wait_ready()
        with self._brokers:  # a compaction that had begun may have ended since
            self._note_survivors()

    def _compact(self, seconds):
        with self._brokers:
            self._configure(COMPACTED)
            self._compacting = True
        self._context.over.wait(seconds)
        with self._brokers:
            self._configure(dict.fromkeys(COMPACTED))
            self._compacting = False
            self._note_survivors()

    def _note_survivors(self):
        """List the records that the topic still has: observers cannot report those that they could not read."""
        left = survivors(self._context.kafka.bootstrap_servers)
        self._looks += 1
        path = self._context.folder / f"survivors-{self._looks}.json"
        path.write_text(json.dumps(left))
        self._context.acts.note("survivors", file=path.name)

    def _configure(self, values):
        entries = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET if value else AlterConfigOpType.DELETE)
            for name, value in values.items()
        ]
        resource = ConfigResource(ConfigResource.Type.TOPIC, OFFSETS, incremental_configs=entries)
        admin = self._context.admin()
        admin.incremental_alter_configs([resource])[resource].result(60)

    def _open_transactions(self, chance):
        """A transaction with offsets in every partition of the offsets topic stays open for a while."""
        with self._brokers:
            producer = open_transaction(self._context.kafka.bootstrap_servers, f"judge-{chance.random()}")
        self._context.over.wait(chance.uniform(10, 20))
        with self._brokers:
            producer.abort_transaction(ANSWER_S)
