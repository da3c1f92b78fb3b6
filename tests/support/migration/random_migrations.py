"""Changes random groups to the consumer protocol on a real broker, and compares the outcome with `migrate`.

``PYTHONPATH=agent:tests python -m support.migration.random_migrations --seeds 250 --results FILE`` appends one line of
JSON for each seed. Seeds that the file has for the same version of Kafka are skipped, so that a run can be continued.
The variable ``REBALANCE_AGENT_KAFKA_VERSION`` chooses another version.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

from confluent_kafka.admin import AdminClient, NewTopic

from rebalance_agent.advice.migration.migration_findings import Subject, Verdict
from rebalance_agent.advice.migration.readiness import MigrationWishes, readiness
from rebalance_agent.cli.inputs.migration_inputs import read_inputs
from rebalance_agent.clock import SystemClock
from rebalance_agent.model.group import GroupType
from rebalance_agent.testing import EmbeddedKafka
from rebalance_agent.testing.kafka.kafka_versions import kafka_version
from support.migration.members import Broker, ClassicMember, EpochMember, stable
from support.migration.scenarios import BROKERS, MAX_SIZE, TOPICS, scenario

PATIENCE_S = 30
SUBJECTS = {
    "policy": Subject.POLICY,
    "user data": Subject.USER_DATA,
    "malformed": Subject.MALFORMED,
    "no consumers": Subject.PROTOCOL_TYPE,
    "size": Subject.SIZE,
    "assignor": Subject.ASSIGNOR,
    "pattern": Subject.PATTERNS,
    "protocol": Subject.PROTOCOL,
}
"""Reason of a scenario -> the subject of the finding that has to report it."""


class Migration:
    """One group on a running broker. ``errors``: the error codes of joins that were refused."""

    def __init__(self, broker, plan):
        self.broker, self.plan = broker, plan
        self.group = f"migration-{plan.seed}"
        self.old = [
            ClassicMember(
                self.group,
                plan.topics,
                plan.protocols,
                f"i{index}" if static else None,
                plan.protocol_type,
                plan.session_timeout_ms,
                user_data=plan.subscription_data,
                raw=plan.raw_subscription,
            )
            for index, static in enumerate(plan.members)
        ]
        self.new = []
        self.errors = []

    def prepare(self):
        """Create a stable classic group, or one that all members have left."""
        assigned = {}
        for topic in self.plan.topics:
            for number in range(TOPICS[topic]):
                index = number % len(self.old)
                assigned.setdefault(index, {}).setdefault(topic, []).append(number)
        stable(self.broker, self.old, assigned, self.plan.assignment_data)
        if self.plan.empty:
            for member in self.old:
                assert member.leave(self.broker) == 0

    def inputs(self):
        options = SimpleNamespace(
            bootstrap_servers=self.broker.address, kafka=None, kafka_config=None, config=None, group=self.group
        )
        return read_inputs(options)

    def predicted(self):
        inputs = self.inputs()
        patterns = (self.plan.regex,) if self.plan.regex else ()
        return readiness(inputs.group, inputs.limits, MigrationWishes(self.plan.assignor, patterns))

    def replace(self, member):
        """Replace a classic member; return whether its successor was accepted."""
        # Static members of Kafka's clients do not leave when they stop; the last one that leaves empties the group.
        leaves = member.instance_id is None
        first = self.plan.stop_first and leaves and len(self.old) + len(self.new) > 1
        if first:
            assert member.leave(self.broker) == 0
        entered = EpochMember(
            self.group,
            None if self.plan.regex else self.plan.topics,
            member.instance_id,
            self.plan.regex,
            self.plan.assignor,
        )
        error, _ = entered.join(self.broker)
        if error:
            self.errors.append(error)
            return False
        self.new.append(entered)
        if leaves and not first:
            assert member.leave(self.broker) == 0
        self.old.remove(member)
        return True

    def run(self):
        """Replace all members; return whether all successors were accepted."""
        if self.plan.empty:
            return self._start_anew()
        return all(self.replace(member) for member in list(self.old))

    def _start_anew(self):
        entered = EpochMember(self.group, self.plan.topics, None, None, self.plan.assignor)
        error, _ = entered.join(self.broker)
        self.errors += [error] if error else []
        self.new.append(entered)
        return not error

    def turn_back(self):
        """Let a new member join beside the classic members, and leave; return the type of the group afterwards."""
        visitor = EpochMember(self.group, self.plan.topics, None, None, self.plan.assignor)
        error, text = visitor.join(self.broker)
        assert not error, text
        assert visitor.leave(self.broker)[0] == 0
        return self.inputs().group.group_type


def checked(broker, seed):
    """The result of one seed as JSON: ``ok`` if prediction and outcome agree, and both of them."""
    plan = scenario(seed)
    migration = Migration(broker, plan)
    migration.prepare()
    answer = migration.predicted()
    # Brokers 4.4 replace a static member of a full group; earlier ones refuse.
    full = plan.reason == "size" and len(plan.members) == MAX_SIZE
    in_place = full and not migration.inputs().limits.counts_successors
    reason = None if in_place else plan.reason
    seen = {"seed": seed, "broker": plan.broker, "reason": reason, "predicted": answer.online, "empty": plan.empty}
    blocking = {finding.subject for finding in answer.of(Verdict.BLOCKS)}
    faults = []
    if blocking != ({SUBJECTS[reason]} if reason else set()):
        faults.append(f"findings {sorted(blocking)}")
    if plan.turn_back and answer.online and not plan.empty and len(plan.members) < MAX_SIZE:
        before = migration.inputs().limits.downgrades
        kind = migration.turn_back()
        if (kind is GroupType.CLASSIC) is not before:
            faults.append(f"the way back led to {kind}")
        seen["turned_back_to"] = kind
    harmless = [member.beat(broker) for member in migration.old] if not answer.online else []
    actual = seen["actual"] = migration.run()
    seen["errors"] = migration.errors
    if actual is not answer.online:
        faults.append("another outcome")
    if actual:
        faults += _unfinished(migration)
    elif harmless != [member.beat(broker) for member in migration.old] and not plan.stop_first:
        faults.append("a refused member disturbed the others")
    return seen | {"ok": not faults, "faults": faults}


def _unfinished(migration):
    """What is wrong with a group whose members were all replaced."""
    clock, pause = SystemClock(), threading.Event()
    end = clock.monotonic() + PATIENCE_S
    while True:
        group = migration.inputs().group
        settled = all(member.settled for member in group.members)
        if group.group_type is GroupType.CONSUMER and not group.of(GroupType.CLASSIC) and settled:
            return []
        if clock.monotonic() > end:
            return [f"not finished: {group}"]
        for member in migration.new:
            member.beat(migration.broker)
        pause.wait(0.05)


def run_seeds(seeds, report):
    """Run ``seeds``, those of one kind of broker after the other; call ``report`` with each result."""
    by_broker = {}
    for seed in seeds:
        by_broker.setdefault(scenario(seed).broker, []).append(seed)
    for name, some in by_broker.items():
        settings = {
            **BROKERS[name],
            "group.consumer.max.size": str(MAX_SIZE),
            "group.consumer.assignment.interval.ms": "0",
            "group.min.session.timeout.ms": "1000",
        }
        with EmbeddedKafka(properties=settings) as kafka:
            admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
            for future in admin.create_topics([NewTopic(*topic, 1) for topic in TOPICS.items()]).values():
                future.result()
            broker = Broker(kafka.bootstrap_servers)
            for seed in some:
                report(checked(broker, seed))
            broker.close()


def main():
    """Run the seeds that the file of results lacks, and print a summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=250, help="number of seeds, from 0 on")
    parser.add_argument("--results", type=Path, required=True, help="NDJSON of results, which is continued")
    options = parser.parse_args()
    lines = options.results.read_text(encoding="utf-8").splitlines() if options.results.exists() else []
    results = [json.loads(line) for line in lines]
    version = kafka_version().number
    done = {result["seed"] for result in results if result.get("kafka") == version}
    with options.results.open("a", encoding="utf-8") as file:

        def report(result):
            result = {"kafka": version, **result}
            results.append(result)
            file.write(json.dumps(result) + "\n")
            file.flush()
            if not result["ok"]:
                print(json.dumps(result), flush=True)

        run_seeds([seed for seed in range(options.seeds) if seed not in done], report)
    refused = Counter(result["reason"] for result in results if not result["actual"])
    wrong = [(result.get("kafka"), result["seed"]) for result in results if not result["ok"]]
    print(f"{len(results)} migrations, {refused.total()} refused: {dict(refused)}; wrong predictions: {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
