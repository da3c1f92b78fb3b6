"""Flags for a cluster that a command itself connects to. Environment and file add settings, as for `observe`."""

from __future__ import annotations

import argparse
import shlex

from rebalance_agent.runtime.settings.agent_ports import SERVERS_HELP

__all__ = ["add_cluster_flags", "cluster_flags_text", "names_cluster"]


def add_cluster_flags(parser: argparse.ArgumentParser, title: str) -> argparse._ArgumentGroup:
    """Add the flags in a group named ``title``, and return that group."""
    cluster = parser.add_argument_group(title)
    cluster.add_argument("--bootstrap-servers", metavar="HOST:PORT,...", help=SERVERS_HELP)
    cluster.add_argument(
        "--kafka",
        metavar="KEY=VALUE",
        action="append",
        help="Kafka client property with librdkafka's name; KEY.file=PATH reads the value from a file; repeatable",
    )
    cluster.add_argument(
        "--kafka-config", metavar="FILE", help="client.properties of a Java client: its servers, TLS and login are used"
    )
    cluster.add_argument("--config", metavar="FILE", help="settings file of `observe`")
    return cluster


def names_cluster(options: argparse.Namespace) -> bool:
    """Return whether any flag of `add_cluster_flags` was given."""
    return bool(options.bootstrap_servers or options.kafka or options.kafka_config or options.config)


def cluster_flags_text(options: argparse.Namespace) -> str:
    """Return the given flags of `add_cluster_flags` as text for another command line, each after a blank."""
    flags = [
        ("--bootstrap-servers", options.bootstrap_servers),
        *(("--kafka", entry) for entry in options.kafka or ()),
        ("--kafka-config", options.kafka_config),
        ("--config", options.config),
    ]
    return "".join(f" {flag} {shlex.quote(value)}" for flag, value in flags if value)
