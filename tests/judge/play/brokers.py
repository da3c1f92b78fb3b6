"""Faults of brokers and of the observer, one after the other, drawn from a seed."""

from __future__ import annotations

import contextlib
import json
import random
import threading
from collections import Counter

from confluent_kafka import ElectionType, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from judge.members.account import now_ms
from judge.play.readers import survivors
from judge.play.stage import OFFSETS, OFFSETS_PARTITIONS
from judge.play.transactions import ANSWER_S, open_transaction
from rebalance_agent.testing import BrokerError

FAULTS = {"coordinator killed": 3, "leaders moved": 3, "outage": 2, "observer killed": 2, "open transactions": 2}
"""Fault -> its weight."""

REST_S = (14.0, 30.0)
REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
TOOL_S = 120
BACK_S, STARTS_MAX = 120, 3
COMPACTED = {"segment.ms": "1000", "min.cleanable.dirty.ratio": "0.01", "max.compaction.lag.ms": "1000"}


class Faults:
    """A thread in which faults happen until the run is over; ``played`` counts them."""

    def __init__(self, stage, observer, only=None):
        self._stage, self._observer, self.played = stage, observer, Counter()
        self._chance = random.Random(f"{stage.seed} faults")
        self._only = only if only is not None else tuple(FAULTS)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def begin(self):
        """Start the thread."""
        self._thread.start()

    def join(self):
        """Wait until the last fault is over."""
        self._thread.join()

    def _run(self):
        left = []
        while self._only and not self._stage.over.wait(self._chance.uniform(*REST_S)):
            if not left:
                left = self._chance.sample(self._only, len(self._only), counts=[FAULTS[each] for each in self._only])
            name = left.pop()
            print(f"  fault: {name}", flush=True)
            self._stage.acts.note("fault", name=name)
            try:
                getattr(self, "_" + name.replace(" ", "_"))()
                self.played[name] += 1
            except (BrokerError, KafkaException, OSError, TimeoutError) as error:
                self._stage.acts.note("refused", name=name, error=str(error))
            self._stage.acts.note("fault over", name=name)

    def _leaders(self):
        partitions = self._stage.admin().list_topics(OFFSETS, 30).topics[OFFSETS].partitions
        return {number: each.leader for number, each in partitions.items()}

    def _coordinator_killed(self):
        broker = self._chance.choice(sorted(self._leaders().values()))
        self._stage.acts.note("broker killed", broker=broker)
        self._stage.kafka.kill_broker(broker)
        self._stage.over.wait(self._chance.uniform(5, 12))
        self._back([broker])

    def _outage(self):
        """Two of three brokers are away: no controllers, no coordinators, no metadata."""
        gone = self._chance.sample(self._stage.kafka.node_ids, 2)
        for broker in gone:
            self._stage.acts.note("broker killed", broker=broker)
            self._stage.kafka.kill_broker(broker)
        self._stage.over.wait(self._chance.uniform(4, 12))
        self._back(gone)

    def _back(self, brokers):
        """Start brokers together: one alone has no controllers to ask, and waits for what only both can give."""
        for broker in brokers:
            threading.Thread(target=self._start_broker, args=(broker,), daemon=True).start()
        pause, until = threading.Event(), now_ms() + BACK_S * 1000
        while now_ms() < until and not all(map(self._follows, brokers)):
            pause.wait(0.2)
        self._stage.acts.note("brokers back", brokers=brokers)

    def _start_broker(self, broker):
        for _ in range(STARTS_MAX):  # its former self still counts as there
            with contextlib.suppress(BrokerError):
                self._stage.kafka.start_broker(broker)
                return

    def _follows(self, broker):
        """Whether a broker answers, and is in sync with every partition of the offsets topic."""
        address = self._stage.kafka.bootstrap_servers.split(",")[broker - 1]
        with contextlib.suppress(KafkaException):
            admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
            partitions = admin.list_topics(OFFSETS, 5).topics[OFFSETS].partitions.values()
            return len(partitions) == OFFSETS_PARTITIONS and all(broker in each.isrs for each in partitions)
        return False

    def _leaders_moved(self):
        partitions = self._stage.admin().list_topics(OFFSETS, 30).topics[OFFSETS].partitions
        rows = [
            {"topic": OFFSETS, "partition": number, "replicas": [*each.replicas[1:], each.replicas[0]]}
            for number, each in partitions.items()
        ]
        path = self._stage.folder / "moved.json"
        path.write_text(json.dumps({"version": 1, "partitions": rows}))
        servers = ("--bootstrap-server", self._stage.kafka.bootstrap_servers)
        arguments = (*servers, "--reassignment-json-file", str(path), "--execute")
        self._stage.kafka.run_tool(REASSIGN, *arguments, timeout=TOOL_S)
        chosen = [TopicPartition(OFFSETS, number) for number in partitions]
        self._stage.acts.note("leaders elected")
        admin = self._stage.admin()
        admin.elect_leaders(ElectionType.PREFERRED, chosen).result(TOOL_S)

    def _observer_killed(self):
        """The lone observer is dead while records of the time are compacted away."""
        self._observer.kill()
        self._configure(COMPACTED)
        self._stage.over.wait(self._chance.uniform(20, 35))
        self._configure(dict.fromkeys(COMPACTED))
        left = survivors(self._stage.kafka.bootstrap_servers)
        path = self._stage.folder / f"survivors-{self.played['observer killed']}.json"
        path.write_text(json.dumps(left))
        self._stage.acts.note("survivors", file=path.name)
        self._observer.start()

    def _configure(self, values):
        entries = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET if value else AlterConfigOpType.DELETE)
            for name, value in values.items()
        ]
        resource = ConfigResource(ConfigResource.Type.TOPIC, OFFSETS, incremental_configs=entries)
        admin = self._stage.admin()
        admin.incremental_alter_configs([resource])[resource].result(60)

    def _open_transactions(self):
        """A transaction with offsets in every partition of the offsets topic stays open for a while."""
        producer = open_transaction(self._stage.kafka.bootstrap_servers, f"judge-{self._chance.random()}")
        self._stage.over.wait(self._chance.uniform(10, 20))
        producer.abort_transaction(ANSWER_S)
