"""``rebalance-agent observe``: runs an observer of all consumer groups of a cluster."""

from __future__ import annotations

import argparse

from rebalance_agent.cli.agent_command import add_agent_parser, run_agent
from rebalance_agent.runtime.processes.observer import Observer
from rebalance_agent.runtime.settings.roles import ObserverSettings

__all__ = ["add_parser", "run"]

DESCRIPTION = """\
Watches the consumer groups of one Kafka cluster and exports the cost of their rebalances.

The observer reads __consumer_offsets (it commits nothing, and joins a group only if replicas share the groups). Every
200 ms it requests the list of rebalancing groups from the brokers. It also reads the sidecars' reports about their
consumers. The observer serves /metrics, publishes one event per generation to the topic rebalance-events, and logs one
line per rebalance. It creates the topics rebalance-events and rebalance-agent-state (for its snapshots). With
--read-only, it creates no topic and writes no record.
"""

EXAMPLES = """\
examples:
  rebalance-agent observe --bootstrap-servers localhost:9092
  rebalance-agent observe --bootstrap-servers localhost:9092 --read-only
  rebalance-agent observe --bootstrap-servers kafka:9092 --listen 0.0.0.0:29308
  rebalance-agent observe --config observer.yaml --log-level debug
  rebalance-agent observe --bootstrap-servers kafka:9093 --kafka security.protocol=SASL_SSL \\
      --kafka sasl.mechanism=SCRAM-SHA-512 --kafka sasl.username=observer \\
      --kafka sasl.password.file=/run/secrets/kafka-password
  REBALANCE_AGENT_KAFKA__BOOTSTRAP_SERVERS=localhost:9092 rebalance-agent observe
  curl -s localhost:29308/metrics | grep kafka_rebalance_
  curl -s localhost:29308/readyz

permissions of the observer: Read on Topic '__consumer_offsets' (without this permission, classic groups are only
polled); Describe on Group '*' and Topic '*'; Read and Write on the observer's own topics, and Create if these topics do
not exist. `rebalance-agent check` tests each permission, and prints the commands that grant missing permissions.

Precedence of settings: flags, environment, file, defaults. Exit code 0 after a signal, 2 if the observer cannot
start (a wrong setting, a file that cannot be used, an address in use), 1 if the observer fails later.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its flags."""
    add_agent_parser(subparsers, "observe", ObserverSettings, DESCRIPTION, EXAMPLES).set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Observe until a signal, and return the exit code."""
    return run_agent("observe", ObserverSettings, args, Observer)
