"""Flags of a cluster that a command connects to itself; environment and file complete them, as for `observe`."""

from __future__ import annotations

import argparse

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.runtime.settings.flags import kafka_flags
from rebalance_agent.runtime.settings.kafka_config import client_properties
from rebalance_agent.runtime.settings.roles import ObserverSettings
from rebalance_agent.runtime.settings.settings_sources import load

__all__ = ["add_cluster_flags", "cluster_settings", "names_cluster"]


def add_cluster_flags(parser: argparse.ArgumentParser, title: str) -> argparse._ArgumentGroup:
    """Add the flags in a group named ``title``, and return that group."""
    cluster = parser.add_argument_group(title)
    cluster.add_argument("--bootstrap-servers", metavar="HOST:PORT,...", help="short for --kafka bootstrap.servers=...")
    cluster.add_argument(
        "--kafka",
        metavar="KEY=VALUE",
        action="append",
        help="Kafka client property under librdkafka's name; KEY.file=PATH takes the value from a file; repeatable",
    )
    cluster.add_argument("--config", metavar="FILE", help="settings as `observe` takes them")
    return cluster


def names_cluster(options: argparse.Namespace) -> bool:
    """Whether any flag of `add_cluster_flags` was given."""
    return bool(options.bootstrap_servers or options.kafka or options.config)


def cluster_settings(options: argparse.Namespace) -> tuple[ObserverSettings, dict[str, str]]:
    """The observer's settings and complete Kafka properties.

    Raises:
        InvalidInputError: a setting is wrong, or no brokers are named.
    """
    settings = load(ObserverSettings, options.config, {"kafka": kafka_flags(options)})
    if not settings.kafka.get("bootstrap.servers"):
        raise InvalidInputError("--bootstrap-servers", "is missing: name the brokers, such as localhost:9092")
    return settings, client_properties(settings.kafka)
