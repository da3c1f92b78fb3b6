"""Flags of a cluster that a command connects to itself; environment and file complete them, as for `observe`."""

from __future__ import annotations

import argparse
import shlex

__all__ = ["add_cluster_flags", "cluster_flags_text", "names_cluster"]


def add_cluster_flags(parser: argparse.ArgumentParser, title: str) -> argparse._ArgumentGroup:
    """Add the flags in a group named ``title``, and return that group."""
    cluster = parser.add_argument_group(title)
    cluster.add_argument("--bootstrap-servers", metavar="HOST:PORT,...", help="short for --kafka bootstrap.servers=...")
    cluster.add_argument(
        "--kafka",
        metavar="KEY=VALUE",
        action="append",
        help="Kafka client property by librdkafka's name; KEY.file=PATH reads the value from a file; repeatable",
    )
    cluster.add_argument(
        "--kafka-config", metavar="FILE", help="client.properties of a Java client: its servers, TLS and login are used"
    )
    cluster.add_argument("--config", metavar="FILE", help="settings file of `observe`")
    return cluster


def names_cluster(options: argparse.Namespace) -> bool:
    """Whether any flag of `add_cluster_flags` was given."""
    return bool(options.bootstrap_servers or options.kafka or options.kafka_config or options.config)


def cluster_flags_text(options: argparse.Namespace) -> str:
    """Return the given flags of `add_cluster_flags` as text, each after a blank, for the line of another command."""
    flags = [
        ("--bootstrap-servers", options.bootstrap_servers),
        *(("--kafka", entry) for entry in options.kafka or ()),
        ("--kafka-config", options.kafka_config),
        ("--config", options.config),
    ]
    return "".join(f" {flag} {shlex.quote(value)}" for flag, value in flags if value)
