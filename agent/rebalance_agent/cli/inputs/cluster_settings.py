"""The settings and Kafka properties that the flags of a cluster name."""

from __future__ import annotations

import argparse

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.runtime.settings.flags import kafka_flags
from rebalance_agent.runtime.settings.kafka_config import client_properties
from rebalance_agent.runtime.settings.roles import ObserverSettings
from rebalance_agent.runtime.settings.settings_sources import load

__all__ = ["cluster_settings"]


def cluster_settings(options: argparse.Namespace) -> tuple[ObserverSettings, dict[str, str]]:
    """The observer's settings and complete Kafka properties.

    Raises:
        InvalidInputError: a setting is wrong, or no brokers are named.
    """
    file = {"kafka_config": options.kafka_config} if options.kafka_config else {}
    settings = load(ObserverSettings, options.config, {"kafka": kafka_flags(options), **file})
    if not settings.kafka.get("bootstrap.servers"):
        raise InvalidInputError("--bootstrap-servers", "is missing: name the brokers, such as localhost:9092")
    return settings, client_properties(settings.kafka)
